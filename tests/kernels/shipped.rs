//! The `bench.yaml` of a kernel.

use std::path::Path;

use criterion_torch::kernel::prelude::*;
use criterion_torch::verify::Distance;
use serde_yaml::Value;

pub struct Shipped(Value);

impl Shipped {
    pub fn read(kernel: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/kernels");
        let file = root.join(kernel).join("bench.yaml");
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file:?}: {e}"));
        Self(serde_yaml::from_str(&text).unwrap_or_else(|e| panic!("{file:?}: {e}")))
    }

    pub fn precisions(&self) -> Vec<Dtype> {
        let words = self.0["precisions"].as_sequence().expect("a list of precisions");
        let dtype = |word: &Value| {
            let named = |it: &&Dtype| Some(it.precision()) == word.as_str();
            *Dtype::PRECISIONS.iter().find(named).unwrap_or_else(|| panic!("{word:?}"))
        };
        words.iter().map(dtype).collect()
    }

    /// The values of a field in the problem sizes.
    pub fn field(&self, field: &str) -> Vec<&Value> {
        let sizes = match &self.0["problem_size"] {
            Value::Sequence(sizes) => sizes.iter().collect(),
            size => vec![size],
        };
        sizes.into_iter().map(|size| &size[field]).collect()
    }

    /// The values of a field that is one number, or a list of them, which is a sweep.
    pub fn numbers(&self, field: &str) -> Vec<usize> {
        let number = |value: &Value| value.as_u64().expect("a number") as usize;
        let of = |value: &Value| match value {
            Value::Sequence(values) => values.iter().map(number).collect(),
            value => vec![number(value)],
        };
        self.field(field).into_iter().flat_map(of).collect()
    }

    /// The values of a field that is a list of numbers.
    pub fn lists(&self, field: &str) -> Vec<Vec<usize>> {
        let number = |value: &Value| value.as_u64().expect("a number") as usize;
        let list =
            |value: &Value| value.as_sequence().expect("a list").iter().map(number).collect();
        self.field(field).into_iter().map(list).collect()
    }

    /// The tolerances of the precision that the distance is beyond.
    pub fn exceeded(&self, dtype: Dtype, found: &Distance) -> Vec<String> {
        let limits = [
            ("rmse", found.rmse),
            ("relative_error", found.relative_error),
            ("max_error", found.max_abs_error),
        ];
        let mut exceeded = Vec::new();
        let mut is_limited = false;
        for (key, found) in limits {
            let limit = match &self.0["tolerances"][key] {
                Value::Mapping(each) => each.get(dtype.precision()).and_then(Value::as_f64),
                every => every.as_f64(),
            };
            is_limited |= limit.is_some();
            if let Some(limit) = limit.filter(|limit| found > *limit) {
                exceeded.push(format!("{key} of {dtype}: {found:e} > {limit:e}"));
            }
        }
        assert!(is_limited, "no tolerance of {dtype}");
        exceeded
    }
}
