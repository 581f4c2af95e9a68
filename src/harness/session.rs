//! A run of one bench target: which cases are selected, and how each is taken through its steps.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Once;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};
use plan::estimate::Estimate;
use plan::{Allocator, Case, Device, Outcome, Plan, Profile, Role};

use super::args::{Action, Args};
use super::budget::{self, Budget};
use super::case_run::{Findings, release, settle_allocator};
use super::compiling;
use super::expected;
use super::failure::Failure;
use super::fault::Fault;
use super::group_run::{GroupRun, criterion_id};
use super::journal::{Journal, not_stored};
use super::lock::{Lock, Run};
use super::pairing::Pairing;
use super::part;
use super::profiling::{Pass, Wanted};
use super::progress::Progress;
use super::resume::{self, Kept};
use super::rounds::Rounds;
use super::running;
use super::saved;
use super::target_dir::Folders;
use crate::measurement::{cuda_facts, page_fault, preflight};
use crate::native::allocator::{self, Retention};
use crate::native::{constants, numerics};
use crate::threads;
use crate::workload::{self, Prepare};

/// A run in progress.
pub struct Session {
    plan: Plan,
    args: Rc<Args>,
    criterion: PathBuf,
    journal: Journal,
    /// Only a measuring run is long enough to have any.
    progress: Option<Progress>,
    prepare: Prepare,
    rounds: Rounds,
    fault: Rc<Fault>,
    /// The cases that an earlier run has measured and that are kept.
    resumed: HashSet<String>,
    /// A case for which the host had not the memory that it seemed to have.
    starved: Option<String>,
    /// Why nothing more is run: what cannot be stored need not be measured.
    broken: Option<Failure>,
    /// Held by a measuring run until its end.
    _lock: Option<Lock>,
}

impl Session {
    /// Selects cases, takes the folder's lock, pins what can be pinned, and writes the manifest.
    /// Builds nothing.
    pub(super) fn start(
        target: &str,
        mut plan: Plan,
        args: Args,
        folders: Folders,
        prepare: Prepare,
    ) -> Result<Self, Failure> {
        if let Some(part) = &args.part {
            // Before the filter, so that a case is in the same part whatever else is selected.
            part::keep(target, &mut plan, part);
        }
        let measures = args.action == Action::Measure && !args.loads();
        let run = Run::new(target);
        let lock =
            measures.then(|| Lock::take(&folders.records, &run, args.flags.wait)).transpose()?;
        let Kept { ids: resumed, unprofiled } = match measures {
            true => resume::measured(target, &plan, &args, &folders)?,
            false => Kept::default(),
        };
        let Folders { criterion, records } = folders;
        let asked: Vec<&Case> = plan.cases().filter(|case| args.selects(&case.full_id())).collect();
        let ids: Vec<String> = plan.cases().map(Case::full_id).collect();
        args.unmatched(&ids).iter().for_each(|said| eprintln!("{target}: {said}"));
        let is_open = |case: &&Case| !resumed.contains(&case.full_id());
        let selected: Vec<&Case> = asked.iter().copied().filter(is_open).collect();
        if args.action == Action::Measure {
            saved::check(&args.needs, &criterion, selected.iter().copied())?;
        }
        let tells_need = args.action == Action::List && budget::is_shared();
        let estimates = match measures || tells_need {
            true => expected::estimates(&records, &args, &selected)?,
            false => Vec::new(),
        };
        if tells_need {
            budget::tell_need(target, &estimates)?;
        }
        // A budget that is too small is refused before anything is compiled.
        let mut budget =
            Budget::of_run(args.flags.budget.filter(|_| measures), target, &estimates)?;
        let cuda = selected.iter().any(|case| case.device == Device::Cuda);
        if args.action != Action::List && !args.loads() {
            numerics::pin().map_err(|error| error.to_string())?;
            // Asked before a case can make the device fail at each call, whose record needs its name, too.
            if cuda && let Err(error) = cuda_facts() {
                eprintln!("note: the CUDA device does not say what it is: {error}");
            }
            compile(&selected);
        }
        if let Some(budget) = &mut budget {
            budget.begin();
        }
        // From here on nothing but measuring takes time.
        let seconds = |estimate: &Estimate| match budget {
            Some(_) => estimate.least_s,
            None => estimate.seconds(),
        };
        let expected = || estimates.iter().map(|(case, it)| (case.full_id(), seconds(it)));
        let progress = measures.then(|| Progress::new(expected()).with_budget(budget));
        let threads = selected.iter().map(|case| threads::count(case.settings.threads)).max();
        // The run owes no record of a case that it will skip.
        let owed = |case: &&Case| {
            args.action != Action::Measure
                || saved::missing(&args.needs, &criterion, case).is_none()
        };
        let ids = asked.into_iter().filter(owed).map(Case::full_id).collect();
        let records_cases = measures && !args.is_checked;
        let mut journal = Journal::new(&run, &args, records, ids, &resumed, records_cases);
        if lock.as_ref().is_some_and(Lock::is_exclusive) {
            journal.forget_crashes()?;
        }
        if records_cases && let Some(threads) = threads {
            look(&mut journal, cuda, threads);
        }
        if args.action != Action::List {
            journal.open()?;
        }
        journal.profile(unprofiled);
        let args = Rc::new(args);
        let (fault, starved, broken) = (Rc::<Fault>::default(), None, None);
        let rounds = Rounds::new(Rc::clone(&fault), budget, args.flags.fastest);
        Ok(Self {
            plan,
            args,
            criterion,
            journal,
            progress,
            prepare,
            rounds,
            fault,
            resumed,
            starved,
            broken,
            _lock: lock,
        })
    }

