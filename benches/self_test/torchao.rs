//! Our time against torchao's own: the same recipe, model, shape, dtype, threads and allocator, in
//! turn on the same machine. Eager against eager; a compiled case against `torch.compile` of
//! torchao's model in the same mode.
//!
//! `cargo xtask compare-torchao CONFIG` provisions the Python, names it in SELF_TEST_PYTHON and calls
//! this. Exits with 1 when a ratio is above what is allowed, surely or not, or when a case fails.

mod peer;
mod rounds;
mod table;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use criterion_torch::harness::clock::{HostClock, time};
use criterion_torch::harness::progress::Progress;
use criterion_torch::harness::{release, settle_allocator};
use criterion_torch::measurement::{allocator_label, preflight};
use criterion_torch::native::allocator::{self, Retention};
use criterion_torch::native::{numerics, runtime};
use criterion_torch::refusal::Refusal;
use criterion_torch::threads;
use criterion_torch::workload::{self, Workload};
use libtorch::{PYTHON, TORCHAO, command, release as release_of};
use plan::{Allocator, CacheMode, Case, Device, Variant, cost};

use crate::options::Torchao;
use peer::{BuildReply, Built, Facts, Patience, Peer};
use rounds::{ALLOWED, Contender, Goal};
use table::{Outcome, Row};

/// Wall seconds for the blocks of a case, unless its config says how long sampling may take.
const BUDGET_S: f64 = 4.0;

