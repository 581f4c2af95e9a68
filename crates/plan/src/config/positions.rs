//! Positions of each key and value of a YAML document.
//!
//! `serde_yaml` says what a document means but not where; this second, event-level reading of the
//! same text says only where. It is consulted when there is an error to report. It finds what
//! `serde_yaml` has no place for, too: tags, and keys that a mapping has twice.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::yaml;

/// Line and column, both counted from 1.
pub(super) type Position = (usize, usize);

/// Positions by the path of the node, as `a[0].b`.
#[derive(Debug, Default)]
pub(super) struct Positions {
    keys: HashMap<String, Position>,
    values: HashMap<String, Position>,
    /// Positions of values in quotes that would be true or false without them.
    quoted: HashSet<String>,
    /// Values as they are written.
    texts: HashMap<String, String>,
    /// The faults of the text itself, whatever it says.
    pub(super) flaws: Vec<Flaw>,
    /// Additions with which `serde_yaml` reads the text as PyYAML does, each with the character that it stands behind, in order:
    /// a number behind the further `<<` of a mapping, and a decimal behind an integer of more than 64 bits.
    pub(super) additions: Vec<(usize, String)>,
}

#[derive(Debug)]
pub(super) struct Flaw {
    pub(super) at: Position,
    pub(super) path: String,
    pub(super) message: String,
    pub(super) remedy: String,
}

/// Tags whose values are as they are without them, or are told apart from others where they are read.
const PLAIN_TAGS: [&str; 7] = ["null", "bool", "int", "float", "str", "seq", "map"];

impl Positions {
    /// Reads `text`; a document that does not parse yields the positions up to its error.
    pub(super) fn new(text: &str) -> Self {
        let mut walk = Walk { open: Vec::new(), positions: Self::default() };
        for event in Parser::new_from_str(text) {
            let Ok((event, span)) = event else { break };
            walk.event(&event, span);
        }
        walk.positions
    }

    /// Whether the value at `path` is text for the quotes around it.
    pub(super) fn is_quoted(&self, path: &str) -> bool {
        self.quoted.contains(path)
    }

    /// The value at `path` as it is written, if it stands there and is neither list nor mapping.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Position of the key at `path`, or of its nearest ancestor that has one.
    pub(super) fn key(&self, path: &str) -> Option<Position> {
        self.keys.get(path).copied().or_else(|| self.value(path))
    }

