//! `compare-torchao`: our eager times against torchao's own.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::cargo;
use crate::error::{Error, Result};
use crate::setup;
use crate::torchao;
use crate::workspace::Workspace;

/// The comparison, and whose torchao it is with.
#[derive(Debug, PartialEq, Eq, clap::Args)]
pub struct Comparison {
    /// The config whose cases are compared
    config: PathBuf,
    /// Only cases whose id matches this regular expression
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    filter: Option<OsString>,
    /// A Python that has torch 2.11.0 and torchao 0.17.0
    ///
    /// Without it, that of SELF_TEST_PYTHON; else that of `cargo xtask setup --python`, which is
    /// provisioned if it is not there yet: about 2.7 GB to download on Linux, 5 GB on disk.
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
}

/// Provisions both sides, then runs the bench that has them take turns.
pub fn command(workspace: &Workspace, comparison: Comparison) -> Result<ExitCode> {
    let Comparison { config, filter, python } = comparison;
    // Cargo runs in the root of the clone. Before anything is downloaded or built.
    let config = config.canonicalize().map_err(|error| Error::io("read", &config, &error))?;
    setup::before(workspace)?;
    let python = torchao::python(python)?;
    let mut arguments = vec![config.into_os_string()];
    arguments.extend(filter.into_iter().flat_map(|filter| [OsString::from("--filter"), filter]));
    cargo::compare(workspace, &python, &arguments)
}
