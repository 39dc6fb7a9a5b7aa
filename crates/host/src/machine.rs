//! What machine this is and what limits this process: processors, memory, virtualisation, asynchronous I/O slots, io_uring.

use std::path::Path;

use rustix::process::{Resource, getrlimit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{Limits, read_limits};
use crate::roots::{Roots, Unchecked, Unknown, number_if_there, read_text, text_if_there};

/// The facts of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    pub hostname: Option<String>,
    /// Release of the kernel
    pub kernel: Option<String>,
    /// `x86_64`, `aarch64`, ...
    pub architecture: String,
    pub cpu_model: Option<String>,
    /// Processors that are online
    pub cpus_online: Option<u32>,
    /// Processors this process may use
    pub cpus_allowed: Option<u32>,
    pub memory_bytes: Option<u64>,
    /// Memory that could be had without swapping
    pub memory_available_bytes: Option<u64>,
    pub swap_bytes: Option<u64>,
    /// Size of a page
    pub page_bytes: u64,
    /// Whether the processor says it is a virtual one
    pub hypervisor: Option<bool>,
    /// What the firmware calls the machine, where it tells
    pub product: Option<String>,
    /// Limits of our control groups
    pub limits: Limits,
    /// Memory this process may lock (io_uring's fixed buffers need it); `None` is without limit
    pub memory_lock_bytes: Option<u64>,
    /// Files this process may have open; `None` is without limit
    pub open_files: Option<u64>,
    /// Asynchronous I/O slots
    pub aio: Option<AioSlots>,
    /// Whether io_uring may be used
    pub io_uring: IoUring,
    /// What could not be read
    pub unchecked: Vec<Unknown>,
}

/// Slots of libaio, shared by the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AioSlots {
    /// `fs.aio-nr`
    pub used: u64,
    /// `fs.aio-max-nr`
    pub limit: u64,
}

