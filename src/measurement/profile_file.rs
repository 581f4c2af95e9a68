//! The files of a profile.

use std::path::Path;

use ::libtorch::partial;
use plan::{ProfileFile, ProfileFileKind};

use crate::refusal::Refusal;

/// Writes a file beside its place and renames it; reports it with its path relative to `root`.
pub fn write(
    path: &Path,
    bytes: &[u8],
    kind: ProfileFileKind,
    root: &Path,
) -> Result<ProfileFile, Refusal> {
    let failed = |error| Refusal::Failed(format!("cannot write {}: {error}", path.display()));
    partial::write(path, bytes).map_err(failed)?;
    let relative = path.strip_prefix(root).unwrap_or(path);
    Ok(ProfileFile::new(kind, relative.display().to_string(), bytes))
}
