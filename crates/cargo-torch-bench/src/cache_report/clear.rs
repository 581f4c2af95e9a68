//! `cache clear`: removes what was compiled. It is compiled again when it is needed.

use std::fs;
use std::io::{self, ErrorKind};
use std::time::{Duration, SystemTime};

use super::Clear;
use super::contents::{CacheEntry, Kernels, Packages};
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::human;

/// A partial kernel is a moment old: its content is in memory before the file is opened. No lock tells more.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// Removes, and says in a line for each kind what and how much.
///
/// # Errors
/// Names what could not be removed, after everything else was.
pub fn clear(cache: &Cache, what: Clear, older_than: Option<Duration>) -> Result<()> {
    let now = SystemTime::now();
    let unused = |found: &CacheEntry| human::elapsed(found.used, now);
    let mut failures = Vec::new();
    let mut sweep = |all: Vec<CacheEntry>, remove: &dyn Fn(&CacheEntry) -> io::Result<bool>| {
        let mut swept = Swept::default();
        for found in all.iter().filter(|it| older_than.is_none_or(|age| unused(it) >= age)) {
            match remove(found) {
                Ok(true) => {
                    swept.gone += 1;
                    swept.bytes += found.bytes;
                }
                Ok(false) => swept.busy += 1,
                Err(error) => {
                    failures.push(Error::io("remove", &found.path, &error).what().to_owned());
                }
            }
        }
        swept
    };
    if matches!(what, Clear::Compiled | Clear::All) {
        let store = cache.compiled()?;
        let Packages { packages, unfinished, .. } = Packages::read(cache)?;
        let packages = packages.into_iter().map(|package| package.found).collect();
        let whole = sweep(packages, &|found| store.remove(&found.path));
        let partial = sweep(unfinished, &|found| store.remove_partial(&found.path));
        println!("{}", line(["compiled package", "compiled packages"], &whole, &partial));
    }
    if matches!(what, Clear::Kernels | Clear::All) {
        let Kernels { files, unfinished } = Kernels::read(cache)?;
        let whole = sweep(files, &remove_file);
        let partial = sweep(unfinished, &|found| {
            if unused(found) < PATIENCE { Ok(false) } else { remove_file(found) }
        });
        println!("{}", line(["kernel", "kernels"], &whole, &partial));
    }
    if failures.is_empty() { Ok(()) } else { Err(Error::new(failures.join("\n       "))) }
}

fn remove_file(found: &CacheEntry) -> io::Result<bool> {
    match fs::remove_file(&found.path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(true),
    }
}

#[derive(Default)]
struct Swept {
    gone: usize,
    bytes: u64,
    /// Stays, as a process is, or may be, using or making it.
    busy: usize,
}

/// "removed 2 kernels, 34 kB; 1 never finished, 4 kB; kept 1 that a process is using or making".
fn line(names: [&str; 2], whole: &Swept, partial: &Swept) -> String {
    let name = names[usize::from(whole.gone != 1)];
    let mut line = format!("removed {} {name}, {}", whole.gone, human::bytes(whole.bytes));
    if partial.gone > 0 {
        line += &format!("; {} never finished, {}", partial.gone, human::bytes(partial.bytes));
    }
    match whole.busy + partial.busy {
        0 => line,
        busy => line + &format!("; kept {busy} that a process is using or making"),
    }
}
