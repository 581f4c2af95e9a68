//! Rows of `coming-from/operators.md`.

use crate::page::{Row, rows};

rows! { "operators";
    "placeholder" => placeholder,
}

fn placeholder(row: &Row) {
    assert_eq!(row.code(), ["ours"]);
}
