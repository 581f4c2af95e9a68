//! Which cases are similar.

use crate::case::Case;
use crate::settings::Threads;

/// The key that similar cases share. The error of the formula for one predicts the error for the other.
pub type Likeness = String;

/// From cases that differ in size alone to all cases of the device.
pub fn likenesses(case: &Case) -> impl Iterator<Item = Likeness> {
    let Case { id, role, mode, dtype, device, settings, .. } = case;
    // The workload without its size: the group's id without its config.
    let workload = id.group.split('/').nth(2).unwrap_or_default();
    let threads = match settings.threads {
        Threads::Count(count) => count,
        Threads::All => 0,
    };
    let (variant, allocator, cache) = (&id.variant, settings.allocator, settings.cache);
    let all = format!(
        "{device}\0{mode}\0{role:?}\0{variant}\0{workload}\0{threads}\0{allocator} {cache} {dtype}"
    );
    std::iter::successors(Some(all), |it| it.rsplit_once('\0').map(|(less, _)| less.to_owned()))
}
