//! Cases formatted by all processors and written in their order.

use anyhow::Result;
use rayon::prelude::*;

/// Cases that are formatted at once: enough for every processor, few beside what they are made of.
const AT_ONCE: usize = 512;

/// Formats `items`, some at once, and gives each result to `put` in the order of the items.
///
/// # Errors
/// The first error of either.
pub fn in_order<T: Sync, U: Send>(
    items: &[T],
    format: impl Fn(&T) -> Result<U> + Sync,
    mut put: impl FnMut(U) -> Result<()>,
) -> Result<()> {
    for some in items.chunks(AT_ONCE) {
        let formatted: Vec<U> = some.par_iter().map(&format).collect::<Result<_>>()?;
        formatted.into_iter().try_for_each(&mut put)?;
    }
    Ok(())
}
