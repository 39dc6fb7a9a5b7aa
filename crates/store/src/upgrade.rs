//! What older records say in their texts and newer ones in fields: read here, once, and nowhere else.

use fathom_record::{Phase, ResultRecord};
use fathom_spec::LatencyLimit;

/// Fills the fields that a record of an older version lacks.
pub(crate) fn upgrade(record: &mut ResultRecord) {
    if record.tool != "calibrate" {
        return;
    }
    for run in record.runs.iter_mut().filter(|run| run.phase.is_none()) {
        run.phase = Phase::of_run_name(&run.name);
    }
    if record.max_latency.is_none() {
        record.max_latency = old_limit(record);
    }
}

/// The latency limit of a calibration from its request or its command line; the command's default, 20 ms in the mean, where
/// neither says one.
fn old_limit(record: &ResultRecord) -> Option<LatencyLimit> {
    let from_facts = record.facts.pointer("/request/max_latency").and_then(|value| value.as_str());
    let from_command = || {
        let mut words = record.command.iter();
        while let Some(word) = words.next() {
            if word == "--max-latency" {
                return words.next().map(String::as_str);
            }
            if let Some(value) = word.strip_prefix("--max-latency=") {
                return Some(value);
            }
        }
        None
    };
    from_facts.or_else(from_command).unwrap_or("20ms").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_record::{Ending, Run, SCHEMA, Verdict, VerdictState};
    use fathom_spec::Plan;

    fn old_record() -> ResultRecord {
        let run = |name: &str| Run { name: name.to_owned(), ..Run::empty(&Plan::new(1)) };
        ResultRecord {
            schema: SCHEMA,
            id: "one".to_owned(),
            tool: "calibrate".to_owned(),
            version: "0.1.0".to_owned(),
            command: Vec::new(),
            label: None,
            started: String::new(),
            ended: String::new(),
            ending: Ending::Complete,
            targets: Vec::new(),
            simulated: false,
            max_latency: None,
            facts: serde_json::Value::Null,
            runs: vec![run("layout"), run("small reads, 16 outstanding")],
            summary: Default::default(),
            curves: Vec::new(),
            verdict: Verdict { state: VerdictState::Believable, checks: Vec::new() },
            expectations: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_phase_of_an_old_run_is_told_by_its_name() {
        let mut record = old_record();
        upgrade(&mut record);
        let phases: Vec<Option<Phase>> = record.runs.iter().map(|run| run.phase).collect();
        assert_eq!(phases, [None, Some(Phase::SmallReads)]);
    }

    #[test]
    fn the_limit_of_an_old_record_is_told_by_its_request_or_its_command() {
        let limit = |record: &mut ResultRecord| {
            upgrade(record);
            record.max_latency.take().map(|limit| limit.to_string())
        };
        let mut record = old_record();
        assert_eq!(limit(&mut record).as_deref(), Some("mean <= 20 ms"));
        record.command = vec!["fathom".into(), "calibrate".into(), "--max-latency=p99=2ms".into()];
        assert_eq!(limit(&mut record).as_deref(), Some("p99 <= 2 ms"));
        record.facts = serde_json::json!({ "request": { "max_latency": "5ms" } });
        assert_eq!(limit(&mut record).as_deref(), Some("mean <= 5 ms"));
        record.tool = "run".to_owned();
        assert_eq!(limit(&mut record), None);
    }
}
