//! `matrix_shapes`: named sets of shapes, with upstream's names, order and defaults
//!.
//!
//! Generated sets are code; lists are files, `configs/shapes/<name>.yml`. The lists of upstream
//! are compiled in. Another list is found in `shapes/` beside the config or one folder above it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::node::{Fields, Node};
use super::{LARGEST, yaml};
use crate::shape::Shape;
use crate::words::UnknownWord;

const LARGEST_POWER: u64 = 24;

const GENERATED: &[&str] = &["custom", "pow2", "pow2_extended", "small_sweep", "sweep"];

const LISTS: &[(&str, &str)] = &[
    ("llama", include_str!("../../shapes/llama.yml")),
    ("llama4", include_str!("../../shapes/llama4.yml")),
    ("deepseek_v3_236b", include_str!("../../shapes/deepseek_v3_236b.yml")),
    ("deepseek_v3_671b", include_str!("../../shapes/deepseek_v3_671b.yml")),
    ("qwen3_32b", include_str!("../../shapes/qwen3_32b.yml")),
    ("gemma3_27b", include_str!("../../shapes/gemma3_27b.yml")),
];

/// A shape and the name it has in its set.
pub(super) type NamedShape = (String, Shape);

/// The shapes of a set, counted before they are made.
pub(super) struct ShapeSet {
    pub(super) count: usize,
    pub(super) shapes: Box<dyn Iterator<Item = NamedShape>>,
}

impl From<Vec<NamedShape>> for ShapeSet {
    fn from(shapes: Vec<NamedShape>) -> Self {
        Self { count: shapes.len(), shapes: Box::new(shapes.into_iter()) }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    label: String,
    shape: [u64; 3],
}

/// Reads one entry of `matrix_shapes`. `folder` is where the config lies.
pub(super) fn read(node: &Node<'_>, folder: &Path) -> Option<ShapeSet> {
    let name_node = node.get("name");
    let keys: &[&str] = match name_node.as_ref().and_then(Node::as_text) {
        Some("custom") => &["name", "shapes"],
        Some("pow2" | "pow2_extended" | "small_sweep" | "sweep") => {
            &["name", "min_power", "max_power"]
        }
        Some(_) => &["name"],
        None => &["name", "shapes", "min_power", "max_power"],
    };
    let fields = node.mapping(keys)?;
    let Some(name_node) = name_node else {
        return fields.error("no `name`".to_owned(), "name the shape set, e.g. `name: custom`");
    };
    let name = name_node.string()?;
    match name.as_str() {
        "custom" => custom(&fields).map(ShapeSet::from),
        "pow2" => Some(pow2(powers(&fields, 10, 14)?)),
        "pow2_extended" => Some(pow2_extended(powers(&fields, 10, 14)?)),
        "small_sweep" => Some(sweep("small_sweep", powers(&fields, 10, 14)?, true)),
        "sweep" => Some(sweep("sweep", powers(&fields, 8, 15)?, false)),
        _ => list(&name_node, &name, folder).map(ShapeSet::from),
    }
}

fn custom(fields: &Fields<'_>) -> Option<Vec<NamedShape>> {
    let Some(shapes) = fields.get("shapes") else {
        return fields.error(
            "the set `custom` has no `shapes`".to_owned(),
            "list them, e.g. `shapes: [[1024, 1024, 1024]]`  # [m, k, n]",
        );
    };
    // Read all before giving up, so that every wrong shape is reported.
    let read = shapes.read_each(shape)?;
    read.into_iter().map(|shape| Some(("custom".to_owned(), shape?))).collect()
}

fn shape(node: &Node<'_>) -> Option<Shape> {
    let dimensions: Vec<Option<u64>> = node.read_each(|item| item.integer(1..=LARGEST))?;
    match dimensions.as_slice() {
        [m, k, n] => Some(Shape::new((*m)?, (*k)?, (*n)?)),
        other => node.error(
            format!("a shape has 3 dimensions, this one has {}", other.len()),
            "write [m, k, n]",
        ),
    }
}

/// `min_power` to `max_power`, both included.
fn powers(fields: &Fields<'_>, min: u64, max: u64) -> Option<std::ops::RangeInclusive<u64>> {
    let power = |key, default| match fields.get(key) {
        Some(node) => node.integer(0..=LARGEST_POWER),
        None => Some(default),
    };
    let (min, max) = (power("min_power", min), power("max_power", max));
    let (min, max) = (min?, max?);
    if min > max {
        return fields.error(
            format!("min_power {min} is above max_power {max}"),
            "write the smaller power as min_power",
        );
    }
    Some(min..=max)
}

fn cube(side: u64) -> Shape {
    Shape::new(side, side, side)
}

fn numbered(
    name: &'static str,
    count: usize,
    shapes: impl Iterator<Item = Shape> + 'static,
) -> ShapeSet {
    let named = move |(index, shape)| (format!("{name}_{index}"), shape);
    ShapeSet { count, shapes: Box::new(shapes.enumerate().map(named)) }
}

fn pow2(powers: std::ops::RangeInclusive<u64>) -> ShapeSet {
    numbered("pow2", powers.clone().count(), powers.map(|power| cube(1 << power)))
}

/// 2^p and 1.5 · 2^p. Half of 1 is no dimension: p = 0 gives 1 and 1, as upstream's integers do.
fn pow2_extended(powers: std::ops::RangeInclusive<u64>) -> ShapeSet {
    let count = 2 * powers.clone().count();
    let sides = powers.flat_map(|power| [1 << power, (1 << power) + ((1 << power) >> 1)]);
    numbered("pow2_extended", count, sides.map(cube))
}

fn sweep(
    name: &'static str,
    powers: std::ops::RangeInclusive<u64>,
    increasing_only: bool,
) -> ShapeSet {
    let sides = powers.clone().count();
    let count = if increasing_only { sides * (sides + 1) * (sides + 2) / 6 } else { sides.pow(3) };
    let sides = move || powers.clone().map(|power| 1 << power);
    let pairs = sides().flat_map({
        let sides = sides.clone();
        move |m| sides().map(move |k| (m, k))
    });
    let all = pairs.flat_map(move |(m, k)| sides().map(move |n| Shape::new(m, k, n)));
    let increases = move |shape: &Shape| shape.m <= shape.k && shape.k <= shape.n;
    numbered(name, count, all.filter(move |shape| !increasing_only || increases(shape)))
}

/// A list by name: compiled in, or a file of the user's.
fn list(node: &Node<'_>, name: &str, folder: &Path) -> Option<Vec<NamedShape>> {
    const REMEDY: &str = "write one `- { label: NAME, shape: [m, k, n] }` per line";
    if let Some((_, text)) = LISTS.iter().find(|(known, _)| *known == name) {
        return Some(parse_list(name, text).expect("the lists that are compiled in are tested"));
    }
    // A name is a file's stem, not a path to anywhere.
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let folders = if plain { folders(folder) } else { Vec::new() };
    for path in folders.iter().map(|shapes| shapes.join(format!("{name}.yml"))) {
        let text = match yaml::text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                let message = format!("{} cannot be read: {error}", path.display());
                let remedy = yaml::remedy(&error, "make it readable, or delete it");
                return node.error(message, remedy);
            }
        };
        return match parse_list(name, &text) {
            Ok(shapes) => Some(shapes),
            Err(error) => node
                .error(format!("{} does not hold a shape list: {error}", path.display()), REMEDY),
        };
    }
    let known = GENERATED.iter().copied().chain(LISTS.iter().map(|(known, _)| *known));
    let unknown = UnknownWord::new("shape set", name, known);
    let remedy = format!("{} (or add shapes/{name}.yml beside the config)", unknown.remedy);
    node.error(unknown.to_string(), remedy)
}

