//! Operators: operator × size × dtype × device × implementation.

use super::{Common, Expansion, product, with_compiled};
use crate::case::Role;
use crate::catalogue::operator::{Implementation, Operator, OperatorWork};
use crate::config::{Config, OperatorParams};
use crate::settings::Profiling;
use crate::words::{CompileMode, Device};
use crate::work::Work;

/// The name of sizes that a config gives by their dimensions.
const SIZE_NAME: &str = "custom";

pub(super) fn expand(expansion: &mut Expansion, config: &Config, params: &OperatorParams) {
    for &operator in &params.operators {
        for &device in &params.devices {
            for &dtype in &params.dtypes {
                for &size in &params.sizes {
                    let common = Common {
                        config,
                        name: params.name.as_deref(),
                        workload: operator.to_string(),
                        size_name: SIZE_NAME,
                        dtype,
                        device,
                        profiling: Profiling::default(),
                        settings: &params.settings,
                    };
                    for (implementation, compile) in implementations(params, operator, device) {
                        let role = match (implementation, compile) {
                            (Implementation::Aten, None) => Role::Baseline,
                            _ => Role::Candidate,
                        };
                        let max_elements = params.max_elements;
                        let work = Work::Operator(OperatorWork {
                            operator,
                            implementation,
                            compile,
                            size,
                            max_elements,
                        });
                        expansion.add(config, common.case(work, &size.to_string(), role));
                    }
                }
            }
        }
    }
}

/// The cases of an entry, equal ones included.
pub(super) fn count(params: &OperatorParams) -> usize {
    let of = |operator| {
        let devices = params.devices.iter();
        let ways = devices.map(|&device| implementations(params, operator, device).len());
        product(&[params.sizes.len(), params.dtypes.len(), ways.sum()])
    };
    params.operators.iter().copied().map(of).fold(0, usize::saturating_add)
}

/// The implementations that the entry lists, or the operator's usual ones. The baseline is always
/// there and comes first. An implementation that is listed and that the operator lacks is a case,
/// too, to be refused by name. Behind an implementation that runs ATen's operations, each with an
/// output of its own, follow a compiler's versions of it.
fn implementations(
    params: &OperatorParams,
    operator: Operator,
    device: Device,
) -> Vec<(Implementation, Option<CompileMode>)> {
    let wanted = |it: &Implementation| match &params.implementations {
        Some(listed) => listed.contains(it) || *it == Implementation::Aten,
        None => it.is_usual(device) && operator.implementations().contains(it),
    };
    let modes = |it: Implementation| if it.is_compiled() { params.compile.as_slice() } else { &[] };
    let implementations = Implementation::ALL.iter().copied().filter(wanted);
    implementations.flat_map(|it| with_compiled(it, modes(it))).collect()
}
