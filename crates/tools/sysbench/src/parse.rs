//! sysbench's command line: words in any order, older spellings, a configuration file; what is said of them on which
//! stream, in which order, and what is to be done then.

use super::options::{FILEIO, GENERAL, OptionError, OptionValues, ValueKind, kind_in, of_a_database};
use super::resolve::{self, Fatal, Limits, Options};
use super::text;

/// Where something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Make the files.
    Prepare(Options),
    /// Do the work.
    Run(Options),
    /// Remove the files.
    Cleanup(Options),
    /// Ours: say what a published report contains.
    Explain(String),
    /// Nothing more; the exit status.
    Exit(u8),
}

/// What a command line comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// What is told first, in order, line ends included.
    pub messages: Vec<(Stream, String)>,
    /// Then this is done.
    pub command: Command,
}

/// Reads a file for `--config-file`: its text, or what is wrong with it in the system's words.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Makes sense of the words after the program's name.
pub fn parse(words: &[String], read: ReadFile) -> Invocation {
    if let [first, rest @ ..] = words
        && (first == "--explain" || first.starts_with("--explain="))
    {
        let name = first.strip_prefix("--explain=").map(str::to_owned).or_else(|| rest.first().cloned());
        return Invocation {
            messages: Vec::new(),
            command: Command::Explain(name.unwrap_or_else(|| "-".to_owned())),
        };
    }
    let mut line = Line::default();
    let command = match line.words(words, read) {
        Some(status) => Command::Exit(status),
        None => line.command(),
    };
    Invocation { messages: line.messages, command }
}

#[derive(Default)]
struct Line {
    messages: Vec<(Stream, String)>,
    typed: OptionValues,
    test: Option<String>,
    command: Option<String>,
    /// Words of options that no general one takes: as typed, name, value.
    unknown: Vec<(String, String, Option<String>)>,
    /// Names that a configuration file has given and no general option has.
    configured: Vec<String>,
}

impl Line {
    fn out(&mut self, text: impl Into<String>) {
        self.messages.push((Stream::Out, text.into()));
    }

    fn err(&mut self, text: impl Into<String>) {
        self.messages.push((Stream::Err, text.into()));
    }

    /// FATAL and WARNING are told at every verbosity that lets them through.
    fn level(&self) -> i64 {
        if self.typed.is_on("debug") { 5 } else { self.typed.int("verbosity") }
    }

    fn warn(&mut self, text: &str) {
        if self.level() >= 2 {
            self.out(format!("WARNING: {text}\n"));
        }
    }

    fn fatal(&mut self, fatal: &Fatal) -> u8 {
        self.out(format!("FATAL: {}\n", fatal.text));
        if fatal.with_options {
            let shown = self.level() >= 3;
            self.out(format!("\n{}\n", text::fileio_options(shown)));
        }
        1
    }

    /// Takes the words; answers a status where that is the end.
    fn words(&mut self, words: &[String], read: ReadFile) -> Option<u8> {
        for word in words {
            match word.strip_prefix("--") {
                Some(option) => {
                    let (name, value) = match option.split_once('=') {
                        Some((name, value)) => (name, Some(value)),
                        None => (option, None),
                    };
                    if let Some(status) = self.option(word, &name.replace('-', "_"), value, read) {
                        return Some(status);
                    }
                }
                None if self.test.is_none() => self.test = Some(word.clone()),
                None if self.command.is_none() => self.command = Some(word.clone()),
                None => {
                    self.err(format!("Unrecognized command line argument: {word}\n"));
                    return Some(1);
                }
            }
        }
        None
    }

    fn option(&mut self, word: &str, name: &str, value: Option<&str>, read: ReadFile) -> Option<u8> {
        match name {
            "config_file" => return self.configure(value?, read),
            "test" => {
                self.err(format!("{}\n", text::TEST_IS_OLD));
                self.test = Some(value.unwrap_or("").to_owned());
                return None;
            }
            _ => {}
        }
        let Some(kind) = kind_in(GENERAL, name) else {
            if self.configured.iter().any(|known| known == name) {
                self.out("Unknown argument type: 0");
            }
            self.unknown.push((word.to_owned(), name.to_owned(), value.map(str::to_owned)));
            return None;
        };
        match self.typed.take(name, kind, value) {
            Ok(()) => None,
            Err(OptionError::Value) => {
                self.err(format!("Invalid value for the '{name}' option: '{}'\n", value.unwrap_or("")));
                Some(1)
            }
            Err(OptionError::Option) => {
                self.unknown.push((word.to_owned(), String::new(), None));
                None
            }
        }
    }

    /// Lines of `name=value` without blanks around; sections and comments are passed over, as is what is no option.
    fn configure(&mut self, path: &str, read: ReadFile) -> Option<u8> {
        let text = match read(path) {
            Ok(text) => text,
            Err(why) => {
                self.err(format!("{path}: {why}\n"));
                return None;
            }
        };
        for line in text.lines() {
            let Some((name, value)) = line.split_once('=') else { continue };
            if name.is_empty() || name.starts_with(['#', '[', '-']) || name.contains(char::is_whitespace) {
                continue;
            }
            let (name, value) = (name.replace('-', "_"), value.trim_end());
            if kind_in(GENERAL, &name).is_none() {
                self.configured.push(name);
            } else if let Some(status) = self.option(line, &name, Some(value), read) {
                return Some(status);
            }
        }
        None
    }

