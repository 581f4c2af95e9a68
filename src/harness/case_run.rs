//! One case, built, checked and its memory counted: ready to be timed.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Once;

use plan::{
    Accuracy, Allocator, Case, Compilation, Device, Judged, KernelFacts, LastSample, Measures,
    Memory, ModelFacts, Pair, Planned, StepMemory, WallTimes, Weights, Work,
};

use super::pilot::Pilot;
use super::ranges;
use super::running;
use super::timer::{Subject, Timer};
use crate::device;
use crate::measurement::memory;
use crate::native::allocator::{self, Retention};
use crate::native::huge_pages;
use crate::threads;
use crate::workload::{Prepare, Refusal, Workload};

/// A case that is ready to be timed.
pub struct CaseRun {
    pub subject: Subject,
    /// Absent if the case was rebuilt, like the field below.
    pub accuracy: Option<Accuracy>,
    /// The very first step after building, in nanoseconds.
    pub first_call_ns: Option<u64>,
    pub memory: Result<Memory, String>,
    /// Its time and noise, once it has been warmed up for sampling.
    pub pilot: Option<Pilot>,
    /// Median nanoseconds of a step in the samples that criterion took.
    pub alone_ns: Option<f64>,
}

/// Everything known about a case besides its outcome and criterion's estimate of its time, as
/// [`plan::Record`] has it.
#[derive(Debug, Default)]
pub struct Findings {
    pub kernels: Vec<String>,
    pub weights: Option<Weights>,
    pub kernel: Option<KernelFacts>,
    pub judged: Option<Judged>,
    pub model: Option<ModelFacts>,
    pub compilation: Option<Compilation>,
    pub accuracy: Option<Accuracy>,
    pub last_sample: Option<LastSample>,
    pub planned: Option<Planned>,
    pub pairs: Vec<Pair>,
    pub no_pair: Option<String>,
    pub measures: Measures,
    pub wall: WallTimes,
    pub notes: Vec<String>,
}

impl Findings {
    /// Forgets everything that was timed.
    pub fn discard(&mut self) {
        let Measures { first_call_ns, memory, .. } = self.measures;
        self.measures = Measures { first_call_ns, memory, ..Measures::default() };
        (self.last_sample, self.planned, self.no_pair) = (None, None, None);
        self.pairs.clear();
    }
}

impl CaseRun {
    /// Builds the case, times its first step, checks its output, and counts the memory of one
    /// step, in that order: a case that computes garbage is never sampled, and no probe touches a
    /// timed sample.
    pub fn prepare(
        case: &Case,
        prepare: Prepare,
        timer: &mut Option<Rc<RefCell<Timer>>>,
    ) -> Result<Self, Refusal> {
        settle_allocator(case.settings.allocator);
        threads::settle(case.settings.threads);
        let mut subject = Subject::new(prepare(case)?, case.settings.threads);
        let mut timer = timer_for(case, timer)?.borrow_mut();
        let first_call = timer.time(&mut subject, 1)?.device;
        let accuracy = {
            let _range = ranges::for_case(case, "check");
            subject.workload.check()?
        };
        running::check()?;
        let memory = {
            let _range = ranges::for_case(case, "memory");
            count_memory(case, subject.workload.as_ref())?
        };
        timer.pace(&mut subject)?;
        let first_call_ns = Some(u64::try_from(first_call.as_nanos()).unwrap_or(u64::MAX));
        let accuracy = Some(accuracy);
        Ok(Self { subject, accuracy, first_call_ns, memory, pilot: None, alone_ns: None })
    }

