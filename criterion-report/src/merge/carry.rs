//! Files that are carried over from one folder to another.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::read::file;

/// The name, then the name with each number from 2 on.
pub fn numbered(name: &str) -> impl Iterator<Item = String> {
    let others = (2_u32..).map(move |number| format!("{name}~{number}"));
    std::iter::once(name.to_owned()).chain(others)
}

/// A path for a file of this content; none where it is there already. Runs of two machines may have one name: in
/// containers that start together even the number of the process is the same.
pub fn unlike(folder: &Path, name: &str, ending: &str, content: &[u8]) -> Result<Option<PathBuf>> {
    for name in numbered(name) {
        let path = folder.join(format!("{name}.{ending}"));
        match fs::read(&path) {
            Ok(known) if known == content => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(path)),
            Err(error) => return Err(error.into()),
        }
    }
    bail!("{}: no name is free for another {name}.{ending}", folder.display())
}

/// Carries the files of a result over. Two ids may have one folder, whose name is sanitised: the second takes
/// another, since a result is known by the id in `benchmark.json`.
pub fn carry_folder(from: &Path, to: PathBuf) -> Result<()> {
    let to = free(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            carry_file(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Makes the folder of a result, `…/<parameter>/<baseline>`; with a number behind the parameter where there is one.
fn free(folder: PathBuf) -> Result<PathBuf> {
    let (Some(parameter), Some(baseline)) = (folder.parent(), folder.file_name()) else {
        bail!("{}: not the folder of a result", folder.display())
    };
    let name = parameter.file_name().unwrap_or_default().to_string_lossy();
    for name in numbered(&name) {
        let parameter = parameter.with_file_name(name);
        fs::create_dir_all(&parameter)?;
        let folder = parameter.join(baseline);
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    bail!("{}: no name is free for another result", folder.display())
}

/// Copies a regular file to a new one. A hard link would change with the original: criterion rewrites its files in place.
/// File systems that can share blocks until then do so here.
pub fn carry_file(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut file::open_all(from)?, &mut File::create_new(to)?).map(|_| ())
}

/// Writes a new file, which is on disk then.
pub fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
#[path = "carry_tests.rs"]
mod tests;
