//! The time for which threads of the kernel's process have had a core, as the system counts it.

use std::os::unix::fs::MetadataExt as _;

use nix::unistd::Pid;

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
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: it is written where there is such a clock.
        let read = unsafe { libc::clock_gettime(self.clock?, &raw mut time) };
        (read == 0).then_some(time.tv_sec as f64 * 1e9 + time.tv_nsec as f64)
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
