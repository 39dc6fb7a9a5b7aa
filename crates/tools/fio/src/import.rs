//! Reads fio's JSON, of any version since 3.0, into a record: scripts keep such files for years, and a record can be
//! compared with what is measured today. What fio prints before its document is passed over. A record made so has figures
//! without intervals of confidence (fio tells none) and no runs.

use fathom_record::*;
use serde_json::Value;
use std::collections::BTreeMap;

/// Why a text is not fio's JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// No document in it.
    #[error("no JSON document was found\nhint: fio writes one with --output-format=json")]
    None,
    /// The document cannot be read.
    #[error(
        "the JSON document cannot be read: {0}\nhint: with --status-interval fio writes several; keep the last one"
    )]
    Broken(String),
    /// The document is not fio's.
    #[error(
        "the JSON document is not fio's: it has no {0:?}\nhint: give the file that fio --output-format=json made"
    )]
    Foreign(&'static str),
}

/// What only the caller knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported<'a> {
    /// A name for the record that no other has.
    pub id: String,
    /// Version of fathom.
    pub version: &'a str,
    /// When fio ended, RFC 3339, if the caller can tell it from the document's [`unix_seconds`].
    pub ended: String,
}

/// The end of the run in seconds since 1970, as the document has it.
pub fn unix_seconds(text: &str) -> Option<u64> {
    document(text).ok()?.get("timestamp")?.as_u64()
}

/// The last document of a text: from a line that is `{` to the end of the value.
fn document(text: &str) -> Result<Value, ImportError> {
    let mut last = Err(ImportError::None);
    let mut from = 0;
    while let Some(at) = opening_brace(text, from) {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                last = Ok(value);
                from = at + values.byte_offset();
            }
            Some(Err(error)) if last.is_err() => return Err(ImportError::Broken(error.to_string())),
            _ => break,
        }
    }
    last
}

fn opening_brace(text: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let mut at = from;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "{" || (line.starts_with('{') && line.len() > 1) {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// What the document says as a record.
pub fn import(text: &str, imported: &Imported<'_>) -> Result<ResultRecord, ImportError> {
    let document = document(text)?;
    let peer =
        document.get("fio version").and_then(Value::as_str).ok_or(ImportError::Foreign("fio version"))?;
    let jobs = document.get("jobs").and_then(Value::as_array).ok_or(ImportError::Foreign("jobs"))?;
    let options = |job: &Value, key: &str| {
        let own = job.get("job options").and_then(|o| o.get(key));
        own.or_else(|| document.get("global options").and_then(|o| o.get(key)))?.as_str().map(str::to_owned)
    };
    let mut targets: Vec<String> = jobs
        .iter()
        .filter_map(|job| options(job, "filename").or_else(|| options(job, "directory")))
        .collect();
    targets.dedup();
    let names: Vec<&str> = jobs.iter().filter_map(|job| job.get("jobname")?.as_str()).collect();
    let failed = jobs.iter().any(|job| number(job, "error") != 0.0);
    let Imported { id, version, ended } = imported;
    Ok(ResultRecord {
        schema: SCHEMA,
        id: id.clone(),
        tool: "fio".to_owned(),
        version: (*version).to_owned(),
        command: Vec::new(),
        max_latency: None,
        label: Some(names.join(", ")),
        started: ended.clone(),
        ended: ended.clone(),
        ending: if failed { Ending::Failed } else { Ending::Complete },
        targets,
        simulated: false,
        facts: document.clone(),
        runs: Vec::new(),
        summary: summary(jobs),
        curves: Vec::new(),
        verdict: judge(vec![Check::new(
            "measured by fathom",
            CheckOutcome::Unknown,
            format!("the figures are those of {peer}, which tells no intervals"),
        )]),
        expectations: Vec::new(),
        notes: Vec::new(),
    })
}

fn summary(jobs: &[Value]) -> BTreeMap<FigureName, Figure> {
    let directions = ["read", "write", "trim", "mixed"];
    let sum =
        |key: &str| jobs.iter().flat_map(|job| directions.map(|d| number(part(job, d), key))).sum::<f64>();
    let mut summary = BTreeMap::new();
    summary.insert(FigureName::Iops, figure(sum("iops"), Unit::PerSecond, None));
    let mebibytes = sum("bw_bytes") / f64::from(1u32 << 20);
    summary.insert(FigureName::Mbps, figure(mebibytes, Unit::MebibytesPerSecond, None));
    for (name, direction) in [
        (FigureName::ReadLatency, "read"),
        (FigureName::WriteLatency, "write"),
        (FigureName::SyncLatency, "sync"),
    ] {
        let latencies: Vec<&Value> = jobs
            .iter()
            .map(|job| part(part(job, direction), "lat_ns"))
            .filter(|l| number(l, "N") > 0.0)
            .collect();
        let count: f64 = latencies.iter().map(|l| number(l, "N")).sum();
        if count > 0.0 {
            let mean = latencies.iter().map(|l| number(l, "mean") * number(l, "N")).sum::<f64>() / count;
            let told = if let [job] = jobs { percentiles(part(job, direction)) } else { Vec::new() };
            let least = latencies.iter().map(|l| number(l, "min")).fold(f64::INFINITY, f64::min);
            let most = latencies.iter().map(|l| number(l, "max")).fold(0.0, f64::max);
            let latency = LatencyFigures {
                mean_ns: mean,
                mean_half_width_ns: None,
                percentiles: told,
                max_ns: most as u64,
                min_ns: least as u64,
                count: count as u64,
                effective: count,
                over_limit: None,
            };
            summary.insert(name, figure(mean, Unit::Nanoseconds, Some(latency)));
        }
    }
    summary
}

fn percentiles(direction: &Value) -> Vec<Percentile> {
    let of = ["lat_ns", "clat_ns"].map(|key| part(direction, key).get("percentile"));
    let pairs = of.into_iter().flatten().find_map(Value::as_object);
    let mut told: Vec<Percentile> = pairs
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| {
            Some(Percentile {
                quantile: key.parse::<f64>().ok()? / 100.0,
                value_ns: value.as_u64(),
                low_ns: None,
                high_ns: None,
                why: None,
            })
        })
        .collect();
    told.sort_by(|a, b| a.quantile.total_cmp(&b.quantile));
    told
}

fn figure(value: f64, unit: Unit, latency: Option<LatencyFigures>) -> Figure {
    Figure {
        value,
        half_width: None,
        confidence: 0.95,
        unit,
        converged: false,
        load: None,
        latency,
        bound: None,
        run: None,
        note: Some("imported: fio tells no interval of confidence".to_owned()),
    }
}

fn part<'v>(value: &'v Value, key: &str) -> &'v Value {
    value.get(key).unwrap_or(&Value::Null)
}

fn number(value: &Value, key: &str) -> f64 {
    part(value, key).as_f64().unwrap_or(0.0)
}
