//! Fusion patterns for Rust programs: what `criterion-report fusion --format json` writes, as values.
//!
//! It is the programmatic form of branes-ai/graphs' `calibrate_linear_fusion_patterns`,
//! `calibrate_conv_fusion_patterns` and `calibrate_attention_fusion_patterns`. Those functions measure and return a
//! list of dictionaries. Here `cargo torch-bench calibrate` or `cargo bench --bench fusion` measures, and
//! [`pattern_results`] returns the results under the same names.

use std::path::Path;

use anyhow::{Context, Result};
pub use plan::PatternFamily as Family;
use plan::{Mode, Pattern};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::Row;
use crate::read::{Location, Report, Selection};
use crate::render::json_text::{self, Style};
use crate::views::{FusionItem, FusionResult};

/// A pattern in one variant and size against its unfused operations: first the fields of upstream's dictionary, then
/// ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatternResult {
    /// Upstream's name of the pattern, such as `Linear_Bias_ReLU`.
    pub fusion_pattern: String,
    /// Shape of the input in upstream's form.
    pub input_shape: Vec<u64>,
    /// Median time of the unfused operations.
    pub unfused_latency_ms: f64,
    /// 10⁹ operations per second at that time.
    pub unfused_gflops: f64,
    /// Bytes of the unfused operations by upstream's formula.
    pub unfused_bytes: Option<u64>,
    /// Median time of the variant.
    pub fused_latency_ms: f64,
    /// 10⁹ operations per second at that time.
    pub fused_gflops: f64,
    /// Its bytes by upstream's formula; `None` for variants that upstream lacks.
    pub fused_bytes: Option<u64>,
    /// Speed-up over the unfused operations, from pairs. It is near the quotient of the two times, not equal to it.
    pub speedup_factor: f64,
    /// 1 − fused/unfused bytes.
    pub memory_reduction: Option<f64>,
    /// The dimensions of the size by name.
    pub extra_params: Map<String, Value>,
    /// Floating-point operations of either form.
    pub flops: u64,
    /// The variant by our name: `fused`, `inplace`, `mkldnn`, …
    pub variant: String,
    /// The dtype, such as `torch.float32`, which is the only one that upstream knows.
    pub dtype: String,
    /// Criterion's id of the variant.
    pub full_id: String,
    /// Every further key of `criterion-report fusion --format json`: interval and benefit of the speed-up, measured
    /// bytes, kernels, cautions.
    #[serde(flatten)]
    pub further: Map<String, Value>,
}

/// A case without a speed-up, and therefore without a [`PatternResult`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmeasured {
    /// Criterion's id.
    pub full_id: String,
    /// Why it has none.
    pub reason: String,
}

/// The results of the latest run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PatternResults {
    /// Patterns with a speed-up, in the order of the records.
    pub results: Vec<PatternResult>,
    /// Cases without a speed-up. Upstream has no such list: there an error ends the whole run.
    pub unmeasured: Vec<Unmeasured>,
    /// Files and lines that could not be read.
    pub unreadable: Vec<String>,
}

/// Reads the results of the latest run of the fusion benchmarks. `criterion` is criterion's folder; the records lie
/// next to it.
///
/// ```no_run
/// use std::path::Path;
///
/// use criterion_report::fusion::{Family, pattern_results};
///
/// // After `cargo torch-bench calibrate --quick --only linear --hardware my-machine`
/// let found = pattern_results(Path::new("target/criterion"), &[Family::Linear]).expect("readable");
/// for it in &found.results {
///     let reduction = 100.0 * it.memory_reduction.unwrap_or_default();
///     println!("{}: {:.2}x speedup, {reduction:.1}% mem reduction", it.fusion_pattern, it.speedup_factor);
/// }
/// for it in &found.unmeasured {
///     println!("{}: {}", it.full_id, it.reason);
/// }
/// ```
///
/// # Errors
/// When there are no records next to the folder.
pub fn pattern_results(criterion: &Path, families: &[Family]) -> Result<PatternResults> {
    let modes = &[Mode::Fusion];
    let selection = Selection { modes: Some(modes), latest: true, ..Selection::default() };
    let location = Location::at(criterion.to_owned());
    let report = Report::read(&location, "new", selection)?;
    let mut found = PatternResults { unreadable: report.unreadable.clone(), ..Default::default() };
    for result in FusionResult::all(&report) {
        if !families.contains(&result.key.work.pattern.family()) {
            continue;
        }
        match unmeasured(&result) {
            Some(unmeasured) => found.unmeasured.push(unmeasured),
            None => found.results.push(values(&result)?),
        }
    }
    let missing = report.missing.iter().filter(|it| is_of(families, &it.full_id));
    found.unmeasured.extend(
        missing.map(|it| Unmeasured { full_id: it.full_id.clone(), reason: it.reason.clone() }),
    );
    Ok(found)
}

/// Why a result lacks a number that upstream's dictionary always has; `None` if it has all.
fn unmeasured(result: &FusionResult<'_>) -> Option<Unmeasured> {
    let row = result.entry.row;
    let speedup = result.entry.comparison.and_then(|it| it.speedup.as_ref().err());
    let unfused = result.entry.baseline.map_or_else(|| Some(NO_RECORD.to_owned()), Row::reason);
    let reason = row.reason().or_else(|| speedup.map(ToString::to_string)).or(unfused)?;
    Some(Unmeasured { full_id: row.full_id().to_owned(), reason })
}

/// Whether an id belongs to one of these families: `fusion/<config>/<pattern>/…`.
fn is_of(families: &[Family], full_id: &str) -> bool {
    let pattern = full_id.split('/').nth(2).and_then(|word| word.parse::<Pattern>().ok());
    pattern.is_none_or(|pattern| families.contains(&pattern.family()))
}

const NO_RECORD: &str = "its unfused operations have no record";

/// Converts through JSON, so that the names are defined only once, in the JSON document.
fn values(result: &FusionResult<'_>) -> Result<PatternResult> {
    let id = result.entry.row.full_id();
    let text = json_text::to_string(&FusionItem::of(result), Style::Compact)
        .with_context(|| id.to_owned())?;
    serde_json::from_slice(text.as_bytes()).with_context(|| id.to_owned())
}
