//! The pages "Coming from …" of the book: each row of their tables has a test, and each test has its row.
//!
//! A module per page declares its rows with [`rows!`]: the words of a row's first cell, and a function
//! that proves the row. Rows that share a measurement run it once, in a `OnceLock`.

#[path = "../common/document.rs"]
mod document;
mod page;
#[path = "../end_to_end/workspace.rs"]
#[allow(dead_code, reason = "its other functions are used by the other test")]
mod workspace;

mod gpu;
mod graphs;
mod operators;
mod quasim;
mod suites;
mod torchao;
