//! A run of one bench target: which cases are selected, and how each is taken through its steps.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use plan::{Allocator, Case, Device, Outcome, Plan, cost};

use super::args::{Args, Mode};
use super::case_run::{CaseRun, Findings, settle_allocator};
use super::journal::Journal;
use super::panics::{self, Caught};
use super::progress::Progress;
use super::saved;
use super::target_dir::Folders;
use crate::native::allocator::{self, Retention};
use crate::native::{cuda, is_out_of_memory, numerics};
use crate::workload::{self, Prepare, Refusal};

/// A run in progress.
#[derive(Debug)]
pub struct Session {
    plan: Plan,
    args: Args,
    /// Criterion's folder.
    criterion: PathBuf,
    journal: Journal,
    /// Only a measuring run is long enough to have any.
    progress: Option<Progress>,
    prepare: Prepare,
}

/// Unwinds out of criterion's loop when a step fails; never shown.
struct Stop;

impl Session {
    /// Selects cases, pins what can be pinned, and writes the manifest. Builds nothing.
    pub(super) fn start(
        target: &str,
        plan: Plan,
        args: Args,
        folders: Folders,
        prepare: Prepare,
    ) -> Result<Self, String> {
        let Folders { criterion, records } = folders;
        let selected: Vec<&Case> =
            plan.cases().filter(|case| args.selects(&case.full_id())).collect();
        let measures = args.mode == Mode::Measure && !args.loads();
        if args.mode == Mode::Measure {
            saved::check(&args.needs, &criterion, selected.iter().copied())?;
        }
        let expected = || selected.iter().map(|case| (case.full_id(), expected_s(case)));
        let progress = measures.then(|| Progress::new(expected()));
        let ids = selected.into_iter().map(Case::full_id).collect();
        let journal = Journal::new(target, &args, records, ids, measures);
        if args.mode != Mode::List {
            numerics::pin().map_err(|error| error.to_string())?;
            journal.open(plan.cases().count())?;
        }
        Ok(Self { plan, args, criterion, journal, progress, prepare })
    }

    /// The order in which to run the groups: those that want the system's allocator first, because
    /// once memory is retained, there is no way back.
    pub(super) fn order(&self) -> Vec<usize> {
        let retains = |index: &usize| {
            let cases = &self.plan.groups[*index].cases;
            cases.iter().any(|case| case.settings.allocator == Allocator::Retained)
        };
        let mut order: Vec<usize> = (0..self.plan.groups.len()).collect();
        if self.args.mode != Mode::List {
            order.sort_by_key(retains);
        }
        order
    }

    /// Runs the selected cases of the group at `index` of the plan, siblings one after another.
    ///
    /// # Panics
    /// When `index` is none of the plan.
    pub fn group(&mut self, criterion: &mut Criterion, index: usize) {
        let cases = std::mem::take(&mut self.plan.groups[index].cases);
        let Some(first) = cases.first() else { return };
        let mut group = criterion.benchmark_group(first.id.group.clone());
        for case in &cases {
            if self.args.mode == Mode::List {
                // Criterion applies its own filter and prints the id; nothing is run.
                group.bench_function(criterion_id(case), |_| ());
            } else if self.args.selects(&case.full_id()) {
                self.selected(&mut group, case);
            }
        }
        group.finish();
    }

    fn selected(&mut self, group: &mut BenchmarkGroup<'_, WallTime>, case: &Case) {
        if self.args.mode == Mode::Measure
            && let Some(name) = saved::missing(&self.args.needs, &self.criterion, case)
        {
            // Its record of an earlier run stays as it is.
            eprintln!("{}: passed over: it has no baseline `{name}`", case.id);
        } else if self.args.loads() {
            group.bench_function(criterion_id(case), |_| ());
        } else {
            self.case(group, case);
        }
        if let Some(progress) = &mut self.progress {
            progress.done(&case.full_id());
        }
    }

