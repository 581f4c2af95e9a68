//! The operating system's counters so far of a process or a thread (`getrusage`).

use std::ops::Sub;

/// Counts since the process, or the thread, began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Usage {
    pub(super) minor_faults: f64,
    pub(super) major_faults: f64,
    pub(super) voluntary_switches: f64,
    pub(super) involuntary_switches: f64,
    pub(super) user_ns: f64,
    pub(super) system_ns: f64,
}

impl Usage {
    /// The counters of the process, all its threads together.
    pub(super) fn of_process() -> Result<Self, String> {
        platform::read(platform::PROCESS)
    }

    /// The counters of the calling thread.
    #[cfg(target_os = "linux")]
    pub(super) fn of_thread() -> Result<Self, String> {
        platform::read(libc::RUSAGE_THREAD)
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            minor_faults: self.minor_faults - earlier.minor_faults,
            major_faults: self.major_faults - earlier.major_faults,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
            user_ns: self.user_ns - earlier.user_ns,
            system_ns: self.system_ns - earlier.system_ns,
        }
    }
}

#[cfg(unix)]
mod platform {
    use std::ffi::c_int;
    use std::mem::MaybeUninit;

    use super::Usage;

    pub(super) const PROCESS: c_int = libc::RUSAGE_SELF;

    pub(super) fn read(who: c_int) -> Result<Usage, String> {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: `usage` is writable.
        if unsafe { libc::getrusage(who, usage.as_mut_ptr()) } != 0 {
            return Err(format!("getrusage failed: {}", std::io::Error::last_os_error()));
        }
        // SAFETY: getrusage filled it.
        let usage = unsafe { usage.assume_init() };
        let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
        Ok(Usage {
            minor_faults: usage.ru_minflt as f64,
            major_faults: usage.ru_majflt as f64,
            voluntary_switches: usage.ru_nvcsw as f64,
            involuntary_switches: usage.ru_nivcsw as f64,
            user_ns: ns(usage.ru_utime),
            system_ns: ns(usage.ru_stime),
        })
    }
}

#[cfg(not(unix))]
mod platform {
    use super::Usage;

    pub(super) const PROCESS: i32 = 0;

    pub(super) fn read(_: i32) -> Result<Usage, String> {
        Err("this system has no getrusage".to_owned())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted() {
        let before = Usage::of_process().unwrap();
        let mut x = 1_u64;
        // CPU time is counted in ticks, so this goes on until there is one.
        let spent = loop {
            for _ in 0..100_000 {
                x = std::hint::black_box(x.wrapping_mul(3));
            }
            let spent = Usage::of_process().unwrap() - before;
            if spent.user_ns > 0.0 {
                break spent;
            }
        };
        assert!(spent.minor_faults >= 0.0 && spent.system_ns >= 0.0, "{spent:?}");
    }
}