pub fn main(options: Torchao) -> ExitCode {
    match run(options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(Torchao { config, filter }: Torchao) -> Result<ExitCode, String> {
    let python = std::env::var_os(PYTHON).filter(|value| !value.is_empty()).ok_or_else(|| {
        let provides = command::with_arguments("compare-torchao");
        format!("{PYTHON} does not name a Python; `{provides}` provides one")
    })?;
    let plan = plan::load(&[config]).map_err(|errors| errors.to_string())?;
    let selects = |case: &&Case| filter.as_ref().is_none_or(|it| it.is_match(&case.full_id()));
    let cases: Vec<&Case> = plan.cases().filter(selects).collect();
    let left_out = plan.cases().count() - cases.len();
    let threads = cases.iter().map(|case| threads::count(case.settings.threads)).max();
    let threads = threads.ok_or("the config has no case that --filter selects")?;
    waits_passively(threads)?;
    numerics::pin().map_err(|error| error.to_string())?;
    let _no_gradients = tch::no_grad_guard();

    let order = order(&cases);
    settle_allocator(cases[order[0]].settings.allocator);
    let mut peers = Peers { python, peer: None };
    // Before anything is built, so that a Python that will not do is one line.
    let facts = peers.get()?.facts.clone();
    println!("{}", header(&facts));
    if let Some(difference) = other_libraries(&facts)? {
        println!("warning: {difference}");
    }
    let (machine, quiet) = preflight::look(false);
    for warning in preflight::warnings(&machine, &quiet, threads) {
        println!("warning: {warning}");
    }
    let rows = rows(&cases, &order, &mut peers);
    print!("{}", table::render(&rows));
    if left_out > 0 {
        println!("--filter skipped {left_out} of the {} cases", left_out + cases.len());
    }
    let failed = rows.iter().any(|row| row.outcome.is_failure());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Two processes take turns: threads that spin while they wait would take the other's CPUs.
fn waits_passively(threads: u32) -> Result<(), String> {
    const POLICY: &str = "OMP_WAIT_POLICY";
    let passive = std::env::var(POLICY).is_ok_and(|value| value.eq_ignore_ascii_case("passive"));
    if threads == 1 || passive {
        return Ok(());
    }
    Err(format!(
        "cases with {threads} threads need {POLICY}=passive, set before the program starts: one \
         side's threads would spin while the other is timed"
    ))
}

fn header(facts: &Facts) -> String {
    let Facts { torch, torchao, python, capability, .. } = facts;
    format!(
        "ours against torchao {torchao} on torch {torch}, Python {python}, {capability}: the same \
         model, dtype, shape, threads,\n\
         allocator, float32 precision and mode of torch.compile, in turn, with gradients in training \
         only. torchao's time\n\
         includes Python's own cost of calling the model, which its users pay; Python's garbage \
         collector is off, and neither\n\
         side compiles while it is timed. Ratio: ours over torchao's, at most {ALLOWED} wanted."
    )
}

/// torchao's side, started when it is needed.
struct Peers {
    python: OsString,
    peer: Option<Peer>,
}

impl Peers {
    /// The process that runs; a new one is made as this process is now: huge pages are inherited,
    /// what `mallopt` was told is not.
    fn get(&mut self) -> Result<&mut Peer, String> {
        let peer = match self.peer.take() {
            Some(peer) => peer,
            None => {
                let switches: Vec<_> = match allocator::retention() {
                    Retention::System => Vec::new(),
                    Retention::Retained => {
                        allocator::switches().iter().map(|&(_, key, value)| (key, value)).collect()
                    }
                };
                let peer = Peer::start(&self.python, &switches, Patience::default())?;
                is_comparable(&peer.facts).map_err(|why| format!("{PYTHON}: {why}"))?;
                peer
            }
        };
        Ok(self.peer.insert(peer))
    }

    /// A process that may be lost takes no more cases.
    fn lost(&mut self, error: String) -> Outcome {
        self.peer = None;
        Outcome::Failed(error)
    }
}

/// Checks that both sides run one release of torch, and that torchao is the targeted release.
fn is_comparable(facts: &Facts) -> Result<(), String> {
    let ours = runtime::facts().map_err(|error| error.to_string())?;
    for (name, found, wanted) in
        [("torch", &facts.torch, ours.torch_version.as_str()), ("torchao", &facts.torchao, TORCHAO)]
    {
        if release_of(found) != release_of(wanted) {
            return Err(format!("{name} is {found}, wanted {wanted}"));
        }
    }
    let (found, wanted) = (&facts.capability, &ours.cpu_capability);
    if found != wanted {
        return Err(format!("its torch has kernels for {found}, ours for {wanted}"));
    }
    Ok(())
}

/// The difference between the libraries below the two torches: builds of one release may differ.
fn other_libraries(facts: &Facts) -> Result<Option<String>, String> {
    let ours = runtime::facts().map_err(|error| error.to_string())?.configuration;
    let (ours, theirs) = (libraries(&ours), libraries(&facts.configuration));
    Ok((ours != theirs).then(|| format!("ours has {ours}; torchao's torch has {theirs}")))
}

/// MKL, oneDNN and OpenMP, as torch describes its build.
fn libraries(configuration: &str) -> String {
    let is_library = |line: &&str| ["Intel(R)", "OpenMP"].iter().any(|name| line.contains(name));
    let lines: Vec<&str> = configuration
        .lines()
        .map(|line| line.trim().trim_start_matches("- "))
        .filter(is_library)
        .collect();
    lines.join(", ")
}

/// The order in which the cases run: those that want the system's allocator first, because once
/// memory is retained, there is no way back.
fn order(cases: &[&Case]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|&index| cases[index].settings.allocator == Allocator::Retained);
    order
}

/// A row for each case, in the order of the plan.
fn rows(cases: &[&Case], order: &[usize], peers: &mut Peers) -> Vec<Row> {
    let expected = cases.iter().map(|case| (case.full_id(), expected_s(case)));
    let mut progress = Progress::new(expected);
    let mut rows = BTreeMap::new();
    let mut allocator = cases[order[0]].settings.allocator;
    for &index in order {
        let case = cases[index];
        let id = case.full_id();
        progress.next(&id, 0.0);
        if allocator != case.settings.allocator {
            allocator = case.settings.allocator;
            settle_allocator(allocator);
            peers.peer = None;
        }
        let outcome = compared(case, peers).unwrap_or_else(|outcome| outcome);
        eprintln!("  {}", outcome.line());
        rows.insert(index, row(case, outcome));
        release(case.device);
        progress.done(&id, 0.0);
    }
    rows.into_values().collect()
}

fn row(case: &Case, outcome: Outcome) -> Row {
    let threads = match threads::count(case.settings.threads) {
        1 => "1 thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    let allocator = allocator_label(case.settings.allocator, allocator::retention());
    Row {
        heading: format!("{}, {threads}, allocator {allocator}", case.id.group),
        variant: case.id.variant.clone(),
        parameter: case.id.parameter.clone(),
        outcome,
    }
}

/// Builds both sides and lets them take turns. An early end is an outcome, too.
fn compared(case: &Case, peers: &mut Peers) -> Result<Outcome, Outcome> {
    if let Some(reason) = without_peer(case) {
        return Err(Outcome::NotCompared(format!("no peer: {reason}")));
    }
    // Asked in the order of what an answer costs.
    workload::preflight(case).map_err(ours_refuses)?;
    let peer = peers.get().map_err(Outcome::Failed)?;
    match peer.build(case) {
        Ok(BuildReply::Built(built)) => is_as_compiled(&built, case).map_err(Outcome::Failed)?,
        Ok(BuildReply::Unsupported(reason)) => {
            return Err(Outcome::NotCompared(format!("no peer: {reason}")));
        }
        Ok(BuildReply::Failed(error)) | Err(error) => return Err(peers.lost(error)),
    }
    threads::settle(case.settings.threads);
    let workload = workload::prepare(case).map_err(ours_refuses)?;
    workload.check().map_err(ours_refuses)?;
    let sampling = case.settings.sampling;
    let goal = Goal {
        target: sampling.target.unwrap_or(cost::DEFAULT_TARGET),
        budget_s: sampling.measurement_s.unwrap_or(BUDGET_S),
    };
    match rounds::compare(&mut Ours(workload.as_ref()), peer, goal) {
        Ok(comparison) => Ok(Outcome::Compared(comparison)),
        Err(error) => Err(peers.lost(error)),
    }
}

/// The reason why a case has no counterpart in torchao, or is not compared here.
fn without_peer(case: &Case) -> Option<&'static str> {
    let Some(work) = case.work.model() else { return Some("only models are compared") };
    match work.variant {
        Variant { packed: true, .. } => Some("torchao has no packed form of it"),
        Variant { preallocated: true, .. } => {
            Some("torchao cannot write into a preallocated output")
        }
        Variant { autograd: true, .. } => Some("its twin without `+autograd` is compared"),
        _ if case.device != Device::Cpu => Some("only times on a CPU are compared"),
        _ if case.settings.cache != CacheMode::Hot => Some("only hot caches are compared"),
        _ => None,
    }
}

fn ours_refuses(refusal: Refusal) -> Outcome {
    match refusal {
        Refusal::Failed(error) => Outcome::Failed(format!("ours: {error}")),
        Refusal::Timeout(_) => Outcome::Failed(format!("ours: {refusal}")),
        other => Outcome::NotCompared(format!("ours: {other}")),
    }
}

struct Ours<'a>(&'a dyn Workload);

impl Contender for Ours<'_> {
    fn time(&mut self, lead_in: u64, calls: u64) -> Result<Duration, String> {
        let Self(workload) = self;
        let mut step = || -> Result<(), Refusal> {
            drop(std::hint::black_box(workload.step()?));
            Ok(())
        };
        let mut timed = |calls| time(&mut HostClock, &mut step, None, calls);
        timed(lead_in).and_then(|_| timed(calls)).map_err(|error| format!("ours: {error}"))
    }
}

