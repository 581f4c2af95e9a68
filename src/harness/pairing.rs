//! A case and its baseline as the two sides of a pair, and what the record keeps of it.

use std::cell::RefCell;
use std::rc::Rc;

use plan::{Case, Device, Pair, PairAsCalled, Stop};
use statistics::{BuildsRatio, CONFIDENCE_LEVEL, quantile};

use super::case_run::{CaseRun, release};
use super::clock::{Stopwatch, Timing};
use super::pairs::{Called, Goal, Known, NoRatio, Paired, Pairs, Side, Sides};
use super::panics;
use super::ranges;
use super::throttle::SLOW;
use super::timer::Timer;
use crate::refusal::Refusal;
use crate::workload::{Displaced, Prepare, Workload};

/// Bytes of old memory that are kept from being handed out again, so that each build lies where none
/// has been.
const HELD_BYTES: u64 = 512 << 20;

/// The memory that earlier builds lay in.
#[derive(Default)]
pub struct Places(Vec<Displaced>);

impl Places {
    /// Builds workloads anew, in memory where none of the builds before has been.
    pub fn rebuild(&mut self, device: Device, sides: [&dyn Workload; 2]) -> Result<(), Refusal> {
        // The tensors that a step allocates get other pages, too.
        release(device);
        for workload in sides {
            self.0.extend(workload.rebuild()?);
        }
        let mut held: u64 = self.0.iter().map(|it| it.bytes).sum();
        while held > HELD_BYTES {
            held -= self.0.remove(0).bytes;
        }
        Ok(())
    }

    /// Gives the memory back.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

pub struct Both {
    timer: Rc<RefCell<Timer>>,
    baseline: Rc<RefCell<CaseRun>>,
    candidate: CaseRun,
    device: Device,
    /// The candidate's id.
    id: String,
    places: Rc<RefCell<Places>>,
    wall: Stopwatch,
    /// The side whose step failed.
    failed: Option<Side>,
}

/// The clock of the device's multiprocessors in each batch of either side, in MHz, where it tells.
type Clocks = [Vec<f64>; 2];

impl Both {
    /// `candidate`, a run of `case`, beside its group's baseline, under the group's timer; `places` are where earlier builds
    /// of this and other pairs lay.
    pub fn new(
        case: &Case,
        timer: Rc<RefCell<Timer>>,
        baseline: Rc<RefCell<CaseRun>>,
        candidate: CaseRun,
        places: Rc<RefCell<Places>>,
    ) -> Self {
        Self {
            timer,
            baseline,
            candidate,
            device: case.device,
            id: case.full_id(),
            places,
            wall: Stopwatch::start(),
            failed: None,
        }
    }

    /// The pilots and own paces of baseline and candidate, if they were sampled.
    fn known(&self) -> [Option<Known>; 2] {
        [&*self.baseline.borrow(), &self.candidate].map(|run| {
            let (pilot, alone_ns) = (run.pilot?, run.alone_ns?);
            Some(Known { pilot, alone_ns })
        })
    }

    fn take_clocks(&mut self) -> Clocks {
        let mut baseline = self.baseline.borrow_mut();
        [&mut baseline.subject, &mut self.candidate.subject].map(|it| it.take_clock_mhz())
    }

    /// Runs the two, and adds to `clocks` how fast the device's clock is meanwhile.
    fn run<T>(
        &mut self,
        clocks: &mut Clocks,
        take: impl FnOnce(&mut dyn Sides) -> Result<T, Refusal>,
    ) -> Result<T, String> {
        let _range = ranges::named(&self.id, "pair");
        // Clocks of the passes before it are not the pair's.
        drop(self.take_clocks());
        let taken = panics::catch(|| take(self));
        for (clocks, more) in clocks.iter_mut().zip(self.take_clocks()) {
            clocks.extend(more);
        }
        match taken {
            Ok(taken) => taken.map_err(|refusal| match self.failed {
                Some(Side::Baseline) => format!("its baseline, in turn with it: {refusal}"),
                _ => format!("in turn with its baseline: {refusal}"),
            }),
            Err(caught) => Err(caught.outcome().reason().unwrap_or_default().to_owned()),
        }
    }
}

/// A note on a side during whose batches the clock of the device's multiprocessors, in MHz, was not steady. That two sides
/// have two clocks is no fault: products that use the tensor cores lower it.
fn slowed(side: Side, mut clock_mhz: Vec<f64>) -> Option<String> {
    clock_mhz.sort_unstable_by(f64::total_cmp);
    // One batch in ten may be anything.
    let [low, high] = [0.1, 0.9].map(|share| quantile(&clock_mhz, share));
    let whose = match side {
        Side::Baseline => "the baseline",
        Side::Candidate => "it",
    };
    (low < SLOW * high).then(|| {
        format!(
            "the device's clock fell to {low:.0} MHz while {whose} was paired, from {high:.0} MHz"
        )
    })
}

impl Sides for Both {
    fn batch(&mut self, side: Side, iters: u64) -> Result<Timing, Refusal> {
        let mut timer = self.timer.borrow_mut();
        let taken = match side {
            Side::Baseline => timer.time(&mut self.baseline.borrow_mut().subject, iters),
            Side::Candidate => timer.time(&mut self.candidate.subject, iters),
        };
        self.failed = taken.is_err().then_some(side);
        taken
    }

