//! `kernels`: every kernel of one's own, measured and reported.

mod configs;
mod options;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::cargo;
use crate::error::{Error, Result};
use crate::setup;
use crate::workspace::Workspace;
pub use options::Options;

/// Provisions, measures, and writes the report.
pub fn command(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    options.check()?;
    let here = std::env::current_dir()
        .map_err(|error| Error::new(format!("cannot read the current folder: {error}")))?;
    let results = cargo::results(workspace)?;
    options.look(&here, &results.records)?;
    let report = options.report(&here);
    let configs = configs::of(workspace, &options.overrides)?;
    setup::before(workspace)?;
    let run = cargo::Kernels {
        configs: configs.files,
        overridden: configs.overridden,
        shows_plan: options.verbose,
        filter: options.filter.clone(),
        save_baseline: options.save_baseline.clone(),
        home: results.criterion,
        report,
    };
    cargo::kernels(workspace, &run)
}

/// Cargo and what it starts run in the root of the clone; a path is meant from where the user is.
fn absolute(here: &Path, path: &Path) -> OsString {
    here.join(path).into_os_string()
}
