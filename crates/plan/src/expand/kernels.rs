//! Kernels: kernel × device × precision × problem size × implementation.

use super::{Common, Expansion, product};
use crate::case::{Case, Role};
use crate::config::{Config, KernelParams};
use crate::diagnostic::Diagnostic;
use crate::id;
use crate::kernel::size_text::size_text;
use crate::kernel::{KernelWork, digest};
use crate::settings::Profiling;
use crate::words::{Device, Dtype};
use crate::work::Work;

pub(super) fn expand(expansion: &mut Expansion, config: &Config, params: &KernelParams) {
    for &device in &params.backends.left {
        let group = id::group(config.mode, &config.stem, &params.kernel.name, device);
        if group.len() > id::MAX_PART {
            expansion.complain(too_long(&group, params));
            continue;
        }
        for &dtype in &params.precisions.left {
            for place in 0..params.problem_sizes.len() {
                expand_size(expansion, config, params, (device, dtype, place));
            }
        }
    }
}

/// The cases of a kernel.
pub(super) fn count(params: &KernelParams) -> usize {
    let (backends, precisions) = (params.backends.left.len(), params.precisions.left.len());
    product(&[backends, precisions, params.problem_sizes.len(), params.kernel.files.len()])
}

/// Says that criterion would cut the group.
fn too_long(group: &str, params: &KernelParams) -> Diagnostic {
    let message = format!("`{group}` is longer than a group can be, {} bytes", id::MAX_PART);
    let remedy = "give the kernel a shorter name";
    Diagnostic::whole_file(&params.kernel.baseline().path, message, remedy)
}

fn expand_size(
    expansion: &mut Expansion,
    config: &Config,
    params: &KernelParams,
    (device, dtype, place): (Device, Dtype, usize),
) {
    let problem_size = &params.problem_sizes[place];
    let size = size_text(params.kernel.fields(), problem_size);
    let group = id::group(config.mode, &config.stem, &params.kernel.name, device);
    let in_id = id::size(&group, &size);
    let skips = params.skips.iter().filter(|skip| skip.concerns(device, dtype));
    let skip_conditions: Vec<_> = skips.map(|skip| skip.condition.clone()).collect();
    let common = Common {
        config,
        name: None,
        workload: params.kernel.name.clone(),
        size_name: &size,
        dtype,
        device,
        profiling: Profiling::default(),
        settings: &params.settings,
    };
    for (place, file) in params.kernel.files.iter().enumerate() {
        let work = KernelWork {
            kernel: params.kernel.name.clone(),
            implementation: file.implementation.clone(),
            file: file.file.clone(),
            problem_size: problem_size.clone(),
            tolerances: params.tolerances.of(dtype),
            skip_conditions: skip_conditions.clone(),
            metadata: params.metadata.clone(),
        };
        let config_hash = digest::with_files(&config.hash, &params.kernel.hash);
        let role = if place == 0 { Role::Baseline } else { Role::Candidate };
        let case = common.case(Work::Kernel(work), &in_id, role);
        expansion.add(config, Case { config_hash, ..case });
    }
}