/// Eager is compared with eager, and compiled with compiled.
fn is_as_compiled(theirs: &Built, case: &Case) -> Result<(), String> {
    let wanted = u64::from(is_compiled(case));
    if theirs.graphs == wanted {
        return Ok(());
    }
    Err(format!("torchao's model is {} compiled graphs, wanted {wanted}", theirs.graphs))
}

fn is_compiled(case: &Case) -> bool {
    case.work.model().is_some_and(|work| work.variant.compile.is_some())
}

/// How long a case is expected to take: nothing, if it is known to be refused.
fn expected_s(case: &Case) -> f64 {
    /// On both sides.
    const BUILDING_S: f64 = 1.0;
    /// On both sides, if neither has kept it from another run.
    const COMPILING_S: f64 = 20.0;
    const BATCHES: f64 = 4.0 * statistics::MIN_BLOCKS as f64;
    if without_peer(case).is_some() || workload::preflight(case).is_err() {
        return 0.0;
    }
    let step_s = cost::flops(case).unwrap_or(0) as f64
        / (50e9 * f64::from(threads::count(case.settings.threads)));
    let warm_up_s = 2.0 * rounds::WARM_UP as f64 * step_s;
    let compiling_s = if is_compiled(case) { COMPILING_S } else { 0.0 };
    BUILDING_S + compiling_s + warm_up_s + BATCHES * 1.2 * step_s.max(rounds::BATCH_S)
}
