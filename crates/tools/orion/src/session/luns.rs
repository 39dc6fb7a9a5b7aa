//! The LUNs of a run: what `NAME.lun` names, found, made where that was asked for, and guarded before any write.

use crate::{self as orion, Lun, Options};
use anyhow::{Result, bail};
use fathom_drive::sim::Device;
use fathom_engine::guard;
use fathom_host::{OpenFiles, Roots, TargetKind, output_file, resolve};
use fathom_record::{Request, StopReason, Vocabulary};
use fathom_session::layout::{Layout, failure};
use fathom_session::targets::Ready;
use fathom_session::watch::{Progress, Watch};
use fathom_session::{Interrupt, Session};
use fathom_spec::*;
use std::path::Path;

/// LUNs with what they stand on.
pub struct Luns {
    /// Names and sizes.
    pub luns: Vec<Lun>,
    /// For the preflight.
    pub ready: Vec<Ready>,
}

/// Names of `NAME.lun`.
pub fn names(options: &Options) -> Result<Vec<String>> {
    let path = format!("{}.lun", options.test_name);
    let text = fathom_host::text_file::read(&path).map_err(|error| {
        anyhow::anyhow!(
            "Failure in opening .lun file {path}: {error}\nhint: it names one block device or file a line; -testname says which one is read"
        )
    })?;
    let names = orion::luns(&text);
    if names.is_empty() {
        bail!("{path} names no LUN\nhint: write one block device or file a line into it");
    }
    Ok(names)
}

/// Finds every LUN.
pub fn find(names: &[String], roots: &Roots) -> Result<Luns> {
    let mut found = Luns { luns: Vec::new(), ready: Vec::new() };
    for name in names {
        let (size, ready) = find_one(name, roots)?;
        found.luns.push(Lun { name: name.clone(), size: Bytes(size) });
        found.ready.push(ready);
    }
    Ok(found)
}

fn find_one(name: &str, roots: &Roots) -> Result<(u64, Ready)> {
    if let Some(device) = name.strip_prefix("sim:") {
        let parsed = device
            .parse::<Device>()
            .map_err(|what| anyhow::anyhow!("{name}: {what}\nhint: for example sim:ways=32,service=100us"))?;
        return Ok((parsed.size_bytes, Ready::Simulated(device.to_owned())));
    }
    if name.starts_with("/dev/raw/") {
        bail!(
            "{name}: raw devices are gone: name the block device\nhint: lsblk lists them; fathom reads past the page cache anyway"
        );
    }
    let path = Path::new(name);
    let storage = resolve(roots, path).map_err(|error| {
        anyhow::anyhow!(
            "cannot open LUN {name}: {error}\nhint: check the name, or let -create SIZE make the file"
        )
    })?;
    let size = match (storage.kind, storage.size_bytes) {
        (TargetKind::RegularFile | TargetKind::BlockDevice, Some(size)) => size,
        _ => bail!(
            "LUN {name} is neither a block device nor a file\nhint: name the device, or a file on the file system that you mean"
        ),
    };
    Ok((size, Ready::Existing { path: path.to_owned(), storage: Box::new(storage) }))
}

/// What the user has said may be written.
pub fn permits(options: &Options) -> Permits {
    Permits { consents: options.write_consent.clone(), ..Permits::new(Policy::WhenHolding) }
}

/// ORION's words for what an error advises.
const WORDS: Vocabulary<'static> = Vocabulary {
    consent: "say -write-consent ",
    read_only: "leave -write out",
    block: "-size_large",
    workers: "-num_streamIO",
    depth: "-num_small and -num_large",
    ..Vocabulary::OWN
};

/// Refuses at once, and names every LUN that must not be opened or written with the reason.
pub fn guard_all(
    options: &Options,
    found: &Luns,
    roots: &Roots,
    permits: &Permits,
    interrupt: &Interrupt,
) -> Result<()> {
    let mut refusals = Vec::new();
    let open = OpenFiles::read(roots);
    let allow = |path: &Path| guard::allow_among(roots, path, permits, &open, &|| !interrupt.raised());
    for (lun, ready) in found.luns.iter().zip(&found.ready) {
        let Some(path) = ready.path() else { continue };
        let writes = options.write > 0;
        if writes && let Err(error) = allow(path) {
            let says = error.in_words(&WORDS);
            refusals.push(format!("LUN {} of {}: {says}", lun.name, lun.size));
        } else if let Err(error) = can_be_opened(path, writes) {
            let how = if writes { "reading and writing" } else { "reading" };
            refusals.push(format!(
                "cannot open LUN {} for {how}: {error}\nhint: run as a user who may open it",
                lun.name
            ));
        }
    }
    match refusals.is_empty() {
        true => Ok(()),
        false => bail!("{}", refusals.join("\n")),
    }
}

fn can_be_opened(path: &Path, writes: bool) -> std::io::Result<()> {
    match writes {
        true => output_file::is_writable(path),
        false => std::fs::File::open(path).map(drop),
    }
}

/// What making files needs.
pub struct Creation<'a, 's> {
    /// Who writes them.
    pub session: &'a mut Session<'s>,
    /// What may be written.
    pub permits: &'a Permits,
    /// The bar.
    pub progress: &'a Progress,
    /// Has the user had enough?
    pub interrupt: &'a Interrupt,
}

/// Makes the files that are missing and fills them with random data. Answers their names, `None` when interrupted.
pub fn create(names: &[String], size: Bytes, creation: Creation<'_, '_>) -> Result<Option<Vec<String>>> {
    let Creation { session, permits, progress, interrupt } = creation;
    let mut made = Vec::new();
    let block = if size.0.is_multiple_of(MIB) { MIB } else { 4 * KIB };
    if !size.0.is_multiple_of(block) {
        bail!("-create {} is no multiple of 4 KiB\nhint: for example -create 10g", size.0);
    }
    for name in names.iter().filter(|name| !name.starts_with("sim:") && !Path::new(name).exists()) {
        if name.starts_with("/dev/") {
            bail!("LUN {name} is missing, and -create makes files, no devices\nhint: check the name");
        }
        let plan = Layout { block: Bytes(block), create: true, ..Layout::new(name, size) }.plan();
        let mut nobody = ();
        let mut watch = Watch::new(&mut nobody, progress, interrupt, format!("making {name}"), Nanos(size.0));
        let request = Request::new(&plan).with_permits(permits);
        let run = session.execute.execute(request, &mut watch).map(|outcome| outcome.run);
        let cut_short = interrupt.raised();
        let failed = match &run {
            Err(error) => Some(error.to_string()),
            Ok(run) => {
                let fault = failure(run).map(|(what, hint)| format!("{what}\nhint: {hint}"));
                fault.or_else(|| {
                    let told = run.workers.iter().any(|worker| worker.ended == StopReason::Fault);
                    told.then(|| "a write failed".to_owned())
                })
            }
        };
        if failed.is_some() || cut_short {
            let _ = output_file::remove(&Roots::default(), Path::new(name));
        }
        if let Some(why) = failed {
            bail!("cannot make {name}: {why}");
        }
        if cut_short {
            return Ok(None);
        }
        made.push(name.clone());
    }
    Ok(Some(made))
}
