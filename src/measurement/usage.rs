//! The operating system's counters so far of a process or a thread (`getrusage`).

use std::ops::Sub;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

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
        Self::read(UsageWho::RUSAGE_SELF)
    }

    /// The counters of the calling thread.
    #[cfg(target_os = "linux")]
    pub(super) fn of_thread() -> Result<Self, String> {
        Self::read(UsageWho::RUSAGE_THREAD)
    }

    fn read(who: UsageWho) -> Result<Self, String> {
        let usage = getrusage(who).map_err(|error| format!("getrusage failed: {error}"))?;
        Ok(Self {
            minor_faults: usage.minor_page_faults() as f64,
            major_faults: usage.major_page_faults() as f64,
            voluntary_switches: usage.voluntary_context_switches() as f64,
            involuntary_switches: usage.involuntary_context_switches() as f64,
            user_ns: usage.user_time().num_nanoseconds() as f64,
            system_ns: usage.system_time().num_nanoseconds() as f64,
        })
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

#[cfg(test)]
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
