//! `compare-torchao`: our eager times against torchao's own.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::Comparison;
use crate::cargo;
use crate::error::{Error, Result};
use crate::setup;
use crate::torchao;
use crate::workspace::Workspace;

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
