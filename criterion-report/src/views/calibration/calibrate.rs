//! The profile of a machine, from what the benchmarks recorded.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use anyhow::Result;

use super::fusion;
use super::operation::Operation;
use super::request::Request;
use super::roofs::{Roofs, telling};
use super::schema::{Finding, FusionCalibration, Profile};
use super::select::{device, latest, newest, one_machine, unmeasured};
use crate::model::{Circumstances, Row};
use crate::order::{Order as _, Sorted as _};
use crate::read::Report;
use crate::render::units;
use crate::views::{FusionResult, sdpa_dispatch};

pub fn calibrate(report: &Report, request: &Request<'_>) -> Result<Profile> {
    let device = device(report, request)?;
    let mut notes = Vec::new();
    let operations = latest(report, request, device, &mut notes);
    let results = fusion::results(report, device, request.patterns, &mut notes);
    let rows = rows(&operations, &results);
    one_machine(&rows, device)?;
    notes.extend(unmeasured(report, device));
    let cases: Vec<&Row> = telling(report.entries().map(|entry| entry.row))
        .filter(|row| row.record.case.device == device)
        .collect();
    let roofs = Roofs::of(&operations, &cases, device, request, &mut notes);
    let mut fusion_profiles = fusion_profiles(&results, &roofs);
    notes.extend(fusion::overshoots(&roofs, &results));
    notes.extend(without_speedup(results.len() - fusion_profiles.len()));
    let by_pattern = self::by_pattern(&results, &fusion_profiles, &mut notes);
    fusion_profiles.extend(by_pattern);
    notes.extend(dispatch(&results));
    notes.extend(
        request.preset.and_then(|preset| preset.mismatch(&newest(&operations)?.row.record)),
    );
    let run_ids: BTreeSet<String> =
        rows.iter().flat_map(|row| row.in_runs()).map(|row| row.record.run_id.clone()).sorted_set();
    let mut profile = Profile::of(request, device, &operations, &results, roofs, fusion_profiles);
    profile.preflight_checks = findings(report, &run_ids);
    profile.run_ids = run_ids.into_iter().collect();
    notes.extend(circumstances(&rows));
    notes.extend(profile.overshoots());
    profile.notes = notes;
    Ok(profile)
}

fn fusion_profiles(
    results: &[FusionResult<'_>],
    roofs: &Roofs,
) -> BTreeMap<String, FusionCalibration> {
    let profile = |result: &FusionResult<'_>| {
        let speedup = result.entry.speedup()?;
        Some((fusion::key(result), FusionCalibration::of(result, speedup, roofs)))
    };
    results.iter().filter_map(profile).collect()
}

/// Profiles keyed by pattern name only, as upstream's `get_fusion_speedup` looks them up. Each pattern keeps one of the
/// cases that upstream measures: the one on the most threads, and among those the one with the most operations. In
/// upstream's files the largest size comes last and replaces the others. If that case has no speed-up, the pattern is
/// left out.
fn by_pattern(
    results: &[FusionResult<'_>],
    profiles: &BTreeMap<String, FusionCalibration>,
    notes: &mut Vec<String>,
) -> BTreeMap<String, FusionCalibration> {
    let mut own: Vec<&FusionResult<'_>> =
        results.iter().filter(|it| fusion::is_upstreams(it)).collect();
    own.order_by_key(|it| (it.entry.row.record.environment.torch.threads, it.key.work.flops()));
    let largest: BTreeMap<&str, &FusionResult<'_>> =
        own.into_iter().map(|it| (it.key.work.pattern.upstream(), it)).sorted_map();
    let mut named = BTreeMap::new();
    for (name, result) in largest {
        match profiles.get(&fusion::key(result)) {
            Some(profile) => drop(named.insert(name.to_owned(), profile.clone())),
            None => notes.push(format!(
                "`fusion_profiles` has no `{name}` alone: its largest case, {}, has no speed-up",
                result.entry.row.full_id()
            )),
        }
    }
    named
}

fn without_speedup(count: usize) -> Option<String> {
    (count > 0).then(|| {
        format!(
            "{} without a speed-up skipped in the profile; `criterion-report fusion` says why",
            units::count(count, "fusion case")
        )
    })
}

/// Why two forms of one attention differ.
fn dispatch(results: &[FusionResult<'_>]) -> Option<String> {
    let [without_heads, with_heads] = sdpa_dispatch(&results.iter().collect::<Vec<_>>())?;
    Some(format!(
        "`sdpa-3d` and `fused` of FullAttention_SDPA differ by the kernel, not by fusing: without \
         an axis of heads libtorch runs {without_heads}, with one {with_heads}"
    ))
}

/// The checks of the machine before the runs of the profile, each once.
fn findings(report: &Report, run_ids: &BTreeSet<String>) -> Vec<Finding> {
    let run_ids: HashSet<&str> = run_ids.iter().map(String::as_str).collect();
    let findings = report.runs.findings(&run_ids).into_iter();
    let finding = findings.map(|(run, check)| Finding {
        check: check.clone(),
        target: run.target.clone(),
        run_id: run.run_id.clone(),
    });
    finding.collect()
}

fn rows<'a>(operations: &[Operation<'a>], results: &[FusionResult<'a>]) -> Vec<&'a Row> {
    let fusions = results.iter().flat_map(|it| [Some(it.entry.row), it.entry.baseline]).flatten();
    operations.iter().map(|it| it.row).chain(fusions).collect()
}

fn circumstances(rows: &[&Row]) -> Option<String> {
    let several = Circumstances::from_rows(rows.iter().copied()).len();
    (several > 1).then(|| {
        format!(
            "the rows are of {several} circumstances: machine, libtorch, compiler or git revision \
             differ (`criterion-report show` lists them); --latest skips earlier runs"
        )
    })
}
