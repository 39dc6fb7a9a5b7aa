//! The operands of dd, and what coreutils says when they are wrong. What is not asked for is not decided here: files
//! are opened by who calls.

use super::number::{NotNumber, Number, number};
use std::collections::BTreeSet;

/// How names and words are quoted in messages: by the locale's character set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quotes {
    /// `'word'`.
    #[default]
    Plain,
    /// With the curved quotes of UTF-8.
    Curved,
}

/// Quotes a word as a message about it does.
pub fn quoted(word: &str, quotes: Quotes) -> String {
    match quotes {
        Quotes::Plain => format!("'{word}'"),
        Quotes::Curved => format!("\u{2018}{word}\u{2019}"),
    }
}

/// Quotes a file's name so that a shell would read it back.
pub fn shell_quoted(name: &str) -> String {
    if name.chars().any(char::is_control) {
        return escaped(name);
    }
    match (name.contains('\''), name.contains(['"', '$', '`', '\\'])) {
        (false, _) => format!("'{name}'"),
        (true, false) => format!("\"{name}\""),
        (true, true) => format!("'{}'", name.replace('\'', "'\\''")),
    }
}

/// The same of a name with control characters, each of them as `$'\n'` or `$'\033'`.
fn escaped(name: &str) -> String {
    let (mut out, mut escapes) = ("'".to_owned(), false);
    for character in name.chars() {
        if !character.is_control() {
            match (character, escapes) {
                ('\'', _) => out.push_str("'\\''"),
                (character, true) => out.extend(['\'', '\'', character]),
                (character, false) => out.push(character),
            }
            escapes = false;
            continue;
        }
        if !escapes {
            out.push_str("'$'");
            escapes = true;
        }
        let named = "\x07a\x08b\tt\nn\x0bv\x0cf\rr".as_bytes().chunks(2);
        let mut bytes = [0; 4];
        for byte in character.encode_utf8(&mut bytes).bytes() {
            match named.clone().find(|pair| pair[0] == byte) {
                Some(pair) => out.extend(['\\', char::from(pair[1])]),
                None => out.push_str(&format!("\\{byte:03o}")),
            }
        }
    }
    out + "'"
}

/// A file's name at the beginning of a message: quoted only where it needs to be.
pub fn named(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:@_]{}".contains(c) || !c.is_ascii();
    match !name.is_empty() && name.chars().all(plain) {
        true => name.to_owned(),
        false => shell_quoted(name),
    }
}

/// A flag of `iflag=` or `oflag=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// Append mode.
    Append,
    /// Past the page cache.
    Direct,
    /// Only a directory may be opened.
    Directory,
    /// Each write is durable when it returns.
    Dsync,
    /// Each write and its metadata are.
    Sync,
    /// Short reads are continued.
    FullBlock,
    /// Does not wait for a pipe's other end.
    Nonblock,
    /// Leaves the access time.
    Noatime,
    /// The page cache is asked to forget.
    Nocache,
    /// No controlling terminal.
    Noctty,
    /// Symbolic links are not followed.
    Nofollow,
    /// `count=` counts bytes.
    CountBytes,
    /// `skip=` counts bytes.
    SkipBytes,
    /// `seek=` counts bytes.
    SeekBytes,
}

/// Names of the flags.
pub const FLAGS: &[(&str, Flag)] = &[
    ("append", Flag::Append),
    ("direct", Flag::Direct),
    ("directory", Flag::Directory),
    ("dsync", Flag::Dsync),
    ("sync", Flag::Sync),
    ("fullblock", Flag::FullBlock),
    ("nonblock", Flag::Nonblock),
    ("noatime", Flag::Noatime),
    ("nocache", Flag::Nocache),
    ("noctty", Flag::Noctty),
    ("nofollow", Flag::Nofollow),
    ("count_bytes", Flag::CountBytes),
    ("skip_bytes", Flag::SkipBytes),
    ("seek_bytes", Flag::SeekBytes),
];

/// Words of `conv=`.
pub const CONVERSIONS: &[&str] = &[
    "ascii",
    "ebcdic",
    "ibm",
    "block",
    "unblock",
    "lcase",
    "ucase",
    "sparse",
    "swab",
    "sync",
    "excl",
    "nocreat",
    "notrunc",
    "noerror",
    "fdatasync",
    "fsync",
];

