//! Kubernetes: an Indexed Job of shards, and a pod by which the bundle gets into the volume and the results out of it.

use serde_json::json;
use serde_yaml::Value;

use super::sweep::Sweep;
use super::{Options, Submission, refuse_unless_name};
use crate::error::Result;
use crate::template::{path, quoted, yaml};
use plan::exit::{CASES_FAILED, UNUSABLE};

/// The folder of the volume in a pod.
const VOLUME: &str = "/sweep";

pub fn submission(sweep: &Sweep, options: &Options) -> Result<Submission> {
    let claim = options.claim.as_deref().unwrap_or_default();
    let image = options.image.as_deref().unwrap_or("debian:stable-slim");
    for (option, value) in [("--claim", claim), ("--image", image)] {
        refuse_unless_name(option, value, "-._/:@", "Kubernetes takes")?;
    }
    let name = sweep.name();
    let (bundle, results) = (format!("{VOLUME}/{name}-bundle"), format!("{VOLUME}/{name}"));
    let shard = sweep.shard(&bundle, "shard", &format!("\"{results}/$shard\""));
    let shards_file = yaml(
        include_str!("kubernetes-shards.yaml"),
        &[
            ("NAME", name.as_str().into()),
            ("SHARDS", sweep.shards.into()),
            ("AT_ONCE", options.at_once.unwrap_or(sweep.shards).min(sweep.shards).into()),
            ("PERMANENT", vec![CASES_FAILED, UNUSABLE].into()),
            ("LIMIT", sweep.limit().as_secs().into()),
            ("ALONE", alone(options, &name)),
            ("IMAGE", image.into()),
            // Kubernetes itself replaces `$(NAME)`.
            ("RUN", shard.replace("$(", "$$(").into()),
            ("RESOURCES", resources(sweep, options)),
            ("VOLUME", VOLUME.into()),
            ("CLAIM", claim.into()),
        ],
    );
    let files_file = yaml(
        include_str!("kubernetes-files.yaml"),
        &[
            ("NAME", name.as_str().into()),
            ("IMAGE", image.into()),
            ("VOLUME", VOLUME.into()),
            ("CLAIM", claim.into()),
        ],
    );
    let pod = format!("{name}-files");
    let merge = sweep.merge(&bundle, &format!("{results}/[0-9]*/"), &format!("{results}/merged"));
    Ok(Submission {
        files: vec![
            ("files.yaml", "a pod that moves files into the volume and out of it", files_file),
            ("shards.yaml", "an Indexed Job of shards", shards_file),
        ],
        submit: vec![
            "kubectl apply -f files.yaml".to_owned(),
            format!("kubectl wait --for=condition=Ready --timeout=5m pod/{pod}"),
            format!("kubectl cp {} {pod}:{bundle}", path(&sweep.bundle)),
            "kubectl apply -f shards.yaml".to_owned(),
        ],
        then: vec![
            format!("kubectl get job {name} --watch"),
            format!("kubectl exec {pod} -- sh -c {}", quoted(&merge)),
            format!("kubectl cp {pod}:{results}/merged merged"),
            format!("kubectl delete job/{name} pod/{pod}"),
        ],
    })
}

/// Keeps two shards from one host, unless they ask for CPUs.
fn alone(options: &Options, name: &str) -> Value {
    if options.cpus.is_some() {
        return Value::Null;
    }
    written(json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
        { "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": name } } },
    ] } }))
}

/// Equal requests and limits: the kubelet's static policy gives a pod with whole CPUs its own ones.
fn resources(sweep: &Sweep, options: &Options) -> Value {
    let cpus = options.cpus.map(|cpus| ("cpu".to_owned(), cpus.into()));
    let gpu = sweep.has_gpu.then(|| ("nvidia.com/gpu".to_owned(), 1.into()));
    let all: serde_json::Map<_, _> = cpus.into_iter().chain(gpu).collect();
    if all.is_empty() { Value::Null } else { written(json!({ "requests": all, "limits": all })) }
}

fn written(json: serde_json::Value) -> Value {
    serde_yaml::to_value(json).expect("JSON is YAML")
}
