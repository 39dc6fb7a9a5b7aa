//! What dt tells of the machine and the file system, and what it fills into a prefix.

use crate::{Options, SystemInfo};
use anyhow::{Result, anyhow, bail};
use fathom_host::{Roots, TargetKind, directory_of, mounts, resolve};
use fathom_session::{Environment, errno_text};
use std::net::ToSocketAddrs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the target is.
pub struct Target {
    /// A file or a device.
    pub kind: TargetKind,
    /// Bytes it has now.
    pub size: u64,
    /// It was there before.
    pub existed: bool,
    /// Its inode, or the device's number; 0 for a file that is still to be made.
    pub inode: u64,
}

/// Looks at a target; one that is to be written need not be there.
pub fn target(name: &str, writes: bool, roots: &Roots) -> Result<Target> {
    let path = Path::new(name);
    if writes && !path.exists() {
        if name.starts_with("/dev/") {
            bail!(
                "open of {name} failed: No such file or directory\nhint: check the name; fathom makes no files in /dev"
            );
        }
        return Ok(Target { kind: TargetKind::RegularFile, size: 0, existed: false, inode: 0 });
    }
    let named = fathom_spec::names::printable(name);
    let failed = |error: std::io::Error| anyhow!("open of {named} failed: {}", errno_text::of_error(&error));
    let about = path.metadata().map_err(failed)?;
    let storage = resolve(roots, path).map_err(failed)?;
    let size = storage.size_bytes.unwrap_or(0);
    let inode = if storage.kind == TargetKind::BlockDevice { about.rdev() } else { about.ino() };
    match storage.kind {
        TargetKind::RegularFile | TargetKind::BlockDevice => {
            Ok(Target { kind: storage.kind, size, existed: true, inode })
        }
        _ => bail!(
            "{name} is neither a regular file nor a block device\nhint: name a file on the file system that you mean"
        ),
    }
}

/// Bytes of data.
pub fn length(options: &Options, roots: &Roots) -> Result<u64> {
    lengths(options, roots).map(|(length, _)| length)
}

/// The same, and how much was asked for where there is less of it.
pub fn lengths(options: &Options, roots: &Roots) -> Result<(u64, Option<u64>)> {
    let name = match &options.input {
        Some(input) if options.pairs() => input,
        _ => options.name(),
    };
    let target = target(name, options.writes(), roots)?;
    let record = options.records_of(options.changes()).most;
    let by_records = options.records.saturating_mul(record);
    let by_records = if options.records > 0 && !options.shape.varies() { by_records } else { u64::MAX };
    let wanted = options.limit.unwrap_or(u64::MAX).min(by_records);
    let grows = options.writes() && target.kind == TargetKind::RegularFile;
    let there = target.size.saturating_sub(options.start());
    let short = !grows && there < wanted && wanted != u64::MAX;
    match if grows { wanted } else { wanted.min(there) } {
        0 => bail!("{name}: there is nothing to read or write at offset {}", options.start()),
        length => Ok((length, short.then_some(wanted))),
    }
}

/// This host's name.
pub fn host() -> String {
    String::from_utf8_lossy(rustix::system::uname().nodename().to_bytes()).into_owned()
}

/// A prefix with `%d %h %p %u %j %t` and the like filled in.
pub fn prefix(text: &str, name: &str, host: &str, user: &str, thread: u32) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('d' | 'D') => out += name,
            Some('h') => out += host.split('.').next().unwrap_or_default(),
            Some('H') => out += host,
            Some('p') => out += &std::process::id().to_string(),
            Some('u') => out += user,
            Some('j') => out.push('1'),
            Some('t') => out += &thread.to_string(),
            Some('s' | 'U' | 'J' | 'T') => {}
            Some(other) => out.extend(['%', other]),
            None => out.push('%'),
        }
    }
    out
}

/// Everything for the statistics.
pub fn read(options: &Options, roots: &Roots, target: &Target, environment: &Environment) -> SystemInfo {
    let about = rustix::system::uname();
    let text = |part: &std::ffi::CStr| String::from_utf8_lossy(part.to_bytes()).into_owned();
    let host = host();
    let addresses = (host.as_str(), 0).to_socket_addrs().ok();
    let address = addresses.and_then(|mut all| all.find(std::net::SocketAddr::is_ipv4));
    let address = address.map_or_else(|| "127.0.0.1".to_owned(), |address| address.ip().to_string());
    let system = [text(about.sysname()), text(about.release()), text(about.version()), text(about.machine())];
    SystemInfo {
        system: vec![
            ("Host name".to_owned(), format!("{host} ({address})")),
            ("Process ID".to_owned(), std::process::id().to_string()),
            ("OS information".to_owned(), system.join(" ")),
        ],
        file_system: match target.kind {
            TargetKind::RegularFile => file_system(options.name(), roots).unwrap_or_default(),
            _ => Vec::new(),
        },
        kind: if target.kind == TargetKind::RegularFile { "regular" } else { "block" },
        version: env!("CARGO_PKG_VERSION").to_owned(),
        user: environment.user(),
        host,
    }
}

fn file_system(name: &str, roots: &Roots) -> Option<Vec<(String, String)>> {
    let there = directory_of(Path::new(name)).canonicalize().ok()?;
    let mounts = mounts::read_mounts(roots).ok()?;
    let mount = mounts::mount_of(&mounts, &there, None, None)?;
    let space = rustix::fs::statvfs(&there).ok()?;
    let amount = |blocks: u64| {
        let bytes = blocks * space.f_frsize;
        let of = |unit: u64| bytes as f64 / unit as f64;
        format!("{bytes} ({:.3} Mbytes, {:.3} Gbytes, {:.3} Tbytes)", of(1 << 20), of(1 << 30), of(1 << 40))
    };
    let field = |name: &str, value: String| (name.to_owned(), value);
    Some(vec![
        field("Mounted from device", mount.source.clone()),
        field("Mounted on directory", mount.mount_point.display().to_string()),
        field("Filesystem type", mount.kind.clone()),
        field("Filesystem options", mount.options.clone()),
        field("Filesystem block size", space.f_bsize.to_string()),
        field("Filesystem free space", amount(space.f_bfree)),
        field("Filesystem total space", amount(space.f_blocks)),
    ])
}
