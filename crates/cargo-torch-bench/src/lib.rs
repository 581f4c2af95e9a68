#![doc = include_str!("../README.md")]
//!
//! In this repository it is also `cargo xtask`: `crates/xtask` adds developer commands. It builds before libtorch is there.
//! The order of the modules is the order in which they build on each other.

// First, because its macros hold in the modules below it.
#[macro_use]
#[doc(hidden)]
pub mod output;

#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod human;
#[doc(hidden)]
pub mod name;
mod template;

#[doc(hidden)]
pub mod files;

mod folder_lock;
#[doc(hidden)]
pub mod results;
#[doc(hidden)]
pub mod workspace;

mod configuration;

mod source;

mod ask;
mod driver;
mod flavour;

mod cache;
mod python;
mod wheel;

#[doc(hidden)]
pub mod cargo;

#[doc(hidden)]
pub mod setup;

mod new;

mod cache_report;
#[doc(hidden)]
pub mod environment;

mod bench_arguments;

#[doc(hidden)]
pub mod doctor;

mod kernels;

mod side;

mod runs;

mod lockstep;

mod progress_line;

#[doc(hidden)]
pub mod gpu_check;

mod bench;
mod bundle;
mod compare_branches;
mod submit;
mod suite;

#[doc(hidden)]
pub mod cli_examples;

#[doc(hidden)]
pub mod cli;

#[cfg(test)]
#[path = "../../../tests/common/skip.rs"]
mod skip;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use bench::Extent;
#[doc(hidden)]
pub use bundle::run::check as check_runner;
use cli::{Cli, Command, CommandLine, parsed};
use error::Error;
use workspace::Workspace;

/// Runs the command line of this process.
#[doc(hidden)]
pub fn main() -> ExitCode {
    run::<Cli>()
}

/// Runs the command line of this process, which may have more commands than the tool.
#[doc(hidden)]
pub fn run<C: CommandLine>() -> ExitCode {
    if bundle::run::is_called() {
        return bundle::run::main();
    }
    if lockstep::linker::is_called() {
        return lockstep::linker::main();
    }
    match cli::read::<C>().run().and_then(|code| output::check().map(|()| code)) {
        Ok(code) => code,
        Err(error) => {
            eprint!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Reads a command line without running it, as the tests of documents do: the arguments that `bench` passes on to
/// `cargo bench`, none of other commands.
///
/// # Errors
/// Help, and mistakes.
#[doc(hidden)]
pub fn check<C: CommandLine>(words: Vec<OsString>) -> Result<Vec<OsString>, clap::Error> {
    Ok(match parsed::<C>(words)?.tool() {
        Some(Command::Bench { arguments, .. }) => arguments.clone(),
        _ => Vec::new(),
    })
}

/// The configs that a command line of `calibrate` or `operators` measures, with their modes; nothing is written.
///
/// # Errors
/// Help, and mistakes.
#[doc(hidden)]
pub fn configs(words: Vec<OsString>) -> Result<Vec<(&'static str, String)>, clap::Error> {
    let configs = match parsed::<Cli>(words)?.command {
        Command::Calibrate(options) => options.configs(),
        Command::Operators(options) => options.configs(),
        _ => Vec::new(),
    };
    Ok(configs.into_iter().map(|it| (it.mode, it.text)).collect())
}

/// The command lines of `criterion-report` that follow what a command line measures: all of them for `calibrate` and
/// `operators`, that of torchao's folders for `bench`.
///
/// # Errors
/// Help, and mistakes.
#[doc(hidden)]
pub fn reports(words: Vec<OsString>) -> Result<Vec<Vec<OsString>>, clap::Error> {
    let reports = match parsed::<Cli>(words)?.command {
        Command::Calibrate(options) => options.reports(),
        Command::Operators(options) => options.reports(),
        Command::Bench { torchao_output: Some(folder), arguments, .. } => {
            bench::torchao_output(folder.as_deref(), &arguments).map(|words| vec![words])
        }
        _ => Ok(Vec::new()),
    };
    reports.map_err(|error| clap::Error::raw(clap::error::ErrorKind::Io, error))
}

/// Refuses words of a foreign bundle that are not `bundle`'s own, or that write elsewhere.
fn check_bundle(made_by: &[String]) -> Result<(), Error> {
    let output = PathBuf::from("x.tar");
    let words = ["", "bundle", "--output", "x.tar"]
        .map(str::to_owned)
        .into_iter()
        .chain(made_by.iter().cloned());
    match parsed::<Cli>(words.map(OsString::from).collect()).map(|it| it.command) {
        Ok(Command::Bundle(options)) if options.output == output => Ok(()),
        _ => Err(Error::usage(format!(
            "the manifest's made_by is no command line of `bundle`: {made_by:?}"
        ))
        .remedy("make the bundle with this version of cargo-torch-bench")),
    }
}

/// Runs a command of the tool.
#[doc(hidden)]
pub fn run_command(command: Command) -> Result<ExitCode, Error> {
    let workspace = Workspace::of_current_dir;
    match command {
        Command::Setup(options) => {
            setup::command(&workspace()?, options.flavour()?)?;
            if options.python { environment::command() } else { Ok(ExitCode::SUCCESS) }
        }
        Command::Bench { repeat, budget, full, device, verbose, torchao_output, arguments } => {
            let arguments = bench::with_budget(&arguments, budget.as_deref())?;
            let extent = Extent { device, full, verbose, torchao_output };
            bench::command(&workspace()?, repeat, &extent, &arguments)
        }
        Command::Bundle(options) => bundle::command(&workspace()?, &options),
        Command::Submit(options) => submit::command(&options),
        Command::CompareBranches(options) => compare_branches::command(&workspace()?, &options),
        Command::Calibrate(options) => suite::calibrate::command(&workspace()?, &options),
        Command::Operators(options) => suite::operators::command(&workspace()?, &options),
        Command::Recommend(options) => suite::recommend::command(&workspace()?, &options),
        Command::Kernels(options) => kernels::command(&workspace()?, &options),
        Command::Judge(options) => kernels::submission::command(&workspace()?, &options),
        Command::Flavour => setup::print_flavour(&workspace()?),
        Command::Python => Ok(environment::print()),
        Command::Cache(options) => cache_report::command(&options),
        Command::Doctor => doctor::command(&workspace()?),
        Command::New(options) => new::command(&options),
    }
}
