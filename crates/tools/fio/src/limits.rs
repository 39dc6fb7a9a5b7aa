//! What a job puts up with and when it ends before its work is done: failures, latencies, rates that are too low, a steady
//! state; and what it is to the system.

use super::diagnostic::Trouble;
use super::job::{Hint, Steady, Terms};
use super::numbers;
use super::options::OptionId;
use super::reader::OptionReader;
use fathom_spec::{Bytes, Failures, ThreadAttributes};

/// What `continue_on_error` goes on after.
const NOT_FATAL: [i32; 2] = [libc::EIO, libc::EILSEQ];

/// Reads the terms of a job.
pub(crate) fn terms(reader: &OptionReader) -> Result<Terms, Trouble> {
    let (counts_errors, excused) = failures(reader)?;
    for (least, most) in [(OptionId::RateMin, OptionId::Rate), (OptionId::RateIopsMin, OptionId::RateIops)] {
        let both = reader.three_positive(least).into_iter().zip(reader.three_positive(most));
        if both.into_iter().any(|(least, most)| least.zip(most).is_some_and(|(least, most)| least > most)) {
            return Err(reader.wrong(least, "the minimum rate exceeds the rate", "say a smaller one"));
        }
    }
    Ok(Terms {
        counts_errors,
        excused,
        latency_most: reader.some_time(OptionId::MaxLatency),
        rate_least: reader.three_positive(OptionId::RateMin),
        rate_iops_least: reader.three_positive(OptionId::RateIopsMin),
        rate_cycle: reader.time_or_default(OptionId::RateCycle),
        steady: steady(reader)?,
        standing: standing(reader)?,
        before: reader.some_text(OptionId::ExecPrerun),
        after: reader.some_text(OptionId::ExecPostrun),
        takes_all_on_error: reader.switch(OptionId::ExitallOnError),
        hint: match reader.word(OptionId::FadviseHint) {
            "0" => Hint::Silent,
            "random" => Hint::Random,
            "sequential" => Hint::Sequential,
            _ => Hint::Honest,
        },
    })
}

fn failures(reader: &OptionReader) -> Result<(bool, Failures), Trouble> {
    let word = reader.word(OptionId::ContinueOnError);
    let of = |kinds: &[&str]| if kinds.contains(&word) { NOT_FATAL.to_vec() } else { Vec::new() };
    let mut lists =
        [of(&["read", "io", "all", "1"]), of(&["write", "io", "all", "1"]), of(&["verify", "all", "1"])];
    if let Some(text) = reader.text(OptionId::IgnoreError) {
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 3 {
            return Err(reader.wrong(
                OptionId::IgnoreError,
                "more than three lists",
                "say READ,WRITE,VERIFY",
            ));
        }
        for (list, part) in lists.iter_mut().zip(parts).filter(|(_, part)| !part.trim().is_empty()) {
            *list = part.split(':').map(|one| error_number(one, reader)).collect::<Result<_, _>>()?;
        }
    }
    let [read, write, check] = lists;
    Ok((!matches!(word, "none" | "0"), Failures::End { read, write, check }))
}

fn error_number(word: &str, reader: &OptionReader) -> Result<i32, Trouble> {
    let word = word.trim();
    let named = || ERRORS.iter().find(|(_, name)| *name == word).map(|(number, _)| *number);
    named().or_else(|| word.parse().ok().filter(|number| *number > 0)).ok_or_else(|| {
        let what = format!("there is no error {:?}", word.chars().take(20).collect::<String>());
        reader.wrong(OptionId::IgnoreError, &what, "say names or numbers, ENOSPC:122 for instance")
    })
}

/// Names of errors with the system's numbers for them.
macro_rules! errors {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name)),)*] };
}

/// Linux's error numbers, those that storage can answer.
const ERRORS: &[(i32, &str)] = errors! {
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK
    EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE
    EROFS EMLINK EPIPE EDOM ERANGE ENODATA ETIME EOVERFLOW EILSEQ EOPNOTSUPP ETIMEDOUT EREMOTEIO EDQUOT
    ENOMEDIUM ECANCELED
};

fn standing(reader: &OptionReader) -> Result<ThreadAttributes, Trouble> {
    let narrow = |id: OptionId| reader.said_count(id).map(|number| number as u8);
    let (class, level) = (narrow(OptionId::Prioclass), narrow(OptionId::Prio));
    // A level alone is one of the best-effort class; a class alone has the first level.
    let io_priority = match (class, level) {
        (None, None) | (Some(0), None) => None,
        (None | Some(0), Some(level)) => Some((2, level)),
        (Some(class), level) => Some((class, level.unwrap_or(0))),
    };
    Ok(ThreadAttributes {
        nice: Some(reader.integer(OptionId::Nice) as i32).filter(|nice| *nice != 0),
        io_priority,
        user: reader.said_small(OptionId::Uid)?,
        group: reader.said_small(OptionId::Gid)?,
        locked: Bytes(reader.bytes(OptionId::Lockmem)?),
        // Both are known once the machine was asked.
        memory: None,
        control_group: None,
    })
}

