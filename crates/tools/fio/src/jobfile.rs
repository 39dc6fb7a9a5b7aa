//! Job files: sections, options, includes, comments, and what is put in for variables and keywords.

use super::diagnostic::{Place, Source, Trouble};
use super::expression::evaluate;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a job file may ask its surroundings for.
pub struct Surroundings<'a> {
    /// The environment: `${NAME}`.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file named by `include`, or why it cannot be read.
    pub include: &'a dyn Fn(&str) -> Result<String, String>,
    /// `$pagesize`, bytes.
    pub page_size: u64,
    /// `$mb_memory`, mebibytes of main memory.
    pub memory_mebibytes: u64,
    /// `$ncpus`.
    pub cpus: u64,
}

/// One option as it was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its name, as it was typed.
    pub name: String,
    /// Its value with variables and keywords put in; `None`: the bare name.
    pub value: Option<String>,
    /// Where the name is, with its value.
    pub at: Place,
}

/// One section.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Its name; `global` gives defaults to those that follow.
    pub name: String,
    /// Where it begins.
    pub at: Place,
    /// What it says, in order.
    pub settings: Vec<Setting>,
}

impl Section {
    /// Does it give defaults rather than a job?
    pub fn is_global(&self) -> bool {
        self.name == "global"
    }
}

/// How deep includes may nest.
const INCLUDES_MOST: usize = 16;

/// Bytes that all included files together may have: a file that includes another twice, and so on down, grows fast.
const INCLUDED_BYTES_MOST: usize = 16 << 20;

/// Everything wrong is told, up to so many.
pub const TROUBLES_MOST: usize = 20;

/// Reads a job file. All that is wrong with it is told at once.
pub fn parse(name: &str, text: &str, around: &Surroundings) -> Result<Vec<Section>, Vec<Trouble>> {
    let mut parser = Parser { around, sections: Vec::new(), troubles: Vec::new(), included_bytes: 0 };
    parser.source(name, text.to_owned(), 0);
    if parser.troubles.is_empty() { Ok(parser.sections) } else { Err(parser.troubles) }
}

struct Parser<'a> {
    around: &'a Surroundings<'a>,
    sections: Vec<Section>,
    troubles: Vec<Trouble>,
    included_bytes: usize,
}

impl Parser<'_> {
    fn source(&mut self, name: &str, text: String, depth: usize) {
        let source = Arc::new(Source { name: name.to_owned(), text, lines_before: 0 });
        let mut start = 0;
        for whole in source.text.split_inclusive('\n') {
            if self.troubles.len() >= TROUBLES_MOST {
                return;
            }
            let line = uncommented(whole);
            let indent = line.len() - line.trim_start().len();
            let content = line.trim();
            if !content.is_empty() {
                let from = start + indent;
                let at = Place::new(&source, from..from + content.len());
                self.line(content, at, depth);
            }
            start += whole.len();
        }
    }

    fn line(&mut self, content: &str, at: Place, depth: usize) {
        if let Some(rest) = content.strip_prefix('[') {
            return self.header(rest, at);
        }
        if let Some(name) = content.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t', '=']))
        {
            let name = name.trim_start();
            return self.include(name.strip_prefix('=').unwrap_or(name).trim(), &at, depth);
        }
        let (name, value) = match content.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (content, None),
        };
        let Some(section) = self.sections.last_mut() else {
            self.troubles.push(Trouble::at(
                &at,
                format!("{name} stands before any section"),
                "begin with [global] or with a job's name in brackets",
            ));
            return;
        };
        let value = value.map(|value| filled(unquoted(value), self.around));
        section.settings.push(Setting { name: name.to_owned(), value, at });
    }

    fn header(&mut self, rest: &str, at: Place) {
        let wrong = match rest.rsplit_once(']') {
            None => Some("the bracket is never closed"),
            Some((_, behind)) if !behind.trim().is_empty() => Some("there is something behind the bracket"),
            Some((name, _)) if name.trim().is_empty() => Some("a section needs a name"),
            Some((name, _)) => {
                let name = name.trim().to_owned();
                self.sections.push(Section { name, at: at.clone(), settings: Vec::new() });
                None
            }
        };
        if let Some(what) = wrong {
            self.troubles.push(Trouble::at(&at, what, "a section begins with its name in brackets: [job1]"));
        }
    }

    fn include(&mut self, name: &str, at: &Place, depth: usize) {
        let wrong = |what: String, hint: &str| Trouble::at(at, what, hint);
        if depth >= INCLUDES_MOST || self.included_bytes > INCLUDED_BYTES_MOST {
            let what = format!("{name} is included too deep, or too much is included");
            self.troubles.push(wrong(what, "see whether files include one another"));
            return;
        }
        match (self.around.include)(name) {
            Ok(text) => {
                self.included_bytes += text.len();
                self.source(name, text, depth + 1);
            }
            Err(why) => {
                let what = format!("cannot read {name}: {why}");
                self.troubles.push(wrong(what, "names are looked for from the working directory"));
            }
        }
    }
}

