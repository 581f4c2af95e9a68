//! Facts that some kernels of this folder find out about the process that they run in.

use std::fs::{File, read_to_string};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use criterion_torch::kernel::prelude::*;

/// A thread that goes on when a call is over.
pub struct Worker {
    /// Works a little, so long after the last call; false where it is done.
    work: fn(Duration) -> bool,
    /// The end of the last call.
    ended: Arc<Mutex<Instant>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub fn new(work: fn(Duration) -> bool) -> Self {
        Self { work, ended: Arc::new(Mutex::new(Instant::now())), thread: None }
    }

    /// Has it work from the end of this call on.
    pub fn begin(&mut self) {
        *self.ended.lock().expect("no panic") = Instant::now();
        if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            let (work, ended) = (self.work, Arc::clone(&self.ended));
            let rest = move || ended.lock().expect("no panic").elapsed();
            self.thread = Some(std::thread::spawn(move || while work(rest()) {}));
        }
    }
}

/// Keeps a processor busy.
pub fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Whether this process may not write to the memory of a tensor, as where inputs are those of a judge.
pub fn is_read_only(tensor: &Tensor) -> bool {
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
        return false;
    }
    let byte = tensor.data_ptr();
    // SAFETY: a tensor with elements has this byte.
    let written = unsafe { libc::write(ends[1], byte, 1) };
    // SAFETY: the system writes the byte that is there already, or refuses to.
    let read = unsafe { libc::read(ends[0], byte, 1) };
    for end in ends {
        // SAFETY: nobody else has this descriptor.
        unsafe { libc::close(end) };
    }
    (written, read) == (1, -1)
}

/// The parent, if it has the name of this program, as a judge has: no test kills or reads its own test program.
pub fn judge() -> Option<libc::pid_t> {
    // SAFETY: asks for a number.
    let parent = unsafe { libc::getppid() };
    // The name can be read where nothing else of a process can.
    let name = |process: &str| read_to_string(format!("/proc/{process}/comm")).ok();
    (name(&parent.to_string())? == name("self")?).then_some(parent)
}

/// The first place in this process where float64 numbers lie that are near these float32 numbers.
pub fn find_in_float64(near: &[f32]) -> Option<*mut f64> {
    let maps = read_to_string("/proc/self/maps").ok()?;
    let anonymous = maps.lines().filter(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words[1].starts_with("rw") && words[4] == "0" && !line.ends_with("[stack]")
    });
    for line in anonymous {
        let (first, end) = line.split(' ').next()?.split_once('-')?;
        let [first, end] = [first, end].map(|it| usize::from_str_radix(it, 16).unwrap_or(0));
        let count = (end - first) / size_of::<f64>();
        // SAFETY: this process may read so much of its memory, and no other thread unmaps any of it.
        let values = unsafe { std::slice::from_raw_parts(first as *const f64, count) };
        let is_near = |values: &[f64]| {
            values.iter().zip(near).all(|(found, near)| (found - f64::from(*near)).abs() < 1e-4)
        };
        let last_start = count.saturating_sub(near.len());
        let mut starts =
            (0..last_start).filter(|&at| (values[at] - f64::from(near[0])).abs() < 1e-4);
        if let Some(at) = starts.find(|&at| is_near(&values[at..at + near.len()])) {
            return Some(values[at..].as_ptr().cast_mut());
        }
    }
    None
}

/// The page that a judge and the process of a kernel share.
pub struct Control(*const AtomicU32);

impl Control {
    /// The numbers of the command and of the one that is done, and the addresses, in words of 4 bytes.
    const COMMAND: usize = 0;
    const DONE: usize = 516;
    const PLACES: usize = 4;
    const BASE: usize = 520;

    /// Finds the page, which a harness does not have.
    pub fn find() -> Option<Self> {
        let maps = read_to_string("/proc/self/maps").ok()?;
        let is_control = |line: &&str| {
            line.contains("rw-s 00000000 ") && line.contains("memfd:criterion-torch-judge")
        };
        let address = maps.lines().find(is_control)?.split('-').next()?;
        Some(Self(usize::from_str_radix(address, 16).ok()? as *const AtomicU32))
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        let word = self.0.wrapping_add(at);
        // SAFETY: a word of the page, which stays mapped.
        unsafe { &*word }
    }

    fn address(&self, at: usize) -> usize {
        let [low, high] = [at, at + 1].map(|at| self.word(at).load(Ordering::Acquire) as usize);
        low | high << 32
    }

    /// The number of the command.
    pub fn command(&self) -> u32 {
        self.word(Self::COMMAND).load(Ordering::Acquire)
    }

    /// Whether the command is that the next inputs be read.
    pub fn reveals(&self) -> bool {
        self.word(Self::COMMAND + 1).load(Ordering::Acquire) == 1
    }

    pub fn say_done(&self) {
        let command = self.command();
        self.word(Self::DONE).store(command, Ordering::Release);
    }

    /// The inputs of the next calls where they lie, both of the size of the output.
    pub fn next_examples(&self, output: &Tensor) -> Result<[Tensor; 2], TchError> {
        let (size, kind) = (output.size(), output.kind());
        let [x, y] = [0, 2].map(|at| {
            let place = self.address(Self::BASE) + self.address(Self::PLACES + at);
            // SAFETY: a judge has an input there, which stays mapped.
            unsafe {
                let strides = [size[1], 1];
                Tensor::f_from_blob(place as *const u8, &size, &strides, kind, tch::Device::Cpu)
            }
        });
        Ok([x?, y?])
    }
}

/// Whether this process can read another one's memory, or trace it.
pub fn can_read(process: libc::pid_t) -> bool {
    let opened = File::open(format!("/proc/{process}/mem")).is_ok();
    // SAFETY: without options nothing of the other process stops or changes.
    let traced = unsafe { libc::ptrace(libc::PTRACE_SEIZE, process, 0, 0) } == 0;
    opened || traced
}
