//! The CPU's own counters while steps run: cycles, instructions, misses.

use plan::HardwareCounters;

use crate::refusal::Refusal;

/// Runs the steps and returns what the processor counted in user mode, per step, on all threads of the process and
/// those that they start. Nothing else should run in the process meanwhile. A counter that did not count all the time
/// is an error.
///
/// # Errors
/// Errors of a step; when no step is asked for; when the machine cannot count, with the reason and the remedy.
pub fn count(
    steps: u64,
    step: &mut dyn FnMut() -> Result<(), Refusal>,
) -> Result<HardwareCounters, String> {
    if steps == 0 {
        return Err("hardware counters: no step to count over; ask for one".to_owned());
    }
    let mut groups = groups::Groups::open()?;
    groups.enable()?;
    for _ in 0..steps {
        step().map_err(|refusal| refusal.to_string())?;
    }
    Ok(per_step(steps, groups.read()?))
}

/// Cycles, instructions, references to the last cache and those that missed it, loads that missed the data TLB.
type Counts = [u64; 5];

fn per_step(steps: u64, counts: Counts) -> HardwareCounters {
    let [cycles, instructions, cache_references, cache_misses, tlb_misses] =
        counts.map(|count| count as f64 / steps as f64);
    HardwareCounters { cycles, instructions, cache_references, cache_misses, tlb_misses }
}

#[cfg(not(target_os = "linux"))]
mod groups {
    use super::Counts;

    pub struct Groups;

    impl Groups {
        pub fn open() -> Result<Self, String> {
            Err("hardware counters are read on Linux only".to_owned())
        }

        pub fn enable(&mut self) -> Result<(), String> {
            Ok(())
        }

        pub fn read(&mut self) -> Result<Counts, String> {
            Err("hardware counters are read on Linux only".to_owned())
        }
    }
}

#[cfg(target_os = "linux")]
mod groups {
    use std::time::Duration;
    use std::{fs, io};

