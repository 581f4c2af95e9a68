//! The patches that the book shows.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the pages and their patches.
pub const PAGES: &str = "docs/book/src/extending";

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it is there")
}

/// Every patch by its name, in their order.
pub fn patches() -> BTreeMap<String, PathBuf> {
    let folder = repository().join(PAGES).join("patches");
    let entries = fs::read_dir(folder).expect("readable").map(|entry| entry.expect("readable"));
    let named = entries.map(|it| (it.file_name().into_string().expect("UTF-8"), it.path()));
    named.collect()
}
