//! The folders of results, as the benchmarks and the report find them.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use plan::results;
use walkdir::WalkDir;

use crate::error::{Error, Result};
use crate::files;
use crate::folder_lock::FolderLock;
use crate::template;

pub use plan::results::HOME;

/// The results of one clone.
#[derive(Debug, PartialEq, Eq)]
pub struct Results {
    /// Criterion's.
    pub criterion: PathBuf,
    /// The records, beside criterion's.
    pub records: PathBuf,
}

impl Results {
    /// The results of a clone that cargo builds in `target`: where a benchmark or a report has them that is started from here.
    pub fn of_environment(target: &Path) -> Result<Self> {
        let here = env::current_dir()
            .map_err(|error| Error::new(format!("no current folder: {error}")))?;
        Ok(Self::new(results::home(&here).unwrap_or_else(|| target.join("criterion"))))
    }

    /// The option by which `cargo criterion-report` finds them at `root`, if it needs one.
    pub fn option(&self, root: &Path) -> String {
        if results::of_tool(root).0 == self.criterion {
            return String::new();
        }
        format!(" --criterion-dir {}", template::path(&self.criterion))
    }

    fn new(criterion: PathBuf) -> Self {
        Self { records: results::records(&criterion), criterion }
    }

    /// Held by whoever has several runs leave their results here.
    pub fn lock(&self) -> Result<FolderLock> {
        FolderLock::take(&self.records.join("launches.lock"))
    }

    /// Removes every run of the side `name`: the folders `name@1`, `name@2` and so on of every
    /// benchmark, and those of the records. Returns which there were.
    ///
    /// A folder with folders in it is that of a benchmark or of a group, whatever it is called: what
    /// criterion and the records keep of a run are files.
    pub fn remove_runs(&self, name: &str) -> Result<BTreeSet<u64>> {
        let mut removed = BTreeSet::new();
        for (place, depth) in [(&self.criterion, usize::MAX), (&self.records, 1)] {
            let mut walk = WalkDir::new(place).min_depth(1).max_depth(depth).into_iter();
            while let Some(entry) = walk.next().filter(|_| place.exists()) {
                let entry = entry.map_err(|error| Error::new(format!("cannot read {error}")))?;
                if let Some(number) = run(entry.path(), name)
                    && entry.file_type().is_dir()
                    && files::inside(entry.path())?.iter().all(|inner| !inner.is_dir())
                {
                    files::remove_folder(entry.path())?;
                    removed.insert(number);
                    walk.skip_current_dir();
                }
            }
        }
        Ok(removed)
    }
}

/// Under which name a run of a side is kept.
pub fn kept_as(side: &str, run: u64) -> String {
    format!("{side}@{run}")
}

/// The number of the run that is kept in `folder`, if it is one of the side `name`.
fn run(folder: &Path, name: &str) -> Option<u64> {
    let number = folder.file_name()?.to_str()?.strip_prefix(name)?.strip_prefix('@')?;
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Every file under `folder`, as paths in it.
    fn files(folder: &Path, root: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).expect("list a scratch folder") {
            let path = entry.expect("list a scratch folder").path();
            if path.is_dir() {
                found.extend(files(&path, root));
            } else {
                let path = path.strip_prefix(root).expect("it lies in there");
                found.push(path.display().to_string());
            }
        }
        found.sort();
        found
    }

    #[test]
    fn the_runs_of_a_name_go_and_nothing_else_does() {
        let root = env::temp_dir().join(format!("xtask-results-{}", std::process::id()));
        let stays = [
            "criterion-torch/main/inference.jsonl",
            "criterion-torch/main@x/inference.jsonl",
            "criterion-torch/pr@1/inference.jsonl",
            "criterion-torch/runs/main@1",
            "criterion/group/case/main/sample.json",
            "criterion/group/case/main@+1/sample.json",
            "criterion/group/case/main@1x/sample.json",
            "criterion/group/case/new/sample.json",
            // A group that is called like a run.
            "criterion/main@3/case/new/sample.json",
            "criterion/old-main@1/sample.json",
        ];
        let goes = [
            "criterion-torch/main@1/inference.jsonl",
            "criterion-torch/main@1/inference.lock",
            "criterion-torch/main@12/inference.jsonl",
            "criterion/deep/group/case/main@2/estimates.json",
            "criterion/group/case/main@1/sample.json",
            "criterion/main@3/case/main@1/sample.json",
        ];
        for file in stays.iter().chain(&goes) {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("folder");
            fs::write(path, "").expect("write a scratch file");
        }
        let results = Results::new(root.join("criterion"));
        assert_eq!(results.records, root.join("criterion-torch"));
        assert_eq!(results.remove_runs("main"), Ok([1, 2, 12].into()));
        assert_eq!(files(&root, &root), stays);
        assert_eq!(results.remove_runs("main"), Ok(BTreeSet::new()));
        fs::remove_dir_all(&root).expect("remove the scratch folder");
        assert_eq!(results.remove_runs("main"), Ok(BTreeSet::new()), "no folder, no run");
    }
}
