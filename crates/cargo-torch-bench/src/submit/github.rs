//! GitHub: a workflow that makes the bundle, runs its shards as a matrix, and merges them.

use super::sweep::Sweep;
use super::{Options, Submission};
use crate::error::{Error, Result};
use crate::template::{appended, filled, quoted};
use plan::exit::RETRY;

/// Options about things of this machine that a runner lacks.
const OF_THIS_MACHINE: [&str; 2] = ["--without-libtorch", "--compiled"];

pub fn submission(sweep: &Sweep, options: &Options) -> Result<Submission> {
    let runner = options.runner.as_deref().unwrap_or("ubuntu-latest");
    let words: Vec<&String> = sweep.manifest.made_by.iter().chain(&sweep.words).collect();
    if let Some(word) = words.iter().find(|word| word.contains("${{")) {
        return Err(Error::usage(format!("GitHub would replace what {word} has in it")));
    }
    let mut made_by = sweep.manifest.made_by.clone();
    made_by.retain(|word| !OF_THIS_MACHINE.contains(&word.as_str()));
    let bundle = quoted(&sweep.bundle_name());
    let (name, retry) = (sweep.name(), RETRY.to_string());
    let list: Vec<String> = (1..=sweep.shards).map(|shard| shard.to_string()).collect();
    let at_once = options.at_once.map(|most| format!("      max-parallel: {most}\n"));
    let shard = sweep.shard(&bundle, "SHARD", "results");
    let workflow = filled(
        include_str!("github.yml"),
        &[
            ("NAME", &name),
            ("RUNNER", runner),
            ("VERSION", env!("CARGO_PKG_VERSION")),
            ("OPTIONS", &appended(&made_by)),
            ("BUNDLE", &bundle),
            ("LIMIT", &sweep.limit_minutes()),
            ("AT_ONCE", &at_once.unwrap_or_default()),
            ("LIST", &list.join(", ")),
            ("RUN", &shard),
            ("RETRY", &retry),
            ("SUMMARY", &sweep.summary(&bundle, "merged")),
            ("MERGE", &sweep.merge(&bundle, "results/*/", "merged")),
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
