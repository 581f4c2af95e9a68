//! The three spellings of "compile this": `use_torch_compile` with `torch_compile_mode` (torchao's
//! tutorial) and `compile` (its README). They mean one thing and may not disagree.

use std::fmt;

use super::node::{Fields, Node};
use crate::words::CompileMode;

pub(super) const KEYS: &[&str] = &["use_torch_compile", "torch_compile_mode", "compile"];

/// The modes that the keys ask for, in the order of the documentation: each gives its compiled
/// siblings, none of them none.
pub(super) fn read(fields: &Fields<'_>) -> Option<Vec<CompileMode>> {
    let (short_node, mode_node) = (fields.get("compile"), fields.get("torch_compile_mode"));
    // All three are read before any error ends this, so that each error is reported.
    let short = short_node.as_ref().map(Said::read);
    let mode = mode_node.as_ref().map(Said::read);
    let flag = fields.get("use_torch_compile").map(|node| node.boolean());
    let (short, mode, flag) = (all_or_none(short)?, all_or_none(mode)?, all_or_none(flag)?);
    // Upstream's own way to switch it off where the flag switches it on.
    let flag = flag.map(|flag| flag && mode != Some(Said::Off));
    if let (Some(node), Some(said)) = (&short_node, &short) {
        if let Some(mode) = mode.as_ref().filter(|mode| said.contradicts(mode)) {
            return contradiction(node, said, "torch_compile_mode", mode);
        }
        if let Some(flag) = flag.filter(|flag| *flag != said.is_on()) {
            return contradiction(node, said, "use_torch_compile", &flag);
        }
    }
    // A mode alone does not compile, as upstream.
    if !short.as_ref().map_or(flag == Some(true), Said::is_on) {
        return Some(Vec::new());
    }
    let named = [short, mode].into_iter().flatten().find_map(Said::modes);
    Some(named.unwrap_or_else(|| vec![CompileMode::Default]))
}

/// The value of a key that may be absent; the outer `None` after an error.
fn all_or_none<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    read.map_or(Some(None), |read| read.map(Some))
}

fn contradiction<T>(
    node: &Node<'_>,
    said: &Said,
    other: &str,
    says: &impl fmt::Display,
) -> Option<T> {
    node.error(format!("`compile` says {said}, `{other}` says {says}"), "keep one of the two")
}

#[derive(PartialEq)]
enum Said {
    /// `false`, in either of its spellings.
    Off,
    /// `true`: in a mode that another key may name.
    On,
    /// A mode, or a list of them.
    Modes(Vec<CompileMode>),
}

impl Said {
    fn read(node: &Node<'_>) -> Option<Self> {
        if let Some(flag) = node.as_boolean() {
            return Some(if flag { Self::On } else { Self::Off });
        }
        if node.is_list() {
            return listed(node).map(Self::Modes);
        }
        match node.string()?.as_str() {
            "false" => Some(Self::Off),
            _ => node.word().map(|mode| Self::Modes(vec![mode])),
        }
    }

    fn is_on(&self) -> bool {
        *self != Self::Off
    }

    /// Whether `compile` saying this leaves no sense to `torch_compile_mode` saying `mode`.
    fn contradicts(&self, mode: &Self) -> bool {
        match (self, mode) {
            (Self::Off, _) | (Self::On | Self::Modes(_), Self::On) => false,
            (Self::On | Self::Modes(_), Self::Off) => true,
            (Self::On, Self::Modes(_)) => false,
            (Self::Modes(own), Self::Modes(other)) => own != other,
        }
    }

    fn modes(self) -> Option<Vec<CompileMode>> {
        match self {
            Self::Modes(modes) => Some(modes),
            Self::Off | Self::On => None,
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("false"),
            Self::On => f.write_str("true"),
            Self::Modes(modes) => {
                let words: Vec<&str> = modes.iter().map(|mode| mode.as_str()).collect();
                f.write_str(&words.join(", "))
            }
        }
    }
}

fn listed(node: &Node<'_>) -> Option<Vec<CompileMode>> {
    let read: Vec<Option<CompileMode>> = node.each(Node::word)?;
    if read.is_empty() {
        return node
            .error("the list is empty".to_owned(), "list at least one mode, or write false");
    }
    let mut modes = read.into_iter().collect::<Option<Vec<_>>>()?;
    modes.sort_unstable();
    modes.dedup();
    Some(modes)
}
