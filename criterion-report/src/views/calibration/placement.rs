//! The place of a case under the measured roofs of its machine.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use plan::{Device, ModelWork, Pass, Probe, Work};

use super::memory::Memory;
use super::operation::Operation;
use super::request::{OperationKind, Request};
use super::roofs::{Roofline, Roofs, telling};
use crate::model::{Row, fingerprint};

/// The limits of one device of one machine, from its calibrations.
#[derive(Debug)]
pub struct RooflineSet {
    /// Processor, CPUs and memory; of a GPU its name, too.
    pub machine: String,
    pub device: Device,
    /// The roofs, by dtype and ascending number of threads.
    pub roofs: Vec<Roofline>,
    pub(crate) memory: Memory,
    /// Nanoseconds of a call, by number of threads.
    pub(crate) calls: BTreeMap<u32, f64>,
    /// Threads that products or STREAM's operations ran on.
    pub(crate) threads: BTreeSet<u32>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    /// Floating-point operations per byte that has to move; see [`compulsory_bytes`].
    pub flop_per_byte: f64,
    /// 10⁹ floating-point operations per second at the median time.
    pub gflop_per_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Headroom {
    /// The most that an operation of its intensity can reach, in GFLOP/s.
    pub attainable_gflops: f64,
    /// Reached of that. Nothing is cut off at 1: a roof is the best that was measured.
    pub share: f64,
    pub is_memory_bound: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPlacement {
    #[error("no usable time")]
    NoTime,
    #[error("emulated: its time is not the recipe's")]
    Emulated,
    #[error("no floating-point operations are counted of it")]
    NoOperations,
    #[error("the bytes that it has to move are not known")]
    NoBytes,
}

impl Placement {
    pub fn from_row(row: &Row) -> Result<Self, NoPlacement> {
        if row.time.is_err() {
            return Err(NoPlacement::NoTime);
        }
        if row.is_emulated() {
            return Err(NoPlacement::Emulated);
        }
        let flops = row.flops().filter(|&flops| flops > 0).ok_or(NoPlacement::NoOperations)?;
        let bytes = compulsory_bytes(row).filter(|&bytes| bytes > 0);
        let bytes = bytes.ok_or(NoPlacement::NoBytes)?;
        let gflop_per_s = row.gflop_per_s().ok_or(NoPlacement::NoTime)?;
        Ok(Self { flop_per_byte: flops as f64 / bytes as f64, gflop_per_s })
    }

    /// Under a roof; none of a roof without a bandwidth.
    pub fn under(&self, roof: &Roofline) -> Option<Headroom> {
        let attainable_gflops = roof.attainable_gflops(self.flop_per_byte)?;
        Some(Headroom {
            attainable_gflops,
            share: self.gflop_per_s / attainable_gflops,
            is_memory_bound: roof.is_memory_bound(self.flop_per_byte)?,
        })
    }
}

/// Bytes that a step has to move however it is run: every input and every weight, as it is stored,
/// read once, and the output written once. Data that lies in a cache from the step before does not
/// move through memory, so a small case may exceed the roof of memory.
pub fn compulsory_bytes(row: &Row) -> Option<u64> {
    let case = &row.record.case;
    match &case.work {
        Work::Model(work) => {
            let memory = row.record.measures.memory?;
            let elements: u64 = match row.record.model {
                Some(facts) => facts.output_elements,
                None => work.sizes()?.output.iter().product(),
            };
            let output = elements.saturating_mul(case.dtype.bytes());
            Some(step_bytes(work, memory, output))
        }
        Work::Fusion(work) => Some(work.minimal_bytes(case.dtype)),
        Work::Operator(_) | Work::Probe(_) | Work::Kernel(_) => row.moved_bytes(),
    }
}

/// Bytes of a model's step: weights and input are read and the output is written. A backward pass
/// reads weights, input and the output's gradient, and writes the gradients of both. An optimizer
/// writes the weights besides; SGD reads and writes its momentum, too, AdamW its two moments.
fn step_bytes(work: &ModelWork, memory: plan::Memory, output: u64) -> u64 {
    let plan::Memory { weights_bytes, inputs_bytes, .. } = memory;
    let forward = weights_bytes.saturating_add(inputs_bytes).saturating_add(output);
    let both = forward.saturating_mul(2);
    match work.pass {
        None | Some(Pass::Forward) => forward,
        Some(Pass::Backward) => both.saturating_sub(output),
        Some(Pass::ForwardBackward | Pass::Casts | Pass::Products) => both,
        Some(Pass::StepSgd) => both.saturating_add(weights_bytes.saturating_mul(3)),
        Some(Pass::StepAdamw) => both.saturating_add(weights_bytes.saturating_mul(5)),
    }
}

impl RooflineSet {
    /// A set for every machine and device that the rows have calibrations of, without roofs where no product was
    /// measured. The latest of several measurements of one thing counts.
    pub(crate) fn by_machine<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Self> {
        let name = |row: &Row| (fingerprint(&row.record), row.record.case.device.as_str());
        let rows: Vec<&Row> = rows.into_iter().collect();
        let mut cases: HashMap<_, Vec<&Row>> = HashMap::new();
        for row in telling(rows.iter().copied()) {
            cases.entry(name(row)).or_default().push(row);
        }
        let machine = |(place, operations): ((String, &str), Vec<Operation<'_>>)| {
            let cases = cases.get(&place).map(Vec::as_slice).unwrap_or_default();
            let device = operations.first()?.key.device;
            let request = Request {
                device: Some(device),
                operations: &[OperationKind::Matmul, OperationKind::Memory],
                ..Request::default()
            };
            let mut notes = Vec::new();
            let Roofs { all: roofs, memory, .. } =
                Roofs::of(&operations, cases, device, &request, &mut notes);
            let mut calls: BTreeMap<u32, f64> = BTreeMap::new();
            for call in operations.iter().filter(|it| it.key.probe == Probe::Call) {
                let ns = calls.entry(call.key.threads).or_insert(f64::INFINITY);
                *ns = ns.min(call.time.median_ns);
            }
            let limits = operations.iter().map(|it| &it.key);
            let limits = limits.filter(|key| key.probe.is_product() || key.probe.is_stream());
            let threads = limits.map(|key| key.threads).collect();
            Some(Self { machine: place.0, device, roofs, memory, calls, threads, notes })
        };
        Operation::by_machine(rows.iter().copied(), name).filter_map(machine).collect()
    }

    /// A set for every machine and device with a roof.
    pub fn all<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Self> {
        let mut all = Self::by_machine(rows);
        all.retain(|it| !it.roofs.is_empty());
        all
    }

    pub fn is_of(&self, row: &Row) -> bool {
        self.machine == fingerprint(&row.record) && self.device == row.record.case.device
    }

    /// The roofs over what runs on so many threads of the host, one for each dtype. Nothing on
    /// another device depends on these: there the roof of the most threads will do.
    pub fn on(&self, threads: u32) -> Vec<&Roofline> {
        let own = self.roofs.iter().filter(|roof| roof.threads == threads);
        let mut roofs: Vec<&Roofline> = own.collect();
        if self.device != Device::Cpu {
            for roof in self.roofs.iter().rev() {
                if roofs.iter().all(|known| known.dtype != roof.dtype) {
                    roofs.push(roof);
                }
            }
        }
        roofs
    }

    /// The roof over a row: that of its dtype on its threads.
    pub fn over(&self, row: &Row) -> Option<&Roofline> {
        let on = self.is_of(row).then(|| self.on(row.record.environment.torch.threads));
        on?.into_iter().find(|roof| roof.dtype == row.record.case.dtype)
    }
}

#[cfg(test)]
mod tests {
    use super::super::limit::{Best, Limit};
    use super::*;

    #[test]
    fn a_roof_tells_what_limits_a_case_and_how_near_it_comes() {
        let limit = |value: f64| {
            let best = Best { value, low: None, high: None, operation: String::new() };
            Limit::new(Some(best), None).expect("a limit")
        };
        let roof =
            Roofline::new((Device::Cpu, plan::Dtype::Float32, 1), limit(100.0), Some(limit(10.0)));
        let under = |flop_per_byte: f64, gflop_per_s: f64| {
            Placement { flop_per_byte, gflop_per_s }.under(&roof).expect("a bandwidth")
        };
        let expected = |attainable_gflops: f64, share: f64, is_memory_bound: bool| Headroom {
            attainable_gflops,
            share,
            is_memory_bound,
        };
        assert_eq!(under(2.0, 10.0), expected(20.0, 0.5, true));
        assert_eq!(under(40.0, 120.0), expected(100.0, 1.2, false));
        let open = Roofline::new((Device::Cpu, plan::Dtype::Float32, 1), limit(100.0), None);
        assert_eq!(Placement { flop_per_byte: 2.0, gflop_per_s: 1.0 }.under(&open), None);
    }
}
