//! The three spellings of "compile this model": `use_torch_compile` with `torch_compile_mode`
//! (the tutorial) and `compile` (the README). They mean one thing and may not disagree.

use super::node::{Fields, Node};
use crate::words::CompileMode;

/// The mode that the keys ask for; the outer `None` after an error.
pub(super) fn read(fields: &Fields<'_>) -> Option<Option<CompileMode>> {
    // All three are read before any error ends this, so that each error is reported.
    let short = fields.get("compile").map(|node| mode_or_off(&node));
    let mode = fields.get("torch_compile_mode").map(|node| mode_or_off(&node));
    let flag = fields.get("use_torch_compile").map(|node| node.boolean());
    let mode = mode.unwrap_or(Some(Some(CompileMode::Default)))?;
    let short = short.map_or(Some(None), |short| short.map(Some))?;
    let flag = flag.map_or(Some(None), |flag| flag.map(Some))?;
    let long = flag.map(|flag| mode.filter(|_| flag));
    match (short, long) {
        (Some(short), Some(long)) if short != long => fields.error(
            format!("`compile` says {}, `use_torch_compile` says {}", word(short), word(long)),
            "keep one of the two",
        ),
        (Some(compile), _) | (None, Some(compile)) => Some(compile),
        // A mode alone does not compile, as upstream.
        (None, None) => Some(None),
    }
}

fn word(mode: Option<CompileMode>) -> &'static str {
    mode.map_or("false", CompileMode::as_str)
}

/// A mode, or `false` in either of its spellings; `true` is the default mode.
fn mode_or_off(node: &Node<'_>) -> Option<Option<CompileMode>> {
    if let Some(flag) = node.as_boolean() {
        return Some(flag.then_some(CompileMode::Default));
    }
    match node.string()?.as_str() {
        "false" => Some(None),
        _ => node.word().map(Some),
    }
}
