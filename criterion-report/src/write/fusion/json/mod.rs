//! The document: upstream's result dictionary under its own names, then what it lacks.

mod result;
pub(crate) mod strategy;

use std::collections::BTreeSet;

use plan::Environment;
use serde::Serialize;

use crate::model::{Circumstances, FusionResult, PatternAdvice, Report};
use result::Entry;
use strategy::Strategy;

/// The names are part of the command's contract.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: u32,
    baseline: &'a str,
    environments: Vec<Circumstance<'a>>,
    results: Vec<Entry<'a>>,
    strategy: Vec<Strategy<'a>>,
    missing: Vec<Missing<'a>>,
}

/// The version of the document that this code writes.
const VERSION: u32 = 1;

pub fn document(
    report: &Report,
    results: &[FusionResult<'_>],
    advice: &[PatternAdvice],
) -> serde_json::Result<String> {
    let document = Document {
        schema: "criterion-torch/fusion",
        version: VERSION,
        baseline: &report.baseline,
        environments: report.circumstances.iter().map(Circumstance::of).collect(),
        results: results.iter().map(Entry::of).collect::<serde_json::Result<_>>()?,
        strategy: advice.iter().map(Strategy::of).collect(),
        missing: report
            .missing
            .iter()
            .map(|case| Missing { full_id: &case.full_id, reason: &case.reason })
            .collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// The place and time at which the cases were measured.
#[derive(Serialize)]
struct Circumstance<'a> {
    #[serde(flatten)]
    environment: &'a Environment,
    threads: &'a BTreeSet<u32>,
    allocators: &'a BTreeSet<String>,
    cuda_devices: &'a BTreeSet<String>,
    first_timestamp: u64,
    last_timestamp: u64,
    cases: usize,
}

impl<'a> Circumstance<'a> {
    fn of(of: &'a Circumstances) -> Self {
        Self {
            environment: &of.environment,
            threads: &of.threads,
            allocators: &of.allocators,
            cuda_devices: &of.cuda_devices,
            first_timestamp: of.first,
            last_timestamp: of.last,
            cases: of.rows,
        }
    }
}

/// A case without a record.
#[derive(Serialize)]
struct Missing<'a> {
    full_id: &'a str,
    reason: &'a str,
}