/// A line without its end and without what stands behind `;` or `#`.
fn uncommented(line: &str) -> &str {
    let line = line.trim_end_matches(['\n', '\r']);
    let mut quoted = None;
    for (at, letter) in line.char_indices() {
        match (letter, quoted) {
            (';' | '#', None) => return &line[..at],
            ('"', None) => quoted = Some('"'),
            ('"', Some('"')) => quoted = None,
            _ => {}
        }
    }
    // A quote that is never closed is no quote.
    if quoted.is_some() { line.split([';', '#']).next().unwrap_or_default() } else { line }
}

/// A value that is one whole quotation, without its quotes. Patterns keep theirs: `"ab"-1`.
fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| inner.contains(' ') && !inner.contains('"')).unwrap_or(value)
}

/// A value with variables and keywords put in; a keyword lets the whole be arithmetic.
pub fn filled(value: &str, around: &Surroundings) -> String {
    if !value.contains('$') {
        return value.to_owned();
    }
    let mut text = variables(value, around);
    let mut replaced = false;
    let known =
        [("$pagesize", around.page_size), ("$mb_memory", around.memory_mebibytes), ("$ncpus", around.cpus)];
    for (keyword, number) in known {
        if text.contains(keyword) {
            text = text.replace(keyword, &number.to_string());
            replaced = true;
        }
    }
    match evaluate(&text, &|word| word.parse().ok()) {
        Some(number) if replaced && number.abs() < 9e15 => (number as i64).to_string(),
        _ => text,
    }
}

fn variables(value: &str, around: &Surroundings) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find("${") {
        text.push_str(&rest[..at]);
        let behind = &rest[at + 2..];
        let Some(end) = behind.find('}') else {
            rest = &rest[at..];
            break;
        };
        // One that is not set is empty, as in fio and in a shell.
        text.extend((around.variable)(&behind[..end]));
        rest = &behind[end + 1..];
    }
    text.push_str(rest);
    text
}

/// Words that a shell would be given, for `--showcmd` and for records: a value with spaces stands in quotes.
pub fn quoted_for_shell(value: &str) -> String {
    if value.contains(' ') { format!("\"{value}\"") } else { value.to_owned() }
}

