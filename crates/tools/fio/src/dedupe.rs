//! From which blocks those are drawn that repeat another (`dedupe_mode=working_set`): of a set that the first blocks of a
//! job are that repeat none. Jobs with `dedupe_global` have one set, of which each writes its part.

use super::diagnostic::Trouble;
use super::job::{Job, WorkingSet};
use super::members::Member;
use super::options::OptionId;
use super::reader::OptionReader;
use fathom_spec::{Content, Extent, Plan, Work};

/// `dedupe_mode` and its kin.
pub(crate) fn said(reader: &OptionReader) -> Result<Option<WorkingSet>, Trouble> {
    let some = reader.count(OptionId::DedupePercentage) > 0;
    if !some || reader.word(OptionId::DedupeMode) != "working_set" {
        return Ok(None);
    }
    if reader.amount(OptionId::Size).is_none() {
        let what = "the working set is a share of size, and none is said";
        return Err(reader.wrong(OptionId::DedupeMode, what, "say size="));
    }
    let percent = reader.count(OptionId::DedupeWorkingSetPercentage) as u8;
    Ok(Some(WorkingSet { percent, global: reader.switch(OptionId::DedupeGlobal) }))
}

/// Gives the streams of such jobs their sets.
pub(crate) fn share(plan: &mut Plan, members: &[Member], jobs: &[Job]) -> Result<(), Trouble> {
    let mut shared = Vec::new();
    let mut together = 0;
    for member in members {
        let job = &jobs[member.job];
        let Some(set) = job.data.working_set else { continue };
        let stream = member.stream.0 as usize;
        let Work::Blocks(blocks) = &mut plan.streams[stream].work else { continue };
        let Content::Random { compress_percent, dedupe_percent } = blocks.content else { continue };
        if member.files.len() > 1 {
            let what =
                format!("{}: a working set is of one file, and there are {}", job.name, member.files.len());
            return Err(Trouble::at(&job.at, what, "say nrfiles=1, or dedupe_mode=repeat"));
        }
        let Extent::Bytes(length) = blocks.region.1 else { continue };
        let own = (length.0 / 100 * u64::from(set.percent) / blocks.sizes.most().0.max(1)).max(1);
        let (seed, first) = if set.global { (Some(plan.seed), together) } else { (None, 0) };
        blocks.content = Content::OfSet { compress_percent, dedupe_percent, blocks: own, seed, first, own };
        if set.global {
            together += own;
            shared.push(stream);
        }
    }
    for stream in shared {
        if let Work::Blocks(of) = &mut plan.streams[stream].work
            && let Content::OfSet { blocks, .. } = &mut of.content
        {
            *blocks = together;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::inherit::tests::jobs;
    use super::super::resolve::meant;
    use super::*;

    fn of(options: &str) -> Result<Option<WorkingSet>, Trouble> {
        let text = format!("[a]\nrw=write\n{options}\n");
        meant(&jobs(&text).unwrap().jobs[0]).map(|job| job.data.working_set)
    }

    #[test]
    fn a_working_set_needs_a_share_and_a_size() {
        let set = "dedupe_percentage=30\ndedupe_mode=working_set\n";
        assert_eq!(of(&format!("{set}size=1m")), Ok(Some(WorkingSet { percent: 5, global: false })));
        let more = "size=1m\ndedupe_working_set_percentage=40\ndedupe_global=1";
        assert_eq!(of(&format!("{set}{more}")), Ok(Some(WorkingSet { percent: 40, global: true })));
        assert_eq!(of("dedupe_mode=working_set\nsize=1m"), Ok(None), "nothing repeats");
        assert_eq!(of("dedupe_percentage=30\ndedupe_global=1\nsize=1m"), Ok(None), "one block is repeated");
        let trouble = of(set).unwrap_err();
        assert!(trouble.what.contains("a share of size") && trouble.at.is_some(), "{trouble}");
    }
}