    use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware};
    use perf_event::{Builder, Counter, Group};

    use super::Counts;

    /// The least share of its time in which a group must have counted. The kernel multiplexes counters when the
    /// processor has too few of them, and scaled counts would be guesses.
    const LEAST_SHARE: f64 = 0.99;

    /// One group for each thread of the process, because a counter cannot include threads that already run.
    pub struct Groups(Vec<ThreadGroup>);

    struct ThreadGroup {
        leader: Group,
        /// In the order of [`Counts`].
        members: Vec<Counter>,
    }

    impl Groups {
        pub fn open() -> Result<Self, String> {
            Self::from_events(hardware)
        }

        fn from_events(events: Events) -> Result<Self, String> {
            let mut groups = vec![];
            for thread in threads().map_err(|error| reason("the threads", &error))? {
                match ThreadGroup::open(thread, events) {
                    Ok(group) => groups.push(group),
                    // The thread has ended since it was listed.
                    Err((_, error)) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err((what, error)) => return Err(reason(what, &error)),
                }
            }
            Ok(Self(groups))
        }

        pub fn enable(&mut self) -> Result<(), String> {
            let mut groups = self.0.iter_mut();
            groups.try_for_each(|it| it.leader.enable()).map_err(|error| reason("them all", &error))
        }

        pub fn read(&mut self) -> Result<Counts, String> {
            let mut sums = Counts::default();
            for group in &mut self.0 {
                group.leader.disable().map_err(|error| reason("them all", &error))?;
                let data = group.leader.read().map_err(|error| reason("them all", &error))?;
                let (enabled, running) = (data.time_enabled(), data.time_running());
                counted_all_the_time(enabled.unwrap_or_default(), running.unwrap_or_default())?;
                for (sum, member) in sums.iter_mut().zip(&group.members) {
                    *sum += data[member];
                }
            }
            Ok(sums)
        }
    }

    impl ThreadGroup {
        /// The error names the counter that the kernel refused.
        fn open(thread: i32, events: Events) -> Result<Self, (&'static str, io::Error)> {
            let mut leader = Group::builder();
            leader.observe_pid(thread).inherit(true);
            let mut leader = leader.build_group().map_err(|error| ("the group", error))?;
            let mut members = vec![];
            for (name, mut event) in events() {
                event.observe_pid(thread).inherit(true);
                members.push(leader.add(&event).map_err(|error| (name, error))?);
            }
            Ok(Self { leader, members })
        }
    }

    /// Five counters with their names, in the order of [`Counts`].
    type Events = fn() -> [(&'static str, Builder<'static>); 5];

    fn hardware() -> [(&'static str, Builder<'static>); 5] {
        let dtlb =
            Cache { which: CacheId::DTLB, operation: CacheOp::READ, result: CacheResult::MISS };
        [
            ("cycles", Builder::new(Hardware::CPU_CYCLES)),
            ("instructions", Builder::new(Hardware::INSTRUCTIONS)),
            ("cache-references", Builder::new(Hardware::CACHE_REFERENCES)),
            ("cache-misses", Builder::new(Hardware::CACHE_MISSES)),
            ("dTLB-load-misses", Builder::new(dtlb)),
        ]
    }

    fn threads() -> io::Result<Vec<i32>> {
        let mut threads = vec![];
        for entry in fs::read_dir("/proc/self/task")? {
            let name = entry?.file_name();
            threads.extend(name.to_string_lossy().parse::<i32>());
        }
        Ok(threads)
    }

    fn counted_all_the_time(enabled: Duration, running: Duration) -> Result<(), String> {
        // A thread that slept has neither time, and passes.
        if running.as_secs_f64() >= LEAST_SHARE * enabled.as_secs_f64() {
            return Ok(());
        }
        Err(format!(
            "hardware counters: the five counted only in {:.0} % of the time, because the processor \
             has too few for them and for others that are in use; end other profilers, or set \
             kernel.nmi_watchdog=0",
            100.0 * running.as_secs_f64() / enabled.as_secs_f64()
        ))
    }

    fn reason(what: &str, error: &io::Error) -> String {
        let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
        explained(what, error, paranoid.ok().as_deref())
    }

    /// Why the kernel does not count, and what to do about it. `paranoid` is its level of perf_event_paranoid.
    fn explained(what: &str, error: &io::Error, paranoid: Option<&str>) -> String {
        let meaning = match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::ENXIO) => {
                "this machine has no such counter; virtual machines seldom have any: run on the bare \
                 machine, or let its hypervisor pass the PMU through"
                    .to_owned()
            }
            Some(libc::EACCES | libc::EPERM) => format!(
                "not permitted; /proc/sys/kernel/perf_event_paranoid is {}: set it to 2 or less \
                 (`sysctl kernel.perf_event_paranoid=2`), and in a container allow perf_event_open",
                paranoid.map_or("not readable", str::trim)
            ),
            Some(libc::ENOSYS) => "this kernel, or the container, has no perf_event_open".to_owned(),
            Some(libc::EMFILE | libc::ENFILE) => {
                "too many open files: each thread takes six; raise `ulimit -n`".to_owned()
            }
            Some(libc::EINVAL) => {
                "the processor or the kernel cannot count the five in one group".to_owned()
            }
            _ => "the kernel refuses".to_owned(),
        };
        format!("hardware counters: {what}: {meaning} ({error})")
    }

    #[cfg(test)]
    mod tests {
        use std::sync::mpsc;
        use std::thread;

        use perf_event::events::Software;

        use super::*;
        use crate::measurement::page_fault;

        #[test]
        fn reasons_name_the_remedy() {
            let said =
                |code, paranoid| explained("cycles", &io::Error::from_raw_os_error(code), paranoid);
            assert!(said(libc::ENOENT, None).contains("virtual machines"));
            let denied = said(libc::EACCES, Some("4\n"));
            assert!(denied.contains("perf_event_paranoid is 4: set it to 2"), "{denied}");
            assert!(said(libc::EPERM, None).contains("is not readable"));
            assert!(said(libc::EMFILE, None).contains("ulimit -n"));
            assert!(said(libc::EINVAL, None).contains("in one group"));
            let other = said(libc::EIO, None);
            assert!(
                other.starts_with("hardware counters: cycles: the kernel refuses ("),
                "{other}"
            );
        }

        #[test]
        fn counters_that_take_turns_are_an_error() {
            let seconds = Duration::from_secs_f64;
            assert_eq!(counted_all_the_time(seconds(2.0), seconds(2.0)), Ok(()));
            assert_eq!(counted_all_the_time(seconds(0.0), seconds(0.0)), Ok(()));
            let error = counted_all_the_time(seconds(2.0), seconds(1.0)).unwrap_err();
            assert!(error.contains("in 50 % of the time"), "{error}");
        }

        /// Software counters: the kernel has them on machines without hardware counters, too.
        fn software() -> [(&'static str, Builder<'static>); 5] {
            [
                ("page-faults", Builder::new(Software::PAGE_FAULTS)),
                ("task-clock", Builder::new(Software::TASK_CLOCK)),
                ("alignment-faults", Builder::new(Software::ALIGNMENT_FAULTS)),
                ("emulation-faults", Builder::new(Software::EMULATION_FAULTS)),
                ("dummy", Builder::new(Software::DUMMY)),
            ]
        }

        #[test]
        fn threads_that_run_already_and_new_ones_are_counted() {
            const BYTES: usize = 4 << 20;
            let pages = (BYTES / page_fault::page_bytes().unwrap()) as u64;
            let touch = || drop(page_fault::touch_fresh(BYTES).unwrap());
            let (begin, wait) = mpsc::channel::<()>();
            let runs_already = thread::spawn(move || {
                wait.recv().unwrap();
                touch();
            });
            let mut groups = match Groups::from_events(software) {
                Ok(groups) => groups,
                Err(reason) => {
                    crate::skip::hardware(reason);
                    return;
                }
            };
            touch();
            groups.enable().unwrap();
            begin.send(()).unwrap();
            runs_already.join().unwrap();
            thread::spawn(touch).join().unwrap();
            touch();
            let [faults, clock_ns, ..] = groups.read().unwrap();
            // Other tests in this process cause page faults, too, so only a lower bound is checked.
            assert!(faults >= 3 * pages, "{faults} faults for three times {pages} pages");
            assert!(clock_ns > 0);
            touch();
            assert_eq!(groups.read().unwrap()[0], faults, "nothing counts after the first reading");
        }

        #[test]
        fn this_thread_is_among_those_of_the_process() {
            // SAFETY: `gettid` has no preconditions.
            let own = unsafe { libc::gettid() };
            assert!(threads().unwrap().contains(&own));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_per_step() {
        let counted = per_step(4, [400, 200, 40, 4, 2]);
        let expected = HardwareCounters {
            cycles: 100.0,
            instructions: 50.0,
            cache_references: 10.0,
            cache_misses: 1.0,
            tlb_misses: 0.5,
        };
        assert_eq!(counted, expected);
    }

    #[test]
    fn there_are_counts_or_a_reason() {
        let mut sum = 0_u64;
        let counted = count(10, &mut || {
            sum = std::hint::black_box((0..100_000_u64).map(std::hint::black_box).sum());
            Ok(())
        });
        match counted {
            Ok(counted) => {
                // Each of the additions is an instruction at least.
                assert!(counted.instructions >= 100_000.0, "{counted:?}");
                assert!(counted.cycles > 0.0, "{counted:?}");
            }
            Err(reason) => {
                println!("{reason}");
                assert!(reason.starts_with("hardware counters: "), "{reason}");
            }
        }
    }

    #[test]
    fn no_step_is_an_error() {
        assert!(count(0, &mut || Ok(())).unwrap_err().contains("no step"));
    }
}
