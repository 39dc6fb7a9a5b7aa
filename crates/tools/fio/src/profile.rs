//! `--profile=tiobench`: jobs that are built in, with options of their own. A profile is another way to say a job file.

use super::diagnostic::{Place, Trouble};
use super::jobfile::{Section, Setting};
use std::collections::VecDeque;
use std::io::{self, Write};

/// A profile that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Sequential and random writes and reads of four files, one job after the other.
    Tiobench,
}

/// The profiles of fio 3.33 that are not here, and why.
pub const OTHER_PROFILES: &[(&str, &str)] =
    &[("act", "fio 3.33 itself ends with a segmentation fault when it is asked for it")];

/// An option of tiobench: its name, what it is, what a job calls it.
const TIOBENCH: &[(&str, &str, &str)] = &[
    ("size", "What a job works on, MiB", "size"),
    ("block", "Bytes of an I/O", "bs"),
    ("numruns", "How often each job is done", "loops"),
    ("dir", "Where its files are", "directory"),
    ("threads", "Threads of each job", "numjobs"),
];

/// What all its jobs share.
const SHARED: &[(&str, Option<&str>)] = &[
    ("runtime", Some("600")),
    ("group_reporting", None),
    ("thread", None),
    ("overwrite", Some("1")),
    ("filename", Some(".fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4")),
    ("ioengine", Some("sync")),
];

/// Its jobs, in order; all but the first wait for the one before, and what is written is synced at the end.
const JOBS: [(&str, &str); 4] =
    [("seqwrite", "write"), ("randwrite", "randwrite"), ("seqread", "read"), ("randread", "randread")];

impl Profile {
    /// The profile of that name, or what is wrong with it.
    pub fn named(name: &str, at: &Place) -> Result<Profile, Trouble> {
        if name == "tiobench" {
            return Ok(Profile::Tiobench);
        }
        Err(match OTHER_PROFILES.iter().find(|(other, _)| *other == name) {
            Some((_, why)) => {
                let what = format!("--profile={name} is known and not supported here: {why}");
                Trouble::at(at, what, "write what it should do as a job file")
            }
            None => Trouble::at(at, format!("profile '{name}' not found"), "tiobench is the one there is"),
        })
    }