    fn empty_cache(&mut self) -> Result<(), Refusal> {
        self.timer.borrow_mut().empty_l2()
    }

    fn rebuild(&mut self) -> Result<(), Refusal> {
        let baseline = self.baseline.borrow();
        let sides = [&baseline.subject, &self.candidate.subject].map(|it| it.workload.as_ref());
        self.places.borrow_mut().rebuild(self.device, sides)
    }

    fn heat_up(&mut self) -> Result<(), Refusal> {
        let baseline = &mut self.baseline.borrow_mut().subject;
        self.timer.borrow_mut().heat_up(&mut [baseline, &mut self.candidate.subject])
    }

    fn wall(&self) -> f64 {
        self.wall.seconds()
    }
}

/// A case that has been run in turn with its baseline, ready for another look.
pub struct Pairing {
    /// `None` while its tensors are dropped to free memory for other cases.
    both: Option<Both>,
    again: Again,
    pairs: Pairs,
    against: String,
    target: f64,
    clocks: Clocks,
    /// The notes that the record has of it.
    noted: Vec<String>,
}

/// Everything that rebuilding both sides needs.
pub struct Again {
    pub baseline: Case,
    pub candidate: Case,
    pub prepare: Prepare,
    pub timer: Rc<RefCell<Timer>>,
    pub places: Rc<RefCell<Places>>,
}

impl Again {
    fn build_both(&self) -> Result<Both, String> {
        let build = |case: &Case| {
            let built = panics::catch(|| CaseRun::rebuild(case, self.prepare, &self.timer));
            match built {
                Ok(built) => built.map_err(|refusal| format!("rebuilding it: {refusal}")),
                Err(caught) => Err(caught.outcome().reason().unwrap_or_default().to_owned()),
            }
        };
        let baseline = Rc::new(RefCell::new(build(&self.baseline)?));
        let (timer, places) = (Rc::clone(&self.timer), Rc::clone(&self.places));
        Ok(Both::new(&self.candidate, timer, baseline, build(&self.candidate)?, places))
    }
}

/// The time that a pair may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Time {
    /// All its looks together take at most this many seconds.
    Own(f64),
    /// Its equal share of a total budget, in seconds; undecided pairs get more than decided ones. Nothing has it wait until
    /// all cases have run.
    Shared(f64),
}

impl Pairing {
    /// Takes the first look at the two sides, which `again` can rebuild.
    pub fn first(mut both: Both, again: Again, target: f64, time: Time) -> Result<Self, String> {
        let (budget_s, is_shared) = match time {
            Time::Own(seconds) => (seconds, false),
            Time::Shared(seconds) => (seconds, true),
        };
        let on = again.baseline.device.into();
        let goal = Goal { target, budget_s, is_shared, known: both.known(), on };
        let mut clocks = Clocks::default();
        let pairs = both
            .run(&mut clocks, |sides| sides.heat_up().and_then(|()| Pairs::first(sides, goal)))?;
        let against = again.baseline.full_id();
        Ok(Self { both: Some(both), again, pairs, against, target, clocks, noted: Vec::new() })
    }

    /// Whether another look may narrow the interval, and there is time for one.
    pub fn wants_more(&self) -> bool {
        self.pairs.wants_more()
    }

    /// Whether it waits for its first look, in the time that others leave.
    pub fn is_waiting(&self) -> bool {
        self.wants_more() && !self.pairs.has_looks()
    }

    /// Whether it is beyond doubt that the speed-up is above 1, or that it is below 1.
    pub fn is_clear(&self) -> bool {
        self.pairs.is_clear()
    }

    /// Wall-clock seconds of one look.
    pub fn look_s(&self) -> f64 {
        self.pairs.look_s()
    }

