//! What is mounted where: `/proc/self/mountinfo`, read and searched. Pure once the text is there.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::roots::{DeviceNumber, Roots};

/// One line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number of this mount, as statx tells it.
    pub id: u64,
    /// The file system's device; major 0 where there is no single block device (btrfs, NFS, tmpfs, overlay, ZFS).
    pub device: DeviceNumber,
    /// Which part of the file system is mounted: `/` but for bind mounts and subvolumes.
    pub root: String,
    pub mount_point: PathBuf,
    /// Options of this mount.
    pub options: String,
    /// The file system's type: ext4, xfs, nfs4, ...
    pub kind: String,
    /// What is mounted: `/dev/sda1`, `server:/export`, `pool/data`, ...
    pub source: String,
    /// Options of the file system, with the kernel's octal escapes.
    pub super_options: String,
}

impl Mount {
    /// Whether this mount or the file system under it refuses writes.
    pub fn read_only(&self) -> bool {
        has_option(&self.options, "ro") || has_option(&self.super_options, "ro")
    }

    /// The value of an option `name=value` of the file system, its escapes undone.
    pub fn super_option(&self, name: &str) -> Option<String> {
        self.super_option_as_written(name).map(unescape_octal)
    }

    /// The directories of an option that lists them (`lowerdir=/a:/b`).
    pub fn super_option_directories(&self, name: &str) -> Vec<PathBuf> {
        self.super_option_as_written(name).map(split_directories).unwrap_or_default()
    }

    /// A comma inside a value is written in octal, so the raw text can be split at commas.
    fn super_option_as_written(&self, name: &str) -> Option<&str> {
        self.super_options.split(',').find_map(|option| {
            let (key, value) = option.split_once('=')?;
            (key == name).then_some(value)
        })
    }
}

fn has_option(options: &str, wanted: &str) -> bool {
    options.split(',').any(|option| option == wanted)
}

/// Splits overlay's `/a:/b` at colons. A colon inside a name is octal (newer kernels) or stands behind an octal
/// backslash (older ones).
fn split_directories(list: &str) -> Vec<PathBuf> {
    let mut names: Vec<String> = Vec::new();
    let mut continued = false;
    for piece in list.split(':') {
        let (text, continues) = match piece.strip_suffix("\\134") {
            Some(text) => (format!("{text}:"), true),
            None => (piece.to_string(), false),
        };
        match names.last_mut() {
            Some(last) if continued => last.push_str(&text),
            _ => names.push(text),
        }
        continued = continues;
    }
    names.iter().filter(|name| !name.is_empty()).map(|name| unescape_path(name)).collect()
}

/// Undoes the kernel's `\040` (three octal digits) for space, tab, newline, backslash and `#`.
pub fn unescape_octal(text: &str) -> String {
    unescape_path(text).display().to_string()
}

