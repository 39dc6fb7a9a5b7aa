//! What a job says of single I/Os and of what is checked: priorities of some of them, blocks that are discarded between
//! writing and checking.

use super::diagnostic::Trouble;
use super::numbers;
use super::options::OptionId;
use super::reader::OptionReader;
use fathom_spec::{Bytes, Discards, Priority, Verb};

/// Real time: the class of those that are to be served first.
const FIRST_CLASS: u8 = 1;

/// `cmdprio_percentage` and its kin, as rules for reads and writes.
pub(crate) fn priorities(reader: &OptionReader, offload: bool) -> Result<Vec<Priority>, Trouble> {
    let percents = reader.three(OptionId::CmdprioPercentage).map(|percent| percent.unwrap_or(0) as u8);
    let split = reader.text(OptionId::CmdprioBssplit).filter(|text| !text.trim().is_empty());
    let said = percents.iter().take(2).any(|percent| *percent > 0);
    if split.is_some() && said {
        let what = "sizes have their shares, or all have one: not both";
        return Err(reader.wrong(OptionId::CmdprioBssplit, what, "leave cmdprio_percentage out"));
    }
    let id = if split.is_some() { OptionId::CmdprioBssplit } else { OptionId::CmdprioPercentage };
    if offload && (split.is_some() || said) {
        let what = "I/O that other threads submit has the priority of its job";
        return Err(reader.wrong(id, what, "leave io_submit_mode=offload out"));
    }
    let of = |id: OptionId, column: usize| reader.three(id)[column].map(|number| number as u8);
    let mut rules = Vec::new();
    for (column, verb) in [Verb::Read, Verb::Write].into_iter().enumerate() {
        let class = of(OptionId::CmdprioClass, column).unwrap_or(FIRST_CLASS);
        let level = of(OptionId::Cmdprio, column).unwrap_or(0);
        let plain = Priority { of: verb, size: None, percent: percents[column], class, level };
        match split {
            None => rules.push(plain),
            Some(text) => {
                let parts: Vec<&str> = text.split(',').collect();
                let list = parts.get(column).or(parts.last()).copied().unwrap_or_default();
                rules.extend(by_size(list, plain, reader)?);
            }
        }
    }
    rules.retain(|rule| rule.percent > 0);
    Ok(rules)
}

/// `4k/50:8k/30/1/3`: size, percent, and perhaps class and level. What is left blank shares what is left over.
fn by_size(list: &str, plain: Priority, reader: &OptionReader) -> Result<Vec<Priority>, Trouble> {
    let wrong =
        |what: String| reader.wrong(OptionId::CmdprioBssplit, &what, "say cmdprio_bssplit=4k/20:64k/50/1/0");
    let mut rules: Vec<(Priority, bool)> = Vec::new();
    for one in list.split(':').filter(|one| !one.trim().is_empty()) {
        let words: Vec<&str> = one.split('/').map(str::trim).collect();
        let number = |at: usize, most: u8| -> Result<Option<u8>, Trouble> {
            let Some(text) = words.get(at).filter(|text| !text.is_empty()) else { return Ok(None) };
            let number = text.parse::<u8>().ok().filter(|number| *number <= most);
            number.map(Some).ok_or_else(|| wrong(format!("{text:?} in {one:?} is not 0 to {most}")))
        };
        let size = numbers::bytes(words[0], reader.base()).filter(|size| *size > 0);
        let size = size.ok_or_else(|| wrong(format!("{:?} is no size", words[0])))?;
        if words.len() == 3 || words.len() > 4 {
            return Err(wrong(format!("{one:?} has a size, a share, and perhaps a class and a level")));
        }
        let percent = number(1, 100)?;
        let (class, level) = (number(2, 3)?.unwrap_or(plain.class), number(3, 7)?.unwrap_or(plain.level));
        let (size, blank) = (Some(Bytes(size)), percent.is_none());
        rules.push((Priority { size, percent: percent.unwrap_or(0), class, level, ..plain }, blank));
    }
    for at in 0..rules.len() {
        let same = rules.iter().filter(|(rule, _)| rule.size == rules[at].0.size);
        let sum: u32 = same.clone().map(|(rule, _)| u32::from(rule.percent)).sum();
        if sum > 100 {
            return Err(wrong(format!("the shares of one size add up to {sum}")));
        }
    }
    let sum: u32 = rules.iter().map(|(rule, _)| u32::from(rule.percent)).sum();
    let blank = rules.iter().filter(|(_, blank)| *blank).count() as u32;
    let each = 100u32.saturating_sub(sum).checked_div(blank).unwrap_or(0) as u8;
    Ok(rules
        .into_iter()
        .map(|(rule, blank)| Priority { percent: if blank { each } else { rule.percent }, ..rule })
        .collect())
}

