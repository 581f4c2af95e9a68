//! Work that all processors share, compiled once: rayon's iterators are compiled anew for every closure.

use std::sync::Mutex;

use rayon::prelude::*;

/// Applies `make` to each item; the results are in the order of the items.
pub fn map<T: Sync, U: Send>(items: &[T], make: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let made: Vec<Mutex<Option<U>>> = items.iter().map(|_| Mutex::new(None)).collect();
    each(items.len(), &|place| {
        let item = make(&items[place]);
        *made[place].lock().expect(NO_PANIC) = Some(item);
    });
    made.into_iter().filter_map(|item| item.into_inner().expect(NO_PANIC)).collect()
}

/// As [`map`], for a `make` that takes its items.
pub fn map_into<T: Send, U: Send>(items: Vec<T>, make: impl Fn(T) -> U + Sync) -> Vec<U> {
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|it| Mutex::new(Some(it))).collect();
    map(&items, |item| {
        let item = item.lock().expect(NO_PANIC).take();
        make(item.expect("each is taken once"))
    })
}

fn each(count: usize, visit: &(dyn Fn(usize) + Sync)) {
    // Items differ: one may be the table of half of all cases.
    (0..count).into_par_iter().with_max_len(1).for_each(visit);
}

const NO_PANIC: &str = "no code panics while it holds a lock";
