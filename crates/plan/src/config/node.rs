//! A cursor over a parsed document that collects every error instead of stopping at the first.

use std::path::Path;
use std::str::FromStr;

use serde_yaml::{Number, Value};

use super::document::Document;
use super::positions::join;
use super::yaml;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::words::{Dtype, UnknownWord, closest, without_repetition};

/// A value of the document and the path that leads to it.
#[derive(Clone)]
pub(crate) struct Node<'d> {
    document: &'d Document,
    path: String,
    value: &'d Value,
}

impl<'d> Node<'d> {
    /// Applies `read` to the document `text` of `file`.
    pub(super) fn read_document<T>(
        file: &Path,
        text: &str,
        read: impl FnOnce(&Node<'_>) -> Option<T>,
    ) -> Result<T, Diagnostics> {
        let (document, value) = Document::parse(file, text)?;
        let read = read(&Node { document: &document, path: String::new(), value: &value });
        document.finish(read)
    }

    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    pub(super) fn is_mapping(&self) -> bool {
        self.value.is_mapping()
    }

    /// Reports an error at this value.
    pub(super) fn report(&self, message: String, remedy: impl Into<String>) {
        self.report_owned(message, remedy.into());
    }

    // Does not depend on the type parameter of its caller, so it is compiled once.
    #[inline(never)]
    fn report_owned(&self, message: String, remedy: String) {
        let at = self.document.positions.value(&self.path);
        self.document.report(at, &self.path, message, remedy);
    }

    /// Reports an error at this value; `None`, so that a reader can end with it.
    pub(super) fn error<T>(&self, message: String, remedy: impl Into<String>) -> Option<T> {
        self.report(message, remedy);
        None
    }

    /// Counts `sizes` of this document before they are made; false where they are too many.
    pub(super) fn has_room(&self, sizes: usize) -> bool {
        self.document.has_room(sizes)
    }

    /// Reports errors of a file that this document names.
    pub(super) fn report_of_others(&self, errors: impl IntoIterator<Item = Diagnostic>) {
        errors.into_iter().for_each(|error| self.document.collect(error));
    }

    /// Reports that this value is not `wanted`; `None`, so that a reader can end with it.
    pub(super) fn wrong_type<T>(&self, wanted: &str, example: &str) -> Option<T> {
        self.report_wrong_type(wanted, example);
        None
    }

    #[inline(never)]
    fn report_wrong_type(&self, wanted: &str, example: &str) {
        // `"5"` and `"true"` look right and are text.
        let is_quoted = |text: &str| {
            self.document.positions.is_quoted(&self.path)
                || serde_yaml::from_str::<Value>(text).is_ok_and(|value| !value.is_string())
        };
        let remedy = match self.value {
            Value::String(text) if is_quoted(text) => "write it without quotes".to_owned(),
            _ => format!("write {example}"),
        };
        self.report(format!("`{}` is not {wanted}", self.shown()), remedy);
    }

    pub(super) fn is_list(&self) -> bool {
        self.value.is_sequence()
    }

    /// The value as text, if it is text; no error otherwise.
    pub(super) fn as_text(&self) -> Option<&'d str> {
        self.value.as_str()
    }

