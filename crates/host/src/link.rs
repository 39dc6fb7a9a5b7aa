//! How fast the link to a disk is, by what sysfs tells of PCIe, SATA, SAS, Fibre Channel and USB. A link's speed bounds
//! throughput from above; protocol overhead takes some per cent more.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::BlockDevice;
use crate::roots::{names_in, read_text, text_if_there};
use crate::transport::Transport;

/// A link and its payload rate after line coding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// In words: `PCIe 8.0 GT/s x4`.
    pub description: String,
    /// What it can carry in one direction, line coding taken off, packet heads not.
    pub bytes_per_second: u64,
    /// The file of sysfs that told it.
    pub source: PathBuf,
}

/// The link of a disk, or `None` where there is none or sysfs does not tell.
pub fn link_of(device: &BlockDevice, transport: Transport) -> Option<Link> {
    match transport {
        Transport::Nvme => pcie(&device.directory).or_else(|| {
            // Under NVMe's own multipath the namespace is virtual; its controller is behind `device`'s first path.
            let folder = fs::canonicalize(device.directory.join("device")).ok()?;
            pcie(&folder).or_else(|| {
                let controller = names_in(&folder).into_iter().find(|name| is_controller(name))?;
                pcie(&fs::canonicalize(folder.join(controller)).ok()?)
            })
        }),
        Transport::Sata => sata(&device.directory),
        Transport::Sas => sas(&device.directory),
        Transport::FibreChannel => fibre_channel(&device.directory),
        Transport::Usb => usb(&device.directory),
        _ => None,
    }
}

fn is_controller(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(|rest| rest.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The number at the start of `8.0 GT/s PCIe`, in thousandths.
fn thousandths(text: &str) -> Option<u64> {
    let number: f64 = text.split_whitespace().next()?.parse().ok()?;
    (number > 0.0).then(|| (number * 1000.0).round() as u64)
}

/// The nearest PCI function above: transfers a second times lanes times coding (8/10 up to 5 GT/s, 128/130 up to 32 GT/s,
/// 242/256 from 64 GT/s on, where 236 of 256 bytes of a flit are payload and 6 more belong to it).
fn pcie(directory: &Path) -> Option<Link> {
    let folder = directory.ancestors().find(|folder| folder.join("current_link_speed").exists())?;
    let source = folder.join("current_link_speed");
    let speed = read_text(&source).ok()?;
    let lanes: u64 = read_text(&folder.join("current_link_width")).ok()?.parse().ok()?;
    let mega_transfers = thousandths(&speed)?;
    let (of, coded) = match mega_transfers {
        ..=5_000 => (8, 10),
        5_001..=32_000 => (128, 130),
        _ => (242, 256),
    };
    let bytes_per_second = mega_transfers * 1_000_000 / 8 * lanes * of / coded;
    let short = speed.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    (lanes > 0).then(|| Link { description: format!("PCIe {short} x{lanes}"), bytes_per_second, source })
}

/// `.../ata1/link1/ata_link/link1/sata_spd` says `6.0 Gbps`; 8 of 10 bits are data.
fn sata(directory: &Path) -> Option<Link> {
    let port = directory
        .ancestors()
        .find(|folder| folder.file_name().is_some_and(|n| is_numbered(&n.to_string_lossy(), "ata")))?;
    for link in names_in(port).into_iter().filter(|name| is_numbered(name, "link")) {
        let source = port.join(&link).join("ata_link").join(&link).join("sata_spd");
        if let Some(speed) = text_if_there(&source)
            && let Some(megabits) = thousandths(&speed)
        {
            let bytes_per_second = megabits * 1_000_000 / 10;
            return Some(Link { description: format!("SATA {speed}"), bytes_per_second, source });
        }
    }
    None
}

fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The phys of the port above: `6.0 Gbit` each, 8 of 10 bits data up to 12 Gbit, 128 of 150 at 22.5 Gbit.
fn sas(directory: &Path) -> Option<Link> {
    let port = directory
        .ancestors()
        .find(|folder| folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("port-")))?;
    let sources: Vec<PathBuf> = names_in(port)
        .into_iter()
        .filter(|name| name.starts_with("phy-"))
        .map(|name| port.join(&name).join("sas_phy").join(&name).join("negotiated_linkrate"))
        .collect();
    let speeds: Vec<(String, u64)> = sources
        .iter()
        .filter_map(|file| {
            let text = text_if_there(file)?;
            let megabits = thousandths(&text)?;
            Some((text, megabits))
        })
        .collect();
    let bytes = |megabits: u64| match megabits {
        ..=12_000 => megabits * 1_000_000 / 10,
        _ => megabits * 1_000_000 / 8 * 128 / 150,
    };
    let bytes_per_second = speeds.iter().map(|(_, megabits)| bytes(*megabits)).sum();
    let (first, _) = speeds.first()?;
    let description = format!("SAS {first} x{}", speeds.len());
    Some(Link { description, bytes_per_second, source: sources.into_iter().next()? })
}

/// `.../host3/fc_host/host3/speed` says `16 Gbit`; FC's names promise 100 MB/s a Gbit.
fn fibre_channel(directory: &Path) -> Option<Link> {
    let host = directory
        .ancestors()
        .find(|folder| folder.file_name().is_some_and(|n| is_numbered(&n.to_string_lossy(), "host")))?;
    let source = host.join("fc_host").join(host.file_name()?).join("speed");
    let speed = text_if_there(&source)?;
    let gigabits: u64 = speed.split_whitespace().next()?.parse().ok()?;
    (gigabits > 0).then(|| Link {
        description: format!("Fibre Channel {speed}"),
        bytes_per_second: gigabits * 100_000_000,
        source,
    })
}

/// The nearest USB device's `speed` in megabits a second; 8/10 coding at 5000, 128/132 above, bit stuffing below left out.
fn usb(directory: &Path) -> Option<Link> {
    let folder = directory
        .ancestors()
        .find(|folder| folder.join("speed").exists() && folder.join("idVendor").exists())?;
    let source = folder.join("speed");
    let megabits: u64 = read_text(&source).ok()?.parse().ok()?;
    let (of, coded) = match megabits {
        ..=999 => (1, 1),
        1_000..=5_000 => (8, 10),
        _ => (128, 132),
    };
    let bytes_per_second = megabits * 1_000_000 / 8 * of / coded;
    Some(Link { description: format!("USB {megabits} Mbit/s"), bytes_per_second, source })
}
