//! `cache`: what the per-user folder holds, and how to be rid of what was compiled.

mod clear;
mod compiled;
mod found;
mod json;
mod kernels;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Args, Subcommand, ValueEnum};

use crate::age;
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::partial;
use ::libtorch::compiled_bound;
use compiled::Compiled;
use found::Found;
use kernels::Kernels;

/// The options of `cache`.
#[derive(Debug, PartialEq, Eq, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, PartialEq, Eq, Args)]
struct Shown {
    /// A table for people, or JSON for programs
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Debug, PartialEq, Eq, Subcommand)]
enum Action {
    /// List each compiled package: key, mode, size, how long it took, when it was used last
    List(Shown),
    /// Remove what was compiled
    ///
    /// It is compiled again when it is needed. Nothing is removed that a process is using or making. A
    /// libtorch or Python's torch is removed with `rm -r`, and comes back with `cargo xtask setup`;
    /// links to it in other clones lead nowhere until then.
    Clear {
        what: Clear,
        /// Only what was not used (kernels: made) in so many days
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
        None => match options.shown.format {
            Format::Table => print!("{}", table::show(&Holdings::read(&cache)?, now)),
            Format::Json => println!("{}", json::show(&Holdings::read(&cache)?)),
        },
        Some(Action::List(Shown { format })) => {
            let compiled = Compiled::read(&cache.compiled())?;
            match format {
                Format::Table => print!("{}", table::list(&compiled, now)),
                Format::Json => println!("{}", json::list(&compiled)),
            }
        }
        Some(Action::Clear { what, older_than }) => {
            clear::clear(&cache, *what, older_than.map(age::days))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How many compiled packages there are, what they weigh together, and what they may weigh.
pub struct Packages {
    pub count: usize,
    pub bytes: u64,
    pub bound: u64,
}

impl Packages {
    pub fn read(cache: &Cache) -> Result<Self> {
        let Compiled { packages, .. } = Compiled::read(&cache.compiled())?;
        let bytes = found::bytes(packages.iter().map(|package| &package.found));
        Ok(Self { count: packages.len(), bytes, bound: bound()? })
    }
}

const BOUND_REMEDY: &str =
    "unset CRITERION_TORCH_COMPILED_MB, or set it to a whole number, e.g. 4096";

fn bound() -> Result<u64> {
    compiled_bound(|name| std::env::var_os(name))
        .map_err(|why| Error::new(why).remedy(BOUND_REMEDY))
}

/// All of the cache.
struct Holdings {
    folder: PathBuf,
    /// Each libtorch and each environment of Python.
    provisioned: Vec<Found>,
    /// Installations in progress, and what interrupted ones left.
    partials: Vec<Found>,
    kernels: Kernels,
    compiled: Compiled,
    /// What all packages together may weigh.
    bound: u64,
}

impl Holdings {
    fn read(cache: &Cache) -> Result<Self> {
        let (partials, provisioned) = found::entries(cache.dir())?
            .into_iter()
            .filter(|found| Cache::is_provisioned(&found.name()))
            .partition(|found| partial::is_partial(&found.path));
        Ok(Self {
            folder: cache.dir().to_path_buf(),
            provisioned,
            partials,
            kernels: Kernels::read(&cache.kernels())?,
            compiled: Compiled::read(&cache.compiled())?,
            bound: bound()?,
        })
    }
}
