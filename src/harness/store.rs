//! The files that a run writes beside criterion's.
//!
//! `target/criterion-torch/<baseline>/<target>.jsonl` holds a record per case, `new` always the
//! latest; `runs/<run-id>.json` says what the run was asked for. A record is appended and flushed
//! as soon as its case ends, so that a crash costs one case; the last line of an id is the valid
//! one, and a run that ends compacts its files to one line per id.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ::libtorch::partial;
use plan::{Record, RunManifest};

/// The records of a bench target under a name.
pub fn file(root: &Path, baseline: &str, target: &str) -> PathBuf {
    root.join(baseline).join(format!("{target}.jsonl"))
}

/// The files of one run.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    target: String,
    /// Whether the run measures; a test leaves nothing behind.
    measures: bool,
    /// `new`, and the name that criterion saves under.
    baselines: Vec<String>,
}

impl Store {
    /// A store for `target` under `root`; nothing is written yet.
    pub fn new(
        root: PathBuf,
        target: &str,
        measures: bool,
        saves: bool,
        saved_as: Option<&str>,
    ) -> Self {
        let names = saves.then(|| ["new"].into_iter().chain(saved_as));
        let baselines = names.into_iter().flatten().map(str::to_owned).collect();
        Self { root, target: target.to_owned(), measures, baselines }
    }

    pub fn folder(&self) -> &Path {
        &self.root
    }

    /// The files of records that the run writes.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.baselines.iter().map(|baseline| file(&self.root, baseline, &self.target))
    }

    fn run_file(&self, run_id: &str, extension: &str) -> PathBuf {
        self.root.join("runs").join(format!("{run_id}.{extension}"))
    }

    /// Appends `record` to every file of this run and flushes it to the disk. A record that cannot be
    /// written whole leaves no part.
    pub fn append(&self, record: &Record) -> io::Result<()> {
        let mut line = serde_json::to_vec(record).map_err(io::Error::other)?;
        line.push(b'\n');
        for path in self.files() {
            append_line(&path, &line).map_err(|error| with_path(&path, &error))?;
        }
        Ok(())
    }

    /// Writes the run's manifest, replacing an earlier state of it.
    pub fn write_manifest(&self, manifest: &RunManifest) -> io::Result<()> {
        if !self.measures {
            return Ok(());
        }
        let path = self.run_file(&manifest.run_id, "json");
        let text = serde_json::to_vec_pretty(manifest).map_err(io::Error::other)?;
        partial::write(&path, &text).map_err(|error| with_path(&path, &error))
    }

    /// Writes which case is running. Not flushed to the disk: it is for a process that dies, not
    /// for a machine that does.
    pub fn write_running(&self, run_id: &str, full_id: &str) -> io::Result<()> {
        if !self.measures {
            return Ok(());
        }
        let path = self.run_file(run_id, "running");
        fs::write(&path, full_id).map_err(|error| with_path(&path, &error))
    }

    /// Removes what says which case is running, of every run.
    pub fn remove_running(&self) -> io::Result<()> {
        let folder = self.root.join("runs");
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(|error| with_path(&folder, &error))?,
        };
        for entry in entries {
            let path = entry.map_err(|error| with_path(&folder, &error))?.path();
            if path.extension().is_some_and(|it| it == "running") {
                fs::remove_file(&path).map_err(|error| with_path(&path, &error))?;
            }
        }
        Ok(())
    }

    /// Ends the run: the final manifest, because that is what a reader asks for first; one line per
    /// id in every file, in the order of their first lines; no case running.
    pub fn close(&self, manifest: &RunManifest) -> io::Result<()> {
        self.write_manifest(manifest)?;
        for path in self.files() {
            if path.exists() {
                compact(&path).map_err(|error| with_path(&path, &error))?;
            }
        }
        if self.measures {
            let path = self.run_file(&manifest.run_id, "running");
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(with_path(&path, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn append_line(path: &Path, line: &[u8]) -> io::Result<()> {
    make_folder_of(path)?;
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    let before = file.metadata()?.len();
    // A torn last line of a crash must not swallow this one.
    let whole = match ends_torn(&mut file)? {
        true => [b"\n", line].concat(),
        false => line.to_vec(),
    };
    let written = file.write_all(&whole).and_then(|()| file.sync_data());
    if written.is_err() {
        file.set_len(before)?;
    }
    written
}

fn make_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn ends_torn(file: &mut File) -> io::Result<bool> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// A line of a file of records.
enum Line {
    /// A record of this case.
    Whole(String),
    /// The rest that a killed process left of one; the case, if it got so far.
    Torn(Option<String>),
    Other,
}

impl Line {
    fn from_line(line: &[u8]) -> Self {
        #[derive(serde::Deserialize)]
        struct Key {
            full_id: String,
        }
        match serde_json::from_slice::<Key>(line) {
            // Unless it was cut inside of a character.
            _ if std::str::from_utf8(line).is_err_and(|it| it.error_len().is_some()) => Self::Other,
            Ok(key) => Self::Whole(key.full_id),
            Err(error) if error.is_eof() => Self::Torn(Record::begun(line).0),
            Err(_) => Self::Other,
        }
    }
}

/// Keeps the last line of each id. A torn line is history as soon as its case was measured again; one that names no case
/// says nothing: the manifest of its run says which case is missing. Other lines that cannot be read are kept as they are:
/// they are evidence for a reader, not ours to delete.
fn compact(path: &Path) -> io::Result<()> {
    let bytes = fs::read(path)?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines: Vec<(&[u8], Line)> = lines.map(|line| (line, Line::from_line(line))).collect();
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (at, (_, line)) in lines.iter().enumerate() {
        if let Line::Whole(id) = line {
            last.insert(id, at);
        }
    }
    let mut written = HashSet::new();
    let kept = lines.iter().enumerate().filter_map(|(at, (text, line))| match line {
        Line::Whole(id) => written.insert(id).then(|| lines[last[&**id]].0),
        Line::Torn(id) => {
            let again = last.get(id.as_deref()?).is_some_and(|whole| *whole > at);
            (!again).then_some(*text)
        }
        Line::Other => Some(*text),
    });
    let ended: Vec<&[u8]> = kept.flat_map(|line| [line, b"\n"]).collect();
    partial::write(path, &ended.concat())
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