    /// The order in which to run the groups: those that want the system's allocator first, because
    /// once memory is retained, there is no way back.
    pub(super) fn order(&self) -> Vec<usize> {
        let retains = |index: &usize| retains(&self.plan.groups[*index].cases);
        let mut order: Vec<usize> = (0..self.plan.groups.len()).collect();
        if self.args.action != Action::List {
            order.sort_by_key(retains);
        }
        order
    }

    /// Runs the selected cases of the group at `index` of the plan, siblings one after another.
    ///
    /// # Panics
    /// When `index` is none of the plan.
    pub fn group(&mut self, criterion: &mut Criterion, index: usize) {
        if self.broken.is_some() {
            return;
        }
        let cases = std::mem::take(&mut self.plan.groups[index].cases);
        let Some(first) = cases.first() else { return };
        let mut group = criterion.benchmark_group(first.id.group.clone());
        if self.args.action == Action::List || self.args.loads() {
            self.named(&mut group, &cases);
        } else {
            self.run(&mut group, &cases);
        }
        group.finish();
    }

    /// Hands criterion the ids alone: it prints them under its own filter, or takes the samples
    /// from disk. Nothing is run.
    fn named(&mut self, group: &mut BenchmarkGroup<'_, WallTime>, cases: &[Case]) {
        for case in cases {
            let listed = self.args.action == Action::List;
            if listed || (self.runs(case) && !self.is_passed_over(case)) {
                if !listed {
                    self.args.begin_line(case);
                }
                group.bench_function(criterion_id(case), |_| ());
            }
        }
    }

    /// Whether the case is selected, and was not measured before.
    fn runs(&self, case: &Case) -> bool {
        let full_id = case.full_id();
        self.args.selects(&full_id) && !self.resumed.contains(&full_id)
    }

    /// Says so when a case lacks the baseline that criterion is to compare with. Its record of an
    /// earlier run stays as it is.
    fn is_passed_over(&self, case: &Case) -> bool {
        let missing = (self.args.action == Action::Measure)
            .then(|| saved::missing(&self.args.needs, &self.criterion, case))
            .flatten();
        if let Some(name) = missing {
            eprintln!("{}: skipped: it has no baseline `{name}`", case.id);
        }
        missing.is_some()
    }