/// What is told on stderr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// The three lines.
    #[default]
    All,
    /// Nothing but errors.
    None,
    /// The records, and not the transfer.
    NoTransfer,
    /// A line each second besides.
    Progress,
}

/// A copy as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `if=`; `None`: standard input.
    pub input: Option<String>,
    /// `of=`; `None`: standard output.
    pub output: Option<String>,
    /// Bytes of a read.
    pub read_size: u64,
    /// Bytes of a write.
    pub write_size: u64,
    /// `bs=` was given: both sizes.
    pub both: bool,
    /// `cbs=`; 0: none.
    pub record: u64,
    /// `count=`.
    pub count: Option<Number>,
    /// `skip=`.
    pub skip: Number,
    /// `seek=`.
    pub seek: Number,
    /// Words of `conv=`.
    pub conversions: BTreeSet<&'static str>,
    /// `iflag=`.
    pub input_flags: BTreeSet<Flag>,
    /// `oflag=`.
    pub output_flags: BTreeSet<Flag>,
    /// `status=`.
    pub status: Status,
}

const ZERO: Number = Number { value: 0, in_bytes: false, zero_times: false };

impl Default for Options {
    fn default() -> Self {
        Options {
            input: None,
            output: None,
            read_size: 512,
            write_size: 512,
            both: false,
            record: 0,
            count: None,
            skip: ZERO,
            seek: ZERO,
            conversions: BTreeSet::new(),
            input_flags: BTreeSet::new(),
            output_flags: BTreeSet::new(),
            status: Status::default(),
        }
    }
}

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A copy, with warnings.
    Copy(Box<Options>, Vec<String>),
    /// `--help`.
    Help,
    /// `--version`.
    Version,
}

/// A command line that dd does not take: lines for stderr.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines.join("\n"))]
pub struct Refusal {
    /// In order.
    pub lines: Vec<String>,
}

/// Reads the words after `dd`.
pub fn parse(words: &[String], quotes: Quotes) -> Result<Asked, Refusal> {
    let mut reader = Reader { options: Options::default(), both: 0, warnings: Vec::new(), quotes };
    let mut operands = Vec::new();
    let mut only_operands = false;
    for word in words {
        match word.as_str() {
            _ if only_operands => operands.push(word),
            "--" => only_operands = true,
            "--help" => return Ok(Asked::Help),
            "--version" => return Ok(Asked::Version),
            long if long.starts_with("--") => {
                return Err(reader.usage(format!("unrecognized option '{}'", long)));
            }
            short if short.starts_with('-') && short.len() > 1 => {
                let letter = short.chars().nth(1).unwrap_or('-');
                return Err(reader.usage(format!("invalid option -- '{letter}'")));
            }
            _ => operands.push(word),
        }
    }
    operands.into_iter().try_for_each(|operand| reader.take(operand))?;
    reader.finish()
}

struct Reader {
    options: Options,
    both: u64,
    warnings: Vec<String>,
    quotes: Quotes,
}

impl Reader {
    fn refuse(&self, text: String) -> Refusal {
        let mut lines = self.warnings.clone();
        lines.push(format!("dd: {text}"));
        Refusal { lines }
    }

    fn usage(&self, text: String) -> Refusal {
        let mut refusal = self.refuse(text);
        refusal.lines.push("Try 'dd --help' for more information.".to_owned());
        refusal
    }

    fn take(&mut self, operand: &str) -> Result<(), Refusal> {
        let unknown =
            |reader: &Self| reader.usage(format!("unrecognized operand {}", quoted(operand, reader.quotes)));
        let Some((name, value)) = operand.split_once('=') else { return Err(unknown(self)) };
        match name {
            "if" => self.options.input = Some(value.to_owned()),
            "of" => self.options.output = Some(value.to_owned()),
            "ibs" => self.options.read_size = self.size(value)?,
            "obs" => self.options.write_size = self.size(value)?,
            "bs" => self.both = self.size(value)?,
            "cbs" => self.options.record = self.size(value)?,
            "skip" | "iseek" => self.options.skip = self.number(value)?,
            "seek" | "oseek" => self.options.seek = self.number(value)?,
            "count" => self.options.count = Some(self.number(value)?),
            "conv" => self.conversions(value)?,
            "iflag" => self.options.input_flags = self.flags(value, "input")?,
            "oflag" => self.options.output_flags = self.flags(value, "output")?,
            "status" => self.options.status = self.status(value)?,
            _ => return Err(unknown(self)),
        }
        Ok(())
    }

