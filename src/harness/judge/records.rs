//! The records of a run, held against what its judge has answered, once no process of a kernel can change them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ::libtorch::partial;
use plan::{Check, CheckStatus, Judged, Outcome};
use serde_json::Value;

/// Fails the records of cases that are not as they were judged, in each of these files, and returns their ids. A file that
/// lacks one is left as it is.
///
/// # Errors
/// When a file of records cannot be read or written.
pub fn failed(
    files: impl Iterator<Item = PathBuf>,
    answers: &BTreeMap<String, Judged>,
) -> Result<BTreeSet<String>, String> {
    let mut failed = BTreeSet::new();
    for path in files {
        let of_file = |error: std::io::Error| format!("{}: {error}", path.display());
        let text = std::fs::read(&path).map_err(of_file)?;
        let mut missing: BTreeSet<&String> = answers.keys().collect();
        let (mut lines, mut is_corrected) = (Vec::new(), false);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let record = serde_json::from_slice::<Value>(line).ok();
            let id = record.as_ref().and_then(|it| it["full_id"].as_str());
            let answer = id.and_then(|id| answers.get_key_value(id));
            let (Some(mut record), Some((id, judged))) = (record, answer) else {
                lines.extend_from_slice(line);
                continue;
            };
            missing.remove(id);
            if is_as_judged(&record, judged) {
                lines.extend_from_slice(line);
                continue;
            }
            correct(&mut record, judged);
            lines.extend_from_slice(format!("{record}\n").as_bytes());
            failed.insert(id.clone());
            is_corrected = true;
        }
        failed.extend(missing.into_iter().cloned());
        if is_corrected {
            partial::write(&path, &lines).map_err(of_file)?;
        }
    }
    Ok(failed)
}

fn is_as_judged(record: &Value, judged: &Judged) -> bool {
    let Ok(mut found) = serde_json::from_value::<Judged>(record["judged"].clone()) else {
        return false;
    };
    // A number is read and printed on its way into the file.
    if let (Some(found), Some(own)) = (&mut found.ns, judged.ns)
        && (*found - own).abs() <= 1e-9 * own
    {
        *found = own;
    }
    let has_failed = record["outcome"]["status"] == "failed";
    found == *judged && (has_failed || judged.failed().next().is_none())
}

fn correct(record: &mut Value, judged: &Judged) {
    const REMEDY: &str = "a process of this run has written to its file: trust none of its numbers";
    let what = "it was changed after the judge had answered";
    let check = Check::graded("record", CheckStatus::Failed, what, REMEDY);
    let mut judged = judged.clone();
    judged.checks.push(check);
    let outcome: Option<Outcome> = super::failure(&judged);
    record["outcome"] = serde_json::to_value(outcome).unwrap_or_default();
    record["judged"] = serde_json::to_value(judged).unwrap_or_default();
}
