//! The records of a run, held against what its judge has answered, once no process of a kernel can change them.

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use plan::{Check, CheckStatus, Judged, Outcome};
use serde_json::Value;

use crate::harness::store::Store;

/// Ends what a kernel has left behind when the harness ended: its processes have become this one's children.
///
/// # Errors
/// When the system does not list processes.
pub fn end_others(than: Pid) -> Result<(), String> {
    loop {
        let children = children().map_err(|error| format!("/proc: {error}"))?;
        let mut others = children.into_iter().filter(|it| *it != than).peekable();
        if others.peek().is_none() {
            return Ok(());
        }
        for child in others {
            // Either has ended already, or ends now; its own children come to this process.
            kill(child, Signal::SIGKILL).ok();
            waitpid(child, None).ok();
        }
    }
}

fn children() -> std::io::Result<Vec<Pid>> {
    let own = std::process::id().to_string();
    let parent_of = |process: &std::fs::DirEntry| {
        let text = std::fs::read_to_string(process.path().join("stat")).ok()?;
        // Behind the name, which may have spaces: the state, then the parent.
        text.rsplit_once(") ")?.1.split(' ').nth(1).map(str::to_owned)
    };
    let processes = std::fs::read_dir("/proc")?.flatten();
    let children = processes.filter(|it| parent_of(it).as_ref() == Some(&own));
    Ok(children
        .filter_map(|it| Some(Pid::from_raw(it.file_name().to_str()?.parse().ok()?)))
        .collect())
}

/// Fails the records of cases that are not as they were judged, and returns their ids.
///
/// # Errors
/// When a file of records cannot be read or written.
pub fn failed(store: &Store, answers: &[(String, Judged)]) -> Result<Vec<String>, String> {
    let mut changed = Vec::new();
    for (id, judged) in answers {
        let is_changed = |record: &Value| !is_as_judged(record, judged);
        if store
            .correct(id, is_changed, |record| correct(record, judged))
            .map_err(|it| it.to_string())?
        {
            changed.push(id.clone());
        }
    }
    Ok(changed)
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
