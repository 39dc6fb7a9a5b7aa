//! How a disk is attached to the machine. Reads nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a disk is attached, as far as its name and place in sysfs tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// PCIe NVMe
    Nvme,
    /// NVMe over TCP, RDMA or Fibre Channel
    NvmeFabrics,
    Sata,
    /// Serial attached SCSI
    Sas,
    FibreChannel,
    /// SCSI over TCP
    Iscsi,
    Usb,
    /// SCSI of another kind, or behind a RAID controller
    Scsi,
    /// virtio-blk or virtio-scsi
    Virtio,
    /// Xen's or Hyper-V's disk
    Paravirtual,
    /// SD card or eMMC
    Mmc,
    /// Persistent memory
    Pmem,
    /// Compressed memory
    Zram,
    /// Plain memory
    Ram,
    /// A file shown as a disk
    Loop,
    /// nbd or rbd
    Network,
    Other,
}
