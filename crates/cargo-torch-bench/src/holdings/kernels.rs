//! CUDA and Triton kernels, compiled: one file each in `<cache>/kernels/`, which the library writes
//! beside its place, as `….partial-<random>`, and renames.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::found::{self, Found};
use crate::age;
use crate::error::{Error, Result};
use crate::partial;

#[derive(Debug, Default)]
pub struct Kernels {
    pub files: Vec<Found>,
    /// Being written, or left by a process that ended while it wrote.
    pub partials: Vec<Found>,
}

impl Kernels {
    pub fn read(folder: &Path) -> Result<Self> {
        let (partials, files) =
            found::entries(folder)?.into_iter().partition(|found| partial::is_partial(&found.path));
        Ok(Self { files, partials })
    }
}

/// A partial file is a moment old: its content is in memory before it is opened.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// Takes a file away. False if it stays because a process may be writing it.
pub fn remove(found: &Found, now: SystemTime) -> Result<bool> {
    if partial::is_partial(&found.path) && age::since(found.used, now) < PATIENCE {
        return Ok(false);
    }
    match fs::remove_file(&found.path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::io("remove", &found.path, &error))
        }
        _ => Ok(true),
    }
}
