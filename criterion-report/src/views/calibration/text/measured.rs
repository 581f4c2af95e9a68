//! Peaks, what was reached of them, the roofline that they make, and what starting work costs.

use plan::{Device, Probe};

use super::{ABSENT, heading, rate};
use crate::model::Interval;
use crate::render::table::{Align, Cell, Line, Paint, fit, render, wrap};
use crate::render::units;
use crate::views::calibration::{
    Best, CallOverhead, LaunchLatency, Limit, PeakSource, Products, Profile,
};

pub fn peaks(profile: &Profile, width: usize, colour: bool) -> String {
    let sources = profile.peak_source.as_ref();
    let source = |source: Option<&PeakSource>| {
        // Upstream has no others.
        source.map_or_else(|| "given".to_owned(), ToString::to_string)
    };
    let gflops = source(sources.and_then(|it| it.gflops.as_ref()));
    let bandwidth = source(sources.and_then(|it| it.bandwidth.as_ref()));
    let line = |name: &str, value: Option<f64>, unit: &str, source: &str, on: &str| {
        let cells: [Cell; 5] =
            [name.into(), rate(value).into(), unit.into(), source.into(), on.into()];
        Line::Cells(if value.is_some() { cells.to_vec() } else { cells[..2].to_vec() })
    };
    let product = on(profile.headline().map(|roof| roof.threads));
    let memory = on(profile.memory_threads());
    let (peak, peak_bandwidth) =
        (profile.theoretical_peak_gflops, profile.theoretical_bandwidth_gbps);
    let lines = [
        line("Peak:", peak, "GFLOP/s", &gflops, &product),
        line("Peak bandwidth:", peak_bandwidth, "GB/s", &bandwidth, &memory),
    ];
    let columns = [
        ("", Align::Left),
        ("", Align::Right),
        ("", Align::Left),
        ("", Align::Left),
        ("", Align::Left),
    ];
    heading("Theoretical Specifications:", colour) + &render(&columns, &lines, 2, width, colour)
}

/// `2 threads`, where it is known.
fn on(threads: Option<u32>) -> String {
    threads.map(|threads| units::count(threads as usize, "thread")).unwrap_or_default()
}

/// The best, mean and worst product, and memory.
pub fn performance(profile: &Profile, width: usize, colour: bool) -> String {
    let Products { gflops, efficiency } = profile.products();
    let product = on(profile.headline().map(|roof| roof.threads));
    let memory = on(profile.memory_threads());
    let line = |name: &str, value: Option<f64>, unit: &str, share: Option<f64>| {
        let (share, paint) = super::efficiency(share);
        let on = if unit == "GB/s" { &memory } else { &product };
        let share = Cell::new(share, paint);
        Line::Cells(vec![name.into(), rate(value).into(), unit.into(), share, on.clone().into()])
    };
    let lines = [
        line("Best:", gflops.map(|it| it.best), "GFLOP/s", efficiency.map(|it| it.best)),
        line("Avg:", gflops.map(|it| it.mean), "GFLOP/s", efficiency.map(|it| it.mean)),
        line("Worst:", gflops.map(|it| it.worst), "GFLOP/s", efficiency.map(|it| it.worst)),
        line("Bandwidth:", profile.measured_bandwidth_gbps, "GB/s", profile.bandwidth_efficiency),
    ];
    let columns = [
        ("", Align::Left),
        ("", Align::Right),
        ("", Align::Left),
        ("efficiency", Align::Right),
        ("", Align::Left),
    ];
    let which =
        profile.headline().map(|roof| format!(" ({})", roof.dtype.plain())).unwrap_or_default();
    heading(&format!("Measured Performance{which}:"), colour)
        + &render(&columns, &lines, 2, width, colour)
}

/// The column of intervals, which gives way if a table is too wide.
const INTERVAL: usize = 3;

