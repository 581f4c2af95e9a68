//! The common part of the views: what a result of one kind of work is of, and results in blocks.

use plan::{Dtype, Record};

use super::place::Place;

/// What a result is of. No two results of one config share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key<W> {
    /// What is computed, how, and at which size.
    pub work: W,
    /// Dtype of inputs and parameters.
    pub dtype: Dtype,
    /// Device, threads and what else the numbers depend on.
    pub place: Place,
}

impl<W> Key<W> {
    /// The key of a record with that work.
    pub fn of(work: W, record: &Record) -> Self {
        Self { work, dtype: record.case.dtype, place: Place::of(record) }
    }
}

/// Items in blocks of those with one key, in the order in which the keys first appear.
pub fn gather<'r, T, K: PartialEq>(
    items: impl IntoIterator<Item = &'r T>,
    key: impl Fn(&'r T) -> K,
) -> Vec<Vec<&'r T>> {
    let mut blocks: Vec<(K, Vec<&T>)> = Vec::new();
    for item in items {
        let key = key(item);
        match blocks.iter_mut().find(|(known, _)| *known == key) {
            Some((_, block)) => block.push(item),
            None => blocks.push((key, vec![item])),
        }
    }
    blocks.into_iter().map(|(_, block)| block).collect()
}
