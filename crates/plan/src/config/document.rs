//! A document being read: what it says, where, and what is wrong with it.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

use serde_yaml::Value;

use super::positions::{FURTHER, Flaw, MERGE, Positions};
use super::yaml;
use crate::case::MOST_CASES;
use crate::diagnostic::{Diagnostic, Diagnostics, ErrorList};

/// One document being read: its file, its positions, and the errors found so far.
pub(super) struct Document {
    file: PathBuf,
    pub(super) positions: Positions,
    errors: RefCell<ErrorList>,
    /// Sizes that its lists and ranges stand for, so far.
    sizes: Cell<usize>,
}

impl Document {
    /// The document `text` of `file`, and what it says.
    pub(super) fn parse(file: &Path, text: &str) -> Result<(Self, Value), Diagnostics> {
        let mut positions = Positions::new(text);
        if !positions.flaws.is_empty() {
            let mut found = ErrorList::default();
            for Flaw { at: (line, column), path: key, message, remedy } in positions.flaws.drain(..)
            {
                found.add(Diagnostic { file: file.to_owned(), line, column, key, message, remedy });
            }
            return Err(found.into_diagnostics(file).expect("there are some"));
        }
        let mut value: Value = yaml::parse(&insert_additions(text, &positions.additions))
            .map_err(|error| syntax(file, &error))?;
        if !positions.additions.is_empty() {
            join_merges(&mut value);
        }
        value.apply_merge().map_err(|error| syntax(file, &error))?;
        let file = file.to_owned();
        let (errors, sizes) = (RefCell::default(), Cell::default());
        Ok((Self { file, positions, errors, sizes }, value))
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
        match (read, self.errors.into_inner().into_diagnostics(&self.file)) {
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

/// The text with each addition behind so many characters.
fn insert_additions(text: &str, additions: &[(usize, String)]) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut next = additions.iter().peekable();
    for (at, character) in text.chars().enumerate() {
        whole
            .extend(next.next_if(|(place, _)| *place == at).map(|(_, addition)| addition.as_str()));
        whole.push(character);
    }
    whole.extend(next.map(|(_, addition)| addition.as_str()));
    whole
}

/// Makes one list of all `<<` of each mapping. Of several, PyYAML lets the last one win; of a list, the first entry.
fn join_merges(value: &mut Value) {
    match value {
        Value::Sequence(items) => items.iter_mut().for_each(join_merges),
        Value::Mapping(mapping) => {
            let is_further =
                |key: &&str| key.strip_prefix(MERGE).is_some_and(|it| it.starts_with(FURTHER));
            let further: Vec<String> = mapping
                .keys()
                .filter_map(Value::as_str)
                .filter(is_further)
                .map(str::to_owned)
                .collect();
            let mut all = Vec::new();
            if !further.is_empty() {
                for key in further.iter().map(String::as_str).rev().chain([MERGE]) {
                    match mapping.remove(key) {
                        Some(Value::Sequence(items)) => all.extend(items),
                        one => all.extend(one),
                    }
                }
                mapping.insert(MERGE.into(), Value::Sequence(all));
            }
            mapping.iter_mut().for_each(|(_, value)| join_merges(value));
        }
        _ => {}
    }
}

fn syntax(file: &Path, error: &serde_yaml::Error) -> Diagnostics {
    let (line, column) = error.location().map_or((0, 0), |at| (at.line(), at.column()));
    let message = format!("not valid YAML: {error}");
    let remedy = "fix the syntax here or on the line above";
    Diagnostic { line, column, ..Diagnostic::whole_file(file, message, remedy) }.into()
}