/// Peaks and ridge points, then the bandwidth of each level of memory, and what starting work costs.
pub fn rooflines(profile: &Profile, width: usize, colour: bool) -> String {
    let latencies = latencies(profile, width);
    if profile.rooflines.is_empty() && profile.bandwidth_by_level.is_empty() && latencies.is_empty()
    {
        return String::new();
    }
    let mut out = heading("Roofline (ridge in flop/byte):", colour);
    let columns = [
        ("peak of", Align::Left),
        ("threads", Align::Right),
        ("GFLOP/s", Align::Right),
        ("", Align::Left),
        ("by", Align::Left),
        ("ridge", Align::Right),
    ];
    let mut lines: Vec<Line> = profile
        .rooflines
        .iter()
        .map(|roof| {
            let Limit { value, source, measured } = &roof.peak_gflops;
            let own = measured.as_ref().filter(|_| *source == PeakSource::Measured);
            let by = own.map_or_else(|| source.to_string(), |it| profile.label(&it.operation));
            let interval = own.map(interval).unwrap_or_default();
            let ridge = roof.ridge_flop_per_byte;
            let peak = rate(Some(*value));
            let peak = match profile.is_refuted(roof) {
                true => Cell::new(format!("{peak} !"), Paint::Warn),
                false => peak.into(),
            };
            Line::Cells(vec![
                roof.dtype.plain().into(),
                roof.threads.to_string().into(),
                peak,
                interval.into(),
                by.into(),
                ridge.map_or(ABSENT.to_owned(), |ridge| units::significant(ridge, 3)).into(),
            ])
        })
        .collect();
    fit(&columns, &mut lines, 2, Some(width), &[INTERVAL]);
    out.push_str(&render(&columns, &lines, 2, width, colour));
    let columns = [
        ("bandwidth of", Align::Left),
        ("threads", Align::Right),
        ("GB/s", Align::Right),
        ("", Align::Left),
        ("by", Align::Left),
    ];
    let mut lines: Vec<Line> = profile
        .bandwidth_by_level
        .iter()
        .map(|it| {
            Line::Cells(vec![
                it.level.clone().into(),
                it.threads.to_string().into(),
                rate(Some(it.gbps.value)).into(),
                interval(&it.gbps).into(),
                profile.label(&it.gbps.operation).into(),
            ])
        })
        .collect();
    fit(&columns, &mut lines, 2, Some(width), &[INTERVAL]);
    out.push_str(&render(&columns, &lines, 2, width, colour));
    out + &latencies
}

fn interval(best: &Best) -> String {
    match (best.low, best.high) {
        (Some(low), Some(high)) => format!("[{}, {}]", rate(Some(low)), rate(Some(high))),
        _ => String::new(),
    }
}

/// The cost of starting work, one line each: kernels and calls.
fn latencies(profile: &Profile, width: usize) -> String {
    let launches = profile.launch_latencies.iter().map(launch);
    let calls = profile.call_overheads.iter().map(call);
    let lines = launches.chain(calls).map(|text| wrap(&text, width - 4).join("\n    "));
    lines.map(|text| format!("  {text}\n")).collect()
}

/// `launch of a kernel, cuda, 1 thread: 2.100 µs to queue, 9.800 µs round trip, 1.500 µs [1.4, 1.6]
/// on the device`
fn launch(latency: &LaunchLatency) -> String {
    let LaunchLatency { device, threads, queue_us, round_trip_us, .. } = latency;
    let ns = |us: f64| us * 1e3;
    let time = time_of(ns(latency.median_us), latency.low_us.map(ns), latency.high_us.map(ns));
    let queue = said(queue_us.map(ns), "to queue");
    let round_trip = said(round_trip_us.map(ns), "round trip");
    let of = place("launch of a kernel", *device, *threads);
    format!("{of}: {queue}{round_trip}{time} on the device")
}

/// `call of an operation, cpu, 1 thread: 512.0 ns [509.0, 515.0]`; of a device with a queue `call of
/// an operation, cuda, 1 thread: 3.100 µs to queue, 1.900 µs [1.898, 1.902] on the device`
fn call(overhead: &CallOverhead) -> String {
    let CallOverhead { device, threads, queue_ns, .. } = overhead;
    let what = match overhead.probe {
        Probe::CompiledCall => "call of a compiled operation",
        _ => "call of an operation",
    };
    let time = time_of(overhead.median_ns, overhead.low_ns, overhead.high_ns);
    let on = if *device == Device::Cpu { "" } else { " on the device" };
    format!("{}: {}{time}{on}", place(what, *device, *threads), said(*queue_ns, "to queue"))
}

fn place(what: &str, device: Device, threads: u32) -> String {
    format!("{what}, {device}, {}", units::count(threads as usize, "thread"))
}

fn time_of(median_ns: f64, low_ns: Option<f64>, high_ns: Option<f64>) -> String {
    let interval = low_ns.zip(high_ns).map(|(low, high)| Interval { low, high });
    units::time_with_interval(median_ns, interval)
}

/// `2.100 µs to queue, `, where it is known.
fn said(ns: Option<f64>, what: &str) -> String {
    ns.map(|ns| format!("{} {what}, ", units::time(ns))).unwrap_or_default()
}
