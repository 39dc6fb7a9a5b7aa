//! bonnie++'s words: getopt's rules, its numbers with colons, and what it refuses.

use fathom_spec::Entry;
use std::collections::VecDeque;

/// What bonnie++ says after most of its refusals.
pub const USAGE: &str = "usage:
bonnie++ [-d scratch-dir] [-c concurrency] [-s size(MiB)[:chunk-size(b)]]
      [-n number-to-stat[:max-size[:min-size][:num-directories[:chunk-size]]]]
      [-m machine-name] [-r ram-size-in-MiB]
      [-x number-of-tests] [-u uid-to-use:gid-to-use] [-g gid-to-use]
      [-q] [-f] [-b] [-p processes | -y] [-z seed | -Z random-file]
      [-D]

Version: 2.00a
";

/// Blocks of the bulk tests, bytes.
const CHUNK: u64 = 8192;
/// Operations of the seek test.
const SEEKS: u64 = 8192;
/// Bytes of the per-character tests: what 2.00a writes without `-f`, whatever its manual says.
const PER_CHARACTER: u64 = 3 << 20;
/// Most copies of a test at the same time: each has threads and files of its own.
const COPIES_MOST: u32 = 256;
/// Most directories.
const DIRECTORIES_MOST: u32 = 99_999;

/// The user that bonnie++ is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// `-u`: a name or a number.
    pub user: Option<String>,
    /// `-g`, or what stood behind the colon of `-u`.
    pub group: Option<String>,
}

/// How processes wait for each other before each test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierKind {
    /// `-ys`: at semaphores, until all have come.
    Semaphores,
    /// `-yp`: until somebody says go on.
    Prompt,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `-d`.
    pub directory: String,
    /// `-s`, bytes; `None`: twice the memory; 0: no tests of bulk I/O.
    pub size: Option<u64>,
    /// Blocks of the bulk tests, bytes.
    pub chunk: u64,
    /// Operations of the seek test.
    pub seeks: u64,
    /// Threads of the seek test.
    pub seekers: u32,
    /// `-n`, thousands (1024) of files; 0: no tests of files.
    pub files: u64,
    /// Most bytes of a file.
    pub file_most: u64,
    /// Least bytes of a file.
    pub file_least: u64,
    /// What the files are: a most of -1 asks for hard links, one of -2 for symbolic links.
    pub entry: Entry,
    /// Bytes of one call that writes or reads them; 0: up to 1 MiB.
    pub file_chunk: u64,
    /// Directories that the files are spread over; 0: one.
    pub directories: u32,
    /// `-c`: copies of each test at the same time.
    pub copies: u32,
    /// `-p`: processes that semaphores are made for; -1: they are removed.
    pub serves: Option<i32>,
    /// `-y`.
    pub barrier: Option<BarrierKind>,
    /// `-m`.
    pub name: Option<String>,
    /// `-r`, MiB; 0: no checks.
    pub memory_mib: Option<u64>,
    /// `-x`.
    pub runs: Option<u64>,
    /// `-u` and `-g`.
    pub identity: Identity,
    /// `-q`.
    pub quiet: bool,
    /// `-f`: bytes of the per-character tests; 0: none.
    pub per_character: u64,
    /// `-b`.
    pub sync_each: bool,
    /// `-D`.
    pub direct: bool,
    /// `-z`.
    pub seed: Option<u64>,
    /// `-Z`.
    pub random_file: Option<String>,
    /// `--limit-cache`, ours: bytes of page cache to make do with.
    pub limit_cache: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            directory: ".".to_owned(),
            size: None,
            chunk: CHUNK,
            seeks: SEEKS,
            seekers: 5,
            files: 16,
            file_most: 0,
            file_least: 0,
            entry: Entry::File,
            file_chunk: 0,
            directories: 0,
            copies: 1,
            serves: None,
            barrier: None,
            name: None,
            memory_mib: None,
            runs: None,
            identity: Identity::default(),
            quiet: false,
            per_character: PER_CHARACTER,
            sync_each: false,
            direct: false,
            seed: None,
            random_file: None,
            limit_cache: None,
        }
    }
}

