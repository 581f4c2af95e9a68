//! The process of a kernel: it runs what the judge asks for, on inputs that it cannot write to.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use plan::Case;
use tch::Device::Cpu;
use tch::Tensor;

use super::confine;
use super::memory::{Control, Form, Layout, PAGE, Request, SharedMemory};
use crate::device;
use crate::harness::case_run::settle_allocator;
use crate::harness::clock::{HostClock, Stopwatch, time};
use crate::harness::panics;
use crate::inputs::Inputs;
use crate::kernel::Step;
use crate::native::{fence, numerics};
use crate::refusal::Refusal;
use crate::threads;
use crate::workload::generated::build;

/// A request of the judge, by its number in [`Control::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Command {
    /// Has the next calls read the examples that lie at [`Control::places`]. No code of the kernel runs between their
    /// writing and the call.
    Reveal = 1,
    /// Calls it [`Control::iters`] times.
    Run = 2,
    /// Copies the output to where the judge reads it.
    Output = 3,
    /// Fills the output of the last call with NaN, so that it cannot be taken for that of the next.
    Overwrite = 4,
}

/// How a command ended, by its number in [`Control::status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    Done = 0,
    /// The machine is too small for it.
    Refused = 1,
    /// An error or a panic.
    Failed = 2,
    /// An output that cannot be one: in the memory of the inputs, or one value in many places.
    Forbidden = 3,
}

/// The exit code of a process whose kernel touched what it may not.
const TOUCHED: i32 = 139;

/// The control page, for the handler of faults.
static CONTROL: AtomicPtr<Control> = AtomicPtr::new(std::ptr::null_mut());

/// Runs a case's kernel until the judge ends this process.
pub fn serve(memory: SharedMemory, request: &Request, case: &Case) -> Result<(), String> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|error| error.to_string())?;
    let layout = request.layout()?;
    let control = memory.map(PAGE)?.cast::<Control>();
    CONTROL.store(control.as_ptr(), Relaxed);
    let base = memory.map_for_kernel(&layout)?;
    // From here on there is no way to the file, and none to write to what is mapped for reading.
    drop(memory);
    // SAFETY: mapped for as long as this process lives; both sides share it by atomics.
    let control = unsafe { control.as_ref() };
    control.base.store(base.as_ptr() as u64, Relaxed);
    settle_allocator(case.settings.allocator);
    if request.is_fenced {
        fence::tensors().map_err(|error| error.to_string())?;
    }
    threads::settle(case.settings.threads);
    numerics::pin().map_err(|error| error.to_string())?;
    let _no_gradients = tch::no_grad_guard();
    report_faults()?;
    let (place, given) = (Cell::new(Cpu), RefCell::default());
    let kernel = Kernel { control, layout: &layout, request, base, case, place, given };
    let prepared = || {
        kernel.place.set(started(case)?);
        kernel.build()
    };
    let step = match kernel.told(prepared) {
        Some(step) => step,
        None => return Ok(()),
    };
    loop {
        let command = kernel.next_command();
        kernel.told(|| kernel.obey(command, &step));
    }
}

/// The place of a case's tensors, from where on this process is confined.
fn started(case: &Case) -> Result<tch::Device, Ended> {
    let place = device::resolve(case.device)?;
    // A driver starts with files and threads that a confined process may not have.
    drop(Tensor::f_zeros([1], (tch::Kind::Float, place))?);
    device::synchronize(case.device)?;
    confine::confine(place != Cpu).map_err(Refusal::Failed)?;
    Ok(place)
}

struct Kernel<'a> {
    control: &'a Control,
    layout: &'a Layout,
    request: &'a Request,
    base: NonNull<u8>,
    case: &'a Case,
    place: Cell<tch::Device>,
    /// Examples on a device, each with a copy of it.
    given: RefCell<Vec<[Tensor; 2]>>,
}

