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

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::criterion_result::{Benchmark, CriterionResult, Estimates, Samples, Unusable};

/// Everything found under criterion's root for one baseline.
#[derive(Debug, Default)]
pub struct CriterionFiles {
    /// Results by `full_id`. A folder left by an older run can claim an id a second time.
    pub results: HashMap<String, Vec<CriterionResult>>,
    /// `full_id`s that were not asked for: other benchmarks of the same package.
    pub foreign: Vec<String>,
    /// Files and folders that cannot be used, each with its path.
    pub unreadable: Vec<String>,
}

impl CriterionFiles {
    /// Reads the results of `baseline` under `root` whose `full_id` is in `wanted`.
    pub fn read(root: &Path, baseline: &str, wanted: &HashSet<&str>) -> Self {
        let mut found = Self::default();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            if let Err(error) = found.visit(&folder, baseline, wanted, &mut folders) {
                found.unreadable.push(format!("{}: {error}", folder.display()));
            }
        }
        found.foreign.sort_unstable();
        found
    }

    /// Reads `folder` if it is a result of the baseline, else queues the folders in it.
    fn visit(
        &mut self,
        folder: &Path,
        baseline: &str,
        wanted: &HashSet<&str>,
        queue: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        if folder.file_name().is_some_and(|name| name == baseline) {
            let path = folder.join("benchmark.json");
            match fs::read(&path) {
                Ok(text) => {
                    self.read_result(folder, &path, &text, wanted);
                    return Ok(());
                }
                // A group or function may itself be called like the baseline.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                queue.push(entry.path());
            }
        }
        Ok(())
    }

    fn read_result(&mut self, folder: &Path, path: &Path, text: &[u8], wanted: &HashSet<&str>) {
        let benchmark: Benchmark = match serde_json::from_slice(text) {
            Ok(benchmark) => benchmark,
            Err(error) => {
                self.unreadable.push(format!("{}: {error}", path.display()));
                return;
            }
        };
        if !wanted.contains(benchmark.full_id.as_str()) {
            self.foreign.push(benchmark.full_id);
            return;
        }
        let id = benchmark.full_id.clone();
        match read_numbers(folder, benchmark) {
            Ok(result) => self.results.entry(id).or_default().push(result),
            Err(why) => self.unreadable.push(why),
        }
    }
}

fn read_numbers(folder: &Path, benchmark: Benchmark) -> Result<CriterionResult, String> {
    let sample_path = folder.join("sample.json");
    let samples: Samples = read_json(&sample_path)?;
    let estimates_path = folder.join("estimates.json");
    let estimates: Estimates = read_json(&estimates_path)?;
    CriterionResult::new(benchmark, estimates, samples).map_err(|unusable| match unusable {
        Unusable::Samples(why) => format!("{}: {why}", sample_path.display()),
        Unusable::Estimates(why) => format!("{}: {why}", estimates_path.display()),
    })
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
}
