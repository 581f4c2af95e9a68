//! An error in the description of a model.

use thiserror::Error;

/// An error with its file, key, value and remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}: {}{message}; {remedy}", if .key.is_empty() { String::new() } else { format!("{}: ", .key) })]
pub struct ArchitectureError {
    /// The file or model, as the caller named it.
    pub file: String,
    /// Path of the key, e.g. `text_config.hidden_size`; empty for the whole file.
    pub key: String,
    /// The problem, with the value.
    pub message: String,
    /// The remedy.
    pub remedy: String,
}

impl ArchitectureError {
    pub(super) fn new(file: &str, key: String, message: String, remedy: &str) -> Self {
        Self { file: file.to_owned(), key, message, remedy: remedy.to_owned() }
    }
}
