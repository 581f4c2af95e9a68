//! `doctor`: what this machine has, and what to do about each gap. It changes nothing.

mod cache;
mod compile;
mod libtorch;
mod machine;
mod toolchain;

use std::fmt;
use std::process::ExitCode;

use crate::cache::Cache;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::flavour::Flavour;
use crate::name::as_typed;
use crate::workspace::Workspace;

pub fn command(workspace: &Workspace) -> Result<ExitCode> {
    let mut checks = Vec::new();
    // Each line as soon as it is known: a program that is asked may take its time.
    examine(workspace, |check| {
        print!("{check}");
        checks.push(check);
    });
    println!("{}", summary(&checks));
    let whole = checks.iter().all(|check| check.mark != Mark::Missing);
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Looks at what a host without Rust needs to run programs that were built elsewhere, with this libtorch.
pub fn examine_host(found: &libtorch::LibtorchResult, mut say: impl FnMut(Check)) {
    let driver = Driver::find();
    let libtorch = found.as_ref().ok().map(|(libtorch, _)| libtorch);
    say(machine::system());
    libtorch::check(found).into_iter().for_each(&mut say);
    say(libtorch::driver(driver.as_ref()));
    say(libtorch::linked(libtorch, driver.is_some()));
    say(libtorch::devices());
    machine::processor().into_iter().for_each(&mut say);
    say(machine::memory());
    compile::check_host(&Cache::of_environment()).into_iter().for_each(say);
}

/// Looks at everything, and says each line as soon as it is known.
pub fn examine(workspace: &Workspace, mut say: impl FnMut(Check)) {
    let mut say_all = |checks: Vec<Check>| checks.into_iter().for_each(&mut say);
    let found = libtorch::find(workspace);
    say_all(vec![machine::system()]);
    say_all(vec![machine::glibc()]);
    say_all(toolchain::check());
    say_all(toolchain::python(found.is_ok()));
    say_all(libtorch::check(&found));
    say_all(vec![libtorch::named(workspace)]);
    let driver = Driver::find();
    let libtorch = found.ok().map(|(libtorch, _)| libtorch);
    say_all(vec![libtorch::driver(driver.as_ref())]);
    say_all(vec![libtorch::linked(libtorch.as_ref(), driver.is_some())]);
    say_all(vec![libtorch::devices()]);
    say_all(machine::processor());
    say_all(vec![machine::memory()]);
    let cache = Cache::of_environment();
    let wanted = libtorch.is_none().then(|| Flavour::for_machine(driver.as_ref()));
    say_all(compile::check(&cache));
    say_all(cache::check(cache, wanted));
}

fn summary(checks: &[Check]) -> String {
    let count = |mark: Mark| checks.iter().filter(|check| check.mark == mark).count();
    let warnings = match count(Mark::Warning) {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        many => format!(", {many} warnings"),
    };
    match count(Mark::Missing) {
        0 => format!("everything needed is there{warnings}"),
        1 => format!("1 needed thing is missing{warnings}"),
        many => format!("{many} needed things are missing{warnings}"),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Ok,
    /// Works without, though less well.
    Warning,
    /// Needed, so the doctor fails.
    Missing,
    /// Not looked at.
    Skipped,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    pub mark: Mark,
    pub name: &'static str,
    pub found: String,
    pub remedy: Option<String>,
}

impl Check {
    pub fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { mark: Mark::Ok, name, found: found.into(), remedy: None }
    }

    pub fn skipped(name: &'static str, reason: impl Into<String>) -> Self {
        Self { mark: Mark::Skipped, name, found: reason.into(), remedy: None }
    }

    pub fn warning(
        name: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { mark: Mark::Warning, name, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// The first way out of an error is the remedy, if it has any.
    pub fn of_error(mark: Mark, name: &'static str, error: &Error, otherwise: &str) -> Self {
        let remedy = error.remedies().first().cloned();
        let remedy = Some(remedy.unwrap_or_else(|| otherwise.to_owned()));
        Self { mark, name, found: error.what().to_owned(), remedy }
    }

    pub fn missing(
        name: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { mark: Mark::Missing, name, found: found.into(), remedy: Some(remedy.into()) }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mark, name, found, remedy } = self;
        let mark = match mark {
            Mark::Ok => "ok",
            Mark::Warning => "warning",
            Mark::Missing => "missing",
            Mark::Skipped => "skipped",
        };
        writeln!(f, "{mark:<8} {name:<13} {}", as_typed(found))?;
        match remedy {
            Some(remedy) => writeln!(f, "{:22} -> {}", "", as_typed(remedy)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_counts() {
        let ok = || Check::ok("a", "x");
        let warning = || Check::warning("b", "x", "do");
        let missing = || Check::missing("c", "x", "do");
        for (checks, text) in [
            (vec![ok(), ok()], "everything needed is there"),
            (vec![ok(), warning()], "everything needed is there, 1 warning"),
            (vec![missing(), ok()], "1 needed thing is missing"),
            (
                vec![missing(), warning(), missing(), warning()],
                "2 needed things are missing, 2 warnings",
            ),
        ] {
            assert_eq!(summary(&checks), text);
        }
    }

    #[test]
    fn a_gap_is_followed_by_its_remedy() {
        assert_eq!(Check::ok("rustc", "1.95.0").to_string(), "ok       rustc         1.95.0\n");
        assert_eq!(
            Check::missing("python3", "not found", "install it").to_string(),
            "missing  python3       not found\n                       -> install it\n"
        );
    }
}
