//! The records of a run: how each case ended, with its measures and circumstances.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plan::{Case, Check, Outcome, Quiet, Record, RunManifest, WallTimes, exit};
use regex::Regex;

use super::args::Args;
use super::case_run::Findings;
use super::failure::Failure;
use super::lock::Run;
use super::profiling::Wanted;
use super::store::Store;
use crate::measurement;
use crate::native::allocator;
use crate::threads;

/// The records and the manifest of one run.
#[derive(Debug)]
pub struct Journal {
    store: Store,
    manifest: RunManifest,
    quiet: Option<Quiet>,
    failures: u64,
    /// Whether no option changes how long cases take.
    as_configured: bool,
    /// `--profile`.
    profiles: Option<Regex>,
    /// The records of measured cases that ask for a profile.
    to_profile: Vec<(Record, Wanted)>,
}

impl Journal {
    /// A journal for the cases with the ids `selected`, of which those `resumed` were measured before; nothing is written
    /// yet.
    pub fn new(
        run: &Run,
        args: &Args,
        root: PathBuf,
        selected: Vec<String>,
        resumed: &HashSet<String>,
        measures: bool,
    ) -> Self {
        let resumed = selected.iter().filter(|id| resumed.contains(*id)).cloned().collect();
        let manifest = RunManifest {
            version: RunManifest::VERSION,
            run_id: run.run_id.clone(),
            target: run.target.clone(),
            baseline: args.saved_as.clone().filter(|_| measures),
            started: run.started,
            finished: None,
            args: std::env::args().skip(1).collect(),
            filter: args.filter().map(str::to_owned),
            exact: args.is_exact(),
            shard: args.part.as_ref().map(|part| part.shard.clone()),
            merged: false,
            selected,
            resumed,
            checks: Vec::new(),
            warnings: Vec::new(),
            outcomes: BTreeMap::new(),
        };
        let store = Store::new(
            root,
            &run.target,
            measures,
            measures && args.saves,
            args.saved_as.as_deref(),
        );
        let profiles = args.profiles.clone();
        let as_configured = args.leaves_times();
        Self {
            store,
            manifest,
            quiet: None,
            failures: 0,
            as_configured,
            profiles,
            to_profile: vec![],
        }
    }

    /// Keeps how quiet the machine is, for every record, and what was asked of it; says what stands
    /// in the way of good numbers.
    pub fn machine(&mut self, quiet: Quiet, checks: Vec<Check>) {
        self.quiet = Some(quiet);
        for check in &checks {
            if let Some(warning) = check.warning() {
                let status = check.status.as_str().to_uppercase();
                eprintln!("{}: {status} {warning}", self.manifest.target);
                self.manifest.warnings.push(warning);
            }
        }
        self.manifest.checks = checks;
    }

    /// Has a case profiled that an earlier run has measured.
    pub fn profile(&mut self, unprofiled: Vec<(Record, Wanted)>) {
        self.to_profile = unprofiled;
    }

    /// Writes the manifest of a run that measures.
    pub fn open(&self) -> Result<(), Failure> {
        self.store.write_manifest(&self.manifest).map_err(|error| not_stored(&error))
    }

    /// Removes what says which case was running when an earlier run ended. No other run may be in
    /// progress.
    pub fn forget_crashes(&self) -> Result<(), Failure> {
        self.store.remove_running().map_err(|error| not_stored(&error))
    }

    /// Names the case that runs next, before anything can go wrong: a crash has a name then.
    pub fn starts(&self, full_id: &str) -> Result<(), Failure> {
        let written = self.store.write_running(&self.manifest.run_id, full_id);
        written.map_err(|error| not_stored(&error))
    }

    /// Writes down how the case ended; its record.
    pub fn ends(
        &mut self,
        case: &Case,
        outcome: Outcome,
        findings: Findings,
    ) -> Result<Record, Failure> {
        *self.manifest.outcomes.entry(outcome.status().to_owned()).or_default() += 1;
        self.failures += u64::from(outcome.is_failure());
        if let Some(reason) = outcome.reason() {
            eprintln!("{}: {}: {reason}", case.id, outcome.status());
        }
        let record = self.record(case, outcome, findings)?;
        self.update(&record)?;
        Ok(record)
    }

