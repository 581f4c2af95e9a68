//! The common part of the views: what a result of one kind of work is of, and results in blocks.

use std::hash::Hash;

use indexmap::IndexMap;
use plan::{Dtype, Record};

use super::place::ExecutionContext;

/// The identity of a result; no two results of one config share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key<W> {
    pub work: W,
    pub dtype: Dtype,
    /// Device, threads and what else the numbers depend on.
    pub place: ExecutionContext,
}

impl<W> Key<W> {
    pub fn new(work: W, record: &Record) -> Self {
        Self { work, dtype: record.case.dtype, place: ExecutionContext::from_record(record) }
    }
}

/// Items in blocks of those with one key, in the order in which the keys first appear.
pub fn gather<T, K: Eq + Hash>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<Vec<T>> {
    let mut blocks: IndexMap<K, Vec<T>> = IndexMap::new();
    for item in items {
        blocks.entry(key(&item)).or_default().push(item);
    }
    blocks.into_values().collect()
}

/// Each of these once, where it first stands.
pub fn once<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for item in items {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all
}