impl Options {
    /// Bytes of the bulk tests on a machine with so much memory, MiB.
    pub fn size_on(&self, memory_mib: u64) -> u64 {
        let memory_mib = self.memory_mib.filter(|mib| *mib > 0).unwrap_or(memory_mib);
        self.size.unwrap_or(memory_mib << 21)
    }

    /// What bonnie++ refuses once it has become its user: sizes, and a process that both serves semaphores and waits at them.
    pub fn check(&self) -> Result<(), String> {
        let sizes = 256..=1 << 20;
        let chunk = self.chunk.is_power_of_two() && sizes.contains(&self.chunk);
        let files = self.file_least <= self.file_most && self.files <= 1 << 20;
        let barrier = self.serves.is_none() || self.barrier.is_none();
        if chunk && files && barrier && self.seekers > 0 { Ok(()) } else { Err(USAGE.to_owned()) }
    }

    /// bonnie++'s guard: a file that the page cache could hold is refused, in its words.
    pub fn guard(&self, memory_mib: u64) -> Result<(), String> {
        let memory_mib = self.memory_mib.unwrap_or(memory_mib);
        let size = self.size_on(memory_mib);
        let by_cache = self.limit_cache.map(|bytes| bytes >> 20);
        let memory_mib = by_cache.unwrap_or(memory_mib).min(memory_mib);
        if size > 0 && size >> 20 < 2 * memory_mib {
            return Err(format!(
                "File size should be double RAM for good results, RAM is {memory_mib}M.\n{USAGE}"
            ));
        }
        Ok(())
    }

    /// Are sizes given for files, or are they links?
    pub fn sizes_files(&self) -> bool {
        self.file_most > 0 || self.file_least > 0 || self.entry != Entry::File
    }
}

/// Reads the words.
///
/// # Errors
/// What is said of them on stderr.
pub fn parse(words: &[String]) -> Result<Options, String> {
    read_all(words).map_err(|wrong| wrong.unwrap_or_else(|| USAGE.to_owned()))
}

/// `None`: only the usage is told.
type Wrong = Option<String>;

fn read_all(words: &[String]) -> Result<Options, Wrong> {
    let mut options = Options::default();
    let mut words: VecDeque<&str> = words.iter().map(String::as_str).collect();
    while let Some(word) = words.pop_front() {
        if let Some(size) = word.strip_prefix("--limit-cache") {
            let size = size.strip_prefix('=').or_else(|| words.pop_front());
            let size = size.and_then(|size| size.parse::<fathom_spec::Bytes>().ok());
            let wrong = || Some("--limit-cache wants a size, such as 64m\n".to_owned());
            options.limit_cache = Some(size.ok_or_else(wrong)?.0);
            continue;
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return Err(None);
        };
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            match letter {
                'q' => options.quiet = true,
                'b' => options.sync_each = true,
                'D' => options.direct = true,
                // Its value, if any, follows without a blank.
                'f' => {
                    let value = std::mem::replace(&mut rest, "".chars());
                    options.per_character = match value.as_str() {
                        "" => 0,
                        mib => number(mib)?.checked_mul(1 << 20).ok_or(None)?,
                    };
                }
                'c' | 'd' | 'g' | 'm' | 'n' | 'p' | 'r' | 's' | 'u' | 'x' | 'y' | 'z' | 'Z' => {
                    let own = std::mem::replace(&mut rest, "".chars()).as_str().to_owned();
                    let value = if own.is_empty() { words.pop_front().map(str::to_owned) } else { Some(own) };
                    let missing =
                        || Some(format!("bonnie++: option requires an argument -- '{letter}'\n{USAGE}"));
                    set(&mut options, letter, &value.ok_or_else(missing)?)?;
                }
                other => return Err(Some(format!("bonnie++: invalid option -- '{other}'\n{USAGE}"))),
            }
        }
    }
    Ok(options)
}

