//! The parts of a plan that runs took, and the parts that no run took.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::results::Results;

/// The parts that there are of each division of a bench target's plan.
#[derive(Debug)]
pub struct Shards(pub BTreeMap<Division, BTreeSet<u32>>);

/// A way in which a bench target's plan was divided.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Division {
    pub target: String,
    pub count: u32,
    pub partition: String,
}

impl Shards {
    /// The parts that the runs' manifests name.
    pub fn from_results(results: &[Results]) -> Self {
        let mut shards: BTreeMap<Division, BTreeSet<u32>> = BTreeMap::new();
        for manifest in results.iter().flat_map(|it| &it.runs).map(|run| &run.manifest) {
            let Some(shard) = &manifest.shard else { continue };
            let division = Division {
                target: manifest.target.clone(),
                count: shard.count,
                partition: shard.partition.to_string(),
            };
            shards.entry(division).or_default().insert(shard.index);
        }
        Self(shards)
    }

    /// The parts that left nothing, by division; only divisions that lack some.
    pub fn missing(&self) -> impl Iterator<Item = (&Division, Ranges)> {
        let missing = self.0.iter().map(|(it, found)| (it, Ranges::missing(found, it.count)));
        missing.filter(|(_, ranges)| !ranges.0.is_empty())
    }

    /// Whether every division of a bench target lacks this part, and there is one.
    pub fn lack(&self, target: &str, index: u32) -> bool {
        let mut of_target = self.0.iter().filter(|(it, _)| it.target == target).peekable();
        of_target.peek().is_some() && of_target.all(|(_, found)| !found.contains(&index))
    }
}

/// Numbers as their first and last ones: a manifest may name any count.
#[derive(Debug, PartialEq, Eq)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// The numbers from 1 to `count` that are not among these.
    fn missing(found: &BTreeSet<u32>, count: u32) -> Self {
        let mut ranges = Vec::new();
        let (mut next, end) = (1, u64::from(count) + 1);
        let of_them =
            found.iter().copied().map(u64::from).filter(|number| (1..end).contains(number));
        for number in of_them.chain([end]) {
            if number > next {
                ranges.push((next, number - 1));
            }
            next = number + 1;
        }
        Self(ranges)
    }

    pub fn is_one(&self) -> bool {
        matches!(self.0[..], [(first, last)] if first == last)
    }
}

impl fmt::Display for Ranges {
    /// `3, 5 and 7 to 9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |&(first, last): &(u64, u64)| match last - first {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first} to {last}"),
        };
        let texts: Vec<String> = self.0.iter().map(text).collect();
        match &texts[..] {
            [before @ .., last] if !before.is_empty() => {
                write!(f, "{} and {last}", before.join(", "))
            }
            texts => f.write_str(&texts.concat()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range() {
        for (found, count, text) in [
            (&[1, 2][..], 2, ""),
            (&[], 1, "1"),
            (&[], 2, "1, 2"),
            (&[1, 2, 4, 6], 9, "3, 5 and 7 to 9"),
            (&[0, 3, 12], 4, "1, 2 and 4"),
            (&[1], u32::MAX, "2 to 4294967295"),
            (&[1, u32::MAX], u32::MAX, "2 to 4294967294"),
        ] {
            let ranges = Ranges::missing(&found.iter().copied().collect(), count);
            assert_eq!(ranges.to_string(), text, "{found:?} of {count}");
            assert_eq!(ranges.is_one(), text == "1", "{text}");
        }
    }
}
