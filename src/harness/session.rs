//! A run of one bench target: which cases are selected, how each ended, and what was written.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use plan::{Case, Device, LastSample, Outcome, Plan, Record, RunManifest, cost};

use super::args::{Args, Mode};
use super::case_run::{CaseRun, Findings, settle_allocator};
use super::panics::{self, Caught};
use super::progress::Progress;
use super::store::Store;
use crate::measurement;
use crate::native::allocator::{self, Retention};
use crate::native::{cuda, is_out_of_memory, numerics};
use crate::workload::{Prepare, Refusal};

/// A run in progress.
#[derive(Debug)]
pub struct Session {
    plan: Plan,
    args: Args,
    store: Store,
    manifest: RunManifest,
    progress: Progress,
    prepare: Prepare,
    failures: u64,
}

/// Unwinds out of criterion's loop when a step fails; never shown.
struct Stop;

impl Session {
    /// Selects cases, pins what can be pinned, and writes the manifest. Builds nothing.
    pub(super) fn start(
        target: &str,
        plan: Plan,
        args: Args,
        root: PathBuf,
        prepare: Prepare,
    ) -> Result<Self, String> {
        let selected = || plan.cases().filter(|case| args.selects(&case.full_id()));
        let expected: Vec<f64> = selected().map(cost::seconds).collect();
        let ids = selected().map(Case::full_id).collect();
        let measures = args.mode == Mode::Measure && !args.loads;
        let manifest = RunManifest {
            version: RunManifest::VERSION,
            run_id: format!("{target}-{}-{}", now().as_millis(), std::process::id()),
            target: target.to_owned(),
            baseline: args.saved_as.clone().filter(|_| measures),
            started: now().as_secs(),
            finished: None,
            args: std::env::args().skip(1).collect(),
            selected: ids,
            outcomes: BTreeMap::new(),
            running: None,
        };
        let saves = measures && args.saves;
        let store = Store::new(root, target, saves, args.saved_as.as_deref());
        let progress = Progress::new(&expected, measures);
        let session = Self { plan, args, store, manifest, progress, prepare, failures: 0 };
        if session.args.mode != Mode::List {
            numerics::pin().map_err(|error| error.to_string())?;
            session.write_manifest()?;
        }
        Ok(session)
    }

    /// Runs the selected cases of the group at `index` of the plan, siblings one after another.
    ///
    /// # Panics
    /// When criterion itself panics, for instance because `--baseline` names none.
    pub fn group(&mut self, criterion: &mut Criterion, index: usize) {
        let cases = std::mem::take(&mut self.plan.groups[index].cases);
        let Some(first) = cases.first() else { return };
        let mut group = criterion.benchmark_group(first.id.group.clone());
        for case in &cases {
            if self.args.mode == Mode::List || self.args.loads {
                // Criterion applies its own filter, and prints the id or reads saved samples.
                group.bench_function(criterion_id(case), |_| ());
            } else if self.args.selects(&case.full_id()) {
                self.case(&mut group, case);
            }
        }
        group.finish();
    }

