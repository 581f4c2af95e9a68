//! Bandwidth of memory and of the caches, from STREAM's operations, and the level in which their arrays
//! lie while they run.

use std::collections::{BTreeMap, BTreeSet};

use plan::{Cache, Device};
use serde::{Deserialize, Serialize};

use super::limit::{Best, Limit, PeakSource};
use super::operation::{Operation, OperationKey};
use crate::order::Sorted as _;
use crate::render::units;

/// Arrays are in memory when they are so many times as large as the last cache: STREAM's own rule,
/// which leaves a quarter at most to it.
pub const BEYOND_LAST: u64 = 4;

/// Arrays are in a cache when they fit and are so many times as large as the one before it, which
/// then holds half of them at most.
const BEYOND_NEARER: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Cache(u8),
    Memory,
    /// Partly in one, partly in the other; or nobody knows.
    Unclear,
}

impl Level {
    /// `L1`, `memory`; none where it is unclear.
    pub fn name(self) -> Option<String> {
        match self {
            Self::Cache(level) => Some(format!("L{level}")),
            Self::Memory => Some("memory".to_owned()),
            Self::Unclear => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelBandwidth {
    /// The device that it ran on.
    pub device: Device,
    /// `L1`, `L2`, …, `memory`.
    pub level: String,
    /// Intra-op threads in force.
    pub threads: u32,
    /// GB/s of the best of STREAM's operations on arrays that lie there.
    pub gbps: Best,
}

#[derive(Debug, Clone, Copy)]
pub struct Caches<'a> {
    caches: &'a [Cache],
    /// Logical CPUs that the process may use.
    cpus: u32,
}

impl<'a> Caches<'a> {
    /// The caches of a machine with so many CPUs; an empty list means that none are known.
    pub const fn new(caches: &'a [Cache], cpus: u32) -> Self {
        Self { caches, cpus }
    }

    /// The most that so many threads can have of the last level, where any is known.
    pub fn last(&self, threads: u32) -> Option<u64> {
        let level = self.levels().last().copied()?;
        Some(self.apart(level, threads))
    }

    /// The level in which a working set lies that so many threads share out among themselves.
    pub fn level(&self, working_set: u64, threads: u32) -> Level {
        let mut nearer = 0;
        for level in self.levels() {
            if working_set <= self.together(level, threads) {
                let beyond = working_set >= nearer * BEYOND_NEARER;
                return if beyond { Level::Cache(level) } else { Level::Unclear };
            }
            nearer = self.apart(level, threads);
        }
        match self.last(threads) {
            Some(last) if working_set >= last * BEYOND_LAST => Level::Memory,
            _ => Level::Unclear,
        }
    }

    fn levels(&self) -> Vec<u8> {
        let mut levels: Vec<u8> = self.caches.iter().map(|cache| cache.level).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    /// The threads' share of a level when they sit as close together as they can.
    fn together(&self, level: u8, threads: u32) -> u64 {
        let of = |cache: &Cache| cache.bytes * u64::from(threads.div_ceil(cache.cpus.max(1)));
        self.of_level(level).map(of).min().unwrap_or(0)
    }

    /// Their share when they sit as far apart as they can.
    fn apart(&self, level: u8, threads: u32) -> u64 {
        let of = |cache: &Cache| {
            let there = self.cpus.div_ceil(cache.cpus.max(1)).max(1);
            cache.bytes * u64::from(threads.min(there))
        };
        self.of_level(level).map(of).max().unwrap_or(0)
    }

    fn of_level(&self, level: u8) -> impl Iterator<Item = &Cache> {
        self.caches.iter().filter(move |cache| cache.level == level)
    }
}

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
            streams.iter().map(|operation| operation.key.threads).sorted_set();
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
        for level in levels.iter().copied().sorted_set() {
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
            Some(LevelBandwidth { device, level: level.name()?, threads, gbps: best.clone() })
        });
        known.collect()
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
        Device::Cuda | Device::Rocm | Device::Xpu | Device::Mps => Level::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;

    fn epyc() -> [Cache; 3] {
        let cache = |level, bytes, cpus| Cache { level, bytes, cpus };
        [cache(1, 48 * KIB, 1), cache(2, MIB, 1), cache(3, 32 * MIB, 16)]
    }

    #[test]
    fn arrays_lie_in_the_nearest_cache_that_holds_them() {
        let caches = epyc();
        let one = |bytes| Caches::new(&caches, 2).level(bytes, 1);
        for (bytes, expected) in [
            (16 * KIB, Level::Cache(1)),
            (48 * KIB, Level::Cache(1)),
            (64 * KIB, Level::Unclear),
            (96 * KIB, Level::Cache(2)),
            (MIB, Level::Cache(2)),
            (MIB + 1, Level::Unclear),
            (2 * MIB, Level::Cache(3)),
            (32 * MIB, Level::Cache(3)),
            (127 * MIB, Level::Unclear),
            (128 * MIB, Level::Memory),
        ] {
            assert_eq!(one(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn threads_bring_their_own_caches_and_share_the_others() {
        let caches = epyc();
        let caches = Caches::new(&caches, 32);
        assert_eq!(caches.level(64 * KIB, 2), Level::Cache(1));
        // Two threads may share the last cache or have one each: they fit into one, and are beyond
        // two.
        assert_eq!(caches.level(48 * MIB, 2), Level::Unclear);
        assert_eq!(caches.level(128 * MIB, 2), Level::Unclear);
        assert_eq!(caches.level(256 * MIB, 2), Level::Memory);
        assert_eq!(caches.last(64), Some(64 * MIB));
    }

    #[test]
    fn without_known_caches_nothing_is_claimed() {
        let unknown = Caches::new(&[], 2);
        assert_eq!((unknown.level(1 << 40, 1), unknown.last(1)), (Level::Unclear, None));
    }
}
