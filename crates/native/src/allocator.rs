//! The C library's treatment of memory that tensors give back.
//!
//! glibc maps a block of more than 32 MiB anew on every allocation and unmaps it on free, so an operator with a 50 MB
//! output pays 12 000 page faults per call. That is the cost of the allocator and not of the operator. `retain` keeps
//! freed memory mapped, and a call then faults only when the heap has to grow.

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

/// Gives freed memory back to the system; between cases, so that one does not inherit the other's pages. Says whether
/// any went back.
pub fn release() -> Result<bool, Error> {
    platform::release()
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod platform {
    use std::ffi::c_int;

    use super::Error;

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

    pub(super) fn retain() -> Result<(), Error> {
        unsupported()
    }

    pub(super) fn release() -> Result<bool, Error> {
        unsupported()
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use std::mem::MaybeUninit;
    use std::process::Command;

    use tch::{Device, Kind, Tensor};

    use super::*;

    /// Tells the copy of the test program that `faulting_in` starts which behaviour to measure.
    const CHILD: &str = "CRITERION_TORCH_TEST_RETENTION";
    const CALLS: usize = 10;
    /// 50 MB.
    const ELEMENTS: i64 = 12_500_000;
    const PAGES: u64 = 4 * ELEMENTS as u64 / 4096;

    /// How many of `CALLS` calls with a fresh output each had to fault it in. In the retained heap a small block may
    /// come to lie where the output was, and the heap then grows once more: that is one call and not all.
    fn faulting_calls() -> usize {
        let input = Tensor::rand([ELEMENTS], (Kind::Float, Device::Cpu));
        let faults = || {
            let mut usage = MaybeUninit::<libc::rusage>::uninit();
            // SAFETY: `usage` is writable.
            assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) }, 0);
            // SAFETY: getrusage filled it.
            unsafe { usage.assume_init() }.ru_minflt.unsigned_abs()
        };
        let faulting = |_: &usize| {
            let before = faults();
            drop(input.gelu("none"));
            faults() - before > PAGES / 10
        };
        for call in 0..3 {
            faulting(&call);
        }
        (0..CALLS).filter(faulting).count()
    }

    fn measure_as(retention: &str) {
        // Huge pages would hide most faults on the machines that have them switched on.
        // SAFETY: changes nothing but the kernel's choice of page size for this process.
        assert_eq!(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) }, 0);
        if retention == Retention::Retained.as_str() {
            retain().expect("glibc");
        }
        assert_eq!(super::retention().as_str(), retention);
        println!("faulting {}", faulting_calls());
        if retention == Retention::Retained.as_str() {
            assert!(release().expect("glibc"), "50 MB of freed output were there to be given back");
        }
    }

    /// Runs this very test in a process of its own: `retain` cannot be undone.
    fn faulting_in(retention: Retention) -> usize {
        let test = "allocator::tests::retained_memory_stops_page_faults";
        let output = Command::new(std::env::current_exe().expect("the test program has a path"))
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, retention.as_str())
            // Test threads get their arenas before the test runs; a program calls `retain` before it has threads.
            .env("MALLOC_ARENA_MAX", "1")
            .output()
            .expect("the test program starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        text.lines()
            .find_map(|line| line.split_once("faulting ")?.1.parse().ok())
            .unwrap_or_else(|| panic!("no count in:\n{text}"))
    }

    #[test]
    fn retained_memory_stops_page_faults() {
        if let Ok(retention) = std::env::var(CHILD) {
            return measure_as(&retention);
        }
        let system = faulting_in(Retention::System);
        let retained = faulting_in(Retention::Retained);
        println!("of {CALLS} calls, system {system}, retained {retained}");
        assert_eq!(system, CALLS);
        assert!(retained <= 2, "{retained}");
    }
}
