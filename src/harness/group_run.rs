//! One group of a plan: each selected case is prepared, sampled by criterion, probed by passes of
//! its own, and, if it is a candidate, paired with the group's baseline.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId};
use plan::{Case, Outcome, Role};

use super::args::{Action, Args};
use super::case_run::{CaseRun, Findings, release, timer_for};
use super::clock::Stopwatch;
use super::fault::Fault;
use super::judge::{Answer, failure, unjudged};
use super::pairing::{Again, Both, Pairing, Time};
use super::panics::{self, Caught};
use super::passes::{self, Passes};
use super::ranges;
use super::rounds::Rounds;
use super::running;
use super::samples::{Samples, Taken};
use super::timer::Timer;
use super::{pilot, sampling};
use crate::measurement::cautions;
use crate::measurement::conditions::ConditionsProbe;
use crate::measurement::counters::fault_warning;
use crate::measurement::gpu::is_power;
use crate::measurement::instruments;
use crate::native::allocator;
use crate::threads;
use crate::workload::{Prepare, Refusal};

pub struct GroupRun<'a> {
    baseline: &'a Case,
    partner: Partner,
    /// Whether a selected candidate will want the baseline later.
    wanted: bool,
    /// Why the case that is running has no pair, where that is known before.
    alone: Option<String>,
    timer: Option<Rc<RefCell<Timer>>>,
    /// The pair of the last case, if it should be looked at again.
    pairing: Option<Pairing>,
    args: Rc<Args>,
    prepare: Prepare,
    fault: Rc<Fault>,
}

/// Time of a pair over that of the case alone.
const PAIRS_SHARE: f64 = 0.8;

/// Unwinds out of criterion's loop when a step fails; never shown.
struct Stopped;

impl<'a> GroupRun<'a> {
    /// A run of the group whose first case is `baseline`. `wanted`: candidates are selected.
    pub fn new(
        baseline: &'a Case,
        wanted: bool,
        args: Rc<Args>,
        prepare: Prepare,
        fault: Rc<Fault>,
    ) -> Self {
        Self {
            baseline,
            partner: Partner::NotYet,
            wanted,
            alone: None,
            timer: None,
            pairing: None,
            args,
            prepare,
            fault,
        }
    }

    /// The pair of the case that was run last, if it should be looked at again; once.
    pub fn pairing(&mut self) -> Option<Pairing> {
        self.pairing.take()
    }

    pub fn case(
        &mut self,
        group: &mut BenchmarkGroup<'_, WallTime>,
        case: &Case,
        rounds: &mut Rounds,
    ) -> (Outcome, Findings) {
        let mut findings = Findings::default();
        findings.notes.extend(ranges::note());
        self.pairing = None;
        let mut outcome = self.steps(group, case, &mut findings, rounds);
        // Whatever it was that the time limit cut short, the others are not kept without it.
        if outcome == Outcome::Measured
            && let Err(refusal) = running::check()
        {
            findings.discard();
            self.pairing = None;
            outcome = refusal.into();
        }
        if outcome != Outcome::Measured {
            let status = outcome.status();
            passes::explain(&mut findings.measures, Some(&format!("the case is {status}")));
            if case.role == Role::Baseline {
                self.partner = Partner::Absent(format!("its baseline is {status}"));
            }
        }
        if outcome == Outcome::Measured {
            findings.notes.extend(cautions());
        }
        if let Some(error) = outcome.reason().or(findings.no_pair.as_deref()) {
            self.fault.look(case.device, &case.full_id(), error);
        }
        (outcome, findings)
    }

