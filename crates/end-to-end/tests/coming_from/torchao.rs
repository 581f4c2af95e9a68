//! Rows of `coming-from/torchao.md`.

use crate::page::{Row, rows};

rows! { "torchao";
    "placeholder" => placeholder,
}

fn placeholder(row: &Row) {
    assert_eq!(row.code(), ["ours"]);
}
