//! fio's command line: general options, jobs made of words, job files.

use super::diagnostic::{Place, Trouble};
use super::jobfile::{Section, Setting, Surroundings, TROUBLES_MOST, filled, words_as_source};
use super::options::{OptionId, beginning, did_you_mean, find, like};
use super::profile::Profile;
use fathom_spec::Nanos;
use std::collections::VecDeque;

/// One of the formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Normal,
    /// Semicolons.
    Terse,
    /// JSON.
    Json,
    /// JSON with the bins of the histograms.
    JsonPlus,
}

/// When the line of progress is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What is told of the processors' idleness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleProf {
    /// What a unit of work takes, and nothing is run.
    Calibrate,
    /// All processors together.
    System,
    /// Each of them too.
    PerCpu,
}

/// What is asked for besides jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct General {
    /// `--help`.
    pub help: bool,
    /// `--version`.
    pub version: bool,
    /// `--cmdhelp`: of one option, `all`, or nothing said.
    pub command_help: Option<String>,
    /// `--enghelp`: of an engine, perhaps with `,option`, or nothing said.
    pub engine_help: Option<String>,
    /// `--showcmd`.
    pub show_command: bool,
    /// `--parse-only`.
    pub parse_only: bool,
    /// `--readonly`.
    pub read_only: bool,
    /// `--output`.
    pub output: Option<String>,
    /// `--output-format`, `--minimal`; see [`General::reports`].
    pub formats: Vec<Format>,
    /// `--append-terse`.
    pub append_terse: bool,
    /// `--terse-version`; 0 is the default, 3.
    pub terse_version: u32,
    /// `--section`, each.
    pub sections: Vec<String>,
    /// `--eta`.
    pub eta: Eta,
    /// `--eta-newline`.
    pub eta_newline: Option<Nanos>,
    /// `--eta-interval`.
    pub eta_interval: Option<Nanos>,
    /// `--status-interval`.
    pub status_interval: Option<Nanos>,
    /// `--warnings-fatal`.
    pub warnings_fatal: bool,
    /// `--bandwidth-log`.
    pub bandwidth_log: bool,
    /// `--debug`, its types.
    pub debug: Vec<String>,
    /// `--aux-path`.
    pub aux_path: Option<String>,
    /// `--idle-prof`.
    pub idle_prof: Option<IdleProf>,
    /// `--profile`.
    pub profile: Option<Profile>,
    /// `--merge-blktrace-only`: recordings are put together, and nothing is run.
    pub merge_only: bool,
    /// `--allow-exec`, ours: jobs may run commands.
    pub allow_exec: bool,
    /// `--extras`, ours: what fathom knows beyond fio goes into the JSON.
    pub extras: bool,
}

/// A command line, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandLine {
    /// What is asked for besides jobs.
    pub general: General,
    /// Options before any job's name: defaults for all jobs, also those of files.
    pub globals: Vec<Setting>,
    /// Jobs made of words.
    pub sections: Vec<Section>,
    /// Job files; `-` is stdin.
    pub files: Vec<String>,
    /// The jobs of a profile; they come behind those of files.
    pub profile: Vec<Section>,
}

/// What a general option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Maybe,
}

const ELSEWHERE: &str = "fathom measures from this host alone";

/// Name, what it takes, and why it is refused if it is.
const GENERAL: &[(&str, Takes, &str)] = &[
    ("help", Takes::Nothing, ""),
    ("version", Takes::Nothing, ""),
    ("cmdhelp", Takes::Maybe, ""),
    ("enghelp", Takes::Maybe, ""),
    ("showcmd", Takes::Nothing, ""),
    ("parse-only", Takes::Nothing, ""),
    ("readonly", Takes::Nothing, ""),
    ("output", Takes::Value, ""),
    ("output-format", Takes::Value, ""),
    ("append-terse", Takes::Maybe, ""),
    ("minimal", Takes::Nothing, ""),
    ("terse-version", Takes::Value, ""),
    ("section", Takes::Value, ""),
    ("max-jobs", Takes::Value, ""),
    ("eta", Takes::Value, ""),
    ("eta-newline", Takes::Value, ""),
    ("eta-interval", Takes::Value, ""),
    ("status-interval", Takes::Value, ""),
    ("warnings-fatal", Takes::Nothing, ""),
    ("bandwidth-log", Takes::Nothing, ""),
    ("debug", Takes::Value, ""),
    ("aux-path", Takes::Value, ""),
    ("alloc-size", Takes::Value, ""),
    ("idle-prof", Takes::Value, ""),
    ("profile", Takes::Value, ""),
    ("extras", Takes::Nothing, ""),
    ("allow-exec", Takes::Nothing, ""),
    ("merge-blktrace-only", Takes::Nothing, ""),
    ("cpuclock-test", Takes::Nothing, "the clock is tested at each start"),
    ("crctest", Takes::Maybe, "fathom's own benchmarks time its checksums"),
    ("server", Takes::Maybe, ELSEWHERE),
    ("daemonize", Takes::Value, ELSEWHERE),
    ("client", Takes::Value, ELSEWHERE),
    ("remote-config", Takes::Value, ELSEWHERE),
    ("inflate-log", Takes::Value, "logs are not compressed"),
    ("trigger-file", Takes::Value, "no commands are triggered"),
    ("trigger-timeout", Takes::Value, "no commands are triggered"),
    ("trigger", Takes::Value, "no commands are triggered"),
    ("trigger-remote", Takes::Value, "no commands are triggered"),
];