    /// Several levels with commas: the last one holds.
    fn status(&self, value: &str) -> Result<Status, Refusal> {
        let mut last = Status::All;
        for word in value.split(',') {
            last = match word {
                "none" => Status::None,
                "noxfer" => Status::NoTransfer,
                "progress" => Status::Progress,
                _ => {
                    let word = quoted(word, self.quotes);
                    return Err(self.usage(format!("invalid status level: {word}")));
                }
            };
        }
        Ok(last)
    }

    fn number(&mut self, text: &str) -> Result<Number, Refusal> {
        let words = quoted(text, self.quotes);
        match number(text) {
            Ok(number) => {
                if number.zero_times {
                    let (zero, two) = (quoted("0x", self.quotes), quoted("00x", self.quotes));
                    self.warnings.push(format!(
                        "dd: warning: {zero} is a zero multiplier; use {two} if that is intended"
                    ));
                }
                Ok(number)
            }
            Err(NotNumber::Invalid) => Err(self.refuse(format!("invalid number: {words}"))),
            Err(NotNumber::TooLarge) => {
                Err(self.refuse(format!("invalid number: {words}: Value too large for defined data type")))
            }
        }
    }

    fn size(&mut self, text: &str) -> Result<u64, Refusal> {
        let number = self.number(text)?;
        let words = quoted(text, self.quotes);
        match number.value {
            0 => Err(self.refuse(format!("invalid number: {words}"))),
            // A buffer and its alignment must fit the address space.
            size if size > i64::MAX as u64 - (1 << 16) => {
                Err(self.refuse(format!("invalid number: {words}: Value too large for defined data type")))
            }
            size => Ok(size),
        }
    }

    fn conversions(&mut self, value: &str) -> Result<(), Refusal> {
        for word in value.split(',') {
            let known = CONVERSIONS.iter().find(|known| **known == word);
            let wrong = || self.usage(format!("invalid conversion: {}", quoted(word, self.quotes)));
            let known = known.ok_or_else(wrong)?;
            self.options.conversions.insert(known);
        }
        Ok(())
    }

    fn flags(&self, value: &str, end: &str) -> Result<BTreeSet<Flag>, Refusal> {
        let mut flags = match end {
            "input" => self.options.input_flags.clone(),
            _ => self.options.output_flags.clone(),
        };
        for word in value.split(',') {
            let foreign = end == "output" && word == "fullblock";
            let known = FLAGS.iter().find(|(name, _)| *name == word && !foreign);
            let wrong = || self.usage(format!("invalid {end} flag: {}", quoted(word, self.quotes)));
            flags.insert(known.ok_or_else(wrong)?.1);
        }
        Ok(flags)
    }

