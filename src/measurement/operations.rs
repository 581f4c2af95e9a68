//! The operations of profiled steps: one entry per name and arguments, from the events of libtorch's profiler.
//!
//! An operation's own time is its time without the operations that it calls, derived from how their intervals nest on
//! the step's thread. The own times on that thread and the time outside of operations add up to the time of the steps.
//! Work that the step hands to other threads runs in parallel: it counts in calls and totals, but in no own time.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use plan::OperationProfile;

use crate::native::profile::{ActivityType, Argument, KinetoEvent};

/// Prefix of the names of ranges that mark steps; torch's own profiler uses the same.
pub const STEP: &str = "ProfilerStep#";

/// The operations of profiled steps; all figures are means per step.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    pub steps: u64,
    pub step_ns: f64,
    /// The part of the step's time outside of all operations.
    pub outside_ns: f64,
    /// The longest own time (on a device, of kernels) first.
    pub operations: Vec<OperationProfile>,
    /// Whether the profiler recorded any work of a device.
    pub has_device: bool,
}

impl Steps {
    /// Splits the steps, which `events` mark as ranges, into operations.
    ///
    /// # Errors
    /// When there is no step.
    pub fn from_events(events: &[KinetoEvent]) -> Result<Self, String> {
        let steps: Vec<&KinetoEvent> = events.iter().filter(|event| is_step(event)).collect();
        if steps.is_empty() {
            return Err("the profiler recorded no step".to_owned());
        }
        let mut table = Table::default();
        for step in &steps {
            let mut threads: Vec<u64> =
                events_within(events, step).map(|event| event.thread).collect();
            threads.sort_unstable();
            threads.dedup();
            for thread in threads {
                table.add(step, thread, events);
            }
        }
        if events.iter().any(is_of_device) {
            table.add_kernels(&steps, events);
        }
        let count = steps.len() as u64;
        let total: u64 = steps.iter().map(|step| step.duration_ns).sum();
        Ok(Self {
            steps: count,
            step_ns: total as f64 / count as f64,
            outside_ns: (total - table.covered_ns) as f64 / count as f64,
            has_device: table.has_device,
            operations: table.operations(count),
        })
    }
}

fn is_step(event: &KinetoEvent) -> bool {
    event.activity == ActivityType::UserAnnotation && event.name.starts_with(STEP)
}

fn is_of_device(event: &KinetoEvent) -> bool {
    use ActivityType::{GpuMemcpy, GpuMemset, Kernel};
    matches!(event.activity, Kernel | GpuMemcpy | GpuMemset)
}

fn end_ns(event: &KinetoEvent) -> u64 {
    event.start_ns + event.duration_ns
}

/// The operations and allocations that began during a step, on any thread.
fn events_within<'e>(
    events: &'e [KinetoEvent],
    step: &KinetoEvent,
) -> impl Iterator<Item = &'e KinetoEvent> {
    let during = step.start_ns..end_ns(step);
    events.iter().filter(move |event| {
        matches!(event.activity, ActivityType::CpuOp | ActivityType::Memory)
            && during.contains(&event.start_ns)
    })
}

type Key<'e> = (&'e str, &'e [Argument]);

/// Sums over all steps.
#[derive(Default)]
struct Table<'e> {
    entries: HashMap<Key<'e>, Sums>,
    /// The entry of an operation by its correlation number.
    numbers: HashMap<u64, Key<'e>>,
    /// Work of a device that no recorded operation launched, by its name.
    kernels: HashMap<&'e str, Kernel>,
    /// Time inside of operations, on the steps' thread.
    covered_ns: u64,
    has_device: bool,
}

#[derive(Default)]
struct Sums {
    calls: u64,
    self_ns: u64,
    total_ns: u64,
    device_ns: u64,
    flops: u64,
    allocated: u64,
    calls_others: bool,
}

#[derive(Default)]
struct Kernel {
    calls: u64,
    device_ns: u64,
}

/// An operation that has not ended.
struct Open<'e> {
    key: Key<'e>,
    start_ns: u64,
    end_ns: u64,
    /// Time of the operations that it calls.
    inner_ns: u64,
    calls_others: bool,
}

