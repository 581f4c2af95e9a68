//! What is wrong with a config, in one line that says where, what, and what to write instead.

use std::fmt;
use std::path::{Path, PathBuf};

/// One error of one config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The config, as the user named it; empty when no file is at fault.
    pub file: PathBuf,
    /// Line, counted from 1; 0 when the error concerns the whole file.
    pub line: usize,
    /// Column, counted from 1.
    pub column: usize,
    /// Path of the key, e.g. `model_params[1].matrix_shapes[0].name`; empty for the whole file.
    pub key: String,
    /// What is wrong, with the value.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

impl Diagnostic {
    /// An error that concerns a whole file, or none when `file` is empty.
    pub fn whole_file(file: &Path, message: String, remedy: &str) -> Self {
        let (file, remedy) = (file.to_owned(), remedy.to_owned());
        Self { file, line: 0, column: 0, key: String::new(), message, remedy }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.as_os_str().is_empty() {
            write!(f, "{}", self.file.display())?;
            if self.line > 0 {
                write!(f, ":{}:{}", self.line, self.column)?;
            }
            write!(f, ": ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}; {}", self.message, self.remedy)
    }
}

/// All errors of all configs that were read together. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl fmt::Display for Diagnostics {
    /// One line per error, nothing after the last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}