/// Reads the words after the program's name.
pub fn parse(words: &[String], around: &Surroundings) -> Result<CommandLine, Vec<Trouble>> {
    let (_, places) = words_as_source(words);
    let mut reader = Reader {
        words: words.iter().map(String::as_str).zip(places).collect(),
        line: CommandLine::default(),
        troubles: Vec::new(),
        around,
        before: Vec::new(),
        of_profile: Vec::new(),
        profile_at: None,
    };
    reader.profile();
    while let Some((word, at)) = reader.words.pop_front() {
        if reader.troubles.len() >= TROUBLES_MOST {
            break;
        }
        reader.word(word, at);
    }
    reader.line.globals = reader.before;
    if let Some((profile, at)) = reader.line.general.profile.zip(reader.profile_at) {
        reader.line.profile = profile.sections(&reader.of_profile, &at, around.memory_mebibytes);
    }
    if reader.troubles.is_empty() { Ok(reader.line) } else { Err(reader.troubles) }
}

struct Reader<'a> {
    words: VecDeque<(&'a str, Place)>,
    line: CommandLine,
    troubles: Vec<Trouble>,
    around: &'a Surroundings<'a>,
    /// Settings before any job.
    before: Vec<Setting>,
    /// Options of the profile.
    of_profile: Vec<Setting>,
    /// Where the profile was asked for.
    profile_at: Option<Place>,
}

/// What a name on the command line means.
enum Meaning {
    General(usize),
    Job(OptionId),
}

impl<'a> Reader<'a> {
    fn word(&mut self, word: &'a str, at: Place) {
        let stripped =
            word.strip_prefix("--").or_else(|| word.strip_prefix('-').filter(|rest| !rest.is_empty()));
        let Some(option) = stripped else {
            self.line.files.push(word.to_owned());
            return;
        };
        if option.is_empty() {
            let rest = std::mem::take(&mut self.words);
            self.line.files.extend(rest.into_iter().map(|(word, _)| word.to_owned()));
            return;
        }
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if let Some(profile) = self.line.general.profile
            && let Some(name) = profile.option(name)
        {
            let value = self.next_value(value).map(|value| filled(value, self.around));
            self.of_profile.push(Setting { name: name.to_owned(), value, at });
            return;
        }
        match meaning(name) {
            Ok(Meaning::General(which)) => self.general(which, value, at),
            Ok(Meaning::Job(id)) => self.setting(id, value, at),
            Err(hint) => {
                self.troubles.push(Trouble::at(&at, format!("there is no option {name}"), hint));
            }
        }
    }

