//! Fusion: pattern × size × dtype × device × variant.

use super::{Common, Expansion, product, with_compiled};
use crate::case::Role;
use crate::catalogue::fusion::{FusionVariant, FusionWork, Pattern};
use crate::config::{Config, FusionParams};
use crate::settings::Profiling;
use crate::words::{CompileMode, Device};
use crate::work::Work;

pub(super) fn expand(expansion: &mut Expansion, config: &Config, params: &FusionParams) {
    for &pattern in &params.patterns {
        for &device in &params.devices {
            for &dtype in &params.dtypes {
                for (size_name, size) in params.sizes.iter().filter(|(_, it)| pattern.takes(*it)) {
                    let common = Common {
                        config,
                        name: params.name.as_deref(),
                        workload: pattern.to_string(),
                        size_name,
                        dtype,
                        device,
                        profiling: Profiling::default(),
                        settings: &params.settings,
                    };
                    for (variant, compile) in variants(params, pattern, device) {
                        let role = match (variant, compile) {
                            (FusionVariant::Unfused, None) => Role::Baseline,
                            _ => Role::Candidate,
                        };
                        let work = FusionWork { pattern, variant, compile, size: *size };
                        let work = Work::Fusion(work);
                        expansion.add(config, common.case(work, &size.to_string(), role));
                    }
                }
            }
        }
    }
}

/// The cases of an entry, equal ones included.
pub(super) fn count(params: &FusionParams) -> usize {
    let of = |pattern: Pattern| {
        let sizes = params.sizes.iter().filter(|(_, size)| pattern.takes(*size)).count();
        let variants = params.devices.iter().map(|&device| variants(params, pattern, device).len());
        product(&[sizes, params.dtypes.len(), variants.sum()])
    };
    params.patterns.iter().copied().map(of).fold(0, usize::saturating_add)
}

/// The variants that the entry lists and the pattern has, or the usual ones. The baseline is always
/// there and comes first; a compiler's versions of its operations follow it. The other variants are a
/// compiler's work done by hand: compiling one library call gives the same call.
fn variants(
    params: &FusionParams,
    pattern: Pattern,
    device: Device,
) -> Vec<(FusionVariant, Option<CompileMode>)> {
    let wanted = |variant: &FusionVariant| match &params.variants {
        Some(listed) => listed.contains(variant) || *variant == FusionVariant::Unfused,
        None => variant.is_usual(device),
    };
    let modes = |variant| match variant {
        FusionVariant::Unfused => params.compile.as_slice(),
        _ => &[],
    };
    let variants = pattern.variants().iter().copied().filter(wanted);
    variants.flat_map(|variant| with_compiled(variant, modes(variant))).collect()
}
