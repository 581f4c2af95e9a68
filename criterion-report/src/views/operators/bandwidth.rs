//! The most that the machines' memory can do, from calibration: the limit of operators that have no
//! `stream` beside them.

use std::collections::BTreeSet;

use plan::{Device, Record};

use crate::model::{Interval, Row};
use crate::views::calibration::{Caches, Level, Memory, Operation};

/// The bandwidths of every machine and device that a report has calibrations of.
#[derive(Debug)]
pub struct Bandwidths(Vec<Machine>);

#[derive(Debug)]
struct Machine {
    name: Name,
    memory: Memory,
    threads: BTreeSet<u32>,
}

/// The identity of a machine and its device.
type Name = (String, String, Option<String>, Device);

fn name(record: &Record) -> Name {
    let (host, device) = (&record.environment.host, record.case.device);
    let gpu = record.environment.torch.cuda_device.clone().filter(|_| device == Device::Cuda);
    (host.hostname.clone(), host.cpu_model.clone(), gpu, device)
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    pub gb_per_s: f64,
    /// Interval of them; absent in quick mode.
    pub gb_per_s_interval: Option<Interval>,
    /// The level of memory: `L2`, `memory`.
    pub level: String,
    /// Whether the operator's tensors surely lie there.
    pub certain: bool,
    /// Key of the operation that reached it.
    pub operation: String,
}

impl Bandwidths {
    /// The bandwidths that the rows show. The latest of several measurements of one thing counts.
    pub fn from_rows<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let machine = |(name, mut operations): (Name, Vec<Operation<'_>>)| {
            operations.retain(|operation| operation.key.probe.is_stream());
            let threads = operations.iter().map(|operation| operation.key.threads).collect();
            Machine { name, memory: Memory::of(&operations), threads }
        };
        let name = |row: &Row| name(&row.record);
        Self(Operation::by_machine(rows, name).map(machine).collect())
    }

    /// The one over an operator's or a kernel's row: of the cache in which all that it moves lies, if that was
    /// measured, else of memory.
    pub fn over(&self, row: &Row) -> Option<Ceiling> {
        let record = &row.record;
        let name = name(record);
        let machine = self.0.iter().find(|machine| machine.name == name)?;
        let threads = machine.threads(record)?;
        let bytes = row.moved_bytes()?;
        let host = &record.environment.host;
        let there = match record.case.device {
            Device::Cpu => Caches::new(&host.caches, host.cpus).level(bytes, threads),
            // The caches of other devices are not recorded.
            Device::Cuda | Device::Rocm | Device::Xpu | Device::Mps => Level::Unclear,
        };
        let own = machine.memory.best(there, threads).map(|best| (there, best));
        let memory = || Some((Level::Memory, machine.memory.best(Level::Memory, threads)?));
        let (level, best) = own.or_else(memory)?;
        let bounds = best.low.zip(best.high);
        Some(Ceiling {
            gb_per_s: best.value,
            gb_per_s_interval: bounds.map(|(low, high)| Interval { low, high }),
            level: level.name()?,
            certain: level == there,
            operation: best.operation.clone(),
        })
    }
}

impl Machine {
    /// The threads whose bandwidth counts: those of the row. The host's are nothing to a device.
    fn threads(&self, record: &Record) -> Option<u32> {
        let own = record.environment.torch.threads;
        match record.case.device {
            Device::Cpu => self.threads.get(&own).copied(),
            Device::Cuda | Device::Rocm | Device::Xpu | Device::Mps => {
                self.threads.get(&own).or_else(|| self.threads.last()).copied()
            }
        }
    }
}
