//! Blocks of results that stand together.

use super::Room;
use crate::model::OperatorResult;
use crate::write::table::{Paint, wrap};

/// Results that one table is of, in their order.
pub type Block<'r, 'a> = Vec<&'r OperatorResult<'a>>;

/// Results of one operator: of one criterion group, dtype and place.
pub fn of_groups<'r, 'a>(results: &'r [OperatorResult<'a>]) -> Vec<Block<'r, 'a>> {
    gather(results, |a, b| {
        let group = |result: &OperatorResult<'a>| &result.row.record.case.id.group;
        group(a) == group(b) && alike(a, b)
    })
}

/// Results of all operators of one config, dtype and place.
pub fn of_configs<'r, 'a>(results: &'r [OperatorResult<'a>]) -> Vec<Block<'r, 'a>> {
    gather(results, |a, b| {
        let config = |result: &OperatorResult<'a>| &result.row.record.case.config;
        config(a) == config(b) && alike(a, b)
    })
}

fn alike(a: &OperatorResult<'_>, b: &OperatorResult<'_>) -> bool {
    (a.key.dtype, &a.key.place) == (b.key.dtype, &b.key.place)
}

/// In the order in which the blocks first appear.
fn gather<'r, 'a>(
    results: &'r [OperatorResult<'a>],
    together: impl Fn(&OperatorResult<'a>, &OperatorResult<'a>) -> bool,
) -> Vec<Block<'r, 'a>> {
    let mut blocks: Vec<Block<'r, 'a>> = Vec::new();
    for result in results {
        match blocks.iter_mut().find(|block| together(block[0], result)) {
            Some(block) => block.push(result),
            None => blocks.push(vec![result]),
        }
    }
    blocks
}

/// A title, and below it where the block's cases were measured.
pub fn heading(title: &str, block: &Block<'_, '_>, Room { width, colour, .. }: Room) -> String {
    let mut out = format!("{}\n", Paint::Bold.on(title, colour));
    for part in wrap(&place(block), width - 2) {
        out.push_str(&format!("  {}\n", Paint::Dim.on(&part, colour)));
    }
    out
}

/// `float32 on cpu (AMD EPYC 7763), 1 thread`
fn place(block: &Block<'_, '_>) -> String {
    let key = &block[0].key;
    let dtype = key.dtype.as_str();
    format!("{} on {}", dtype.strip_prefix("torch.").unwrap_or(dtype), key.place)
}
