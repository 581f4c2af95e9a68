//! Before a case is sampled: it is warmed up, and its time and noise are estimated.

use std::time::Duration;

use statistics::{mad_sd, median, sample_iters};

use crate::refusal::Refusal;

/// Fewest batches after which a case may count as warm.
const FEWEST: usize = 12;
/// Two neighbouring windows of this many batches are compared.
const WINDOW: usize = FEWEST / 2;
/// A case is warm when the medians of the two windows differ by at most this much.
const STEADY: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pilot {
    /// Median time of a step by the case's clock, in nanoseconds.
    pub step_ns: f64,
    /// Wall time of a step, in nanoseconds: with what lies outside the clock, such as a flush.
    pub wall_ns: f64,
    /// The step's time in the fastest batch, which nothing has disturbed if any was not.
    pub fastest_wall_ns: f64,
    /// Relative robust standard deviation of the batches.
    pub noise: f64,
    pub batches: u64,
}

/// Runs batches, each as long as a sample, until two neighbouring windows of them agree, but no
/// longer than about `cap_s` seconds. At least three steps are run, however long they take.
///
/// `batch` times a number of steps, `wall` is any clock that counts seconds.
pub fn run(
    batch: &mut dyn FnMut(u64) -> Result<Duration, Refusal>,
    wall: &dyn Fn() -> f64,
    cap_s: f64,
) -> Result<Pilot, Refusal> {
    let start = wall();
    let mut timed = |iters: u64| -> Result<(f64, f64), Refusal> {
        let before = wall();
        let taken = batch(iters)?.as_nanos() as f64 / iters as f64;
        Ok((taken, (wall() - before) * 1e9 / iters as f64))
    };
    let (_, first) = timed(1)?;
    // The first step may have been slow for reasons that do not last.
    let (_, second) = timed(sample_iters(first))?;
    let iters = sample_iters(second);
    let (mut steps, mut walls) = (Vec::new(), Vec::new());
    loop {
        let (step, wall_ns) = timed(iters)?;
        steps.push(step);
        walls.push(wall_ns);
        if is_warm(&steps) || wall() - start >= cap_s {
            break;
        }
    }
    let settled = steps.len().saturating_sub(FEWEST);
    let (steps, walls) = (&steps[settled..], &walls[settled..]);
    let step_ns = median(steps);
    let noise = if step_ns > 0.0 { mad_sd(steps) / step_ns } else { 0.0 };
    let fastest_wall_ns = walls.iter().copied().fold(f64::INFINITY, f64::min);
    let (wall_ns, batches) = (median(walls), steps.len() as u64);
    Ok(Pilot { step_ns, wall_ns, fastest_wall_ns, noise, batches })
}

fn is_warm(steps: &[f64]) -> bool {
    if steps.len() < FEWEST {
        return false;
    }
    let (before, after) = steps[steps.len() - FEWEST..].split_at(WINDOW);
    let (before, after) = (median(before), median(after));
    (before - after).abs() <= STEADY * after
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Runs the pilot over a fake step whose nanoseconds are a function of how many have run.
    fn pilot(cap_s: f64, step_ns: impl Fn(u64) -> f64) -> (Pilot, u64, f64) {
        let (steps, seconds) = (Cell::new(0_u64), Cell::new(0.0));
        let mut batch = |iters: u64| {
            let first = steps.get();
            steps.set(first + iters);
            let ns: f64 = (first..first + iters).map(&step_ns).sum();
            seconds.set(seconds.get() + ns / 1e9);
            Ok(Duration::from_nanos(ns as u64))
        };
        let found = run(&mut batch, &|| seconds.get(), cap_s).expect("nothing fails");
        (found, steps.get(), seconds.get())
    }

    #[test]
    fn a_steady_step_is_warm_after_the_fewest_batches() {
        let (found, steps, seconds) = pilot(0.5, |_| 100_000.0);
        let Pilot { wall_ns, fastest_wall_ns, .. } = found;
        let expected =
            Pilot { step_ns: 100_000.0, wall_ns, fastest_wall_ns, noise: 0.0, batches: 12 };
        assert_eq!(found, expected);
        assert!((wall_ns - 100_000.0).abs() < 1.0 && fastest_wall_ns <= wall_ns);
        assert_eq!(steps, 1 + 13 * 20, "batches of 2 ms");
        assert!(seconds < 0.04);
    }

    #[test]
    fn a_slow_step_runs_three_times() {
        let (found, steps, _) = pilot(0.5, |_| 2e9);
        assert_eq!((found.step_ns, found.batches, steps), (2e9, 1, 3));
    }

    #[test]
    fn a_step_that_gets_faster_is_waited_for() {
        // The excess over 100 µs halves every 60 steps.
        let (found, steps, _) =
            pilot(0.5, |step| 100_000.0 * (1.0 + 8.0 * 0.5_f64.powf(step as f64 / 60.0)));
        assert!(steps > 300, "{steps}");
        assert!(found.step_ns < 112_000.0, "{found:?}");
    }

    #[test]
    fn the_cap_ends_a_step_that_never_settles() {
        let (_, _, seconds) = pilot(0.1, |step| 1e6 * (1.0 + step as f64 / 10.0));
        assert!((0.1..0.3).contains(&seconds), "{seconds}");
    }
}
