//! How quiet the machine is: whether the same work takes the same time.

use std::fs;
use std::hint::black_box;

use plan::Quiet;

use super::chain;
use super::cpu_time::CpuTime;
use super::stopwatch::Stopwatch;

/// Time that the slices take together, in seconds, after the first ones, in which a clock that
/// follows the load comes up.
const LOOK_S: f64 = 0.1;
const COME_UP_S: f64 = 0.01;
/// Turns of the chain in a slice: some 1 ms on a core of 3 GHz. In shorter ones an interruption, which
/// lasts milliseconds, would weigh too little; in longer ones there would be too few.
const TURNS: u64 = 100_000;
/// A slice that takes longer than the fastest by more than this was disturbed.
const TOLERANCE: f64 = 1.02;

/// How quiet the machine is now; takes 0.1 s on one core.
///
/// Slices of the same pure computation are timed one after another; the score is the share of them
/// that took at most 2 % longer than the fastest, which is the time without any disturbance: nothing
/// makes a slice faster than its instructions. One thread does it, so other cores show in the load
/// and in the steal only.
pub fn score() -> Quiet {
    let before = CpuTime::read();
    slices(COME_UP_S);
    let slices = slices(LOOK_S);
    let steal = before.zip(CpuTime::read()).and_then(|(before, now)| now.steal_since(before));
    Quiet { score: undisturbed(&slices), load_1m: load_1m(), steal }
}

/// Times of as many slices as fit, in nanoseconds; at least one.
fn slices(seconds: f64) -> Vec<f64> {
    let all = Stopwatch::start();
    let mut slices = Vec::new();
    while slices.is_empty() || all.seconds() < seconds {
        let watch = Stopwatch::start();
        black_box(chain::run(black_box(TURNS)));
        slices.push(watch.ns());
    }
    slices
}

/// Share of `slices` that took at most 2 % longer than the fastest.
fn undisturbed(slices: &[f64]) -> f64 {
    let fastest = slices.iter().copied().fold(f64::INFINITY, f64::min);
    let count = slices.iter().filter(|ns| **ns <= TOLERANCE * fastest).count();
    count as f64 / slices.len() as f64
}

/// The first number of `/proc/loadavg`.
fn load_1m() -> Option<f64> {
    parse_load(&fs::read_to_string("/proc/loadavg").ok()?)
}

fn parse_load(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_machine_scores_one() {
        let slices: Vec<f64> = (0..300).map(|i| 300_000.0 + f64::from(i % 7) * 500.0).collect();
        assert_eq!(undisturbed(&slices), 1.0);
        assert_eq!(undisturbed(&[5.0]), 1.0);
    }

    #[test]
    fn each_disturbed_slice_counts() {
        let disturbed = |i: u32| if i.is_multiple_of(10) { 340_000.0 } else { 300_000.0 };
        let slices: Vec<f64> = (0..300).map(disturbed).collect();
        assert_eq!(undisturbed(&slices), 0.9);
    }

    #[test]
    fn a_clock_between_two_speeds_is_not_quiet() {
        // Three quarters of the time the core runs 20 % slower; a median would call that normal.
        let bimodal = |i: u32| if i.is_multiple_of(4) { 300_000.0 } else { 360_000.0 };
        let slices: Vec<f64> = (0..300).map(bimodal).collect();
        assert_eq!(undisturbed(&slices), 0.25);
    }

    #[test]
    fn load_is_the_first_number() {
        assert_eq!(parse_load("0.19 0.56 0.38 1/88 16745\n"), Some(0.19));
        assert_eq!(parse_load(""), None);
    }

    #[test]
    fn this_machine_has_a_score() {
        let quiet = score();
        println!("{quiet:?}");
        assert!(quiet.score > 0.0 && quiet.score <= 1.0);
        assert_eq!(quiet.load_1m.is_some(), cfg!(target_os = "linux"));
    }
}
