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
    let short = short_node.as_ref().map(CompileValue::read);
    let mode = mode_node.as_ref().map(CompileValue::read);
    let flag = fields.get("use_torch_compile").map(|node| node.boolean());
    let (short, mode, flag) = (all_or_none(short)?, all_or_none(mode)?, all_or_none(flag)?);
    // Upstream's own way to switch it off where the flag switches it on.
    let flag = flag.map(|flag| flag && mode.as_ref().is_none_or(|mode| mode.is_on));
    if let (Some(node), Some(said)) = (&short_node, &short) {
        if let Some(mode) = mode.as_ref().filter(|mode| said.contradicts(mode)) {
            return contradiction(node, said, "torch_compile_mode", mode);
        }
        if let Some(flag) = flag.filter(|flag| *flag != said.is_on) {
            return contradiction(node, said, "use_torch_compile", &flag);
        }
    }
    // A mode alone does not compile, as upstream.
    if !short.as_ref().map_or(flag == Some(true), |short| short.is_on) {
        return Some(Vec::new());
    }
    let mut named = [short, mode].into_iter().flatten().map(|said| said.modes);
    Some(named.find(|modes| !modes.is_empty()).unwrap_or_else(|| vec![CompileMode::Default]))
}

/// The value of a key that may be absent; the outer `None` after an error.
fn all_or_none<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    read.map_or(Some(None), |read| read.map(Some))
}

fn contradiction<T>(
    node: &Node<'_>,
    said: &CompileValue,
    other: &str,
    says: &impl fmt::Display,
) -> Option<T> {
    node.error(format!("`compile` says {said}, `{other}` says {says}"), "keep one of the two")
}

/// `false` in either of its spellings, `true`, a mode, or a list of them.
struct CompileValue {
    is_on: bool,
    /// None of `true`: another key may name some.
    modes: Vec<CompileMode>,
}

impl CompileValue {
    fn read(node: &Node<'_>) -> Option<Self> {
        if let Some(is_on) = node.as_boolean() {
            return Some(Self { is_on, modes: Vec::new() });
        }
        let modes = match node.as_text() {
            Some("false") => return Some(Self { is_on: false, modes: Vec::new() }),
            _ if node.is_list() => listed(node)?,
            _ => vec![node.word()?],
        };
        Some(Self { is_on: true, modes })
    }

    /// Whether `compile` saying this leaves no sense to `torch_compile_mode` saying `mode`.
    fn contradicts(&self, mode: &Self) -> bool {
        let both_name = !self.modes.is_empty() && !mode.modes.is_empty();
        self.is_on && (!mode.is_on || both_name && self.modes != mode.modes)
    }
}

impl fmt::Display for CompileValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.modes.iter().map(|mode| mode.as_str()).collect();
        if words.is_empty() { self.is_on.fmt(f) } else { f.write_str(&words.join(", ")) }
    }
}

fn listed(node: &Node<'_>) -> Option<Vec<CompileMode>> {
    let read: Vec<Option<CompileMode>> = node.read_each(Node::word)?;
    if read.is_empty() {
        return node
            .error("the list is empty".to_owned(), "list at least one mode, or write false");
    }
    let mut modes = read.into_iter().collect::<Option<Vec<_>>>()?;
    modes.sort_unstable();
    modes.dedup();
    Some(modes)
}