impl Kernel<'_> {
    fn build(&self) -> Result<Step, Ended> {
        let parameters = self.layout.parameters.iter().zip(&self.request.parameters);
        // Copied: what a kernel is prepared with is its own.
        let parameters = parameters
            .map(|(area, form)| {
                let parameter = self.tensor(area.address as u64, form)?.f_detach_copy()?;
                Ok(parameter.f_to_device(self.place.get())?)
            })
            .collect::<Result<Vec<Tensor>, Refusal>>()?;
        let examples = self.examples()?;
        Ok(build(self.case, Inputs { examples, parameters })?)
    }

    fn tensor(&self, place: u64, form: &Form) -> Result<Tensor, Refusal> {
        // SAFETY: within what is mapped: the judge puts them there, and they stay mapped.
        let data = unsafe { self.base.as_ptr().add(place as usize) };
        // SAFETY: so many bytes are mapped there, at multiples of what a tensor needs.
        Ok(unsafe { form.tensor_at(data) }?)
    }

    /// The examples where the judge has put them; on a device, copies of them.
    fn examples(&self) -> Result<Vec<Tensor>, Refusal> {
        let places = self.control.places.iter().map(|it| it.load(Relaxed));
        let examples = places
            .zip(&self.request.examples)
            .map(|(place, form)| Ok(self.tensor(place, form)?.f_to_device(self.place.get())?))
            .collect::<Result<Vec<Tensor>, Refusal>>()?;
        if self.place.get() != Cpu {
            let twice = |it: &Tensor| Ok([it.shallow_clone(), it.f_detach_copy()?]);
            let given = examples.iter().map(twice).collect::<Result<_, Refusal>>()?;
            self.given.replace(given);
        }
        Ok(examples)
    }

    /// Has other values lie where the examples were. On a device nothing keeps a kernel from writing to them.
    fn take_back(&self) -> Result<(), Ended> {
        for [mut given, copy] in self.given.take() {
            if !given.f_equal(&copy)? {
                let what = "it wrote to an input, which every call has to leave as it is";
                return Err(Ended::Forbidden(what.to_owned()));
            }
            drop(given.f_zero_()?);
        }
        Ok(())
    }

    fn next_command(&self) -> Option<Command> {
        /// Seconds of waiting without a pause.
        const SPINNING_S: f64 = 50e-6;
        let (last, watch) = (self.control.done.load(Relaxed), Stopwatch::start());
        while self.control.command.load(Acquire) == last {
            std::thread::yield_now();
            if watch.seconds() > SPINNING_S {
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
        }
        let known = [Command::Reveal, Command::Run, Command::Output, Command::Overwrite];
        let kind = self.control.kind.load(Relaxed);
        known.into_iter().find(|it| *it as u32 == kind)
    }

    fn obey(&self, command: Option<Command>, step: &Step) -> Result<(), Ended> {
        match command {
            Some(Command::Reveal) => self.reveal(step),
            Some(Command::Run) => {
                let iters = self.control.iters.load(Relaxed);
                time(&mut HostClock, || step.run(), None, iters)?;
                Ok(device::synchronize(self.case.device)?)
            }
            Some(Command::Output) => self.output(step),
            Some(Command::Overwrite) => self.overwrite(step),
            None => Err(Refusal::Failed("an unknown command".to_owned()).into()),
        }
    }

    fn overwrite(&self, step: &Step) -> Result<(), Ended> {
        if step.runs.get() > 0
            && let Some(mut output) = step.left()?
            && output.is_floating_point()
            && self.forbidden(&output).is_none()
        {
            threads::by_one(|| output.f_fill_(f64::NAN).map(drop))?;
        }
        Ok(())
    }

    fn reveal(&self, step: &Step) -> Result<(), Ended> {
        let examples = step.examples.as_ref().ok_or_else(|| {
            Refusal::Failed("it draws its inputs itself, and cannot be given others".to_owned())
        })?;
        examples.replace(self.examples()?);
        Ok(())
    }

    /// Why a tensor is no output.
    fn forbidden(&self, output: &Tensor) -> Option<&'static str> {
        let (base, data) = (self.base.as_ptr() as usize, output.data_ptr() as usize);
        if (base..base + self.layout.reserved).contains(&data) {
            return Some("its output lies in the memory of its inputs");
        }
        let repeated =
            output.size().iter().zip(output.stride()).any(|(n, stride)| *n > 1 && stride == 0);
        repeated.then_some("its output has one value in many places (a stride of 0)")
    }

    fn output(&self, step: &Step) -> Result<(), Ended> {
        self.take_back()?;
        let none = || Refusal::Failed("its output cannot be read".to_owned());
        let output = step.left()?.ok_or_else(none)?.f_to_device(Cpu)?;
        if let Some(why) = self.forbidden(&output) {
            return Err(Ended::Forbidden(why.to_owned()));
        }
        threads::by_one(|| self.copy(&output))
    }

    fn copy(&self, output: &Tensor) -> Result<(), Ended> {
        let output = output.f_contiguous()?;
        let form = Form::of_tensor(&output).map_err(Refusal::Failed)?;
        let place = self.layout.output;
        if form.bytes() > place.bytes || !self.control.set_output(&form) {
            let what = format!("its output is {:?}, larger than its reference", form.size);
            return Err(Ended::Forbidden(what));
        }
        self.tensor(place.address as u64, &form)?.f_copy_(&output)?;
        Ok(())
    }

    /// Does something for the judge, and says how it ended.
    fn told<T>(&self, body: impl FnOnce() -> Result<T, Ended>) -> Option<T> {
        let ended = match panics::catch(body) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(ended)) => Err(ended),
            Err(panics::Caught::Panic(message)) => Err(Ended::Refusal(Refusal::Failed(message))),
            Err(panics::Caught::Other(_)) => {
                Err(Ended::Refusal(Refusal::Failed("a panic without a message".to_owned())))
            }
        };
        let (status, value) = match ended {
            Ok(value) => (Status::Done, Some(value)),
            Err(Ended::Forbidden(why)) => {
                self.control.say(&why);
                (Status::Forbidden, None)
            }
            Err(Ended::Refusal(refusal)) => {
                self.control.say(&refusal.to_string());
                match refusal {
                    Refusal::Oom(_) | Refusal::Timeout(_) => (Status::Refused, None),
                    // Its own process has done what it refuses here.
                    _ => (Status::Failed, None),
                }
            }
        };
        self.control.status.store(status as u32, Relaxed);
        let command = self.control.command.load(Relaxed);
        self.control.done.store(command, Release);
        value
    }
}

