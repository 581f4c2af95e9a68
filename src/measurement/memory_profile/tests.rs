use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ::libtorch::compiler_python;
use serde_json::Value;
use tch::{Kind, Tensor};

use super::*;
use crate::native::memory::MemoryEvent;
use crate::skip;

const FLOATS: (Kind, tch::Device) = (Kind::Float, tch::Device::Cpu);

fn event(address: u64, bytes: i64, time_ns: u64, operations: &[&str]) -> MemoryEvent {
    let operations = operations.iter().map(|&name| name.to_owned()).collect();
    MemoryEvent { address, bytes, time_ns, device: tch::Device::Cpu, operations }
}

/// A linear layer and an activation, with one block that stays live.
fn layer() -> Vec<MemoryEvent> {
    vec![
        event(0x7000, 6 << 20, 10_000, &["aten::linear", "aten::addmm"]),
        event(0x9000, 2 << 20, 20_000, &["aten::linear", "aten::addmm", "aten::empty"]),
        event(0x9000, -(2 << 20), 260_000, &["aten::linear"]),
        event(0x9000, 6 << 20, 300_000, &["aten::gelu"]),
        event(0x7000, -(6 << 20), 500_000, &[]),
        event(0x7000, 1 << 10, 501_000, &["aten::empty"]),
        event(0xa000, 1 << 10, 502_000, &[]),
    ]
}

fn named(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
    pairs.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect()
}

#[test]
fn blocks_count_for_the_operation_that_does_more_than_allocate() {
    let replay = Replay::from_events(&layer());
    assert_eq!((replay.peak_bytes, replay.peak_ns), (12 << 20, 300_000));
    assert_eq!(replay.at_peak, named(&[("aten::addmm", 6 << 20), ("aten::gelu", 6 << 20)]));
    let most = [
        ("aten::addmm", 8 << 20),
        ("aten::gelu", 6 << 20),
        ("aten::empty", 1 << 10),
        ("outside of operations", 1 << 10),
    ];
    assert_eq!(replay.operations, named(&most));
    assert_eq!(replay.moments.last().map(|it| it.total), Some((6 << 20) + 2048));
    assert_eq!(Replay::from_events(&[]), Replay::default());
}

#[test]
fn a_snapshot_holds_what_lives_at_the_end_and_every_event() {
    let constant = [("weights", 400), ("nothing", 0), ("input", 8)];
    let snapshot = snapshot::snapshot(&constant, &layer(), Duration::from_secs(2));
    let sizes = |key: &str| -> Vec<u64> {
        let segments = snapshot["segments"].as_array().unwrap();
        segments.iter().map(|it| it[key].as_u64().unwrap()).collect()
    };
    assert_eq!(sizes("total_size"), [400, 8, 1 << 10, 6 << 20, 1 << 10]);
    assert_eq!(sizes("address"), [4096, 4496, 0x7000, 0x9000, 0xa000]);
    let trace = snapshot["device_traces"][0].as_array().unwrap();
    assert_eq!(trace.len(), 5 * 2 + 2 * 3);
    assert_eq!(trace[1]["time_us"], 2_000_010);
    assert_eq!(trace[3]["frames"][0]["name"], "aten::empty", "the innermost first");
}

/// The look has to be judged in a browser: if the variable is set, these tests write their pictures into its folder,
/// and this test also updates its checked-in picture.
#[test]
fn a_picture_is_as_it_was() {
    let constant = [("weights", 4 << 20), ("input", 1 << 20)];
    let drawn = drawing::draw("inference/mlp/int8wo <1 & 2>", &constant, &layer());
    let place =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/measurement/memory_profile/layer.svg");
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        fs::write(&place, &drawn).unwrap();
    }
    let expected = fs::read_to_string(&place).unwrap_or_default();
    assert!(drawn == expected, "look at the change: UPDATE_PICTURES=FOLDER writes {place:?}");
}

