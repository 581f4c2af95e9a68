//! The document of two revisions measured in lock-step.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use plan::lockstep::{self, LockstepCase};

use super::Location;

/// Two revisions by the blocks of their processes.
#[derive(Debug, Clone, PartialEq)]
pub struct Lockstep {
    /// By id.
    cases: HashMap<String, LockstepCase>,
    /// Relative differences of a time up to this did not matter when it was measured.
    pub threshold: f64,
    /// Commits of both sides, where they are of one.
    commits: [Option<String>; 2],
    /// The ids in the order of the document.
    ids: Vec<String>,
}

impl Lockstep {
    /// The document of two names; none where there is none.
    pub fn read(location: &Location, names: [&str; 2]) -> Result<Option<Self>> {
        let is_name = |name: &&str| !name.contains(['/', '\\']);
        if !names.iter().all(is_name) {
            return Ok(None);
        }
        let file = Self::file(location, names);
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.with_context(|| format!("cannot read {}", file.display()))?,
        };
        let document: lockstep::Lockstep = serde_json::from_str(&text)
            .with_context(|| format!("{} is no document of a comparison", file.display()))?;
        if document.schema != lockstep::SCHEMA || document.version != lockstep::VERSION {
            bail!(
                "{} is {} {}, and this program reads {} {}: compare the revisions again",
                file.display(),
                document.schema,
                document.version,
                lockstep::SCHEMA,
                lockstep::VERSION
            );
        }
        let ids = document.cases.iter().map(|case| case.full_id.clone()).collect();
        let cases = document.cases.into_iter().map(|case| (case.full_id.clone(), case)).collect();
        let commits = document.sides.map(|side| side.commit);
        Ok(Some(Self { cases, threshold: document.threshold, commits, ids }))
    }

    /// The first digits of the commit of a side, by its index, as records have it.
    pub fn revision(&self, side: usize) -> Option<String> {
        const SHORT: usize = 12;
        self.commits[side].as_ref().map(|commit| commit.chars().take(SHORT).collect())
    }

    /// The path of the document of two names.
    pub fn file(location: &Location, names: [&str; 2]) -> PathBuf {
        lockstep::file(&location.records, names)
    }

    /// The blocks of a case.
    pub fn get(&self, full_id: &str) -> Option<&LockstepCase> {
        self.cases.get(full_id)
    }

    /// The cases of a side, by its index.
    pub fn of_side(&self, side: usize) -> impl Iterator<Item = &LockstepCase> {
        self.ids.iter().map(|id| &self.cases[id]).filter(move |case| case.has[side])
    }
}
