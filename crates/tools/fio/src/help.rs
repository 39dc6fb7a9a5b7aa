//! `--cmdhelp`, `--enghelp`, `--showcmd`, `--help`: laid out as fio does, in our own words.

use super::jobfile::{Section, quoted_for_shell};
use super::numbers::TimeUnit;
use super::options::{FioOption, Kind, OPTIONS, State};
use std::io::{self, Write};

/// `--cmdhelp=all`, and `--cmdhelp` alone.
pub fn commands(out: &mut impl Write) -> io::Result<()> {
    OPTIONS.iter().filter(|option| option.engines.is_empty()).try_for_each(|option| line(option, out))
}

fn line(option: &FioOption, out: &mut impl Write) -> io::Result<()> {
    let indent = option.depth * 2;
    let state = match option.state {
        State::Works => "",
        State::Idle => " [no effect here]",
        State::Refused => " [not supported here]",
    };
    writeln!(out, "{:indent$}{:width$}: {}{state}", "", option.name, option.about, width = 24 - indent)
}

/// `--cmdhelp=NAME`. `false`: there is none.
pub fn command(name: &str, out: &mut impl Write) -> io::Result<bool> {
    match OPTIONS
        .iter()
        .find(|option| option.engines.is_empty() && (option.name == name || option.alias == Some(name)))
    {
        Some(option) => details(option, out).map(|()| true),
        None => Ok(false),
    }
}

fn details(option: &FioOption, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{:>20}: {}", option.name, option.about)?;
    if let Some(alias) = option.alias {
        writeln!(out, "{:>20}: {alias}", "alias")?;
    }
    writeln!(out, "{:>20}: {}", "type", takes(&option.kind))?;
    let default = if option.default.is_empty() { "no default" } else { option.default };
    writeln!(out, "{:>20}: {default}", "default")?;
    match &option.kind {
        Kind::Integer(least, most) | Kind::Integers(least, most) if *least > i64::MIN => {
            let most = if *most == i64::MAX { -1 } else { *most };
            writeln!(out, "{:>20}: min={least}, max={most}", "range")?;
        }
        Kind::Bool => writeln!(out, "{:>20}: min=0, max=1", "range")?,
        Kind::One(words) | Kind::Begins(words) => {
            for (number, word) in words.iter().enumerate() {
                let title = if number == 0 { "valid values" } else { "" };
                writeln!(out, "{title:>20}: {word}")?;
            }
        }
        _ => {}
    }
    match option.state {
        State::Works if option.why.is_empty() => {}
        State::Works => writeln!(out, "{:>20}: {}", "here", option.why)?,
        State::Idle => writeln!(out, "{:>20}: no effect: {}", "here", option.why)?,
        State::Refused => writeln!(out, "{:>20}: not supported: {}", "here", option.why)?,
    }
    writeln!(out)
}

/// What a kind of value is called.
pub fn takes(kind: &Kind) -> &'static str {
    match kind {
        Kind::Text => "text",
        Kind::Integer(..) => "whole number (opt=100)",
        Kind::Integers(..) => "up to three whole numbers (opt=4k,8k)",
        Kind::Size => "bytes or percent (opt=1g, opt=50%)",
        Kind::Time(TimeUnit::Seconds) => "time, a bare number counts seconds (opt=10s)",
        Kind::Time(TimeUnit::Millis) => "time, a bare number counts milliseconds (opt=500)",
        Kind::Time(TimeUnit::Micros) => "time, a bare number counts microseconds (opt=500)",
        Kind::Bool => "0 or 1 (opt=1)",
        Kind::Flag => "nothing, 0 or 1 ([0|1])",
        Kind::Ranges => "up to three ranges (opt=1k-4k,4k-8k)",
        Kind::Floats(..) => "numbers with ':' between them (opt=5.9:7.8)",
        Kind::One(_) => "one word of a list",
        Kind::Begins(_) => "one word of a list, perhaps with more behind ':'",
    }
}

/// Engines of fio 3.33 that are not here.
pub const OTHER_ENGINES: &[(&str, &str)] = &[
    ("splice", "pipes are not measured"),
    ("net", "networks are not measured"),
    ("netsplice", "networks are not measured"),
    ("rdma", "networks are not measured"),
    ("sg", "no passthrough"),
    ("io_uring_cmd", "no passthrough"),
    ("e4defrag", "fathom moves no blocks"),
    ("mtd", "flash chips are not measured"),
    ("gfapi", "no library for it is linked"),
    ("gfapi_async", "no library for it is linked"),
    ("nbd", "no library for it is linked"),
    ("rados", "no library for it is linked"),
    ("rbd", "no library for it is linked"),
    ("pmemblk", "no library for it is linked"),
    ("dev-dax", "no library for it is linked"),
    ("libpmem", "no library for it is linked"),
    ("external", "engines are not loaded from files"),
];

/// `--enghelp`, `--enghelp=ENGINE`, `--enghelp=ENGINE,OPTION`. `false`: there is no such thing.
pub fn engines(asked: &str, out: &mut impl Write) -> io::Result<bool> {
    let works = super::engines::ENGINES.iter().map(|(name, _)| *name);
    if asked.is_empty() {
        writeln!(out, "Available IO engines:")?;
        works.into_iter().try_for_each(|name| writeln!(out, "\t{name}"))?;
        return Ok(true);
    }
    let (engine, option) = asked.split_once(',').unwrap_or((asked, ""));
    if !works.into_iter().chain(OTHER_ENGINES.iter().map(|(name, _)| *name)).any(|name| name == engine) {
        return Ok(false);
    }
    let mut own = OPTIONS.iter().filter(|one| one.engines.contains(&engine)).peekable();
    if !option.is_empty() {
        return match own.find(|one| one.name == option) {
            Some(one) => details(one, out).map(|()| true),
            None => Ok(false),
        };
    }
    if own.peek().is_none() {
        writeln!(out, "IO engine {engine} has no options")?;
    }
    own.try_for_each(|one| line(one, out))?;
    Ok(true)
}

