//! A GPU's own counters over one step, by CUPTI's range profiler.
//!
//! CUPTI comes with libtorch's CUDA and is loaded when it is first asked for. A GPU counts only a few of the metrics at
//! once, so the step runs again for each pass ("user replay"). Its memory is not saved and restored between passes.
//!
//! Kineto stays subscribed to CUPTI once it has traced. Count in a process that has not run it.

mod library;
mod session;

use std::ffi::CStr;

use cudarc::driver::sys::CUcontext;
use plan::GpuCounters;

use super::profiler::Subject;
use session::{Host, Profiler, Range};

/// The metrics, in the order of [`counters`]. All of them are counted per context, none for the whole device.
const METRICS: [&CStr; 7] = [
    c"sm__cycles_elapsed.max",
    c"sm__throughput.avg.pct_of_peak_sustained_elapsed",
    c"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    c"sm__warps_active.avg.pct_of_peak_sustained_active",
    c"dram__bytes.sum",
    c"dram__throughput.avg.pct_of_peak_sustained_elapsed",
    c"lts__t_sector_hit_rate.pct",
];

type Values = [f64; METRICS.len()];

/// Runs the step once per pass and returns what CUDA device 0 counted in one step. If any metric cannot be counted, it
/// returns an error.
///
/// # Errors
/// Errors of a step. When CUPTI is missing or refuses to count, the error says why and what to do.
pub fn count(subject: &mut Subject<'_>) -> Result<GpuCounters, String> {
    library::load()?;
    let context = kernels::cuda::primary_context("hardware counters", 0)
        .map_err(|refusal| refusal.to_string())?;
    count_in(context, 0, subject)
}

fn count_in(
    context: CUcontext,
    device: usize,
    subject: &mut Subject<'_>,
) -> Result<GpuCounters, String> {
    let profiler = Profiler::start()?;
    let host = Host::new(context, device)?;
    let config = host.config()?;
    let range = Range::enable(context, &config)?;
    range.run(subject)?;
    let values = host.evaluate(&range.image);
    // The order matters: a range must end before the profiler does.
    drop(range);
    drop(host);
    drop(profiler);
    counters(values?)
}

/// Converts the values of one range, which is one step; percentages become shares.
fn counters(values: Values) -> Result<GpuCounters, String> {
    for (metric, value) in METRICS.iter().zip(values) {
        if !value.is_finite() {
            let metric = metric.to_string_lossy();
            return Err(format!(
                "hardware counters: {metric} is {value}: the step ran nothing on the GPU that it is of"
            ));
        }
    }
    let [cycles, sm, tensor, warps, dram_bytes, dram, l2] = values;
    Ok(GpuCounters {
        cycles,
        sm_throughput: sm / 100.0,
        tensor_active: tensor / 100.0,
        occupancy: warps / 100.0,
        dram_bytes,
        dram_throughput: dram / 100.0,
        l2_hit_rate: l2 / 100.0,
    })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