    /// Wall seconds that further looks may take.
    pub fn left_s(&self) -> f64 {
        self.pairs.left_s()
    }

    /// Bytes that both sides keep in memory.
    pub fn bytes(&self) -> u64 {
        let of = |run: &CaseRun| {
            let workload = &run.subject.workload;
            workload.weights_bytes() + workload.inputs_bytes() + workload.outputs_bytes()
        };
        self.both.as_ref().map_or(0, |both| of(&both.baseline.borrow()) + of(&both.candidate))
    }

    /// Whether both sides are built.
    pub fn has_sides(&self) -> bool {
        self.both.is_some()
    }

    /// Drops both sides' tensors until the next look.
    pub fn drop_sides(&mut self) {
        self.both = None;
    }

    /// Another look.
    pub fn look(&mut self) -> Result<(), String> {
        let Self { both, again, pairs, clocks, .. } = self;
        let both = match both {
            Some(both) => both,
            none => none.insert(again.build_both()?),
        };
        both.run(clocks, |sides| sides.heat_up().and_then(|()| pairs.look(sides)))
    }

    /// The result of the looks so far, in the record's form.
    ///
    /// # Panics
    /// When the sides are dropped and no look has rebuilt them.
    pub fn found(&mut self) -> Result<Pair, String> {
        let Self { both, pairs, against, target, clocks, .. } = self;
        let both = both.as_mut().expect("a look has built both sides");
        let paired = both.run(clocks, |sides| pairs.found(sides))?;
        record(against.clone(), paired, *target)
    }

    /// Replaces the notes that it wrote for readers of the speed-up after earlier looks.
    pub fn note(&mut self, notes: &mut Vec<String>) {
        notes.retain(|note| !self.noted.contains(note));
        let [baseline, candidate] = self.clocks.clone();
        let slowed = [slowed(Side::Baseline, baseline), slowed(Side::Candidate, candidate)];
        self.noted = slowed.into_iter().flatten().chain(self.again.timer.borrow().note()).collect();
        notes.extend_from_slice(&self.noted);
    }
}

/// The record's form of what was paired.
fn record(against: String, paired: Paired, target: f64) -> Result<Pair, String> {
    let Paired { ratio, log_ratios, called, builds, visits, iters, steps_ns, reached, seconds } =
        paired;
    let BuildsRatio { ratio, within, between } = ratio.map_err(absent)?;
    Ok(Pair {
        against,
        speedup: ratio.ratio,
        low: ratio.low,
        high: ratio.high,
        confidence_level: CONFIDENCE_LEVEL,
        log_ratios,
        called: called.map(|Called { ratio, log_ratios, steps_ns }| PairAsCalled {
            speedup: ratio.ratio.ratio,
            low: ratio.ratio.low,
            high: ratio.ratio.high,
            log_ratios,
            steps_ns,
            within: ratio.within,
            between: ratio.between,
        }),
        builds: builds as u64,
        visits: visits as u64,
        within: Some(within),
        between: Some(between),
        iters,
        steps_ns: Some(steps_ns),
        batches_per_block: 4,
        target,
        stopped: if reached { Stop::Target } else { Stop::Budget },
        seconds,
    })
}

fn absent(why: NoRatio) -> String {
    match why {
        NoRatio::TooShort => {
            "the time budget was too short for an interval of the speed-up; raise \
             `sampling.measurement_s`, or --budget where the run has one"
                .to_owned()
        }
        NoRatio::Displaced { side, beside_ns, alone_ns } => {
            let (side, other) = match side {
                Side::Baseline => ("the baseline", "this case"),
                Side::Candidate => ("this case", "the baseline"),
            };
            format!(
                "in turn with {other}, a step of {side} takes {:.1} µs, alone {:.1} µs: they compete \
                 for a cache, and {side} does not get back to its own pace; compare the two times",
                beside_ns / 1e3,
                alone_ns / 1e3
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_fell_is_said_and_one_that_wavers_is_not() {
        let note = |clocks: &[f64]| slowed(Side::Baseline, clocks.to_vec());
        assert_eq!(note(&[]), None);
        assert_eq!(note(&[1980.0, 1965.0, 1860.0]), None);
        let mut one_of_many = [1980.0; 20];
        one_of_many[7] = 1200.0;
        assert_eq!(note(&one_of_many), None);
        let expected =
            "the device's clock fell to 1410 MHz while the baseline was paired, from 1980 MHz";
        assert_eq!(note(&[1410.0, 1980.0, 1410.0, 1980.0]).as_deref(), Some(expected));
    }
}
