//! A pattern as a TorchScript function.

use tch::Tensor;

use super::{Site, Step};
use crate::native::script::{Fuser, Script, is_fusion_group};
use crate::refusal::Refusal;

/// The function `pattern` of the source, optimized for these arguments.
///
/// What really runs is read off the optimized graph. When that is `unfused`, one operation after
/// the other, there is nothing to compare, and it is refused.
pub(super) fn build<const N: usize>(
    site: &Site,
    source: &str,
    arguments: [Tensor; N],
    unfused: &[&str],
) -> Result<Step, Refusal> {
    let function = Script::compile(source)?.function("pattern")?;
    tch::no_grad(|| function.optimize(&arguments.each_ref(), Fuser::Default))?;
    let graph = function.optimized_graph()?;
    // The rest guards a group and unpacks its results, or is a view.
    let runs = |node: &String| node.starts_with("aten::") && node != "aten::transpose";
    let kernels: Vec<String> =
        graph.into_iter().filter(|node| runs(node) || is_fusion_group(node)).collect();
    if kernels == unfused {
        return Err(site.refuse(format!(
            "TorchScript runs the same operations as `unfused` here: {}",
            kernels.join(", ")
        )));
    }
    Ok(Step::new(&kernels, move || Ok(function.run(&arguments.each_ref())?)))
}
