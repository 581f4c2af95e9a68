//! A document being read: what it says, where, and what is wrong with it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use serde_yaml::Value;

use super::diagnostic::{Diagnostic, Diagnostics};
use super::node::Node;
use super::positions::Positions;
use super::yaml;

/// One document being read: its file, its positions, and the errors found so far.
pub(super) struct Document {
    file: PathBuf,
    pub(super) positions: Positions,
    errors: RefCell<Vec<Diagnostic>>,
}

impl Document {
    /// What `read` makes of the document `text`.
    ///
    /// # Errors
    /// Every error of the text, by its place, and of the files that it names.
    pub(super) fn read<T>(
        file: &Path,
        text: &str,
        read: impl FnOnce(&Node<'_>) -> Option<T>,
    ) -> Result<T, Diagnostics> {
        let mut value: Value = yaml::parse(text).map_err(|error| syntax(file, &error))?;
        value.apply_merge().map_err(|error| syntax(file, &error))?;
        let document = Self {
            file: file.to_owned(),
            positions: Positions::of(text),
            errors: RefCell::default(),
        };
        let read = read(&Node::root(&document, &value));
        let mut errors = document.errors.into_inner();
        // The document's own errors come first.
        errors.sort_by_key(|error| {
            let place = (error.line, error.column);
            (error.file != file, error.file.clone(), place)
        });
        match read {
            Some(read) if errors.is_empty() => Ok(read),
            _ => Err(Diagnostics(errors)),
        }
    }

    /// Adds an error of this file, or of one that it names. Several readers may tell one; once is
    /// enough.
    pub(super) fn collect(&self, error: Diagnostic) {
        let mut errors = self.errors.borrow_mut();
        if !errors.contains(&error) {
            errors.push(error);
        }
    }

    /// Reports an error of this file.
    pub(super) fn report(
        &self,
        at: Option<(usize, usize)>,
        key: &str,
        message: String,
        remedy: String,
    ) {
        let (line, column) = at.unwrap_or((0, 0));
        let file = self.file.clone();
        let key = key.to_owned();
        self.collect(Diagnostic { file, line, column, key, message, remedy });
    }
}

fn syntax(file: &Path, error: &serde_yaml::Error) -> Diagnostics {
    let (line, column) = error.location().map_or((0, 0), |at| (at.line(), at.column()));
    let message = format!("not valid YAML: {error}");
    let remedy = "mend the syntax here or on the line above";
    Diagnostic { line, column, ..Diagnostic::whole_file(file, message, remedy) }.into()
}
