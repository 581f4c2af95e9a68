//! Calls of a kernel in its own process, timed from outside.

use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use fastrand::Rng;
use nix::unistd::Pid;
use plan::Threads;
use tch::Tensor;

use super::child::{Command, Status};
use super::draws::{Draw, Draws};
use super::memory::{ALIGNMENT, Area, Control, Form, Layout, PAGE, Request};
use super::zygote::{End, Zygote};
use crate::harness::clock::Stopwatch;
use crate::refusal::Refusal;
use crate::threads;
use crate::verify::Judge;

/// Seconds that a command may take, if its calls are not expected to take longer.
const LIMIT_S: f64 = 60.0;

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

/// The inputs of the next calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// The inputs of a draw.
    Drawn(usize),
    /// Parts of two draws, never the same twice.
    Mixed,
    /// Mixed ones where the inputs of the last call lie: whoever reads them only now finds others.
    Scrambled,
    /// The last ones, written once more.
    Again,
    /// Nothing is written.
    Untouched,
}

/// The last that was written of an example: the whole of a draw, and parts of draws.
#[derive(Debug, Clone, Default)]
struct Written {
    /// The draw that the example was last a whole of.
    base: usize,
    whole: Option<usize>,
    parts: Vec<(usize, Range<usize>)>,
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
    request: &'a Request,
    layout: &'a Layout,
    memory: NonNull<u8>,
    control: &'a Control,
    zygote: &'a mut Zygote,
    pub pid: Pid,
    /// Runs that were timed, and those of them that other work has disturbed.
    tries: u32,
    disturbed: u32,
    /// In each batch, the share of its time for which the kernel's process had a core, or waited for one.
    working: Vec<f64>,
    /// Counts the time for which the kernel's process has a core.
    cpu_clock: Option<libc::clockid_t>,
    /// The place of each example in the file.
    places: Vec<usize>,
    written: Vec<Written>,
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
        let count = request.examples.len();
        let (places, written) = (vec![0; count], vec![Written::default(); count]);
        let rng = Rng::with_seed(seed as u64);
        let mut trial = Self {
            draws,
            rng,
            calls: 0,
            threads,
            spins: false,
            is_on_device: false,
            request,
            layout,
            memory,
            control,
            zygote,
            pid: Pid::from_raw(0),
            tries: 0,
            disturbed: 0,
            working: Vec::new(),
            cpu_clock: None,
            places,
            written,
            expected_ns,
        };
        trial.write(Content::Drawn(0));
        if !draws.are_written.replace(true) {
            trial.write_parameters();
        }
        trial.pid = trial.zygote.start(request).map_err(Stopped::Broken)?;
        let mut clock = 0;
        // SAFETY: it is written where there is such a process.
        let found = unsafe { libc::clock_getcpuclockid(trial.pid.as_raw(), &raw mut clock) };
        trial.cpu_clock = (found == 0).then_some(clock);
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
        self.choose(content);
        self.show(|trial| trial.fill(content))?;
        self.let_threads_wake(content)
    }

    /// Says where the inputs of the next calls are, and has them written by `fill` right after that; before it where a device
    /// has a copy of them.
    fn show(&mut self, fill: impl FnOnce(&Self)) -> Result<(), Stopped> {
        if self.is_on_device {
            fill(self);
            return self.command(Command::Reveal, 0).map(drop);
        }
        self.command(Command::Reveal, 0)?;
        fill(self);
        Ok(())
    }

    /// The threads of a call share a core for a while if it begins right after a long copy, and so it begins later. What is
    /// missing of its inputs until then is little, but nobody knows where.
    fn let_threads_wake(&mut self, content: Content) -> Result<(), Stopped> {
        const PAUSE: Duration = Duration::from_millis(1);
        const PARTS: usize = 4;
        const LARGEST_PART: usize = 4096;
        if self.is_on_device
            || self.cpu_ns().is_some()
            || [Content::Untouched, Content::Again].contains(&content)
        {
            return Ok(());
        }
        let (mut missing, all) = (Vec::new(), self.draws.all.len());
        for example in 0..self.request.examples.len() {
            let form = &self.request.examples[example];
            let bytes = if is_mixable(form) { form.bytes() } else { 0 };
            for _ in 0..PARTS.min(bytes / ALIGNMENT) {
                let length = ALIGNMENT * self.rng.usize(1..=LARGEST_PART.min(bytes) / ALIGNMENT);
                let start = ALIGNMENT * self.rng.usize(..=(bytes - length) / ALIGNMENT);
                let place = self.places[example] + start;
                missing.push((place, self.bytes_at(place, length).to_vec()));
                let other = self.rng.usize(..all);
                self.copy(example, other, start..start + length);
            }
        }
        std::thread::sleep(PAUSE);
        // It asks for the next command without a pause, once it has had one.
        self.command(Command::Reveal, 0)?;
        missing.iter().rev().for_each(|(place, bytes)| self.put(*place, bytes));
        Ok(())
    }

    /// Bytes of the file from a place on.
    fn bytes_at(&self, place: usize, length: usize) -> &[u8] {
        // SAFETY: within what is mapped.
        let from = unsafe { self.memory.as_ptr().add(place) };
        // SAFETY: mapped for reading, and only this process writes to it.
        unsafe { std::slice::from_raw_parts(from, length) }
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
            let (before, cpu, watch) = (self.waited_ns(), self.cpu_ns(), Stopwatch::start());
            let ns = self.run(iters)?;
            let wall = watch.ns();
            if let (Some(cpu), Some(after)) = (cpu, self.cpu_ns())
                && wall > LONG_NS
            {
                self.working.push((after - cpu + self.waited_ns() - before) / wall);
            }
            self.tries += 1;
            if !self.is_disturbed(before, ns * iters as f64) {
                return Ok(ns);
            }
            self.disturbed += 1;
            if self.disturbed > MOST.max(self.tries / 2) {
                let why =
                    "other work has taken its threads their cores; measure on a quiet machine";
                return Err(Stopped::Unjudged(why.to_owned()));
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
        self.cpu_ns().is_none() && self.waited_ns() - before > ns / 4.0 + USUAL_NS
    }

    /// Nanoseconds for which threads of the kernel's process have waited for a core; 0 where the system does not say.
    fn waited_ns(&self) -> f64 {
        self.scheduled(1).into_iter().map(|(_, ns)| ns).sum()
    }

    /// A field of what the system counts of each thread of the kernel's process, in nanoseconds: 0 that it has run, 1 that
    /// it has waited for a core.
    pub fn scheduled(&self, field: usize) -> Vec<(i32, f64)> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten();
        let of_thread = |thread: std::fs::DirEntry| {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            let ns = text.split_ascii_whitespace().nth(field)?.parse().ok()?;
            Some((thread.file_name().to_str()?.parse().ok()?, ns))
        };
        threads.flatten().filter_map(of_thread).collect()
    }

    /// Has the next calls read examples that are of no draw.
    pub fn reveal_others(&mut self, examples: &[Tensor]) -> Result<(), Stopped> {
        self.overwrite()?;
        for example in 0..self.request.examples.len() {
            self.place(example);
            self.written[example] = Written::default();
        }
        self.show(|trial| {
            for ((tensor, form), place) in
                examples.iter().zip(&trial.request.examples).zip(&trial.places)
            {
                trial.put(*place, bytes_of(tensor, form));
            }
        })
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
        let examples = self.request.examples.iter().zip(&self.places).map(|(form, place)| {
            // SAFETY: within what is mapped.
            let data = unsafe { self.memory.as_ptr().add(*place) };
            // SAFETY: so many bytes are mapped there, and nobody else writes to them.
            unsafe { form.tensor_at(data) }?.f_detach_copy()
        });
        let examples = examples.collect::<Result<_, _>>().map_err(Refusal::from);
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

    fn command(&mut self, command: Command, iters: u64) -> Result<f64, Stopped> {
        let number = self.control.command.load(Relaxed) + 1;
        self.control.kind.store(command as u32, Relaxed);
        self.control.iters.store(iters, Relaxed);
        let limit_s = LIMIT_S.max(100.0 * self.expected_ns * iters as f64 / 1e9);
        let before = self.cpu_ns();
        let is_alone = before.is_some() || self.is_on_device;
        self.spins = self.threads < threads::count(Threads::All) && is_alone;
        let watch = Stopwatch::start();
        self.control.command.store(number, Release);
        self.finished(number, limit_s)?;
        let ns = watch.ns();
        Ok(match (before, self.cpu_ns()) {
            (Some(before), Some(after)) => ns.min(after - before),
            _ => ns,
        })
    }

    /// Nanoseconds that the kernel's process has had a core, as the system counts them: the time of a call on a machine that
    /// does other work, too. None where it has several threads, which may work at a time.
    fn cpu_ns(&self) -> Option<f64> {
        // A folder has a link of its own, one from above, and one of each folder in it.
        if std::fs::metadata(format!("/proc/{}/task", self.pid)).ok()?.nlink() != 3 {
            return None;
        }
        self.process_ns()
    }

    /// Nanoseconds for which all threads of the kernel's process have had a core, but the first one: those that have ended
    /// count, too.
    pub fn others_ns(&self) -> Option<f64> {
        let (_, first) = self.scheduled(0).into_iter().find(|it| it.0 == self.pid.as_raw())?;
        Some(self.process_ns()? - first)
    }

    /// Nanoseconds for which all threads of the kernel's process have had a core.
    pub fn process_ns(&self) -> Option<f64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: it is written where there is such a clock.
        let read = unsafe { libc::clock_gettime(self.cpu_clock?, &raw mut time) };
        (read == 0).then_some(time.tv_sec as f64 * 1e9 + time.tv_nsec as f64)
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

    /// Writes inputs.
    pub fn write(&mut self, content: Content) {
        self.choose(content);
        self.fill(content);
    }

    /// Says where the inputs of the next calls are, and of what.
    fn choose(&mut self, content: Content) {
        for example in 0..self.request.examples.len() {
            match content {
                Content::Drawn(draw) => {
                    self.place(example);
                    self.written[example] =
                        Written { base: draw, whole: Some(draw), parts: vec![] };
                }
                Content::Mixed => self.mix(example, true),
                Content::Scrambled => self.mix(example, false),
                Content::Again | Content::Untouched => {}
            }
        }
    }

    /// Copies inputs to where they were said to be.
    fn fill(&self, content: Content) {
        if content == Content::Untouched {
            return;
        }
        for example in 0..self.request.examples.len() {
            let Written { whole, parts, .. } = &self.written[example];
            if let Some(draw) = whole {
                self.copy(example, *draw, 0..self.request.examples[example].bytes());
            }
            for (draw, part) in parts {
                self.copy(example, *draw, part.clone());
            }
        }
    }

    /// Has an example lie elsewhere.
    fn place(&mut self, example: usize) {
        let (form, areas) = (&self.request.examples[example], self.layout.examples[example]);
        let room = (areas[0].bytes - form.bytes()) / ALIGNMENT;
        // Half of them end where the next page may not be touched.
        let begin = if self.rng.bool() { room } else { self.rng.usize(..=room) } * ALIGNMENT;
        let area = areas[usize::from(self.rng.bool())];
        self.places[example] = area.offset + begin;
        self.control.places[example].store((area.address + begin) as u64, Relaxed);
    }

    /// Makes an input that there has never been: one draw's with parts of another's. A large one keeps its place and at
    /// least half of what it was; where it `moves`, a quarter of it or more is exchanged, so that few of its values cannot
    /// stand for it.
    fn mix(&mut self, example: usize, moves: bool) {
        const PARTS: usize = 8;
        const LARGE: usize = 1 << 20;
        const LARGEST_PART: usize = 1 << 16;
        let form = &self.request.examples[example];
        let size = form.kind().map_or(1, tch::Kind::elt_size_in_bytes);
        let (elements, all) = (form.bytes() / size, self.draws.all.len());
        let whole = (form.bytes() <= LARGE).then(|| self.rng.usize(..all));
        let base = whole.unwrap_or(self.written[example].base);
        let other = (base + self.rng.usize(all.min(2) - 1..all)) % all;
        if moves && whole.is_some() {
            self.place(example);
        }
        let parts = if is_mixable(form) && elements > 0 { PARTS } else { 0 };
        let is_changed = moves && whole.is_none();
        let mut part = |at: usize| {
            let lengths = match at {
                0 if is_changed => elements / 4..=elements / 2,
                _ => 1..=elements.min(LARGEST_PART / size),
            };
            let length = self.rng.usize(lengths);
            let start = self.rng.usize(..=elements - length);
            (other, start * size..(start + length) * size)
        };
        let parts = (0..parts).map(&mut part).collect();
        self.written[example] = Written { base, whole, parts };
    }

    /// Copies a part of a draw's example to its place.
    fn copy(&self, example: usize, draw: usize, part: Range<usize>) {
        let form = &self.request.examples[example];
        let bytes = &bytes_of(&self.draws.all[draw].examples[example], form)[part.clone()];
        self.put(self.places[example] + part.start, bytes);
    }

    /// Whether there are inputs that have never been seen, beside those that were drawn.
    pub fn has_mixed(&self) -> bool {
        self.request.examples.iter().any(is_mixable)
    }

    /// Writes bytes to a place of the file that is an example's or a parameter's, and has room for them.
    fn put(&self, place: usize, bytes: &[u8]) {
        // SAFETY: within what is mapped.
        let to = unsafe { self.memory.as_ptr().add(place) };
        // SAFETY: mapped for writing, and no call is running that could read it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    fn write_parameters(&self) {
        let parameters = self.draws.parameters.iter().zip(&self.request.parameters);
        for ((parameter, form), area) in parameters.zip(&self.layout.parameters) {
            let bytes = bytes_of(parameter, form);
            self.put(area.offset, bytes);
        }
    }
}

/// The bytes of a contiguous tensor on the host of this form.
fn bytes_of<'t>(tensor: &'t Tensor, form: &Form) -> &'t [u8] {
    match form.bytes() {
        0 => &[],
        // SAFETY: so many bytes lie there, and the tensor keeps them while it is borrowed.
        bytes => unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast(), bytes) },
    }
}

/// Whether parts of several draws make an input: indices and flags may belong together.
fn is_mixable(form: &Form) -> bool {
    use tch::Kind::{BFloat16, Double, Float, Half};
    form.kind().is_some_and(|kind| [BFloat16, Double, Float, Half].contains(&kind))
}
