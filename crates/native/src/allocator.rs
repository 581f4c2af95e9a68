//! The C library's treatment of memory that tensors give back.
//!
//! glibc maps a block of more than 32 MiB anew on every allocation and unmaps it on free, so an operator with a 50 MB
//! output pays 12 000 page faults per call. That is the cost of the allocator and not of the operator. `retain` keeps
//! freed memory mapped, and a call then faults only when the heap has to grow.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::Error;

static RETAINED: AtomicBool = AtomicBool::new(false);

/// The fate of a freed tensor's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// The C library decides: large blocks go back to the system at once.
    System,
    /// It stays mapped for the next allocation, until `release`.
    Retained,
}

impl Retention {
    /// The word that configs and records use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Retained => "retained",
        }
    }
}

/// Keeps freed memory mapped from now on, in the whole process.
///
/// There is no way back: setting any of these switches also ends glibc's own adaptation of its mmap threshold. To
/// measure with the system's behaviour, use a process that never calls this. Call it before the first threads start:
/// a thread that already has an arena of its own keeps it, and blocks above 64 MiB are then mapped anew as before.
/// Afterwards all threads share one arena, which costs programs that allocate from many threads at once.
pub fn retain() -> Result<(), Error> {
    if let Some(library) = replaced_by() {
        return Err(Error::Allocator(format!(
            "{library} serves `malloc` in place of the C library, whose allocator alone can be set; run without it, or \
             use `allocator: system`"
        )));
    }
    platform::retain()?;
    RETAINED.store(true, Ordering::Relaxed);
    Ok(())
}

/// The switches that `retain` sets, as `mallopt` takes them: name, switch, value. For a process that is to be measured beside this one
/// and has to do the same. Empty where the C library is not glibc.
pub fn switches() -> &'static [(&'static str, i32, i32)] {
    platform::SWITCHES
}

/// This process's setting, for its records. Switches set from outside (`GLIBC_TUNABLES`) do not show.
pub fn retention() -> Retention {
    if RETAINED.load(Ordering::Relaxed) { Retention::Retained } else { Retention::System }
}

/// The library or program that serves the memory of tensors in place of the C library, such as a preloaded mimalloc.
pub fn replaced_by() -> Option<&'static str> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    FOUND.get_or_init(platform::replaced_by).as_deref()
}

/// Gives freed memory back to the system; between cases, so that one does not inherit the other's pages. Says whether
/// any went back.
pub fn release() -> Result<bool, Error> {
    platform::release()
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod platform {
    use std::ffi::{CStr, c_int};
    use std::mem::MaybeUninit;
    use std::path::Path;

    use super::Error;

    pub(super) fn replaced_by() -> Option<String> {
        // libtorch and Rust call these; a library may replace one of them alone.
        [c"posix_memalign", c"malloc", c"free"].into_iter().find_map(home)
    }

    /// The file that a function of the C library is called from, unless it is the C library.
    fn home(function: &CStr) -> Option<String> {
        // SAFETY: the name ends in NUL, and is looked up as a call of this program would be.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, function.as_ptr()) };
        let mut found = MaybeUninit::<libc::Dl_info>::uninit();
        // SAFETY: any address may be asked about, and `found` is writable.
        if unsafe { libc::dladdr(address, found.as_mut_ptr()) } == 0 {
            return None;
        }
        // SAFETY: dladdr has filled it.
        let file = unsafe { found.assume_init() }.dli_fname;
        // SAFETY: the name of a file that stays loaded, as its function is in use.
        let file = unsafe { CStr::from_ptr(file) }.to_string_lossy();
        let name = Path::new(&*file).file_name()?.to_string_lossy().into_owned();
        (!name.starts_with("libc.so.") && !name.starts_with("libc-2.")).then_some(name)
    }

    /// Enough that a step's small tensors grow the heap once and not bit by bit.
    const TOP_PAD: c_int = 64 << 20;

    /// No block is mapped by itself, the heap's end is never trimmed (-1), and all threads share the one heap that can
    /// grow without limit: an arena of a thread consists of 64 MiB heaps, which are unmapped when empty.
    pub(super) const SWITCHES: &[(&str, c_int, c_int)] = &[
        ("M_MMAP_MAX", libc::M_MMAP_MAX, 0),
        ("M_TRIM_THRESHOLD", libc::M_TRIM_THRESHOLD, -1),
        ("M_TOP_PAD", libc::M_TOP_PAD, TOP_PAD),
        ("M_ARENA_MAX", libc::M_ARENA_MAX, 1),
    ];

    pub(super) fn retain() -> Result<(), Error> {
        for &(name, switch, value) in SWITCHES {
            // SAFETY: mallopt takes glibc's own lock, and these are its documented switches.
            if unsafe { libc::mallopt(switch, value) } != 1 {
                return Err(Error::Allocator(format!("glibc refused mallopt({name}, {value})")));
            }
        }
        Ok(())
    }

    pub(super) fn release() -> Result<bool, Error> {
        // SAFETY: malloc_trim only touches memory that nobody holds, under glibc's own locks.
        Ok(unsafe { libc::malloc_trim(0) } == 1)
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod platform {
    use super::Error;

    pub(super) const SWITCHES: &[(&str, i32, i32)] = &[];

    fn unsupported<T>() -> Result<T, Error> {
        Err(Error::Allocator(
            "only glibc's allocator can be set; use `allocator: system`".to_owned(),
        ))
    }

    pub(super) fn replaced_by() -> Option<String> {
        None
    }

    pub(super) fn retain() -> Result<(), Error> {
        unsupported()
    }

    pub(super) fn release() -> Result<bool, Error> {
        unsupported()
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
#[path = "allocator_tests.rs"]
mod tests;