    fn run(&mut self, group: &mut BenchmarkGroup<'_, WallTime>, cases: &[Case]) {
        if retains(cases) && allocator::retention() == Retention::System {
            // Pairs of the groups before want what there is no way back to.
            self.broken = self.look_again().err();
            if self.broken.is_some() {
                return;
            }
        }
        let selected: Vec<&Case> = cases.iter().filter(|case| self.runs(case)).collect();
        if self.args.action == Action::Measure && !selected.is_empty() {
            // Again for every group: memory that ran short meanwhile may have taken them away.
            if constants::map() == 0 {
                static SAID: Once = Once::new();
                SAID.call_once(|| {
                    eprintln!(
                        "note: libtorch's constants are not mapped beforehand: this system does \
                         not say where they are; `silu` and `softmax` may be slower than they are"
                    );
                });
            }
        }
        let wanted = self.args.action == Action::Measure
            && selected.iter().any(|case| case.role == Role::Candidate);
        let (args, fault) = (Rc::clone(&self.args), Rc::clone(&self.fault));
        let mut run = GroupRun::new(&cases[0], wanted, args, self.prepare, fault);
        for case in selected {
            if self.is_passed_over(case) {
                if let Some(progress) = &mut self.progress {
                    progress.done(&case.full_id(), 0.0);
                }
            } else if let Err(error) = self.case(group, &mut run, case) {
                self.broken = Some(error);
                break;
            }
        }
        // Only now are the tensors of the group's baseline gone.
        drop(run);
        self.release(cases[0].device);
    }

    fn case(
        &mut self,
        group: &mut BenchmarkGroup<'_, WallTime>,
        run: &mut GroupRun<'_>,
        case: &Case,
    ) -> Result<(), Failure> {
        let full_id = case.full_id();
        let overrun =
            self.progress.as_ref().map(|progress| progress.next(&full_id, self.rounds.owed().1));
        if let Some(progress) = &self.progress {
            self.rounds.reserve(progress.others_s(&full_id));
        }
        // Written before anything can go wrong, so that a crash has a name.
        self.journal.starts(&full_id)?;
        if self.args.action == Action::Measure && self.args.saves {
            for name in ["new"].into_iter().chain(self.args.saved_as.as_deref()) {
                saved::make_way(&self.criterion, case, name).map_err(|error| not_stored(&error))?;
            }
        }
        let spent = self.rounds.budget().and_then(|budget| budget.spent());
        let (outcome, findings) = match spent {
            Some(outcome) => (outcome, Findings::default()),
            None => {
                let _running = running::begin(case.settings.case_timeout_s, overrun);
                run.case(group, case, &mut self.rounds)
            }
        };
        self.note_host_oom(case, &outcome);
        let pairing = run.pairing();
        if let Some(progress) = &mut self.progress {
            progress.done(&full_id, pairing.as_ref().map_or(0.0, Pairing::left_s));
        }
        let written = self.journal.ends(case, outcome, findings).and_then(|record| {
            self.rounds.keep(record, pairing);
            match self.rounds.is_full() {
                true if self.rounds.budget().is_some() => {
                    self.rounds.make_room();
                    self.looked_again()
                }
                true => self.look_again(),
                false => self.looked_again(),
            }
        });
        self.release(case.device);
        written
    }

    /// Keeps in mind that the host ran out of memory where it had enough by all that is known: another time, or another
    /// machine, may have it.
    fn note_host_oom(&mut self, case: &Case, outcome: &Outcome) {
        let ran_out = case.device == Device::Cpu && matches!(outcome, Outcome::Oom { .. });
        if ran_out && self.starved.is_none() && workload::preflight(case).is_ok() {
            self.starved = Some(case.full_id());
        }
    }

