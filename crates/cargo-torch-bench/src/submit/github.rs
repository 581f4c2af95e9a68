//! GitHub: a workflow that makes the bundle, runs its shards as a matrix, and merges them.

use serde_yaml::Value;

use super::sweep::Sweep;
use super::{Options, Submission, refuse_unless_name};
use crate::error::{Error, Result};
use crate::template::{appended, path, yaml};
use plan::exit::RETRY;

/// Options about things of this machine that a runner lacks.
const OF_THIS_MACHINE: [&str; 2] = ["--without-libtorch", "--compiled"];

pub fn submission(sweep: &Sweep, options: &Options) -> Result<Submission> {
    let runner = options.runner.as_deref().unwrap_or("ubuntu-latest");
    refuse_unless_name("--runner", runner, "-._/", "GitHub gives to runners")?;
    let Sweep { manifest, words, .. } = sweep;
    let mut made_by = manifest.made_by.clone();
    // Only what `bundle` knows, and no other place for the bundle.
    crate::check_bundle(&made_by)?;
    let folder = sweep.bundle_name();
    if let Some(word) = made_by.iter().chain(words).chain([&folder]).find(|it| it.contains("${{")) {
        return Err(Error::usage(format!("GitHub would replace what {word} has in it")));
    }
    made_by.retain(|word| !OF_THIS_MACHINE.contains(&word.as_str()));
    let (bundle, archive) = (path(&folder), path(format!("{folder}.tar.zst")));
    let name = sweep.name();
    let list: Vec<u32> = (1..=sweep.shards).collect();
    let workflow = yaml(
        include_str!("github.yml"),
        &[
            ("NAME", name.as_str().into()),
            ("RUNNER", runner.into()),
            ("VERSION", env!("CARGO_PKG_VERSION").into()),
            ("OPTIONS", appended(&made_by).into()),
            ("ARCHIVE", archive.into()),
            ("LIMIT", sweep.limit_minutes().into()),
            ("AT_ONCE", options.at_once.map_or(Value::Null, Value::from)),
            ("LIST", list.into()),
            ("RUN", sweep.shard(&bundle, "SHARD", "results").into()),
            ("RETRY", RETRY.into()),
            ("SUMMARY", sweep.summary(&bundle, "merged").into()),
            ("MERGE", sweep.merge(&bundle, "results/*/", "merged").into()),
        ],
    );
    Ok(Submission {
        files: vec![("sweep.yml", "a workflow: bundle, a matrix of shards, merge", workflow)],
        submit: vec![
            "root=$(git rev-parse --show-toplevel)".to_owned(),
            format!(
                "mkdir -p \"$root/.github/workflows\" && cp sweep.yml \"$root/.github/workflows/{name}.yml\""
            ),
            format!("git -C \"$root\" add .github/workflows/{name}.yml"),
        ],
        then: vec![
            "commit and push it; it has to be on the default branch once".to_owned(),
            format!("gh workflow run {name}.yml --ref BRANCH"),
            "gh run watch && gh run download --name merged --dir merged".to_owned(),
        ],
    })
}
