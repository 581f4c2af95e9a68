//! The records that the benchmarks leave, read strictly: they are our own.
//!
//! ```text
//! <records>/<baseline>/<target>.jsonl   one record per line
//! <records>/runs/<run-id>.json          what a run was asked for
//! <records>/runs/<run-id>.running       id of the case that it is in, or ended in
//! <records>/lock                        locked by the run that is in progress, which it names
//! ```

use std::fs::TryLockError;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use plan::{Record, RunManifest};

use crate::model::Row;
use crate::order::Order as _;
use crate::read::line::{self, Line, Stamp, parse};
use crate::read::{Inputs, Run};
use crate::read::{file, saved};
use crate::render::units;
use crate::visible;

fn or_from(others: &[String]) -> String {
    if others.is_empty() {
        return String::new();
    }
    format!("\n  baselines that have records: {} (choose with --baseline)", others.join(", "))
}

/// The record of a line; none where an earlier version wrote it.
pub fn record_of_line(line: &[u8]) -> Result<Option<Box<Record>>, String> {
    Ok(match parse(line).map_err(|unusable| unusable.why)? {
        Line::Record(record) => Some(record),
        Line::Older(_) => None,
    })
}

impl Inputs {
    /// Reads the records in `<root>/<baseline>/*.jsonl`.
    pub(crate) fn of_records(root: &Path, baseline: &str) -> Result<Self> {
        let folder = root.join(baseline);
        let files = files(&folder, "jsonl")?;
        if files.is_empty() {
            bail!(
                "no records: looked for {}/*.jsonl\n  measure first with `cargo bench`, or say where \
                 the results are with --criterion-dir{}",
                folder.display(),
                or_from(&baselines(root)?)
            );
        }
        let mut found = Self::default();
        let mut older_files = Vec::new();
        for path in files {
            let older = found.read_file(&path);
            older_files.extend(older_file(&path, &older));
        }
        if found.cases.is_empty() && !found.unreadable.is_empty() {
            let lines = visible::list(&found.unreadable);
            bail!("no record in {} can be used:{lines}", folder.display());
        }
        if found.cases.is_empty() && !older_files.is_empty() {
            return Err(anyhow!(older_files.join("\n")));
        }
        found.warnings.extend(older_files);
        Ok(found)
    }

    /// Reads a file; returns the lines of older versions that no later line replaces.
    fn read_file(&mut self, path: &Path) -> Vec<Stamp> {
        let mut older = Vec::new();
        let before = self.cases.len();
        let (remarks, begun) = line::read(
            path,
            |line, _| line,
            |line| match line {
                Line::Record(record) => self.add(record, before),
                Line::Older(stamp) => older.push(stamp),
            },
        );
        self.unreadable.extend(remarks);
        self.cut_off.extend(begun);
        older.retain(|stamp| !self.cases.contains_key(&stamp.full_id));
        self.recorded.extend(older.iter().map(|stamp| stamp.run_id.clone()));
        self.older.extend(older.iter().map(|stamp| stamp.full_id.clone()));
        older
    }

    /// The first `before` cases are of other files. A case can be in two after it moved to another bench
    /// target; the newer record is its own then.
    fn add(&mut self, record: Box<Record>, before: usize) {
        let known = self.cases.get_full(&record.full_id);
        if known
            .is_some_and(|(at, _, other)| at < before && other.record.timestamp > record.timestamp)
        {
            self.recorded.insert(record.run_id.clone());
            return;
        }
        self.cut_off.remove(&record.full_id);
        if !self.recorded.contains(&record.run_id) {
            self.recorded.insert(record.run_id.clone());
        }
        self.cases.insert(record.full_id.clone(), Row::new(record));
    }
}

/// One line for all records of a file that are of older versions.
fn older_file(path: &Path, older: &[Stamp]) -> Option<String> {
    let version = older.iter().map(|stamp| stamp.version).max()?;
    Some(format!(
        "{}: {} written by an earlier version of criterion-torch (record version {version}; this \
         criterion-report reads {}): measure again with `cargo bench`",
        path.display(),
        units::count(older.len(), "record"),
        Record::VERSION,
    ))
}