/// `--showcmd`: one job file as words of a command line. Each `[global]` tells all defaults so far.
pub fn show_command(sections: &[Section], only: &[String], out: &mut impl Write) -> io::Result<()> {
    let mut defaults = Vec::new();
    write!(out, "fio ")?;
    for section in sections {
        let settings = if section.is_global() {
            defaults.extend(&section.settings);
            defaults.clone()
        } else if only.is_empty() || only.contains(&section.name) {
            write!(out, "--name={} ", quoted_for_shell(&section.name))?;
            section.settings.iter().collect()
        } else {
            continue;
        };
        for setting in settings {
            match &setting.value {
                Some(value) => write!(out, "--{}={} ", setting.name, quoted_for_shell(value))?,
                None => write!(out, "--{} ", setting.name)?,
            }
        }
    }
    writeln!(out)
}

/// `--help`.
pub fn usage(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "fio [options] [job options] [job files]  (fathom speaks fio 3.42's language)")?;
    let lines = [
        ("--name=NAME", "begin a job; the options of jobs behind it are its own"),
        ("--section=NAME", "run this section of the job files only; may be said again"),
        ("--output=FILE", "write the report there"),
        ("--output-format=F[,F]", "normal, json, json+, terse"),
        ("--minimal", "the same as --output-format=terse"),
        ("--append-terse", "terse lines behind the other report"),
        ("--terse-version=N", "2 to 5; 3 if not said"),
        ("--parse-only", "read everything, run nothing"),
        ("--showcmd", "print job files as command lines"),
        ("--cmdhelp[=OPTION]", "what jobs understand"),
        ("--enghelp[=ENGINE[,OPTION]]", "engines, and what they understand"),
        ("--readonly", "refuse whatever writes"),
        ("--eta=WHEN", "the live line: always, never, auto"),
        ("--eta-newline=T", "a new line for it each time T"),
        ("--status-interval=T", "a whole report each time T"),
        ("--bandwidth-log", "logs of the bandwidth of all jobs"),
        ("--max-jobs=N", "accepted; there is no table of jobs to make room in"),
        ("--warnings-fatal", "warnings are errors"),
        ("--idle-prof=WHAT", "how idle the processors are: system, percpu, calibrate"),
        ("--profile=tiobench", "jobs that are built in"),
        ("--extras", "fathom's own findings in the JSON"),
        ("--debug=TYPES", "tell more on stderr"),
        ("--version", "the version whose language this is"),
    ];
    lines.iter().try_for_each(|(words, what)| writeln!(out, "  {words:<28} {what}"))
}

#[cfg(test)]
mod tests {
    use super::super::jobfile::{self, tests::around};
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_listing_is_laid_out_as_fios() {
        let listing = text(commands);
        let lines: Vec<&str> = listing.lines().collect();
        assert!(lines[0].starts_with("description             : "));
        assert!(lines.iter().any(|line| line.starts_with("  bs                    : ")));
        assert!(!listing.contains("sqthread_poll"));
    }

    #[test]
    fn one_option_is_told_in_full() {
        let bs = text(|out| command("blocksize", out).map(|_| ()));
        assert!(
            bs.starts_with("                  bs: Bytes of an I/O\n               alias: blocksize\n"),
            "{bs}"
        );
        assert!(bs.contains("             default: 4096\n               range: min=1, max=-1\n"), "{bs}");
        let rw = text(|out| command("rw", out).map(|_| ()));
        assert!(rw.contains("        valid values: read\n                    : write\n"), "{rw}");
        assert!(!command("nosuch", &mut Vec::new()).unwrap());
    }

    #[test]
    fn engines_and_their_options_are_told() {
        assert!(text(|out| engines("", out).map(|_| ())).starts_with("Available IO engines:\n\tsync\n"));
        assert!(text(|out| engines("libaio", out).map(|_| ())).contains("nowait                  : "));
        assert_eq!(text(|out| engines("psync", out).map(|_| ())), "IO engine psync has no options\n");
        assert!(text(|out| engines("io_uring,hipri", out).map(|_| ())).contains("               hipri: "));
        assert!(!engines("zz", &mut Vec::new()).unwrap());
        assert!(!engines("libaio,iodepth", &mut Vec::new()).unwrap());
    }

    #[test]
    fn a_job_file_becomes_a_command_line() {
        let file =
            "[global]\nbs=4k ; x\n[a]\nstonewall\ndescription=b c\n[global]\nrw=read\n[b]\nnumjobs = 2\n";
        let sections = jobfile::parse("t", file, &around()).unwrap();
        assert_eq!(
            text(|out| show_command(&sections, &[], out)),
            "fio --bs=4k --name=a --stonewall --description=\"b c\" --bs=4k --rw=read --name=b --numjobs=2 \n"
        );
        assert_eq!(
            text(|out| show_command(&sections, &["b".to_owned()], out)),
            "fio --bs=4k --bs=4k --rw=read --name=b --numjobs=2 \n"
        );
    }
}
