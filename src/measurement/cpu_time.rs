//! CPU time of the whole machine, as `/proc/stat` counts it, and what a hypervisor took of it.

use std::fs;

/// Ticks of all CPUs since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTime {
    /// In which a program or the kernel ran.
    busy: u64,
    /// In which one was ready to run and the hypervisor ran somebody else.
    stolen: u64,
    cpus: u32,
}

impl CpuTime {
    /// The counts now; `None` where the system does not say (not Linux).
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// From the first line: user, nice, system, idle, iowait, irq, softirq, steal. The fields after
    /// them, time of guests, are in user and nice already.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> =
            line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let [user, nice, system, _idle, _iowait, irq, softirq, stolen, ..] = ticks[..] else {
            return None;
        };
        let cpus = stat.lines().skip(1).take_while(|line| line.starts_with("cpu")).count() as u32;
        Some(Self { busy: user + nice + system + irq + softirq, stolen, cpus })
    }

    /// Nanoseconds in which a CPU did not idle since `earlier`, or would not have, had the hypervisor let it: the mean of all
    /// CPUs, by whole ticks.
    pub fn taken_since(self, earlier: Self) -> f64 {
        const TICK_NS: f64 = 1e7;
        let [now, before] = [self, earlier].map(|it| it.busy + it.stolen);
        now.saturating_sub(before) as f64 * TICK_NS / self.per_cpu()
    }

    /// The number by which a time of all CPUs becomes their mean.
    pub fn per_cpu(self) -> f64 {
        f64::from(self.cpus.max(1))
    }

    /// Share of the CPU time asked for since `earlier` that the hypervisor gave to others. A tick
    /// is 10 ms, and the last one may be rounding, so it does not count. `None` when no whole tick
    /// was asked for.
    pub(super) fn steal_since(self, earlier: Self) -> Option<f64> {
        let busy = self.busy.saturating_sub(earlier.busy);
        let stolen = self.stolen.saturating_sub(earlier.stolen);
        let asked = busy + stolen;
        (asked > 0).then(|| stolen.saturating_sub(1) as f64 / asked as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  40859 0 10050 174682 413 0 55 61 0 0\n\
                        cpu0 18766 0 4485 89691 82 0 12 28 0 0\n";

    #[test]
    fn the_first_line_is_that_of_all_cpus() {
        let expected = CpuTime { busy: 50_964, stolen: 61, cpus: 1 };
        assert_eq!(CpuTime::parse(STAT), Some(expected));
        // Before Linux 2.6.11 nothing was said of steal.
        assert_eq!(CpuTime::parse("cpu 1 2 3 4 5 6 7\n"), None);
        assert_eq!(CpuTime::parse("intr 1\n"), None);
    }

    #[test]
    fn steal_is_a_share_of_what_was_asked_for() {
        let start = CpuTime { busy: 1000, stolen: 50, cpus: 2 };
        let steal = |busy: u64, stolen: u64| {
            CpuTime { busy: 1000 + busy, stolen: 50 + stolen, cpus: 2 }.steal_since(start)
        };
        assert_eq!(steal(89, 11), Some(0.1));
        assert_eq!(steal(9, 1), Some(0.0));
        assert_eq!(steal(10, 0), Some(0.0));
        assert_eq!(steal(0, 0), None);
        let later = CpuTime { busy: 1005, stolen: 51, cpus: 2 };
        assert_eq!(later.taken_since(start), 30e6);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_says() {
        assert!(CpuTime::read().is_some_and(|time| time.busy > 0));
    }
}
