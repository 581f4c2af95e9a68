//! The time for which threads of the kernel's process have had a core, as the system counts it, and other programs.

use std::os::unix::fs::MetadataExt as _;

use nix::unistd::Pid;

use crate::harness::clock::Stopwatch;
use crate::measurement::cpu_time::CpuTime;

/// The kernel's process.
#[derive(Debug)]
pub struct Process {
    pub pid: Pid,
    clock: Option<libc::clockid_t>,
}

impl Process {
    pub fn new(pid: Pid) -> Self {
        let mut clock = 0;
        // SAFETY: it is written where there is such a process.
        let found = unsafe { libc::clock_getcpuclockid(pid.as_raw(), &raw mut clock) };
        Self { pid, clock: (found == 0).then_some(clock) }
    }

    /// Nanoseconds for which all its threads have had a core.
    pub fn ran_ns(&self) -> Option<f64> {
        read(self.clock?)
    }

    /// Nanoseconds for which its only thread has had a core: the time of a call on a machine that does other work, too. None
    /// where it has several threads, which may work at a time.
    pub fn alone_ns(&self) -> Option<f64> {
        // A folder has a link of its own, one from above, and one of each folder in it.
        if std::fs::metadata(format!("/proc/{}/task", self.pid)).ok()?.nlink() != 3 {
            return None;
        }
        self.ran_ns()
    }

    /// Nanoseconds for which all its threads have had a core, but the first one: those that have ended count, too.
    pub fn others_ns(&self) -> Option<f64> {
        let (_, first) = self.scheduled(0).into_iter().find(|it| it.0 == self.pid.as_raw())?;
        Some(self.ran_ns()? - first)
    }

    /// Nanoseconds for which its threads have waited for a core; 0 where the system does not say.
    pub fn waited_ns(&self) -> f64 {
        self.scheduled(1).into_iter().map(|(_, ns)| ns).sum()
    }

    /// Threads that it has.
    pub fn threads(&self) -> usize {
        self.scheduled(0).len()
    }

    /// A field of what the system counts of each thread, in nanoseconds: 0 that it has run, 1 that it has waited for a core.
    fn scheduled(&self, field: usize) -> Vec<(i32, f64)> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten();
        let of_thread = |thread: std::fs::DirEntry| {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            let ns = text.split_ascii_whitespace().nth(field)?.parse().ok()?;
            Some((thread.file_name().to_str()?.parse().ok()?, ns))
        };
        threads.flatten().filter_map(of_thread).collect()
    }
}

/// The machine since a process of a kernel was started.
#[derive(Debug)]
pub struct Machine {
    watch: Stopwatch,
    time: Option<CpuTime>,
    own_ns: f64,
}

impl Machine {
    pub fn now(process: &Process) -> Self {
        Self { watch: Stopwatch::start(), time: CpuTime::read(), own_ns: own_ns(process) }
    }

    /// Whether programs other than the judge and the kernel, or the hypervisor, have had a tenth of all CPUs or more; false
    /// where the system does not say.
    pub fn does_other_work(&self, process: &Process) -> bool {
        const SHARE: f64 = 0.1;
        /// Nanoseconds that the ticks of a CPU may be wrong by.
        const TICKS_NS: f64 = 20e6;
        let Some((before, now)) = self.time.zip(CpuTime::read()) else { return false };
        let own = (own_ns(process) - self.own_ns) / now.per_cpu();
        now.taken_since(before) - own > SHARE * self.watch.ns() + TICKS_NS
    }
}

/// Nanoseconds for which threads of the judge and of the kernel have had a core.
fn own_ns(process: &Process) -> f64 {
    let clocks = [read(libc::CLOCK_PROCESS_CPUTIME_ID), process.ran_ns()];
    clocks.into_iter().flatten().sum()
}

/// The nanoseconds of a clock.
fn read(clock: libc::clockid_t) -> Option<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it is written where there is such a clock.
    let read = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (read == 0).then_some(time.tv_sec as f64 * 1e9 + time.tv_nsec as f64)
}
