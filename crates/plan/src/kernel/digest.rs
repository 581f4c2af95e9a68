//! A hash of everything that a kernel is made of, so that a record says which edit it is of.

use std::path::Path;

use super::discovery::Found;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::hash;

/// The hash of `config`, the hash of a config's text, and `files`, the hash by [`of_files`]. It is as
/// long as each of them.
pub(crate) fn with_files(config: &str, files: &str) -> String {
    hash::hex(format!("{config}{files}"))
}

/// The hash of the names and texts of the kernel's files, its helpers and its `bench.yaml`: 16
/// hexadecimal digits.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn of_files(found: &Found) -> Result<String, Diagnostics> {
    let sources = found.files.iter().map(|(_, file)| file);
    let mut bytes = Vec::new();
    for file in sources.chain(&found.helpers).chain(&found.bench) {
        let text = read(file)?;
        // The hash covers the ends of the texts, too.
        bytes.extend(file.file_name().unwrap_or_default().as_encoded_bytes());
        bytes.push(0);
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text);
    }
    Ok(hash::hex(bytes))
}

fn read(file: &Path) -> Result<Vec<u8>, Diagnostics> {
    std::fs::read(file).map_err(|error| {
        let remedy = "make it a file that can be read";
        Diagnostic::whole_file(file, format!("cannot be read: {error}"), remedy).into()
    })
}
