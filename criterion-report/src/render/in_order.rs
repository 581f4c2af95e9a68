//! Cases formatted by all processors and written in their order.

use std::io::Write;

use anyhow::Result;

use crate::parallel;

/// Cases that are formatted at once: enough for every processor, few beside what they are made of.
const AT_ONCE: usize = 64;

/// Formats `items`, some at once, and gives each result to `put` in the order of the items.
pub fn in_order<T: Sync, U: Send>(
    items: &[T],
    format: impl Fn(&T) -> Result<U> + Sync,
    mut put: impl FnMut(U) -> Result<()>,
) -> Result<()> {
    for some in items.chunks(AT_ONCE) {
        parallel::map(some, &format).into_iter().try_for_each(|it| put(it?))?;
    }
    Ok(())
}

/// Writes the texts of `items` between what stands before, between and behind them. Some are
/// formatted at once, into buffers that the next ones use again. An item without a text is left out.
pub fn joined<T: Sync>(
    items: &[T],
    [before, between, behind]: [&str; 3],
    format: impl Fn(&T, &mut Vec<u8>) -> Result<()> + Sync,
    out: &mut dyn Write,
) -> Result<()> {
    out.write_all(before.as_bytes())?;
    let mut texts = vec![Vec::new(); AT_ONCE.min(items.len())];
    let mut separator = "";
    for some in items.chunks(AT_ONCE) {
        let places = texts.iter_mut().zip(some).collect();
        let formatted = parallel::map_into(places, |(text, item)| {
            text.clear();
            format(item, text)
        });
        formatted.into_iter().collect::<Result<()>>()?;
        for text in texts[..some.len()].iter().filter(|text| !text.is_empty()) {
            out.write_all(separator.as_bytes())?;
            out.write_all(text)?;
            separator = between;
        }
    }
    Ok(out.write_all(behind.as_bytes())?)
}