    fn finish(mut self) -> Result<Asked, Refusal> {
        if self.both > 0 {
            (self.options.read_size, self.options.write_size) = (self.both, self.both);
            self.options.both = true;
        }
        let options = &mut self.options;
        if options.record == 0 {
            options.conversions.remove("block");
            options.conversions.remove("unblock");
        } else {
            if options.conversions.contains("ascii") {
                options.conversions.insert("unblock");
            }
            if options.conversions.contains("ebcdic") || options.conversions.contains("ibm") {
                options.conversions.insert("block");
            }
        }
        let has = |word: &str| self.options.conversions.contains(word);
        let some = |words: &[&str]| words.iter().filter(|word| has(word)).count();
        let nocache =
            |flags: &BTreeSet<Flag>| flags.contains(&Flag::Direct) && flags.contains(&Flag::Nocache);
        let wrong = match () {
            () if some(&["ascii", "ebcdic", "ibm"]) > 1 => "any two of {ascii,ebcdic,ibm}",
            () if has("block") && has("unblock") => "block and unblock",
            () if has("lcase") && has("ucase") => "lcase and ucase",
            () if has("excl") && has("nocreat") => "excl and nocreat",
            () if nocache(&self.options.input_flags) || nocache(&self.options.output_flags) => {
                "direct and nocache"
            }
            () => {
                if self.options.output_flags.contains(&Flag::Append) && !self.options.converts("notrunc") {
                    let says = "dd: you probably want conv=notrunc with oflag=append";
                    self.warnings.push(says.to_owned());
                }
                return Ok(Asked::Copy(Box::new(self.options), self.warnings));
            }
        };
        Err(self.refuse(format!("cannot combine {wrong}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn refused(line: &str) -> String {
        parse(&words(line), Quotes::Plain).unwrap_err().to_string()
    }

    fn options(line: &str) -> Options {
        match parse(&words(line), Quotes::Plain).unwrap() {
            Asked::Copy(options, _) => *options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn bs_overrides_both_sizes_wherever_it_stands() {
        let options = options("bs=5 ibs=1 obs=2 if=a of=b");
        assert_eq!((options.read_size, options.write_size, options.both), (5, 5, true));
    }

    #[test]
    fn refusals_are_coreutils_own_words() {
        let usage = "\nTry 'dd --help' for more information.";
        for (line, says) in [
            ("foo=1", format!("dd: unrecognized operand 'foo=1'{usage}")),
            ("if", format!("dd: unrecognized operand 'if'{usage}")),
            ("--foo", format!("dd: unrecognized option '--foo'{usage}")),
            ("-h", format!("dd: invalid option -- 'h'{usage}")),
            ("conv=", format!("dd: invalid conversion: ''{usage}")),
            ("conv=sync,foo", format!("dd: invalid conversion: 'foo'{usage}")),
            ("iflag=foo", format!("dd: invalid input flag: 'foo'{usage}")),
            ("oflag=fullblock", format!("dd: invalid output flag: 'fullblock'{usage}")),
            ("status=foo", format!("dd: invalid status level: 'foo'{usage}")),
            ("bs=0", "dd: invalid number: '0'".to_owned()),
            ("cbs=0", "dd: invalid number: '0'".to_owned()),
            ("bs=1Z", "dd: invalid number: '1Z': Value too large for defined data type".to_owned()),
            ("conv=ascii,ibm", "dd: cannot combine any two of {ascii,ebcdic,ibm}".to_owned()),
            ("cbs=4 conv=ascii,block", "dd: cannot combine block and unblock".to_owned()),
            ("conv=lcase,ucase", "dd: cannot combine lcase and ucase".to_owned()),
            ("conv=excl,nocreat", "dd: cannot combine excl and nocreat".to_owned()),
            ("iflag=direct,nocache", "dd: cannot combine direct and nocache".to_owned()),
        ] {
            assert_eq!(refused(line), says, "{line}");
        }
        let zero = "dd: warning: '0x' is a zero multiplier; use '00x' if that is intended\ndd: invalid number: '0x10'";
        assert_eq!(refused("bs=0x10"), zero);
        let curved = parse(&words("foo=1"), Quotes::Curved).unwrap_err().to_string();
        assert!(curved.starts_with("dd: unrecognized operand \u{2018}foo=1\u{2019}\n"));
    }

    #[test]
    fn block_without_a_record_length_is_forgotten_and_status_lists_end_with_the_last() {
        assert!(options("conv=block,unblock").conversions.is_empty());
        assert_eq!(options("status=none,noxfer").status, Status::NoTransfer);
        assert!(options("cbs=9 conv=ibm").conversions.contains("block"));
    }

    #[test]
    fn names_are_quoted_as_a_shell_would_read_them() {
        let cases = [("a", "a", "'a'"), ("a b", "'a b'", "'a b'"), ("a'b", "\"a'b\"", "\"a'b\"")];
        for (name, as_start, always) in cases {
            assert_eq!((named(name).as_str(), shell_quoted(name).as_str()), (as_start, always));
        }
    }
}
