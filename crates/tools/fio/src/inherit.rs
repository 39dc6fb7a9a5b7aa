//! From sections to jobs: defaults handed down by order, names looked up, values read.

use super::diagnostic::{Place, Trouble};
use super::jobfile::{Section, Setting, TROUBLES_MOST};
use super::numbers::KbBase;
use super::options::{OPTIONS, OptionId, did_you_mean, find};
use super::values::{self, Value};
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// The value that was said for an option.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Read as its kind.
    pub value: Value,
    /// The setting that says it.
    pub at: Place,
}

/// What was said for each option, by the option's number in the table. What several jobs inherit is in memory once.
#[derive(Clone, Debug)]
pub struct OptionValues(Vec<Option<Rc<Given>>>);

impl Default for OptionValues {
    fn default() -> Self {
        OptionValues(vec![None; OPTIONS.len()])
    }
}

impl OptionValues {
    /// What was said for an option, if anything was.
    pub fn get(&self, id: OptionId) -> Option<&Given> {
        self.0[id as usize].as_deref()
    }

    /// Says it, in the place of what was said before.
    pub fn set(&mut self, id: OptionId, given: Given) {
        self.0[id as usize] = Some(Rc::new(given));
    }
}

/// A job as it was said, with what it inherits.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The name of its section.
    pub name: String,
    /// The header of its section.
    pub at: Place,
    /// Everything said for it or before it in `[global]`.
    pub values: OptionValues,
    /// What its own section says, in order: canonical names and values, that of a bare flag empty.
    pub own: Arc<[(&'static str, String)]>,
    /// It is the first of a job file that is not the first: it waits for all before it.
    pub begins_file: bool,
    /// Is `k` 1024?
    pub base: KbBase,
}

/// What jobs are put together from.
#[derive(Debug, Default)]
pub struct Parts {
    /// Options of the command line that stand before any job.
    pub defaults: Vec<Setting>,
    /// Jobs of the command line.
    pub command_line: Vec<Section>,
    /// Those of the files, in order.
    pub files: Vec<Vec<Section>>,
}

/// Canonical names and values of what `[global]` said, in order, those of bare flags empty; `None`: there was none.
pub type Globals = Option<Vec<(&'static str, String)>>;

/// Puts jobs together, one after the other: first those of the command line, then the files in order. `only`: the sections
/// wanted, or none for all. Takes what was read rather than looking at it: a file of thousands of sections is not kept twice.
pub fn assemble_each(
    parts: Parts,
    only: &[String],
    job: &mut dyn FnMut(Typed),
) -> Result<Globals, Vec<Trouble>> {
    let mut maker = Maker { take: job, globals: None, troubles: Vec::new(), only };
    let mut first = Layer::default();
    maker.defaults(&mut first, parts.defaults);
    maker.part(first.clone(), parts.command_line, false);
    for (number, file) in parts.files.into_iter().enumerate() {
        maker.part(first.clone(), file, number > 0);
    }
    if maker.troubles.is_empty() { Ok(maker.globals) } else { Err(maker.troubles) }
}

/// Defaults so far.
#[derive(Clone, Default)]
struct Layer {
    values: OptionValues,
    base: KbBase,
}

struct Maker<'a> {
    take: &'a mut dyn FnMut(Typed),
    globals: Globals,
    troubles: Vec<Trouble>,
    only: &'a [String],
}

impl Maker<'_> {
    fn part(&mut self, mut layer: Layer, sections: Vec<Section>, begins_file: bool) {
        let mut begins_file = begins_file;
        for section in sections {
            if self.troubles.len() >= TROUBLES_MOST {
                return;
            }
            if section.is_global() {
                self.defaults(&mut layer, section.settings);
            } else if self.only.is_empty() || self.only.contains(&section.name) {
                self.job(&layer, section, begins_file);
                begins_file = false;
            }
        }
    }

    fn defaults(&mut self, layer: &mut Layer, settings: Vec<Setting>) {
        if settings.is_empty() {
            return;
        }
        let read = self.read(layer, settings, false);
        let globals = self.globals.get_or_insert_default();
        read.into_iter().for_each(|said| put(globals, said));
    }

    fn job(&mut self, layer: &Layer, section: Section, begins_file: bool) {
        let mut layer = layer.clone();
        let mut own = Vec::new();
        let Section { name, at, settings } = section;
        self.read(&mut layer, settings, true).into_iter().for_each(|said| put(&mut own, said));
        let Layer { values, base } = layer;
        (self.take)(Typed { name, at, values, own: own.into(), begins_file, base });
    }

    /// Reads settings over a layer, and answers what was said, by canonical name.
    fn read(
        &mut self,
        layer: &mut Layer,
        settings: Vec<Setting>,
        in_job: bool,
    ) -> Vec<(&'static str, String)> {
        let named: Vec<(Option<OptionId>, Setting)> =
            settings.into_iter().map(|setting| (find(&setting.name), setting)).collect();
        // What k means holds for its whole section, wherever it is said.
        for (_, setting) in named.iter().filter(|(id, _)| *id == Some(OptionId::KbBase)) {
            match setting.value.as_deref() {
                Some("1000") => layer.base = KbBase::Standard,
                Some("1024") => layer.base = KbBase::Old,
                _ => {}
            }
        }
        let engine = engine(&named, layer);
        let mut said = Vec::with_capacity(named.len());
        for (id, setting) in named {
            match one(id, &setting, layer.base, &engine, in_job) {
                Ok(Some((id, value))) => {
                    let Setting { value: text, at, .. } = setting;
                    said.push((id.name(), text.unwrap_or_default()));
                    layer.values.set(id, Given { value, at });
                }
                Ok(None) => {}
                Err(trouble) => {
                    self.troubles.push(trouble);
                    if self.troubles.len() >= TROUBLES_MOST {
                        break;
                    }
                }
            }
        }
        said
    }
}