    /// The value under `key`, if this is a mapping that has it; no error otherwise.
    #[inline(never)]
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.as_mapping()?.get(key)?;
        Some(Self { document: self.document, path: join(&self.path, key), value })
    }

    /// The value as a reader would recognise it, on one line.
    fn shown(&self) -> String {
        match self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            // A number that is too large for its type would be shown rounded.
            Value::Number(value) => {
                let written = self.document.positions.text(&self.path);
                written.map_or_else(|| value.to_string(), str::to_owned)
            }
            Value::String(value) => value.clone(),
            Value::Sequence(_) => "a list".to_owned(),
            Value::Mapping(_) => "a mapping".to_owned(),
            Value::Tagged(tagged) => tagged.tag.to_string(),
        }
    }

    /// The mapping here. Keys outside `allowed` are reported, each with the nearest allowed one.
    pub(super) fn mapping(&self, allowed: &[&str]) -> Option<Fields<'d>> {
        self.mapping_beside(allowed, &[])
    }

    /// The mapping here, where keys of `others` are a likely mistake, each with its remedy.
    pub(super) fn mapping_beside(
        &self,
        allowed: &[&str],
        others: &[(&str, String)],
    ) -> Option<Fields<'d>> {
        let Some(mapping) = self.value.as_mapping() else {
            return match self.value {
                Value::Null if self.path.is_empty() => {
                    self.error("the file is empty".to_owned(), "write at least `model_params`")
                }
                _ => self.wrong_type("a mapping", "keys with values, e.g. `name: value`"),
            };
        };
        for key in mapping.keys() {
            let name = match key {
                Value::String(name) => name.clone(),
                other => Node { value: other, path: String::new(), ..self.clone() }.shown(),
            };
            if allowed.contains(&name.as_str()) {
                continue;
            }
            let path = join(&self.path, &name);
            let elsewhere = others.iter().find(|(other, _)| *other == name);
            let remedy = match (elsewhere, closest(&name, allowed.iter().copied())) {
                (Some((_, remedy)), _) => remedy.clone(),
                (None, Some(near)) => format!("did you mean `{near}`?"),
                (None, None) => format!("the keys here are: {}", allowed.join(", ")),
            };
            let at = self.document.positions.key(&path);
            self.document.report(at, &path, format!("unknown key `{name}`"), remedy);
        }
        Some(Fields { node: self.clone() })
    }

    /// The entries of the mapping here, whatever text their keys are.
    pub(super) fn entries_of_any_key(&self) -> Option<Vec<(String, Self)>> {
        let Some(mapping) = self.value.as_mapping() else {
            return self.wrong_type("a mapping", "keys with values, e.g. `name: value`");
        };
        let entry = |(key, value)| {
            let key = Node { value: key, ..self.clone() }.string()?;
            let path = join(&self.path, &key);
            Some((key, Self { document: self.document, path, value }))
        };
        mapping.iter().map(entry).collect()
    }

    #[inline(never)]
    pub(super) fn list(&self) -> Option<Vec<Self>> {
        let Some(items) = self.value.as_sequence() else {
            return self.wrong_type("a list", "it in brackets, e.g. `[one, two]`");
        };
        let child = |(index, value)| {
            let path = format!("{}[{index}]", self.path);
            Self { document: self.document, path, value }
        };
        Some(items.iter().enumerate().map(child).collect())
    }

    /// Reads each item of this list; none of an item is an error, which `read` has reported. Where the
    /// document has more errors than are told, the items left are not read.
    pub(super) fn read_each<T>(&self, read: impl Fn(&Self) -> Option<T>) -> Option<Vec<Option<T>>> {
        let mut items = Vec::new();
        for item in self.list()? {
            let left = self.document.has_too_many_errors();
            items.push(if left { None } else { read(&item) });
            if left {
                break;
            }
        }
        Some(items)
    }

    pub(super) fn string(&self) -> Option<String> {
        match self.value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => self.wrong_type("text", "a word"),
        }
    }

    /// The value as a number, if it is one; no error otherwise.
    pub(super) fn as_number(&self) -> Option<&'d Number> {
        match self.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The value if it is true or false, in a word of YAML 1.1 too; no error otherwise.
    pub(super) fn as_boolean(&self) -> Option<bool> {
        match self.value {
            Value::String(word) if !self.document.positions.is_quoted(&self.path) => {
                yaml::boolean(word)
            }
            other => other.as_bool(),
        }
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        self.as_boolean().or_else(|| self.wrong_type("a flag", "true or false"))
    }

    /// The value if it is a whole number; no error otherwise.
    pub(super) fn as_integer(&self) -> Option<u64> {
        self.value.as_u64()
    }

    pub(super) fn integer(&self, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
        match self.as_integer() {
            Some(value) if range.contains(&value) => Some(value),
            _ => {
                let (start, end) = (range.start(), range.end());
                let wanted = format!("a whole number from {start} to {end}");
                self.wrong_type(&wanted, "a number in that range")
            }
        }
    }

    /// A number in `range`, which may be open at its upper end.
    pub(super) fn number(
        &self,
        range: std::ops::RangeInclusive<f64>,
        example: &str,
    ) -> Option<f64> {
        match self.value.as_f64() {
            Some(value) if value.is_finite() && range.contains(&value) => Some(value),
            _ => {
                let (start, end) = (range.start(), range.end());
                let wanted = if end.is_finite() {
                    format!("a number from {start} to {end}")
                } else {
                    format!("a number of at least {start}")
                };
                self.wrong_type(&wanted, example)
            }
        }
    }

    /// A dtype of models, patterns and operators.
    pub(super) fn dtype(&self) -> Option<Dtype> {
        self.named(&self.string()?, |text| Dtype::among(Dtype::ALL, text))
    }

    /// A word of a closed set.
    pub(super) fn word<T: FromStr<Err = UnknownWord>>(&self) -> Option<T> {
        self.named(&self.string()?, str::parse)
    }

    /// Applies `parse` to the word `text`, which stands here.
    pub(super) fn named<T>(
        &self,
        text: &str,
        parse: impl FnOnce(&str) -> Result<T, UnknownWord>,
    ) -> Option<T> {
        match parse(text) {
            Ok(word) => Some(word),
            Err(unknown) => self.error(unknown.to_string(), unknown.remedy),
        }
    }
}