    fn case(&mut self, group: &mut BenchmarkGroup<'_, WallTime>, case: &Case) {
        let full_id = case.full_id();
        self.progress.next(&full_id);
        // Written before anything can go wrong, so that a crash has a name.
        self.manifest.running = Some(full_id);
        let named = self.write_manifest();
        self.complain(named);
        let mut findings = Findings::default();
        let mut last_sample = None;
        let outcome = match panics::catch(|| self.prepare(case)) {
            Ok(Ok(mut run)) => {
                findings = run.findings.clone();
                self.apply_sampling(group, case);
                let outcome = self.measure(group, case, &mut run);
                last_sample = run.last_sample;
                outcome
            }
            Ok(Err(refusal)) => refusal.into(),
            Err(caught) => outcome_of_panic(caught),
        };
        self.end(case, outcome, findings, last_sample);
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

    /// Writes down how the case ended.
    fn end(
        &mut self,
        case: &Case,
        outcome: Outcome,
        findings: Findings,
        last_sample: Option<LastSample>,
    ) {
        self.progress.done(cost::seconds(case));
        *self.manifest.outcomes.entry(outcome.status().to_owned()).or_default() += 1;
        self.manifest.running = None;
        self.failures += u64::from(outcome.is_failure());
        if let Some(reason) = outcome.reason() {
            eprintln!("{}: {}: {reason}", case.id, outcome.status());
        }
        let measured = outcome == Outcome::Measured;
        let last_sample = last_sample.filter(|_| measured);
        // A record that cannot be written is a run that cannot be trusted: say so and fail.
        let written = self
            .record(case, outcome, findings, last_sample)
            .and_then(|record| self.store.append(&record).map_err(|error| error.to_string()));
        self.complain(written);
    }

    /// A file that cannot be written makes the run fail, but does not end it.
    fn complain(&mut self, written: Result<(), String>) {
        if let Err(error) = written {
            eprintln!("error: {error}");
            self.failures += 1;
        }
    }

    fn record(
        &self,
        case: &Case,
        outcome: Outcome,
        findings: Findings,
        last_sample: Option<LastSample>,
    ) -> Result<Record, String> {
        let allocator =
            measurement::allocator_label(case.settings.allocator, allocator::retention());
        let Findings { accuracy, memory, kernels } = findings;
        Ok(Record {
            version: Record::VERSION,
            full_id: case.full_id(),
            run_id: self.manifest.run_id.clone(),
            timestamp: now().as_secs(),
            case: case.clone(),
            outcome,
            kernels,
            last_sample,
            memory,
            accuracy,
            notes: notes(case, self.args.quick),
            environment: measurement::environment(case, allocator)
                .map_err(|error| error.to_string())?,
        })
    }

    /// Compacts the records, closes the manifest, and says how it went.
    pub(super) fn finish(mut self) -> Result<ExitCode, String> {
        if self.args.mode == Mode::List {
            return Ok(ExitCode::SUCCESS);
        }
        self.store.compact().map_err(|error| error.to_string())?;
        self.manifest.finished = Some(now().as_secs());
        self.write_manifest()?;
        let selected = self.manifest.selected.len();
        let counts: Vec<String> =
            self.manifest.outcomes.iter().map(|(status, n)| format!("{n} {status}")).collect();
        if selected > 0 {
            eprintln!("{}: {selected} cases: {}", self.manifest.target, counts.join(", "));
        }
        Ok(if self.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn write_manifest(&self) -> Result<(), String> {
        self.store.write_manifest(&self.manifest).map_err(|error| error.to_string())
    }
}

/// The case's tensors are gone; gives their memory back, so that the next case does not inherit it.
fn release(device: Device) {
    let released = match device {
        Device::Cuda if tch::Cuda::is_available() => cuda::empty_cache(),
        _ if allocator::retention() == Retention::Retained => allocator::release().map(drop),
        _ => Ok(()),
    };
    if let Err(error) = released {
        eprintln!("note: freed memory was not given back: {error}");
    }
}

fn criterion_id(case: &Case) -> BenchmarkId {
    BenchmarkId::new(case.id.variant.as_str(), &case.id.parameter)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn outcome_of_panic(caught: Caught) -> Outcome {
    match caught {
        Caught::Panic(message) if is_out_of_memory(&message) => Outcome::Oom { reason: message },
        Caught::Panic(message) => Outcome::Failed { error: message },
        Caught::Other(payload) => std::panic::resume_unwind(payload),
    }
}

/// What a reader of this case's numbers should know.
fn notes(case: &Case, quick: bool) -> Vec<String> {
    let quick = quick.then_some("--quick: two samples, no interval worth the name");
    let profiler = (case.profiling.profiler || case.profiling.memory)
        .then_some("profiler traces are not written by this version");
    quick.into_iter().chain(profiler).map(str::to_owned).collect()
}
