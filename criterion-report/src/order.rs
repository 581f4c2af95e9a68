//! Stable sorting, compiled once for items of every type: the standard library's is compiled anew for each.
//! The few long lists of plain numbers use that one.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

pub trait Order<T> {
    /// As `sort_by`.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// As `sort_by_key`.
    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T> Order<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        for (a, b) in swaps(self.len(), &mut |a, b| compare(&self[a], &self[b])) {
            self.swap(a, b);
        }
    }
}

/// The swaps, one after the other, that sort so many items, of which `compare` gets the places.
fn swaps(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<(usize, usize)> {
    let mut from: Vec<usize> = (0..len).collect();
    from.sort_by(|&a, &b| compare(a, b));
    let mut swaps = Vec::new();
    for start in 0..len {
        // Each swap puts one item of a cycle in its place.
        let mut to = start;
        while from[to] != start {
            let next = from[to];
            swaps.push((to, next));
            from[to] = to;
            to = next;
        }
        from[to] = to;
    }
    swaps
}

/// Sets and maps whose items are inserted one by one; `collect` sorts them first, with a sort of its own for
/// every type.
pub trait Sorted: Iterator + Sized {
    fn sorted_set(self) -> BTreeSet<Self::Item>
    where
        Self::Item: Ord,
    {
        let mut set = BTreeSet::new();
        set.extend(self);
        set
    }

    fn sorted_map<K: Ord, V>(self) -> BTreeMap<K, V>
    where
        Self: Iterator<Item = (K, V)>,
    {
        let mut map = BTreeMap::new();
        map.extend(self);
        map
    }
}

impl<I: Iterator> Sorted for I {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_standard_library() {
        let mut random = 1_u32;
        for len in 0..200 {
            let mut items: Vec<(u32, usize)> = Vec::new();
            for place in 0..len {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Many are equal, and stay in their order.
                items.push((random >> 28, place));
            }
            let mut expected = items.clone();
            expected.sort_by_key(|(number, _)| *number);
            items.order_by_key(|(number, _)| *number);
            assert_eq!(items, expected);
        }
    }
}