#[test]
fn bands_that_would_fill_the_picture_are_not_to_scale() {
    let light = drawing::draw("x", &[("weights", 8 << 20)], &layer());
    assert!(light.contains("weights 8 MiB<") && !light.contains("not to scale"), "{light}");
    let heavy = drawing::draw("x", &[("weights", 8 << 30)], &layer());
    assert!(heavy.contains("weights 8 GiB (not to scale)"), "{heavy}");
    assert!(heavy.contains("peak 12 MiB at 300 µs, 8.01 GiB with weights<"), "{heavy}");
}

#[test]
fn pictures_of_one_event_and_of_none() {
    let one = drawing::draw("x", &[], &[event(1, 4, 0, &["aten::exp"])]);
    assert!(one.contains("peak 4 B at 0 ns<"), "{one}");
    let none = drawing::draw("x", &[("weights", 4)], &[]);
    assert!(none.contains("The step allocates nothing."), "{none}");
    for svg in [one, none] {
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

/// Each of twelve operations holds its own bytes, thousands of times.
fn crowd() -> Vec<MemoryEvent> {
    let name = |place: i64| format!("aten::operation_{place}_{}", "with_a_long_name_".repeat(5));
    let mut events = vec![];
    for at in 0..3000_i64 {
        let (place, time) = (at % 12, at as u64 * 1000);
        let bytes = (place + 1) * 4096 + at;
        events.push(event(at as u64, bytes, time, &["aten::outer", &name(place)]));
        if at >= 40 {
            let before = at - 40;
            let bytes = (before % 12 + 1) * 4096 + before;
            events.push(event(before as u64, -bytes, time + 500, &[]));
        }
    }
    events
}

#[test]
fn a_crowd_has_the_largest_and_the_others_at_its_own_peak() {
    let replay = Replay::from_events(&crowd());
    let series = series::from_replay(&replay, 800);
    assert_eq!(series.len(), 9);
    assert_eq!(series.last().map(|it| it.name.as_str()), Some(series::OTHER));
    let highest = series[8].edge.iter().map(|(_, bytes)| *bytes).max();
    assert_eq!(highest, Some(replay.peak_bytes), "the peak is not lost among its neighbours");
    assert!(series[0].edge.len() <= 2 * 801, "{}", series[0].edge.len());
    let svg = drawing::draw(&"a long title ".repeat(20), &[], &crowd());
    assert!(svg.len() < 200_000, "{}", svg.len());
    if let Some(folder) = std::env::var_os("UPDATE_PICTURES") {
        fs::write(PathBuf::from(folder).join("crowd.svg"), &svg).unwrap();
    }
    assert!(svg.contains('…'));
}

struct Recorded {
    _root: tempfile::TempDir,
    profile: MemoryProfile,
    files: Vec<ProfileFile>,
    pickle: PathBuf,
}

/// A step that allocates on several levels, and keeps nothing.
fn recorded(constant: &[(&str, u64)]) -> (Recorded, u64) {
    let x = Tensor::rand([64, 256], FLOATS);
    let weight = Tensor::rand([512, 256], FLOATS);
    let mut step = || {
        let y = x.f_linear(&weight, None::<Tensor>)?.f_gelu("none")?;
        drop(y.f_softmax(-1, Kind::Float)?);
        Ok(())
    };
    step().expect("warmed up");
    let (ended, tracked) = memory::track(step).expect("no profiler");
    ended.expect("it ran before");
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("profiles/linear");
    let (profile, files) =
        record(Device::Cpu, constant, &mut step, "linear", &folder, "layer_64", root.path())
            .expect("recorded");
    let pickle = folder.join("layer_64_memory_profile.pickle");
    (Recorded { _root: root, profile, files, pickle }, tracked.cpu.peak_bytes)
}

#[test]
fn a_recorded_step_has_its_peak_and_its_files() {
    let (step, tracked) = recorded(&[("weights", 524_288), ("input", 65_536)]);
    let profile = &step.profile;
    assert_eq!(profile.peak_bytes, tracked);
    assert_eq!(profile.at_peak.iter().map(|(_, bytes)| bytes).sum::<u64>(), tracked);
    assert_eq!(profile.stats["allocated_bytes.all.peak"], tracked + 524_288 + 65_536);
    assert!(profile.events >= 6 && profile.events % 2 == 0, "{profile:?}");
    let [pickle, svg] = &step.files[..] else { panic!("{:?}", step.files) };
    assert_eq!(pickle.path, "profiles/linear/layer_64_memory_profile.pickle");
    assert_eq!(pickle.kind, ProfileFileKind::MemorySnapshot);
    assert_eq!(svg.path, "profiles/linear/layer_64_memory_profile.svg");
    assert_eq!(fs::metadata(&step.pickle).expect("written").len(), pickle.bytes);
}

#[test]
fn a_step_that_fails_leaves_no_file() {
    let root = tempfile::tempdir().expect("a folder");
    let refusal = Refusal::Failed("on purpose".to_owned());
    let mut step = || Err(refusal.clone());
    let failed = record(Device::Cpu, &[], &mut step, "x", root.path(), "x", root.path());
    assert_eq!(failed.expect_err("the step's own"), refusal);
    assert_eq!(fs::read_dir(root.path()).expect("a folder").count(), 0);
}

/// A Python script that lets torch's own module read a snapshot and prints figures.
const VISUALIZER: &str = r#"
import json, pickle, sys, torch
from torch.cuda import _memory_viz as viz
snapshot = pickle.load(open(sys.argv[1], 'rb'))
lines = lambda text: [int(line.rsplit(' ', 1)[1]) for line in text.splitlines()]
live, peak = 0, 0
for event in snapshot['device_traces'][0]:
    live += {'alloc': 1, 'free_completed': -1}.get(event['action'], 0) * event['size']
    peak = max(peak, live)
print(json.dumps({
    'torch': torch.__version__,
    'peak': peak,
    'entries': len(snapshot['device_traces'][0]),
    'traced': int(viz.trace(snapshot).split('\n')[1].split()[0]),
    'segments': lines(viz.segments(snapshot, format_flamegraph=lambda text: text)),
    'memory': lines(viz.memory(snapshot, format_flamegraph=lambda text: text)),
    'summary': int(viz.segsum(snapshot).split('segments: ')[1].split()[0]),
    'page': len(viz.trace_plot(snapshot)),
    'states': len(viz.segment_plot(snapshot)),
}))
"#;

#[test]
fn torchs_own_visualizer_reads_a_snapshot() {
    let (program, _) = compiler_python(|name| std::env::var_os(name));
    let (step, tracked) = recorded(&[("weights", 524_288), ("input", 65_536)]);
    let output = Command::new(&program).args(["-c", VISUALIZER]).arg(&step.pickle).output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if said.contains("No module named 'torch'") {
                skip::tool(format!("{} has no torch", program.display()));
                return;
            }
            panic!("{said}");
        }
        Err(error) => {
            skip::tool(format!("{}: {error}", program.display()));
            return;
        }
    };
    let read: Value = serde_json::from_slice(&output.stdout).expect("one object");
    let version = read["torch"].as_str().expect("a version");
    assert_eq!(::libtorch::release(version), ::libtorch::VERSION, "{}", program.display());
    assert_eq!(read["peak"], tracked);
    // Two entries for an allocation and three for a release, in pairs.
    assert_eq!(read["entries"], step.profile.events / 2 * 5);
    assert_eq!(read["traced"], read["entries"]);
    assert_eq!(read["segments"], serde_json::json!([524_288, 65_536]));
    assert_eq!(read["memory"], read["segments"]);
    assert_eq!(read["summary"], 2);
    // Each page holds the snapshot, a third longer than its bytes.
    let least = fs::metadata(&step.pickle).expect("written").len() / 2;
    for page in ["page", "states"] {
        assert!(read[page].as_u64().is_some_and(|length| length > least), "{read}");
    }
}