/// All runs, the oldest first as far as clocks tell, and a line for each whose manifest cannot be used.
pub fn read_runs(root: &Path) -> (Vec<Run>, Vec<String>) {
    let mut runs = Vec::new();
    let mut unreadable = Vec::new();
    let paths = files(&root.join("runs"), "json").unwrap_or_else(|error| {
        unreadable.push(error.to_string());
        Vec::new()
    });
    for path in paths {
        match read_run(&path) {
            Ok(run) => runs.push(run),
            Err(why) => unreadable.push(format!("{}: {why}", path.display())),
        }
    }
    runs.order_by(|Run { manifest: a, .. }, Run { manifest: b, .. }| {
        (a.started, &a.run_id).cmp(&(b.started, &b.run_id))
    });
    match in_progress(root) {
        Ok(None) => {}
        Ok(Some(run_id)) => {
            let is_it = |run: &&mut Run| run.manifest.run_id == run_id;
            runs.iter_mut().filter(is_it).for_each(|run| run.in_progress = true);
        }
        Err(why) => unreadable.push(format!("{}: {why}", root.join(LOCK).display())),
    }
    (runs, unreadable)
}

/// Held by a run from its beginning to its end; the system lets go of it however the run ends.
const LOCK: &str = "lock";

/// The run that is in progress. Results of before there was a lock have none.
fn in_progress(root: &Path) -> Result<Option<String>, String> {
    #[derive(serde::Deserialize)]
    struct Holder {
        run_id: String,
    }
    let lock = match file::open_all(&root.join(LOCK)) {
        Ok(lock) => lock.into_inner(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    match lock.try_lock_shared() {
        // Nobody holds it; this reader lets go of it where the file is closed.
        Ok(()) => return Ok(None),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(format!("cannot be tested: {error}")),
    }
    match serde_json::from_reader(lock.take(MOST_OF_LOCK)) {
        Ok(Holder { run_id }) => Ok(Some(run_id)),
        Err(error) => {
            Err(format!("a run is in progress, and this does not say which: {error}; try again"))
        }
    }
}

/// Bytes of the lock's text that are read.
const MOST_OF_LOCK: u64 = 1 << 16;

fn read_run(path: &Path) -> Result<Run, String> {
    let text = file::read(path).map_err(|error| error.to_string())?;
    let manifest = RunManifest::from_json(&text).map_err(|error| error.to_string())?;
    if manifest.version != RunManifest::VERSION {
        return Err(format!(
            "run manifest version {}, expected {}: cases that this run did not reach are not \
             reported",
            manifest.version,
            RunManifest::VERSION,
        ));
    }
    for (name, moment) in [("started", Some(manifest.started)), ("finished", manifest.finished)] {
        if let Some(moment) = moment.filter(|moment| *moment > units::LAST_MOMENT) {
            return Err(format!("`{name}` is {moment}, after the year 9999"));
        }
    }
    let running = read_running(path).map_err(|error| format!("the .running beside it: {error}"))?;
    Ok(Run { manifest, running, in_progress: false })
}

/// The case that a run was in when it ended. The file lies beside the run's manifest while a case
/// runs, so without one the run was in none.
fn read_running(manifest: &Path) -> io::Result<Option<String>> {
    match file::text(&manifest.with_extension("running")) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Files of `folder` with an extension, sorted; none when there is no such folder.
pub(crate) fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let failed = |why| file::unusable(folder, why);
    let paths = file::entries(folder).map_err(failed)?.into_iter().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    files.sort_unstable();
    Ok(files)
}

/// Names of the baselines under `root` that have records.
fn baselines(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for name in saved::folders(root)? {
        if !files(&root.join(&name), "jsonl")?.is_empty() {
            names.push(name);
        }
    }
    Ok(names)
}
