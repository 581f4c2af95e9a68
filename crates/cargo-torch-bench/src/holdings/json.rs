//! What the cache holds, for programs. Sizes are bytes on disk, times seconds since 1970.

use std::time::UNIX_EPOCH;

use serde::Serialize;

use super::Holdings;
use super::compiled::{Compiled, Facts};
use super::found::Found;
use crate::partial;

#[derive(Serialize)]
struct Shown<'h> {
    folder: String,
    provisioned: Vec<Entry>,
    partial: Vec<Installation>,
    kernels: Kernels,
    compiled: Packages<'h>,
}

#[derive(Serialize)]
struct Kernels {
    files: Vec<Entry>,
    unfinished: Vec<Entry>,
}

#[derive(Serialize)]
struct Packages<'h> {
    bound_bytes: u64,
    packages: Vec<Package<'h>>,
    unfinished: Vec<Entry>,
}

#[derive(Serialize)]
struct Package<'h> {
    #[serde(flatten)]
    entry: Entry,
    facts: Option<&'h Facts>,
}

#[derive(Serialize)]
struct Installation {
    #[serde(flatten)]
    entry: Entry,
    left_over: bool,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    bytes: u64,
    modified: u64,
}

impl From<&Found> for Entry {
    fn from(found: &Found) -> Self {
        let modified = found.used.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { name: found.name(), bytes: found.bytes, modified }
    }
}

/// The text of `cache --format json`.
pub fn show(holdings: &Holdings) -> String {
    let Holdings { folder, provisioned, partials, kernels, compiled, bound } = holdings;
    let installation =
        |it: &Found| Installation { entry: it.into(), left_over: partial::is_leftover(&it.path) };
    text(&Shown {
        folder: folder.display().to_string(),
        provisioned: entries(provisioned),
        partial: partials.iter().map(installation).collect(),
        kernels: Kernels { files: entries(&kernels.files), unfinished: entries(&kernels.partials) },
        compiled: Packages {
            bound_bytes: *bound,
            packages: packages(compiled),
            unfinished: entries(&compiled.partials),
        },
    })
}

/// The text of `cache list --format json`.
pub fn list(compiled: &Compiled) -> String {
    text(&packages(compiled))
}

fn packages(compiled: &Compiled) -> Vec<Package<'_>> {
    let of = compiled.packages.iter();
    of.map(|it| Package { entry: (&it.found).into(), facts: it.facts.as_ref() }).collect()
}

fn entries(found: &[Found]) -> Vec<Entry> {
    found.iter().map(Entry::from).collect()
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("every key is text")
}