    /// Writes down a case's record, in place of what was written of it before.
    pub fn update(&mut self, record: &Record) -> Result<(), Failure> {
        self.write(record)?;
        let is_older = |(older, _): &&mut (Record, Wanted)| older.full_id == record.full_id;
        if let Some((older, _)) = self.to_profile.iter_mut().find(is_older) {
            older.clone_from(record);
        } else if record.outcome == Outcome::Measured
            && let Some(wanted) = Wanted::for_case(&record.case, self.profiles.as_ref())
        {
            self.to_profile.push((record.clone(), wanted));
        }
        Ok(())
    }

    /// Writes the final version of a record.
    pub fn write(&self, record: &Record) -> Result<(), Failure> {
        self.store.append(record).map_err(|error| not_stored(&error))
    }

    /// The records of measured cases that ask for a profile, in measuring order; a second call returns none.
    pub fn take_profiled(&mut self) -> Vec<(Record, Wanted)> {
        std::mem::take(&mut self.to_profile)
    }

    /// The bench target.
    pub fn target(&self) -> &str {
        &self.manifest.target
    }

    /// The folder of the records.
    pub fn folder(&self) -> &Path {
        self.store.folder()
    }

    /// Ends the run without its manifest's end: it has not run what it was asked for.
    pub fn abandon(self) {
        if let Err(error) = self.store.remove_running() {
            eprintln!("note: {error}");
        }
    }

    fn record(&self, case: &Case, outcome: Outcome, findings: Findings) -> Result<Record, String> {
        let allocator =
            measurement::allocator_label(case.settings.allocator, allocator::retention());
        let mut environment = measurement::environment(case, &allocator, self.quiet.clone())
            .map_err(|error| error.to_string())?;
        let measured = outcome == Outcome::Measured;
        if measured {
            // As they ran. Not asked before a case has run: threads keep the allocator that they start with.
            environment.torch.threads = threads::running().map_err(|error| error.to_string())?;
        }
        let Findings {
            kernels,
            weights,
            kernel,
            judged,
            model,
            compilation,
            accuracy,
            last_sample,
            planned,
            pairs,
            no_pair,
            measures,
            wall,
            notes: found,
        } = findings;
        Ok(Record {
            version: Record::VERSION,
            full_id: case.full_id(),
            run_id: self.manifest.run_id.clone(),
            timestamp: now().as_secs(),
            case: case.clone(),
            outcome,
            kernels,
            weights,
            kernel,
            judged,
            model,
            compilation,
            last_sample: last_sample.filter(|_| measured),
            planned: planned.filter(|_| measured),
            pairs,
            no_pair,
            measures,
            profile: None,
            accuracy,
            wall: measured.then_some(WallTimes { as_configured: self.as_configured, ..wall }),
            notes: found,
            environment: environment.into(),
        })
    }

    /// Closes the manifest, compacts the records, and says how the run went. Where the machine was at fault, the same run
    /// may go better another time.
    pub fn close(mut self, machines_fault: Option<&str>) -> Result<ExitCode, Failure> {
        self.manifest.finished = Some(now().as_secs());
        self.store.close(&self.manifest).map_err(|error| not_stored(&error))?;
        let RunManifest { target, selected, outcomes, resumed, .. } = &self.manifest;
        let kept = (!resumed.is_empty()).then(|| format!("{} kept", resumed.len()));
        let counts = outcomes.iter().map(|(status, count)| format!("{count} {status}"));
        let counts: Vec<String> = counts.chain(kept).collect();
        if !counts.is_empty() {
            let cases = if selected.len() == 1 { "case" } else { "cases" };
            eprintln!("{target}: {} {cases}: {}", selected.len(), counts.join(", "));
        }
        if let Some(reason) = machines_fault {
            let code = exit::RETRY;
            eprintln!("{target}: {reason}; run it again with --resume (exit code {code})");
            return Ok(ExitCode::from(code));
        }
        Ok(ExitCode::from(if self.failures == 0 { 0 } else { exit::CASES_FAILED }))
    }
}

/// The error, with the remedy, of a file that cannot be written.
pub fn not_stored(error: &io::Error) -> Failure {
    let text = format!(
        "{error}\nThe run ends here; what was stored before is kept. Make room on that disk, or name \
         a folder on another one (CRITERION_HOME, or CARGO_TARGET_DIR), and run it again."
    );
    Failure::of_file(error, text)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