    fn case(&mut self, group: &mut BenchmarkGroup<'_, WallTime>, case: &Case) {
        let full_id = case.full_id();
        if let Some(progress) = &self.progress {
            progress.next(&full_id);
        }
        // Written before anything can go wrong, so that a crash has a name.
        self.journal.starts(&full_id);
        let mut findings = Findings::default();
        let mut last_sample = None;
        let outcome = match panics::catch(|| self.prepare(case)) {
            Ok(Ok(mut run)) => {
                findings = std::mem::take(&mut run.findings);
                self.apply_sampling(group, case);
                let outcome = self.measure(group, case, &mut run);
                last_sample = run.last_sample;
                outcome
            }
            Ok(Err(refusal)) => refusal.into(),
            Err(caught) => outcome_of_panic(caught),
        };
        self.journal.ends(case, outcome, findings, last_sample);
        release(case.device);
    }

    fn prepare(&self, case: &Case) -> Result<CaseRun, Refusal> {
        settle_allocator(case.settings.allocator);
        CaseRun::prepare(case, self.prepare)
    }

    /// Hands the prepared case to criterion.
    fn measure(
        &self,
        group: &mut BenchmarkGroup<'_, WallTime>,
        case: &Case,
        run: &mut CaseRun,
    ) -> Outcome {
        let mut failure = None;
        let bench = panics::catch(|| {
            group.bench_function(criterion_id(case), |bencher| {
                bencher.iter_custom(|iters| match run.sample(iters) {
                    Ok(taken) => taken,
                    Err(refusal) => {
                        failure = Some(refusal);
                        std::panic::resume_unwind(Box::new(Stop))
                    }
                });
            });
        });
        match (bench, failure) {
            (Ok(()), _) if self.args.mode == Mode::Measure => Outcome::Measured,
            (Ok(()), _) => Outcome::Tested,
            (Err(_), Some(refusal)) => refusal.into(),
            (Err(caught), None) => outcome_of_panic(caught),
        }
    }

    /// A config's budget, where the command line sets none.
    fn apply_sampling(&self, group: &mut BenchmarkGroup<'_, WallTime>, case: &Case) {
        let (sampling, overrides) = (case.settings.sampling, self.args.overrides);
        if !overrides.samples && !self.args.quick {
            let samples = sampling.samples.unwrap_or(cost::DEFAULT_SAMPLES);
            group.sample_size(usize::try_from(samples).unwrap_or(usize::MAX));
        }
        if !overrides.warm_up {
            let seconds = sampling.warm_up_s.unwrap_or(cost::DEFAULT_WARM_UP_S);
            group.warm_up_time(Duration::from_secs_f64(seconds));
        }
        if !overrides.measurement {
            let seconds = sampling.measurement_s.unwrap_or(cost::DEFAULT_MEASUREMENT_S);
            group.measurement_time(Duration::from_secs_f64(seconds));
        }
    }

    /// Closes the journal; the exit code says whether every case went well.
    pub(super) fn finish(self) -> Result<ExitCode, String> {
        match self.args.mode {
            Mode::List => Ok(ExitCode::SUCCESS),
            _ => self.journal.close(),
        }
    }
}

/// The case's tensors are gone; gives their memory back, so that the next case does not inherit it.
fn release(device: Device) {
    let on_host = match allocator::retention() {
        Retention::Retained => allocator::release().map(drop),
        Retention::System => Ok(()),
    };
    let on_device = match device {
        Device::Cuda if tch::Cuda::is_available() => cuda::empty_cache(),
        _ => Ok(()),
    };
    for error in [on_host, on_device].into_iter().filter_map(Result::err) {
        eprintln!("note: freed memory was not given back: {error}");
    }
}

/// How long a case is expected to take: nothing, if it will be refused before it starts.
fn expected_s(case: &Case) -> f64 {
    match workload::preflight(case) {
        Ok(()) => cost::seconds(case),
        Err(_) => 0.0,
    }
}

fn criterion_id(case: &Case) -> BenchmarkId {
    BenchmarkId::new(case.id.variant.as_str(), &case.id.parameter)
}

fn outcome_of_panic(caught: Caught) -> Outcome {
    match caught {
        Caught::Panic(message) if is_out_of_memory(&message) => Outcome::Oom { reason: message },
        Caught::Panic(message) => Outcome::Failed { error: message },
        Caught::Other(payload) => std::panic::resume_unwind(payload),
    }
}
