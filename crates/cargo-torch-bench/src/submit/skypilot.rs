//! SkyPilot: managed jobs, one for each shard, and one that merges what they have put into a bucket.

use serde_yaml::Value;

use super::sweep::Sweep;
use super::{Options, Submission, refuse_unless_name};
use crate::error::{Error, Result};
use crate::template::{quoted, yaml};
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
    let gpu = options.gpu.as_deref().unwrap_or("H100");
    refuse_unless_name("--gpu", gpu, "-._", "SkyPilot gives to a GPU")?;
    let (name, shards) = (sweep.name(), sweep.shards);
    let folder = format!("{BUCKET}/{name}");
    let of_both = || -> Vec<(&str, Value)> {
        let texts = [
            ("NAME", &*name),
            ("BUNDLE", BUNDLE),
            ("SOURCE", &sweep.bundle),
            ("BUCKET", BUCKET),
            ("URL", bucket),
        ];
        texts.map(|(name, text)| (name, text.into())).into()
    };
    let of_shards: [(&str, Value); 5] = [
        ("CPUS", options.cpus.map_or(Value::Null, Value::from)),
        ("GPU", sweep.has_gpu.then(|| format!("{gpu}:1")).map_or(Value::Null, Value::from)),
        ("RETRY", RETRY.into()),
        ("LIMIT", sweep.limit().as_secs().into()),
        ("RUN", sweep.shard(BUNDLE, "shard", "results").into()),
    ];
    let merge = sweep.merge(BUNDLE, &format!("{folder}/[0-9]*/"), "merged");
    let shards_file =
        yaml(include_str!("skypilot-shards.yaml"), &[&of_both()[..], &of_shards].concat());
    let merge_file = yaml(
        include_str!("skypilot-merge.yaml"),
        &[&of_both()[..], &[("MERGE", merge.into())]].concat(),
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
