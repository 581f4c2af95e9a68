use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use criterion::Criterion;
use plan::{Accuracy, Case, Outcome, Record};
use tch::{Kind, Tensor};

use super::*;
use crate::harness::args::Args;
use crate::harness::budget::Budget;
use crate::harness::case_run::CaseRun;
use crate::harness::group_run::GroupRun;
use crate::harness::pairing::{Again, Both, Pairing, Time};
use crate::harness::rounds::Rounds;
use crate::harness::timer::{Subject, Timer};
use crate::measurement;
use crate::refusal::Refusal;
use crate::verify::Distance;
use crate::workload::{Displaced, Workload};

const ERROR: &str = "CUDA error: an illegal memory access was encountered";

thread_local! {
    /// The error that the device reports; none while it works.
    static DEVICE: RefCell<Option<native::Error>> = const { RefCell::new(None) };
    /// Cases that were prepared.
    static PREPARED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn synchronize() -> Result<(), native::Error> {
    DEVICE.with_borrow(|error| error.clone().map_or(Ok(()), Err))
}

/// The device works so far.
fn fault() -> Fault {
    DEVICE.set(None);
    Fault::new(synchronize)
}

/// From now on each call fails.
fn fail() -> Refusal {
    DEVICE.set(Some(native::Error::Torch(ERROR.to_owned())));
    Refusal::Failed(ERROR.to_owned())
}

/// One group on each device.
fn groups() -> Vec<Vec<Case>> {
    let configs = ["cuda", "cpu"].map(|device| {
        let text = format!(
            "
quantization_config_recipe_names: [int8wo, int8dq]
packed: false
allocator: system
model_params:
  device: {device}
  matrix_shapes: [{{ name: custom, shapes: [[1, 1, 1]] }}]
"
        );
        let name = format!("{device}.yml");
        plan::Config::parse(Path::new(&name), &text).expect("a valid config")
    });
    let plan = plan::expand(&configs).expect("a valid plan");
    plan.groups.into_iter().map(|group| group.cases).collect()
}

#[test]
fn an_error_that_stays_is_that_of_the_first_case() {
    let fault = fault();
    fault.look(Device::Cuda, "a/passing/error", "CUDA error: invalid configuration argument");
    assert_eq!(fault.reason(Device::Cuda), None, "the device went on");
    let Refusal::Failed(error) = fail() else { unreachable!() };
    fault.look(Device::Cpu, "on/the/host", &error);
    assert_eq!(fault.reason(Device::Cuda), None, "it does not use the device");
    fault.look(Device::Cuda, "the/culprit", &error);
    fault.look(Device::Cuda, "a/later/one", &error);
    let expected = format!(
        "cuda: every call has failed since `the/culprit`: {ERROR}; run the other cases without that one"
    );
    assert_eq!(fault.reason(Device::Cuda), Some(expected));
    assert_eq!(fault.reason(Device::Cpu), None);
}

#[test]
fn the_cases_after_it_are_skipped_and_those_of_the_host_run() {
    fn prepare(case: &Case) -> Result<Box<dyn Workload>, Refusal> {
        PREPARED.with_borrow_mut(|ids| ids.push(case.full_id()));
        Err(match (case.device, case.id.variant.as_str()) {
            (Device::Cuda, "int8wo") => fail(),
            _ => Refusal::Failed("this one goes wrong by itself".to_owned()),
        })
    }
    let groups = groups();
    let fault = Rc::new(fault());
    let mut criterion = Criterion::default().without_plots();
    let mut rounds = Rounds::new(Rc::clone(&fault), None, false);
    let args = Rc::new(Args::read(["target", "--bench"].map(str::to_owned)).expect("arguments"));
    let mut outcomes = Vec::new();
    for cases in &groups {
        let (args, fault) = (Rc::clone(&args), Rc::clone(&fault));
        let mut run = GroupRun::new(&cases[0], true, args, prepare, fault);
        let mut group = criterion.benchmark_group(cases[0].id.group.clone());
        for case in cases {
            outcomes.push((case.full_id(), run.case(&mut group, case, &mut rounds).0));
        }
        group.finish();
    }
    let [_, (culprit, culprits), (skipped, reason), host @ ..] = &outcomes[..] else {
        panic!("{outcomes:?}")
    };
    assert_eq!(culprits, &Outcome::Failed { error: ERROR.to_owned() });
    let Outcome::Skipped { reason } = reason else { panic!("{reason:?}") };
    assert!(reason.contains(&format!("since `{culprit}`: {ERROR}")), "{reason}");
    assert_eq!(host.len(), 3);
    assert!(host.iter().all(|(_, outcome)| outcome.status() == "failed"), "{host:?}");
    let prepared = PREPARED.take();
    assert_eq!(prepared.len(), 5, "{prepared:?}");
    assert!(!prepared.contains(skipped), "{prepared:?}");
}

/// A step on the host, whatever the case says; built anew the second time, it fails.
struct Step {
    input: Tensor,
    fails: bool,
    rebuilt: Cell<u64>,
}

impl Workload for Step {
    fn step(&self) -> Result<Tensor, Refusal> {
        Ok(self.input.f_mm(&self.input)?)
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        Ok(exact())
    }

    fn rebuild(&self) -> Result<Option<Displaced>, Refusal> {
        self.rebuilt.set(self.rebuilt.get() + 1);
        if self.fails && self.rebuilt.get() > 1 { Err(fail()) } else { Ok(None) }
    }

    fn weights_bytes(&self) -> u64 {
        0
    }

    fn inputs_bytes(&self) -> u64 {
        0
    }

    fn kernels(&self) -> Vec<String> {
        vec![]
    }
}

fn exact() -> Accuracy {
    Distance::from_pairs([(1.0, 1.0)]).accuracy(0.0, 1)
}

/// One side of a pair; `fails` when it is looked at again.
fn side(case: &Case, fails: bool) -> CaseRun {
    let input = Tensor::ones([16, 16], (Kind::Float, tch::Device::Cpu));
    let step = Step { input, fails, rebuilt: Cell::new(0) };
    CaseRun {
        subject: Subject::new(Box::new(step), case.settings.threads),
        accuracy: Some(exact()),
        first_call_ns: Some(0),
        memory: Err("not counted".to_owned()),
        pilot: None,
        alone_ns: None,
    }
}

/// The case of a pair that was looked at once, as it is written down.
fn record(case: &Case, pairing: &mut Pairing) -> Record {
    let environment = measurement::environment(case, "system", None).expect("libtorch answers");
    let mut record: Record = serde_json::from_value(serde_json::json!({
        "version": Record::VERSION,
        "full_id": case.full_id(),
        "run_id": "",
        "timestamp": 0,
        "case": case,
        "outcome": Outcome::Measured,
        "environment": environment,
    }))
    .expect("a record");
    record.pairs.push(pairing.found().expect("a speed-up"));
    record
}

fn again(baseline: &Case, case: &Case, timer: &Rc<RefCell<Timer>>, rounds: &Rounds) -> Again {
    Again {
        baseline: baseline.clone(),
        candidate: case.clone(),
        prepare: |_| {
            let input = Tensor::ones([16, 16], (Kind::Float, tch::Device::Cpu));
            Ok(Box::new(Step { input, fails: false, rebuilt: Cell::new(0) }))
        },
        timer: Rc::clone(timer),
        places: rounds.places(),
    }
}

#[test]
fn sides_that_made_room_are_built_once_more() {
    let groups = groups();
    let on_host = &groups[1];
    let case = &on_host[1];
    let budget = Budget::new(3600.0, &[]);
    let mut rounds = Rounds::new(Rc::default(), Some(budget), false);
    let timer = Rc::new(RefCell::new(Timer::for_case(&on_host[0]).expect("the host has a clock")));
    let baseline = Rc::new(RefCell::new(side(case, false)));
    let again = again(&on_host[0], case, &timer, &rounds);
    let both = Both::new(case, timer, baseline, side(case, false), rounds.places());
    let mut pairing = Pairing::first(both, again, 0.5, Time::Shared(1.0)).expect("a first look");
    rounds.keep(record(case, &mut pairing), Some(pairing));
    rounds.make_room();
    assert_eq!(rounds.owed(), (1, 0.0), "it waits, and no time is its own");
    rounds.run();
    let records = rounds.done();
    let last = records.last().expect("it is written down after each look");
    assert!(last.pairs[0].builds > 2, "{last:?}");
    // On a busy machine the interval may still be wide after the last look.
    let is_decided = last.pairs[0].stopped == plan::Stop::Target;
    assert_eq!(rounds.undecided().is_empty(), is_decided, "{last:?}");
}

#[test]
fn pairs_that_are_slower_than_a_sibling_get_no_more_looks() {
    let groups = groups();
    let [siblings, on_host] = &groups[..] else { panic!("{} groups", groups.len()) };
    let timer = Rc::new(RefCell::new(Timer::for_case(&on_host[0]).expect("the host has a clock")));
    for (fastest, expected) in [(false, [1, 2, 3]), (true, [0, 1, 1])] {
        let budget = Budget::new(3600.0, &[]);
        let mut rounds = Rounds::new(Rc::default(), Some(budget), fastest);
        let speedups = [(&siblings[1], 0.9), (&siblings[2], 2.0), (&siblings[1], 1.9)];
        for ((case, speedup), expected) in speedups.into_iter().zip(expected) {
            let baseline = Rc::new(RefCell::new(side(case, false)));
            let again = again(&siblings[0], case, &timer, &rounds);
            let both =
                Both::new(case, Rc::clone(&timer), baseline, side(case, false), rounds.places());
            let mut pairing =
                Pairing::first(both, again, 0.5, Time::Shared(1.0)).expect("a first look");
            let mut record = record(case, &mut pairing);
            let pair = &mut record.pairs[0];
            (pair.speedup, pair.low, pair.high) = (speedup, speedup * 0.97, speedup * 1.03);
            rounds.keep(record, Some(pairing));
            assert_eq!(rounds.owed().0, expected, "{fastest} {speedup}");
        }
    }
}

#[test]
fn what_a_spent_budget_leaves_is_undecided() {
    let groups = groups();
    let on_host = &groups[1];
    let case = &on_host[1];
    let budget = Budget::new(0.0, &[]);
    let mut rounds = Rounds::new(Rc::default(), Some(budget), false);
    let timer = Rc::new(RefCell::new(Timer::for_case(&on_host[0]).expect("the host has a clock")));
    let baseline = Rc::new(RefCell::new(side(case, false)));
    let again = again(&on_host[0], case, &timer, &rounds);
    let both = Both::new(case, timer, baseline, side(case, false), rounds.places());
    let mut pairing = Pairing::first(both, again, 0.5, Time::Shared(1.0)).expect("a first look");
    rounds.keep(record(case, &mut pairing), Some(pairing));
    rounds.run();
    let [undecided] = &rounds.undecided()[..] else { panic!("one pair") };
    assert_eq!(undecided.full_id, case.full_id());
    assert!(undecided.interval.is_some_and(|(low, high)| low <= high));
}

#[test]
fn pairs_on_a_device_that_fails_keep_their_first_look() {
    let groups = groups();
    let [on_cuda, on_host] = &groups[..] else { panic!("{} groups", groups.len()) };
    let mut rounds = Rounds::new(Rc::new(fault()), None, false);
    for (case, fails) in [(&on_cuda[1], true), (&on_cuda[2], false), (&on_host[1], false)] {
        // Both sides run on the host, under its clock; only the case says that they do not.
        let timer =
            Rc::new(RefCell::new(Timer::for_case(&on_host[0]).expect("the host has a clock")));
        let baseline = Rc::new(RefCell::new(side(case, false)));
        let again = again(&on_host[0], case, &timer, &rounds);
        let both = Both::new(case, timer, baseline, side(case, fails), rounds.places());
        let mut pairing = Pairing::first(both, again, 0.5, Time::Own(60.0)).expect("a first look");
        assert!(pairing.wants_more());
        rounds.keep(record(case, &mut pairing), Some(pairing));
    }
    rounds.run();
    let records = rounds.done();
    let found = |case: &Case| {
        let record = records.iter().find(|record| record.full_id == case.full_id());
        record.expect("each is written down again")
    };
    let culprit = found(&on_cuda[1]);
    assert!(culprit.pairs.is_empty(), "{culprit:?}");
    assert!(culprit.no_pair.as_ref().is_some_and(|reason| reason.ends_with(ERROR)), "{culprit:?}");
    let kept = found(&on_cuda[2]);
    let [pair] = &kept.pairs[..] else { panic!("{kept:?}") };
    assert_eq!((pair.builds, pair.visits, &kept.no_pair), (2, 1, &None));
    let [note] = &kept.notes[..] else { panic!("{kept:?}") };
    assert!(note.contains(&format!("since `{}`", culprit.full_id)), "{note}");
    let on_host = found(&on_host[1]);
    assert!(on_host.pairs[0].builds > 2 && on_host.notes.is_empty(), "{on_host:?}");
}
