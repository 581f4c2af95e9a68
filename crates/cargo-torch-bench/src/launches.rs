//! Several launches of one or more sides: everything is built first, then all is measured.

use std::process::Stdio;
use std::time::Instant;

use crate::bench_arguments::BenchArguments;
use crate::claim::Claim;
use crate::error::{Error, Result};
use crate::order;
use crate::progress;
use crate::results::{self, Results};
use crate::side::Side;

/// Measures each of `sides` in `launches` launches. Earlier launches under the same names go, and not
/// before there is something to measure. `claim` is that of `results`, `stdout` is where criterion's
/// words go. Returns whether any cases failed.
pub fn run(
    sides: &[Side],
    launches: u64,
    arguments: &BenchArguments,
    results: &Results,
    claim: &Claim,
    stdout: impl Fn() -> Stdio,
) -> Result<bool> {
    let built = sides.iter().map(|side| side.build(arguments)).collect::<Result<Vec<_>>>()?;
    check_selection(sides, arguments)?;
    sides.iter().try_for_each(|side| replace(results, &side.name))?;

    let order = order::alternating(sides.len(), launches);
    let (start, mut cases_failed) = (Instant::now(), false);
    for (done, launch) in order.iter().enumerate() {
        let (side, built) = (&sides[launch.side], &built[launch.side]);
        let kept_as = results::kept_as(&side.name, launch.number);
        let stopped = |error: Error| {
            let what = format!("launch {} of {} ({kept_as})", done + 1, order.len());
            error.during(&what).remedy("what was measured until then is kept")
        };
        eprintln!("{}", progress::line(done, order.len(), &kept_as, start.elapsed()));
        side.unchanged(arguments, built).map_err(stopped)?;
        let status = side.launch(arguments, &kept_as, claim, stdout()).map_err(stopped)?;
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
            return Err(Error::usage(what).remedy("see which there are: cargo bench -- --list"));
        }
    }
    Ok(())
}

/// A name keeps one set of launches: the last ones of a longer earlier set would remain among the
/// new.
fn replace(results: &Results, name: &str) -> Result<()> {
    let removed = results.remove_launches(name)?;
    if let (Some(first), Some(last)) = (removed.first(), removed.last()) {
        let range = match first == last {
            true => results::kept_as(name, *first),
            false => {
                format!("{} to {}", results::kept_as(name, *first), results::kept_as(name, *last))
            }
        };
        eprintln!("removed earlier launches, which these replace: {range}");
    }
    Ok(())
}
