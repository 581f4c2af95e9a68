//! The libtorch that cargo would build with, and who chose it.

use super::check::{Check, Mark};
use super::loader;
use crate::cache::Entry;
use crate::error::{Error, Result};
use crate::files;
use crate::flavour::Flavour;
use crate::link::Link;
use crate::source::{self, Source};
use crate::workspace::Workspace;
use ::libtorch::{Libtorch, cpu_library};

/// A libtorch that can be used, and who chose it.
pub type Found = Result<(Libtorch, &'static str)>;

/// The findings about it.
pub fn check(found: &Found) -> Vec<Check> {
    let mut checks = match found {
        Ok((libtorch, chosen)) => {
            vec![Check::ok("libtorch", describe(libtorch, chosen)), loads(libtorch)]
        }
        Err(error) => vec![Check::of_error(Mark::Missing, "libtorch", error, "cargo xtask setup")],
    };
    checks.extend(overrides(|name| std::env::var_os(name).is_some()));
    checks
}

/// Starts no other program.
pub fn find(workspace: &Workspace) -> Found {
    match Source::of_environment(workspace)? {
        Source::User(path) => Ok((source::inspect_users(&path)?, "your own LIBTORCH")),
        Source::Link => match Link::read(workspace)? {
            Link::Absent => Err(Error::new(".libtorch is not there yet")),
            Link::To(target) => Ok((Libtorch::inspect(&target)?, ".libtorch")),
        },
    }
}

fn describe(libtorch: &Libtorch, chosen: &str) -> String {
    let Libtorch { root, version, .. } = libtorch;
    // The CUDA libraries lie beside the folder, so an entry of the cache is counted as a whole.
    let bytes = root
        .parent()
        .and_then(Entry::at)
        .filter(|entry| entry.libtorch.root == *root)
        .map(|entry| entry.manifest.bytes)
        .or_else(|| files::on_disk(&root.canonicalize().ok()?).ok());
    let size = bytes.map(|bytes| format!(", {}", files::human(bytes))).unwrap_or_default();
    let flavour = Flavour::of(libtorch);
    format!("{version} ({flavour}{size}) in {}, by {chosen}", root.display())
}

/// Present is not enough: a library that loads another, absent one stops every program at its start.
fn loads(libtorch: &Libtorch) -> Check {
    let name = "loads";
    match loader::unresolved(&libtorch.root.join(cpu_library())) {
        Err(reason) => Check::skipped(name, reason),
        Ok(missing) if missing.is_empty() => {
            Check::ok(name, format!("{}, with all that it needs", cpu_library()))
        }
        Ok(missing) => Check::missing(
            name,
            format!("{} needs {}, not found", cpu_library(), missing.join(", ")),
            "remove that libtorch and run cargo xtask setup, or install these libraries",
        ),
    }
}

/// torch-sys heeds these before, or instead of, LIBTORCH.
fn overrides(is_set: impl Fn(&str) -> bool) -> Option<Check> {
    let set: Vec<&str> =
        ["LIBTORCH_USE_PYTORCH", "LIBTORCH_LIB", "LIBTORCH_INCLUDE", "LIBTORCH_STATIC"]
            .into_iter()
            .filter(|name| is_set(name))
            .collect();
    (!set.is_empty()).then(|| {
        Check::warning(
            "environment",
            format!("{} set: torch-sys may use another libtorch than this one", set.join(", ")),
            format!("unset {}", set.join(" ")),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_lead_torch_sys_elsewhere_are_told() {
        assert_eq!(overrides(|_| false), None);
        let check = overrides(|name| name == "LIBTORCH_LIB").expect("one is set");
        assert_eq!(check.mark, Mark::Warning);
        assert!(check.to_string().contains("unset LIBTORCH_LIB"), "{check}");
    }
}
