//! Reads dt's command line: what was typed becomes options, and what fathom does not do is refused by name.

use super::error::{OptionError, wrong};
use super::number::{Numbers, seconds};
use super::options::{Dispose, Layout, Options, Pattern, Stats};
use super::resolve::together;
use super::shape::Mode;
use super::workload;

/// Options of dt that are refused, by what they begin with, and why.
const NOT_DONE: &[(&str, &str)] = &[
    ("incr_limit=", "one file has one length: min_limit= and max_limit= bound it"),
    ("soffset=", "use position="),
    ("dir=", "name one file with of="),
    ("files=", "name one file with of="),
    ("capacity", "use limit="),
    ("maxdata", "use limit="),
    ("step=", "use iotype=random"),
    ("iops_type=", "iops= keeps its rate exactly"),
    ("log=", "redirect stdout"),
    ("script=", "put the options on the command line"),
    ("iobehavior=", "only dt's own behaviour is spoken"),
];

/// Flags of enable= and disable= that are refused.
const NOT_ENABLED: &[(&str, &str)] = &[
    ("mmap", "use fathom run"),
    ("poison", "buffers are compared in full"),
    ("prefill", "buffers are compared in full"),
    ("force-corruption", "flip bytes of the file with any editor"),
];

/// Bounds of `limit=random`.
const LIMITS: (u64, u64) = (10 << 20, 2 << 30);

fn fill_word(value: &str) -> Result<u32, OptionError> {
    match pattern(value)? {
        Pattern::Word(word) => Ok(word),
        _ => Err(wrong("fill_pattern", value, "a hexadecimal word")),
    }
}

/// Reads the words after `dt`.
pub fn parse(words: &[String], page: u64) -> Result<Options, OptionError> {
    let mut options = Options { typed: words.to_vec(), ..Options::default() };
    // The size of a block first: numbers may be counted in it.
    for word in words {
        if let Some(value) = word.strip_prefix("dsize=").or_else(|| word.strip_prefix("lbs=")) {
            options.block = number(word, value, Numbers { block: 512, page })?;
        }
    }
    let numbers = Numbers { block: options.block, page };
    let words = workload::expanded(words)?;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--strict" => options.strict = true,
            "--layout" => {
                let year = words.next().map_or("", String::as_str);
                options.layout = layout(year)?;
            }
            other => match other.strip_prefix("--layout=") {
                Some(year) => options.layout = layout(year)?,
                None => option(&mut options, word, numbers)?,
            },
        }
    }
    // A copy is made to stay.
    if options.mode == Mode::Copy && !words_name_a_disposal(&options.typed) {
        options.dispose = Dispose::Keep;
    }
    together(&options)?;
    if let Some(drawn) = options.drawn_limit() {
        options.limit = Some(drawn);
    }
    Ok(options)
}

fn words_name_a_disposal(words: &[String]) -> bool {
    words.iter().any(|word| word.starts_with("dispose="))
}

fn layout(year: &str) -> Result<Layout, OptionError> {
    match year {
        "2008" => Ok(Layout::Old),
        "26" => Ok(Layout::New),
        _ => Err(wrong("--layout", year, "2008 or 26")),
    }
}

fn number(word: &str, value: &str, numbers: Numbers) -> Result<u64, OptionError> {
    let name = word.split('=').next().unwrap_or_default();
    numbers.value(value).ok_or_else(|| wrong(name, value, "a number such as 64k, 1m or 0x10"))
}

