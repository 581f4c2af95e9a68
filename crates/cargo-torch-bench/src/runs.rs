//! Several runs of one or more sides: everything is built first, then all is measured.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::bench_arguments::BenchArguments;
use crate::error::{Error, Result};
use crate::folder_lock::FolderLock;
use crate::human;
use crate::results::{self, Results};
use crate::side::Side;

/// Measures each of `sides` in `runs` runs. Earlier runs under the same names go, and not
/// before there is something to measure. `claim` is that of `results`, `stdout` is where criterion's
/// words go. Returns whether any cases failed.
pub fn measure(
    sides: &[Side],
    runs: u64,
    arguments: &BenchArguments,
    results: &Results,
    claim: &FolderLock,
    stdout: impl Fn() -> Stdio,
) -> Result<bool> {
    let built = sides.iter().map(|side| side.build(arguments)).collect::<Result<Vec<_>>>()?;
    check_selection(sides, arguments)?;
    sides.iter().try_for_each(|side| replace(results, &side.name))?;

    let order = alternating(sides.len(), runs);
    let (start, mut cases_failed) = (Instant::now(), false);
    for (done, run) in order.iter().enumerate() {
        let (side, built) = (&sides[run.side], &built[run.side]);
        let kept_as = results::kept_as(&side.name, run.number);
        let stopped = |error: Error| {
            let what = format!("run {} of {} ({kept_as})", done + 1, order.len());
            error.during(&what).remedy("what was measured until then is kept")
        };
        eprintln!("{}", progress(done, order.len(), &kept_as, start.elapsed()));
        side.unchanged(arguments, built).map_err(stopped)?;
        let status = side.run(arguments, &kept_as, claim, stdout()).map_err(stopped)?;
        if !status.success() {
            cases_failed = true;
            let rest = "; cargo runs no benchmarks after those in which cases failed";
            let rest = if built.several() { rest } else { "" };
            eprintln!("note: cases failed in {kept_as}, and are kept as such{rest}");
        }
    }
    Ok(cases_failed)
}

/// Hours of measuring nothing, for which earlier results would go. A side without cases leaves no
/// records, and with it the other one has nothing to be compared with.
fn check_selection(sides: &[Side], arguments: &BenchArguments) -> Result<()> {
    for side in sides {
        let cases = side.cases(arguments)?;
        eprintln!("{}: {cases} case{}", side.name, if cases == 1 { "" } else { "s" });
        if cases == 0 {
            let what = format!(
                "no case of {} is selected, so there is nothing to measure in {}",
                side.name,
                side.folder.display()
            );
            return Err(Error::usage(what).remedy("list the cases: cargo bench -- --list"));
        }
    }
    Ok(())
}

/// A name keeps one set of runs: the last ones of a longer earlier set would remain among the
/// new.
fn replace(results: &Results, name: &str) -> Result<()> {
    let removed = results.remove_runs(name)?;
    if let (Some(first), Some(last)) = (removed.first(), removed.last()) {
        let range = match first == last {
            true => results::kept_as(name, *first),
            false => {
                format!("{} to {}", results::kept_as(name, *first), results::kept_as(name, *last))
            }
        };
        eprintln!("removed earlier runs, which these replace: {range}");
    }
    Ok(())
}

/// One process that measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// Index of the side that is measured.
    side: usize,
    /// Number of the side's run, from 1.
    number: u64,
}

/// `runs` of each side, in turn: of two A B, B A, A B and so on, so that a machine that grows
/// slower or faster from run to run does so for both alike.
fn alternating(sides: usize, runs: u64) -> Vec<Run> {
    let round = |number: u64| {
        let forth = (0..sides).collect::<Vec<_>>();
        let back = forth.iter().rev().copied().collect();
        let order = if number % 2 == 1 { forth } else { back };
        order.into_iter().map(move |side| Run { side, number })
    };
    (1..=runs).flat_map(round).collect()
}

/// Before the run after `done` of `runs`, which took `elapsed` together: "run 3 of 8
/// (main@3), 1 min 20 s each, about 8 min left". Nothing is foretold before one has ended.
fn progress(done: usize, runs: usize, kept_as: &str, elapsed: Duration) -> String {
    let place = format!("run {} of {runs} ({kept_as})", done + 1);
    if done == 0 {
        return place;
    }
    let each = elapsed.as_secs_f64() / done as f64;
    let left = each * runs.saturating_sub(done) as f64;
    let [each, left] =
        [each, left].map(|seconds| human::duration(Duration::from_secs_f64(seconds)));
    format!("{place}, {each} each, about {left} left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_take_turns_and_so_do_their_turns() {
        let order = |sides, runs| {
            let order = alternating(sides, runs).into_iter();
            let words = order.map(|it| format!("{}{}", ["A", "B"][it.side], it.number));
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(order(1, 3), "A1 A2 A3");
        assert_eq!(order(2, 1), "A1 B1");
        assert_eq!(order(2, 4), "A1 B1 B2 A2 A3 B3 B4 A4");
    }

    /// This is what the order is for: with an even number of runs, both sides' moments are equally late.
    #[test]
    fn a_steady_drift_weighs_on_both_sides_alike() {
        for runs in [2, 4, 8] {
            let moments = |side| -> usize {
                let order = alternating(2, runs);
                let moments = order.iter().enumerate().filter(|(_, it)| it.side == side);
                moments.map(|(moment, _)| moment).sum()
            };
            assert_eq!(moments(0), moments(1), "{runs}");
        }
    }

    #[test]
    fn what_is_left_includes_the_run_that_begins() {
        let line = |done, seconds| progress(done, 8, "main@3", Duration::from_secs(seconds));
        assert_eq!(line(0, 0), "run 1 of 8 (main@3)");
        assert_eq!(line(2, 160), "run 3 of 8 (main@3), 1 min 20 s each, about 8 min left");
        assert_eq!(line(7, 560), "run 8 of 8 (main@3), 1 min 20 s each, about 1 min 20 s left");
    }
}