/// The words of a command line as a source, with the place of each.
pub fn words_as_source(words: &[String]) -> (Arc<Source>, VecDeque<Place>) {
    let source = Arc::new(Source { name: "command line".to_owned(), text: words.join(" "), lines_before: 0 });
    let mut start = 0;
    let places = words
        .iter()
        .map(|word| {
            let place = Place::new(&source, start..start + word.len());
            start += word.len() + 1;
            place
        })
        .collect();
    (source, places)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Surroundings of a test: SIZE is set, `inc.fio` can be included, `loop.fio` includes itself.
    pub(crate) fn around() -> Surroundings<'static> {
        Surroundings {
            variable: &|name| (name == "SIZE").then(|| "64m".to_owned()),
            include: &|name| match name {
                "inc.fio" => Ok("iodepth=7\n".to_owned()),
                "jobs.fio" => Ok("[x]\nbs=2k\n".to_owned()),
                "loop.fio" => Ok("include loop.fio\ninclude loop.fio\n".to_owned()),
                _ => Err("No such file".to_owned()),
            },
            page_size: 4096,
            memory_mebibytes: 24064,
            cpus: 2,
        }
    }

    fn told(text: &str) -> Vec<(String, Vec<String>)> {
        let sections = parse("t.fio", text, &around()).unwrap();
        let setting = |setting: &Setting| match &setting.value {
            Some(value) => format!("{}={value}", setting.name),
            None => setting.name.clone(),
        };
        sections.iter().map(|s| (s.name.clone(), s.settings.iter().map(setting).collect())).collect()
    }

    fn wrong(text: &str) -> Vec<String> {
        parse("t.fio", text, &around()).unwrap_err().iter().map(|trouble| trouble.to_string()).collect()
    }

    #[test]
    fn sections_options_comments_and_blanks() {
        let text = "; comment\n# other\n[global]\n  bs = 4k  ; why\nrw=read # and\n\n[a b]\r\nstonewall\r\nfilename=x;y\n";
        assert_eq!(
            told(text),
            [
                ("global".into(), vec!["bs=4k".into(), "rw=read".into()]),
                ("a b".into(), vec!["stonewall".into(), "filename=x".to_owned()]),
            ]
        );
    }

    #[test]
    fn variables_and_keywords_are_put_in() {
        let text = "[a]\nsize=${SIZE}\nbs=$pagesize\nnumjobs=2*$ncpus\nio_size=8*$mb_memory\ndescription=${NO} x\nfilename=f$ncpus\nfilename_format=$jobname.$jobnum\nname=${\n";
        let expected = [
            "size=64m",
            "bs=4096",
            "numjobs=4",
            "io_size=192512",
            "description= x",
            "filename=f2",
            "filename_format=$jobname.$jobnum",
            "name=${",
        ];
        assert_eq!(told(text)[0].1, expected);
    }

    #[test]
    fn included_lines_stand_where_they_are_included() {
        assert_eq!(told("[a]\ninclude inc.fio\nrw=read\n")[0].1, ["iodepth=7", "rw=read"]);
        assert_eq!(told("[a]\ninclude=inc.fio\nrw=read\n")[0].1, ["iodepth=7", "rw=read"]);
        assert_eq!(told("[a]\ninclude = inc.fio\n")[0].1, ["iodepth=7"]);
        assert_eq!(
            told("include jobs.fio\nrw=read\n"),
            [("x".into(), vec!["bs=2k".into(), "rw=read".to_owned()])]
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        assert!(wrong("bs=4k\n[a]\n")[0].starts_with("t.fio:1:1: bs stands before any section"));
        assert!(wrong("[a]\n\n  [b\n")[0].starts_with("t.fio:3:3: the bracket is never closed"));
        assert!(wrong("[]\n")[0].starts_with("t.fio:1:1: a section needs a name"));
        assert!(wrong("[a] junk\n")[0].starts_with("t.fio:1:1: there is something behind the bracket"));
        assert!(
            wrong("[a]\ninclude none.fio\n")[0].starts_with("t.fio:2:1: cannot read none.fio: No such file")
        );
        assert!(wrong("[a]\ninclude loop.fio\n")[0].contains("is included too deep"));
        assert_eq!(wrong(&"x=1\n".repeat(1000)).len(), TROUBLES_MOST);
    }

    #[test]
    fn quotes_hold_comments_and_spaces_together() {
        assert_eq!(
            told("[a]\ndescription=\"a ; b # c\"\nbuffer_pattern=\"ab\"-1\n")[0].1,
            ["description=a ; b # c", "buffer_pattern=\"ab\"-1"]
        );
        assert_eq!(told("[a]\ndescription=5\" disk ; old\n")[0].1, ["description=5\" disk"]);
    }
}
