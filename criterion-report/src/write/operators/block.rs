//! Blocks of results that stand together.

use crate::model::{OperatorResult, gather};
use crate::write::table::{Paint, wrap};
use crate::write::view::Room;

pub type Block<'r, 'a> = Vec<&'r OperatorResult<'a>>;

/// Results of one operator: of one criterion group, dtype and place.
pub fn of_groups<'r, 'a>(results: &'r [OperatorResult<'a>]) -> Vec<Block<'r, 'a>> {
    gather(results, |it| (&it.row.record.case.id.group, it.key.dtype, it.key.place.to_string()))
}

/// Results of all operators of one config, dtype and place.
pub fn of_configs<'r, 'a>(results: &'r [OperatorResult<'a>]) -> Vec<Block<'r, 'a>> {
    gather(results, |it| (&it.row.record.case.config, it.key.dtype, it.key.place.to_string()))
}

/// A title, and below it where the block's cases were measured: `float32 on cpu (AMD EPYC 7763), 1
/// thread`.
pub fn heading(title: &str, block: &Block<'_, '_>, room: Room) -> String {
    let key = &block[0].key;
    let dtype = key.dtype.as_str();
    let place = format!("{} on {}", dtype.strip_prefix("torch.").unwrap_or(dtype), key.place);
    let parts = wrap(&place, room.width - 2);
    let parts = parts.iter().map(|part| format!("  {}\n", Paint::Dim.on(part, room.colour)));
    room.bold(title) + &parts.collect::<String>()
}