fn set(options: &mut Options, letter: char, value: &str) -> Result<(), Wrong> {
    match letter {
        'd' => options.directory = value.to_owned(),
        'm' => options.name = Some(value.to_owned()),
        // 2.00a takes the digits alone, so that `4g` are four MiB; meant are four GiB.
        'r' => options.memory_mib = Some(scaled(value, &[('g', 1024), ('m', 1)], 1)?),
        'x' => options.runs = Some(number(value)?),
        'z' => options.seed = Some(number(value)?),
        'Z' => options.random_file = Some(value.to_owned()),
        'g' => options.identity.group = Some(value.to_owned()),
        'u' => {
            let (user, group) = value.split_once(':').map_or((value, None), |(u, g)| (u, Some(g)));
            options.identity.user = Some(user.to_owned());
            options.identity.group = group.map(str::to_owned).or(options.identity.group.take());
        }
        's' => bulk(options, value)?,
        'n' => files(options, value)?,
        'c' => {
            options.copies =
                value.parse().ok().filter(|copies| (1..=COPIES_MOST).contains(copies)).ok_or(None)?
        }
        // As there, none is as if it had not been said.
        'p' => options.serves = Some(value.parse().map_err(|_| None)?).filter(|processes| *processes != 0),
        'y' => {
            options.barrier = Some(match value.chars().next() {
                Some('s') => BarrierKind::Semaphores,
                Some('p') => BarrierKind::Prompt,
                _ => return Err(None),
            });
        }
        _ => {}
    }
    Ok(())
}

fn number(text: &str) -> Result<u64, Wrong> {
    text.parse().map_err(|_| None)
}

/// A number and the size of its suffix.
fn scaled(text: &str, suffixes: &[(char, u64)], plain: u64) -> Result<u64, Wrong> {
    let last = text.chars().last().map(|last| last.to_ascii_lowercase());
    let scale = suffixes.iter().find(|(suffix, _)| Some(*suffix) == last);
    let (digits, scale) = scale.map_or((text, plain), |(_, scale)| (&text[..text.len() - 1], *scale));
    number(digits)?.checked_mul(scale).ok_or(None)
}

/// `size[:chunk[:seeks[:seekers]]]`.
fn bulk(options: &mut Options, value: &str) -> Result<(), Wrong> {
    let mut parts = value.split(':');
    let mut next = || parts.next().filter(|part| !part.is_empty());
    if let Some(size) = next() {
        options.size = Some(scaled(size, &[('g', 1 << 30), ('m', 1 << 20)], 1 << 20)?);
    }
    if let Some(chunk) = next() {
        options.chunk = scaled(chunk, &[('k', 1024)], 1)?;
    }
    if let Some(seeks) = next() {
        options.seeks = number(seeks)?;
    }
    if let Some(seekers) = next() {
        options.seekers = seekers.parse().map_err(|_| None)?;
    }
    Ok(())
}

