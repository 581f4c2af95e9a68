//! The order of blocks and builds, and when they end, on a clock that only the sides advance.

use std::time::Duration;

use super::*;
use crate::harness::clock::Timing;
use crate::harness::pilot::Pilot;

/// Two sides of known times on a clock that only they advance.
struct Fake {
    step_ns: (f64, f64),
    /// How much slower than the last one the first step after the other side is, and what is left
    /// of that after every step.
    displaced: f64,
    decay: f64,
    /// Which side ran last, and how many steps of it.
    running: (Side, i32),
    now_ns: f64,
    /// Relative growth of every time per second.
    drift: f64,
    /// How much slower than the others every second build of the candidate is.
    every_second: f64,
    log: Vec<(Side, u64)>,
    /// How long the log was whenever both sides were built anew.
    rebuilt: Vec<usize>,
    /// The host's time for queueing a step of either, on a device beside it.
    queue_ns: Option<u64>,
}

impl Fake {
    fn new(baseline_ns: f64, candidate_ns: f64) -> Self {
        Self {
            step_ns: (baseline_ns, candidate_ns),
            displaced: 0.0,
            decay: 0.5,
            running: (Baseline, 0),
            now_ns: 0.0,
            drift: 0.0,
            every_second: 0.0,
            log: Vec::new(),
            rebuilt: Vec::new(),
            queue_ns: None,
        }
    }
}

impl Sides for Fake {
    fn batch(&mut self, side: Side, iters: u64) -> Result<Timing, Refusal> {
        self.log.push((side, iters));
        let build = (self.rebuilt.len() % 2) as f64;
        let step = match side {
            Baseline => self.step_ns.0,
            Candidate => self.step_ns.1 * (1.0 + build * self.every_second),
        };
        if self.running.0 != side {
            self.running = (side, 0);
        }
        let mut ns = 0.0;
        for _ in 0..iters {
            let excess = self.displaced * self.decay.powi(self.running.1);
            ns += step * (1.0 + excess) * (1.0 + self.drift * self.now_ns / 1e9);
            self.running.1 += 1;
        }
        self.now_ns += ns;
        let called = self.queue_ns.map(|queue_ns| Duration::from_nanos(queue_ns * iters));
        let device = Duration::from_nanos(ns.round() as u64);
        Ok(Timing { device, called: called.map(|queue| queue.max(device)) })
    }

    fn rebuild(&mut self) -> Result<(), Refusal> {
        self.rebuilt.push(self.log.len());
        Ok(())
    }

    fn wall(&self) -> f64 {
        self.now_ns / 1e9
    }
}

const GOAL: Goal =
    Goal { target: 0.01, budget_s: 10.0, is_shared: false, known: [None; 2], on: Processor::Cpu };

/// A side that was sampled: its wall time, that of its fastest batch, and what it takes alone.
fn known(wall_ns: f64, fastest_wall_ns: f64, alone_ns: f64) -> Option<Known> {
    let pilot = Pilot { step_ns: wall_ns, wall_ns, fastest_wall_ns, noise: 0.0, batches: 12 };
    Some(Known { pilot, alone_ns })
}

fn both(baseline_ns: f64, candidate_ns: f64) -> [Option<Known>; 2] {
    [baseline_ns, candidate_ns].map(|ns| known(ns, ns, ns))
}

fn paired(fake: &mut Fake, goal: Goal) -> Paired {
    run(fake, goal).expect("nothing fails")
}

fn ratio(paired: &Paired) -> BuildsRatio {
    paired.ratio.expect("enough blocks")
}

#[test]
fn a_block_is_the_two_sides_in_turn_each_settled_first() {
    let mut fake = Fake::new(9e5, 4.5e5);
    paired(&mut fake, GOAL);
    let (a, b) = ((Baseline, 3), (Candidate, 5));
    let (one_a, one_b) = ((Baseline, 1), (Candidate, 1));
    // Steps until they get no faster, then ten milliseconds of batches, of either side.
    let gauges = [[one_a; 8].as_slice(), &[a; 4], &[one_b; 8], &[b; 5]].concat();
    let first = [one_a, a, one_b, b, b, one_a, a];
    let second = [one_b, b, one_a, a, a, one_b, b];
    assert_eq!(fake.log[..39], [&gauges[..], &first, &second].concat());
}

#[test]
fn a_faster_device_is_no_gain_for_a_caller_whose_host_is_slower() {
    // Twice as fast, and the host needs as long for a step as the baseline's device.
    let mut fake = Fake { queue_ns: Some(9000), ..Fake::new(9e3, 4.5e3) };
    let found = paired(&mut fake, GOAL);
    assert!((ratio(&found).ratio.ratio - 2.0).abs() < 0.01, "{found:?}");
    let called = found.called.expect("a device beside the host");
    assert_eq!((called.ratio.ratio.ratio, called.steps_ns), (1.0, (9e3, 9e3)));
    assert_eq!(called.log_ratios.len(), found.log_ratios.len());
    assert_eq!(paired(&mut Fake::new(9e3, 4.5e3), GOAL).called, None);
}