    fn steps(
        &mut self,
        group: &mut BenchmarkGroup<'_, WallTime>,
        case: &Case,
        findings: &mut Findings,
        rounds: &mut Rounds,
    ) -> Outcome {
        let mut watch = Stopwatch::start();
        self.alone = None;
        let mut run = match self.prepared(case, rounds) {
            Ok(run) => run,
            Err(outcome) => return outcome,
        };
        run.report(findings);
        findings.wall.prepare_s = watch.lap();
        let outcome = self.sampled(group, case, &mut run, findings);
        findings.wall.sampling_s = watch.lap();
        if outcome != Outcome::Measured {
            return outcome;
        }
        match self.args.is_connected {
            true => passes::explain(&mut findings.measures, Some(CONNECTED)),
            false => self.probed(case, &mut run, findings),
        }
        if !self.args.is_checked
            && let Err(outcome) = settled(panics::catch(|| run.subject.workload.recheck()))
        {
            // The output changed since the check: discard the timings.
            findings.discard();
            return outcome;
        }
        if let Err(outcome) = self.judged(case, &run, findings) {
            findings.discard();
            return outcome;
        }
        findings.wall.passes_s = watch.lap();
        match case.role {
            _ if self.args.is_connected => findings.no_pair = Some(CONNECTED.to_owned()),
            Role::Baseline if self.wanted => {
                self.partner = Partner::Ready(Rc::new(RefCell::new(run)))
            }
            Role::Baseline => {}
            Role::Candidate if is_emulated(case) => {
                findings.no_pair = Some(EMULATED.to_owned());
            }
            Role::Candidate => {
                // Hardly more than the case itself, unless more is asked for.
                let asked_s = sampling::asked_s(&case.settings, &self.args).unwrap_or_default();
                let time = match rounds.share_s() {
                    Some(share_s) => Time::Shared(share_s),
                    None => Time::Own((PAIRS_SHARE * findings.wall.seconds()).max(asked_s)),
                };
                if let Err(reason) = self.paired(case, run, time, rounds, findings) {
                    findings.no_pair = Some(reason);
                }
                findings.wall.pairs_s = watch.lap();
                // The record's environment is that of the case, not of its baseline.
                threads::settle(case.settings.threads);
            }
        }
        outcome
    }

    /// Builds and checks the case. When memory runs out, waiting pairs have their remaining looks now;
    /// when it still runs out, the baseline is dropped to make room.
    fn prepared(&mut self, case: &Case, rounds: &mut Rounds) -> Result<CaseRun, Outcome> {
        let mut run = self.prepared_beside(case);
        if matches!(run, Err(Outcome::Oom { .. })) && rounds.owed().0 > 0 {
            rounds.make_room();
            release(case.device);
            run = self.prepared_beside(case);
        }
        if matches!(run, Err(Outcome::Oom { .. })) && matches!(self.partner, Partner::Ready(_)) {
            // The next candidate may be smaller.
            self.partner = Partner::NotYet;
            self.alone = Some("memory is too small for it and its baseline at once".to_owned());
            release(case.device);
            return self.prepared_beside(case);
        }
        run
    }

    fn prepared_beside(&mut self, case: &Case) -> Result<CaseRun, Outcome> {
        if let Some(reason) = self.fault.reason(case.device) {
            return Err(Outcome::Skipped { reason });
        }
        let (prepare, timer) = (self.prepare, &mut self.timer);
        settled(panics::catch(|| match self.args.is_checked {
            true => CaseRun::rebuild(case, prepare, timer_for(case, timer)?),
            false => CaseRun::prepare(case, prepare, timer),
        }))
    }

