//! A cursor over a parsed document that collects every error instead of stopping at the first.

use std::cell::RefCell;
use std::path::PathBuf;
use std::str::FromStr;

use serde_yaml::{Mapping, Value};

use super::diagnostic::Diagnostic;
use super::positions::{Positions, join};
use crate::words::{UnknownWord, closest};

/// One document being read: its file, its positions, and the errors found so far.
pub(super) struct Document {
    pub(super) file: PathBuf,
    pub(super) positions: Positions,
    pub(super) errors: RefCell<Vec<Diagnostic>>,
}

impl Document {
    fn report(&self, at: Option<(usize, usize)>, key: &str, message: String, remedy: String) {
        let (line, column) = at.unwrap_or((0, 0));
        let file = self.file.clone();
        let key = key.to_owned();
        self.errors.borrow_mut().push(Diagnostic { file, line, column, key, message, remedy });
    }
}

/// A value of the document and the path that leads to it.
#[derive(Clone)]
pub(super) struct Node<'d> {
    document: &'d Document,
    path: String,
    value: &'d Value,
}

impl<'d> Node<'d> {
    pub(super) fn root(document: &'d Document, value: &'d Value) -> Self {
        Self { document, path: String::new(), value }
    }

    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    pub(super) fn is_mapping(&self) -> bool {
        self.value.is_mapping()
    }

    /// Reports an error at this value.
    pub(super) fn report(&self, message: String, remedy: impl Into<String>) {
        let at = self.document.positions.value(&self.path);
        self.document.report(at, &self.path, message, remedy.into());
    }

    /// Reports an error at this value; `None`, so that a reader can end with it.
    pub(super) fn error<T>(&self, message: String, remedy: impl Into<String>) -> Option<T> {
        self.report(message, remedy);
        None
    }

    fn wrong_type<T>(&self, wanted: &str) -> Option<T> {
        self.error(format!("`{}` is not {wanted}", self.shown()), String::new())
    }

    /// The value as a reader would recognise it, on one line.
    fn shown(&self) -> String {
        match self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Number(value) => value.to_string(),
            Value::String(value) => value.clone(),
            Value::Sequence(_) => "a list".to_owned(),
            Value::Mapping(_) => "a mapping".to_owned(),
            Value::Tagged(tagged) => tagged.tag.to_string(),
        }
    }

    /// The mapping here. Keys outside `allowed` are reported, each with the nearest allowed one.
    pub(super) fn mapping(&self, allowed: &[&str]) -> Option<Fields<'d>> {
        let Some(mapping) = self.value.as_mapping() else {
            return self.wrong_type("a mapping");
        };
        for key in mapping.keys() {
            let name = key.as_str().map_or_else(|| format!("{key:?}"), str::to_owned);
            if allowed.contains(&name.as_str()) {
                continue;
            }
            let path = join(&self.path, &name);
            let remedy = match closest(&name, allowed.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the keys here are: {}", allowed.join(", ")),
            };
            let at = self.document.positions.key(&path);
            self.document.report(at, &path, format!("unknown key `{name}`"), remedy);
        }
        Some(Fields { node: self.clone(), mapping })
    }

    pub(super) fn list(&self) -> Option<Vec<Self>> {
        let Some(items) = self.value.as_sequence() else { return self.wrong_type("a list") };
        let child = |(index, value)| {
            let path = format!("{}[{index}]", self.path);
            Self { document: self.document, path, value }
        };
        Some(items.iter().enumerate().map(child).collect())
    }

    pub(super) fn string(&self) -> Option<String> {
        match self.value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => self.wrong_type("a string"),
        }
    }

    /// The value if it is true or false; no error otherwise.
    pub(super) fn as_boolean(&self) -> Option<bool> {
        self.value.as_bool()
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        self.as_boolean().or_else(|| self.wrong_type("true or false"))
    }

    /// A whole number in `range`.
    pub(super) fn integer(&self, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
        match self.value.as_u64() {
            Some(value) if range.contains(&value) => Some(value),
            _ => {
                let wanted = format!("a whole number from {} to {}", range.start(), range.end());
                self.wrong_type(&wanted)
            }
        }
    }

    /// A finite number above zero.
    pub(super) fn positive(&self) -> Option<f64> {
        match self.value.as_f64() {
            Some(value) if value.is_finite() && value > 0.0 => Some(value),
            _ => self.wrong_type("a number above zero"),
        }
    }

    /// A word of a closed set.
    pub(super) fn word<T: FromStr<Err = UnknownWord>>(&self) -> Option<T> {
        match self.string()?.parse() {
            Ok(word) => Some(word),
            Err(unknown) => self.error(unknown.to_string(), unknown.remedy),
        }
    }
}

/// The entries of a mapping.
pub(super) struct Fields<'d> {
    node: Node<'d>,
    mapping: &'d Mapping,
}

impl<'d> Fields<'d> {
    /// The value under `key`, if the key is there.
    pub(super) fn get(&self, key: &str) -> Option<Node<'d>> {
        let value = self.mapping.get(key)?;
        let path = join(&self.node.path, key);
        Some(Node { document: self.node.document, path, value })
    }

    /// What `read` makes of the value under `key`; `None` when the key is absent or wrong.
    pub(super) fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Node<'d>) -> Option<T>,
    ) -> Option<T> {
        self.get(key).as_ref().and_then(read)
    }

    /// The word under `key`, or `default` when the key is absent.
    pub(super) fn word_or<T: FromStr<Err = UnknownWord>>(&self, key: &str, default: T) -> T {
        self.read(key, Node::word).unwrap_or(default)
    }

    /// The flag under `key`, false when the key is absent.
    pub(super) fn flag(&self, key: &str) -> bool {
        self.read(key, Node::boolean).unwrap_or(false)
    }

    /// Reports an error about the mapping as a whole.
    pub(super) fn error<T>(&self, message: String, remedy: impl Into<String>) -> Option<T> {
        self.node.error(message, remedy)
    }
}
