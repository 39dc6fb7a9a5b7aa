//! What one disk is: model, size, queue settings, how it is attached and how fast that link is. Reads sysfs only.

use std::fs;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::BlockDevice;
use crate::link::{Link, link_of};
use crate::roots::{DeviceNumber, Roots, Unchecked, flag_if_there, names_in, number_if_there, text_if_there};
use crate::transport::Transport;

/// The facts of one disk that nothing known stands below.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// The kernel's name: sda, nvme0n1.
    pub name: String,
    /// `major:minor`
    pub number: DeviceNumber,
    /// The numbers of further paths to the same disk (multipath), which carry its I/O too.
    pub other_paths: Vec<DeviceNumber>,
    /// Paths that the kernel hides below this name (NVMe's own multipath), or this name's and `other_paths` together.
    pub path_count: u32,
    pub size_bytes: Option<u64>,
    pub model: Option<String>,
    pub vendor: Option<String>,
    pub serial: Option<String>,
    /// World wide name, the same by every path
    pub wwid: Option<String>,
    /// Whether the kernel believes that it rotates
    pub rotational: Option<bool>,
    /// Whether it can be taken out
    pub removable: Option<bool>,
    /// Whether it refuses writes
    pub read_only: Option<bool>,
    /// How it is attached
    pub transport: Transport,
    /// The link to it and its speed, where one is known
    pub link: Option<Link>,
    /// The queue's settings
    pub queue: Queue,
    /// Whether the medium under this name is known. It is not on virtio, in a virtual machine, behind a RAID controller or a
    /// storage network: there a flush that takes no time is not called false.
    pub medium_known: bool,
    /// Why it is not.
    pub medium_unknown_because: Option<String>,
}

/// The block layer's settings and the sizes that the device told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// The scheduler in use (`none`, `mq-deadline`, ...)
    pub scheduler: Option<String>,
    /// `write back` (flushes matter) or `write through`
    pub write_cache: Option<String>,
    /// Whether a write can be forced to the medium without a flush
    pub fua: Option<bool>,
    /// The least that can be addressed
    pub logical_block_bytes: Option<u64>,
    /// What the medium writes at once
    pub physical_block_bytes: Option<u64>,
    /// The device's hint of its smallest good I/O
    pub minimum_io_bytes: Option<u64>,
    /// The device's hint of its best I/O; 0 where it tells none
    pub optimal_io_bytes: Option<u64>,
    /// Requests that fit the block layer's queue
    pub nr_requests: Option<u64>,
    /// A larger I/O is split
    pub max_sectors_kb: Option<u64>,
    /// 0 merges neighbours, 1 only simple ones, 2 none
    pub nomerges: Option<u64>,
    /// Read-ahead of buffered reads
    pub read_ahead_kb: Option<u64>,
    /// Whether files on it can be mapped directly
    pub dax: Option<bool>,
    /// `none`, `host-aware`, `host-managed`
    pub zoned: Option<String>,
    /// The least that can be discarded; 0 where it cannot
    pub discard_granularity_bytes: Option<u64>,
    /// Whether polled I/O is on
    pub io_poll: Option<bool>,
    /// Whether diskstats are kept for it
    pub iostats: Option<bool>,
}

/// `none [mq-deadline] kyber` means mq-deadline.
fn bracketed(text: &str) -> String {
    match text.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some((chosen, _)) => chosen.to_string(),
        None => text.to_string(),
    }
}

impl Queue {
    /// Reads the folder `queue` of a device.
    pub fn read(device: &BlockDevice) -> Self {
        let folder = device.queue();
        let text = |name: &str| text_if_there(&folder.join(name));
        let number = |name: &str| number_if_there(&folder.join(name));
        let flag = |name: &str| flag_if_there(&folder.join(name));
        Queue {
            scheduler: text("scheduler").map(|list| bracketed(&list)),
            write_cache: text("write_cache"),
            fua: flag("fua"),
            logical_block_bytes: number("logical_block_size"),
            physical_block_bytes: number("physical_block_size"),
            minimum_io_bytes: number("minimum_io_size"),
            optimal_io_bytes: number("optimal_io_size"),
            nr_requests: number("nr_requests"),
            max_sectors_kb: number("max_sectors_kb"),
            nomerges: number("nomerges"),
            read_ahead_kb: number("read_ahead_kb"),
            dax: flag("dax"),
            zoned: text("zoned"),
            discard_granularity_bytes: number("discard_granularity"),
            io_poll: flag("io_poll"),
            iostats: flag("iostats"),
        }
    }
}

/// Reads everything sysfs tells of one disk.
pub fn read_disk(roots: &Roots, device: &BlockDevice, unchecked: &mut Unchecked) -> Disk {
    let text = |name: &str| text_if_there(&device.directory.join(name));
    let transport = transport_of(device);
    let model = text("device/model");
    // virtio's `vendor` is a number that says nothing.
    let vendor = text("device/vendor").filter(|vendor| !vendor.starts_with("0x"));
    let unknown = medium_unknown(roots, device, transport, model.as_deref(), vendor.as_deref());
    let hidden = hidden_paths(roots, device);
    let queue = Queue::read(device);
    if queue.logical_block_bytes.is_none() {
        unchecked.add(
            format!("block sizes and scheduler of {}", device.name),
            format!("{} cannot be read", device.queue().display()),
        );
    }
    Disk {
        name: device.name.clone(),
        number: device.number,
        other_paths: Vec::new(),
        path_count: hidden.max(1),
        size_bytes: device.size_bytes(),
        model,
        vendor,
        serial: serial_of(device),
        wwid: text("device/wwid").or_else(|| text("wwid")),
        rotational: flag_if_there(&device.directory.join("queue/rotational")),
        removable: flag_if_there(&device.directory.join("removable")),
        read_only: flag_if_there(&device.directory.join("ro")),
        transport,
        link: link_of(device, transport),
        queue,
        medium_known: unknown.is_none(),
        medium_unknown_because: unknown,
    }
}