    /// Position of the value at `path`, or of its nearest ancestor that has one (the contents of
    /// an alias have no position of their own).
    pub(super) fn value(&self, path: &str) -> Option<Position> {
        let mut path = path;
        loop {
            if let Some(position) = self.values.get(path) {
                return Some(*position);
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }
}

/// The key of a mapping whose entries are merged into the one around it.
pub(super) const MERGE: &str = "<<";

/// Stands with a number behind the further `<<` of a mapping: `serde_yaml` takes no key twice.
pub(super) const FURTHER: char = '\u{e000}';

/// A collection whose end has not been seen.
enum Open {
    Sequence { path: String, next: usize },
    Mapping { path: String, key: Option<String>, seen: HashMap<String, Position> },
}

struct Walk {
    open: Vec<Open>,
    positions: Positions,
}

impl Walk {
    fn event(&mut self, event: &Event<'_>, span: Span) {
        let position = (span.start.line(), span.start.col() + 1);
        match event {
            Event::Scalar(text, style, _, tag) => {
                let is_plain = *style == ScalarStyle::Plain;
                let value = self.leaf(Some(text), position, is_plain.then(|| span.start.index()));
                if !is_plain && yaml::boolean(text).is_some() {
                    self.positions.quoted.extend(value.clone());
                }
                self.tag(tag.as_deref(), position, value.as_deref().unwrap_or_default());
                if is_plain
                    && text
                        .parse::<i128>()
                        .is_ok_and(|it| i64::try_from(it).is_err() && u64::try_from(it).is_err())
                {
                    self.positions
                        .additions
                        .push((span.start.index() + text.len(), ".0".to_owned()));
                }
                self.positions.texts.extend(value.map(|path| (path, text.to_string())));
            }
            Event::Alias(_) => drop(self.leaf(None, position, None)),
            Event::SequenceStart(_, tag) => {
                let path = self.value_path(position);
                self.tag(tag.as_deref(), position, &path);
                self.open.push(Open::Sequence { path, next: 0 });
            }
            Event::MappingStart(_, tag) => {
                let path = self.value_path(position);
                self.tag(tag.as_deref(), position, &path);
                self.open.push(Open::Mapping { path, key: None, seen: HashMap::new() });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
            }
            _ => {}
        }
    }

    /// A scalar is a key where a mapping waits for one, else a value, whose path is returned. One without quotes begins at
    /// the character `plain`.
    fn leaf(
        &mut self,
        text: Option<&str>,
        position: Position,
        plain: Option<usize>,
    ) -> Option<String> {
        let Some(Open::Mapping { path, key: key @ None, seen }) = self.open.last_mut() else {
            return Some(self.value_path(position));
        };
        let name = text.unwrap_or_default().to_owned();
        let place = join(path, &name);
        if let Some(before) = text.and_then(|_| seen.insert(name.clone(), position)) {
            match plain.filter(|_| name == MERGE) {
                Some(index) => {
                    let number = self.positions.additions.len();
                    let addition = (index + MERGE.len(), format!("{FURTHER}{number}"));
                    self.positions.additions.push(addition);
                }
                None => self.positions.flaws.push(Flaw {
                    at: position,
                    path: place.clone(),
                    message: format!("a second `{name}` in this mapping"),
                    remedy: format!("remove it, or the first one, in line {}", before.0),
                }),
            }
        }
        self.positions.keys.insert(place, position);
        *key = Some(name);
        None
    }

    fn tag(&mut self, tag: Option<&Tag>, at: Position, path: &str) {
        let Some(tag) = tag else { return };
        let is_plain = tag.is_yaml_core_schema() && PLAIN_TAGS.contains(&tag.suffix.as_str());
        // `!` alone says nothing more than the value does.
        if !is_plain && !["", "!"].contains(&tag.suffix.as_str()) {
            let name = tag.to_string().replace("tag:yaml.org,2002:!", "!!");
            let (path, message) = (path.to_owned(), format!("unknown tag `{name}`"));
            let remedy = "write the value without it".to_owned();
            self.positions.flaws.push(Flaw { at, path, message, remedy });
        }
    }

    /// Registers a value at `position` and returns its path.
    fn value_path(&mut self, position: Position) -> String {
        let path = match self.open.last_mut() {
            None => String::new(),
            Some(Open::Sequence { path, next }) => {
                *next += 1;
                format!("{path}[{}]", *next - 1)
            }
            Some(Open::Mapping { path, key, .. }) => join(path, &key.take().unwrap_or_default()),
        };
        self.positions.values.insert(path.clone(), position);
        path
    }
}

/// The path of `key` inside the mapping at `path`.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_found_in_block_and_flow_style() {
        let text = "mode: x\nmodels:\n  - name: a\n    shapes: [[1, 2], [3, oops]]\n";
        let positions = Positions::new(text);
        assert_eq!(positions.value("mode"), Some((1, 7)));
        assert_eq!(positions.key("models"), Some((2, 1)));
        assert_eq!(positions.key("models[0].name"), Some((3, 5)));
        assert_eq!(positions.value("models[0].name"), Some((3, 11)));
        assert_eq!(positions.value("models[0].shapes[1][1]"), Some((4, 26)));
    }

    #[test]
    fn a_path_without_a_node_falls_back_to_its_ancestor() {
        let positions = Positions::new("a:\n  - b: 1\n");
        assert_eq!(positions.value("a[0].missing"), positions.value("a[0]"));
        assert_eq!(Positions::new("").value("a"), None);
    }
}
