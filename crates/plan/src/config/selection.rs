//! What a kernel lists, and what is left of it where a config selects.

/// A list of a `bench.yaml`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Selection<T> {
    pub(super) listed: Vec<T>,
    /// The listed values that are measured.
    pub(crate) left: Vec<T>,
}

impl<T: Clone + PartialEq> Selection<T> {
    /// Keeps the values of a `bench.yaml` that `over` names. If the file lists none, the values of
    /// `over` are listed, or else the `usual` one.
    pub(super) fn new(said: Option<Vec<T>>, over: Option<&[T]>, usual: T) -> Self {
        let listed = said.or(over.map(<[T]>::to_vec)).unwrap_or_else(|| vec![usual]);
        let is_left = |it: &&T| over.is_none_or(|over| over.contains(it));
        let left = listed.iter().filter(is_left).cloned().collect();
        Self { listed, left }
    }
}
