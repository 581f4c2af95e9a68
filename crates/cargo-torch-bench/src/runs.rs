//! Several runs of the same benchmarks: everything is built first, then all is measured.

use std::time::{Duration, Instant};

use crate::bench_arguments::BenchArguments;
use crate::error::{Error, Result};
use crate::folder_lock::FolderLock;
use crate::human;
use crate::results::{self, Results};
use crate::side::Side;

/// Measures `side` in `runs` runs. Earlier runs under its name go, and not before there is something to measure.
/// `claim` is that of `results`. Returns whether any cases failed.
pub fn measure(
    side: &Side,
    runs: u64,
    arguments: &BenchArguments,
    results: &Results,
    claim: &FolderLock,
) -> Result<bool> {
    let built = side.build(arguments)?;
    check_selection(side, arguments)?;
    replace(results, &side.name)?;

    let (start, mut cases_failed) = (Instant::now(), false);
    for number in 1..=runs {
        let kept_as = results::kept_as(&side.name, number);
        let stopped = |error: Error| {
            let what = format!("run {number} of {runs} ({kept_as})");
            error.during(&what).remedy("what was measured until then is kept")
        };
        eprintln!("{}", progress(number, runs, &kept_as, start.elapsed()));
        side.unchanged(arguments, &built).map_err(stopped)?;
        let status = side.run(arguments, &kept_as, claim).map_err(stopped)?;
        if !status.success() {
            cases_failed = true;
            let rest = "; cargo runs no benchmarks after those in which cases failed";
            let rest = if built.several() { rest } else { "" };
            eprintln!("note: cases failed in {kept_as}, and are kept as such{rest}");
        }
    }
    Ok(cases_failed)
}

/// Hours of measuring nothing, for which earlier results would go.
fn check_selection(side: &Side, arguments: &BenchArguments) -> Result<()> {
    let cases = side.cases(arguments)?;
    eprintln!("{}: {cases} case{}", side.name, if cases == 1 { "" } else { "s" });
    if cases > 0 {
        return Ok(());
    }
    let what = format!(
        "no case of {} is selected, so there is nothing to measure in {}",
        side.name,
        side.folder.display()
    );
    Err(Error::usage(what).remedy("list the cases: cargo bench -- --list"))
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

/// Before run `number` of `runs`, when the runs before it took `elapsed` together: "run 3 of 8
/// (main@3), 1 min 20 s each, about 8 min left". Nothing is foretold before one has ended.
fn progress(number: u64, runs: u64, kept_as: &str, elapsed: Duration) -> String {
    let place = format!("run {number} of {runs} ({kept_as})");
    let done = number - 1;
    if done == 0 {
        return place;
    }
    let each = elapsed.as_secs_f64() / done as f64;
    let left = each * (runs - done) as f64;
    let [each, left] =
        [each, left].map(|seconds| human::duration(Duration::from_secs_f64(seconds)));
    format!("{place}, {each} each, about {left} left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_includes_the_run_that_begins() {
        let line = |number, seconds| progress(number, 8, "main@3", Duration::from_secs(seconds));
        assert_eq!(line(1, 0), "run 1 of 8 (main@3)");
        assert_eq!(line(3, 160), "run 3 of 8 (main@3), 1 min 20 s each, about 8 min left");
        assert_eq!(line(8, 560), "run 8 of 8 (main@3), 1 min 20 s each, about 1 min 20 s left");
    }
}