    /// Failures of the machine and not of a case.
    fn machines_fault(&self) -> Option<String> {
        if !self.args.is_repeated() {
            return None;
        }
        let starved = || Some(format!("the host ran out of memory in {}", self.starved.as_ref()?));
        self.fault.reason(Device::Cuda).or_else(starved)
    }

    /// Gives memory back; a device that fails at each call takes none.
    fn release(&self, device: Device) {
        let fails = self.fault.reason(device).is_some();
        release(if fails { Device::Cpu } else { device });
    }

    /// Gives pairs the looks that they wait for.
    fn look_again(&mut self) -> Result<(), Failure> {
        if let (Some(progress), (pairs @ 1.., seconds)) = (&mut self.progress, self.rounds.owed()) {
            progress.looks_again(pairs, seconds);
        }
        self.rounds.run();
        self.looked_again()
    }

    /// Writes down what pairs have found that had their last look.
    fn looked_again(&mut self) -> Result<(), Failure> {
        self.rounds.done().iter().try_for_each(|record| self.journal.update(record))
    }

    /// Closes the journal; the exit code says whether every case went well.
    pub(super) fn finish(mut self) -> Result<ExitCode, Failure> {
        if self.broken.is_none() {
            self.broken = self.look_again().err();
        }
        self.rounds.say_undecided();
        if let Some(budget) = self.rounds.budget() {
            budget.tell_spent(self.journal.target())?;
        }
        if let Some(error) = self.broken {
            self.journal.abandon();
            return Err(error);
        }
        if let Err(error) = self.profile() {
            self.journal.abandon();
            return Err(error);
        }
        let fault = self.machines_fault();
        match self.args.action {
            Action::List => Ok(ExitCode::SUCCESS),
            _ => self.journal.close(fault.as_deref()),
        }
    }

    /// Profiles the measured cases that ask for it, now that everything is timed.
    fn profile(&mut self) -> Result<(), Failure> {
        let mut records = self.journal.take_profiled();
        if records.is_empty() {
            return Ok(());
        }
        if !self.args.saves {
            eprintln!("note: nothing is profiled: --discard-baseline keeps no results");
            return Ok(());
        }
        let cases: Vec<(Case, Wanted)> =
            records.iter().map(|(record, wanted)| (record.case.clone(), *wanted)).collect();
        let cases: Vec<(&Case, Wanted)> = cases.iter().map(|(case, it)| (case, *it)).collect();
        let journal = &self.journal;
        let mut keep = |id: &str, profile: Profile| {
            let found = records.iter_mut().find(|(record, _)| record.full_id == id);
            let (record, _) = found.expect("one of those that were asked for");
            record.profile = Some(profile);
            journal.write(record)
        };
        Pass::run(journal.folder().to_owned(), &cases, &mut keep)
    }
}

/// Has every record say how quiet the machine is and what a page fault costs.
fn look(journal: &mut Journal, cuda: bool, threads: u32) {
    if let Err(reason) = page_fault::cost() {
        eprintln!("note: the cost of a page fault is not known: {reason}");
    }
    let (facts, quiet) = preflight::look(cuda);
    let checks = preflight::checks(&facts, &quiet, threads);
    journal.machine(quiet, checks);
}

/// Whether a case wants freed memory to be retained.
fn retains(cases: &[Case]) -> bool {
    cases.iter().any(|case| case.settings.allocator == Allocator::Retained)
}

/// Compiles what will be run compiled, so that nothing else is done while a case is measured.
fn compile(selected: &[&Case]) {
    let compiles = selected.iter().any(|case| case.work.compile().is_some());
    let retains = |case: &&Case| case.settings.allocator == Allocator::Retained;
    if compiles && selected.iter().all(retains) {
        // Before there are threads that compile, as it would be without them.
        settle_allocator(Allocator::Retained);
    }
    compiling::compile(selected.iter().copied());
}
