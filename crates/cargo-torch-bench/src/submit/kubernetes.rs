//! Kubernetes: an Indexed Job of shards, and a pod by which the bundle gets into the volume and the results out of it.

use super::sweep::Sweep;
use super::{Options, Submission};
use crate::error::{Error, Result};
use crate::template::{filled, quoted};
use plan::exit::{CASES_FAILED, UNUSABLE};

/// The folder of the volume in a pod.
const VOLUME: &str = "/sweep";

pub fn submission(sweep: &Sweep, options: &Options) -> Result<Submission> {
    let claim = options.claim.as_deref().unwrap_or_default();
    let image = options.image.as_deref().unwrap_or("debian:stable-slim");
    for (option, value) in [("--claim", claim), ("--image", image)] {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "-._/:@".contains(it);
        if value.is_empty() || !value.chars().all(is_plain) {
            return Err(Error::usage(format!(
                "{option} '{value}' is no name that Kubernetes takes"
            )));
        }
    }
    let name = sweep.name();
    let (bundle, results) = (format!("{VOLUME}/{name}-bundle"), format!("{VOLUME}/{name}"));
    let shard = sweep.shard(&bundle, "shard", &format!("\"{results}/$shard\""));
    let shards_file = filled(
        include_str!("kubernetes-shards.yaml"),
        &[
            ("NAME", &name),
            ("SHARDS", &sweep.shards.to_string()),
            ("AT_ONCE", &options.at_once.unwrap_or(sweep.shards).min(sweep.shards).to_string()),
            ("PERMANENT", &format!("{CASES_FAILED}, {UNUSABLE}")),
            ("LIMIT", &sweep.limit().as_secs().to_string()),
            ("ALONE", &alone(options, &name)),
            ("IMAGE", image),
            ("RUN", &shard),
            ("RESOURCES", &resources(sweep, options)),
            ("VOLUME", VOLUME),
            ("CLAIM", claim),
        ],
    );
    let files_file = filled(
        include_str!("kubernetes-files.yaml"),
        &[("NAME", &name), ("IMAGE", image), ("VOLUME", VOLUME), ("CLAIM", claim)],
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
            format!("kubectl cp {} {pod}:{bundle}", quoted(&sweep.bundle)),
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
fn alone(options: &Options, name: &str) -> String {
    if options.cpus.is_some() {
        return String::new();
    }
    format!(
        "      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {{ matchLabels: {{ app: {name} }} }}
"
    )
}

/// Equal requests and limits: the kubelet's static policy gives a pod with whole CPUs its own ones.
fn resources(sweep: &Sweep, options: &Options) -> String {
    let cpus = options.cpus.map(|cpus| format!("cpu: {cpus}"));
    let gpu = sweep.has_gpu.then(|| "nvidia.com/gpu: 1".to_owned());
    let all: Vec<String> = cpus.into_iter().chain(gpu).collect();
    if all.is_empty() {
        return String::new();
    }
    let all = all.join(", ");
    format!("          resources: {{ requests: {{ {all} }}, limits: {{ {all} }} }}\n")
}
