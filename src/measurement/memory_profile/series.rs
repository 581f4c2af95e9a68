//! The areas of the picture: the bytes of each operation over time, stacked.

use super::replay::Replay;

/// Number of operations that have their own area.
const MOST: usize = 8;

/// The name of the area of all other operations.
pub const OTHER: &str = "other operations";

/// The area of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    pub name: String,
    /// Its peak bytes.
    pub most: u64,
    /// Its upper edge as pairs of time and bytes, including all areas below it; each value holds until the next.
    pub edge: Vec<(u64, u64)>,
}

/// The operations with the highest peaks, the highest first and lowest in the picture, and all others together. In each
/// column of the picture only the moment with the most bytes and the last one are kept.
pub fn from_replay(replay: &Replay, columns: usize) -> Vec<Series> {
    let mut order: Vec<usize> = (0..replay.operations.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(replay.operations[*place].1));
    let named = order.len().min(MOST);
    let areas = named + usize::from(order.len() > named);
    let mut area_of = vec![named; replay.operations.len()];
    for (area, place) in order.iter().take(named).enumerate() {
        area_of[*place] = area;
    }
    let mut series: Vec<Series> = order
        .iter()
        .take(named)
        .map(|place| replay.operations[*place].0.clone())
        .chain((areas > named).then(|| OTHER.to_owned()))
        .map(|name| Series { name, most: 0, edge: vec![] })
        .collect();
    let mut live = vec![0; replay.operations.len()];
    let kept = kept(replay, columns);
    for (moment, keep) in replay.moments.iter().zip(kept) {
        live[moment.operation] = moment.of_operation;
        let mut held = vec![0; areas];
        for (place, bytes) in live.iter().enumerate() {
            held[area_of[place]] += bytes;
        }
        let mut upper = 0;
        for (one, bytes) in series.iter_mut().zip(held) {
            one.most = one.most.max(bytes);
            upper += bytes;
            if keep {
                one.edge.push((moment.ns, upper));
            }
        }
    }
    series
}

/// Whether each moment is drawn.
fn kept(replay: &Replay, columns: usize) -> Vec<bool> {
    let moments = &replay.moments;
    let end = moments.last().map_or(1, |moment| moment.ns).max(1);
    let column = |ns: u64| (ns as f64 / end as f64 * columns as f64) as usize;
    let mut kept = vec![false; moments.len()];
    let mut begin = 0;
    for group in moments.chunk_by(|a, b| column(a.ns) == column(b.ns)) {
        let highest = (0..group.len()).rev().max_by_key(|place| group[*place].total);
        kept[begin + highest.unwrap_or(0)] = true;
        kept[begin + group.len() - 1] = true;
        begin += group.len();
    }
    kept
}
