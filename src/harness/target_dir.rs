//! The folders that criterion and this harness write to.

use std::path::PathBuf;

#[derive(Debug)]
pub struct Folders {
    pub criterion: PathBuf,
    /// Our own, `criterion-torch` beside it.
    pub records: PathBuf,
}

/// Settles criterion's folder for this process, and ours.
///
/// Under cargo, criterion asks `cargo metadata`; a benchmark started by hand would write into the
/// current directory instead. The target directory is known either way, as the ancestor of this
/// executable that cargo has marked, so `CRITERION_HOME` is set to it unless the user has.
pub fn settle() -> Result<Folders, String> {
    const HOME: &str = "CRITERION_HOME";
    let criterion = match std::env::var_os(HOME) {
        Some(home) => PathBuf::from(home),
        None => {
            let criterion = target_dir()?.join("criterion");
            // SAFETY: called first thing in `main`, before any other thread exists.
            unsafe { std::env::set_var(HOME, &criterion) };
            criterion
        }
    };
    let records = criterion.with_file_name("criterion-torch");
    Ok(Folders { criterion, records })
}

fn target_dir() -> Result<PathBuf, String> {
    if let Some(folder) = std::env::var_os("CARGO_TARGET_DIR") {
        return Ok(PathBuf::from(folder));
    }
    let executable = std::env::current_exe()
        .map_err(|error| format!("this executable has no path: {error}; set CRITERION_HOME"))?;
    let marked = |folder: &&std::path::Path| folder.join("CACHEDIR.TAG").is_file();
    executable.ancestors().find(marked).map(PathBuf::from).ok_or_else(|| {
        format!(
            "{} is not inside a cargo target directory; set CRITERION_HOME",
            executable.display()
        )
    })
}