fn option(options: &mut Options, word: &str, numbers: Numbers) -> Result<(), OptionError> {
    if let Some((_, why)) = NOT_DONE.iter().find(|(name, _)| word.starts_with(name)) {
        return Err(OptionError::NotDone { option: word.to_owned(), why });
    }
    let Some((name, value)) = word.split_once('=') else {
        return Err(OptionError::Unknown(word.to_owned()));
    };
    let taken = options.shape.take(name, value, numbers)?
        || options.crew.take(name, value, numbers)?
        || options.watch.take(name, value, numbers)?;
    if taken {
        return Ok(());
    }
    let count = || number(word, value, numbers);
    let time = || seconds(value).ok_or_else(|| wrong(name, value, "a time such as 30s or 1h30m"));
    match name {
        "of" => options.output = Some(value.to_owned()),
        "if" => options.input = Some(value.to_owned()),
        "bs" if value == "random" => options.shape.draw_sizes(options.block),
        "bs" => options.record = count()?,
        "limit" if value == "random" => options.limits = options.limits.or(Some(LIMITS)),
        "limit" => options.limit = Some(count()?),
        "min_limit" => options.limits = Some((count()?, options.limits.unwrap_or(LIMITS).1)),
        "max_limit" => options.limits = Some((options.limits.map_or(0, |limits| limits.0), count()?)),
        "fill_pattern" => options.fill.word = Some(fill_word(value)?),
        "records" | "count" => options.records = count()?,
        "passes" => options.passes = count()?,
        "runtime" => options.runtime = Some(time()?),
        "skip" => options.skip = count()?,
        "seek" => options.seek = count()?,
        "oposition" => options.output_position = Some(count()?),
        "position" | "offset" => options.position = count()?,
        "dsize" | "lbs" => {}
        "lba" => (options.lba, options.numbered) = (count()?, true),
        "iotseed" => options.iot_seed = count()? as u32,
        "iotpass" => options.iot_pass = count()? as u32,
        "aios" => options.aios = count()?.clamp(1, 4096) as u32,
        "iops" => options.iops = Some(count()? as f64),
        "rseed" => options.random_seed = count()?,
        "errors" => options.errors = count()?,
        "maxbad" => options.bad_most = count()?,
        "dlimit" => options.dump = count()?,
        "retryDC_delay" => options.retry_delay = time()?,
        "retryDC_limit" => options.retry_limit = count()?,
        "prefix" => options.prefix = Some(value.to_owned()),
        "pattern" => options.pattern = pattern(value)?,
        "pf" => options.pattern = Pattern::File(value.to_owned()),
        "trigger" => options.trigger = Some(trigger(word, value)?),
        _ => return choice(options, word, name, value),
    }
    Ok(())
}

/// Options whose values are words.
fn choice(options: &mut Options, word: &str, name: &str, value: &str) -> Result<(), OptionError> {
    match (name, value) {
        ("dispose", "delete") => options.dispose = Dispose::Delete,
        ("dispose", "keep") => options.dispose = Dispose::Keep,
        ("dispose", "keeponerror") => options.dispose = Dispose::KeepOnError,
        ("dispose", _) => return Err(wrong(name, value, "delete, keep or keeponerror")),
        ("iotype", "sequential" | "random" | "vary") => {
            (options.random, options.shape.varies_type) = (value == "random", value == "vary");
        }
        ("iotype", _) => return Err(wrong(name, value, "sequential, random or vary")),
        ("iodir", "forward" | "reverse" | "vary") => {
            (options.shape.reverse, options.shape.varies_direction) = (value == "reverse", value == "vary");
        }
        ("iodir", _) => return Err(wrong(name, value, "forward, reverse or vary")),
        ("iomode", "test") => options.mode = Mode::Test,
        ("iomode", "copy") => options.mode = Mode::Copy,
        ("iomode", "verify") => options.mode = Mode::Verify,
        ("iomode", "mirror") => options.mode = Mode::Mirror,
        ("iomode", _) => return Err(wrong(name, value, "test, copy, verify or mirror")),
        ("stats", "full") => options.stats = Stats::Full,
        ("stats", "brief") => options.stats = Stats::Brief,
        ("stats", "none") => options.stats = Stats::None,
        ("stats", _) => return Err(wrong(name, value, "full, brief or none")),
        ("flags" | "oflags", _) => value.split(',').try_for_each(|flag| open_flag(options, word, flag))?,
        ("enable" | "disable", _) => {
            let on = name == "enable";
            value.split(',').try_for_each(|flag| switch(options, word, flag, on))?;
        }
        _ => return Err(OptionError::Unknown(word.to_owned())),
    }
    Ok(())
}

