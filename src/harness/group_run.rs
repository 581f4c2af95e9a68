//! One group of a plan: each selected case is prepared, sampled by criterion, probed by passes of
//! its own, and, if it is a candidate, paired with the group's baseline.

use std::rc::Rc;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId};
use plan::{Case, Device, LastSample, Outcome, Pair, Role, Stop};
use statistics::CONFIDENCE_LEVEL;

use super::args::{Args, Mode};
use super::case_run::{CaseRun, Findings};
use super::clock::Stopwatch;
use super::pairs::{self, Goal, Paired, Side, Sides};
use super::panics::{self, Caught};
use super::partner::Partner;
use super::throttle::{ThrottleProbe, Throttling};
use super::timer::{Subject, Timer};
use super::{passes, pilot, sampling};
use crate::measurement::conditions::ConditionsProbe;
use crate::measurement::counters::fault_warning;
use crate::measurement::nvml;
use crate::native::{allocator, is_out_of_memory};
use crate::workload::{Prepare, Refusal};

/// The group that is running.
pub struct GroupRun<'a> {
    baseline: &'a Case,
    partner: Partner,
    /// Whether a selected candidate will want the baseline later.
    wanted: bool,
    timer: Option<Timer>,
    args: Rc<Args>,
    prepare: Prepare,
}

/// Unwinds out of criterion's loop when a step fails; never shown.
struct Stopped;

impl<'a> GroupRun<'a> {
    /// A run of the group whose first case is `baseline`. `wanted`: candidates are selected.
    pub fn new(baseline: &'a Case, wanted: bool, args: Rc<Args>, prepare: Prepare) -> Self {
        Self { baseline, partner: Partner::NotYet, wanted, timer: None, args, prepare }
    }

    /// Takes one case through all its steps.
    pub fn case(
        &mut self,
        group: &mut BenchmarkGroup<'_, WallTime>,
        case: &Case,
    ) -> (Outcome, Findings) {
        let started = Stopwatch::start();
        let mut findings = Findings::default();
        let mut run = match self.prepared(case) {
            Ok(run) => run,
            Err(outcome) => {
                self.baseline_is_not_to_be_had(case, &outcome);
                return (outcome, findings);
            }
        };
        run.report(&mut findings);
        let outcome = self.sampled(group, case, &mut run, &mut findings);
        if outcome == Outcome::Measured {
            self.probed(case, &mut run.subject, &mut findings);
            if case.role == Role::Candidate {
                // At most as much again as the case itself.
                match self.paired(case, &mut run, started.seconds()) {
                    Ok(pair) => findings.pairs.push(pair),
                    Err(reason) => findings.no_pair = Some(reason),
                }
            }
        }
        if case.role == Role::Baseline && self.wanted {
            match &outcome {
                Outcome::Measured => self.partner = Partner::Ready(Box::new(run)),
                other => self.baseline_is_not_to_be_had(case, other),
            }
        }
        (outcome, findings)
    }

    fn baseline_is_not_to_be_had(&mut self, case: &Case, outcome: &Outcome) {
        if case.role == Role::Baseline {
            self.partner = Partner::Absent(format!("its baseline is {}", outcome.status()));
        }
    }

    /// Builds and checks the case. Where memory does not suffice beside the baseline, the baseline
    /// gives way.
    fn prepared(&mut self, case: &Case) -> Result<CaseRun, Outcome> {
        let first = self.prepared_beside(case);
        if matches!(first, Err(Outcome::Oom { .. })) && matches!(self.partner, Partner::Ready(_)) {
            let reason = "memory does not suffice for it and its baseline at once".to_owned();
            self.partner = Partner::Absent(reason);
            super::session::release(case.device);
            return self.prepared_beside(case);
        }
        first
    }

    fn prepared_beside(&mut self, case: &Case) -> Result<CaseRun, Outcome> {
        let (prepare, timer) = (self.prepare, &mut self.timer);
        settled(panics::catch(|| CaseRun::prepare(case, prepare, timer)))
    }

