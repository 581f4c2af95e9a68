//! Rows of `coming-from/quasim.md`.

use crate::page::{Row, rows};

rows! { "quasim";
    "placeholder" => placeholder,
}

fn placeholder(row: &Row) {
    assert_eq!(row.code(), ["ours"]);
}