fn steady(reader: &OptionReader) -> Result<Option<Steady>, Trouble> {
    let duration = reader.time(OptionId::SteadystateDuration);
    // The table's criterion is fio's, and is looked at only if one is asked for.
    let Some(text) = reader.text(OptionId::Steadystate).filter(|_| reader.is_said(OptionId::Steadystate))
    else {
        return Ok(None);
    };
    let wrong =
        |what: &str| reader.wrong(OptionId::Steadystate, what, "say steadystate=iops:2% or bw_slope:0.1%");
    let (word, limit) = text.split_once(':').ok_or_else(|| wrong("it has no limit"))?;
    let of = ["iops", "iops_slope", "bw", "bw_slope"].into_iter().find(|known| *known == word.trim());
    let of = of.ok_or_else(|| match word.trim() {
        late @ ("lat" | "lat_slope") => {
            wrong(&format!("{late} is known and not supported here: no latency of each second is kept"))
        }
        other => wrong(&format!("{other:?} is no criterion")),
    })?;
    let (number, in_percent) = match limit.trim().strip_suffix('%') {
        Some(number) => (number.parse().ok(), true),
        None if of.starts_with("bw") => {
            (numbers::bytes(limit, reader.base()).map(|bytes| bytes as f64), false)
        }
        None => (limit.trim().parse().ok(), false),
    };
    let limit = number.filter(|limit: &f64| limit.is_finite() && *limit >= 0.0);
    let limit = limit.ok_or_else(|| wrong(&format!("{limit:?} is no limit")))?;
    let duration_seconds = duration.0 / 1_000_000_000;
    // Without a duration nothing is looked at, as in fio.
    Ok((duration_seconds > 0).then_some(Steady {
        of,
        limit,
        in_percent,
        duration_seconds,
        ramp: reader.time(OptionId::SteadystateRampTime),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::inherit::tests::jobs;
    use super::super::resolve::meant;
    use super::*;
    use fathom_spec::Nanos;

    fn of(text: &str) -> Result<Terms, String> {
        let job = jobs(&format!("[a]\nsize=1m\n{text}\n")).unwrap().jobs.remove(0);
        meant(&job).map(|job| job.terms).map_err(|trouble| trouble.to_string())
    }

    fn excused(text: &str) -> (Vec<i32>, Vec<i32>, Vec<i32>) {
        match of(text).unwrap().excused {
            Failures::End { read, write, check } => (read, write, check),
            Failures::Pass | Failures::Refusals => panic!("nothing is passed over unsaid"),
        }
    }

    #[test]
    fn failures_are_excused_by_kind_and_by_name() {
        let (none, both) = (Vec::new, || vec![5, 84]);
        assert_eq!(excused("bs=4k"), (none(), none(), none()));
        assert_eq!(excused("continue_on_error=read"), (both(), none(), none()));
        assert_eq!(excused("continue_on_error=io"), (both(), both(), none()));
        assert_eq!(excused("continue_on_error=1"), (both(), both(), both()));
        assert_eq!(excused("ignore_error=EAGAIN,ENOSPC:122"), (vec![11], vec![28, 122], none()));
        assert_eq!(excused("continue_on_error=all\nignore_error=,ENOSPC"), (both(), vec![28], both()));
        assert!(of("ignore_error=EWHAT").unwrap_err().contains("there is no error \"EWHAT\""));
        assert!(of("ignore_error=1,2,3,4").unwrap_err().contains("more than three lists"));
        assert!(of("continue_on_error=write").unwrap().counts_errors);
    }

    #[test]
    fn a_steady_state_has_a_criterion_a_limit_and_a_length() {
        let steady = of("ss=bw_slope:0.5%\nss_dur=10\nss_ramp=5s").unwrap().steady.unwrap();
        assert_eq!((steady.of, steady.limit, steady.in_percent), ("bw_slope", 0.5, true));
        assert_eq!((steady.duration_seconds, steady.ramp), (10, Nanos::from_seconds(5)));
        let bytes = of("ss=bw:1m\nss_dur=10").unwrap().steady.unwrap();
        assert_eq!((bytes.limit, bytes.in_percent, bytes.is_slope()), (1_048_576.0, false, false));
        assert_eq!(of("ss=iops:2%").unwrap().steady, None, "no duration, no look");
        assert!(of("ss=late:2%\nss_dur=1").unwrap_err().contains("no criterion"));
        assert!(of("ss=iops\nss_dur=1").unwrap_err().contains("no limit"));
    }

    #[test]
    fn priorities_are_those_of_the_system() {
        let priority = |text: &str| of(text).unwrap().standing.io_priority;
        assert_eq!(priority("prio=6"), Some((2, 6)));
        assert_eq!(priority("prioclass=1"), Some((1, 0)));
        assert_eq!(priority("prioclass=3\nprio=5"), Some((3, 5)));
        assert_eq!(priority("nice=0"), None);
        assert!(of("rate_iops=10\nrate_iops_min=20").unwrap_err().contains("exceeds"));
        assert!(of("nice=0").unwrap().standing.is_plain());
        assert_eq!(of("lockmem=1m").unwrap().standing.locked, Bytes(1 << 20));
    }
}
