//! `compare-torchao`: our times against torchao's own.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use ::libtorch::{COMPILER_PYTHON, PYTHON, TORCHAO, VERSION};
use cargo_torch_bench::cargo;
use cargo_torch_bench::environment;
use cargo_torch_bench::error::{Error, Result};
use cargo_torch_bench::setup;
use cargo_torch_bench::workspace::Workspace;
use plan::results::variable;

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

/// Provisions both sides, then runs the bench `self_test`, which has them take turns.
pub fn command(workspace: &Workspace, comparison: Comparison) -> Result<ExitCode> {
    let Comparison { config, filter, python: chosen } = comparison;
    // Cargo runs in the root of the clone. Before anything is downloaded or built.
    let config = config.canonicalize().map_err(|error| Error::io("read", &config, &error))?;
    setup::ensure(workspace)?;
    let python = python(chosen)?;
    let mut cargo = cargo::in_folder(workspace.root());
    cargo.args(["bench", "--bench", "self_test", "--", "torchao"]).arg(config);
    cargo.args(filter.iter().flat_map(|it| ["--filter".as_ref(), it.as_os_str()]));
    cargo.env(PYTHON, &python);
    // It has the torch that compiles, too: both sides' code comes from the same one.
    if env::var_os(COMPILER_PYTHON).is_none() {
        cargo.env(COMPILER_PYTHON, &python);
    }
    // Neither side's threads may spin while the other side is timed.
    if env::var_os(WAIT_POLICY).is_none() {
        cargo.env(WAIT_POLICY, "passive");
    }
    Ok(cargo::exit_code(cargo::status(cargo)?))
}

const WAIT_POLICY: &str = "OMP_WAIT_POLICY";

/// The Python that is `chosen`, that SELF_TEST_PYTHON names, or that lies in the cache: provisioned
/// if there is none yet.
fn python(chosen: Option<PathBuf>) -> Result<PathBuf> {
    let (python, by) = match (chosen, variable(PYTHON)) {
        (Some(python), _) => (python, "--python"),
        (None, Some(python)) => (PathBuf::from(python), PYTHON),
        (None, None) => return environment::provision().map_err(use_your_own),
    };
    environment::check(&python).map_err(|why| {
        Error::new(format!("{by}: {} cannot be used: {why}", python.display()))
            .remedy(format!("leave out --python and unset {PYTHON}, and one is provisioned"))
            .remedy(format!("or have it: pip install torch=={VERSION} torchao=={TORCHAO}"))
    })?;
    Ok(python)
}

fn use_your_own(error: Error) -> Error {
    error.remedy(format!(
        "or name a Python that has torch {VERSION} and torchao {TORCHAO}: --python /path/to/it"
    ))
}