impl AioSlots {
    /// Slots that are left.
    pub fn free(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// The settings `kernel.io_uring_disabled` and `kernel.io_uring_group`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoUring {
    /// 0 everybody may, 1 only the privileged and the group, 2 nobody; `None` on kernels without the setting (before 6.6)
    pub disabled: Option<u64>,
    /// The group that may at 1; -1 is none
    pub group: Option<i64>,
}

impl IoUring {
    /// Why io_uring cannot be used, with the setting and the command that mends it. At 1 a privileged process may.
    pub fn obstacle(&self, privileged: bool) -> Option<String> {
        let mend = "sysctl -w kernel.io_uring_disabled=0";
        match self.disabled {
            Some(2) => Some(format!("io_uring is off (kernel.io_uring_disabled = 2): {mend}")),
            Some(1) if !privileged => Some(format!(
                "io_uring is only for root and group {} (kernel.io_uring_disabled = 1, kernel.io_uring_group): {mend}",
                self.group.unwrap_or(-1)
            )),
            _ => None,
        }
    }
}

/// Reads the facts of this machine.
pub fn read_machine(roots: &Roots) -> Machine {
    let mut unchecked = Unchecked::default();
    let proc = |name: &str| roots.proc.join(name);
    let mut text = |what: &str, name: &str| unchecked.note(what, &proc(name), read_text(&proc(name)));
    let hostname = text("host name", "sys/kernel/hostname");
    let kernel = text("kernel", "sys/kernel/osrelease");
    let memory = text("memory", "meminfo").unwrap_or_default();
    let processor = text("processor", "cpuinfo").unwrap_or_default();
    let status = text("processors allowed", "self/status").unwrap_or_default();
    let used = text("asynchronous I/O slots", "sys/fs/aio-nr");
    let limit = text("asynchronous I/O slots", "sys/fs/aio-max-nr");
    let number = |text: Option<String>| text.and_then(|text| text.parse().ok());
    let online = text_if_there(&roots.sys.join("devices/system/cpu/online"));
    if online.is_none() {
        unchecked.add("processors online", "sys/devices/system/cpu/online cannot be read");
    }
    Machine {
        hostname,
        kernel,
        architecture: std::env::consts::ARCH.into(),
        cpu_model: cpu_model(&processor),
        cpus_online: online.and_then(|list| count_list(&list)),
        cpus_allowed: field(&status, "Cpus_allowed_list").and_then(count_list),
        memory_bytes: kibibytes(&memory, "MemTotal"),
        memory_available_bytes: kibibytes(&memory, "MemAvailable"),
        swap_bytes: kibibytes(&memory, "SwapTotal"),
        page_bytes: rustix::param::page_size() as u64,
        hypervisor: hypervisor_in(&processor),
        product: product(&roots.sys),
        limits: read_limits(roots, &mut unchecked),
        memory_lock_bytes: getrlimit(Resource::Memlock).current,
        open_files: getrlimit(Resource::Nofile).current,
        aio: number(used).zip(number(limit)).map(|(used, limit)| AioSlots { used, limit }),
        io_uring: IoUring {
            disabled: number_if_there(&proc("sys/kernel/io_uring_disabled")),
            group: text_if_there(&proc("sys/kernel/io_uring_group")).and_then(|text| text.parse().ok()),
        },
        unchecked: unchecked.0,
    }
}

/// Whether the processor says it is a virtual one; `None` where it does not tell (not x86, no cpuinfo).
pub fn hypervisor_flag(roots: &Roots) -> Option<bool> {
    hypervisor_in(&read_text(&roots.proc.join("cpuinfo")).ok()?)
}

fn hypervisor_in(cpuinfo: &str) -> Option<bool> {
    field(cpuinfo, "flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "Model", "cpu model", "cpu", "CPU part"]
        .iter()
        .find_map(|name| field(cpuinfo, name))
        .map(str::to_string)
}

fn product(sys: &Path) -> Option<String> {
    let dmi = |name: &str| text_if_there(&sys.join("class/dmi/id").join(name));
    let named = [dmi("sys_vendor"), dmi("product_name")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let hypervisor = text_if_there(&sys.join("hypervisor/type"));
    Some(named).filter(|named| !named.is_empty()).or(hypervisor)
}

/// The value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn kibibytes(meminfo: &str, name: &str) -> Option<u64> {
    let value = field(meminfo, name)?.strip_suffix("kB")?.trim();
    value.parse::<u64>().ok()?.checked_mul(1024)
}

/// How many numbers `0-3,8` lists.
fn count_list(list: &str) -> Option<u32> {
    list.trim().split(',').try_fold(0u32, |sum, part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (u32, u32) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        Some(sum + to.checked_sub(from)? + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabricate::Fabricated;

    #[test]
    fn the_machine_is_read_from_a_fabricated_tree() {
        let tree = Fabricated::new();
        tree.file("proc/sys/kernel/hostname", "db1\n")
            .file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Example CPU\nflags\t\t: fpu hypervisor\n")
            .file("proc/meminfo", "MemTotal:       2048 kB\nMemAvailable:   1024 kB\nSwapTotal: 0 kB\n")
            .file("proc/sys/fs/aio-nr", "65000\n")
            .file("proc/sys/fs/aio-max-nr", "65536\n")
            .file("proc/sys/kernel/io_uring_disabled", "1\n")
            .file("proc/sys/kernel/io_uring_group", "-1\n")
            .file("sys/devices/system/cpu/online", "0-3,8\n")
            .file("sys/class/dmi/id/product_name", "KVM\n");
        let machine = read_machine(&tree.roots());
        assert_eq!(machine.hostname.as_deref(), Some("db1"));
        assert_eq!(machine.cpu_model.as_deref(), Some("Example CPU"));
        assert_eq!(machine.cpus_online, Some(5));
        assert_eq!(machine.memory_bytes, Some(2048 * 1024));
        assert_eq!(machine.hypervisor, Some(true));
        assert_eq!(machine.product.as_deref(), Some("KVM"));
        assert_eq!(machine.aio.map(|aio| aio.free()), Some(536));
        assert!(machine.io_uring.obstacle(true).is_none());
        assert!(
            machine
                .io_uring
                .obstacle(false)
                .is_some_and(|text| text.contains("kernel.io_uring_disabled = 1"))
        );
        let missing: Vec<&str> = machine.unchecked.iter().map(|unknown| unknown.what.as_str()).collect();
        assert!(missing.contains(&"kernel"), "what is absent is listed: {missing:?}");
    }
}
