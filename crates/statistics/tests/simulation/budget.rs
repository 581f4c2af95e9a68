//! A total budget gives looks to the pairs whose side of 1 is in doubt, or to those that may be the fastest of their group.
//! This checks that pairs without a difference are not called faster or slower more often because of that, and that the
//! fastest is hardly ever left out: stopping as soon as an interval excludes 1 would select lucky pairs.

use fastrand::Rng;
use statistics::{Processor, Ratio, builds_ratio, quotient};

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

/// Logarithms of the speed-ups of a group's candidates, the fastest first.
const GROUP: [f64; 6] = [0.7, 0.69, 0.68, 0.65, 0.5, -1.0];

/// In how many of so many groups the fastest was left out, and the share of looks that were not taken, where a candidate leaves
/// when `leaves` says so of its lead over another.
fn race(groups: usize, leaves: impl Fn(Ratio) -> bool) -> (usize, f64) {
    let mut random = Rng::with_seed(2);
    let (mut wrong, mut looks) = (0, 0);
    for _ in 0..groups {
        let runs = GROUP.map(|speedup| speedup + RUN * normal(&mut random));
        let mut values: [Vec<f64>; GROUP.len()] = Default::default();
        let mut found: [Option<Ratio>; GROUP.len()] = Default::default();
        let mut racing = vec![true; GROUP.len()];
        for builds in 1..=MOST_BUILDS {
            for place in (0..GROUP.len()).filter(|it| racing[*it]) {
                let build = runs[place] + BUILD * normal(&mut random);
                values[place].extend((0..BLOCKS).map(|_| build + BLOCK * normal(&mut random)));
                looks += 1;
                let ratio = builds_ratio(&values[place], builds, builds, Processor::Cpu);
                found[place] = (builds > 1).then(|| ratio.expect("whole builds").ratio);
            }
            let loses = |own: Ratio| {
                found.iter().flatten().any(|other| {
                    let lead = quotient(other, &own);
                    lead.ratio > 1.0 && leaves(lead)
                })
            };
            let lost = found.map(|it| it.is_some_and(loses));
            racing.iter_mut().zip(lost).for_each(|(races, lost)| *races &= !lost);
        }
        wrong += usize::from(!racing[0]);
    }
    (wrong, 1.0 - looks as f64 / (groups * GROUP.len() * MOST_BUILDS) as f64)
}

#[test]
fn the_fastest_is_hardly_ever_left_out() {
    const GROUPS: usize = 2_000;
    let (wrong, saved) = race(GROUPS, |lead| lead.low > 1.0);
    let (hasty, _) = race(GROUPS, |_| true);
    println!(
        "left out {wrong} of {GROUPS}, {hasty} without an interval; {saved:.2} of the looks are saved"
    );
    assert!(wrong <= GROUPS / 200, "{wrong}");
    assert!(hasty > GROUPS / 10, "the simulation would show it: {hasty}");
    assert!(saved > 0.3, "{saved}");
}
