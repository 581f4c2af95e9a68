//! `doctor`: what this machine has, and what to do about each gap. It changes nothing.

mod cache;
mod check;
mod compile;
mod cuda;
mod libtorch;
mod loader;
mod machine;
mod processor;
mod python;
mod toolchain;

use std::process::ExitCode;

use crate::cache::Cache;
use crate::driver::Driver;
use crate::error::Result;
use crate::flavour::Flavour;
use crate::workspace::Workspace;
pub use check::{Check, Mark};

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

/// Looks at everything, and says each line as soon as it is known.
pub fn examine(workspace: &Workspace, mut say: impl FnMut(Check)) {
    let mut say_all = |checks: Vec<Check>| checks.into_iter().for_each(&mut say);
    let found = libtorch::find(workspace);
    say_all(vec![machine::system()]);
    say_all(vec![machine::glibc()]);
    say_all(toolchain::check());
    say_all(python::check(found.is_ok()));
    say_all(libtorch::check(&found));
    let driver = Driver::find();
    let libtorch = found.ok().map(|(libtorch, _)| libtorch);
    say_all(vec![cuda::driver(driver.as_ref())]);
    say_all(vec![cuda::linked(libtorch.as_ref(), driver.is_some())]);
    say_all(vec![cuda::devices()]);
    say_all(processor::check());
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
        0 => format!("all that is needed is there{warnings}"),
        1 => format!("1 needed thing is missing{warnings}"),
        many => format!("{many} needed things are missing{warnings}"),
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
            (vec![ok(), ok()], "all that is needed is there"),
            (vec![ok(), warning()], "all that is needed is there, 1 warning"),
            (vec![missing(), ok()], "1 needed thing is missing"),
            (
                vec![missing(), warning(), missing(), warning()],
                "2 needed things are missing, 2 warnings",
            ),
        ] {
            assert_eq!(summary(&checks), text);
        }
    }
}
