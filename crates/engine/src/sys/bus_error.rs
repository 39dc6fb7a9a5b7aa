//! SIGBUS on a mapping: a page that the device cannot read, or that its file no longer has. The page is replaced by one of zeros,
//! so that the load or store ends, and the thread is told; whoever made the access gives the page its file back. What the
//! signal means anywhere else stays as it was.

use std::cell::Cell;
use std::sync::OnceLock;

/// Bytes of a page, as far as mappings are replaced.
const PAGE: usize = 4096;

thread_local! {
    /// What this thread copies from or to just now: begin and end of a mapping; 0, 0: none. `const` and without a
    /// destructor, so that the handler may look at it.
    static MAPPING: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static PAGES: Cell<usize> = const { Cell::new(0) };
}

/// Where the handler of before is, for what is not ours.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Takes the signal from now on, once in the life of the program.
pub(super) fn watch() {
    BEFORE.get_or_init(|| {
        // SAFETY: all-zero is a valid sigaction; the handler touches only what may be touched in one (see there); the old
        // action is kept before any mapping is accessed.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let mut before: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = handle;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &action, &mut before);
            before
        }
    });
}

/// Does something with a mapping of this length; answers how many of its pages had to be replaced meanwhile.
pub(super) fn during(base: *const u8, length: usize, access: impl FnOnce()) -> usize {
    PAGES.set(0);
    MAPPING.set((base as usize, base as usize + length));
    access();
    MAPPING.set((0, 0));
    PAGES.get()
}

extern "C" fn handle(signal: libc::c_int, about: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO a valid siginfo.
    let at = unsafe { (*about).si_addr() } as usize;
    let (begin, end) = MAPPING.get();
    let page = at & !(PAGE - 1);
    if page >= begin && page < end && replaced(page) {
        PAGES.set(PAGES.get() + 1);
        return;
    }
    pass_on(signal, about, context);
}

/// Puts a page of zeros where the mapping's page cannot be had.
fn replaced(page: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page lies in a mapping that this thread accesses and nobody else knows; mmap is one system call and
    // touches nothing of ours besides.
    let answer = unsafe { libc::mmap(page as *mut libc::c_void, PAGE, protection, flags, -1, 0) };
    answer != libc::MAP_FAILED
}

/// A bus error that is not a mapping's: the action of before has it, which for a program without one is its end.
fn pass_on(signal: libc::c_int, about: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.get().filter(|action| action.sa_flags & libc::SA_SIGINFO != 0);
    match before {
        Some(action) => {
            // SAFETY: with SA_SIGINFO the action is a function of this shape, set by whoever was here before.
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(action.sa_sigaction) };
            handler(signal, about, context);
        }
        // SAFETY: the default action comes back; the access is made again and ends the program as it would have.
        None => unsafe {
            libc::signal(signal, libc::SIG_DFL);
        },
    }
}
