//! Work on the threads that torch's own operators run on.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use super::border::{Status, check};
use super::error::Error;

unsafe extern "C" {
    /// Returns when all calls of `work` have, which must not unwind.
    fn ctn_parallel_for(
        parts: i64,
        work: unsafe extern "C" fn(context: *mut c_void, part: i64),
        context: *mut c_void,
    ) -> Status;
}

/// Calls `work` with each number below `parts`, by `at::parallel_for`. The calling thread takes
/// part 0. Where libtorch's threads are those of OpenMP, as in its wheels, and there are no more
/// parts than threads, each of the others takes the part of its own number every time. Inside of
/// work that is already parallel, the calling thread does all parts in order.
///
/// # Panics
/// When `work` does: with its panic, after all other parts have ended.
pub fn parallel_for<F: Fn(usize) + Sync>(parts: usize, work: F) -> Result<(), Error> {
    let call = Call { work, panic: Mutex::new(None) };
    let context = (&raw const call).cast_mut().cast::<c_void>();
    // No slice has more parts than an i64 counts.
    let parts = i64::try_from(parts).unwrap_or(i64::MAX);
    // SAFETY: `run` is made for a context of this type, which lives until all parts have ended and
    // is only read; `F` may be called by several threads.
    check(unsafe { ctn_parallel_for(parts, run::<F>, context) })?;
    match call.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(payload) => panic::resume_unwind(payload),
        None => Ok(()),
    }
}

struct Call<F> {
    work: F,
    /// The first part's that panicked: no panic may cross C++.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// # Safety
/// `context` points to a live `Call<F>`.
unsafe extern "C" fn run<F: Fn(usize) + Sync>(context: *mut c_void, part: i64) {
    // SAFETY: the caller's promise; shared only.
    let call = unsafe { &*context.cast_const().cast::<Call<F>>() };
    // Part numbers begin at 0. Unwind-safe: the panic is resumed, so nobody sees broken state.
    let result = panic::catch_unwind(AssertUnwindSafe(|| (call.work)(part as usize)));
    if let Err(payload) = result {
        call.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_part_is_done_once() {
        for parts in [0, 1, 2, 3, 7, 100] {
            let calls: Vec<_> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
            parallel_for(parts, |part| {
                calls[part].fetch_add(1, Ordering::Relaxed);
            })
            .expect("nothing throws");
            assert!(calls.iter().all(|it| it.load(Ordering::Relaxed) == 1), "{parts}");
        }
    }

    #[test]
    fn a_panic_comes_out_after_the_other_parts() {
        let done = AtomicUsize::new(0);
        for bad in 0..3 {
            done.store(0, Ordering::Relaxed);
            let caught = panic::catch_unwind(AssertUnwindSafe(|| {
                parallel_for(3, |part| {
                    if part == bad {
                        // As a panic, without a line in the tests' output.
                        panic::resume_unwind(Box::new(format!("part {part}")));
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                })
            }));
            let payload = caught.expect_err("it panics");
            assert_eq!(payload.downcast_ref(), Some(&format!("part {bad}")));
            assert_eq!(done.load(Ordering::Relaxed), 2);
        }
        // And leaves the threads as they were.
        parallel_for(3, |_| {}).expect("nothing throws");
    }

    #[test]
    fn inside_parallel_work_it_is_serial() {
        let threads = tch::get_num_threads();
        tch::set_num_threads(2);
        parallel_for(2, |_| {
            let here = std::thread::current().id();
            let order = Mutex::new(Vec::new());
            parallel_for(3, |part| {
                assert_eq!(std::thread::current().id(), here);
                order.lock().expect("not poisoned").push(part);
            })
            .expect("nothing throws");
            assert_eq!(order.into_inner().expect("not poisoned"), [0, 1, 2]);
        })
        .expect("nothing throws");
        tch::set_num_threads(threads);
    }
}
