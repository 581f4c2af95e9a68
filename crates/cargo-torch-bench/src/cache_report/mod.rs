//! `cache`: shows the per-user folder, and removes what was compiled.

mod clear;
mod contents;
mod table;

use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use crate::cache::Cache;
use crate::error::Result;
use crate::human;
use contents::{Contents, Packages};

/// The options of `cache`.
#[derive(Debug, PartialEq, Eq, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    shown: Shown,
}

const LIST: &str = "\
Example:
  cargo xtask cache list --format json

Read more: docs/book/src/configs/compiled.md";

const CLEAR: &str = "\
Example:
  cargo xtask cache clear compiled --older-than 30

Read more: docs/book/src/configs/compiled.md";

#[derive(Debug, PartialEq, Eq, Args)]
struct Shown {
    /// A table for people, or JSON for programs
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Debug, PartialEq, Eq, Subcommand)]
enum Action {
    /// List each compiled package: key, mode, size, build time, last use
    #[command(after_long_help = LIST)]
    List(Shown),
    /// Remove what was compiled
    ///
    /// It is compiled again when it is needed. Nothing is removed that a process uses. A libtorch
    /// or Python's torch is removed with `rm -r`, and comes back with `cargo xtask setup`; links to
    /// it in other clones lead nowhere until then.
    #[command(after_long_help = CLEAR)]
    Clear {
        what: Clear,
        /// Only packages unused (kernels: made) for so many days
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u64>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Clear {
    /// Packages of torch.compile
    Compiled,
    /// CUDA and Triton kernels
    Kernels,
    /// Both
    All,
}

pub fn command(options: &Options) -> Result<ExitCode> {
    let cache = Cache::of_environment()?;
    let now = SystemTime::now();
    match &options.action {
        None => {
            let contents = Contents::read(&cache)?;
            options.shown.print(&contents, |contents| table::show(contents, now));
        }
        Some(Action::List(shown)) => {
            let packages = Packages::read(&cache)?.packages;
            shown.print(&packages, |packages| table::list(packages, now));
        }
        Some(Action::Clear { what, older_than }) => {
            clear::clear(&cache, *what, older_than.map(human::days))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Shown {
    fn print<T: Serialize>(&self, value: &T, table: impl Fn(&T) -> String) {
        match self.format {
            Format::Table => print!("{}", table(value)),
            Format::Json => {
                println!("{}", serde_json::to_string_pretty(value).expect("every key is text"));
            }
        }
    }
}

/// How many compiled packages there are, what they weigh together, and what they may weigh.
pub fn packages(cache: &Cache) -> Result<(usize, u64, u64)> {
    let Packages { packages, bound_bytes, .. } = Packages::read(cache)?;
    Ok((packages.len(), packages.iter().map(|package| package.found.bytes).sum(), bound_bytes))
}
