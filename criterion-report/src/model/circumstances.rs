//! Under which circumstances the rows were measured, said once for all rows that share them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use plan::{Environment, HostFacts, Record};
use serde::Serialize;

use super::row::Row;
use crate::render::object::document;

// Lowest and highest value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct Span([f64; 2]);

impl Span {
    fn extended(span: Option<Self>, value: Option<f64>) -> Option<Self> {
        let Some(value) = value else { return span };
        let Self([low, high]) = span.unwrap_or(Self([value, value]));
        Some(Self([low.min(value), high.max(value)]))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high] = self.0.map(|value| format!("{value:.2}"));
        if low == high { f.write_str(&low) } else { write!(f, "{low} to {high}") }
    }
}

document! {
    // One machine, library and working tree, and what varied under them. Threads, allocator and CUDA
    // device vary by case: the environment has those of one of them.
    #[derive(Debug, Clone, PartialEq)]
    #[cfg_attr(feature = "schema", schemars(rename = "Circumstance"))]
    pub struct Circumstances = new(record: &Record) {
        /// Machine, library and working tree.
        pub environment: Arc<Environment> = Arc::clone(&record.environment),
        /// Intra-op threads of its cases.
        pub threads: BTreeSet<u32> = BTreeSet::new(),
        /// Host allocators of its cases.
        pub allocators: BTreeSet<String> = BTreeSet::new(),
        /// CUDA devices of its cases.
        pub cuda_devices: BTreeSet<String> = BTreeSet::new(),
        /// Frequency governors of its cases.
        pub governors: BTreeSet<String> = BTreeSet::new(),
        /// How quiet the machine was, from 0 to 1, where a run measured it.
        pub quiet: Option<Span> = None,
        /// Runnable processes over one minute, when the runs began.
        #[serde(rename = "load_1m")]
        pub load: Option<Span> = None,
        /// When the first case ended, seconds since the Unix epoch.
        pub first: u64 = record.timestamp,
        /// When the last case ended.
        pub last: u64 = record.timestamp,
        /// Number of cases.
        #[serde(rename = "cases")]
        pub rows: usize = 0,
    }
}

impl Circumstances {
    /// Groups the rows by circumstances, in order of appearance. A row of several runs counts once
    /// wherever it was measured.
    pub fn from_rows<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for row in rows {
            let mut places = BTreeSet::new();
            for record in row.in_runs().map(|run| &*run.record) {
                let known = all.iter().position(|known| known.hold_of(record));
                let place = known.unwrap_or_else(|| {
                    all.push(Self::new(record));
                    all.len() - 1
                });
                all[place].add(record);
                places.insert(place);
            }
            places.into_iter().for_each(|place| all[place].rows += 1);
        }
        all
    }

    pub fn hold_of(&self, record: &Record) -> bool {
        facts(&self.environment) == facts(&record.environment)
    }

    fn add(&mut self, record: &Record) {
        let torch = &record.environment.torch;
        self.threads.insert(torch.threads);
        keep(&mut self.allocators, Some(&record.environment.allocator));
        keep(&mut self.cuda_devices, torch.cuda_device.as_ref());
        keep(&mut self.governors, record.environment.host.governor.as_ref());
        let quiet = record.environment.quiet.as_ref();
        self.quiet = Span::extended(self.quiet, quiet.map(|quiet| quiet.score));
        self.load = Span::extended(self.load, quiet.and_then(|quiet| quiet.load_1m));
        self.first = self.first.min(record.timestamp);
        self.last = self.last.max(record.timestamp);
    }
}

/// Thousands of rows have the same few.
fn keep(texts: &mut BTreeSet<String>, text: Option<&String>) {
    if let Some(text) = text.filter(|text| !texts.contains(*text)) {
        texts.insert(text.clone());
    }
}

/// The key that two environments share if they differ only in what a case's own settings decide.
fn facts(of: &Environment) -> impl PartialEq + '_ {
    let HostFacts { hostname, os, cpu_model, cpus, memory_bytes, .. } = &of.host;
    let torch = &of.torch;
    (
        (hostname, os, cpu_model, cpus, memory_bytes),
        (&torch.libtorch, &torch.tch, &torch.cpu_capability, &torch.cuda),
        &torch.float32_matmul_precision,
        (&of.git_revision, &of.rustc, &of.variables),
    )
}
