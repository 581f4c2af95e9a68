//! Running a plan under criterion: the only place that names criterion, and the only timing loop.

mod args;
mod budget;
mod case_run;
pub mod clock;
mod compiling;
pub mod cuda_device;
mod device_clock;
mod expected;
mod failure;
mod fault;
mod flush;
mod group_run;
mod hidden_flags;
mod journal;
#[cfg(target_os = "linux")]
mod judge;
#[cfg(not(target_os = "linux"))]
#[path = "judge/elsewhere.rs"]
mod judge;
mod launch;
mod lock;
mod pace;
mod pairing;
pub mod pairs;
mod panics;
mod part;
mod passes;
mod pilot;
mod profiling;
pub mod progress;
mod ranges;
mod resume;
mod rounds;
mod running;
mod samples;
mod sampling;
mod saved;
pub mod self_test;
mod session;
mod side;
mod store;
mod streams;
mod target_dir;
mod throttle;
mod timer;

use std::process::ExitCode;
use std::rc::Rc;

pub use case_run::{release, settle_allocator};
/// Named by generated code, so that a bench target needs no dependency on criterion.
pub use criterion::Criterion;
pub use pairing::Places;
pub use session::Session;

use crate::kernels::cpu::Capability;
use crate::native::huge_pages;
use crate::verify;
use crate::workload::Prepare;
use failure::Failure;
use plan::Plan;
use store::Store;

/// A generated function: which group of the plan to run.
pub type GroupFn = fn(&mut Criterion, &mut Session);

/// Runs the groups of a bench target.
///
/// `target` is its name, `plan` the JSON that the build script embedded, `groups` the generated
/// functions, `prepare` what makes a case measurable ([`crate::workload::prepare`], unless the
/// target brings workloads of its own). Returns failure when a case failed or timed out, so that
/// a script sees it; what the machine lacks (a device, memory) is written down and is no failure.
/// [`plan::exit`] has the codes.
pub fn main(target: &str, plan: &str, groups: &[GroupFn], prepare: Prepare) -> ExitCode {
    run(target, plan, groups, prepare).unwrap_or_else(|error| {
        streams::say(&format!("error: {error}"));
        ExitCode::from(error.code())
    })
}

fn run(
    target: &str,
    plan: &str,
    groups: &[GroupFn],
    prepare: Prepare,
) -> Result<ExitCode, Failure> {
    // Before libtorch's first allocation, and before there are threads.
    huge_pages::enable();
    if profiling::is_child() {
        return Ok(profiling::run_child(&read(plan)?, prepare)?);
    }
    // Read first, so that a bad filter is one line and not criterion's panic.
    let mut args = args::Args::read(hidden_flags::arguments()?)?;
    hidden_flags::hide()?;
    if args.is_checked {
        verify::done();
    }
    Capability::chosen()?;
    let plan = read(plan)?;
    let measures = args.action == args::Action::Measure && !args.loads() && !args.is_connected;
    let folders = target_dir::settle()?;
    let saved_as = args.saved_as.as_deref();
    let store = Store::new(folders.records.clone(), target, measures, args.saves, saved_as);
    match judge::start(&plan, store, |id| measures && args.selects(id))? {
        judge::Role::Judge(code) => return Ok(code),
        judge::Role::Harness(judge) => args.judge = judge.map(Rc::new),
    }
    let judge = args.judge.clone();
    let _no_gradients = tch::no_grad_guard();
    let mut criterion = criterion();
    // Criterion may have ended the process until here (`--help`), which waits for nothing.
    let _streams = streams::Streams::guard()
        .map_err(|error| format!("the output cannot be guarded against its errors: {error}"))?;
    let mut session = Session::start(target, plan, args, folders, prepare)?;
    for index in session.order() {
        groups[index](&mut criterion, &mut session);
    }
    criterion.final_summary();
    let code = session.finish()?;
    judge.map_or(Ok(()), |judge| judge.ends())?;
    Ok(code)
}

fn read(plan: &str) -> Result<Plan, String> {
    Plan::from_json(plan.as_bytes())
        .map_err(|error| format!("the plan of this build cannot be read: {error}; rebuild"))
}

/// Criterion without plots; each case sets its own sampling, and the command line wins. A tenth of
/// criterion's resamples puts the ends of an interval where all of them do, and of a noisy case its
/// analysis would take longer than its samples.
fn criterion() -> Criterion {
    const RESAMPLES: usize = 10_000;
    Criterion::default().without_plots().nresamples(RESAMPLES).configure_from_args()
}