#[test]
fn a_side_that_was_sampled_is_not_tried_again() {
    let mut fake = Fake::new(9e5, 4.5e5);
    paired(&mut fake, Goal { known: both(9e5, 4.5e5), ..GOAL });
    let (a, b) = ((Baseline, 3), (Candidate, 5));
    let (one_a, one_b) = ((Baseline, 1), (Candidate, 1));
    assert_eq!(fake.log[..7], [one_a, a, one_b, b, b, one_a, a]);
}

#[test]
fn both_sides_are_built_anew_after_as_many_blocks() {
    let mut fake = Fake { drift: 0.01, ..Fake::new(9e5, 4.5e5) };
    let goal = Goal { target: 0.0, known: both(9e5, 4.5e5), ..GOAL };
    let paired = paired(&mut fake, goal);
    assert_eq!((paired.builds, paired.log_ratios.len()), (MOST_BUILDS, 72));
    // Six blocks of seven entries; the first build is the one that was sampled.
    let entries: Vec<usize> = (1..MOST_BUILDS).map(|build| build * 42).collect();
    assert_eq!(fake.rebuilt, entries);
    let starts: Vec<Side> = fake.log.iter().step_by(7).map(|(side, _)| *side).collect();
    assert!(starts.chunks(2).all(|two| two == [Baseline, Candidate]), "as many of either order");
}

/// A pilot whose batches were disturbed, most of them, must not make the other side's batches longer.
#[test]
fn batches_are_as_long_as_each_side_takes_undisturbed() {
    let mut fake = Fake::new(7e5, 7e5);
    let known = [known(21e5, 7e5, 7e5), known(7e5, 7e5, 7e5)];
    assert_eq!(paired(&mut fake, Goal { known, ..GOAL }).iters, (3, 3));
}

#[test]
fn a_side_that_was_displaced_from_the_cache_is_waited_for() {
    let mut fake = Fake { displaced: 2.0, ..Fake::new(2e6, 1e6) };
    let paired = paired(&mut fake, GOAL);
    // Seven steps bring the excess from 200 % down to 1.6 %; without them the ratio is off
    // by a third.
    assert!((ratio(&paired).ratio.ratio - 2.0).abs() < 0.02, "{paired:?}");
    let steps = fake.log.iter().filter(|(_, iters)| *iters == 1).count();
    assert!(steps > 7 * 2 * paired.log_ratios.len(), "{steps}");
}

#[test]
fn a_side_that_does_not_get_back_has_a_reason_instead_of_a_ratio() {
    let slow = Fake { displaced: 3.0, decay: 0.9, ..Fake::new(2e6, 2e6) };
    let mut fake = Fake { step_ns: (2e6, 1e5), ..slow };
    let paired = paired(&mut fake, Goal { known: both(2e6, 1e5), ..GOAL });
    let Err(NoRatio::Displaced { side, beside_ns, alone_ns }) = paired.ratio else {
        panic!("{paired:?}")
    };
    assert_eq!(side, Baseline);
    assert!(beside_ns > 1.5 * 2e6 && alone_ns < 1.2 * 2e6, "{beside_ns} {alone_ns}");
}

#[test]
fn a_machine_that_has_changed_since_is_no_reason() {
    let mut fake = Fake::new(2e6, 1e6);
    // Both were sampled while the machine was fast, one of them while it was very fast.
    let known = [known(2e6, 2e6, 1.5e6), known(1e6, 1e6, 0.9e6)];
    let paired = paired(&mut fake, Goal { known, ..GOAL });
    assert!((ratio(&paired).ratio.ratio - 2.0).abs() < 1e-6, "{paired:?}");
    assert_eq!(paired.steps_ns, (2e6, 1e6));
}

#[test]
fn without_noise_the_fewest_builds_are_enough() {
    let mut fake = Fake::new(2e6, 1e6);
    let paired = paired(&mut fake, GOAL);
    assert!(paired.reached);
    assert_eq!(paired.builds, CHECKS[0]);
    assert!((ratio(&paired).ratio.ratio - 2.0).abs() < 1e-9, "{paired:?}");
}

#[test]
fn builds_that_differ_are_in_the_interval() {
    let mut fake = Fake { every_second: 0.1, ..Fake::new(2e6, 1e6) };
    let paired = paired(&mut fake, GOAL);
    let found = ratio(&paired);
    assert!(!paired.reached && paired.builds == MOST_BUILDS, "{paired:?}");
    assert!(found.between > 0.03 && found.within < 1e-6, "{found:?}");
    assert!(found.ratio.low < 2.0 / 1.05 && 2.0 / 1.05 < found.ratio.high, "{found:?}");
}

#[test]
fn even_drift_cancels() {
    let mut fake = Fake { drift: 0.1, ..Fake::new(2e6, 1e6) };
    let paired = paired(&mut fake, GOAL);
    assert!((ratio(&paired).ratio.ratio - 2.0).abs() < 0.002, "{paired:?}");
}

