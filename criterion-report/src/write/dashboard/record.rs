//! Records of the PyTorch OSS benchmark database: one metric of one case each. Fields are written in
//! this order; all maps are of strings, as the database's columns are.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::write::python_json;

/// A map of strings that keeps its order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Info(Vec<(&'static str, Word)>);

/// A value in it. A number becomes text where it is written: most records are first looked at.
#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    Text(Cow<'static, str>),
    Number(f64),
    /// A whole one.
    Whole(u64),
}

impl Info {
    pub fn of(texts: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self(texts.into_iter().map(|(key, text)| (key, text.into())).collect())
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        let (_, word) = self.0.iter().find(|(known, _)| *known == key)?;
        if let Word::Text(text) = word { Some(text) } else { None }
    }

    /// Adds an entry where there is a value.
    pub fn push(&mut self, key: &'static str, value: Option<impl Into<Word>>) {
        self.0.extend(value.map(|value| (key, value.into())));
    }
}

/// Values that become text in one way each.
macro_rules! words {
    ($($from:ty: $value:ident => $word:expr),* $(,)?) => {$(
        impl From<$from> for Word {
            fn from($value: $from) -> Self {
                $word
            }
        }
    )*};
}

words! {
    String: text => Self::Text(text.into()),
    &String: text => Self::Text(text.clone().into()),
    &str: text => Self::Text(text.to_owned().into()),
    bool: value => Self::Text(if value { "true" } else { "false" }.into()),
    f64: number => Self::Number(number),
    u64: number => Self::Whole(number),
    u32: number => Self::Whole(number.into()),
    usize: number => Self::Whole(number as u64),
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) => serializer.collect_str(number),
            Self::Whole(number) => serializer.collect_str(number),
        }
    }
}

impl Serialize for Info {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_pairs(&self.0, serializer)
    }
}

fn serialize_pairs<T: Serialize, S: Serializer>(
    pairs: &[(&'static str, T)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(pairs.len()))?;
    for (key, value) in pairs {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

/// All records of one case, which differ in the metric alone.
#[derive(Debug, Clone, PartialEq)]
pub struct DbCase {
    pub benchmark: Benchmark,
    pub model: Model,
    pub metrics: Vec<Metric>,
    /// The machine. An empty list, as upstream wrote, keeps the uploader from filling it in.
    pub runners: Vec<Runner>,
    pub dependencies: Dependencies,
}

impl DbCase {
    /// The text of its records. Their common part is formatted once.
    pub fn text(&self, form: Form) -> serde_json::Result<Vec<u8>> {
        let [open, colon, comma, close] = form.object();
        let mut before = format!("{open}\"benchmark\"{colon}").into_bytes();
        form.write(&self.benchmark, &mut before)?;
        before.extend(format!("{comma}\"model\"{colon}").bytes());
        form.write(&self.model, &mut before)?;
        before.extend(format!("{comma}\"metric\"{colon}").bytes());
        let mut behind = format!("{comma}\"runners\"{colon}").into_bytes();
        form.write(&self.runners, &mut behind)?;
        behind.extend(format!("{comma}\"dependencies\"{colon}").bytes());
        form.write(&self.dependencies, &mut behind)?;
        behind.extend(close.bytes());

        let [_, between, _] = form.punctuation();
        let about = before.len() + behind.len() + LENGTH_OF_METRIC;
        let mut text = Vec::with_capacity(self.metrics.len() * about);
        for (place, metric) in self.metrics.iter().enumerate() {
            text.extend(if place == 0 { "" } else { between }.bytes());
            text.extend_from_slice(&before);
            form.write(metric, &mut text)?;
            text.extend_from_slice(&behind);
        }
        Ok(text)
    }
}

/// Containers around a part of a record, in a list.
const PART: usize = 2;
/// Bytes that suffice for most metrics.
const LENGTH_OF_METRIC: usize = 640;

/// How records follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In one list, as Python writes it.
    List,
    /// One in a line.
    Lines,
}

impl Form {
    fn write(self, part: &impl Serialize, out: &mut Vec<u8>) -> serde_json::Result<()> {
        match self {
            Self::List => python_json::write(part, PART, out),
            Self::Lines => serde_json::to_writer(out, part),
        }
    }

    /// The text before the first key of a record, behind a key, before the next, and at the end.
    const fn object(self) -> [&'static str; 4] {
        match self {
            Self::List => ["{\n    ", ": ", ",\n    ", "\n  }"],
            Self::Lines => ["{", ":", ",", "}"],
        }
    }

    /// The text before the first record, between two, and behind the last.
    pub const fn punctuation(self) -> [&'static str; 3] {
        match self {
            Self::List => ["[\n  ", ",\n  ", "\n]"],
            Self::Lines => ["", "\n", ""],
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Dependencies(pub Vec<(&'static str, Dependency)>);

impl Serialize for Dependencies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_pairs(&self.0, serializer)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Benchmark {
    /// The name that dashboards filter on.
    pub name: &'static str,
    /// Inference or training.
    pub mode: String,
    /// The recipe, as upstream has it.
    pub dtype: String,
    pub extra_info: Info,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Model {
    /// Recipe and shape; a series on a dashboard is known by it.
    pub name: String,
    pub r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<&'static str>,
    pub origins: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_info: Option<Info>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metric {
    /// Name with unit.
    pub name: String,
    /// One value: the median.
    pub benchmark_values: [f64; 1],
    /// No target.
    pub target_value: f64,
    /// Unit and interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_info: Option<Info>,
}

/// The machine, in the database's terms: whole numbers, gigabytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Runner {
    pub name: String,
    pub r#type: String,
    pub cpu_info: String,
    pub cpu_count: u32,
    /// Memory in whole GiB.
    pub avail_mem_in_gb: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_info: Option<String>,
    /// Host name and system.
    pub extra_info: Info,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dependency {
    /// Repository, `owner/name`.
    pub repo: &'static str,
    /// Branch; a release is known by its version.
    pub branch: &'static str,
    /// Commit; a release is known by its version.
    pub sha: &'static str,
    pub version: String,
    pub extra_info: Info,
}
