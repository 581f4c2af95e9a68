//! The document: upstream's result dictionary under its own names, then what it lacks.

use std::collections::BTreeSet;

use plan::Environment;
use serde::Serialize;

use crate::model::{Circumstances, FusionResult, Missing, PatternAdvice, Report};
use crate::object::object;

struct Document<'a> {
    report: &'a Report,
    results: &'a [FusionResult<'a>],
    advice: &'a [PatternAdvice],
}

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

struct Absent<'a>(&'a Missing);

// The names are part of the command's contract.
object! {
    Document<'_> => |it| {
        "schema": "criterion-torch/fusion",
        "version": 1,
        "baseline": it.report.baseline,
        "environments": it.report.circumstances.iter().map(Circumstance::of).collect::<Vec<_>>(),
        "results": it.results,
        "strategy": it.advice.iter().map(PatternAdvice::without_evidence).collect::<Vec<_>>(),
        "missing": it.report.missing.iter().map(Absent).collect::<Vec<_>>(),
    }

    Absent<'_> => |it| {
        "full_id": it.0.full_id,
        "reason": it.0.reason,
    }
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

pub fn document(
    report: &Report,
    results: &[FusionResult<'_>],
    advice: &[PatternAdvice],
) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(&Document { report, results, advice })? + "\n")
}
