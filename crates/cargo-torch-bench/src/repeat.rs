//! `bench --repeat N`: the same benchmarks in several launches.

use std::ffi::OsString;
use std::process::{ExitCode, Stdio};

use crate::bench_arguments::BenchArguments;
use crate::cargo;
use crate::error::Result;
use crate::launches;
use crate::results::{self, HOME};
use crate::setup;
use crate::side::Side;
use crate::workspace::Workspace;

/// The baseline that criterion saves if none is named.
const DEFAULT_NAME: &str = "base";
const OPTION: &str = "--repeat";

/// The arguments of each launch, and the name under which all are kept, with their numbers.
fn named(arguments: &[OsString]) -> Result<(BenchArguments, String)> {
    let split = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    let (cargo, criterion) = arguments.split_at(split);
    let criterion = criterion.get(1..).unwrap_or_default();
    let (arguments, name) = BenchArguments::parse(cargo, criterion, OPTION)?;
    Ok((arguments, name.unwrap_or_else(|| DEFAULT_NAME.to_owned())))
}

/// Provisions, builds, measures, and says what can be done with it.
pub fn command(workspace: &Workspace, launches: u64, arguments: &[OsString]) -> Result<ExitCode> {
    let (arguments, name) = named(arguments)?;
    let root = workspace.root();
    let results = cargo::results(workspace)?;
    let claim = results.claim()?;
    setup::before(workspace)?;
    let environment = vec![(HOME, results.criterion.clone())];
    let folder = root.to_path_buf();
    let side = Side { name: name.clone(), folder, worktree: false, environment };
    let failed = launches::run(&[side], launches, &arguments, &results, &claim, Stdio::inherit)?;
    let (first, last) = (results::kept_as(&name, 1), results::kept_as(&name, launches));
    let option = results.option(root);
    eprintln!(
        "kept as {first} to {last}\n  \
         how far they are apart among themselves: cargo criterion-report aa {name}{option}\n  \
         beside launches of another name:         \
         cargo criterion-report compare OTHER {name}{option}"
    );
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn launches_are_kept_under_a_name() {
        for (line, name, launch) in [
            ("", "base", "bench -- --save-baseline base@1"),
            ("--bench x", "base", "bench --bench x -- --save-baseline base@1"),
            (
                "--bench x -- -s pr int8wo --repeat",
                "pr",
                "bench --bench x -- --save-baseline pr@1 int8wo --repeat",
            ),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let (arguments, found) = named(&words).expect(line);
            let words = arguments.launch(&results::kept_as(&found, 1)).join(OsStr::new(" "));
            assert_eq!((found.as_str(), words), (name, launch.into()), "{line}");
        }
    }
}
