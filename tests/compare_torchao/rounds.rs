//! Two sides in turn, and what is made of their times.

use std::cell::RefCell;
use std::time::Duration;

use statistics::{MIN_BLOCKS, Ratio};

use crate::torchao::rounds::{Contender, Goal, Verdict, WARM_UP, compare};

/// A side whose calls take as long as is said, and that writes down its batches.
struct Fake<'a> {
    name: char,
    call: Duration,
    log: &'a RefCell<Vec<(char, u64, u64)>>,
}

impl<'a> Fake<'a> {
    fn new(name: char, call: Duration, log: &'a RefCell<Vec<(char, u64, u64)>>) -> Self {
        Self { name, call, log }
    }
}

impl Contender for Fake<'_> {
    fn time(&mut self, lead_in: u64, calls: u64) -> Result<Duration, String> {
        self.log.borrow_mut().push((self.name, lead_in, calls));
        Ok(self.call * u32::try_from(calls).expect("few calls"))
    }
}

const GOAL: Goal = Goal { target: 0.01, budget_s: 60.0 };

#[test]
fn blocks_alternate_and_the_ratio_is_ours_over_theirs() {
    let log = RefCell::default();
    let mut ours = Fake::new('o', Duration::from_millis(3), &log);
    let mut theirs = Fake::new('t', Duration::from_millis(5), &log);
    let found = compare(&mut ours, &mut theirs, GOAL).expect("nothing fails");
    assert!((found.ratio.ratio - 0.6).abs() < 1e-9, "{found:?}");
    assert_eq!((found.ours_ns, found.theirs_ns, found.blocks), (3e6, 5e6, MIN_BLOCKS));

    let log = log.into_inner();
    let blocks = &log[log.len() - 4 * MIN_BLOCKS..];
    let order: String = blocks.iter().map(|(name, ..)| name).collect();
    assert_eq!(order, "ottotoot".repeat(MIN_BLOCKS / 2));
    for &(name, lead_in, calls) in blocks {
        assert_eq!((lead_in, calls), if name == 'o' { (2, 10) } else { (1, 6) });
    }
}

#[test]
fn a_side_is_warmed_up_once_and_its_calls_make_a_batch() {
    for (call, calls) in [
        (Duration::from_nanos(500), 60_000_u64),
        (Duration::from_micros(30), 1000),
        (Duration::from_millis(100), 1),
    ] {
        let log = RefCell::default();
        let (mut ours, mut theirs) = (Fake::new('o', call, &log), Fake::new('t', call, &log));
        compare(&mut ours, &mut theirs, GOAL).expect("nothing fails");
        let ours: Vec<_> = log.borrow().iter().filter(|(name, ..)| *name == 'o').copied().collect();
        let (pilot, batches) = ours.split_at(ours.len() - 2 * MIN_BLOCKS);
        assert_eq!(pilot[0], ('o', WARM_UP, 1));
        assert!(pilot[1..].iter().all(|(_, lead_in, _)| *lead_in == 0), "{pilot:?}");
        assert!(batches.iter().all(|batch| *batch == ('o', calls.div_ceil(8), calls)));
    }
}

#[test]
fn without_time_the_fewest_blocks_are_taken() {
    struct Noisy(u32);
    impl Contender for Noisy {
        fn time(&mut self, _: u64, calls: u64) -> Result<Duration, String> {
            self.0 = self.0 * 1_103 % 9_973;
            Ok(Duration::from_micros(u64::from(self.0)) * u32::try_from(calls).expect("few"))
        }
    }
    let goal = Goal { target: 0.0, budget_s: 0.0 };
    let found = compare(&mut Noisy(17), &mut Noisy(4_711), goal).expect("nothing fails");
    assert_eq!(found.blocks, MIN_BLOCKS);
    assert!(found.ratio.low < found.ratio.high);
}

/// Above what is allowed: widely spread for so many batches, then hardly at all.
struct Calming {
    batches: u32,
    wild: u32,
}

impl Contender for Calming {
    fn time(&mut self, _: u64, calls: u64) -> Result<Duration, String> {
        const SPREAD: [u64; 7] = [1_300, 900, 1_250, 950, 1_000, 1_200, 1_100];
        let step = self.batches as usize;
        self.batches += 1;
        let nanos = if self.batches > self.wild { 1_090 } else { SPREAD[step % SPREAD.len()] };
        Ok(Duration::from_micros(30 * nanos) * u32::try_from(calls).expect("few"))
    }
}

#[test]
fn what_is_above_and_not_surely_is_sampled_on() {
    let compared = |wild, budget_s| {
        let log = RefCell::default();
        let mut theirs = Fake::new('t', Duration::from_millis(30), &log);
        let goal = Goal { target: 1.0, budget_s };
        compare(&mut Calming { batches: 0, wild }, &mut theirs, goal).expect("nothing fails")
    };
    let hasty = compared(20, 0.0);
    assert_eq!((Verdict::from_ratio(&hasty.ratio), hasty.blocks), (Verdict::Undecided, MIN_BLOCKS));
    let patient = compared(20, 60.0);
    assert_eq!(Verdict::from_ratio(&patient.ratio), Verdict::Slower, "{patient:?}");
    assert!(patient.blocks > MIN_BLOCKS, "{patient:?}");
    // A result that is certain at once takes no more blocks.
    assert_eq!(compared(0, 60.0).blocks, MIN_BLOCKS);
}

#[test]
fn a_verdict_is_about_the_ratio_and_its_lower_bound() {
    for (low, ratio, high, verdict) in [
        (0.90, 0.95, 1.00, Verdict::Within),
        (1.00, 1.05, 1.10, Verdict::Within),
        (1.04, 1.20, 1.36, Verdict::Undecided),
        (1.05, 1.06, 1.07, Verdict::Undecided),
        (1.06, 1.07, 1.08, Verdict::Slower),
    ] {
        assert_eq!(
            Verdict::from_ratio(&Ratio { ratio, low, high }),
            verdict,
            "{ratio} [{low}, {high}]"
        );
    }
}

#[test]
fn the_error_of_a_side_ends_it() {
    struct Broken;
    impl Contender for Broken {
        fn time(&mut self, _: u64, _: u64) -> Result<Duration, String> {
            Err("it broke".to_owned())
        }
    }
    let log = RefCell::default();
    let mut fine = Fake::new('f', Duration::from_millis(1), &log);
    let error = compare(&mut fine, &mut Broken, GOAL).expect_err("one is broken");
    assert_eq!(error, "it broke");
}
