//! `cache`: what the per-user folder holds, and how to be rid of what was compiled.

mod clear;
mod compiled;
mod found;
mod json;
mod kernels;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::partial;
use ::libtorch::compiled_bound;
use compiled::Compiled;
use found::Found;
use kernels::Kernels;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    Show(Format),
    /// Every compiled package.
    List(Format),
    Clear {
        what: Clear,
        /// Not used for so long.
        older_than: Option<Duration>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Table,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clear {
    Compiled,
    Kernels,
    /// Both.
    All,
}

pub fn command(request: Request) -> Result<ExitCode> {
    let cache = Cache::of_environment()?;
    let now = SystemTime::now();
    match request {
        Request::Show(Format::Table) => print!("{}", table::show(&Holdings::read(&cache)?, now)),
        Request::Show(Format::Json) => println!("{}", json::show(&Holdings::read(&cache)?)),
        Request::List(format) => {
            let compiled = Compiled::read(&cache.compiled())?;
            match format {
                Format::Table => print!("{}", table::list(&compiled, now)),
                Format::Json => println!("{}", json::list(&compiled)),
            }
        }
        Request::Clear { what, older_than } => clear::clear(&cache, what, older_than)?,
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
