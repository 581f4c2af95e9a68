//! A pattern as a TorchScript function, with the fusers that libtorch has on or with oneDNN Graph.

use plan::FusionWork;
use tch::Tensor;

use crate::kernel::{KernelContext, Step};
use crate::native::script::{Function, Fuser, Script, is_fusion_group};
use crate::refusal::Refusal;

/// The function `pattern` of the source, optimized for these arguments.
///
/// The optimized graph shows what really runs. When that is `unfused`, one operation after the
/// other, there is nothing to compare, and it is refused.
pub(super) fn build<const N: usize>(
    context: &KernelContext<FusionWork>,
    source: &str,
    arguments: [Tensor; N],
    unfused: &[&str],
) -> Result<Step, Refusal> {
    let (function, kernels) = optimized(source, &arguments, Fuser::Default)?;
    if kernels == unfused {
        return Err(context.unsupported(&format!(
            "TorchScript runs the same operations as `unfused` here: {}",
            kernels.join(", ")
        )));
    }
    Ok(Step::new(&kernels, move || function.run(&arguments.each_ref())))
}

/// The function `pattern` of the source, fused by oneDNN Graph for these arguments.
///
/// A function without a fused group is refused: the variant is about such a group.
pub(super) fn build_onednn_graph(
    context: &KernelContext<FusionWork>,
    source: &str,
    arguments: Vec<Tensor>,
) -> Result<Step, Refusal> {
    let (function, kernels) = optimized(source, &arguments, Fuser::OnednnGraph)?;
    if !kernels.iter().any(|kernel| is_fusion_group(kernel)) {
        let kernels = kernels.join(", ");
        return Err(context.unsupported(&format!("oneDNN Graph fuses nothing here: {kernels}")));
    }
    Ok(Step::new(&kernels, move || function.run(&arguments.iter().collect::<Vec<_>>())))
}

/// The function, optimized, and what it runs: operations and groups, without views and what guards a
/// group and unpacks its results.
fn optimized(
    source: &str,
    arguments: &[Tensor],
    fuser: Fuser,
) -> Result<(Function, Vec<String>), Refusal> {
    const VIEWS: [&str; 3] = ["aten::transpose", "aten::unsqueeze", "aten::as_tensor"];
    let function = Script::compile(source)?.function("pattern")?;
    tch::no_grad(|| function.optimize(&arguments.iter().collect::<Vec<_>>(), fuser))?;
    let runs = |node: &str| node.starts_with("aten::") && !VIEWS.contains(&node);
    let graph = function.optimized_graph()?;
    let kernels = graph.into_iter().filter(|node| runs(node) || is_fusion_group(node)).collect();
    Ok((function, kernels))
}