/// `trim_percentage` and its kin.
pub(crate) fn discards(reader: &OptionReader) -> Result<Option<Discards>, Trouble> {
    let percent = reader.count(OptionId::TrimPercentage) as u8;
    let after = reader.count(OptionId::TrimBacklog);
    let batch = Some(reader.count(OptionId::TrimBacklogBatch)).filter(|batch| *batch > 0).unwrap_or(after);
    let zeros = reader.switch(OptionId::TrimVerifyZero);
    Ok((percent > 0 && after > 0).then_some(Discards { percent, after, batch, zeros }))
}

#[cfg(test)]
mod tests {
    use super::super::inherit::tests::jobs;
    use super::super::job::Job;
    use super::super::resolve::meant;
    use super::*;

    fn job(options: &str) -> Result<Job, Trouble> {
        meant(&jobs(&format!("[a]\nioengine=libaio\n{options}\n")).unwrap().jobs[0])
    }

    fn rules(options: &str) -> Vec<(Verb, Option<u64>, u8, u8, u8)> {
        let told =
            |rule: &Priority| (rule.of, rule.size.map(|size| size.0), rule.percent, rule.class, rule.level);
        job(options).unwrap().engine.priorities.iter().map(told).collect()
    }

    #[test]
    fn a_share_of_reads_and_writes_goes_first() {
        use Verb::{Read, Write};
        assert_eq!(rules("cmdprio_percentage=20"), [(Read, None, 20, 1, 0), (Write, None, 20, 1, 0)]);
        assert_eq!(rules("cmdprio_percentage=20,0\ncmdprio_class=2\ncmdprio=3"), [(Read, None, 20, 2, 3)]);
        assert!(rules("cmdprio_class=2").is_empty());
        assert_eq!(
            rules("cmdprio_bssplit=4k/10:64k/50/2/7,8k/"),
            [(Read, Some(4096), 10, 1, 0), (Read, Some(65_536), 50, 2, 7), (Write, Some(8192), 100, 1, 0)]
        );
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        for (options, told) in [
            ("cmdprio_percentage=1\ncmdprio_bssplit=4k/10", "not both"),
            ("cmdprio_bssplit=4k/101", "\"101\" in \"4k/101\" is not 0 to 100"),
            ("cmdprio_bssplit=4k/60:4k/60/2/0", "add up to 120"),
            ("cmdprio_bssplit=4k/10/1", "perhaps a class and a level"),
            ("cmdprio_bssplit=x/10", "\"x\" is no size"),
            ("cmdprio_percentage=1\nio_submit_mode=offload", "has the priority of its job"),
        ] {
            let trouble = job(options).unwrap_err();
            assert!(trouble.what.contains(told) && trouble.at.is_some(), "{trouble}");
        }
    }

    #[test]
    fn discards_need_a_share_and_a_backlog() {
        let of = |options: &str| job(&format!("rw=write\nverify=md5\n{options}")).unwrap().data.discards;
        assert_eq!(of("trim_percentage=20"), None);
        assert_eq!(of("trim_backlog=8"), None);
        let plain = Discards { percent: 20, after: 8, batch: 8, zeros: true };
        assert_eq!(of("trim_percentage=20\ntrim_backlog=8"), Some(plain));
        assert_eq!(
            of("trim_percentage=20\ntrim_backlog=8\ntrim_backlog_batch=2\ntrim_verify_zero=0"),
            Some(Discards { batch: 2, zeros: false, ..plain })
        );
    }
}
