//! `cache clear`: removes what was compiled. It is compiled again when it is needed.

use std::time::{Duration, SystemTime};

use super::Clear;
use super::compiled::{self, Compiled};
use super::found::{self, Found};
use super::kernels::{self, Kernels};
use crate::age;
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::size;

/// Removes, and says in a line for each kind what and how much.
///
/// # Errors
/// What could not be removed, after all that could be was.
pub fn clear(cache: &Cache, what: Clear, older_than: Option<Duration>) -> Result<()> {
    let now = SystemTime::now();
    let is_old = |found: &Found| older_than.is_none_or(|age| age::since(found.used, now) >= age);
    let mut failures = Vec::new();
    let mut sweep = |found: Vec<Found>, remove: fn(&Found, SystemTime) -> Result<bool>| {
        let mut swept = Swept::default();
        for found in found.into_iter().filter(is_old) {
            match remove(&found, now) {
                Ok(true) => swept.gone.push(found),
                Ok(false) => swept.busy += 1,
                Err(error) => failures.push(error.what().to_owned()),
            }
        }
        swept
    };
    if matches!(what, Clear::Compiled | Clear::All) {
        let Compiled { packages, partials } = Compiled::read(&cache.compiled())?;
        let packages = packages.into_iter().map(|package| package.found).collect();
        let whole = sweep(packages, compiled::remove_package);
        let partials = sweep(partials, compiled::remove_partial);
        println!("{}", line(["compiled package", "compiled packages"], &whole, &partials));
    }
    if matches!(what, Clear::Kernels | Clear::All) {
        let Kernels { files, partials } = Kernels::read(&cache.kernels())?;
        let (whole, partials) = (sweep(files, kernels::remove), sweep(partials, kernels::remove));
        println!("{}", line(["kernel", "kernels"], &whole, &partials));
    }
    if failures.is_empty() { Ok(()) } else { Err(Error::new(failures.join("\n       "))) }
}

/// What became of some.
#[derive(Default)]
struct Swept {
    gone: Vec<Found>,
    /// Stays, as a process is, or may be, using or making it.
    busy: usize,
}

/// "removed 2 kernels, 34 kB; 1 never finished, 4 kB; kept 1 that a process is using or making".
fn line(names: [&str; 2], whole: &Swept, partials: &Swept) -> String {
    let size = |swept: &Swept| size::human(found::bytes(&swept.gone));
    let count = whole.gone.len();
    let name = names[usize::from(count != 1)];
    let mut line = format!("removed {count} {name}, {}", size(whole));
    if !partials.gone.is_empty() {
        line += &format!("; {} never finished, {}", partials.gone.len(), size(partials));
    }
    match whole.busy + partials.busy {
        0 => line,
        busy => line + &format!("; kept {busy} that a process is using or making"),
    }
}