/// The same for a path, whose bytes need not be text.
pub fn unescape_path(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = (bytes[at] == b'\\')
            .then(|| bytes.get(at + 1..at + 4))
            .flatten()
            .filter(|digits| digits.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        if let Some(digits) = octal {
            let value = digits.iter().fold(0u32, |sum, digit| sum * 8 + u32::from(digit - b'0'));
            out.push(value as u8);
            at += 4;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

/// Reads mountinfo's text; a line that is not as proc(5) describes is left out.
pub fn parse_mounts(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut first = before.split(' ');
    let id = first.next()?.parse().ok()?;
    let device = DeviceNumber::parse(first.nth(1)?)?;
    let root = unescape_octal(first.next()?);
    let mount_point = unescape_path(first.next()?);
    let options = first.next()?.to_string();
    let mut last = after.split(' ');
    let kind = unescape_octal(last.next()?);
    let source = unescape_octal(last.next()?);
    let super_options = last.next().unwrap_or("").to_string();
    Some(Mount { id, device, root, mount_point, options, kind, source, super_options })
}

/// A kernel's list as text: the bytes of names that are no ASCII are escaped as the kernel escapes a space.
pub fn as_text(list: &[u8]) -> String {
    let text = |byte: &u8| match byte.is_ascii() {
        true => char::from(*byte).to_string(),
        false => format!("\\{byte:03o}"),
    };
    list.iter().map(text).collect()
}

/// All mounts that this process sees.
pub fn read_mounts(roots: &Roots) -> io::Result<Vec<Mount>> {
    let text = std::fs::read(roots.proc.join("self/mountinfo"))?;
    Ok(parse_mounts(&as_text(&text)))
}

/// The mount that an absolute path stands on: the one with the kernel's id where it is known, else the longest mount
/// point above the path, the device's own mounts first (btrfs files carry an anonymous device that mountinfo does not
/// list), the last mounted first.
pub fn mount_of<'a>(
    mounts: &'a [Mount],
    path: &Path,
    mount_id: Option<u64>,
    device: Option<DeviceNumber>,
) -> Option<&'a Mount> {
    if let Some(found) = mount_id.and_then(|id| mounts.iter().find(|mount| mount.id == id)) {
        return Some(found);
    }
    let longest = |only: Option<DeviceNumber>| {
        mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.mount_point))
            .filter(|mount| only.is_none_or(|device| mount.device == device))
            // `max_by_key` keeps the last of equals, which is the one mounted on top.
            .max_by_key(|mount| mount.mount_point.components().count())
    };
    device.and_then(|device| longest(Some(device))).or_else(|| longest(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    const TEXT: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 0:41 /@home /home rw,noatime shared:5 - btrfs /dev/sdb rw,subvol=/@home
41 27 254:0 /srv/a\\040b /mnt/bind\\040here ro,relatime master:1 - ext4 /dev/vda rw
42 27 0:50 / /mnt/o rw - overlay overlay rw,lowerdir=/l1:/l\\0722:/l\\134:3,upperdir=/u\\054x,workdir=/w
nonsense
43 27 0:51 / /home/x rw - tmpfs tmpfs rw
44 27 0:52 / /home/x rw - tmpfs second rw
";

    #[test]
    fn mountinfo_is_read_with_its_escapes_and_optional_fields() {
        let mounts = parse_mounts(TEXT);
        assert_eq!(mounts.len(), 6);
        assert_eq!(mounts[2].mount_point, Path::new("/mnt/bind here"));
        assert_eq!(mounts[2].root, "/srv/a b");
        assert!(mounts[2].read_only());
        assert!(!mounts[0].read_only());
        assert_eq!(mounts[1].kind, "btrfs");
        assert_eq!(mounts[1].source, "/dev/sdb");
    }

    #[test]
    fn the_mount_is_found_by_id_then_by_device_then_by_the_longest_prefix() {
        let mounts = parse_mounts(TEXT);
        let of = |path: &str, id, device: Option<&str>| {
            mount_of(&mounts, Path::new(path), id, device.and_then(DeviceNumber::parse)).map(|m| m.id)
        };
        assert_eq!(of("/home/y", Some(27), None), Some(27));
        assert_eq!(of("/home/y", None, Some("0:99")), Some(40), "btrfs: anonymous device");
        assert_eq!(of("/home/y", None, Some("254:0")), Some(27), "the device decides");
        assert_eq!(of("/home/x/z", None, None), Some(44), "the last mounted is on top");
        assert_eq!(of("/homework", None, None), Some(27), "whole components");
    }

    #[test]
    fn a_mount_point_that_is_no_text_keeps_its_bytes() {
        let list = b"44 27 0:52 / /mnt/caf\xe9\\040x rw - tmpfs t rw\n";
        let mounts = parse_mounts(&as_text(list));
        assert_eq!(mounts[0].mount_point.as_os_str().as_bytes(), b"/mnt/caf\xe9 x");
    }

    #[test]
    fn overlay_directories_are_found_behind_escaped_commas_and_colons() {
        let mounts = parse_mounts(TEXT);
        let overlay = &mounts[3];
        assert_eq!(overlay.super_option("upperdir").as_deref(), Some("/u,x"));
        assert_eq!(
            overlay.super_option_directories("lowerdir"),
            [Path::new("/l1"), Path::new("/l:2"), Path::new("/l:3")]
        );
    }
}
