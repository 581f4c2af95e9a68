//! `problem_size` of a `bench.yaml`: values for the fields of a kernel, and lists of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::node::{Fields, Node};
use crate::kernel::Kernel;
use crate::kernel::field::{Field, FieldType, Scalar, size_text};

/// The fields that are given, by name.
pub(crate) type ProblemSize = BTreeMap<String, Value>;

/// The problem sizes: one mapping or a list of them, in each of which a list is a sweep.
pub(super) fn read(fields: &Fields<'_>, kernel: &Kernel) -> Option<Vec<ProblemSize>> {
    let Some(node) = fields.get(KEY) else {
        let missing = missing(kernel, &ProblemSize::new());
        return match missing.is_empty() {
            true => Some(vec![ProblemSize::new()]),
            false => fields.error(no_value(kernel, &missing), REMEDY),
        };
    };
    let nodes = if node.is_list() { node.list()? } else { vec![node.clone()] };
    if nodes.is_empty() {
        return node.error("the list is empty".to_owned(), "list at least one, or delete the key");
    }
    // All are read before any error ends this, so that each error is reported.
    let (mut sizes, mut count, mut is_right) = (Vec::new(), 0, true);
    for node in &nodes {
        let swept = sweep(node, kernel);
        is_right &= swept.is_some();
        let swept = swept.unwrap_or_default();
        count += swept.len();
        // The rest is only counted.
        if count <= MOST {
            sizes.extend(swept);
        }
    }
    if !is_right {
        return None;
    }
    if count > MOST {
        return too_many(&node, count);
    }
    let mut seen = BTreeSet::new();
    sizes.retain(|size| seen.insert(json(size)));
    refuse_clash(&node, kernel, &sizes);
    Some(sizes)
}

/// Problem sizes of one kernel; more are a slip of the pen, and a plan of them helps nobody.
const MOST: usize = 10_000;

fn too_many<T>(node: &Node<'_>, count: usize) -> Option<T> {
    let message = format!("{count} problem sizes are more than {MOST}");
    node.error(message, "shorten some of the lists, which multiply")
}

fn json(size: &ProblemSize) -> String {
    serde_json::to_string(size).expect("a map of text to values always serialises")
}

/// Two that would have one id: it holds the values alone, and a file system may ignore case.
fn refuse_clash(node: &Node<'_>, kernel: &Kernel, sizes: &[ProblemSize]) {
    let mut texts: BTreeMap<String, &ProblemSize> = BTreeMap::new();
    for size in sizes {
        let text = size_text(kernel.fields(), size);
        if let Some(other) = texts.insert(text.to_lowercase(), size) {
            let (one, two) = (json(other), json(size));
            let remedy = "give the same fields in every mapping, and text without `-` that differs in \
                          more than case";
            return node.report(format!("{one} and {two} are both `{text}` in ids"), remedy);
        }
    }
}

pub(super) const KEY: &str = "problem_size";

/// A derived `Default` is all zeros, which measure nothing.
const REMEDY: &str = "implement `Default` with the size to measure, or give it in `problem_size`";

/// The fields that nothing gives a value.
pub(super) fn missing<'k>(kernel: &'k Kernel, given: &ProblemSize) -> Vec<&'k str> {
    if kernel.size.has_default {
        return Vec::new();
    }
    let names = kernel.fields().iter().map(|field| field.name.as_str());
    names.filter(|name| !given.contains_key(*name)).collect()
}

pub(super) fn no_value(kernel: &Kernel, missing: &[&str]) -> String {
    let (fields, file) = (missing.join("`, `"), &kernel.baseline().file);
    format!("no value for `{fields}` of `ProblemSize` in {file}, which has no `Default`")
}

