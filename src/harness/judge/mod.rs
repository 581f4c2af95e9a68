//! User kernels are judged by another process: on inputs that they have not seen, by a clock that they cannot reach.
//!
//! ```text
//! judge          draws inputs, has the references and the clock; runs no kernel's code
//! ├─ harness     criterion, records; asks the judge about each case that it has measured
//! └─ zygote      forks a process for each kernel, before it has any thread
//!    └─ kernel   calls on inputs that the judge reveals one by one, confined
//! ```
//!
//! All come of the program's own process, forked before anything of libtorch has run.

mod checks;
mod child;
mod confine;
mod draws;
mod examples;
mod memory;
mod others;
mod process;
mod records;
mod trial;
mod zygote;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::ptr::NonNull;

use nix::sys::prctl;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use plan::{Allocator, Case, Check, CheckStatus, Device, Judge, Judged, Outcome, Plan, Work};
use serde::{Deserialize, Serialize};

use super::case_run::settle_allocator;
use super::panics::{self, Caught};
use super::store::Store;
use crate::refusal::Refusal;
use crate::threads;
use checks::Findings;
use draws::Draws;
use memory::SharedMemory;
use others::Paused;
use trial::{Stopped, Trial};
use zygote::Zygote;

/// The part that this process has from now on.
pub enum Role {
    /// It has judged, and the run is over.
    Judge(ExitCode),
    /// It measures, and has a judge if there is something to judge.
    Harness(Option<Client>),
}

/// A word of the harness.
#[derive(Debug, Serialize, Deserialize)]
enum Word {
    /// It has measured a case, a call of which takes so many nanoseconds.
    Measured { id: String, ns: f64 },
    /// It is at its end.
    Ends,
}

/// The word of the judge on a case.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Its findings.
    Judged(Judged),
    /// Why there are none.
    Unjudged(String),
}

/// The harness's end.
#[derive(Debug)]
pub struct Client(RefCell<BufReader<UnixStream>>);

impl Client {
    /// Has a case judged that takes so many nanoseconds a call.
    ///
    /// # Errors
    /// When the judge is gone.
    pub fn ask(&self, case: &Case, ns: f64) -> Result<Answer, String> {
        self.say(&Word::Measured { id: case.full_id(), ns })?;
        let mut line = String::new();
        self.0.borrow_mut().read_line(&mut line).map_err(|error| gone(&error))?;
        serde_json::from_str(&line).map_err(|error| gone(&error))
    }

    /// Says that the run has come to its end. Without this word a kernel has ended it.
    ///
    /// # Errors
    /// When the judge is gone.
    pub fn ends(&self) -> Result<(), String> {
        self.say(&Word::Ends)
    }

    fn say(&self, word: &Word) -> Result<(), String> {
        zygote::say(self.0.borrow_mut().get_mut(), word).map_err(|error| gone(&error))
    }
}

fn gone(error: &dyn std::fmt::Display) -> String {
    format!("the judge is gone: {error}")
}

/// The outcome of a case that its judge has failed.
pub fn failure(judged: &Judged) -> Option<Outcome> {
    let failed = judged.failed().next()?;
    let remedy = failed.remedy.as_deref().unwrap_or_default();
    Some(Outcome::Failed { error: format!("judge: {}: {}; {remedy}", failed.name, failed.value) })
}

/// Why a case is not judged; none where it is.
pub fn unjudged(case: &Case) -> Option<&'static str> {
    if !matches!(case.work, Work::Kernel(_)) {
        return Some("it is no kernel of one's own");
    }
    match (case.settings.judge, case.device) {
        (Judge::Off, _) => Some("`judge: off`"),
        (_, Device::Cpu | Device::Cuda) => None,
        _ => Some("a judge has no inputs on this device"),
    }
}

/// Divides the process, where a run has cases to judge: `selects` says which ids it measures, and their records are in
/// `store`. Nothing may have started a thread yet.
///
/// # Errors
/// When the system refuses a process or memory.
pub fn start(plan: &Plan, store: Store, selects: impl Fn(&str) -> bool) -> Result<Role, String> {
    let is_judged = |case: &Case| unjudged(case).is_none() && selects(&case.full_id());
    if !plan.cases().any(is_judged) {
        return Ok(Role::Harness(None));
    }
    untouched()?;
    let memory = SharedMemory::new()?;
    let (judge, zygote) = UnixStream::pair().map_err(|error| error.to_string())?;
    // SAFETY: no other thread exists.
    let forking = match unsafe { fork() }.map_err(|error| error.to_string())? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            drop(judge);
            let served = zygote::serve(zygote, memory, plan);
            std::process::exit(i32::from(served.is_err()));
        }
    };
    drop(zygote);
    let (server, client) = UnixStream::pair().map_err(|error| error.to_string())?;
    // SAFETY: as above.
    match unsafe { fork() }.map_err(|error| error.to_string())? {
        ForkResult::Child => {
            drop((judge, memory, server));
            prctl::set_pdeathsig(Signal::SIGKILL).map_err(|error| error.to_string())?;
            confine::drop_tracing()?;
            Ok(Role::Harness(Some(Client(RefCell::new(BufReader::new(client))))))
        }
        ForkResult::Parent { child } => {
            drop(client);
            let bench = Bench::new(plan, judge, memory, forking)?;
            let served = bench.serve(server, child, |answers| checked(&store, forking, answers));
            served.map(Role::Judge)
        }
    }
}