impl<'e> Table<'e> {
    /// Adds what ran on `thread` during `step`.
    fn add(&mut self, step: &KinetoEvent, thread: u64, events: &'e [KinetoEvent]) {
        let mut inside: Vec<&KinetoEvent> =
            events_within(events, step).filter(|event| event.thread == thread).collect();
        inside.sort_by_key(|event| (event.start_ns, Reverse(end_ns(event))));
        let is_steps = thread == step.thread;
        let mut open: Vec<Open<'e>> = vec![];
        for event in inside {
            // An allocation in the last nanosecond of an operation still belongs to it.
            let is_over = |it: &Open<'_>| match event.activity {
                ActivityType::Memory => it.end_ns < event.start_ns,
                _ => it.end_ns <= event.start_ns,
            };
            while let Some(ended) = open.pop_if(|it| is_over(it)) {
                self.close(ended, &open, is_steps);
            }
            if event.activity == ActivityType::Memory {
                if let Some(by) = open.last() {
                    let bytes = u64::try_from(event.bytes).unwrap_or_default();
                    self.entries.entry(by.key).or_default().allocated += bytes;
                }
                continue;
            }
            // Clock readings are not simultaneous, so a callee may seem to end after its caller.
            let most = open.last().map_or(end_ns(step), |it| it.end_ns);
            let (start_ns, end_ns) = (event.start_ns, end_ns(event).min(most));
            match open.last_mut() {
                Some(caller) => {
                    caller.inner_ns += end_ns - start_ns;
                    caller.calls_others = true;
                }
                None if is_steps => self.covered_ns += end_ns - start_ns,
                None => {}
            }
            let key = (&*event.name, &*event.arguments);
            self.entries.entry(key).or_default().flops += event.flops;
            if event.correlation > 0 {
                self.numbers.insert(event.correlation, key);
            }
            open.push(Open { key, start_ns, end_ns, inner_ns: 0, calls_others: false });
        }
        while let Some(ended) = open.pop() {
            self.close(ended, &open, is_steps);
        }
    }

    fn close(&mut self, ended: Open<'e>, callers: &[Open<'_>], is_steps: bool) {
        let sums = self.entries.entry(ended.key).or_default();
        let duration = ended.end_ns - ended.start_ns;
        sums.calls += 1;
        sums.calls_others |= ended.calls_others;
        if is_steps {
            sums.self_ns += duration - ended.inner_ns;
        }
        // The total time of a recursive operation counts only once.
        if callers.iter().all(|caller| caller.key != ended.key) {
            sums.total_ns += duration;
        }
    }

    /// Adds what a device ran for the operations of the steps. Work that no recorded operation launched, such as user
    /// kernels, compiled code and CUDA graphs, gets entries under its own name. It belongs to the steps because it runs
    /// during one of them, and each step waits for its end.
    fn add_kernels(&mut self, steps: &[&KinetoEvent], events: &'e [KinetoEvent]) {
        self.has_device = true;
        let operations = events.iter().filter(|event| event.activity == ActivityType::CpuOp);
        let outside: HashSet<u64> = operations
            .map(|event| event.correlation)
            .filter(|number| *number > 0 && !self.numbers.contains_key(number))
            .collect();
        for event in events.iter().filter(|event| is_of_device(event)) {
            let launcher = self.numbers.get(&event.launched_by);
            if let Some(sums) = launcher.and_then(|key| self.entries.get_mut(key)) {
                sums.device_ns += event.duration_ns;
                continue;
            }
            let is_during =
                |step: &&KinetoEvent| (step.start_ns..end_ns(step)).contains(&event.start_ns);
            if steps.iter().any(is_during) && !outside.contains(&event.launched_by) {
                let kernel = self.kernels.entry(&event.name).or_default();
                kernel.calls += 1;
                kernel.device_ns += event.duration_ns;
            }
        }
    }

    /// Divides the sums by the number of steps.
    fn operations(self, steps: u64) -> Vec<OperationProfile> {
        let has_device = self.has_device;
        let mean = |sum: u64| sum as f64 / steps as f64;
        let whole = |sum: u64| mean(sum).round() as u64;
        let operation = |((name, arguments), sums): (Key<'_>, Sums)| OperationProfile {
            name: name.to_owned(),
            shapes: arguments.iter().map(|it| it.shape.clone()).collect(),
            dtypes: arguments.iter().map(|it| dtype(&it.dtype).to_owned()).collect(),
            calls: mean(sums.calls),
            self_ns: mean(sums.self_ns),
            total_ns: mean(sums.total_ns),
            device_ns: has_device.then(|| mean(sums.device_ns)),
            flops: Some(whole(sums.flops)).filter(|flops| *flops > 0),
            input_bytes: bytes(arguments).map(|it| whole(it.saturating_mul(sums.calls))),
            allocated_bytes: whole(sums.allocated),
            is_leaf: !sums.calls_others,
        };
        let kernel = |(name, Kernel { calls, device_ns }): (&str, Kernel)| OperationProfile {
            name: name.to_owned(),
            calls: mean(calls),
            device_ns: Some(mean(device_ns)),
            is_leaf: true,
            ..OperationProfile::default()
        };
        let mut operations: Vec<OperationProfile> =
            self.entries.into_iter().map(operation).collect();
        operations.extend(self.kernels.into_iter().map(kernel));
        let longest = |it: &OperationProfile| (it.device_ns.unwrap_or_default(), it.self_ns);
        operations.sort_by(|a, b| {
            let by_time = longest(b).partial_cmp(&longest(a)).unwrap_or(std::cmp::Ordering::Equal);
            by_time.then_with(|| (&a.name, &a.shapes).cmp(&(&b.name, &b.shapes)))
        });
        operations
    }
}

