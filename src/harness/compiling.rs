//! Compiled variants are compiled before anything is measured, on all cores.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use plan::Case;

use super::clock::Stopwatch;
use super::progress::rough;
use super::{panics, release};
use crate::workload::Ahead;

type Traced<'a> = (&'a Case, Ahead);

/// Compiles the cases that are to be compiled and are not in the cache. Refusals are not reported here:
/// the case itself reports them when its turn comes.
pub fn compile<'a>(cases: impl IntoIterator<Item = &'a Case>) {
    let cases: Vec<&Case> =
        cases.into_iter().filter(|case| case.work.compile().is_some()).collect();
    if cases.is_empty() {
        return;
    }
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(cases.len());
    let progress = Progress::new(cases.len(), workers);
    // The bound keeps all but a few of a thousand cases from being traced ahead.
    let (sender, receiver) = sync_channel(workers);
    let receiver = Mutex::new(receiver);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| work(&receiver, &progress));
        }
        for case in cases {
            match traced(case) {
                None => progress.passed(),
                Some(kept) if kept.is_kept() => {
                    kept.compile();
                    progress.passed();
                }
                Some(ahead) => drop(sender.send((case, ahead))),
            }
        }
        // The workers end with the channel, and not before.
        drop(sender);
    });
    progress.finish();
}

/// The case traced; none where it is refused, or panics.
fn traced(case: &Case) -> Option<Ahead> {
    let ahead = panics::catch(|| Ahead::of(case));
    release(case.device);
    match ahead {
        Ok(Ok(ahead)) => ahead,
        Ok(Err(_)) | Err(panics::Caught::Panic(_)) => None,
        Err(panics::Caught::Other(payload)) => std::panic::resume_unwind(payload),
    }
}

fn work(receiver: &Mutex<Receiver<Traced<'_>>>, progress: &Progress) {
    loop {
        // The lock is held while waiting, and by nobody while compiling.
        let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((case, ahead)) = next else { return };
        progress.begins(case);
        // A refusal is kept, and told when the case's turn comes; so is a panic, which comes again.
        drop(panics::catch(|| ahead.compile()));
        progress.compiled.fetch_add(1, Ordering::Relaxed);
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
    fn the_estimate_follows_what_really_happened() {
        let left = |done, left, elapsed_s| left_s(done, left, 2, elapsed_s).as_secs_f64();
        assert!((left(0, 6, 0.0) - 60.0).abs() < 1e-9);
        // Nine in 290 s: 30 s each.
        assert!((left(9, 2, 290.0) - 60.0).abs() < 1e-9);
    }
}
