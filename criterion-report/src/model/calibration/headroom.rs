//! Whether what fusions reach lies below the peaks that products made.

use plan::Dtype;

use super::operation::{Operation, dtype_name};
use super::roofline::{PeakSource, Roofline};
use super::roofs::Roofs;
use crate::model::{FusionResult, Row};
use crate::units;

/// Share of its roof that a side of a fusion reaches; none without a roof over its dtype on its
/// threads.
pub fn efficiency(roofs: &Roofs, result: &FusionResult<'_>, side: Option<&Row>) -> Option<f64> {
    Some(side?.gflop_per_s()? / roof(roofs, result)?.peak_gflops.value)
}

/// Says which fusions exceed a roof, which refutes its peak: one note per roof, of the highest.
pub fn overshoots(
    roofs: &Roofs,
    operations: &[Operation<'_>],
    results: &[FusionResult<'_>],
) -> Vec<String> {
    roofs.all.iter().filter_map(|roof| overshoot(roof, operations, results)).collect()
}

fn overshoot(
    over: &Roofline,
    operations: &[Operation<'_>],
    results: &[FusionResult<'_>],
) -> Option<String> {
    let own = results.iter().filter(|result| of(result) == (over.dtype, over.threads));
    let sides = own.flat_map(FusionResult::sides).flatten();
    let mut above: Vec<(f64, &str)> = sides
        .filter_map(|side| Some((side.gflop_per_s()?, side.full_id())))
        .filter(|(gflops, _)| *gflops > over.peak_gflops.value)
        .collect();
    above.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(one.cmp(other)));
    // An unfused form is a side of each of its variants' results.
    above.dedup();
    let (gflops, id) = *above.first()?;
    let others = match above.len() - 1 {
        0 => String::new(),
        others => format!(", and {} exceeded the peak, too", units::count(others, "other case")),
    };
    let peak = units::significant(over.peak_gflops.value, 4);
    let measured = over.peak_gflops.measured.as_ref();
    let only = match (&over.peak_gflops.source, measured) {
        (PeakSource::Measured, Some(best)) => {
            let of = operations.iter().map(|it| it.key).find(|it| it.to_string() == best.operation);
            let of = of.map_or_else(|| best.operation.clone(), |it| it.label());
            format!("the peak is only that of {of} ({peak} GFLOP/s)")
        }
        (source, _) => format!("the peak, {peak} GFLOP/s ({source}), is below what was measured"),
    };
    Some(format!(
        "{id} reached {} GFLOP/s of {} on {}{others}: {only}",
        units::significant(gflops, 4),
        dtype_name(over.dtype),
        units::count(over.threads as usize, "thread"),
    ))
}

fn roof<'r>(roofs: &'r Roofs, result: &FusionResult<'_>) -> Option<&'r Roofline> {
    let (dtype, threads) = of(result);
    roofs.over(dtype, threads)
}

/// The dtype and threads that choose the roof of a result.
fn of(result: &FusionResult<'_>) -> (Dtype, u32) {
    (result.key.dtype, result.entry.row.record.environment.torch.threads)
}