/// C++ names of dtypes, torch's names, and their sizes in bytes.
const DTYPES: [(&str, &str, u64); 18] = [
    ("float", "float32", 4),
    ("double", "float64", 8),
    ("c10::BFloat16", "bfloat16", 2),
    ("c10::Half", "float16", 2),
    ("signed char", "int8", 1),
    ("unsigned char", "uint8", 1),
    ("short", "int16", 2),
    ("short int", "int16", 2),
    ("int", "int32", 4),
    ("long", "int64", 8),
    ("long int", "int64", 8),
    ("bool", "bool", 1),
    ("c10::Float8_e4m3fn", "float8_e4m3fn", 1),
    ("c10::Float8_e5m2", "float8_e5m2", 1),
    ("c10::Float8_e4m3fnuz", "float8_e4m3fnuz", 1),
    ("c10::Float8_e5m2fnuz", "float8_e5m2fnuz", 1),
    ("c10::complex<float>", "complex64", 8),
    ("c10::complex<double>", "complex128", 16),
];

/// Dtype words of arguments that are not tensors. The sizes of a list of tensors are not recorded.
const NO_TENSOR: [&str; 3] = ["", "Scalar", "ScalarList"];
const TENSORS: [&str; 2] = ["TensorList", "GenericList"];

/// Torch's name of a dtype; the C++ name if there is none, and an empty text for an argument that is not a tensor.
fn dtype(of_cpp: &str) -> &str {
    if NO_TENSOR.contains(&of_cpp) || TENSORS.contains(&of_cpp) {
        return "";
    }
    DTYPES.iter().find(|it| it.0 == of_cpp).map_or(of_cpp, |it| it.1)
}

/// Bytes of the tensor arguments; `None` if a dtype is unknown.
fn bytes(arguments: &[Argument]) -> Option<u64> {
    let of_one = |it: &Argument| {
        if NO_TENSOR.contains(&&*it.dtype) {
            return Some(0);
        }
        let (.., bytes) = DTYPES.iter().find(|known| known.0 == it.dtype)?;
        let elements = it.shape.iter().map(|size| size.unsigned_abs());
        elements.chain([*bytes]).try_fold(1_u64, u64::checked_mul)
    };
    arguments.iter().map(of_one).try_fold(0_u64, |sum, it| sum.checked_add(it?))
}

#[cfg(test)]
#[path = "operations_tests.rs"]
mod tests;