/// Folders that may hold the lists of a config in `folder`.
pub fn folders(folder: &Path) -> Vec<PathBuf> {
    vec![folder.join("shapes"), folder.join("..").join("shapes")]
}

fn parse_list(name: &str, text: &str) -> Result<Vec<NamedShape>, String> {
    let lines: Vec<Line> = yaml::parse(text).map_err(|error| error.to_string())?;
    let named = |Line { label, shape: [m, k, n] }| {
        let range = 1..=LARGEST;
        if [m, k, n].iter().all(|dimension| range.contains(dimension)) {
            Ok((format!("{name}_{label}"), Shape::new(m, k, n)))
        } else {
            Err(format!("`{label}` has a dimension outside 1 to {LARGEST}"))
        }
    };
    lines.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_that_are_compiled_in_parse() {
        for (name, text) in LISTS {
            let shapes = parse_list(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(shapes.len() >= 4, "{name}");
        }
    }

    #[test]
    fn generated_sets_have_upstreams_counts() {
        for (set, count) in [
            (sweep("small_sweep", 10..=14, true), 35),
            (sweep("small_sweep", 10..=15, true), 56),
            (sweep("sweep", 8..=15, false), 512),
            (sweep("sweep", 0..=LARGEST_POWER, false), 15_625),
            (pow2(10..=14), 5),
            (pow2_extended(10..=14), 10),
        ] {
            assert_eq!((set.count, set.shapes.count()), (count, count));
        }
    }
}
