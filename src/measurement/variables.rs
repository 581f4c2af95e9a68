//! Environment variables that steer libtorch, the libraries below it and our own kernels.

use std::collections::BTreeMap;

/// Families: OpenMP and its implementations, MKL, oneDNN, glibc's allocator, PyTorch.
const PREFIXES: [&str; 10] =
    ["OMP_", "GOMP_", "KMP_", "MKL_", "DNNL_", "ONEDNN_", "MALLOC_", "THP_", "TORCH_", "PYTORCH_"];
/// Single ones; the first two also change the allocator.
const NAMES: [&str; 9] = [
    "GLIBC_TUNABLES",
    "LD_PRELOAD",
    "ATEN_CPU_CAPABILITY",
    "CRITERION_TORCH_CPU",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
];

/// The variables that are set, with their values; invalid Unicode is replaced.
pub(super) fn variables() -> BTreeMap<String, String> {
    steering(std::env::vars_os().map(|(name, value)| {
        (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
    }))
}

fn steering(all: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    all.filter(|(name, _)| {
        NAMES.contains(&name.as_str()) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_steers_is_kept() {
        let all = [
            ("OMP_NUM_THREADS", "4"),
            ("PATH", "/bin"),
            ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),
            ("LIBTORCH", "/opt/torch"),
            ("ONEDNN_VERBOSE", "1"),
            ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
        ];
        let kept = steering(all.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let names: Vec<&str> = kept.keys().map(String::as_str).collect();
        let expected =
            ["GLIBC_TUNABLES", "OMP_NUM_THREADS", "ONEDNN_VERBOSE", "PYTORCH_CUDA_ALLOC_CONF"];
        assert_eq!(names, expected);
        assert_eq!(kept["OMP_NUM_THREADS"], "4");
    }
}
