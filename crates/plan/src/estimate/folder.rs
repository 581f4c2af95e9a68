//! Reads the records of earlier runs.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use super::Estimator;
use crate::record::Record;

/// Lines that could not be read, in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The file.
    pub path: PathBuf,
    /// How many.
    pub lines: usize,
    /// The first one's error.
    pub why: String,
}

impl Estimator {
    /// The name of the folder with each case's latest record, next to those of named baselines.
    const LATEST: &str = "new";

    /// Learns from the latest records in a folder of records (`target/criterion-torch`), and says which lines it could
    /// not read. Records of machines other than the one that measured last are ignored.
    ///
    /// # Errors
    /// When a file that is there cannot be opened or read.
    pub fn of_folder(records: &Path) -> io::Result<(Self, Vec<Unread>)> {
        let (mut found, mut unread) = (Vec::new(), Vec::new());
        for path in files(&records.join(Self::LATEST))? {
            unread.extend(read(&path, &mut found)?);
        }
        let latest = found.iter().max_by_key(|record| record.timestamp).map(machine);
        let here = |record: &&Record| latest == Some(machine(record));
        Ok((found.iter().filter(here).collect(), unread))
    }
}

fn machine(record: &Record) -> (&str, u32) {
    let host = &record.environment.host;
    (&host.cpu_model, host.cpus)
}

/// The files of records; empty if nothing was measured yet.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let is_records = |path: &PathBuf| path.extension().is_some_and(|it| it == "jsonl");
    let mut paths: Vec<PathBuf> = paths.into_iter().filter(is_records).collect();
    paths.sort();
    Ok(paths)
}

/// Reads a file; a case's last line counts, as its records are appended.
fn read(path: &Path, found: &mut Vec<Record>) -> io::Result<Option<Unread>> {
    let mut unread: Option<Unread> = None;
    for line in BufReader::new(File::open(path)?).lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        match Record::from_json(line.as_bytes()) {
            Ok(record) => found.push(record),
            Err(error) => {
                let first = || Unread { path: path.to_owned(), lines: 0, why: error.to_string() };
                unread.get_or_insert_with(first).lines += 1;
            }
        }
    }
    Ok(unread)
}
