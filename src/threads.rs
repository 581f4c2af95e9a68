//! Threads inside one operator, which siblings may differ in.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use once_cell::sync::Lazy;
use plan::Threads;

use crate::native::{self, parallel::parallel_for};

/// Asked once: the answer is read from files, and it is wanted before every batch that is timed.
static CPUS: Lazy<u32> = Lazy::new(|| {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cpus).unwrap_or(u32::MAX)
});

/// How many these are on this machine.
pub fn count(threads: Threads) -> u32 {
    threads.resolve(*CPUS)
}

/// Lets torch's operators use so many, from now on.
pub fn settle(threads: Threads) {
    let wanted = i32::try_from(count(threads)).unwrap_or(i32::MAX);
    if tch::get_num_threads() != wanted {
        tch::set_num_threads(wanted);
    }
}

/// Does something by one thread: it does not matter then whether others get a core, and none of them stays awake.
pub fn by_one<T>(body: impl FnOnce() -> T) -> T {
    let threads = tch::get_num_threads();
    tch::set_num_threads(1);
    let value = body();
    tch::set_num_threads(threads);
    value
}

/// How many threads an operator runs on: OpenMP may give fewer than it is asked for.
///
/// # Errors
/// When libtorch cannot run anything on them.
pub fn running() -> Result<u32, native::Error> {
    let asked = tch::get_num_threads().unsigned_abs();
    if cfg!(not(target_os = "linux")) {
        // A pool of threads: which of them takes a part is left to chance.
        return Ok(asked);
    }
    let seen = Mutex::<HashSet<ThreadId>>::default();
    parallel_for(asked as usize, |_| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).insert(thread::current().id());
    })?;
    let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(u32::try_from(seen.len()).unwrap_or(asked))
}

/// A warning if fewer threads run than were requested.
pub fn shortfall() -> Option<String> {
    let (asked, running) = (tch::get_num_threads().unsigned_abs(), running().ok()?);
    (running < asked).then(|| {
        format!("operators run on {running} of {asked} threads: OpenMP gives no more (OMP_THREAD_LIMIT, OMP_DYNAMIC)")
    })
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