    fn sampled(
        &mut self,
        group: &mut BenchmarkGroup<'_, WallTime>,
        case: &Case,
        run: &mut CaseRun,
        findings: &mut Findings,
    ) -> Outcome {
        let (args, mut timer) = (&*self.args, timer(&self.timer));
        let CaseRun { subject, pilot: found, alone_ns, .. } = run;
        let measures = args.action == Action::Measure;
        let planned = settled(panics::catch(|| -> Result<(), Refusal> {
            if measures {
                let _range = ranges::for_case(case, "warm-up");
                let wall = Stopwatch::start();
                let cap_s = sampling::warm_up_s(&case.settings, args);
                let mut batch = |iters| Ok(timer.time(subject, iters)?.device);
                let pilot = pilot::run(&mut batch, &|| wall.seconds(), cap_s)?;
                *found = Some(pilot);
                timer.heat_up(&mut [&mut *subject])?;
                // In quick mode criterion has a plan of its own.
                if !args.flags.quick {
                    findings.planned = Some(sampling::apply(group, &case.settings, args, pilot));
                }
            }
            Ok(())
        }));
        if let Err(outcome) = planned {
            return outcome;
        }
        let mut failure = None;
        let mut conditions = ConditionsProbe::start(instruments::readings(case.device));
        let wall = Stopwatch::start();
        let mut samples = Samples {
            take: &mut |iters| Ok(timer.time(subject, iters)?.device),
            read: &mut || conditions.read(),
            clock: &|| wall.seconds(),
            warm_up: sampling::CRITERIONS_WARM_UP,
        };
        let mut taken = Taken::default();
        let range = ranges::for_case(case, "sampling");
        let bench = panics::catch(|| {
            args.begin_line(case);
            group.bench_function(criterion_id(case), |bencher| {
                bencher.iter_custom(|iters| match samples.next(iters, &mut taken) {
                    Ok(time) => time,
                    Err(refusal) => {
                        args.end_line(taken.is_warm);
                        failure = Some(refusal);
                        std::panic::resume_unwind(Box::new(Stopped))
                    }
                });
            });
        });
        drop(range);
        // The samples of criterion's warm-up come first, and do not count.
        let mut clocks = subject.take_clock_mhz();
        let counted = clocks.split_off(clocks.len().saturating_sub(taken.steps_ns.len()));
        let (throttling, told) = (subject.throttling(), !counted.is_empty());
        let discarded = throttling.map_or(0, |it| it.discarded);
        let mut conditions = conditions.finish(discarded, counted);
        let power_was_limited = conditions.throttle_reasons.iter().any(|it| is_power(it));
        let clock_mhz = conditions.clock_mhz.filter(|_| told);
        conditions.regime = throttling.and_then(|it| it.regime(clock_mhz, power_was_limited));
        findings.measures.conditions = Some(conditions).filter(|_| measures);
        findings.notes.extend(sampling::ignored_regime(case));
        findings.last_sample = taken.last;
        *alone_ns = (!taken.steps_ns.is_empty()).then(|| statistics::median(&taken.steps_ns));
        // Criterion has its own view of how many steps a planned sample holds.
        if let (Some(planned), Some(last)) = (&mut findings.planned, taken.last) {
            planned.iters = last.iters;
        }
        match (bench, failure) {
            (Ok(()), _) if measures => Outcome::Measured,
            (Ok(()), _) => Outcome::Tested,
            (Err(_), Some(refusal)) => refusal.into(),
            (Err(caught), None) => caught.outcome(),
        }
    }

    /// Has a user's kernel judged.
    fn judged(&self, case: &Case, run: &CaseRun, findings: &mut Findings) -> Result<(), Outcome> {
        if case.work.kernel().is_none() || self.args.action != Action::Measure {
            return Ok(());
        }
        let absent = match (unjudged(case), &self.args.judge, run.alone_ns) {
            (Some(why), ..) => why.to_owned(),
            (None, Some(judge), Some(ns)) => match judge.ask(case, ns) {
                Ok(Answer::Judged(judged)) => {
                    let failed = failure(&judged);
                    findings.judged = Some(judged);
                    return failed.map_or(Ok(()), Err);
                }
                Ok(Answer::Unjudged(why)) => why,
                Err(error) => return Err(Outcome::Failed { error }),
            },
            (None, None, _) => "the run has no judge".to_owned(),
            (None, Some(_), None) => "it has no samples".to_owned(),
        };
        findings.measures.absent.insert("judged".to_owned(), absent);
        Ok(())
    }

    /// Runs everything that has a pass of its own. A pass that fails leaves its error as the reason why
    /// its measure is absent.
    fn probed(&mut self, case: &Case, run: &mut CaseRun, findings: &mut Findings) {
        let (quick, mut timer) = (self.args.flags.quick, timer(&self.timer));
        let Findings { measures, notes, .. } = findings;
        let step_s = run.pilot.map_or(0.0, |pilot| pilot.wall_ns / 1e9);
        let subject = &mut run.subject;
        let mut passes =
            Passes { case, quick, timer: &mut timer, subject, step_s, measures, notes };
        let cut_short = match panics::catch(|| passes.run()) {
            Ok(()) => None,
            Err(caught) => caught.outcome().reason().map(str::to_owned),
        };
        passes::explain(measures, cut_short.as_deref());
        let counters = measures.counters.as_ref();
        notes
            .extend(counters.and_then(|it| {
                fault_warning(it, allocator::retention(), allocator::replaced_by())
            }));
    }

