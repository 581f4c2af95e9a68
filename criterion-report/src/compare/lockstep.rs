//! Times of two revisions that were measured in lock-step.

use plan::lockstep::LockstepCase;
use statistics::RunMedian;
use statistics::lockstep::{Block, Compared};

use super::point::{Estimate, Point};
use super::side::{Side, SideRun};
use crate::read::{Lockstep, Selection};

/// The comparison of a case by its blocks.
#[derive(Debug, Clone, Copy)]
pub struct Blocks {
    /// Whether they were taken after the difference was found, to confirm it.
    pub confirm: bool,
    pub compared: Compared,
}

impl Blocks {
    /// The blocks that count, and the values of both sides in them.
    pub fn new(case: &LockstepCase) -> Result<(Self, [Vec<RunMedian>; 2]), String> {
        let counting = &case.blocks[case.confirmed_from.unwrap_or(0).min(case.blocks.len())..];
        let blocks: Vec<Block> =
            counting.iter().map(|it| Block { layout: it.layout, times: it.times }).collect();
        let compared = match case.confirmed_from {
            Some(_) => Compared::confirming(&blocks),
            None => Compared::new(&blocks),
        };
        let compared = compared.ok_or_else(|| {
            format!("the time sufficed for {} of 8 blocks: give it more (--budget)", blocks.len())
        })?;
        let runs = [0, 1].map(|side| {
            let of_block = |block: &Block| RunMedian {
                ln_median: block.times.iter().map(|times| times[side].ln()).sum::<f64>() / 2.0,
                variance: 0.0,
            };
            blocks.iter().map(of_block).collect()
        });
        Ok((Self { confirm: case.confirmed_from.is_some(), compared }, runs))
    }
}

/// The name of a side's runs, where many processes have measured it in turn with the other side's.
pub const LOCKSTEP: &str = "in lock-step";

/// Adds the times of a document to a side, by its index, which may have records of the same cases.
pub fn with_times(
    side: Option<Side>,
    name: &str,
    index: usize,
    document: &Lockstep,
    selection: Selection<'_>,
) -> Side {
    let mut side = side.unwrap_or_else(|| Side::of_points(name, LOCKSTEP, Vec::new()));
    let revision = document.revision(index);
    let mut points = Vec::new();
    let run = side.runs.pop().unwrap_or_default();
    for case in document.of_side(index).filter(|case| selection.names(&case.full_id)) {
        let times = case.blocks.iter().flat_map(|block| block.times.iter().map(|it| it[index]));
        let times: Vec<f64> = times.collect();
        let time = (!times.is_empty())
            .then(|| Estimate::of_interval(statistics::median(&times), None, f64::NAN));
        let known = run.get(&case.full_id).cloned();
        let status = Point::MEASURED.to_owned();
        let (full_id, revision) = (case.full_id.clone(), revision.clone());
        let new = || Point { full_id, status, revision, ..Point::default() };
        points.push(Point { time, ..known.unwrap_or_else(new) });
    }
    // A case that failed on this side has a record and no times.
    let is_untimed = |it: &&Point| document.get(&it.full_id).is_none_or(|case| !case.has[index]);
    let rest: Vec<Point> = run.points.iter().filter(is_untimed).cloned().collect();
    points.extend(rest);
    let mut timed = SideRun::new(LOCKSTEP, points);
    timed.manifests = run.manifests;
    side.runs.push(timed);
    side
}
