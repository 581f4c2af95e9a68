//! Work on as many threads as torch's operators use.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use tch::TchError;

use native::parallel::parallel_for;

/// Calls `work` for consecutive parts of `0..items`, each beginning at a multiple of `step`: one
/// part for each of torch's intra-op threads, if there are items enough. The calling thread does
/// the first part, and each other one the same part every time, so that what it read last lies in
/// its caches; with one thread there is no other, and no synchronization.
///
/// # Errors
/// When libtorch throws.
pub fn for_each_part(
    items: usize,
    step: usize,
    work: impl Fn(Range<usize>) + Sync,
) -> Result<(), TchError> {
    let steps = items.div_ceil(step);
    let parts = threads().min(steps);
    if parts <= 1 {
        work(0..items);
        return Ok(());
    }
    let bound = |part: usize| (steps * part / parts * step).min(items);
    Ok(parallel_for(parts, |part| work(bound(part)..bound(part + 1)))?)
}

/// Elements for which it pays to have another thread: torch's `at::internal::GRAIN_SIZE`.
pub const GRAIN: usize = 32_768;

/// Elements of each thread's part of so many, as `at::parallel_for` shares them out: on fewer threads
/// than there are where each would have less than [`GRAIN`].
pub fn share(elements: usize, threads: usize) -> usize {
    elements.div_ceil(threads.min(elements.div_ceil(GRAIN)).max(1))
}

/// Torch's intra-op threads.
pub fn threads() -> usize {
    usize::try_from(tch::get_num_threads()).unwrap_or(1).max(1)
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
    fn no_more_threads_than_have_enough_to_do() {
        for (elements, threads, parts) in [
            (0, 8, 0),
            (1, 8, 1),
            (GRAIN, 8, 1),
            (GRAIN + 1, 8, 2),
            (3 * GRAIN, 8, 3),
            (100 * GRAIN, 8, 8),
            (100 * GRAIN, 1, 1),
        ] {
            let share = share(elements, threads);
            assert_eq!(elements.div_ceil(share.max(1)), parts, "{elements} on {threads}");
        }
    }

    #[test]
    fn a_part_stays_with_its_thread() {
        let threads = tch::get_num_threads();
        tch::set_num_threads(3);
        let of_parts = || {
            let parts = Mutex::new(Vec::new());
            let id = || std::thread::current().id();
            for_each_part(300, 1, |part| parts.lock().unwrap().push((part.start, id()))).unwrap();
            let mut parts = parts.into_inner().unwrap();
            parts.sort_by_key(|(start, _)| *start);
            parts
        };
        let first = of_parts();
        let repeated: Vec<_> = (0..20).map(|_| of_parts()).collect();
        tch::set_num_threads(threads);
        assert_eq!(first.iter().map(|(start, _)| *start).collect::<Vec<_>>(), [0, 100, 200]);
        assert_eq!(first[0].1, std::thread::current().id());
        assert!(first[1].1 != first[0].1 && first[2].1 != first[0].1 && first[1].1 != first[2].1);
        assert!(repeated.iter().all(|parts| *parts == first));
    }
}
