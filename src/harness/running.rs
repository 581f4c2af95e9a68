//! The case that is running: its time limit, and a word when it takes longer than expected.
//!
//! The loops that take batches (pilot, samples, passes, pairs) know nothing of cases and of each
//! other. Each asks here between two batches, outside of any clock, so this is kept per thread.

use std::cell::RefCell;

use super::clock::Stopwatch;
use super::progress::Overrun;
use crate::refusal::Refusal;

thread_local! {
    static CASE: RefCell<Option<Case>> = const { RefCell::new(None) };
}

struct Case {
    since: Stopwatch,
    limit_s: Option<f64>,
    overrun: Option<Overrun>,
}

/// A case runs until this is dropped.
#[derive(Debug)]
pub struct Running(());

/// A case begins. `limit_s` is its `case_timeout_s`, `overrun` what may be said while it runs.
pub fn begin(limit_s: Option<f64>, overrun: Option<Overrun>) -> Running {
    CASE.set(Some(Case { since: Stopwatch::start(), limit_s, overrun }));
    Running(())
}

impl Drop for Running {
    fn drop(&mut self) {
        CASE.set(None);
    }
}

/// Whether the case that is running has a time limit.
pub fn has_limit() -> bool {
    CASE.with_borrow(|case| case.as_ref().is_some_and(|case| case.limit_s.is_some()))
}

/// Between two batches: says so when the case takes longer than expected.
///
/// # Errors
/// `Timeout` when its time limit has passed.
pub fn check() -> Result<(), Refusal> {
    CASE.with_borrow_mut(|case| {
        let Some(Case { since, limit_s, overrun }) = case else { return Ok(()) };
        let seconds = since.seconds();
        if let Some(text) = overrun.as_mut().and_then(|overrun| overrun.word(seconds)) {
            eprintln!("{text}");
        }
        match *limit_s {
            Some(limit_s) if seconds > limit_s => {
                Err(Refusal::Timeout(format!("it took longer than {limit_s} s (`case_timeout_s`)")))
            }
            _ => Ok(()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_case_that_runs_has_a_limit() {
        assert_eq!(check(), Ok(()));
        let passed = begin(Some(0.0), None);
        let Err(Refusal::Timeout(reason)) = check() else { panic!("no limit") };
        assert_eq!(reason, "it took longer than 0 s (`case_timeout_s`)");
        drop(passed);
        assert_eq!(check(), Ok(()));
        let _unlimited = begin(None, None);
        assert_eq!(check(), Ok(()));
    }
}
