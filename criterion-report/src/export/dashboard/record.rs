//! Records of the PyTorch OSS benchmark database: one metric of one case each. Fields are written in
//! this order; all maps are of strings, as the database's columns are.

use std::borrow::Cow;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{BENCHMARK, LAYER, ORIGIN, arch};
use crate::model::Entry;
use crate::render::json_text::{self, Style};

/// A map of strings that keeps its order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Info<'a>(Vec<(&'static str, Word<'a>)>);

/// A value in it. A number becomes text where it is written: most records are first looked at.
#[derive(Debug, Clone, PartialEq)]
pub enum Word<'a> {
    Text(Cow<'a, str>),
    Number(f64),
    /// A whole one.
    Whole(u64),
}

impl<'a> Info<'a> {
    pub fn new<T: Into<Cow<'a, str>>>(texts: impl IntoIterator<Item = (&'static str, T)>) -> Self {
        Self(texts.into_iter().map(|(key, text)| (key, Word::Text(text.into()))).collect())
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        let (_, word) = self.0.iter().find(|(known, _)| *known == key)?;
        if let Word::Text(text) = word { Some(text) } else { None }
    }

    /// Adds an entry where there is a value.
    pub fn push(&mut self, key: &'static str, value: Option<impl Into<Word<'a>>>) {
        self.0.extend(value.map(|value| (key, value.into())));
    }
}

/// Values that become text in one way each.
macro_rules! words {
    ($($from:ty: $value:ident => $word:expr),* $(,)?) => {$(
        impl<'a> From<$from> for Word<'a> {
            fn from($value: $from) -> Self {
                $word
            }
        }
    )*};
}

words! {
    String: text => Self::Text(text.into()),
    &'a String: text => Self::Text(text.into()),
    &'a str: text => Self::Text(text.into()),
    bool: value => Self::Text(if value { "true" } else { "false" }.into()),
    f64: number => Self::Number(number),
    u64: number => Self::Whole(number),
    u32: number => Self::Whole(number.into()),
    usize: number => Self::Whole(number as u64),
}

impl Serialize for Word<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) => serializer.collect_str(number),
            Self::Whole(number) => serializer.collect_str(number),
        }
    }
}

impl Serialize for Info<'_> {
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
pub struct DbCase<'a> {
    pub benchmark: Benchmark<'a>,
    pub model: Model<'a>,
    pub metrics: Vec<Metric<'a>>,
    /// The machine. An empty list, as upstream wrote, keeps the uploader from filling it in.
    pub runners: Vec<Runner<'a>>,
    pub dependencies: Dependencies<'a>,
}

impl<'a> DbCase<'a> {
    /// The metrics of a case under the name of its model, with no more than every form has.
    pub fn new(entry: &Entry<'a>, model: String, metrics: Vec<Metric<'a>>) -> Self {
        let case = &entry.row.record.case;
        // Upstream's dtype is the recipe; without one, the dtype itself.
        let recipe = case.work.model().map(|work| work.variant.recipe.to_string());
        let extra_info = Info::new([("device", case.device.as_str()), ("arch", arch(entry.row))]);
        Self {
            benchmark: Benchmark {
                name: BENCHMARK,
                mode: case.mode.as_str(),
                dtype: recipe.unwrap_or_else(|| case.dtype.to_string()),
                extra_info,
            },
            model: Model {
                name: model,
                r#type: LAYER,
                backend: None,
                origins: &[ORIGIN],
                extra_info: None,
            },
            metrics,
            runners: Vec::new(),
            dependencies: Dependencies(Vec::new()),
        }
    }

    /// Adds the text of its records to `text`. Their common part is formatted once.
    pub fn write(&self, form: RecordLayout, text: &mut Vec<u8>) -> serde_json::Result<()> {
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
        for (place, metric) in self.metrics.iter().enumerate() {
            text.extend(if place == 0 { "" } else { between }.bytes());
            text.extend_from_slice(&before);
            form.write(metric, text)?;
            text.extend_from_slice(&behind);
        }
        Ok(())
    }
}

/// Containers around a part of a record, in a list.
const PART: usize = 2;

/// How records follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordLayout {
    /// In one list, as Python writes it.
    List,
    /// One in a line.
    Lines,
}

impl RecordLayout {
    fn write(self, part: &impl Serialize, out: &mut Vec<u8>) -> serde_json::Result<()> {
        match self {
            Self::List => json_text::add(part, Style::Python, PART, out),
            Self::Lines => json_text::add(part, Style::Compact, 0, out),
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
pub struct Dependencies<'a>(pub Vec<(&'static str, Dependency<'a>)>);

impl Serialize for Dependencies<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_pairs(&self.0, serializer)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Benchmark<'a> {
    /// The name that dashboards filter on.
    pub name: &'static str,
    /// Inference or training.
    pub mode: &'static str,
    /// The recipe, as upstream has it.
    pub dtype: String,
    pub extra_info: Info<'a>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Model<'a> {
    /// Recipe and shape; a series on a dashboard is known by it.
    pub name: String,
    pub r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<&'static str>,
    pub origins: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_info: Option<Info<'a>>,
}

/// A name with its unit: two parts, of which the second may be empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Name<'a>(pub Cow<'a, str>, pub &'static str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)?;
        f.write_str(if self.1.is_empty() { "" } else { " " })?;
        f.write_str(self.1)
    }
}

impl Serialize for Name<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metric<'a> {
    pub name: Name<'a>,
    /// One value: the median.
    pub benchmark_values: [f64; 1],
    /// No target.
    pub target_value: f64,
    /// Unit and interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_info: Option<Info<'a>>,
}

/// The machine, in the database's terms: whole numbers, gigabytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Runner<'a> {
    pub name: &'static str,
    pub r#type: &'a str,
    pub cpu_info: &'a str,
    pub cpu_count: u32,
    /// Memory in whole GiB.
    pub avail_mem_in_gb: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_info: Option<&'a str>,
    /// Host name and system.
    pub extra_info: Info<'a>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dependency<'a> {
    /// Repository, `owner/name`.
    pub repo: &'static str,
    /// Branch; a release is known by its version.
    pub branch: &'static str,
    /// Commit; a release is known by its version.
    pub sha: &'static str,
    pub version: &'a str,
    pub extra_info: Info<'a>,
}
