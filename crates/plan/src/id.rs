//! Identity: how a case's id is made, and the rules that keep ids readable, runnable and unique.
//!
//! Criterion cuts each part of a directory name at 64 bytes and each title at 100, replaces some
//! characters, and lets equal names overwrite each other. So ids stay inside those limits here,
//! and two cases that would share a directory are an error. An id depends on its own case alone:
//! reordering a config changes none.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;

use crate::case::{Case, CaseId};
use crate::hash::fnv1a;
use crate::words::{Device, Dtype, LONGEST_WORD, Mode, is_plain};

/// Longest part of an id, in bytes.
pub const MAX_PART: usize = 64;
const _: () = assert!(LONGEST_WORD <= MAX_PART, "a word would not fit into an id");
/// Longest id, in bytes.
pub const MAX_ID: usize = 100;
/// Longest config stem inside an id: leaves room for the longest model and device in a group.
const MAX_CONFIG: usize = 24;
/// Bytes that a problem size leaves to what stands beside it in an id: two slashes, the longest dtype
/// with its dash, and a shortened implementation.
const SIZE_NEIGHBOURS: usize = 2 + 5 + 16;
/// Bytes of a shortened part after its head: `~` and six hexadecimal digits.
const TAIL: usize = 7;

/// Whether a file in a folder of configs, whose stem is a part of ids, is one: `.yml` or `.yaml`, in letters of any case.
pub fn is_config(file: &Path) -> bool {
    let ending = file.extension().map(|it| it.to_ascii_lowercase());
    ending.is_some_and(|it| it == "yml" || it == "yaml")
}

/// Criterion's group id.
pub fn group(mode: Mode, config: &str, workload: impl Display, device: Device) -> String {
    let (before, after) = (format!("{mode}/"), format!("/{workload}/{device}"));
    let room = match mode {
        // A workload is a model and a part of its step, which may leave less.
        Mode::Training => MAX_PART.saturating_sub(before.len() + after.len()).min(MAX_CONFIG),
        _ => MAX_CONFIG,
    };
    before + &shorten(config, room) + &after
}

/// Criterion's parameter.
pub fn parameter(dtype: Dtype, size: impl Display) -> String {
    format!("{}-{size}", dtype.short())
}

/// The part of an id of `group` that says the problem size: `text` itself if it is short and plain,
/// else with a hash of it.
pub fn size(group: &str, text: &str) -> String {
    let mut size: String = text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let room = MAX_ID.saturating_sub(group.len() + SIZE_NEIGHBOURS);
    if size != text || size.len() > room {
        size.truncate(room.saturating_sub(TAIL));
        size += &tail(text);
    }
    size
}

/// The whole id; the variant gives way where it would be too long.
pub fn case_id(group: &str, variant: &str, parameter: &str) -> CaseId {
    let room = MAX_ID.saturating_sub(group.len() + parameter.len() + 2).min(MAX_PART);
    CaseId {
        group: group.to_owned(),
        variant: shorten(variant, room),
        parameter: parameter.to_owned(),
    }
}

/// `text` if it fits, else its head and a hash of the whole, so that it stays unique.
fn shorten(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let mut head = room.saturating_sub(TAIL);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    text[..head].to_owned() + &tail(text)
}

/// The end of a part that does not hold the whole of `text`.
fn tail(text: &str) -> String {
    format!("~{:06x}", fnv1a(text) & 0xff_ffff)
}

/// The first pair of cases that criterion would write into one directory.
pub(crate) fn collision<'c>(cases: impl Iterator<Item = &'c Case>) -> Option<(&'c Case, &'c Case)> {
    let mut seen: HashMap<String, &Case> = HashMap::new();
    for case in cases {
        // A file system may ignore case.
        let directory = case.id.directory().to_string_lossy().to_lowercase();
        if let Some(other) = seen.insert(directory, case) {
            return Some((other, case));
        }
    }
    None
}

#[cfg(test)]
#[path = "id_tests.rs"]
mod tests;
