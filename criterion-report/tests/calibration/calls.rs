//! Call overhead: in the file, in the summary, in `show`.

use super::*;
use clap::ColorChoice;
use criterion_report::cli::writer::Writer;
use criterion_report::views::calibration::CallOverhead;
use criterion_report::views::show;

const CALL: CallOverhead = CallOverhead {
    probe: Probe::Call,
    device: Device::Cpu,
    threads: 1,
    queue_ns: None,
    median_ns: 512.0,
    low_ns: None,
    high_ns: None,
    num_trials: 10,
    full_id: String::new(),
};

/// Without its bounds and its id.
fn bare(overhead: &CallOverhead) -> CallOverhead {
    CallOverhead { low_ns: None, high_ns: None, full_id: String::new(), ..overhead.clone() }
}

#[test]
fn calls_have_a_list_of_their_own() {
    let profile = profile(&REQUEST);
    let [call, compiled] = &profile.call_overheads[..] else {
        panic!("{:?}", profile.call_overheads)
    };
    assert_eq!(bare(call), CALL);
    let expected = CallOverhead { probe: Probe::CompiledCall, median_ns: 1380.0, ..CALL };
    assert_eq!(bare(compiled), expected);
    for (overhead, probe) in [(call, "call"), (compiled, "compiled_call")] {
        let bounds = (overhead.low_ns.expect("there"), overhead.high_ns.expect("there"));
        assert!(bounds.0 < overhead.median_ns && overhead.median_ns < bounds.1, "{bounds:?}");
        assert_eq!(overhead.full_id, format!("calibration/machine/{probe}/cpu/1-thread/f32-1"));
    }
    let keys: Vec<&String> = profile.operation_profiles.keys().collect();
    assert!(!keys.iter().any(|key| key.contains("call") || key.contains("launch")), "{keys:?}");
    let only = Request { operations: &[OperationKind::Call], ..REQUEST };
    let only = super::profile(&only);
    assert_eq!(only.call_overheads, profile.call_overheads);
    assert!(only.operation_profiles.is_empty() && only.launch_latencies.is_empty());
    let without = Request { operations: &[OperationKind::Launch], ..REQUEST };
    let without = serde_json::to_value(super::profile(&without)).expect("serialises");
    assert_eq!(without.get("call_overheads"), None);
}

/// Without a peak and a bandwidth, too.
#[test]
fn calls_alone_make_a_summary() {
    let profile = profile(&Request { operations: &[OperationKind::Call], ..REQUEST });
    let summary = write(&profile, None, false);
    for line in [
        "  call of an operation, cpu, 1 thread: 512.0 ns [511.0, 513.0]\n",
        "  call of a compiled operation, cpu, 1 thread: 1.380 µs [1.377, 1.383]\n",
    ] {
        assert!(summary.contains(line), "{summary}");
    }
}

/// There the host is ahead of the device: the call is what queueing takes.
#[test]
fn of_a_device_with_a_queue_the_call_is_queueing() {
    let (_folder, report) = edited(|line| {
        if !line.contains("call/cpu") {
            return line.to_owned();
        }
        let clocks = "\"measures\":{\"clocks\":{\"device_ns\":512.0,\"host_ns\":9100.0,\
                      \"queue_ns\":3300.0,\"host_bound\":true},";
        line.replace("\"device\":\"cpu\"", "\"device\":\"cuda\"").replace("\"measures\":{", clocks)
    });
    let request = Request { device: Some(Device::Cuda), ..REQUEST };
    let profile = calibrate(&report, &request).expect("a profile");
    let queued: Vec<Option<f64>> = profile.call_overheads.iter().map(|it| it.queue_ns).collect();
    assert_eq!(queued, [Some(3300.0); 2]);
    let summary = write(&profile, Some(120), false);
    let line = "  call of an operation, cuda, 1 thread: 3.300 µs to queue, 512.0 ns [511.0, 513.0] on \
                the device\n";
    assert!(summary.contains(line), "{summary}");
}

#[test]
fn a_table_of_calls_has_their_time_alone() {
    let report = common::try_report("calibration", "new", "call/").expect("readable");
    let options = show::Options { color: ColorChoice::Never, details: false, ..Default::default() };
    let text = common::write(&Writer::Show(options), &report);
    let tables: Vec<&str> =
        text.split("\n\n").filter(|it| it.starts_with("calibration/")).collect();
    assert_snapshot!(tables.join("\n\n"));
}
