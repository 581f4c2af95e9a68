//! Cases formatted by all processors and written in their order.

use std::io::Write;

use anyhow::Result;
use rayon::prelude::*;

/// Cases that are formatted at once: enough for every processor, few beside what they are made of.
const AT_ONCE: usize = 64;

/// Formats `items`, some at once, and gives each result to `put` in the order of the items.
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

/// Writes the texts of `items`, formatted as [`in_order`] does, between what stands before, between
/// and behind them. An item without a text is left out.
pub fn joined<T: Sync>(
    items: &[T],
    [before, between, behind]: [&str; 3],
    format: impl Fn(&T) -> Result<Option<Vec<u8>>> + Sync,
    out: &mut dyn Write,
) -> Result<()> {
    out.write_all(before.as_bytes())?;
    let mut separator = "";
    in_order(items, format, |text| {
        if let Some(text) = text {
            out.write_all(separator.as_bytes())?;
            out.write_all(&text)?;
            separator = between;
        }
        Ok(())
    })?;
    Ok(out.write_all(behind.as_bytes())?)
}