    /// Which profile words ask for, the last of several: options of it may stand before its name.
    pub fn among<'a>(words: &VecDeque<(&'a str, Place)>) -> Option<(&'a str, Place)> {
        let mut words = words.iter();
        let mut asked = None;
        while let Some((word, at)) = words.next() {
            match word.strip_prefix("--").or(word.strip_prefix('-')) {
                Some("") => break,
                Some("profile") => asked = words.next().cloned().or(asked),
                Some(word) => asked = word.strip_prefix("profile=").map(|name| (name, at.clone())).or(asked),
                None => {}
            }
        }
        asked
    }

    /// The option of that name, if it is one of the profile's.
    pub fn option(self, name: &str) -> Option<&'static str> {
        self.options().into_iter().find(|option| *option == name)
    }

    /// The names of its options.
    pub fn options(self) -> Vec<&'static str> {
        TIOBENCH.iter().map(|(name, ..)| *name).collect()
    }

    /// `--cmdhelp` behind the profile: all its options, or one. `false`: there is none of that name.
    pub fn help(self, asked: &str, out: &mut impl Write) -> io::Result<bool> {
        let wanted = |name: &str| matches!(asked, "" | "all") || name == asked;
        let mut any = false;
        for (name, about, job) in TIOBENCH.iter().filter(|(name, ..)| wanted(name)) {
            writeln!(out, "{name:<24}: {about} ({job} of its jobs)")?;
            any = true;
        }
        Ok(any)
    }

    /// Its jobs, as a job file would say them, on a machine of so much memory. Options said twice: the last counts.
    pub fn sections(self, said: &[Setting], at: &Place, memory_mebibytes: u64) -> Vec<Section> {
        let setting = |name: &str, value: Option<&str>| {
            let value = value.map(str::to_owned);
            Setting { name: name.to_owned(), value, at: at.clone() }
        };
        let told = |(option, _, job): &(&str, &str, &str)| {
            let last = said.iter().rev().find(|setting| setting.name == *option);
            let value = match (*option, last.and_then(|setting| setting.value.clone())) {
                // A bare number counts mebibytes.
                ("size", Some(text)) if text.parse::<u64>().is_ok() => format!("{text}m"),
                (_, Some(text)) => text,
                // 4 KiB for each MiB of memory.
                ("size", None) => (memory_mebibytes * 4096).to_string(),
                ("block", None) => "4096".to_owned(),
                ("dir", None) => "./".to_owned(),
                (_, None) => "1".to_owned(),
            };
            Setting {
                name: (*job).to_owned(),
                value: Some(value),
                at: last.map_or(at, |said| &said.at).clone(),
            }
        };
        let mut shared = vec![setting("buffered", Some("0"))];
        shared.extend(TIOBENCH.iter().map(told));
        shared.extend(SHARED.iter().map(|(name, value)| setting(name, *value)));
        let job = |(number, (name, rw)): (usize, &(&str, &str))| {
            let waits = (number > 0).then(|| setting("stonewall", None));
            let syncs = rw.ends_with("write").then(|| setting("end_fsync", Some("1")));
            let named = [setting("name", Some(name))];
            let settings = named.into_iter().chain(waits).chain([setting("rw", Some(rw))]).chain(syncs);
            Section { name: (*name).to_owned(), at: at.clone(), settings: settings.collect() }
        };
        let global = Section { name: "global".to_owned(), at: at.clone(), settings: shared };
        std::iter::once(global).chain(JOBS.iter().enumerate().map(job)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::inherit::tests::assemble;
    use super::super::jobfile::tests::around;
    use super::super::{Parts, commandline, meant};
    use super::*;

    fn line(words: &str) -> Result<commandline::CommandLine, String> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        commandline::parse(&words, &around()).map_err(|troubles| troubles[0].to_string())
    }

    fn told(words: &str) -> Vec<(String, Vec<String>)> {
        let one = |s: &Setting| match &s.value {
            Some(value) => format!("{}={value}", s.name),
            None => s.name.clone(),
        };
        let sections = line(words).unwrap().profile;
        sections.iter().map(|s| (s.name.clone(), s.settings.iter().map(one).collect())).collect()
    }

    #[test]
    fn tiobench_is_four_jobs_one_after_the_other() {
        let sections = told("--profile=tiobench");
        let names: Vec<&str> = sections.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["global", "seqwrite", "randwrite", "seqread", "randread"]);
        assert_eq!(
            sections[0].1,
            [
                "buffered=0",
                "size=98566144",
                "bs=4096",
                "loops=1",
                "directory=./",
                "numjobs=1",
                "runtime=600",
                "group_reporting",
                "thread",
                "overwrite=1",
                "filename=.fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4",
                "ioengine=sync"
            ]
        );
        assert_eq!(sections[1].1, ["name=seqwrite", "rw=write", "end_fsync=1"]);
        assert_eq!(sections[2].1, ["name=randwrite", "stonewall", "rw=randwrite", "end_fsync=1"]);
        assert_eq!(sections[4].1, ["name=randread", "stonewall", "rw=randread"]);
    }

    #[test]
    fn its_options_may_stand_on_either_side_of_its_name() {
        let sections =
            told("--size=4 --block 8k --profile tiobench --numruns=2 --dir=/d --threads=3 --size=5");
        assert_eq!(
            sections[0].1[1..6],
            ["size=5m", "bs=8k", "loops=2", "directory=/d", "numjobs=3"].map(str::to_owned)
        );
        assert_eq!(told("--profile=tiobench --size=1g")[0].1[1], "size=1g");
        let line = line("--profile=tiobench --size=4").unwrap();
        let parts = Parts { defaults: line.globals, command_line: line.sections, files: vec![line.profile] };
        let done = assemble(parts, &[]).unwrap();
        assert_eq!(done.jobs.len(), 4);
        done.jobs.iter().for_each(|job| drop(meant(job).unwrap()));
    }

    #[test]
    fn what_a_profile_does_not_take_is_told() {
        assert!(
            line("--profile=act --device-names=x").unwrap_err().contains("--profile=act is known and not")
        );
        assert!(line("--profile=zork").unwrap_err().contains("profile 'zork' not found"));
        let wrong = line("--profile=tiobench --bs=8k").unwrap_err();
        assert!(wrong.starts_with("command line:1:20: the profile's jobs take no bs"), "{wrong}");
        assert!(line("--profile=tiobench --name=x").unwrap_err().contains("take no name"));
        assert!(line("--profile").unwrap_err().contains("--profile needs a value"));
        assert_eq!(line("--bs=4k -- --profile=x").unwrap().files, ["--profile=x"]);
    }

    #[test]
    fn help_tells_its_options() {
        let help = |asked| {
            let mut out = Vec::new();
            let found = Profile::Tiobench.help(asked, &mut out).unwrap();
            (found, String::from_utf8(out).unwrap())
        };
        assert_eq!(help("").1.lines().count(), 5);
        assert_eq!(
            help("block"),
            (true, "block                   : Bytes of an I/O (bs of its jobs)\n".to_owned())
        );
        assert_eq!(help("bs"), (false, String::new()));
    }
}
