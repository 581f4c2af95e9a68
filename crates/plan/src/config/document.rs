//! A document being read: what it says, where, and what is wrong with it.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

use serde_yaml::Value;

use super::positions::Positions;
use super::yaml;
use crate::case::MOST_CASES;
use crate::diagnostic::{Diagnostic, Diagnostics, Found};

/// One document being read: its file, its positions, and the errors found so far.
pub(super) struct Document {
    file: PathBuf,
    pub(super) positions: Positions,
    errors: RefCell<Found>,
    /// Sizes that its lists and ranges stand for, so far.
    sizes: Cell<usize>,
}

impl Document {
    /// The document `text` of `file`, and what it says.
    pub(super) fn parse(file: &Path, text: &str) -> Result<(Self, Value), Diagnostics> {
        let mut value: Value = yaml::parse(text).map_err(|error| syntax(file, &error))?;
        value.apply_merge().map_err(|error| syntax(file, &error))?;
        let document = Self {
            file: file.to_owned(),
            positions: Positions::of(text),
            errors: RefCell::default(),
            sizes: Cell::default(),
        };
        Ok((document, value))
    }

    /// Ends the reading, with `read` if there was no error.
    pub(super) fn finish<T>(self, read: Option<T>) -> Result<T, Diagnostics> {
        let sizes = self.sizes.get();
        if sizes > MOST_CASES {
            let message =
                format!("{sizes} sizes make as many cases, which is more than {MOST_CASES}");
            let remedy = "shorten the lists and ranges of sizes, which multiply";
            self.collect(Diagnostic::whole_file(&self.file, message, remedy));
        }
        match (read, self.errors.into_inner().told(&self.file)) {
            (Some(read), None) => Ok(read),
            (_, errors) => Err(errors.unwrap_or(Diagnostics(Vec::new()))),
        }
    }

    /// Counts `sizes` before they are made; false where that would be more than there can be cases.
    pub(super) fn has_room(&self, sizes: usize) -> bool {
        self.sizes.set(self.sizes.get().saturating_add(sizes));
        self.sizes.get() <= MOST_CASES
    }

    /// Adds an error of this file, or of one that it names. Several readers may tell one; once is
    /// enough.
    pub(super) fn collect(&self, error: Diagnostic) {
        self.errors.borrow_mut().add(error);
    }

    /// Whether so many errors were found that further ones are not worth looking for.
    pub(super) fn has_too_many_errors(&self) -> bool {
        self.errors.borrow().are_too_many()
    }

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
    let remedy = "fix the syntax here or on the line above";
    Diagnostic { line, column, ..Diagnostic::whole_file(file, message, remedy) }.into()
}
