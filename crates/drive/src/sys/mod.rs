//! The few words with the machine that need `unsafe`: the time-stamp counter and a thread's own CPU time.

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

/// CPU time of the calling thread in user mode and in the kernel, ns.
pub fn thread_cpu_ns() -> (u64, u64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a live `rusage` of the right size, which the kernel fills; zeroes are a valid one.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    (ns(usage.ru_utime), ns(usage.ru_stime))
}