fn open_flag(options: &mut Options, word: &str, flag: &str) -> Result<(), OptionError> {
    match flag {
        "direct" => options.direct = true,
        "nodirect" => options.direct = false,
        "dsync" => options.dsync = true,
        "sync" => options.sync = true,
        "trunc" => options.truncate = true,
        "none" | "large" => {}
        _ => {
            let why = "direct, nodirect, sync, dsync, trunc, large and none are done";
            return Err(OptionError::NotDone { option: word.to_owned(), why });
        }
    }
    Ok(())
}

fn switch(options: &mut Options, word: &str, flag: &str, on: bool) -> Result<(), OptionError> {
    match flag {
        "compare" => options.compare = on,
        "verify" => options.verify = on,
        "lbdata" => options.numbered = on,
        "timestamp" => options.timestamp = on,
        "btags" => options.tags = on,
        "unique" => options.unique = on,
        "fsync" => options.fsync = on,
        "pstats" | "pstat" => options.pass_statistics = on,
        "fill_always" => options.fill.always = on,
        "fill_once" => {}
        "stats" => options.stats = if on { Stats::Full } else { Stats::None },
        "direct" => options.direct = on,
        "raw" | "read_immed" => options.shape.raw = on,
        "reread" => options.shape.reread = on,
        "noprog" => options.watch.progress = on,
        "htiming" | "history_timing" => options.watch.history_times = on,
        "hdump" | "history_dump" => options.watch.history_dump = on,
        "aio" => options.aios = if on { options.aios.max(8) } else { 1 },
        "diag" | "logdiag" | "job_stats" | "eof" | "debug" => {}
        _ => {
            let known = NOT_ENABLED.iter().find(|(name, _)| *name == flag);
            let why = known.map_or("it is not one of those that fathom dt knows", |(_, why)| *why);
            return Err(OptionError::NotDone { option: word.to_owned(), why });
        }
    }
    Ok(())
}

fn trigger(word: &str, value: &str) -> Result<String, OptionError> {
    let command = value.strip_prefix("cmd:").or_else(|| value.strip_prefix("cmd="));
    let why = "only trigger=cmd:COMMAND is done";
    command.map(str::to_owned).ok_or(OptionError::NotDone { option: word.to_owned(), why })
}

fn pattern(value: &str) -> Result<Pattern, OptionError> {
    match value {
        "iot" | "IOT" => return Ok(Pattern::Iot),
        "incr" | "INCR" => return Ok(Pattern::Incrementing),
        _ => {}
    }
    let hex = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")).unwrap_or(value);
    let is_hex = !hex.is_empty() && hex.chars().all(|c| c.is_ascii_hexdigit());
    match (is_hex, u32::from_str_radix(hex, 16)) {
        (true, Ok(word)) => Ok(Pattern::Word(word)),
        (true, Err(_)) => Err(wrong("pattern", value, "a word has at most eight digits")),
        (false, _) if value.is_empty() => {
            Err(wrong("pattern", value, "iot, incr, a hexadecimal word or a text"))
        }
        (false, _) => Ok(Pattern::Text(unescaped(value))),
    }
}

