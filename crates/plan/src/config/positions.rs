//! Positions of each key and value of a YAML document.
//!
//! `serde_yaml` says what a document means but not where; this second, event-level reading of the
//! same text says only where. It is consulted when there is an error to report.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

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
}

impl Positions {
    /// Reads `text`; a document that does not parse yields the positions up to its error.
    pub(super) fn of(text: &str) -> Self {
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

/// A collection whose end has not been seen.
enum Open {
    Sequence { path: String, next: usize },
    Mapping { path: String, key: Option<String> },
}

struct Walk {
    open: Vec<Open>,
    positions: Positions,
}

impl Walk {
    fn event(&mut self, event: &Event<'_>, span: Span) {
        let position = (span.start.line(), span.start.col() + 1);
        match event {
            Event::Scalar(text, style, ..) => {
                let value = self.leaf(Some(text), position);
                if *style != ScalarStyle::Plain && yaml::boolean(text).is_some() {
                    self.positions.quoted.extend(value);
                }
            }
            Event::Alias(_) => drop(self.leaf(None, position)),
            Event::SequenceStart(..) => {
                let path = self.value_path(position);
                self.open.push(Open::Sequence { path, next: 0 });
            }
            Event::MappingStart(..) => {
                let path = self.value_path(position);
                self.open.push(Open::Mapping { path, key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
            }
            _ => {}
        }
    }

    /// A scalar is a key where a mapping waits for one, else a value, whose path is returned.
    fn leaf(&mut self, text: Option<&str>, position: Position) -> Option<String> {
        if let Some(Open::Mapping { path, key: key @ None }) = self.open.last_mut() {
            let name = text.unwrap_or_default().to_owned();
            self.positions.keys.insert(join(path, &name), position);
            *key = Some(name);
            None
        } else {
            Some(self.value_path(position))
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
            Some(Open::Mapping { path, key }) => join(path, &key.take().unwrap_or_default()),
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
        let positions = Positions::of(text);
        assert_eq!(positions.value("mode"), Some((1, 7)));
        assert_eq!(positions.key("models"), Some((2, 1)));
        assert_eq!(positions.key("models[0].name"), Some((3, 5)));
        assert_eq!(positions.value("models[0].name"), Some((3, 11)));
        assert_eq!(positions.value("models[0].shapes[1][1]"), Some((4, 26)));
    }

    #[test]
    fn a_path_without_a_node_falls_back_to_its_ancestor() {
        let positions = Positions::of("a:\n  - b: 1\n");
        assert_eq!(positions.value("a[0].missing"), positions.value("a[0]"));
        assert_eq!(Positions::of("").value("a"), None);
    }
}
