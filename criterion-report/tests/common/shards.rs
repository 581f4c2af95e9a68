//! Splits the results of many cases into shards, as runs on as many machines leave them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use plan::{Record, RunManifest};
use serde_json::{Value, json};

/// A shard's part of one bench target: lines of records and their ids.
#[derive(Default)]
struct OfTarget {
    lines: String,
    ids: Vec<String>,
}

/// Makes `folder/1` and so on, each with the next `cases` of what lies in `from` under `new`, and
/// `folder/plan.json`; the number of shards.
pub fn split(from: &Path, folder: &Path, cases: usize) -> usize {
    let mut planned: Vec<Value> = Vec::new();
    let mut shard: BTreeMap<String, OfTarget> = BTreeMap::new();
    let mut shards = 0;
    let mut put = |shard: &mut BTreeMap<String, OfTarget>| {
        shards += 1;
        write(&folder.join(shards.to_string()), shards, std::mem::take(shard));
    };
    let mut files: Vec<_> = fs::read_dir(from.join("criterion-torch/new"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort_unstable();
    for file in files {
        let target = file.file_stem().expect("a name").to_string_lossy().into_owned();
        for line in fs::read_to_string(&file).expect("readable").lines() {
            let record: Record = serde_json::from_str(line).expect("a record");
            if planned.len().is_multiple_of(cases) && !planned.is_empty() {
                put(&mut shard);
            }
            planned.push(json!({ "full_id": record.full_id }));
            if record.last_sample.is_some() {
                let own = folder.join(planned.len().div_ceil(cases).to_string());
                let inside = Path::new("criterion").join(record.case.id.directory()).join("new");
                carry(&from.join(&inside), &own.join(&inside));
            }
            let of_target = shard.entry(target.clone()).or_default();
            of_target.lines.push_str(&format!("{line}\n"));
            of_target.ids.push(record.full_id);
        }
    }
    put(&mut shard);
    let plan = serde_json::to_string(&planned).expect("serialises");
    fs::write(folder.join("plan.json"), plan).expect("written");
    shards
}

fn write(folder: &Path, index: usize, targets: BTreeMap<String, OfTarget>) {
    let records = folder.join("criterion-torch");
    for part in ["new", "runs"] {
        fs::create_dir_all(records.join(part)).expect("created");
    }
    for (target, OfTarget { lines, ids }) in targets {
        fs::write(records.join("new").join(format!("{target}.jsonl")), lines).expect("written");
        let run_id = format!("{target}-{index}");
        let manifest = RunManifest {
            version: RunManifest::VERSION,
            run_id: run_id.clone(),
            target,
            baseline: Some("base".to_owned()),
            started: index as u64,
            finished: Some(index as u64),
            args: Vec::new(),
            filter: None,
            exact: false,
            shard: None,
            merged: false,
            resumed: Vec::new(),
            checks: Vec::new(),
            warnings: Vec::new(),
            selected: ids,
            outcomes: BTreeMap::new(),
        };
        let text = serde_json::to_string(&manifest).expect("serialises");
        fs::write(records.join("runs").join(format!("{run_id}.json")), text).expect("written");
    }
}

/// Copies criterion's three files.
fn carry(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("created");
    for name in ["sample.json", "estimates.json", "benchmark.json"] {
        fs::copy(from.join(name), to.join(name)).expect("copied");
    }
}
