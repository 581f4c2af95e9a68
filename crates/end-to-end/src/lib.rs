//! The blocks of Rust in README and the book, as doctests. A test holds that every page with one is here.

#![allow(clippy::needless_doctest_main, reason = "a build script has a main")]

#[doc = include_str!("../../../README.md")]
mod readme {}
#[doc = include_str!("../../../docs/book/src/plugin.md")]
mod plugin {}
