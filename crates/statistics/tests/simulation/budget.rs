//! A total budget gives looks to the pairs whose side of 1 is in doubt. This checks that pairs without a difference are
//! not called faster or slower more often because of that: stopping as soon as an interval excludes 1 would select
//! lucky pairs.

use fastrand::Rng;
use statistics::{Processor, Ratio, builds_ratio};

use crate::noise::normal;

const TRIALS: usize = 5_000;
const BLOCKS: usize = 2;
const MOST_BUILDS: usize = 12;
/// Standard deviations of runs, of builds and of blocks.
const RUN: f64 = 0.004;
const BUILD: f64 = 0.007;
const BLOCK: f64 = 0.02;

/// The share of pairs without a difference that are called different, where a pair leaves when `leaves` says so.
fn called_different(leaves: impl Fn(Ratio) -> bool) -> f64 {
    let mut random = Rng::with_seed(1);
    let mut called = 0;
    for _ in 0..TRIALS {
        let run = RUN * normal(&mut random);
        let mut values = Vec::new();
        for builds in 1..=MOST_BUILDS {
            let build = run + BUILD * normal(&mut random);
            values.extend((0..BLOCKS).map(|_| build + BLOCK * normal(&mut random)));
            let ratio =
                builds_ratio(&values, builds, builds, Processor::Cpu).expect("whole builds").ratio;
            if builds == MOST_BUILDS || builds > 1 && leaves(ratio) {
                called += usize::from(ratio.low > 1.0 || ratio.high < 1.0);
                break;
            }
        }
    }
    called as f64 / TRIALS as f64
}

#[test]
fn pairs_that_are_clear_of_one_are_not_chosen_for_their_luck() {
    let all_looks = called_different(|_| false);
    let clear = called_different(|ratio| ratio.is_clear_of_one());
    let excludes = called_different(|ratio| ratio.low > 1.0 || ratio.high < 1.0);
    println!("all looks {all_looks:.4}, until clear {clear:.4}, until 1 is excluded {excludes:.4}");
    assert!(clear <= all_looks + 0.005, "{clear} against {all_looks}");
    assert!(excludes > 2.0 * all_looks, "the simulation would show it: {excludes}");
}