fn serial_of(device: &BlockDevice) -> Option<String> {
    let plain = ["serial", "device/serial"].iter().find_map(|f| text_if_there(&device.directory.join(f)));
    plain.or_else(|| {
        // SCSI's vital product data, page 0x80: four bytes of head, then text.
        let page = fs::read(device.directory.join("device/vpd_pg80")).ok()?;
        let text = String::from_utf8_lossy(page.get(4..)?).trim_matches(['\0', ' ']).to_string();
        Some(text).filter(|text| !text.is_empty())
    })
}

/// NVMe's own multipath shows `nvme0n1` and hides `nvme0c0n1`, `nvme0c1n1` below it.
fn hidden_paths(roots: &Roots, device: &BlockDevice) -> u32 {
    let Some(rest) = device.name.strip_prefix("nvme") else { return 0 };
    let Some((subsystem, namespace)) = rest.split_once('n') else { return 0 };
    let is_path = |name: &String| {
        name.strip_prefix("nvme")
            .and_then(|rest| rest.strip_prefix(subsystem))
            .and_then(|rest| rest.strip_prefix('c'))
            .and_then(|rest| rest.split_once('n'))
            .is_some_and(|(controller, of)| {
                controller.bytes().all(|digit| digit.is_ascii_digit()) && of == namespace
            })
    };
    names_in(&roots.sys.join("block")).iter().filter(|name| is_path(name)).count() as u32
}

fn transport_of(device: &BlockDevice) -> Transport {
    let name = device.name.as_str();
    let place = device.directory.to_string_lossy();
    let by_name = [
        ("zram", Transport::Zram),
        ("ram", Transport::Ram),
        ("loop", Transport::Loop),
        ("pmem", Transport::Pmem),
        ("mmcblk", Transport::Mmc),
        ("xvd", Transport::Paravirtual),
        ("nbd", Transport::Network),
        ("rbd", Transport::Network),
        ("vd", Transport::Virtio),
    ];
    if name.starts_with("nvme") {
        let transport = text_if_there(&device.directory.join("device/transport"));
        let fabrics =
            transport.is_some_and(|transport| transport != "pcie") || place.contains("nvme-fabrics");
        return if fabrics { Transport::NvmeFabrics } else { Transport::Nvme };
    }
    if let Some((_, transport)) = by_name.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        return *transport;
    }
    let by_place = [
        ("/usb", Transport::Usb),
        ("/virtio", Transport::Virtio),
        ("/VMBUS", Transport::Paravirtual),
        ("/vmbus", Transport::Paravirtual),
        ("/ata", Transport::Sata),
        ("/session", Transport::Iscsi),
        ("/rport-", Transport::FibreChannel),
        ("/end_device-", Transport::Sas),
        ("/host", Transport::Scsi),
    ];
    by_place.iter().find(|(part, _)| place.contains(part)).map_or(Transport::Other, |(_, found)| *found)
}

/// Why what is behind this disk's name cannot be known, or `None`.
fn medium_unknown(
    roots: &Roots,
    device: &BlockDevice,
    transport: Transport,
    model: Option<&str>,
    vendor: Option<&str>,
) -> Option<String> {
    let because = |text: &str| Some(format!("{}: {text}", device.name));
    match transport {
        Transport::Virtio | Transport::Paravirtual => {
            return because("a virtual disk; only the hypervisor knows what is behind it");
        }
        Transport::FibreChannel | Transport::Iscsi | Transport::NvmeFabrics | Transport::Network => {
            return because("behind a storage network; the array knows what is behind it");
        }
        Transport::Loop => return because("a loop device whose backing file's disk is not known"),
        Transport::Zram | Transport::Ram | Transport::Pmem => return None,
        _ => {}
    }
    if crate::machine::hypervisor_flag(roots) == Some(true) {
        return because("in a virtual machine; the hypervisor may stand between");
    }
    let named = format!("{} {}", vendor.unwrap_or(""), model.unwrap_or("")).to_ascii_lowercase();
    for word in ["perc", "megaraid", "smartarray", "logical volume", "servraid", "raid", "virtual", "amazon"]
    {
        if named.contains(word) {
            return because("behind a RAID controller or a virtual disk, by its model's name");
        }
    }
    let driver = driver_above(device);
    for controller in ["megaraid_sas", "hpsa", "smartpqi", "aacraid", "cciss", "3w-9xxx", "arcmsr"] {
        if driver.as_deref() == Some(controller) {
            return because(&format!("behind a RAID controller ({controller})"));
        }
    }
    None
}

/// The driver of the nearest PCI device above, by its link `driver`.
fn driver_above(device: &BlockDevice) -> Option<String> {
    let is_pci = |folder: &&std::path::Path| folder.join("subsystem_vendor").exists();
    let folder = device.directory.ancestors().find(is_pci)?;
    let driver: PathBuf = fs::read_link(folder.join("driver")).ok()?;
    Some(crate::roots::last_name(&driver))
}

impl Disk {
    /// Whether this is a loop device whose file is in memory.
    pub(crate) fn is_loop_in_memory(&self) -> bool {
        self.transport == Transport::Loop && self.medium_known
    }
}
