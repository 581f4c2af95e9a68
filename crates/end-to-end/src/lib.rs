//! The blocks of Rust in README and the book, as doctests. A test holds that every page with one is here.

#[doc = include_str!("../../../README.md")]
mod readme {}
