//! An error in a config, in one line that says where, what, and what to write instead.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};

/// One error of one config.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// The config, as the user named it; empty when no file is at fault.
    pub file: PathBuf,
    /// Line, counted from 1; 0 when the error concerns the whole file.
    pub line: usize,
    /// Column, counted from 1.
    pub column: usize,
    /// Path of the key, e.g. `model_params[1].matrix_shapes[0].name`; empty for the whole file.
    pub key: String,
    /// The problem, with the value.
    pub message: String,
    /// The remedy.
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

/// The most errors that are told together: nobody reads more, and a text of some megabytes can have
/// hundreds of thousands.
const MOST: usize = 1000;
/// With so many errors, lists are not read any further.
const ENOUGH: usize = 10 * MOST;

/// Errors as they are found, each once. Beyond [`MOST`], the first of the file are kept and the others
/// are counted.
#[derive(Debug, Default)]
pub(crate) struct ErrorList {
    errors: Vec<Diagnostic>,
    /// The hashes of all that were found, so that a repetition is no further error.
    hashes: HashSet<u64>,
}

impl ErrorList {
    pub(crate) fn add(&mut self, error: Diagnostic) {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&error);
        if self.hashes.insert(hash) {
            self.errors.push(error);
        }
        if self.errors.len() >= 2 * MOST {
            self.sort();
            self.errors.truncate(MOST);
        }
    }

    /// Whether no more are looked for.
    pub(crate) fn are_too_many(&self) -> bool {
        self.hashes.len() >= ENOUGH
    }

    /// Errors about a whole file come first.
    fn sort(&mut self) {
        fn place(error: &Diagnostic) -> (&Path, usize, usize) {
            (&error.file, error.line, error.column)
        }
        self.errors.sort_by(|a, b| place(a).cmp(&place(b)));
    }

    /// Returns the errors in the order of their places, `file`'s own first; `None` if there are
    /// none.
    pub(crate) fn into_diagnostics(mut self, file: &Path) -> Option<Diagnostics> {
        self.sort();
        self.errors.truncate(MOST);
        self.errors.sort_by_key(|error| error.file != file);
        let more = self.hashes.len() - self.errors.len();
        if more > 0 {
            let rest = if self.are_too_many() { ", and the rest was not read" } else { "" };
            let message = format!("{more} more errors are not shown{rest}");
            self.errors.push(Diagnostic::whole_file(file, message, "fix those above first"));
        }
        (!self.errors.is_empty()).then_some(Diagnostics(self.errors))
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
