//! The level of memory in which the arrays of a bandwidth probe lie while it runs.

use plan::Cache;

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