/// Blocks of the two orders differ: the inner side's second batch is warmed up by a whole
/// batch, all others by a step.
#[test]
fn the_order_of_a_block_favours_nobody_in_the_end() {
    let mut fake = Fake { displaced: 0.019, decay: 0.99, ..Fake::new(2e6, 2e6) };
    let paired = paired(&mut fake, Goal { known: both(2e6, 2e6), ..GOAL });
    let [first, second] = [paired.log_ratios[0], paired.log_ratios[1]];
    assert!(first > 1e-5 && (first + second).abs() < 1e-6, "{first} {second}");
    assert!((ratio(&paired).ratio.ratio - 1.0).abs() < 1e-6, "{paired:?}");
}

#[test]
fn the_budget_is_kept() {
    // Steps of 200 ms: a block is four of them and three or four that do not count.
    let mut fake = Fake { drift: 0.001, ..Fake::new(2e8, 2e8) };
    let paired = paired(&mut fake, Goal { budget_s: 10.0, target: 0.0, ..GOAL });
    assert!(!paired.reached && paired.seconds <= 10.0, "{paired:?}");
    assert_eq!((paired.builds, paired.log_ratios.len()), (3, 3 * BLOCKS_PER_BUILD));
}

#[test]
fn a_speedup_that_takes_little_is_given_the_time() {
    // Steps of 10 ms, and a budget that would not do for a block.
    let mut fake = Fake { drift: 1.0, ..Fake::new(1e7, 1e7) };
    let paired = paired(&mut fake, Goal { budget_s: 0.05, target: 0.0, ..GOAL });
    assert_eq!((paired.builds, paired.log_ratios.len()), (2, 2 * BLOCKS_PER_BUILD));
}

#[test]
fn what_cannot_be_done_in_time_is_not_begun() {
    let mut fake = Fake::new(1e9, 1e9);
    let paired = paired(&mut fake, Goal { budget_s: 3.0, ..GOAL });
    assert_eq!(paired.ratio, Err(NoRatio::TooShort));
    assert_eq!(fake.log.len(), 2, "each side is tried once");
}

#[test]
fn what_has_no_time_of_its_own_waits_for_that_of_others() {
    let mut fake = Fake::new(1e9, 1e9);
    let goal = Goal { budget_s: 3.0, is_shared: true, ..GOAL };
    let mut pairs = Pairs::first(&mut fake, goal).expect("nothing fails");
    assert_eq!(fake.log.len(), 2, "each side is tried once");
    assert!(pairs.wants_more() && !pairs.has_looks());
    // A build is two blocks of four steps of a second.
    assert!((pairs.look_s() - 8.0).abs() < 0.1, "{}", pairs.look_s());
    pairs.look(&mut fake).expect("nothing fails");
    let found = pairs.found(&mut fake).expect("nothing fails");
    assert!(found.ratio.is_ok(), "{found:?}");
}

/// Looks at two sides whenever the clock has been put forward by so many nanoseconds.
fn looked_at_after(pauses_ns: &[f64], fake: &mut Fake) -> Paired {
    let mut pairs = Pairs::first(fake, Goal { target: 0.0, ..GOAL }).expect("nothing fails");
    for pause_ns in pauses_ns {
        assert!(pairs.wants_more());
        fake.now_ns += pause_ns;
        pairs.look(fake).expect("nothing fails");
    }
    pairs.found(fake).expect("nothing fails")
}

#[test]
fn looks_a_second_apart_are_visits_of_their_own() {
    let noisy = || Fake { every_second: 0.02, ..Fake::new(2e6, 1e6) };
    let rounds = looked_at_after(&[1e9, 4e9, 0.0, 1e9], &mut noisy());
    let row = looked_at_after(&[0.0; 4], &mut noisy());
    assert_eq!((rounds.builds, rounds.visits), (6, 4));
    assert_eq!((row.builds, row.visits), (6, 1));
    assert_eq!(rounds.log_ratios, row.log_ratios);
    // Builds of one visit may share less than several visits find.
    let half_width = |paired: &Paired| ratio(paired).ratio.half_width();
    assert!(half_width(&rounds) <= half_width(&row), "{rounds:?} {row:?}");
    assert!((rounds.seconds - row.seconds).abs() < 1e-3, "other cases take no time of the pair");
}

#[test]
fn a_pair_that_has_what_it_wants_is_not_looked_at_again() {
    let mut fake = Fake::new(2e6, 1e6);
    let mut pairs = Pairs::first(&mut fake, GOAL).expect("nothing fails");
    assert!(pairs.left_s() > 9.0);
    pairs.look(&mut fake).expect("nothing fails");
    assert!(!pairs.wants_more() && pairs.left_s() == 0.0);
}

#[test]
fn long_steps_are_not_repeated_for_the_cache() {
    let mut fake = Fake { drift: 0.001, ..Fake::new(1e9, 1e9) };
    let goal = Goal { budget_s: 60.0, target: 0.0, ..GOAL };
    let paired = paired(&mut fake, goal);
    assert_eq!((paired.builds, paired.log_ratios.len()), (7, 14));
    assert_eq!(fake.log.len(), 2 + 14 * 4);
}