    /// Rebuilds a case that was checked and timed before and then dropped to free memory. It needs no pilot: its pair
    /// already knows the time of a step.
    pub fn rebuild(case: &Case, prepare: Prepare, timer: &RefCell<Timer>) -> Result<Self, Refusal> {
        settle_allocator(case.settings.allocator);
        threads::settle(case.settings.threads);
        let mut subject = Subject::new(prepare(case)?, case.settings.threads);
        drop(subject.workload.step()?);
        timer.borrow_mut().pace(&mut subject)?;
        Ok(Self {
            subject,
            accuracy: None,
            first_call_ns: None,
            memory: Err("it was counted when the case was first built".to_owned()),
            pilot: None,
            alone_ns: None,
        })
    }

    /// Writes the findings of the preparation into the record.
    pub fn report(&self, findings: &mut Findings) {
        findings.kernels = self.subject.workload.kernels();
        findings.weights = self.subject.workload.weights();
        findings.kernel = self.subject.workload.kernel();
        findings.model = self.subject.workload.model();
        findings.compilation = self.subject.workload.compilation();
        findings.notes.extend(self.subject.workload.notes());
        findings.accuracy.clone_from(&self.accuracy);
        findings.measures.first_call_ns = self.first_call_ns;
        match &self.memory {
            Ok(memory) => findings.measures.memory = Some(*memory),
            Err(reason) => {
                findings.measures.absent.insert("memory".to_owned(), reason.clone());
            }
        }
    }
}

/// The timer of a case's group, made for the first of its cases.
pub fn timer_for<'t>(
    case: &Case,
    timer: &'t mut Option<Rc<RefCell<Timer>>>,
) -> Result<&'t RefCell<Timer>, Refusal> {
    Ok(match timer {
        Some(timer) => timer,
        None => timer.insert(Rc::new(RefCell::new(Timer::for_case(case)?))),
    })
}

/// The memory of one step, on its device, or why it cannot be told. Rust's allocations are part of a user's kernel; of
/// other work they are the harness's, so they are not counted in a program that has both.
fn count_memory(case: &Case, workload: &dyn Workload) -> Result<Result<Memory, String>, Refusal> {
    let step = || workload.step();
    let (output, counted) = match case.work {
        Work::Kernel(_) => memory::track(case.device, step)?,
        _ => memory::track_libtorch(case.device, step).map(|(output, it)| (output, Ok(it)))?,
    };
    drop(output?);
    if let Some(reason) = workload.uncounted().or_else(|| device::uncounted(case.device)) {
        return Ok(Err(reason));
    }
    Ok(counted.map(|counted| Memory {
        weights_bytes: workload.weights_bytes(),
        inputs_bytes: workload.inputs_bytes(),
        outputs_bytes: workload.outputs_bytes(),
        saved_bytes: workload.saved_bytes(),
        step: StepMemory {
            peak_bytes: counted.peak_bytes,
            total_bytes: counted.total_bytes,
            allocations: counted.allocations,
        },
    }))
}

/// Puts the allocator into the state that the case asks for, as far as that goes: retention cannot
/// be undone within a process. The case's record names the state in force.
pub fn settle_allocator(wanted: Allocator) {
    let settled = match (wanted, allocator::retention()) {
        (_, Retention::Retained) => Ok(()),
        (Allocator::Retained, Retention::System) => {
            huge_pages::allow(true).and_then(|()| allocator::retain())
        }
        // As in any other program: where huge pages go to those who ask, it has none.
        (Allocator::System, Retention::System) if huge_pages::are_for_those_who_ask() => {
            huge_pages::allow(false)
        }
        (Allocator::System, Retention::System) => Ok(()),
    };
    static SAID: Once = Once::new();
    if let Err(error) = settled {
        SAID.call_once(|| eprintln!("note: the allocator could not be set: {error}"));
    }
}

/// The case's tensors are gone; gives their memory back, so that the next case does not inherit it.
pub fn release(device: Device) {
    let on_host = match allocator::retention() {
        Retention::Retained => allocator::release().map(drop),
        Retention::System => Ok(()),
    };
    let on_device = device::empty_cache(device);
    for error in [on_host, on_device].into_iter().filter_map(Result::err) {
        eprintln!("note: freed memory was not given back: {error}");
    }
}
