//! A/A: a case against itself, built a second time. Whatever is found is not there.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use criterion_torch::harness::Places;
use criterion_torch::harness::clock::{HostClock, Stopwatch, Timing, time};
use criterion_torch::harness::pairs::{Goal, Pairs, Side, Sides};
use criterion_torch::refusal::Refusal;
use criterion_torch::workload::{Workload, prepare};
use plan::{Case, Device, Plan};
use statistics::{Processor, Ratio, Verdict};

use crate::check::{Check, Finding};

pub const CHECK: Check = Check {
    name: "same",
    what: "every baseline of the default suite against itself, built twice",
    device: Device::Cpu,
    run,
};

pub const UPSTREAM: Check = Check {
    name: "upstream",
    what: "the same by the mean of 100 calls, one side after the other, as torchao measured",
    device: Device::Cpu,
    run: upstream,
};

/// Seconds for one pair, about what a default case takes by itself.
const BUDGET_S: f64 = 1.0;
/// A/A speed-ups within this are what a group owes.
const WITHIN: f64 = 0.02;

/// The plan of the `inference` target, as it was built.
pub fn plan() -> Plan {
    serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/inference.json")))
        .expect("the build script wrote it")
}

fn baselines() -> Vec<Case> {
    let groups = plan().groups.into_iter();
    let cases = groups.filter_map(|group| group.cases.into_iter().next());
    cases.filter(|case| case.device == Device::Cpu).collect()
}

fn step(workload: &dyn Workload) -> Result<(), Refusal> {
    drop(std::hint::black_box(workload.step()?));
    Ok(())
}

/// A case built twice.
struct Twins {
    id: String,
    sides: [Box<dyn Workload>; 2],
    places: Rc<RefCell<Places>>,
    wall: Stopwatch,
}

impl Twins {
    fn new(case: &Case, places: &Rc<RefCell<Places>>) -> Result<Self, Refusal> {
        let (id, sides) = (case.full_id(), [prepare(case)?, prepare(case)?]);
        Ok(Self { id, sides, places: Rc::clone(places), wall: Stopwatch::start() })
    }
}

impl Sides for Twins {
    fn batch(&mut self, side: Side, iters: u64) -> Result<Timing, Refusal> {
        let workload = &self.sides[side as usize];
        time(&mut HostClock, || step(workload.as_ref()), None, iters).map(Timing::waited_for)
    }

    fn rebuild(&mut self) -> Result<(), Refusal> {
        let sides = self.sides.each_ref().map(AsRef::as_ref);
        self.places.borrow_mut().rebuild(Device::Cpu, sides)
    }

    fn wall(&self) -> f64 {
        self.wall.seconds()
    }
}

/// The speed-up that all looks have found; a line says how.
fn ratio(twins: &mut Twins, pairs: &Pairs) -> Result<Ratio, String> {
    let paired = pairs.found(twins).map_err(|error| error.to_string())?;
    let ratio = paired.ratio.map_err(|none| format!("{none:?}"))?.ratio;
    eprintln!(
        "  {}: {:.4} [{:.4}, {:.4}], {} builds of {} blocks, {} visits, {:.2} s",
        twins.id,
        ratio.ratio,
        ratio.low,
        ratio.high,
        paired.builds,
        paired.log_ratios.len() / paired.builds,
        paired.visits,
        paired.seconds
    );
    Ok(ratio)
}

fn run() -> Result<Vec<Finding>, Refusal> {
    retain();
    tch::set_num_threads(1);
    let (mut findings, places) = (Vec::new(), Rc::default());
    let goal = Goal {
        target: plan::cost::DEFAULT_TARGET,
        budget_s: BUDGET_S,
        known: [None; 2],
        is_shared: false,
        on: Processor::Cpu,
    };
    let mut open = Vec::new();
    for case in baselines() {
        let first = Twins::new(&case, &places).and_then(|mut twins| {
            let pairs = Pairs::first(&mut twins, goal)?;
            Ok((twins, pairs))
        });
        match first {
            Ok(pair) => open.push(pair),
            Err(error) => findings.push(Finding::error(case.full_id(), error)),
        }
    }
    // In rounds, as pairs of a target are.
    while open.iter().any(|(_, pairs)| pairs.wants_more()) {
        for (twins, pairs) in open.iter_mut().filter(|(_, pairs)| pairs.wants_more()) {
            if let Err(error) = pairs.look(twins) {
                return Ok(vec![Finding::error(twins.id.clone(), error)]);
            }
        }
    }
    let mut ratios = Vec::new();
    for (twins, pairs) in &mut open {
        match ratio(twins, pairs) {
            Ok(ratio) => ratios.push(ratio),
            Err(error) => findings.push(Finding::error(twins.id.clone(), error)),
        }
    }
    findings.push(verdict(&ratios));
    Ok(findings)
}

fn verdict(ratios: &[Ratio]) -> Finding {
    let groups = ratios.len();
    let within = ratios.iter().filter(|it| (it.ratio - 1.0).abs() <= WITHIN).count();
    let is_called_different =
        |ratio: &&Ratio| matches!(statistics::verdict(ratio), Verdict::Faster | Verdict::Slower);
    let alarms = ratios.iter().filter(is_called_different).count();
    let hold = ratios.iter().filter(|it| (it.low..=it.high).contains(&1.0)).count();
    Finding::new(
        "A/A",
        format!(
            "{within} of {groups} groups within ±2 %, {alarms} called different; {hold} intervals \
             hold 1"
        ),
        "19 of 20 within ±2 %, at most 1 of 20 called different",
        within * 20 >= groups * 19 && alarms * 20 <= groups.max(20),
    )
}

/// Two identical linears, twelve times: how far apart means of 100 calls lie.
fn upstream() -> Result<Vec<Finding>, Refusal> {
    const TRIES: usize = 12;
    retain();
    let text = "model_params: { matrix_shapes: [{ name: custom, shapes: [[1, 4096, 4096]] }] }";
    let config = plan::Config::parse(Path::new("same.yml"), text).expect("a valid config");
    let case = plan::expand(&[config]).expect("a valid plan").groups.remove(0).cases.remove(0);
    let mut furthest: f64 = 0.0;
    for _ in 0..TRIES {
        let mean = || -> Result<f64, Refusal> {
            let workload = prepare(&case)?;
            let calls = || step(workload.as_ref());
            for _ in 0..100 {
                step(workload.as_ref())?;
            }
            let clock = &mut HostClock;
            Ok(time(clock, calls, None, 100)?.as_secs_f64())
        };
        furthest = furthest.max((mean()? / mean()? - 1.0).abs());
    }
    Ok(vec![Finding::new(
        "two identical linears 1x4096x4096",
        format!("up to {:.1} % apart in {TRIES} tries", furthest * 100.0),
        "whatever it is: this is the method that pairs replace",
        true,
    )])
}

/// The default of a case: freed memory stays mapped.
pub fn retain() {
    if let Err(error) = criterion_torch::native::allocator::retain() {
        eprintln!("note: freed memory is not retained: {error}");
    }
}