    fn next_value(&mut self, value: Option<&'a str>) -> Option<&'a str> {
        value.or_else(|| self.words.pop_front().map(|(word, _)| word))
    }

    /// Looks for a profile among all words: what they mean hangs on it.
    fn profile(&mut self) {
        let Some((name, at)) = Profile::among(&self.words) else { return };
        match Profile::named(name, &at) {
            Ok(profile) => self.line.general.profile = Some(profile),
            Err(trouble) => {
                self.troubles.push(trouble);
                self.words.clear();
            }
        }
        self.profile_at = Some(at);
    }

    fn setting(&mut self, id: OptionId, value: Option<&'a str>, at: Place) {
        let name = id.name();
        if let Some(profile) = self.line.general.profile {
            let what = format!("the profile's jobs take no {name}");
            let hint = format!("its options are {}", profile.options().join(", "));
            self.troubles.push(Trouble::at(&at, what, hint));
            return;
        }
        let bare = id.option().may_be_bare();
        let value = if bare { value } else { self.next_value(value) };
        let value = value.map(|value| filled(value, self.around));
        if id == OptionId::Name {
            let Some(value) = value else {
                self.troubles.push(Trouble::at(&at, "name needs a value", "say --name=JOB"));
                return;
            };
            // fio shows the name among the options of a job of the command line.
            let named = Setting { name: name.to_owned(), value: Some(value.clone()), at: at.clone() };
            let settings = if value == "global" { Vec::new() } else { vec![named] };
            self.line.sections.push(Section { name: value, at, settings });
            return;
        }
        let setting = Setting { name: name.to_owned(), value, at };
        match self.line.sections.last_mut() {
            None => self.before.push(setting),
            Some(section) => section.settings.push(setting),
        }
    }

    fn general(&mut self, which: usize, value: Option<&'a str>, at: Place) {
        let (name, takes, why) = GENERAL[which];
        let value = match takes {
            Takes::Nothing | Takes::Maybe => value,
            Takes::Value => self.next_value(value),
        };
        if !why.is_empty() {
            let what = format!("--{name} is known and not supported here: {why}");
            self.troubles.push(Trouble::at(&at, what, "leave it out, or use fio itself"));
            return;
        }
        if takes == Takes::Value && value.is_none() {
            self.troubles.push(Trouble::at(
                &at,
                format!("--{name} needs a value"),
                format!("say --{name}=VALUE"),
            ));
            return;
        }
        if let Err(hint) = self.line.general.set(name, value.unwrap_or_default()) {
            let what = format!("{:?} is nothing that --{name} takes", value.unwrap_or_default());
            self.troubles.push(Trouble::at(&at, what, hint));
        }
    }
}

/// A name in full, or enough of its beginning that no other begins so.
fn meaning(name: &str) -> Result<Meaning, String> {
    let general = |wanted: &str| GENERAL.iter().position(|(name, ..)| *name == wanted);
    if let Some(which) = general(name) {
        return Ok(Meaning::General(which));
    }
    if let Some(id) = find(name) {
        return Ok(Meaning::Job(id));
    }
    if matches!(name, "v" | "h") {
        return Ok(Meaning::General(general(if name == "v" { "version" } else { "help" }).unwrap_or(0)));
    }
    let mut full: Vec<&str> =
        GENERAL.iter().map(|(full, ..)| *full).filter(|full| full.starts_with(name)).collect();
    full.extend(beginning(name));
    match full.as_slice() {
        [only] => match (general(only), find(only)) {
            (Some(which), _) => Ok(Meaning::General(which)),
            (None, Some(id)) => Ok(Meaning::Job(id)),
            (None, None) => Err("see --cmdhelp".to_owned()),
        },
        [] => {
            let near = did_you_mean(name).or_else(|| like(name, GENERAL.iter().map(|(name, ..)| *name)));
            Err(match near {
                Some(near) => format!("did you mean --{near}?"),
                None => "--cmdhelp lists all options of jobs, --help the others".to_owned(),
            })
        }
        several => {
            Err(format!("it could be {}", several.iter().take(8).copied().collect::<Vec<_>>().join(", ")))
        }
    }
}

impl General {
    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let time = |text: &str| {
            super::numbers::time(text, super::numbers::TimeUnit::Seconds)
                .ok_or("a time such as 1, 30s or 250ms")
        };
        match name {
            "help" => self.help = true,
            "version" => self.version = true,
            "cmdhelp" => self.command_help = Some(value.to_owned()),
            "enghelp" => self.engine_help = Some(value.to_owned()),
            "showcmd" => self.show_command = true,
            "parse-only" => self.parse_only = true,
            "readonly" => self.read_only = true,
            "output" => self.output = Some(value.to_owned()),
            "minimal" => self.formats = vec![Format::Terse],
            "append-terse" => self.append_terse = true,
            "output-format" => {
                self.formats.clear();
                for word in value.split(',') {
                    self.add_format(match word.trim() {
                        "normal" => Format::Normal,
                        "terse" | "minimal" => Format::Terse,
                        "json" => Format::Json,
                        "json+" => Format::JsonPlus,
                        _ => return Err("normal, terse, json or json+, several with commas"),
                    });
                }
            }
            "terse-version" => {
                self.terse_version =
                    value.parse().ok().filter(|version| (2..=5).contains(version)).ok_or("2, 3, 4 or 5")?;
            }
            "section" => self.sections.push(value.to_owned()),
            "max-jobs" => {
                // There is no table of jobs for which it would make room.
                value.parse::<u64>().ok().filter(|most| *most > 0).ok_or("a number from 1")?;
            }
            "eta" => {
                self.eta = match value {
                    "auto" => Eta::Auto,
                    "always" => Eta::Always,
                    "never" => Eta::Never,
                    _ => return Err("always, never or auto"),
                }
            }
            "eta-newline" => self.eta_newline = Some(time(value)?),
            "eta-interval" => self.eta_interval = Some(time(value)?),
            "status-interval" => self.status_interval = Some(time(value)?),
            "warnings-fatal" => self.warnings_fatal = true,
            "bandwidth-log" => self.bandwidth_log = true,
            "debug" => self.debug = value.split(',').map(str::to_owned).collect(),
            "aux-path" => self.aux_path = Some(value.to_owned()),
            "idle-prof" => {
                self.idle_prof = Some(match value {
                    "calibrate" => IdleProf::Calibrate,
                    "system" => IdleProf::System,
                    "percpu" => IdleProf::PerCpu,
                    _ => return Err("calibrate, system or percpu"),
                });
            }
            // It was looked for before all else.
            "profile" if self.profile.is_none() => return Err("say --profile=NAME in full"),
            "allow-exec" => self.allow_exec = true,
            "extras" => self.extras = true,
            "merge-blktrace-only" => self.merge_only = true,
            // fio's own pool of memory: nothing here comes from it.
            _ => {}
        }
        Ok(())
    }