fn put(list: &mut Vec<(&'static str, String)>, said: (&'static str, String)) {
    match list.iter_mut().find(|(name, _)| *name == said.0) {
        Some(there) => there.1 = said.1,
        None => list.push(said),
    }
}

/// The engine of a section: what it says of it itself, wherever that stands, else what it inherits, else fio's own.
fn engine(settings: &[(Option<OptionId>, Setting)], layer: &Layer) -> Cow<'static, str> {
    let own = settings.iter().rev().find(|(id, _)| *id == Some(OptionId::Ioengine));
    if let Some(own) = own.and_then(|(_, setting)| setting.value.as_deref()) {
        return own.split(':').next().unwrap_or_default().to_owned().into();
    }
    let inherited = layer.values.get(OptionId::Ioengine).map(|given| &given.value);
    match inherited.or_else(|| values::default_of(OptionId::Ioengine)) {
        Some(Value::Word(word, _)) => Cow::Borrowed(word),
        _ => unreachable!("an engine is a word, and the table has a default for it"),
    }
}

/// One setting read. Nothing: it is an engine's own, stands in `[global]`, and the engine is another.
fn one(
    id: Option<OptionId>,
    setting: &Setting,
    base: KbBase,
    engine: &str,
    in_job: bool,
) -> Result<Option<(OptionId, Value)>, Trouble> {
    let at = &setting.at;
    let Some(id) = id else {
        return Err(Trouble::at(
            &at.part(0..setting.name.len()),
            format!("there is no option {}", shortened(&setting.name)),
            match did_you_mean(&setting.name) {
                Some(near) => format!("did you mean {near}?"),
                None => "--cmdhelp lists all options".to_owned(),
            },
        ));
    };
    if in_job && !id.option().belongs_to(engine) {
        let engines = id.option().engines.join(", ");
        return Err(Trouble::at(
            &at.part(0..setting.name.len()),
            format!("{} is an option of {engines}, and this job uses {engine}", setting.name),
            format!("say ioengine= first, or leave {} out", setting.name),
        ));
    }
    let wrong = |(what, hint)| Trouble::at(at, what, hint);
    let value = values::read(id, setting.value.as_deref(), base).map_err(wrong)?;
    values::refuse(id, &value).map_err(wrong)?;
    Ok(Some((id, value)))
}

