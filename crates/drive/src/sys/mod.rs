//! The few words with the machine that need `unsafe`: the time-stamp counter, a thread's own CPU time, and its class.

/// The processor's time-stamp counter, where there is one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn counter() -> u64 {
    // SAFETY: RDTSC has no operands and touches no memory; `counter_is_steady` has seen that it exists.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Does the counter run at one rate, whatever the processor's frequency and sleep states?
#[cfg(target_arch = "x86_64")]
pub fn counter_is_steady() -> bool {
    use core::arch::x86_64::__cpuid;
    let highest = __cpuid(0x8000_0000).eax;
    highest >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

/// No time-stamp counter is known on this processor.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn counter() -> u64 {
    0
}

/// No time-stamp counter is known on this processor.
#[cfg(not(target_arch = "x86_64"))]
pub fn counter_is_steady() -> bool {
    false
}

/// What the calling thread has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode, ns.
    pub user_ns: u64,
    /// CPU time in the kernel, ns.
    pub system_ns: u64,
    /// Context switches, voluntary and not.
    pub context_switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
}

impl Usage {
    /// What was used since an earlier look.
    pub fn since(self, earlier: Usage) -> Usage {
        let Usage { user_ns, system_ns, context_switches, major_faults, minor_faults } = earlier;
        Usage {
            user_ns: self.user_ns.saturating_sub(user_ns),
            system_ns: self.system_ns.saturating_sub(system_ns),
            context_switches: self.context_switches.saturating_sub(context_switches),
            major_faults: self.major_faults.saturating_sub(major_faults),
            minor_faults: self.minor_faults.saturating_sub(minor_faults),
        }
    }
}

/// What the calling thread has used so far.
pub fn thread_usage() -> Usage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a live `rusage` of the right size, which the kernel fills; zeroes are a valid one.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    Usage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        context_switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        major_faults: usage.ru_majflt as u64,
        minor_faults: usage.ru_minflt as u64,
    }
}

/// Makes the calling thread one that runs only when nobody else wants its processor (`SCHED_IDLE` of sched(7)).
pub fn become_idle() -> std::io::Result<()> {
    const CALLER: libc::c_long = 0;
    let priority: libc::c_int = 0;
    // SAFETY: the kernel reads one int, the priority, through the pointer, which lives through the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            CALLER,
            libc::c_long::from(libc::SCHED_IDLE),
            &raw const priority,
        )
    };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