pub(crate) struct Fields<'d> {
    node: Node<'d>,
}

impl<'d> Fields<'d> {
    pub(super) fn get(&self, key: &str) -> Option<Node<'d>> {
        self.node.get(key)
    }

    /// Applies `read` to the value under `key`; `None` when the key is absent or wrong.
    pub(super) fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Node<'d>) -> Option<T>,
    ) -> Option<T> {
        self.get(key).as_ref().and_then(read)
    }

    /// Puts what `read` makes of the value under `key` into `slot`, if there is one and it is right.
    pub(super) fn update<T>(
        &self,
        key: &str,
        slot: &mut T,
        read: impl FnOnce(&Node<'d>) -> Option<T>,
    ) {
        if let Some(value) = self.read(key, read) {
            *slot = value;
        }
    }

    /// The flag under `key`, false when the key is absent.
    pub(super) fn flag(&self, key: &str) -> bool {
        self.read(key, Node::boolean).unwrap_or(false)
    }

    /// Applies `read` to each item of the list under `key`; the inner `None` means an absent key,
    /// the outer one an error, which each item reports by itself.
    pub(super) fn items<T>(
        &self,
        key: &str,
        read: impl Fn(&Node<'d>) -> Option<T>,
    ) -> Option<Option<Vec<T>>> {
        let Some(node) = self.get(key) else { return Some(None) };
        let read = node.read_each(read)?;
        if read.is_empty() {
            return node.error("the list is empty".to_owned(), "list at least one");
        }
        Some(Some(read.into_iter().collect::<Option<Vec<T>>>()?))
    }

    /// The words of the list under `key`, without repetition.
    pub(super) fn words<T: FromStr<Err = UnknownWord> + PartialEq>(
        &self,
        key: &str,
    ) -> Option<Option<Vec<T>>> {
        self.words_by(key, str::parse)
    }

    /// Applies `parse` to the words of the list under `key`, without repetition.
    pub(super) fn words_by<T: PartialEq>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, UnknownWord>,
    ) -> Option<Option<Vec<T>>> {
        let word = |node: &Node<'d>| node.named(&node.string()?, &parse);
        Some(self.items(key, word)?.map(without_repetition))
    }

    /// The dtypes of the list under `key`, without repetition.
    pub(super) fn dtypes(&self, key: &str) -> Option<Option<Vec<Dtype>>> {
        Some(self.items(key, Node::dtype)?.map(without_repetition))
    }

    /// Applies `read` to each entry under `key`: a list of mappings, or one mapping. `what` names
    /// one of the things that an entry lists.
    pub(super) fn entries<T>(
        &self,
        key: &str,
        what: &str,
        read: impl Fn(&Node<'d>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let remedy = || format!("list at least one {what} to measure");
        let Some(node) = self.get(key) else {
            return self.error(format!("no `{key}`"), remedy());
        };
        if node.is_mapping() {
            return Some(vec![read(&node)?]);
        }
        let entries = node.read_each(read)?;
        if entries.is_empty() {
            return node.error(format!("no {what}"), remedy());
        }
        entries.into_iter().collect()
    }

    /// As [`Node::has_room`].
    pub(super) fn has_room(&self, sizes: usize) -> bool {
        self.node.has_room(sizes)
    }

    /// Reports an error about the mapping as a whole.
    pub(super) fn error<T>(&self, message: String, remedy: impl Into<String>) -> Option<T> {
        self.node.error(message, remedy)
    }
}
