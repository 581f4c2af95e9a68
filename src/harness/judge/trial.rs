//! Calls of a kernel in its own process, timed from outside.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use fastrand::Rng;
use plan::Threads;
use tch::Tensor;

use super::child::{Command, Status};
use super::draws::{Draw, Draws};
use super::examples::{Content, Examples};
use super::memory::{Area, Control, Form, Layout, PAGE, Request};
use super::process::{Machine, Process};
use super::zygote::{End, Zygote};
use crate::harness::clock::Stopwatch;
use crate::refusal::Refusal;
use crate::threads;
use crate::verify::Judge;

/// Seconds that a command may take, if its calls are not expected to take longer.
const LIMIT_S: f64 = 60.0;

/// Why a kernel is not judged whose times other programs have changed.
const OTHER_WORK: &str = "other work has taken its threads their cores; measure on a quiet machine";

/// The end of a trial before its last question.
#[derive(Debug)]
pub enum Stopped {
    /// The kernel is not judged, and why.
    Unjudged(String),
    /// A check has failed.
    Failed { check: &'static str, what: String },
    /// The judge cannot go on.
    Broken(String),
}

pub struct Trial<'a> {
    pub draws: &'a Draws,
    pub rng: Rng,
    /// Calls until now.
    pub calls: u64,
    /// Threads that the kernel may use.
    pub threads: u32,
    /// Whether the judge waits without a pause: where the kernel leaves it a core.
    pub spins: bool,
    /// Whether calls are launched, and done when the device is.
    pub is_on_device: bool,
    pub examples: Examples<'a>,
    pub process: Process,
    machine: Machine,
    request: &'a Request,
    layout: &'a Layout,
    memory: NonNull<u8>,
    control: &'a Control,
    zygote: &'a mut Zygote,
    /// Runs that were timed, and those of them that other work has disturbed.
    tries: u32,
    disturbed: u32,
    /// In each batch, the share of its time for which the kernel's process had a core, or waited for one.
    working: Vec<f64>,
    expected_ns: f64,
}

impl<'a> Trial<'a> {
    /// Starts the process of a kernel, and has the kernel prepared.
    pub fn start(
        draws: &'a Draws,
        request: &'a Request,
        layout: &'a Layout,
        memory: NonNull<u8>,
        zygote: &'a mut Zygote,
        (threads, expected_ns): (u32, f64),
    ) -> Result<Self, Stopped> {
        let seed = super::draws::seed().map_err(|error| Stopped::Broken(error.to_string()))?;
        // SAFETY: the file's first bytes are mapped there for as long as the process lives.
        let control = unsafe { memory.cast::<Control>().as_ref() };
        control.command.store(1, Relaxed);
        control.done.store(0, Relaxed);
        control.fault.store(0, Relaxed);
        let mut rng = Rng::with_seed(seed as u64);
        let examples = Examples::new(draws, request, layout, (memory, control), rng.fork());
        let process = Process::new(zygote.start(request).map_err(Stopped::Broken)?);
        let machine = Machine::now(&process);
        let mut trial = Self {
            draws,
            rng,
            calls: 0,
            threads,
            spins: false,
            is_on_device: false,
            examples,
            process,
            machine,
            request,
            layout,
            memory,
            control,
            zygote,
            tries: 0,
            disturbed: 0,
            working: Vec::new(),
            expected_ns,
        };
        trial.finished(1, LIMIT_S)?;
        Ok(trial)
    }

    /// Has the next calls read these inputs, elsewhere in memory. They are written last, right before the calls, where a
    /// device has no copy of them.
    pub fn reveal(&mut self, content: Content) -> Result<(), Stopped> {
        self.overwrite()?;
        self.present(content)
    }

    /// Has the output of the last call hold nothing.
    pub fn overwrite(&mut self) -> Result<(), Stopped> {
        self.command(Command::Overwrite, 0).map(drop)
    }

    /// Has the next calls read these inputs; from here on no code of the kernel is called before them.
    pub fn present(&mut self, content: Content) -> Result<(), Stopped> {
        self.examples.choose(content);
        self.show(|examples| examples.fill(content))?;
        match content {
            Content::Untouched | Content::Again => Ok(()),
            _ => self.let_threads_wake(),
        }
    }