/// `number[:max[:min[:directories[:chunk]]]]`.
fn files(options: &mut Options, value: &str) -> Result<(), Wrong> {
    let parts: Vec<&str> = value.split(':').collect();
    let part = |at: usize| parts.get(at).copied().filter(|part| !part.is_empty()).unwrap_or("0");
    options.files = number(part(0))?;
    (options.file_most, options.entry) = match part(1) {
        "-1" => (0, Entry::HardLink),
        "-2" => (0, Entry::SymbolicLink),
        most => (number(most)?, Entry::File),
    };
    options.file_least = number(part(2))?;
    options.directories = part(3).parse().map_err(|_| None)?;
    options.file_chunk = scaled(part(4), &[('k', 1024)], 1)?;
    if options.directories > DIRECTORIES_MOST {
        return Err(Some("Can't have more than 99,999 directories.\n".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn options(line: &str) -> Options {
        read(line).unwrap_or_else(|why| panic!("{line}: {why}"))
    }

    #[test]
    fn memory_is_in_mib_or_has_its_unit() {
        let memory = |line: &str| options(line).memory_mib;
        assert_eq!((memory("-r 512"), memory("-r 512m"), memory("-r4G")), (Some(512), Some(512), Some(4096)));
    }

    #[test]
    fn values_stand_behind_a_letter_with_or_without_a_blank_and_letters_join() {
        let got = options("-qbD -s1g:16k:1000:3 -n 2:100:10:4 -z5 -mx -r 8 -u root:disk -x 3 -d /d");
        assert_eq!((got.size, got.chunk, got.seeks, got.seekers), (Some(1 << 30), 16_384, 1000, 3));
        assert_eq!((got.files, got.file_most, got.file_least, got.directories), (2, 100, 10, 4));
        assert_eq!((got.quiet, got.sync_each, got.direct, got.seed), (true, true, true, Some(5)));
        assert_eq!(got.identity.group.as_deref(), Some("disk"));
        assert_eq!((got.runs, got.memory_mib, got.name.as_deref()), (Some(3), Some(8), Some("x")));
    }

    #[test]
    fn the_value_of_f_stands_behind_it_and_nowhere_else() {
        assert_eq!(options("").per_character, 3 << 20);
        assert_eq!(options("-f").per_character, 0);
        assert_eq!(options("-f2").per_character, 2 << 20);
        assert_eq!(read("-f 2"), Err(USAGE.to_owned()));
    }

    #[test]
    fn copies_processes_and_links_are_read_all() {
        let got = options("-c 3 -p4 -ys -n 1:-1");
        assert_eq!((got.copies, got.serves, got.barrier), (3, Some(4), Some(BarrierKind::Semaphores)));
        assert_eq!((got.entry, got.file_most), (Entry::HardLink, 0));
        assert_eq!((options("-p -1").serves, options("-p 0").serves), (Some(-1), None));
        let got = options("-yp -n 2:-2:0:3");
        assert_eq!(
            (got.barrier, got.entry, got.directories),
            (Some(BarrierKind::Prompt), Entry::SymbolicLink, 3)
        );
        assert_eq!(options("-n 1:9:0:1:4k").file_chunk, 4096);
    }

    #[test]
    fn what_is_wrong_or_missing_is_refused_and_named() {
        let usage = ["extra", "-r x", "-c 0", "-yx", "-n 1:-3", "-p x"];
        usage.iter().for_each(|line| assert_eq!(read(line), Err(USAGE.to_owned()), "{line}"));
        for line in ["-s 16:100", "-s 16:3000", "-n 1:5:10", "-s 1:8k:10:0", "-p 2 -ys"] {
            assert_eq!(options(line).check(), Err(USAGE.to_owned()), "{line}");
        }
        let named = [
            ("-Q", "invalid option -- 'Q'"),
            ("-s", "requires an argument -- 's'"),
            ("-n 2:1:0:1000000", "99,999"),
            ("--limit-cache", "wants a size"),
        ];
        for (line, words) in named {
            assert!(matches!(read(line), Err(why) if why.contains(words)), "{line}");
        }
    }

    #[test]
    fn a_file_smaller_than_twice_the_memory_is_refused_unless_told_otherwise() {
        let says =
            |line: &str| options(line).guard(1000).err().map(|why| why.lines().next().map(str::to_owned));
        let told =
            |mib: u64| Some(Some(format!("File size should be double RAM for good results, RAM is {mib}M.")));
        assert_eq!(says("-s 1999"), told(1000));
        assert_eq!(says("-s 4 -r 8"), told(8));
        assert_eq!(says("-s 4 -r 0"), None);
        assert_eq!(says("-s 0"), None);
        assert_eq!(says("-s 2000"), None);
        assert_eq!(says(""), None);
        assert_eq!(options("").size_on(1000), 2000 << 20);
        assert_eq!(says("-s 128 --limit-cache 64m"), None);
        assert_eq!(says("-s 127 --limit-cache 64m"), told(64));
    }
}