/// Refuses a process in which code of a kernel has run before `main`, as far as that shows.
fn untouched() -> Result<(), String> {
    const REMEDY: &str = "what runs before `main` can reach its judge; `judge: off` measures it as it is, and says so";
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if threads > 1 {
        return Err(format!("{threads} threads run before `main`: {REMEDY}"));
    }
    match confine::changed_code(&"self") {
        Ok(Some((file, kib))) => {
            Err(format!("{kib} KiB of {file} are not as they were loaded: {REMEDY}"))
        }
        _ => Ok(()),
    }
}

/// The judge.
struct Bench<'p> {
    plan: &'p Plan,
    zygote: Zygote,
    /// The zygote's process.
    forking: Pid,
    file: SharedMemory,
    memory: Option<(NonNull<u8>, usize)>,
    draws: Option<Draws>,
}

impl<'p> Bench<'p> {
    fn new(
        plan: &'p Plan,
        zygote: UnixStream,
        file: SharedMemory,
        forking: Pid,
    ) -> Result<Self, String> {
        // Nobody reads its memory, not even another process of this user.
        prctl::set_dumpable(false).map_err(|error| error.to_string())?;
        // Processes that a kernel leaves behind come to this one, and not to the system's first.
        prctl::set_child_subreaper(true).map_err(|error| error.to_string())?;
        // SAFETY: no handler is installed. The harness hears it, too, and ends the run.
        unsafe { signal(Signal::SIGINT, SigHandler::SigIgn) }.map_err(|error| error.to_string())?;
        let zygote = Zygote::new(zygote).map_err(|error| error.to_string())?;
        Ok(Self { plan, zygote, forking, file, memory: None, draws: None })
    }

