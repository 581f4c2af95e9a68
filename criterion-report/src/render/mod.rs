//! Units, tables, Markdown and JSON. It knows no model.

pub(crate) mod in_order;
pub(crate) mod json_text;
pub(crate) mod markdown;
pub(crate) mod object;
pub(crate) mod table;
pub mod units;
pub(crate) mod words;