    /// Says where the inputs of the next calls are, and has them written by `fill` right after that; before it where a device
    /// has a copy of them.
    fn show(&mut self, fill: impl FnOnce(&Examples<'_>)) -> Result<(), Stopped> {
        if self.is_on_device {
            fill(&self.examples);
            return self.command(Command::Reveal, 0).map(drop);
        }
        self.command(Command::Reveal, 0)?;
        fill(&self.examples);
        Ok(())
    }

    /// The threads of a call share a core for a while if it begins right after a long copy, and so it begins later. What is
    /// missing of its inputs until then is little, but nobody knows where.
    fn let_threads_wake(&mut self) -> Result<(), Stopped> {
        const PAUSE: Duration = Duration::from_millis(1);
        if self.is_on_device || self.process.alone_ns().is_some() {
            return Ok(());
        }
        let withheld = self.examples.withhold();
        std::thread::sleep(PAUSE);
        // It asks for the next command without a pause, once it has had one.
        self.command(Command::Reveal, 0)?;
        withheld.iter().rev().for_each(|(place, bytes)| self.examples.put(*place, bytes));
        Ok(())
    }

    /// Nanoseconds of a call on these inputs, of so many in a row, taken while no other work had the cores of the kernel's
    /// threads.
    pub fn timed(&mut self, content: Content, iters: u64) -> Result<f64, Stopped> {
        /// Nanoseconds beside which the wake-up of a process is short.
        const LONG_NS: f64 = 500e3;
        /// Disturbed runs from which on a machine is too busy, if they are more than half of all.
        const MOST: u32 = 12;
        loop {
            self.reveal(content)?;
            let (before, cpu) = (self.process.waited_ns(), self.process.alone_ns());
            let watch = Stopwatch::start();
            let ns = self.run(iters)?;
            let wall = watch.ns();
            if let (Some(cpu), Some(after)) = (cpu, self.process.alone_ns())
                && wall > LONG_NS
            {
                self.working.push((after - cpu + self.process.waited_ns() - before) / wall);
            }
            self.tries += 1;
            if !self.is_disturbed(before, ns * iters as f64) {
                return Ok(ns);
            }
            self.disturbed += 1;
            if self.disturbed > MOST.max(self.tries / 2) {
                return Err(Stopped::Unjudged(OTHER_WORK.to_owned()));
            }
        }
    }

    /// The time for which a process has a core is that of a call if it sleeps in none. Who works for it meanwhile is not
    /// seen.
    pub fn sleeps(&self) -> Result<(), Stopped> {
        const LEAST: f64 = 0.6;
        let share = statistics::median(&self.working);
        // Also where there are none.
        if share.is_nan() || share >= LEAST {
            return Ok(());
        }
        let why = format!(
            "its process has no core for {:.0} % of its calls and waits for none, and so their time is not known",
            100.0 * (1.0 - share)
        );
        Err(Stopped::Unjudged(why))
    }

    /// Whether threads had to wait for a core in these nanoseconds, before which they had waited for so many. One thread by
    /// itself has a clock of its own.
    fn is_disturbed(&self, before: f64, ns: f64) -> bool {
        /// Nanoseconds of waiting that say nothing, beside a quarter of the time.
        const USUAL_NS: f64 = 50e3;
        self.process.alone_ns().is_none() && self.process.waited_ns() - before > ns / 4.0 + USUAL_NS
    }

    /// Has the next calls read examples that are of no draw.
    pub fn reveal_others(&mut self, others: &[Tensor]) -> Result<(), Stopped> {
        self.overwrite()?;
        self.examples.choose_others();
        self.show(|examples| examples.fill_others(others))
    }

    /// Nanoseconds of a call, of so many in a row.
    pub fn run(&mut self, iters: u64) -> Result<f64, Stopped> {
        self.calls += iters;
        Ok(self.command(Command::Run, iters)? / iters as f64)
    }

    /// The output of the last call, and the nanoseconds that it takes to have it.
    pub fn output(&mut self) -> Result<(Tensor, f64), Stopped> {
        let ns = self.command(Command::Output, 0)?;
        let form = self.control.output();
        if form.bytes() > self.layout.output.bytes {
            return Err(self.failed("inputs", "its output is larger than it said"));
        }
        // SAFETY: so many bytes are mapped there.
        let data = unsafe { self.memory.as_ptr().add(self.layout.output.offset) };
        // SAFETY: as above, at the beginning of a page; it is copied before anything else is written there.
        let output = unsafe { form.tensor_at(data) }.and_then(|it| it.f_detach_copy());
        output.map(|it| (it, ns)).map_err(|error| self.failed("inputs", &error.to_string()))
    }

    pub fn draw(&self, index: usize) -> &'a Draw {
        &self.draws.all[index]
    }

    /// The demands on the output of a call on what lies there now.
    pub fn judge_of_content(&self) -> Result<Judge, Stopped> {
        let examples = self.examples.tensors().map_err(Refusal::from);
        examples
            .and_then(|it| self.draws.judge_of(it))
            .map_err(|it| Stopped::Broken(it.to_string()))
    }

