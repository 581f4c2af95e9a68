//! Rows of `coming-from/graphs.md`.

use crate::page::{Row, rows};

rows! { "graphs";
    "placeholder" => placeholder,
}

fn placeholder(row: &Row) {
    assert_eq!(row.code(), ["ours"]);
}
