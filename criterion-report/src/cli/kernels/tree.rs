//! The folder of reports.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::output;
use crate::read::file;
use crate::views::kernels::{text::File, text::MANIFEST, text::OF_A_COMPARISON, text::path_of};

/// Writes the files and removes those of an earlier report that are not among them.
pub fn put(folder: &Path, files: &[File]) -> Result<()> {
    let stale = stale(folder, files);
    for file in files {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .with_context(|| format!("cannot make {}", parent.display()))?;
        }
        output::put(&file.text, Some(&path))?;
    }
    remove(&stale)
}

/// Removes what an earlier report left in the folder and this one does not have: it would be read as
/// of now.
fn remove(paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        match fs::remove_file(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            result => result.with_context(|| format!("cannot remove {}", path.display()))?,
        }
    }
    Ok(())
}

/// The files of an earlier report that are not among those of now. The earlier report's manifest
/// names those of kernels; without a manifest, no file is known to be a report's.
fn stale(folder: &Path, files: &[File]) -> Vec<PathBuf> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let manifest = file::read_all(&folder.join(MANIFEST)).unwrap_or_default();
    let earlier: Vec<Named> = serde_json::from_slice(&manifest).unwrap_or_default();
    let kernels = earlier.iter().filter_map(|kernel| path_of(&kernel.name).ok());
    let mut paths: Vec<String> = kernels.collect();
    paths.extend(OF_A_COMPARISON.map(str::to_owned));
    paths.retain(|path| files.iter().all(|file| file.path != *path));
    paths.iter().map(|path| folder.join(path)).collect()
}
