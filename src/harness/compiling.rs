//! Compiled variants are compiled before anything is measured, on all cores.

use std::collections::HashSet;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

use ::libtorch::memory::Memory;
use plan::Case;

use super::clock::Stopwatch;
use super::progress::rough;
use super::{panics, release};
use crate::workload::Ahead;

type Traced<'a> = (&'a Case, Ahead);

/// Memory that a compilation takes: a Python with torch, and a C++ compiler.
const COMPILATION_BYTES: u64 = 1 << 31;

/// Compiles the cases that are to be compiled and are not in the cache, each package once. Refusals
/// are not reported here: the case itself reports them when its turn comes.
pub fn compile<'a>(cases: impl IntoIterator<Item = &'a Case>) {
    let cases: Vec<&Case> =
        cases.into_iter().filter(|case| case.work.compile().is_some()).collect();
    if cases.is_empty() {
        return;
    }
    let workers = workers(Memory::read().map(|memory| memory.available)).min(cases.len());
    let progress = Progress::new(cases.len(), workers);
    let awaited = Mutex::new(Vec::new());
    let mut same = Vec::new();
    let compile = |(case, ahead): Traced<'a>| {
        // A worker that waited for another process could not compile anything else.
        if ahead.is_being_compiled() {
            awaited.lock().unwrap_or_else(PoisonError::into_inner).push((case, ahead));
        } else {
            progress.compiles(case, ahead);
        }
    };
    pooled(workers, compile, |send| {
        let mut keys = HashSet::new();
        for case in cases {
            match traced(case) {
                None => progress.passed(),
                Some(kept) if kept.is_kept() => {
                    kept.compile();
                    progress.passed();
                }
                Some(ahead) if !keys.insert(ahead.key().clone()) => same.push((case, ahead)),
                Some(ahead) => send((case, ahead)),
            }
        }
    });
    // Their packages are in the cache by now, or another process still compiles them.
    let awaited = awaited.into_inner().unwrap_or_else(PoisonError::into_inner);
    let compile = |(case, ahead)| progress.compiles(case, ahead);
    pooled(workers, compile, |send| awaited.into_iter().chain(same).for_each(send));
    progress.finish();
}

/// One for each core, as far as memory allows.
fn workers(available_bytes: Option<u64>) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let fitting = available_bytes.map_or(u64::MAX, |bytes| bytes / COMPILATION_BYTES);
    usize::try_from(fitting).unwrap_or(usize::MAX).clamp(1, cores)
}

/// Has `workers` threads do `work` on what `feed` sends them.
fn pooled<T: Send>(workers: usize, work: impl Fn(T) + Sync, feed: impl FnOnce(&dyn Fn(T))) {
    // The bound keeps all but a few of a thousand cases from being traced ahead.
    let (sender, receiver) = sync_channel(workers);
    let receiver = Mutex::new(receiver);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    // The lock is held while waiting, and by nobody while working.
                    let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(next) = next else { return };
                    work(next);
                }
            });
        }
        feed(&|it| drop(sender.send(it)));
        // The workers end with the channel, and not before.
        drop(sender);
    });
}

/// The case traced; none where it is refused, or panics.
fn traced(case: &Case) -> Option<Ahead> {
    let ahead = panics::catch(|| Ahead::for_case(case));
    release(case.device);
    match ahead {
        Ok(Ok(ahead)) => ahead,
        Ok(Err(_)) | Err(panics::Caught::Panic(_)) => None,
        Err(panics::Caught::Other(payload)) => std::panic::resume_unwind(payload),
    }
}

struct Progress {
    all: usize,
    workers: usize,
    begun: AtomicUsize,
    compiled: AtomicUsize,
    passed: AtomicUsize,
    watch: Stopwatch,
}

/// Estimate until the first compilation ends.
const TYPICAL_S: f64 = 20.0;

impl Progress {
    fn new(all: usize, workers: usize) -> Self {
        let watch = Stopwatch::start();
        let zero = AtomicUsize::default;
        Self { all, workers, begun: zero(), compiled: zero(), passed: zero(), watch }
    }

    /// Counts a case that there is nothing to compile for.
    fn passed(&self) {
        self.passed.fetch_add(1, Ordering::Relaxed);
    }

    fn compiles(&self, case: &Case, ahead: Ahead) {
        self.begins(case);
        // A refusal is kept, and told when the case's turn comes; so is a panic, which comes again.
        drop(panics::catch(|| ahead.compile()));
        self.compiled.fetch_add(1, Ordering::Relaxed);
    }

    fn begins(&self, case: &Case) {
        let passed = self.passed.load(Ordering::Relaxed);
        let begun = self.begun.fetch_add(1, Ordering::Relaxed);
        let done = self.compiled.load(Ordering::Relaxed);
        let left = self.all.saturating_sub(passed + done);
        let left = rough(left_s(done, left, self.workers, self.watch.seconds()));
        let number = passed + begun + 1;
        eprintln!("compiling [{number}/{}, {left} left] {}", self.all, case.id);
    }

    fn finish(&self) {
        let compiled = self.compiled.load(Ordering::Relaxed);
        if compiled > 0 {
            let cases = if compiled == 1 { "case" } else { "cases" };
            eprintln!("compiled {compiled} {cases} in {:.0} s", self.watch.seconds());
        }
    }
}

/// Seconds that `left` compilations take, after `done` have taken `elapsed_s` on so many workers.
fn left_s(done: usize, left: usize, workers: usize, elapsed_s: f64) -> std::time::Duration {
    let typical = TYPICAL_S / workers as f64;
    // The first ones say little.
    let each = (elapsed_s + typical) / (done as f64 + 1.0);
    std::time::Duration::try_from_secs_f64(each * left as f64).unwrap_or(std::time::Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_cores_limit_the_workers() {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        assert_eq!(workers(None), cores);
        assert_eq!(workers(Some(0)), 1);
        assert_eq!(workers(Some(COMPILATION_BYTES * 1000)), cores.min(1000));
    }

    #[test]
    fn the_pool_does_everything_once_and_side_by_side() {
        // Each waits for the other, so one worker alone would never end.
        let together = std::sync::Barrier::new(2);
        let done = Mutex::new(Vec::new());
        let work = |it: usize| {
            together.wait();
            done.lock().unwrap().push(it);
        };
        pooled(2, work, |send| (0..6).for_each(send));
        let mut done = done.into_inner().unwrap();
        done.sort_unstable();
        assert_eq!(done, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn the_estimate_follows_what_really_happened() {
        let left = |done, left, elapsed_s| left_s(done, left, 2, elapsed_s).as_secs_f64();
        assert!((left(0, 6, 0.0) - 60.0).abs() < 1e-9);
        // Nine in 290 s: 30 s each.
        assert!((left(9, 2, 290.0) - 60.0).abs() < 1e-9);
    }
}