    /// The reports that are wanted, in the order in which they are written.
    pub fn reports(&self) -> Vec<Format> {
        let mut reports = if self.formats.is_empty() { vec![Format::Normal] } else { self.formats.clone() };
        if self.append_terse && !reports.contains(&Format::Terse) {
            reports.push(Format::Terse);
        }
        reports
    }

    fn add_format(&mut self, format: Format) {
        if !self.formats.contains(&format) {
            self.formats.push(format);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::jobfile::tests::around;
    use super::*;

    fn line(words: &[&str]) -> CommandLine {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), &around()).unwrap()
    }

    fn wrong(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse(&words, &around()).unwrap_err()[0].to_string()
    }

    fn settings(settings: &[Setting]) -> Vec<String> {
        let one = |s: &Setting| format!("{}={}", s.name, s.value.as_deref().unwrap_or("-"));
        settings.iter().map(one).collect()
    }

    #[test]
    fn jobs_files_and_defaults_are_told_apart() {
        let line = line(&[
            "--bs=8k",
            "-ioengine=null",
            "--name",
            "q",
            "--size",
            "1m",
            "--stonewall",
            "a.fio",
            "--name=r",
        ]);
        assert_eq!(settings(&line.globals), ["bs=8k", "ioengine=null"]);
        assert_eq!(line.files, ["a.fio"]);
        assert_eq!(line.sections.len(), 2);
        assert_eq!(settings(&line.sections[0].settings), ["name=q", "size=1m", "stonewall=-"]);
        assert_eq!(line.sections[1].name, "r");
    }

    #[test]
    fn general_options_are_read() {
        let read = line(&[
            "--output-format=json,normal",
            "--append-terse",
            "--section=a",
            "--section",
            "b",
            "--eta=never",
        ]);
        assert_eq!(read.general.reports(), [Format::Json, Format::Normal, Format::Terse]);
        assert_eq!(read.general.sections, ["a", "b"]);
        assert_eq!(read.general.eta, Eta::Never);
        assert_eq!(line(&["--minimal"]).general.reports(), [Format::Terse]);
        assert_eq!(line(&["--append-terse"]).general.reports(), [Format::Normal, Format::Terse]);
        assert_eq!(line(&["--cmdhelp"]).general.command_help.as_deref(), Some(""));
        assert_eq!(line(&["--enghelp=libaio,nowait"]).general.engine_help.as_deref(), Some("libaio,nowait"));
        assert_eq!(line(&["--status-interval=1m"]).general.status_interval, Some(Nanos::from_seconds(60)));
        assert!(line(&["-v"]).general.version);
    }

    #[test]
    fn a_beginning_is_enough_where_it_is_no_others() {
        assert_eq!(settings(&line(&["--ioeng=null"]).globals), ["ioengine=null"]);
        assert!(wrong(&["--iodep=4"]).contains("it could be iodepth, iodepth_batch"));
        assert!(wrong(&["--zork"]).starts_with("command line:1:1: there is no option zork"));
        assert!(wrong(&["--bs=4k", "--iodetph=4"]).starts_with("command line:1:9: "));
        assert!(wrong(&["--iodetph=4"]).contains("did you mean --iodepth?"));
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_name() {
        assert!(wrong(&["--client=x"]).contains("--client is known and not supported here"));
        assert!(wrong(&["--output-format=xml"]).contains("normal, terse, json or json+"));
        assert!(wrong(&["--terse-version=9"]).contains("2, 3, 4 or 5"));
        assert!(wrong(&["--output"]).contains("--output needs a value"));
        assert!(wrong(&["--name"]).contains("name needs a value"));
    }

    #[test]
    fn what_follows_two_dashes_is_a_file() {
        assert_eq!(line(&["--bs=4k", "--", "--odd"]).files, ["--odd"]);
        assert_eq!(line(&["-"]).files, ["-"]);
    }
}
