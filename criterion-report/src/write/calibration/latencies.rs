//! The cost of starting work, one line each: kernels and calls.

use plan::{Device, Probe};

use crate::model::Interval;
use crate::model::calibration::{CallOverhead, LaunchLatency, Profile};
use crate::units;
use crate::write::table::wrap;

pub fn lines(profile: &Profile, width: usize) -> String {
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
    let time = time(ns(latency.median_us), latency.low_us.map(ns), latency.high_us.map(ns));
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
    let time = time(overhead.median_ns, overhead.low_ns, overhead.high_ns);
    let on = if *device == Device::Cpu { "" } else { " on the device" };
    format!("{}: {}{time}{on}", place(what, *device, *threads), said(*queue_ns, "to queue"))
}

fn place(what: &str, device: Device, threads: u32) -> String {
    format!("{what}, {device}, {}", units::count(threads as usize, "thread"))
}

fn time(median_ns: f64, low_ns: Option<f64>, high_ns: Option<f64>) -> String {
    let interval = low_ns.zip(high_ns).map(|(low, high)| Interval { low, high });
    units::time_with_interval(median_ns, interval)
}

/// `2.100 µs to queue, `, where it is known.
fn said(ns: Option<f64>, what: &str) -> String {
    ns.map(|ns| format!("{} {what}, ", units::time(ns))).unwrap_or_default()
}
