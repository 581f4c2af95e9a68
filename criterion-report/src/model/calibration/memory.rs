//! Bandwidth of memory and of the caches, from STREAM's operations.

use std::collections::{BTreeMap, BTreeSet};

use plan::Device;

use super::level::{BEYOND_LAST, Caches, Level};
use super::operation::{Operation, OperationKey};
use super::roofline::{Best, Limit, PeakSource};
use super::schema::LevelBandwidth;
use crate::units;

#[derive(Debug, Default)]
pub struct Memory {
    /// The level in which the arrays of each operation of STREAM lie.
    levels: BTreeMap<OperationKey, Level>,
    /// The best of each level, by number of threads.
    best: BTreeMap<(Level, u32), Best>,
    /// Notes on how memory was distinguished from caches.
    pub notes: Vec<String>,
}

impl Memory {
    pub fn of(operations: &[Operation<'_>]) -> Self {
        let streams: Vec<&Operation<'_>> =
            operations.iter().filter(|operation| operation.key.probe.is_stream()).collect();
        let threads: BTreeSet<u32> =
            streams.iter().map(|operation| operation.key.threads).collect();
        let mut memory = Self::default();
        for threads in threads {
            let own = streams.iter().copied().filter(|operation| operation.key.threads == threads);
            memory.add(threads, &own.collect::<Vec<_>>());
        }
        memory
    }

    fn add(&mut self, threads: u32, operations: &[&Operation<'_>]) {
        let mut levels: Vec<Level> = operations.iter().map(|operation| level(operation)).collect();
        if !levels.contains(&Level::Memory) {
            let largest = operations.iter().map(|operation| operation.key.size).max();
            for (operation, level) in operations.iter().zip(&mut levels) {
                // An operation that certainly fits a cache never stands for memory.
                if Some(operation.key.size) == largest && *level == Level::Unclear {
                    *level = Level::Memory;
                }
            }
            self.note(operations, threads, levels.contains(&Level::Memory));
        }
        for level in levels.iter().copied().collect::<BTreeSet<Level>>() {
            let there = operations.iter().zip(&levels).filter(|(_, own)| **own == level);
            let best = Best::of(there.map(|(operation, _)| *operation), Operation::gbps);
            self.best.extend(best.map(|best| ((level, threads), best)));
        }
        self.levels.extend(operations.iter().map(|operation| operation.key).zip(levels));
    }

    /// Why no arrays are surely beyond the caches, and what stands for memory.
    fn note(&mut self, operations: &[&Operation<'_>], threads: u32, stands_in: bool) {
        let Some(largest) = operations.iter().max_by_key(|operation| operation.key.size) else {
            return;
        };
        let host = &largest.row.record.environment.host;
        let size = largest.key.probe.size_name(largest.key.size);
        let of = units::count(threads as usize, "thread");
        let last = Caches::new(&host.caches, host.cpus).last(threads);
        let why = match last.filter(|_| largest.key.device == Device::Cpu) {
            Some(last) => format!(
                "no arrays are {BEYOND_LAST} times as large as the last cache ({})",
                units::bytes(last)
            ),
            None => "the sizes of the caches are not recorded".to_owned(),
        };
        let so = if stands_in {
            format!("the largest, {size} each, stand for memory")
        } else {
            format!("the largest, {size} each, fit a cache: the bandwidth of memory is not known")
        };
        self.notes.push(format!("bandwidth on {of}: {why}; {so}"));
    }

    /// The level in which the arrays of an operation lie; none of an operation without arrays.
    pub fn level(&self, key: &OperationKey) -> Option<Level> {
        self.levels.get(key).copied()
    }

    pub fn best(&self, level: Level, threads: u32) -> Option<&Best> {
        self.best.get(&(level, threads)).filter(|_| level != Level::Unclear)
    }

    pub fn limit(&self, threads: u32, instead: Option<(f64, PeakSource)>) -> Option<Limit> {
        Limit::new(self.best(Level::Memory, threads).cloned(), instead)
    }

    /// All that is known, the nearest level first.
    pub fn by_level(&self, device: Device) -> Vec<LevelBandwidth> {
        let known = self.best.iter().filter_map(|(&(level, threads), best)| {
            Some(LevelBandwidth { device, level: name(level)?, threads, gbps: best.clone() })
        });
        known.collect()
    }
}

/// `L1`, `memory`; none where it is unclear.
pub fn name(level: Level) -> Option<String> {
    match level {
        Level::Cache(level) => Some(format!("L{level}")),
        Level::Memory => Some("memory".to_owned()),
        Level::Unclear => None,
    }
}

/// By the caches of the host; those of another device are not recorded.
fn level(operation: &Operation<'_>) -> Level {
    let OperationKey { device, threads, .. } = operation.key;
    let host = &operation.row.record.environment.host;
    match device {
        Device::Cpu => {
            Caches::new(&host.caches, host.cpus).level(operation.key.working_set(), threads)
        }
        Device::Cuda | Device::Xpu | Device::Mps => Level::Unclear,
    }
}