    /// The older names win over the newer ones where they say more than nothing, and are told.
    fn limits(&mut self) -> Result<Limits, u8> {
        let mut values = [0; 4];
        let names = [
            ("num_threads", "threads", 1),
            ("max_requests", "events", 0),
            ("max_time", "time", 0),
            ("tx_rate", "rate", 0),
        ];
        for (slot, (old, new, silent)) in values.iter_mut().zip(names) {
            *slot = self.typed.int(new);
            if self.typed.int(old) > silent {
                *slot = self.typed.int(old);
                let old = old.replace('_', "-");
                self.warn(&format!("--{old} is deprecated, use --{new} instead"));
            }
            if new == "threads" && *slot <= 0 {
                // It asks for memory for so many threads before it looks at the number.
                self.out(match *slot {
                    0 => "FATAL: Invalid value for --threads: 0.\n\n".to_owned(),
                    _ => "FATAL: Memory allocation failure.\n\n".to_owned(),
                });
                return Err(1);
            }
        }
        let [threads, events, time, rate] = values;
        // A negative number of events is a very large one, a negative time none.
        let limits = Limits {
            threads: threads as u32,
            events: events as u64,
            time_s: u64::try_from(time).unwrap_or(0),
            rate,
        };
        Ok(limits)
    }

    fn command(&mut self) -> Command {
        match self.decide() {
            Ok(command) => command,
            Err(status) => Command::Exit(status),
        }
    }

    fn decide(&mut self) -> Result<Command, u8> {
        if self.typed.is_on("help") {
            self.out(text::HELP);
            return Err(0);
        }
        if self.typed.is_on("version") {
            self.out(format!("{}\n", text::VERSION));
            return Err(0);
        }
        let limits = self.limits()?;
        if self.typed.size("thread_stack_size") == 0 {
            self.out("FATAL: Invalid value for thread-stack-size: 0.\n\n");
            return Err(1);
        }
        let verbosity = self.typed.int("verbosity");
        if !(0..=5).contains(&verbosity) {
            self.out(format!("Invalid value for verbosity: {}\n", verbosity as u8));
            return Err(1);
        }
        let general = resolve::general(&self.typed, limits.time_s).map_err(|fatal| self.fatal(&fatal))?;
        if limits.events == 0 && limits.time_s == 0 {
            self.warn("Both event and time limits are disabled, running an endless test");
        }
        if self.level() >= 3 {
            self.out(format!("{}\n\n", text::BANNER));
        }
        let Some(test) = self.test.clone() else { return Err(0) };
        if test != "fileio" {
            return Err(self.other_test(&test));
        }
        let Some(command) = self.command.clone() else {
            self.err(format!("{}\n", text::NO_COMMAND));
            return Err(1);
        };
        self.fileio_options()?;
        let runs = match &command[..] {
            "help" => {
                self.out(format!("{}\n", text::fileio_options(self.level() >= 3)));
                return Err(0);
            }
            "prepare" | "cleanup" => false,
            "run" => true,
            other => {
                self.err(format!("Unknown command: {other}\n"));
                return Err(1);
            }
        };
        let options = resolve::fileio(&self.typed, general, limits, runs);
        let options = options.map_err(|fatal| self.fatal(&fatal))?;
        Ok(match &command[..] {
            "prepare" => Command::Prepare(options),
            "cleanup" => Command::Cleanup(options),
            _ => Command::Run(options),
        })
    }

    fn other_test(&mut self, test: &str) -> u8 {
        let text = match test {
            "cpu" | "memory" | "threads" | "mutex" => {
                format!("The '{test}' test measures no storage: fathom speaks sysbench's fileio only")
            }
            _ => format!("Cannot find benchmark '{test}': no such built-in test, file or module"),
        };
        self.fatal(&Fatal { text, with_options: false })
    }

    /// What no general option takes must be one of fileio's, or a driver's.
    fn fileio_options(&mut self) -> Result<(), u8> {
        for (word, name, value) in std::mem::take(&mut self.unknown) {
            let value = value.as_deref();
            let taken = match kind_in(FILEIO, &name) {
                Some(kind) => self.typed.take(&name, kind, value),
                None if of_a_database(&name) => self.typed.take(&name, ValueKind::Text, value),
                None => Err(OptionError::Option),
            };
            match taken {
                Ok(()) => {}
                Err(OptionError::Option) => {
                    self.err(format!("invalid option: {word}\n"));
                    return Err(1);
                }
                Err(OptionError::Value) => {
                    let value = value.unwrap_or("");
                    self.err(format!("Invalid value for the '{name}' option: '{value}'\n"));
                    return Err(1);
                }
            }
        }
        Ok(())
    }
}