/// Why a command ended early.
enum Ended {
    Refusal(Refusal),
    Forbidden(String),
}

impl<E: Into<Refusal>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Refusal(error.into())
    }
}

/// Has this process end with the address that it touched and may not.
fn report_faults() -> Result<(), String> {
    let action = SigAction::new(
        SigHandler::SigAction(fault),
        SaFlags::SA_ONSTACK | SaFlags::SA_RESETHAND,
        SigSet::empty(),
    );
    for signal in [Signal::SIGSEGV, Signal::SIGBUS] {
        // SAFETY: the handler stores numbers by atomics and ends the process.
        unsafe { sigaction(signal, &action) }.map_err(|error| error.to_string())?;
    }
    Ok(())
}

extern "C" fn fault(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    /// Threads may fault at once; the first one tells.
    static TOLD: AtomicU32 = AtomicU32::new(0);
    let control = CONTROL.load(Relaxed);
    if TOLD.swap(1, Relaxed) == 0 {
        // SAFETY: the system fills it for these signals.
        let info = unsafe { &*info };
        // SAFETY: likewise.
        let address = unsafe { info.si_addr() };
        // SAFETY: set before the handler was installed, and mapped ever since.
        unsafe { (*control).fault.store(address as u64, Release) };
    }
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(TOUCHED) };
}