    /// The seeds of all draws, for people.
    pub fn seeds(&self) -> String {
        let seeds: Vec<String> = self.draws.all.iter().map(|it| it.seed.to_string()).collect();
        format!("the seeds {}", seeds.join(", "))
    }

    /// Bytes of the examples of a call, and of its output.
    pub fn bytes(&self) -> (usize, usize) {
        (self.request.examples.iter().map(Form::bytes).sum(), self.request.output)
    }

    /// The failure of a check, with the call that showed it.
    pub fn failed(&self, check: &'static str, what: &str) -> Stopped {
        Stopped::Failed { check, what: format!("call {}: {what}", self.calls) }
    }

    /// A kernel is not judged by times that other programs may have made what they are.
    pub fn is_alone(&self) -> Result<(), Stopped> {
        match self.machine.does_other_work(&self.process) {
            true => Err(Stopped::Unjudged(OTHER_WORK.to_owned())),
            false => Ok(()),
        }
    }

    fn command(&mut self, command: Command, iters: u64) -> Result<f64, Stopped> {
        let number = self.control.command.load(Relaxed) + 1;
        self.control.kind.store(command as u32, Relaxed);
        self.control.iters.store(iters, Relaxed);
        let limit_s = LIMIT_S.max(100.0 * self.expected_ns * iters as f64 / 1e9);
        let before = self.process.alone_ns();
        let is_alone = before.is_some() || self.is_on_device;
        self.spins = self.threads < threads::count(Threads::All) && is_alone;
        let watch = Stopwatch::start();
        self.control.command.store(number, Release);
        self.finished(number, limit_s)?;
        let ns = watch.ns();
        Ok(match (before, self.process.alone_ns()) {
            (Some(before), Some(after)) => ns.min(after - before),
            _ => ns,
        })
    }

    /// Waits until a command is done.
    fn finished(&mut self, number: u32, limit_s: f64) -> Result<(), Stopped> {
        /// Seconds of waiting without a pause, and of a pause.
        const SPINNING_S: f64 = 300e-6;
        const PAUSE: Duration = Duration::from_micros(20);
        let watch = Stopwatch::start();
        let mut looks: u64 = 0;
        while self.control.done.load(Acquire) != number {
            if self.spins && watch.seconds() < SPINNING_S {
                // The kernel's process has the core, if the two have one.
                std::thread::yield_now();
                continue;
            }
            std::thread::sleep(PAUSE);
            looks += 1;
            if looks.is_multiple_of(64) {
                if let Some(end) = self.zygote.ended().map_err(Stopped::Broken)? {
                    return Err(self.died(&end));
                }
                if watch.seconds() > limit_s {
                    return Err(
                        self.failed("process", &format!("it has not ended after {limit_s} s"))
                    );
                }
            }
        }
        let (status, said) = (self.control.status.load(Relaxed), self.control.said());
        match status {
            it if it == Status::Done as u32 => Ok(()),
            it if it == Status::Refused as u32 => Err(Stopped::Unjudged(said)),
            it if it == Status::Forbidden as u32 => Err(self.failed("inputs", &said)),
            _ => Err(self.failed("process", &said)),
        }
    }

    /// The failure of a kernel whose process has ended.
    fn died(&self, end: &End) -> Stopped {
        let fault = self.control.fault.load(Acquire);
        let place = fault.wrapping_sub(self.control.base.load(Relaxed));
        if fault != 0 && place < self.layout.reserved as u64 {
            return self.failed("inputs", &self.touched(place as usize));
        }
        if fault != 0 && self.request.is_fenced {
            return self.failed("bounds", "it touched memory beyond a tensor");
        }
        let how = match end {
            End::Exit { code } => format!("exited with {code}"),
            End::Signal { name } => format!("was ended by {name}"),
            End::Error { text } => text.clone(),
        };
        self.failed("process", &format!("its process {how}"))
    }

    /// The thing that it did at a place of the memory of its inputs.
    fn touched(&self, place: usize) -> String {
        let lies_in = |area: &Area| (area.address..area.address + area.bytes).contains(&place);
        let around =
            |area: &Area| (area.address - PAGE..area.address + area.bytes + PAGE).contains(&place);
        for (example, areas) in self.layout.examples.iter().enumerate() {
            if areas.iter().any(lies_in) {
                return format!(
                    "it wrote to input {example}, which every call has to leave as it is"
                );
            }
        }
        for (example, areas) in self.layout.examples.iter().enumerate() {
            if let Some(area) = areas.iter().find(|it| around(it)) {
                let by = place as i64 - (area.address + area.bytes) as i64;
                return format!(
                    "it touched memory beyond input {example}, {by} bytes from its end"
                );
            }
        }
        "it touched memory beside its inputs".to_owned()
    }
}