    /// Warms the case up and hands it to criterion.
    fn sampled(
        &mut self,
        group: &mut BenchmarkGroup<'_, WallTime>,
        case: &Case,
        run: &mut CaseRun,
        findings: &mut Findings,
    ) -> Outcome {
        let (args, timer) = (&*self.args, timer(&mut self.timer));
        let CaseRun { subject, pilot: found, .. } = run;
        let measures = args.mode == Mode::Measure;
        let planned = settled(panics::catch(|| -> Result<(), Refusal> {
            if measures {
                let wall = Stopwatch::start();
                let cap_s = sampling::warm_up_s(&case.settings, args);
                let mut batch = |iters| timer.time(subject, iters);
                let pilot = pilot::run(&mut batch, &|| wall.seconds(), cap_s)?;
                *found = Some(pilot);
                // In quick mode criterion has a plan of its own.
                if !args.quick {
                    findings.planned = Some(sampling::apply(group, &case.settings, args, pilot));
                }
            }
            Ok(())
        }));
        if let Err(outcome) = planned {
            return outcome;
        }
        let mut failure = None;
        let mut conditions = ConditionsProbe::start(case.device);
        // Without a driver's word nothing is discarded; the conditions say that it is not known.
        let mut probe = (case.device == Device::Cuda).then(|| nvml::open(0).ok()).flatten();
        let mut throttling = Throttling::default();
        let last_sample = &mut findings.last_sample;
        let bench = panics::catch(|| {
            group.bench_function(criterion_id(case), |bencher| {
                bencher.iter_custom(|iters| {
                    match throttling.sample(
                        probe.as_mut().map(|probe| probe as &mut dyn ThrottleProbe),
                        &mut std::thread::sleep,
                        &mut || timer.time(subject, iters),
                    ) {
                        Ok(taken) => {
                            let ns = u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX);
                            *last_sample = Some(LastSample { iters, ns });
                            // Between the samples, outside the clock.
                            conditions.read();
                            taken
                        }
                        Err(refusal) => {
                            failure = Some(refusal);
                            std::panic::resume_unwind(Box::new(Stopped))
                        }
                    }
                });
            });
        });
        let conditions = conditions.finish(throttling.discarded);
        findings.measures.conditions = Some(conditions).filter(|_| measures);
        findings.notes.extend(throttling.note());
        match (bench, failure) {
            (Ok(()), _) if measures => Outcome::Measured,
            (Ok(()), _) => Outcome::Tested,
            (Err(_), Some(refusal)) => refusal.into(),
            (Err(caught), None) => outcome_of_panic(caught),
        }
    }

    /// Everything that has a pass of its own. What goes wrong in one is the reason why it is
    /// absent.
    fn probed(&mut self, case: &Case, subject: &mut Subject, findings: &mut Findings) {
        let timer = timer(&mut self.timer);
        let Findings { measures, notes, .. } = findings;
        let probed = settled(panics::catch(|| passes::run(case, timer, subject, measures, notes)));
        if let Err(outcome) = probed {
            let reason = outcome.reason().unwrap_or_default();
            notes.push(format!("the passes after sampling were cut short: {reason}"));
        }
        let counters = measures.counters.as_ref();
        notes.extend(counters.and_then(|it| fault_warning(it, allocator::retention())));
    }

    /// The case against its baseline; at most `budget_s` seconds of it.
    fn paired(
        &mut self,
        case: &Case,
        candidate: &mut CaseRun,
        budget_s: f64,
    ) -> Result<Pair, String> {
        let baseline = self.partner.get(self.baseline, self.prepare, &mut self.timer)?;
        let timer = timer(&mut self.timer);
        let target = sampling::target(&case.settings);
        let pilots = [baseline.pilot, candidate.pilot];
        let goal = Goal { target, budget_s, hot: timer.is_hot(), pilots };
        let mut sides = Both {
            timer,
            baseline: &mut baseline.subject,
            candidate: &mut candidate.subject,
            wall: Stopwatch::start(),
        };
        let paired = settled(panics::catch(|| pairs::run(&mut sides, goal)))
            .map_err(|outcome| outcome.reason().unwrap_or_default().to_owned())?;
        pair(self.baseline.full_id(), paired, target)
    }
}

/// Baseline and candidate under one timer.
struct Both<'a> {
    timer: &'a mut Timer,
    baseline: &'a mut Subject,
    candidate: &'a mut Subject,
    wall: Stopwatch,
}

impl Sides for Both<'_> {
    fn batch(&mut self, side: Side, iters: u64) -> Result<std::time::Duration, Refusal> {
        let subject = match side {
            Side::Baseline => &mut *self.baseline,
            Side::Candidate => &mut *self.candidate,
        };
        self.timer.time(subject, iters)
    }

    fn wall(&self) -> f64 {
        self.wall.seconds()
    }
}

/// The record's form of what was paired.
fn pair(against: String, paired: Paired, target: f64) -> Result<Pair, String> {
    let Paired { ratio, log_ratios, batches_per_block, iters, reached, seconds } = paired;
    let ratio = ratio.ok_or_else(|| {
        let blocks = log_ratios.len();
        format!(
            "its time sufficed for {blocks} blocks beside its baseline, too few for an interval"
        )
    })?;
    Ok(Pair {
        against,
        speedup: ratio.ratio,
        low: ratio.low,
        high: ratio.high,
        confidence_level: CONFIDENCE_LEVEL,
        log_ratios,
        iters,
        batches_per_block,
        target,
        stopped: if reached { Stop::Target } else { Stop::Budget },
        seconds,
    })
}

/// The timer is made before the first case of the group is prepared.
fn timer(timer: &mut Option<Timer>) -> &mut Timer {
    timer.as_mut().expect("a case was prepared with it")
}

pub(super) fn criterion_id(case: &Case) -> BenchmarkId {
    BenchmarkId::new(case.id.variant.as_str(), &case.id.parameter)
}

/// A panic or a refusal as the outcome that it is.
fn settled<T>(result: Result<Result<T, Refusal>, Caught>) -> Result<T, Outcome> {
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(refusal)) => Err(refusal.into()),
        Err(caught) => Err(outcome_of_panic(caught)),
    }
}

fn outcome_of_panic(caught: Caught) -> Outcome {
    match caught {
        Caught::Panic(message) if is_out_of_memory(&message) => Outcome::Oom { reason: message },
        Caught::Panic(message) => Outcome::Failed { error: message },
        Caught::Other(payload) => std::panic::resume_unwind(payload),
    }
}