fn shortened(name: &str) -> String {
    name.chars().take(40).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::jobfile::{self, tests::around};
    use super::*;

    /// All jobs, and what `[global]` said.
    #[derive(Debug)]
    pub(crate) struct Assembled {
        pub(crate) jobs: Vec<Typed>,
        pub(crate) globals: Globals,
    }

    pub(crate) fn assemble(parts: Parts, only: &[String]) -> Result<Assembled, Vec<Trouble>> {
        let mut jobs = Vec::new();
        let globals = assemble_each(parts, only, &mut |job| jobs.push(job))?;
        Ok(Assembled { jobs, globals })
    }

    /// The jobs of a text.
    pub(crate) fn jobs(text: &str) -> Result<Assembled, Vec<Trouble>> {
        let files = vec![jobfile::parse("t.fio", text, &around())?];
        assemble(Parts { files, ..Parts::default() }, &[])
    }

    fn integers(job: &Typed, id: OptionId) -> Option<[Option<i64>; 3]> {
        match &job.values.get(id)?.value {
            Value::Integers(values) => Some(*values),
            _ => None,
        }
    }

    #[test]
    fn a_job_inherits_from_the_globals_above_it_only() {
        let done = jobs("[global]\nbs=4k\n[a]\n[global]\nbs=8k\niodepth=2\n[b]\n[c]\nbs=16k\n").unwrap();
        let sizes: Vec<i64> =
            done.jobs.iter().map(|job| integers(job, OptionId::Blocksize).unwrap()[0].unwrap()).collect();
        assert_eq!(sizes, [4096, 8192, 16384]);
        assert_eq!(done.globals.unwrap(), [("bs", "8k".to_owned()), ("iodepth", "2".to_owned())]);
        assert_eq!(*done.jobs[2].own, [("bs", "16k".to_owned())]);
    }

    #[test]
    fn aliases_are_told_by_their_canonical_name_and_bare_flags_without_a_value() {
        let done = jobs("[a]\nblocksize=4k\nreadwrite=randread\nstonewall\nbs=8k\n").unwrap();
        let own: Vec<&str> = done.jobs[0].own.iter().map(|(name, _)| *name).collect();
        assert_eq!(own, ["bs", "rw", "stonewall"]);
        assert_eq!((done.jobs[0].own[0].1.as_str(), done.jobs[0].own[2].1.as_str()), ("8k", ""));
    }

    #[test]
    fn kb_base_holds_for_its_whole_section() {
        let done = jobs("[a]\nbs=4k\nkb_base=1000\n").unwrap();
        assert_eq!(integers(&done.jobs[0], OptionId::Blocksize), Some([Some(4000); 3]));
    }

    #[test]
    fn troubles_name_option_place_and_remedy() {
        let wrong = |text: &str| jobs(text).unwrap_err()[0].to_string();
        assert_eq!(
            wrong("[a]\nrw=read\niodetph=4\n"),
            "t.fio:3:1: there is no option iodetph\nhint: did you mean iodepth?"
        );
        assert!(wrong("[a]\nioengine=libaio\nhipri=1\n").contains("hipri is an option of"));
        assert!(wrong("[a]\nlockfile=readwrite\n").contains("lockfile is known and not supported here"));
        assert_eq!(jobs("[a]\nx=1\ny=2\n[b]\nz=3\n").unwrap_err().len(), 3);
    }

    #[test]
    fn an_engines_option_in_global_waits_for_its_engine() {
        assert!(jobs("[global]\nhipri\n[a]\nioengine=io_uring\n[b]\nioengine=psync\n").is_ok());
        assert!(jobs("[a]\nsqthread_poll=1\nioengine=io_uring\n").is_ok());
    }

    #[test]
    fn sections_can_be_chosen() {
        let sections = jobfile::parse("t", "[global]\nbs=2k\n[a]\n[b]\n[a]\n", &around()).unwrap();
        let chosen =
            assemble(Parts { files: vec![sections], ..Parts::default() }, &["a".to_owned()]).unwrap();
        assert_eq!(chosen.jobs.len(), 2);
    }

    #[test]
    fn each_file_after_the_first_waits_for_those_before() {
        let file = |text: &str| jobfile::parse("t", text, &around()).unwrap();
        let files = vec![file("[a]\n[b]\n"), file("[c]\n[d]\n")];
        let parts = Parts { command_line: file("[x]\n"), files, ..Parts::default() };
        let done = assemble(parts, &[]).unwrap();
        let begins: Vec<bool> = done.jobs.iter().map(|job| job.begins_file).collect();
        assert_eq!(begins, [false, false, false, true, false]);
    }
}
