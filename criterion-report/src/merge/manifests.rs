//! The manifests of merged results: those of the runs, and one of the whole plan for each bench target.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};
use plan::RunManifest;
use serde_json::Value;

use super::carry::{put, unlike};
use super::cases::{MergedCases, Source};
use super::results::Results;
use crate::read::file;
use crate::render::json_text::{self, Style};

/// Carries over the manifests of the runs that a record or a selected case is of. Only `ids` stay among the selected
/// cases: reports would call the others missing.
pub fn carry(
    records: &Path,
    all: &[Results],
    sources: &[Source<'_>],
    ids: &HashSet<&str>,
) -> Result<()> {
    let folder = records.join("runs");
    fs::create_dir_all(&folder)?;
    for (place, results) in all.iter().enumerate() {
        let runs: HashSet<&str> =
            results.runs.iter().map(|run| run.manifest.run_id.as_str()).collect();
        let of_folder = sources.iter().filter(|(of, _)| *of == place);
        let recorded: HashSet<&str> = of_folder.map(|(_, it)| it.run_id.as_str()).collect();
        for path in results.manifests()? {
            // An unreadable file was reported when it was read first.
            let Ok(text) = file::read(&path) else { continue };
            let Ok(manifest) = serde_json::from_slice::<Value>(&text) else { continue };
            let run_id = manifest["run_id"].as_str().unwrap_or_default();
            let selects = selected(&manifest).any(|id| ids.contains(id));
            if !runs.contains(run_id) || !(selects || recorded.contains(run_id)) {
                continue;
            }
            let text = with_selected(manifest, ids)?.unwrap_or(text);
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let Some(placed) = unlike(&folder, &name, "json", &text)? else { continue };
            put(&placed, &text)?;
            let running = path.with_extension("running");
            if running.exists() {
                fs::copy(&running, placed.with_extension("running"))?;
            }
        }
    }
    Ok(())
}

/// Writes a manifest of all planned cases of each bench target, without which the last shard would be the latest run,
/// and nobody would miss a case that no run selected.
pub fn whole_plan(
    records: &Path,
    baseline: &str,
    all: &[Results],
    chosen: &MergedCases<'_>,
) -> Result<()> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.context("the system clock is set before 1970")?.as_secs();
    let runs = all.iter().flat_map(|results| &results.runs).map(|run| &run.manifest);
    let latest = runs.map(|it| it.finished.unwrap_or(it.started)).max().unwrap_or(0);
    // Another machine's clock may be ahead of this one's.
    let merged = now.max(latest.saturating_add(1));
    for (target, (selected, outcomes)) in by_target(chosen) {
        let manifest = RunManifest {
            version: RunManifest::VERSION,
            run_id: format!("merged-{target}"),
            target: target.to_owned(),
            baseline: Some(baseline.to_owned()),
            started: merged,
            finished: Some(merged),
            args: Vec::new(),
            filter: None,
            exact: false,
            shard: None,
            resumed: Vec::new(),
            merged: true,
            checks: Vec::new(),
            warnings: Vec::new(),
            selected,
            outcomes,
        };
        let text = json_text::to_string(&manifest, Style::Compact)?;
        // A file of a shard may have that name.
        let folder = records.join("runs");
        if let Some(file) = unlike(&folder, &manifest.run_id, "json", text.as_bytes())? {
            put(&file, text.as_bytes())?;
        }
    }
    Ok(())
}

/// The planned cases of a bench target, and how those with a record ended.
type OfTarget = (Vec<String>, BTreeMap<String, u64>);

fn by_target<'r>(chosen: &MergedCases<'r>) -> BTreeMap<&'r str, OfTarget> {
    let mut targets: BTreeMap<&str, OfTarget> = BTreeMap::new();
    let mut of_modes: HashMap<&str, &str> = HashMap::new();
    for (_, found) in &chosen.rows {
        of_modes.entry(plan::mode_of(&found.full_id)).or_insert(&found.target);
        let (selected, outcomes) = targets.entry(&found.target).or_default();
        selected.push(found.full_id.clone());
        *outcomes.entry(found.status.to_owned()).or_default() += 1;
    }
    for id in chosen.missing.iter().map(|(id, _)| *id) {
        // A bench target is called like its mode unless the package has others.
        let mode = plan::mode_of(id);
        let target = of_modes.get(mode).copied().unwrap_or(mode);
        targets.entry(target).or_default().0.push(id.to_owned());
    }
    targets
}

/// The ids that a manifest selects.
fn selected(manifest: &Value) -> impl Iterator<Item = &str> {
    manifest["selected"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The manifest with only these ids selected; none where it is so already.
fn with_selected(mut manifest: Value, ids: &HashSet<&str>) -> Result<Option<Vec<u8>>> {
    if selected(&manifest).all(|id| ids.contains(id)) {
        return Ok(None);
    }
    if let Some(selected) = manifest["selected"].as_array_mut() {
        selected.retain(|id| id.as_str().is_some_and(|id| ids.contains(id)));
    }
    Ok(Some(json_text::to_string(&manifest, Style::Compact)?.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_keeps_what_this_version_does_not_know() {
        let manifest = serde_json::json!({ "run_id": "1", "selected": ["a", "b"], "later": 1 });
        let ids = HashSet::from(["a"]);
        let text = with_selected(manifest.clone(), &ids).expect("serialises").expect("it changes");
        let changed: Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(changed, serde_json::json!({ "run_id": "1", "selected": ["a"], "later": 1 }));
        let all = HashSet::from(["a", "b"]);
        assert_eq!(with_selected(manifest, &all).expect("serialises"), None);
    }
}
