//! SkyPilot: managed jobs, one for each shard, and one that merges what they have put into a bucket.

use super::sweep::Sweep;
use super::{Options, Submission};
use crate::error::{Error, Result};
use crate::template::{filled, quoted};
use plan::exit::RETRY;

/// The folders of the bundle and of the bucket on the host of a job.
const BUNDLE: &str = "/bundle";
const BUCKET: &str = "/bucket";

pub fn submission(sweep: &Sweep, options: &Options) -> Result<Submission> {
    let bucket = options.bucket.as_deref().unwrap_or_default();
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-._/:".contains(it);
    if !bucket.contains("://") || !bucket.chars().all(is_plain) {
        return Err(Error::usage(format!("--bucket '{bucket}' is no URL of a bucket"))
            .remedy("--bucket s3://my-bucket"));
    }
    // In YAML a string of JSON is a string.
    let source = serde_json::Value::from(&*sweep.bundle).to_string();
    let (name, shards) = (sweep.name(), sweep.shards);
    let limit = sweep.limit().as_secs().to_string();
    let run = sweep.shard(BUNDLE, "shard", "results");
    let shards_file = filled(
        include_str!("skypilot-shards.yaml"),
        &[
            ("NAME", &name),
            ("RESOURCES", &resources(sweep, options)),
            ("RETRY", &RETRY.to_string()),
            ("BUNDLE", BUNDLE),
            ("SOURCE", &source),
            ("BUCKET", BUCKET),
            ("URL", bucket),
            ("LIMIT", &limit),
            ("RUN", &run),
        ],
    );
    let folder = format!("{BUCKET}/{name}");
    let merge_file = filled(
        include_str!("skypilot-merge.yaml"),
        &[
            ("NAME", &name),
            ("BUNDLE", BUNDLE),
            ("SOURCE", &source),
            ("BUCKET", BUCKET),
            ("URL", bucket),
            ("MERGE", &sweep.merge(BUNDLE, &format!("{folder}/[0-9]*/"), "merged")),
        ],
    );
    Ok(Submission {
        files: vec![
            ("shards.yaml", "a managed job for each shard", shards_file),
            ("merge.yaml", "a job that puts the bucket's results together", merge_file),
        ],
        submit: vec![format!("sky jobs launch --yes --detach-run --num-jobs {shards} shards.yaml")],
        then: vec![
            "sky jobs queue".to_owned(),
            "sky jobs launch --yes merge.yaml".to_owned(),
            format!("its results are in {}", quoted(&format!("{bucket}/{name}/merged"))),
        ],
    })
}

fn resources(sweep: &Sweep, options: &Options) -> String {
    let cpus = options.cpus.map(|cpus| format!("  cpus: {cpus}\n"));
    let gpu = options.gpu.as_deref().unwrap_or("H100");
    let gpu = sweep.has_gpu.then(|| format!("  accelerators: \"{gpu}:1\"\n"));
    cpus.into_iter().chain(gpu).collect()
}