/// A text with `\r \n \t \\ \xHH \ddd`.
fn unescaped(text: &str) -> Vec<u8> {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    let code = |from: usize, to: usize, radix| {
        let digits = bytes.get(from..to).and_then(|digits| std::str::from_utf8(digits).ok())?;
        u8::from_str_radix(digits, radix).ok()
    };
    while let Some(byte) = bytes.get(at) {
        let (put, used) = match (byte, bytes.get(at + 1)) {
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b'r')) => (b'\r', 2),
            (b'\\', Some(b't')) => (b'\t', 2),
            (b'\\', Some(b'\\')) => (b'\\', 2),
            (b'\\', Some(b'x')) => code(at + 2, at + 4, 16).map_or((*byte, 1), |value| (value, 4)),
            (b'\\', Some(b'0'..=b'7')) => code(at + 1, at + 4, 8).map_or((*byte, 1), |value| (value, 4)),
            _ => (*byte, 1),
        };
        out.push(put);
        at += used;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, OptionError> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), 4096)
    }

    #[test]
    fn the_seeds_lines_are_understood() {
        let options = parsed("of=1G limit=1g bs=1m dispose=keep flags=direct").unwrap();
        assert_eq!((options.name(), options.record, options.limit), ("1G", 1 << 20, Some(1 << 30)));
        assert_eq!((options.dispose, options.direct, options.writes()), (Dispose::Keep, true, true));
        assert!(!parsed("if=1G limit=1g bs=1m dispose=keep flags=direct").unwrap().writes());
    }

    #[test]
    fn patterns_are_words_texts_or_names() {
        let pattern = |text: &str| parsed(&format!("if=f pattern={text}")).unwrap().pattern;
        assert_eq!(pattern("iot"), Pattern::Iot);
        assert_eq!(pattern("0x39c39c39"), Pattern::Word(0x39c3_9c39));
        assert_eq!(pattern("ff"), Pattern::Word(0xff));
        assert_eq!(pattern("hello\\n\\x41\\101"), Pattern::Text(b"hello\nAA".to_vec()));
    }

    #[test]
    fn what_is_not_done_is_refused_by_name_and_what_is_unknown_as_dt_does() {
        assert_eq!(
            parsed("if=f bogus=1").unwrap_err().to_string(),
            "ERROR: Invalid option 'bogus=1' specified, please use 'help' for valid options."
        );
        for word in [
            "incr_limit=4k",
            "workload=dt_acid",
            "enable=mmap",
            "flags=rsync",
            "trigger=br",
            "step=4k",
            "files=3",
        ] {
            let text = parsed(&format!("if=f {word}")).unwrap_err().to_string();
            assert!(text.starts_with(&format!("ERROR: Option '{word}' is dt's")), "{text}");
        }
        for line in [
            "bs=1m",
            "if=a of=b limit=1m",
            "of=a",
            "if=a bs=1000",
            "if=a bs=0",
            "if=a bs=1z",
            "if=a --layout 9",
            "of=a limit=1m min=8k max=4k",
            "of=a limit=1m min=8k",
            "of=a limit=1m incr=100",
            "of=a records=5 max=64k",
            "of=a limit=1m readp=101",
            "if=a readp=50",
            "if=a enable=raw",
            "of=a limit=1m iotype=random ibs=4k obs=8k",
            "of=a limit=1m rrandp=4",
            "of=a iomode=copy",
            "if=a of=b iomode=copy randp=5",
            "if=a of=b iomode=verify threads=2",
            "of=a limit=1m threads=2 slices=2",
            "of=a limit=1m slices=2 slice=3",
            "of=a limit=1m align=4096",
            "if=a of=b iomode=copy align=rotate",
            "of=a limit=1m workload=nonsense",
            "of=a min_limit=2m max_limit=1m",
            "of=a max_limit=100",
            "of=a limit=1m fill_pattern=text",
            "if=a fill_pattern=ff",
            "if=a of=b iomode=copy iotype=vary",
            "of=a limit=1m iotype=vary ibs=4k obs=8k",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn sizes_of_records_follow_dts_defaults() {
        let records = |line: &str, writes| parsed(line).unwrap().records_of(writes).words();
        assert_eq!(
            records("of=f limit=1m min=4k max=64k incr=variable", true),
            "min=4096 max=65536 incr=variable"
        );
        assert_eq!(records("of=f limit=1m bs=32k min=4k", true), "min=4096 max=32768 incr=512");
        assert_eq!(records("of=f limit=1m max=2k dsize=1k", false), "min=1024 max=2048 incr=1024");
        assert_eq!(records("of=f limit=1m ibs=4k obs=8k", false), "bs=4096");
        assert_eq!(records("of=f limit=1m ibs=4k bs=8k", true), "bs=8192");
    }

    #[test]
    fn a_random_size_is_one_drawn_for_each_record() {
        let options = parsed("of=f limit=1m bs=random").unwrap();
        assert_eq!(options.records_of(true).words(), "min=512 max=1048576 incr=variable");
        assert_eq!(parsed("of=f limit=1m dsize=4k bs=random").unwrap().records_of(false).least, 4096);
        // A size that stands behind it is only the largest.
        assert_eq!(parsed("of=f limit=1m bs=random max=64k").unwrap().largest(), 65_536);
    }

    #[test]
    fn a_random_limit_lies_within_its_bounds_and_comes_from_the_seed() {
        let limit = |line: &str| parsed(line).unwrap().limit.unwrap();
        assert!((10 << 20..=2 << 30).contains(&limit("of=f limit=random")));
        let drawn: std::collections::BTreeSet<u64> =
            (0..50).map(|seed| limit(&format!("of=f min_limit=4k max_limit=16k rseed={seed}"))).collect();
        assert!(drawn.len() > 15 && drawn.iter().all(|limit| (4096..=16_384).contains(limit)));
        assert!(drawn.iter().all(|limit| limit.is_multiple_of(512)));
        // Each thread has its own file, and its own length.
        let crew = parsed("of=f min_limit=4k max_limit=1m threads=3").unwrap().crew_of(4096);
        let lengths: Vec<_> = crew.iter().map(|own| own.limit.unwrap()).collect();
        assert!(lengths[0] != lengths[1] && lengths[1] != lengths[2], "{lengths:?}");
        let crew = parsed("of=f min_limit=4k max_limit=1m slices=2").unwrap().crew_of(4096);
        assert_eq!(crew.iter().map(|own| own.limit.unwrap()).sum::<u64>(), 4096);
    }

    #[test]
    fn what_varies_is_drawn_for_each_pass_and_stays_as_it_is_without() {
        let forms = |line: &str| {
            let options = parsed(line).unwrap();
            let all = (1..40).map(|pass| options.of_pass(pass)).map(|own| (own.random, own.shape.reverse));
            all.collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(forms("of=f limit=1m iotype=vary iodir=vary").len(), 4);
        assert_eq!(
            forms("of=f limit=1m iotype=vary").into_iter().collect::<Vec<_>>(),
            [(false, false), (true, false)]
        );
        assert_eq!(
            forms("of=f limit=1m iodir=vary iotype=random").into_iter().collect::<Vec<_>>(),
            [(true, false), (true, true)]
        );
        assert_eq!(forms("of=f limit=1m iodir=reverse").into_iter().collect::<Vec<_>>(), [(false, true)]);
    }

    #[test]
    fn threads_have_files_and_slices_have_parts() {
        let crew = |line: &str, length| {
            let all = parsed(line).unwrap().crew_of(length);
            let part = |own: &Options| (own.name().to_owned(), own.start(), own.limit, own.crew.thread);
            all.iter().map(part).collect::<Vec<_>>()
        };
        let file = |name: &str| name.to_owned();
        assert_eq!(
            crew("of=x limit=1m threads=2", 1 << 20),
            [(file("x-j1t1"), 0, Some(1 << 20), 1), (file("x-j1t2"), 0, Some(1 << 20), 2)]
        );
        assert_eq!(crew("of=x limit=1m", 1 << 20), [(file("x"), 0, Some(1 << 20), 1)]);
        assert_eq!(crew("if=x threads=2", 512).len(), 2);
        assert_eq!(
            crew("of=x limit=10k slices=3 position=4k", 10_240),
            [
                (file("x"), 4096, Some(3072), 1),
                (file("x"), 7168, Some(3072), 2),
                (file("x"), 10_240, Some(4096), 3)
            ]
        );
        assert_eq!(crew("of=x limit=10k slices=3 slice=2", 10_240), [(file("x"), 3072, Some(3072), 2)]);
    }
}
