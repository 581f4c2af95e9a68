//! Two processes, one of each side, that take turns benchmark by benchmark.

use std::collections::BTreeMap;
use std::time::Instant;

use super::process::{Process, Program, Started, Turn};
use crate::error::Result;
use crate::folder_lock::FolderLock;

/// Indices of the sides.
pub const SIDES: [usize; 2] = [0, 1];

/// The time of an iteration by benchmark, of each side.
pub type Times = [BTreeMap<String, f64>; 2];

/// Measures both sides in fresh processes. `first` begins, and the sides take turns: while one measures, the other waits
/// for its word, and uses no processor. The second value says whether they came to
/// their end: after `until` nobody waits for them.
pub fn measure(
    programs: [&Program; 2],
    arguments: &[String],
    first: usize,
    claim: &FolderLock,
    until: Instant,
) -> Result<(Times, bool)> {
    let mut times = Times::default();
    let mut processes = [None, None];
    for side in SIDES {
        match Process::start(programs[side], arguments, claim, until)? {
            Started::Waits(process) => processes[side] = Some(process),
            Started::Ended => {}
            Started::Late => return Ok((times, false)),
        }
    }
    let order = [first, 1 - first];
    while processes.iter().any(Option::is_some) {
        for side in order {
            let Some(process) = &mut processes[side] else { continue };
            match process.turn()? {
                Turn::Measured(samples) => {
                    times[side].insert(samples.full_id.clone(), samples.undisturbed());
                }
                Turn::Ended => processes[side] = None,
                Turn::Late => return Ok((times, false)),
            }
        }
    }
    Ok((times, true))
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::fs::{self, File};
    use std::io::Write as _;
    use std::path::PathBuf;
    use std::time::Duration;

    use plan::lockstep::PORT;

    use super::super::peer::Peer;
    use super::*;

    /// Names the benchmarks of a program, and its time for each.
    const BENCHMARKS: &str = "PAIR_BENCHMARKS";
    /// No test takes so long.
    const LONG: Duration = Duration::from_secs(600);
    /// Names the file in which a program says what it measures.
    const LOG: &str = "PAIR_LOG";

    /// A benchmark program, where the tests below start this as one.
    #[test]
    fn program() {
        let Some(port) = env::var(PORT).ok() else { return };
        let mut peer = Peer::connect(port.parse().expect("a port"), 1);
        let log = File::options().append(true).create(true).open(env::var(LOG).expect("a file"));
        let (benchmarks, mut log) = (env::var(BENCHMARKS).expect("names"), log.expect("opened"));
        for benchmark in benchmarks.split_whitespace() {
            let (id, time) = benchmark.split_once('=').expect("a time");
            if id == "crash" {
                eprintln!("{}, its last words", "ü".repeat(9000));
                std::process::exit(3);
            }
            if id == "hang" {
                std::thread::sleep(LONG);
            }
            writeln!(log, "{benchmark}").expect("written");
            peer.benchmark([Some(id), None, None], &[2.0 * time.parse::<f64>().expect("a number")]);
            assert_eq!(peer.word(), "Continue");
        }
    }

    /// The times of two programs, and the order in which they were measured.
    fn measured(of_a: &str, of_b: &str, first: usize) -> (Result<Times>, Vec<String>) {
        let (measured, log) = measured_for(of_a, of_b, first, LONG);
        let whole = |(times, is_whole): (Times, bool)| {
            assert!(is_whole);
            times
        };
        (measured.map(whole), log)
    }

    /// The times that two programs have measured before this time is over, and whether that is all.
    fn measured_for(
        of_a: &str,
        of_b: &str,
        first: usize,
        time: Duration,
    ) -> (Result<(Times, bool)>, Vec<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let program = |benchmarks: &str| Program {
            package: "p".to_owned(),
            target: "t".to_owned(),
            path: env::current_exe().expect("it has a path"),
            inputs: None,
            folder: folder.path().to_owned(),
            has_plugin: false,
            is_checked: false,
            criterion_home: folder.path().join("criterion"),
            environment: vec![(BENCHMARKS, PathBuf::from(benchmarks)), (LOG, log.clone())],
        };
        let claim = FolderLock::take(&folder.path().join("lock")).expect("nobody has it");
        let arguments = ["--exact", "lockstep::pair::tests::program"].map(str::to_owned);
        let (programs, until) = ([&program(of_a), &program(of_b)], Instant::now() + time);
        let times = measure(programs, &arguments, first, &claim, until);
        let log = fs::read_to_string(&log).unwrap_or_default();
        (times, log.lines().map(str::to_owned).collect())
    }

    #[test]
    fn the_sides_take_turns_benchmark_by_benchmark() {
        for (first, order) in [(0, ["x=1", "x=2", "y=3", "y=4"]), (1, ["x=2", "x=1", "y=4", "y=3"])]
        {
            let (times, log) = measured("x=1 y=3", "x=2 y=4", first);
            assert_eq!(log, order);
            let of = |x, y| [("x".to_owned(), x), ("y".to_owned(), y)].into();
            assert_eq!(times.expect("both end"), [of(1.0, 3.0), of(2.0, 4.0)]);
        }
    }

    #[test]
    fn a_side_without_benchmarks_leaves_the_turns_to_the_other() {
        let (times, log) = measured("x=1 y=3 z=5", "y=4", 1);
        assert_eq!(log, ["y=4", "x=1", "y=3", "z=5"]);
        let [a, b] = times.expect("both end");
        assert_eq!((a.len(), b.len()), (3, 1));
        let (times, _) = measured("", "", 0);
        assert_eq!(times.expect("both end"), Times::default());
    }

    #[test]
    fn a_benchmark_that_outlasts_the_time_ends_with_it() {
        let (measured, log) = measured_for("hang=1 y=3", "x=2 y=4", 0, Duration::from_millis(500));
        assert!(!measured.expect("nothing fails").1, "{log:?}");
        assert!(log.is_empty(), "{log:?}");
    }

    #[test]
    fn a_program_that_dies_has_last_words() {
        let (died, log) = measured("x=1 y=3", "x=2 crash=0", 0);
        let said = died.expect_err("B dies").what().to_owned();
        let this = env::current_exe().expect("it has a path");
        assert!(said.starts_with(&format!("{}: exit status: 3: ", this.display())), "{said}");
        assert!(said.ends_with("ü, its last words") && said.len() < 3000, "{said}");
        assert_eq!(log, ["x=1", "x=2", "y=3"]);
    }

    /// A program that never connects.
    fn unconnected(script: &str, time: Duration) -> Result<(Times, bool)> {
        let folder = tempfile::tempdir().expect("a folder");
        let program = Program {
            package: "p".to_owned(),
            target: "t".to_owned(),
            path: PathBuf::from("/bin/sh"),
            inputs: None,
            folder: folder.path().to_owned(),
            has_plugin: false,
            is_checked: false,
            criterion_home: folder.path().join("criterion"),
            environment: Vec::new(),
        };
        let claim = FolderLock::take(&folder.path().join("lock")).expect("nobody has it");
        let arguments = ["-c", script].map(str::to_owned);
        measure([&program; 2], &arguments, 0, &claim, Instant::now() + time)
    }

    #[cfg(unix)]
    #[test]
    fn a_program_may_end_before_its_first_benchmark() {
        assert_eq!(unconnected("exit 0", LONG).expect("it has none"), (Times::default(), true));
        let died = unconnected("echo no port >&2; exit 5", LONG).expect_err("it fails");
        assert_eq!(died.what(), "/bin/sh: exit status: 5: no port");
        let killed = unconnected("kill -9 $$", LONG).expect_err("it is killed");
        assert!(killed.what().starts_with("/bin/sh: signal: 9"), "{killed}");
        let late = unconnected("exec sleep 600", Duration::from_millis(300));
        assert_eq!(late.expect("nothing fails"), (Times::default(), false));
    }
}