/// Every combination of the values, those of the last field changing fastest.
fn sweep(node: &Node<'_>, kernel: &Kernel) -> Option<Vec<ProblemSize>> {
    let names: Vec<&str> = kernel.fields().iter().map(|field| field.name.as_str()).collect();
    if names.is_empty() && node.is_mapping() {
        let remedy = "delete the key, or give the struct public fields";
        let file = &kernel.baseline().file;
        return node.error(format!("`ProblemSize` in {file} has no fields"), remedy);
    }
    let given = node.mapping(&names)?;
    let read: Vec<_> = kernel
        .fields()
        .iter()
        .filter_map(|field| Some((field, values(&given.get(&field.name)?, field))))
        .collect();
    let count = |values: &Option<Vec<_>>| values.as_ref().map_or(1, Vec::len);
    let count = read.iter().fold(1, |product: usize, (_, it)| product.saturating_mul(count(it)));
    if count > MOST {
        return too_many(node, count);
    }
    let mut sizes = vec![ProblemSize::new()];
    for (field, values) in read {
        let values = values?;
        let with = |size: &ProblemSize, value: &Value| {
            let mut size = size.clone();
            size.insert(field.name.clone(), value.clone());
            size
        };
        let longer =
            sizes.iter().flat_map(|size| values.iter().map(move |value| with(size, value)));
        sizes = longer.collect();
    }
    let missing = missing(kernel, &sizes[0]);
    if !missing.is_empty() {
        return node.error(no_value(kernel, &missing), REMEDY);
    }
    Some(sizes)
}

/// The values of a field: one, or each of a list that is longer than its type.
fn values(node: &Node<'_>, field: &Field) -> Option<Vec<Value>> {
    let is_sweep = match field.kind {
        FieldType::Scalar(_) => node.is_list(),
        FieldType::List { .. } => node.is_list() && node.list()?.first().is_some_and(Node::is_list),
    };
    if !is_sweep {
        return Some(vec![value(node, field)?]);
    }
    let read = node.read_each(|node| value(node, field))?;
    if read.is_empty() {
        return node.error("the list is empty".to_owned(), "list at least one");
    }
    read.into_iter().collect()
}

fn value(node: &Node<'_>, field: &Field) -> Option<Value> {
    match field.kind {
        FieldType::Scalar(of) => scalar(node, of),
        FieldType::List { of, length } => {
            let items = node.read_each(|item| scalar(item, of))?;
            match length {
                Some(length) if length != items.len() => node.error(
                    format!("`{}` has {length} values, these are {}", field.name, items.len()),
                    format!("write {length}, as its type is `{}`", field.kind),
                ),
                _ => items.into_iter().collect::<Option<Vec<_>>>().map(Value::Array),
            }
        }
    }
}

fn scalar(node: &Node<'_>, kind: Scalar) -> Option<Value> {
    match kind {
        Scalar::Integer(name, least, most) => {
            let number = node.as_number();
            let whole = number
                .and_then(|it| it.as_u64().map(i128::from).or_else(|| it.as_i64().map(i128::from)));
            match whole.filter(|whole| (least..=most).contains(whole)) {
                // Only u64 holds all positive numbers, and only i64 holds negative ones.
                Some(whole) => u64::try_from(whole)
                    .map(Value::from)
                    .or_else(|_| i64::try_from(whole).map(Value::from))
                    .ok(),
                None => node.wrong_type(
                    &format!("a whole number from {least} to {most} (`{name}`)"),
                    "a number in that range, in digits alone",
                ),
            }
        }
        Scalar::Float(name, most) => {
            let number = node.as_number().and_then(serde_yaml::Number::as_f64);
            match number.filter(|number| number.abs() <= most) {
                Some(number) => Some(Value::from(number)),
                None => node.wrong_type(&format!("a number (`{name}`)"), "a finite number"),
            }
        }
        Scalar::Flag => node.boolean().map(Value::from),
        Scalar::Text => match node.as_text() {
            Some(text) => Some(Value::from(text)),
            None => node.wrong_type("text (`String`)", "it in quotes"),
        },
    }
}