    /// Answers until the harness has ended, has the answers checked that are in records now, and ends as it did.
    fn serve(
        mut self,
        stream: UnixStream,
        harness: Pid,
        checked: impl FnOnce(&BTreeMap<String, Judged>) -> Result<(), String>,
    ) -> Result<ExitCode, String> {
        let _no_gradients = tch::no_grad_guard();
        // References take as much memory as the inputs, each.
        settle_allocator(Allocator::Retained);
        // References wait for no other threads, and leave none that spin.
        tch::set_num_threads(1);
        let mut out = stream.try_clone().map_err(|error| error.to_string())?;
        let (mut is_whole, mut answers) = (false, BTreeMap::new());
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { break };
            let answer = match serde_json::from_str(&line) {
                Ok(Word::Measured { id, ns }) => {
                    let answer = self.answer(&id, ns);
                    if let Answer::Judged(judged) = &answer {
                        answers.insert(id, judged.clone());
                    }
                    answer
                }
                Ok(Word::Ends) => {
                    is_whole = true;
                    continue;
                }
                Err(error) => Answer::Unjudged(format!("its question cannot be read: {error}")),
            };
            if zygote::say(&mut out, &answer).is_err() {
                break;
            }
        }
        match waitpid(harness, None).map_err(|error| error.to_string())? {
            WaitStatus::Exited(_, 0) if !is_whole => {
                Err("a kernel has ended the run: it called `exit`".to_owned())
            }
            WaitStatus::Exited(_, code) => {
                if is_whole {
                    checked(&answers)?;
                }
                Ok(ExitCode::from(code as u8))
            }
            WaitStatus::Signaled(_, by, _) => end_by(by),
            other => Err(format!("the harness ended by {other:?}")),
        }
    }

    fn answer(&mut self, id: &str, ns: f64) -> Answer {
        let Some(case) = self.plan.cases().find(|case| case.full_id() == id) else {
            return Answer::Unjudged("it is no case of this program".to_owned());
        };
        match panics::catch(|| self.judge(case, ns)) {
            Ok(Ok(judged)) => Answer::Judged(judged),
            Ok(Err(Refusal::Skipped(why) | Refusal::Failed(why))) => Answer::Unjudged(why),
            Ok(Err(other)) => Answer::Unjudged(other.to_string()),
            Err(Caught::Panic(message)) => Answer::Unjudged(format!("its task: {message}")),
            Err(Caught::Other(_)) => {
                Answer::Unjudged("its task panics without a message".to_owned())
            }
        }
    }

    fn judge(&mut self, case: &Case, ns: f64) -> Result<Judged, Refusal> {
        let draws = match self.draws.take().filter(|it| it.are_of(case)) {
            Some(draws) => draws,
            None => {
                self.file.clear_all().map_err(Refusal::Failed)?;
                Draws::new(case)?
            }
        };
        let paused = Paused::all_but(self.forking).map_err(Refusal::Failed)?;
        let mut findings = Findings::default();
        let mut ended =
            self.on_trial(&draws, (case, ns), false, &mut findings, |trial, findings| {
                checks::examine(trial, ns, findings)
            })?;
        if ended.is_ok() {
            ended = self.on_fenced_trials(&draws, (case, ns), &mut findings)?;
        }
        drop(paused);
        let seeds = draws.all.iter().map(|it| it.seed).collect();
        self.draws = Some(draws);
        match ended {
            Ok(()) => {}
            Err(Stopped::Failed { check: "process", what }) if case.device != Device::Cpu => {
                return Err(Refusal::Skipped(what));
            }
            Err(Stopped::Failed { check, what }) => {
                findings.checks.push(checks::failed(check, what));
            }
            Err(Stopped::Unjudged(why)) => return Err(Refusal::Skipped(why)),
            Err(Stopped::Broken(why)) => return Err(Refusal::Failed(why)),
        }
        let Findings { checks, calls, compared, batches, .. } = findings;
        let ns = Some(statistics::median(&batches)).filter(|it| it.is_finite());
        Ok(Judged { ns, calls, compared, seeds, checks })
    }

    /// Has the kernel of a case, a call of which takes so many nanoseconds, in a process of its own while `body` asks it.
    fn on_trial(
        &mut self,
        draws: &Draws,
        (case, ns): (&Case, f64),
        is_fenced: bool,
        findings: &mut Findings,
        body: impl FnOnce(&mut Trial<'_>, &mut Findings) -> Result<(), Stopped>,
    ) -> Result<Result<(), Stopped>, Refusal> {
        let request = draws.request(case, is_fenced)?;
        let layout = request.layout().map_err(Refusal::Skipped)?;
        let memory = self.map(layout.end).map_err(Refusal::Failed)?;
        let threads = threads::count(case.settings.threads);
        let started =
            Trial::start(draws, &request, &layout, memory, &mut self.zygote, (threads, ns));
        let ended = started.and_then(|mut trial| {
            trial.is_on_device = case.device != Device::Cpu;
            let ended = body(&mut trial, findings);
            findings.calls += trial.calls;
            ended
        });
        self.zygote.end().map_err(Refusal::Failed)?;
        self.file.clear(&layout).map_err(Refusal::Failed)?;
        Ok(ended)
    }

    /// Calls a kernel at another size, on tensors that lie between pages that nobody may touch; at its own, if it does not
    /// solve another.
    fn on_fenced_trials(
        &mut self,
        draws: &Draws,
        (case, ns): (&Case, f64),
        findings: &mut Findings,
    ) -> Result<Result<(), Stopped>, Refusal> {
        let fenced = |trial: &mut Trial<'_>, findings: &mut Findings| findings.fenced(trial);
        let sizes = match &draws.near {
            Err(why) => Check::skipped("sizes", why),
            Ok(near) => match self.on_trial(near, (case, ns), true, findings, fenced)? {
                Ok(()) => Check::passed("sizes", format!("at {}", near.size())),
                Err(Stopped::Failed { check: "output", what }) => {
                    let what = format!("at {}: {what}", near.size());
                    return Ok(Err(Stopped::Failed { check: "sizes", what }));
                }
                Err(Stopped::Failed { what, .. } | Stopped::Unjudged(what)) => {
                    Check::skipped("sizes", format!("at {} it ends: {what}", near.size()))
                }
                Err(broken) => return Ok(Err(broken)),
            },
        };
        if sizes.status != CheckStatus::Passed {
            let ended = self.on_trial(draws, (case, ns), true, findings, fenced)?;
            if ended.is_err() {
                return Ok(ended);
            }
        }
        let bounds = match case.device {
            Device::Cpu => Check::passed("bounds", "between guard pages"),
            _ => Check::skipped("bounds", "memory of a device has no guard pages"),
        };
        findings.checks.extend([bounds, sizes, draws.task.clone()]);
        Ok(Ok(()))
    }

    /// The first `bytes` of the file, where they are mapped.
    fn map(&mut self, bytes: usize) -> Result<NonNull<u8>, String> {
        match self.memory {
            Some((memory, mapped)) if mapped >= bytes => Ok(memory),
            _ => {
                // A smaller one stays mapped: it takes no memory of its own.
                let memory = self.file.map(bytes)?;
                self.memory = Some((memory, bytes));
                Ok(memory)
            }
        }
    }
}

/// Whether records are as they were judged, when no process but the one that forks kernels can write to them.
fn checked(store: &Store, forking: Pid, answers: &BTreeMap<String, Judged>) -> Result<(), String> {
    others::end_all_but(forking)?;
    let changed = records::failed(store.files(), answers)?;
    let Some(first) = changed.first() else { return Ok(()) };
    Err(format!(
        "the records of {} kernels are not what their judge has found, the first of them {first}: a kernel of this run \
         has changed them; they say `failed` now",
        changed.len()
    ))
}

/// Ends this process by the signal that has ended the harness, so that whoever waits sees it.
fn end_by(by: Signal) -> Result<ExitCode, String> {
    // SAFETY: no handler of ours is installed.
    unsafe { signal(by, SigHandler::SigDfl) }.map_err(|error| error.to_string())?;
    nix::sys::signal::raise(by).map_err(|error| error.to_string())?;
    Ok(ExitCode::FAILURE)
}
