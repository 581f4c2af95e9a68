//! Work on as many threads as torch's operators use.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};
use tch::TchError;

/// Calls `work` for consecutive parts of `0..items`, each beginning at a multiple of `step`: one
/// part for each of torch's intra-op threads, if there are items enough. The calling thread does
/// the first part, and each other one the same part every time, so that what it read last lies in
/// its caches; with one thread there is no other, and no synchronization.
///
/// # Errors
/// When threads cannot be started.
pub fn for_each_part(
    items: usize,
    step: usize,
    work: impl Fn(Range<usize>) + Sync,
) -> Result<(), TchError> {
    let threads = usize::try_from(tch::get_num_threads()).unwrap_or(1).max(1);
    let parts = threads.min(items.div_ceil(step));
    if parts <= 1 {
        work(0..items);
        return Ok(());
    }
    let bound = |part: usize| (items.div_ceil(step) * part / parts * step).min(items);
    let work = &work;
    pool(threads - 1)?.in_place_scope(|scope| {
        scope.spawn_broadcast(move |_, other| {
            let part = 1 + other.index();
            if part < parts {
                work(bound(part)..bound(part + 1));
            }
        });
        work(0..bound(1));
    });
    Ok(())
}

/// Calls `work` with the number and the elements of every row of `data [.., width]`.
///
/// # Errors
/// As [`for_each_part`].
pub fn for_each_row<T: Send>(
    data: &mut [T],
    width: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) -> Result<(), TchError> {
    let rows: Vec<_> = data.chunks_mut(width).map(Mutex::new).collect();
    for_each_part(rows.len(), 1, |part| {
        for index in part {
            // Nobody else asks for this row.
            work(index, &mut rows[index].lock().unwrap_or_else(PoisonError::into_inner));
        }
    })
}

/// The threads besides the caller's, kept for as long as their number is asked for.
fn pool(threads: usize) -> Result<Arc<ThreadPool>, TchError> {
    static POOL: Mutex<Option<Arc<ThreadPool>>> = Mutex::new(None);
    // A panic in here leaves the last pool, which still works.
    let mut kept = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match &*kept {
        Some(pool) if pool.current_num_threads() == threads => Ok(Arc::clone(pool)),
        _ => {
            let pool = ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|index| format!("kernel-{index}"))
                .build()
                .map_err(|error| TchError::Kind(format!("{threads} threads: {error}")))?;
            Ok(Arc::clone(kept.insert(Arc::new(pool))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_every_item_once_and_begin_at_steps() {
        for (items, step) in [(0, 4), (1, 4), (7, 4), (8, 4), (1000, 16), (33, 1)] {
            let parts = Mutex::new(Vec::new());
            for_each_part(items, step, |part| parts.lock().unwrap().push(part)).unwrap();
            let mut parts = parts.into_inner().unwrap();
            parts.sort_by_key(|part| part.start);
            let mut end = 0;
            for part in parts {
                assert_eq!((part.start, part.start % step), (end, 0), "{items} by {step}");
                end = part.end;
            }
            assert_eq!(end, items);
        }
    }

    #[test]
    fn a_part_stays_with_its_thread() {
        let name = || std::thread::current().name().map(str::to_owned);
        let threads = tch::get_num_threads();
        for _ in 0..20 {
            let parts = Mutex::new(Vec::new());
            tch::set_num_threads(3);
            for_each_part(300, 1, |part| parts.lock().unwrap().push((part.start, name()))).unwrap();
            tch::set_num_threads(threads);
            let mut parts = parts.into_inner().unwrap();
            parts.sort();
            // Tests beside this one may have set another number of threads.
            for (index, (_, thread)) in parts.into_iter().enumerate() {
                let own = if index == 0 { name() } else { Some(format!("kernel-{}", index - 1)) };
                assert_eq!(thread, own, "part {index}");
            }
        }
    }
}
