//! Criterion's own files, read tolerantly: only the fields needed, unknown ones ignored.
//!
//! ```text
//! <root>/<group>/<function>/<parameter>/<baseline>/benchmark.json   written last
//!                                                 /estimates.json
//!                                                 /sample.json
//! ```
//!
//! Criterion calls these files private; the layout read here is that of 0.8.2. Folder names are
//! sanitised and cut, so a result is known by the `full_id` in `benchmark.json`, never by its path.

use std::collections::HashMap;
use std::fmt::Display;
use std::fs;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::de::DeserializeOwned;

use crate::model::{Benchmark, CriterionResult, Estimates, OwnResult, Row, Samples, own_result};
use crate::parallel;
use crate::read::{Selection, file};

/// The results of a baseline under criterion's root, with the folder of each, and what cannot be
/// used, in the order in which they were found. Their numbers are not read yet.
pub struct ResultFolders(Vec<Found>);

/// A folder of a result, whose numbers are not read yet.
pub type ResultFolder = Box<(PathBuf, Benchmark)>;

/// Reads the numbers of a result. A link is refused: it may lead to a file that changes later.
pub fn read_unlinked(folder: &Path, benchmark: &Benchmark) -> Result<Box<CriterionResult>, String> {
    let files = ["benchmark.json", "sample.json", "estimates.json"].map(|name| folder.join(name));
    match files.iter().find(|file| file.is_symlink()) {
        Some(file) => Err(unusable(file, "a link, which is not followed")),
        None => read_numbers(folder, benchmark.clone()),
    }
}

/// A folder of a result and what was measured, or what cannot be used and why.
type Found = Result<ResultFolder, String>;

enum Folder {
    Result(ResultFolder),
    Unusable(String),
    /// None: the folders in it, and what in it cannot be looked into.
    Parent {
        folders: Vec<PathBuf>,
        unreadable: Vec<String>,
    },
}

impl ResultFolders {
    /// Finds the results of `baseline` under `root`.
    ///
    /// A folder that is a link is not followed, so that no loop can be, and named: criterion makes
    /// none.
    pub fn under(root: &Path, baseline: &str) -> Self {
        let mut found = Vec::new();
        let mut level = vec![root.to_owned()];
        while !level.is_empty() {
            for folder in parallel::map_into(mem::take(&mut level), |it| visit(it, baseline)) {
                match folder {
                    Folder::Result(result) => found.push(Ok(result)),
                    Folder::Unusable(why) => found.push(Err(why)),
                    Folder::Parent { folders, unreadable } => {
                        level.extend(folders);
                        found.extend(unreadable.into_iter().map(Err));
                    }
                }
            }
        }
        Self(found)
    }

    /// The folders of each id, and the files and folders that cannot be used.
    pub fn by_id(self) -> (HashMap<String, Vec<ResultFolder>>, Vec<String>) {
        let (mut by_id, mut unusable) = (HashMap::new(), Vec::new());
        for found in self.0 {
            match found {
                Ok(it) => by_id.entry(it.1.full_id.clone()).or_insert_with(Vec::new).push(it),
                Err(why) => unusable.push(why),
            }
        }
        (by_id, unusable)
    }

    /// Reads the numbers of those of `cases` whose mode is asked for.
    pub fn read(self, cases: &mut IndexMap<String, Row>, selection: &Selection<'_>) -> Remarks {
        let read = |found: Found| {
            let (folder, benchmark) = *found?;
            let Some((place, _, row)) = cases.get_full(&benchmark.full_id) else {
                return Ok(Read::Foreign(benchmark.full_id));
            };
            if !selection.reads(row.record.case.mode) {
                return Ok(Read::NotAskedFor);
            }
            let result = read_numbers(&folder, benchmark)?;
            let own = own_result(&row.record, result);
            let kept = own.map(|(time, data)| (time, data.filter(|_| !selection.only_times)));
            Ok(Read::Case(place, kept))
        };
        let mut remarks = Remarks::default();
        for read in parallel::map_into(self.0, read) {
            match read {
                Ok(Read::Case(place, found)) => cases[place].take(found),
                Ok(Read::Foreign(id)) => remarks.foreign.push(id),
                Ok(Read::NotAskedFor) => {}
                Err(why) => remarks.unusable.push(why),
            }
        }
        remarks.foreign.sort_unstable();
        remarks
    }
}

/// The state of a result after reading.
enum Read {
    /// The place of its case.
    Case(usize, OwnResult),
    Foreign(String),
    NotAskedFor,
}

/// Results that no case has.
#[derive(Default)]
pub struct Remarks {
    /// The ids that no case has, sorted: other benchmarks of the same package.
    pub foreign: Vec<String>,
    /// The files and folders that cannot be used, each with its path.
    pub unusable: Vec<String>,
}

/// Looks at `folder`: a result of the baseline, or a folder of folders.
fn visit(folder: PathBuf, baseline: &str) -> Folder {
    if folder.file_name().is_some_and(|name| name == baseline) {
        let path = folder.join("benchmark.json");
        match file::read(&path) {
            Ok(text) => {
                return match serde_json::from_slice(&text) {
                    Ok(benchmark) => Folder::Result(Box::new((folder, benchmark))),
                    Err(error) => Folder::Unusable(unusable(&path, error)),
                };
            }
            // A group or function may itself be called like the baseline.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Folder::Unusable(format!("{}: {error}", path.display())),
        }
    }
    list(&folder, baseline)
        .unwrap_or_else(|error| Folder::Unusable(format!("{}: {error}", folder.display())))
}

fn list(folder: &Path, baseline: &str) -> io::Result<Folder> {
    let (mut folders, mut unreadable) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            folders.push(entry.path());
        } else if kind.is_symlink() {
            unreadable.extend(not_followed(&entry.path()));
        }
    }
    // Beside a result of the baseline lie those of others, in which there is nothing to find: to
    // list them would take as long as to read this one.
    let is_baseline = |folder: &PathBuf| folder.file_name().is_some_and(|name| name == baseline);
    if folders.iter().any(is_baseline) {
        folders.retain(|it| is_baseline(it) || !it.join("benchmark.json").exists());
    }
    // Folders are listed in any order; what is found is to be the same everywhere.
    folders.sort_unstable();
    unreadable.sort_unstable();
    Ok(Folder::Parent { folders, unreadable })
}

/// The error about a link, unless it leads to a file.
fn not_followed(link: &Path) -> Option<String> {
    let why = match fs::metadata(link) {
        Ok(target) if target.is_dir() => "a link to a folder, which is not followed; move the \
             folder itself here, or name it with --criterion-dir"
            .to_owned(),
        Ok(_) => return None,
        Err(error) => format!("a broken link: {error}"),
    };
    Some(format!("{}: {why}", link.display()))
}

fn read_numbers(folder: &Path, benchmark: Benchmark) -> Result<Box<CriterionResult>, String> {
    let mut samples: Samples = read_json(&folder.join("sample.json"))?;
    samples.iters.shrink_to_fit();
    samples.times.shrink_to_fit();
    let estimates: Estimates = read_json(&folder.join("estimates.json"))?;
    let result = Box::new(CriterionResult { benchmark, estimates, samples });
    result.check().map_err(|(file, why)| unusable(&folder.join(file), why))?;
    Ok(result)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = file::read(path).map_err(|error| unusable(path, error))?;
    serde_json::from_slice(&text).map_err(|error| unusable(path, error))
}

fn unusable(path: &Path, why: impl Display) -> String {
    format!("{}: {why}; measure it again, or delete its folder", path.display())
}
