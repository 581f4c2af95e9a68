//! `aa`: launches of one revision against each other, and the noise profile that follows.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::model::compare::{Aa, FILE, Profile, Remarks, Side, Thresholds, aa};
use crate::model::{Location, Selection};
use crate::{output, units};

/// What `aa` can be told.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The launches: those saved as `NAME@1`, `NAME@2` and so on
    name: String,
    /// Take launches of sources with uncommitted changes, or of no known revision
    #[arg(long)]
    allow_dirty: bool,
    /// Print only: leave the noise profile as it is
    #[arg(long)]
    no_save: bool,
}

/// What was found.
pub struct Outcome {
    /// The launches against each other.
    pub aa: Aa,
    /// What reading them had to say.
    pub remarks: Remarks,
    /// The file that was written.
    pub saved: Option<PathBuf>,
}

impl Options {
    /// Reads the launches, compares them and writes the profile, into `file` if it is given.
    pub fn run(
        &self,
        location: &Location,
        of_folder: &str,
        selection: Selection<'_>,
        file: Option<PathBuf>,
    ) -> Result<Outcome> {
        let (side, remarks) = Side::read(&self.name, location, of_folder, selection)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.context("the clock stands before 1970")?.as_secs();
        let file = file.unwrap_or_else(|| location.records.join(FILE));
        let known = Profile::read(&file)?.unwrap_or_default();
        let thresholds = Thresholds::default();
        let found = aa(&side, known, &units::rfc3339(now), &thresholds, self.allow_dirty)?;
        let saved = if self.no_save {
            None
        } else {
            output::put(&found.profile.json()?, Some(&file))?;
            Some(file)
        };
        Ok(Outcome { aa: found, remarks, saved })
    }
}
