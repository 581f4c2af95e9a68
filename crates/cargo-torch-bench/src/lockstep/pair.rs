//! Two processes, one of each side, that take turns benchmark by benchmark.

use std::collections::BTreeMap;

use super::process::{Process, Program};
use crate::error::Result;

/// Indices of the sides.
pub const SIDES: [usize; 2] = [0, 1];

/// The time of an iteration by benchmark, of each side.
pub type Times = [BTreeMap<String, f64>; 2];

/// Measures both sides in fresh processes. `first` begins, and the sides take turns: while one measures, the other waits
/// for its word, and uses no processor.
pub fn measure(
    programs: [&Program; 2],
    layout: usize,
    arguments: &[String],
    first: usize,
) -> Result<Times> {
    let mut times = Times::default();
    let mut processes = [None, None];
    for side in SIDES {
        processes[side] = Process::start(programs[side], layout, arguments)?;
    }
    let order = [first, 1 - first];
    while processes.iter().any(Option::is_some) {
        for side in order {
            let Some(process) = &mut processes[side] else { continue };
            match process.turn()? {
                Some(samples) => {
                    times[side].insert(samples.full_id.clone(), samples.undisturbed());
                }
                None => processes[side] = None,
            }
        }
    }
    Ok(times)
}
