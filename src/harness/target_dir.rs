//! The folders that criterion and this harness write to.

use std::path::PathBuf;

use plan::results;

#[derive(Debug)]
pub struct Folders {
    pub criterion: PathBuf,
    /// Our own, beside it.
    pub records: PathBuf,
}

/// Settles criterion's folder for this process, and ours.
pub fn settle() -> Result<Folders, String> {
    let program = std::env::current_exe()
        .map_err(|error| format!("this executable has no path: {error}; set {}", results::HOME))?;
    let criterion = results::of_bench_target(&program)?;
    // Criterion itself would take an empty variable for a folder, and a relative one for one of the package's.
    // SAFETY: called first thing in `main`, before any other thread exists.
    unsafe { std::env::set_var(results::HOME, &criterion) };
    let records = results::records(&criterion);
    Ok(Folders { criterion, records })
}