    /// The case against its baseline, in its time, building a baseline that the filter left out aside.
    fn paired(
        &mut self,
        case: &Case,
        candidate: CaseRun,
        time: Time,
        rounds: &Rounds,
        findings: &mut Findings,
    ) -> Result<(), String> {
        if let Some(reason) = self.alone.take() {
            return Err(reason);
        }
        let baseline = self.partner.get(self.baseline, self.prepare, &mut self.timer)?;
        let timer = Rc::clone(self.timer.as_ref().expect("a case was prepared with it"));
        let again = Again {
            baseline: self.baseline.clone(),
            candidate: case.clone(),
            prepare: self.prepare,
            timer: Rc::clone(&timer),
            places: rounds.places(),
        };
        let both = Both::new(case, timer, baseline, candidate, rounds.places());
        let target = sampling::target(&case.settings);
        let mut pairing = Pairing::first(both, again, target, time)?;
        // A case with a time limit takes all its looks within that limit, unless the pairs share a total budget.
        let takes_all = running::has_limit() && matches!(time, Time::Own(_));
        while takes_all && pairing.wants_more() {
            pairing.look()?;
        }
        match pairing.found() {
            Ok(pair) => findings.pairs.push(pair),
            Err(reason) if pairing.is_waiting() => findings.no_pair = Some(reason),
            Err(reason) => return Err(reason),
        }
        pairing.note(&mut findings.notes);
        self.pairing = pairing.wants_more().then_some(pairing);
        Ok(())
    }
}

/// Why a case has nothing but samples, a check and a count of memory.
const CONNECTED: &str = "measured in lock-step with another revision, which takes times alone";

/// Why an emulated case has no pairs.
const EMULATED: &str = "emulated: this device has no products for the recipe and runs them dequantized, so its time says \
                        nothing about the recipe's speed";

fn is_emulated(case: &Case) -> bool {
    case.work.model().is_some_and(|work| work.variant.emulated)
}

/// The baseline as the other side of pairs.
enum Partner {
    /// Not prepared yet: the filter left it out, and no candidate has asked for it.
    NotYet,
    Ready(Rc<RefCell<CaseRun>>),
    Absent(String),
}

impl Partner {
    /// The baseline, prepared now if it was not before; otherwise why there is none.
    fn get(
        &mut self,
        baseline: &Case,
        prepare: Prepare,
        timer: &mut Option<Rc<RefCell<Timer>>>,
    ) -> Result<Rc<RefCell<CaseRun>>, String> {
        if matches!(self, Self::NotYet) {
            *self = match panics::catch(|| CaseRun::prepare(baseline, prepare, timer)) {
                Ok(Ok(run)) => Self::Ready(Rc::new(RefCell::new(run))),
                // Beside another candidate there may be room, or time.
                Ok(Err(refusal @ (Refusal::Oom(_) | Refusal::Timeout(_)))) => {
                    return Err(format!("its baseline: {refusal}"));
                }
                Ok(Err(refusal)) => Self::Absent(format!("its baseline: {refusal}")),
                Err(Caught::Panic(message)) => {
                    Self::Absent(format!("its baseline failed: {message}"))
                }
                Err(Caught::Other(payload)) => std::panic::resume_unwind(payload),
            };
        }
        match self {
            Self::Ready(run) => Ok(Rc::clone(run)),
            Self::Absent(reason) => Err(reason.clone()),
            Self::NotYet => Err("its baseline was not prepared".to_owned()),
        }
    }
}

/// The timer is made before the first case of the group is prepared.
fn timer(timer: &Option<Rc<RefCell<Timer>>>) -> RefMut<'_, Timer> {
    timer.as_ref().expect("a case was prepared with it").borrow_mut()
}

pub(super) fn criterion_id(case: &Case) -> BenchmarkId {
    BenchmarkId::new(case.id.variant.as_str(), &case.id.parameter)
}

/// A panic or a refusal as the outcome that it is.
fn settled<T>(result: Result<Result<T, Refusal>, Caught>) -> Result<T, Outcome> {
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(refusal)) => Err(refusal.into()),
        Err(caught) => Err(caught.outcome()),
    }
}
