//! `calibration`: the profile of a machine, its file and its summary; and that the defects of the
//! original are not in them.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{fixture, report};
use criterion_report::model::calibration::{
    FusionAdvice, FusionCalibration, OperationCalibration, OperationKey, OperationKind, PeakSource,
    Preset, Profile, Request, calibrate,
};
use criterion_report::model::{Location, Report, Selection};
use criterion_report::write::calibration::write;
use insta::assert_snapshot;
use plan::{Device, Dtype, PatternFamily, Probe};
use serde_json::Value;

const ALL: &[OperationKind] =
    &[OperationKind::Matmul, OperationKind::Memory, OperationKind::Launch];

const REQUEST: Request<'_> = Request {
    hardware: "Bench One",
    device: None,
    peak_gflops: None,
    peak_bandwidth: None,
    preset: None,
    operations: ALL,
    patterns: PatternFamily::ALL,
};

fn profile(request: &Request<'_>) -> Profile {
    calibrate(&report("calibration"), request).expect("a profile")
}

fn operation(probe: Probe, size: u64, threads: u32) -> OperationKey {
    OperationKey { probe, size, dtype: Dtype::Float32, device: Device::Cpu, threads }
}

fn found(profile: &Profile, probe: Probe, size: u64) -> &OperationCalibration {
    profile.operation(&operation(probe, size, 2)).expect("in the profile")
}

/// The fixture, its records of operations edited.
fn edited(edit: impl Fn(&str) -> String) -> (tempfile::TempDir, Report) {
    edited_in("calibration", edit)
}

/// The fixture, its records of a bench target edited.
fn edited_in(target: &str, edit: impl Fn(&str) -> String) -> (tempfile::TempDir, Report) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    copy(&fixture("calibration"), folder.path());
    let records = folder.path().join(format!("criterion-torch/new/{target}.jsonl"));
    let text = fs::read_to_string(&records).expect("readable");
    let lines: String = text.lines().map(|line| edit(line) + "\n").collect();
    assert_ne!(lines, text, "the edit changes something");
    fs::write(&records, lines).expect("written");
    let location = Location::at(folder.path().join("criterion"));
    let report = Report::read(&location, "new", Selection::default()).expect("readable");
    (folder, report)
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let there = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&there).expect("created");
            copy(&entry.path(), &there);
        } else {
            fs::copy(entry.path(), there).expect("copied");
        }
    }
}

/// Equal, but for the last digit that the JSON parser may get wrong.
fn alike(one: &Profile, other: &Profile) {
    fn compare(one: &Value, other: &Value) {
        match (one, other) {
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
                one.iter().zip(other).for_each(|(one, other)| compare(one, other));
            }
            (Value::Object(one), Value::Object(other)) => {
                assert!(one.keys().eq(other.keys()), "{one:?} and {other:?}");
                one.values().zip(other.values()).for_each(|(one, other)| compare(one, other));
            }
            (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
                let (a, b) = (a.as_f64().expect("a number"), b.as_f64().expect("a number"));
                assert!((a - b).abs() <= 1e-15 * a.abs(), "{a} and {b}");
            }
            _ => assert_eq!(one, other),
        }
    }
    let value = |profile: &Profile| serde_json::to_value(profile).expect("serialises");
    compare(&value(one), &value(other));
}

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .arg("calibration")
        .args(args)
        .env_remove("CRITERION_HOME")
        .output()
        .expect("the program starts")
}

fn on(fixture: &str, args: &[&str]) -> Output {
    let folder = format!("tests/fixtures/{fixture}/criterion");
    run(&[args, &["--criterion-dir", &folder]].concat())
}

fn out(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

fn err(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}

fn old(name: &str) -> PathBuf {
    PathBuf::from("tests/fixtures/profiles").join(name)
}

#[test]
fn the_summary_of_a_machine() {
    assert_snapshot!("calibration-summary", write(&profile(&REQUEST), None, false));
}

#[test]
fn the_summary_fits_eighty_columns_and_colour_changes_nothing_but_colour() {
    let profile = profile(&REQUEST);
    let plain = write(&profile, None, false);
    assert!(plain.contains("mkldnn-unfused"), "the longest variant is there");
    for (columns, width) in [(None, 80), (Some(20), 60), (Some(60), 60), (Some(120), 120)] {
        let text = write(&profile, columns, false);
        // The name of a place is as long as it is.
        let place = |line: &&str| line.starts_with("strategy on ");
        let wide = text.lines().filter(|line| line.chars().count() > width);
        assert_eq!(wide.filter(|line| !place(line)).collect::<Vec<_>>(), [""; 0], "{columns:?}");
        assert!(text.lines().filter(place).all(|line| line.chars().count() <= 80));
        assert!(text.starts_with(&format!("{}\n", "=".repeat(width))), "{columns:?}");
    }
    let codes = regex::Regex::new("\x1b\\[[0-9]+m").expect("a valid pattern");
    let coloured = write(&profile, None, true);
    assert_ne!(coloured, plain);
    assert_eq!(codes.replace_all(&coloured, ""), plain);
}

#[test]
fn the_file_of_a_machine() {
    let request = Request {
        operations: &[OperationKind::Matmul],
        patterns: &[PatternFamily::Linear],
        peak_gflops: Some(250.0),
        ..REQUEST
    };
    let text = criterion_report::calibration::json(&profile(&request)).expect("serialises");
    assert_snapshot!("calibration-profile", text);
}

/// Upstream's loader hands each of these objects to a constructor: a key more or less breaks it.
#[test]
fn upstreams_objects_have_upstreams_keys() {
    let ours = serde_json::to_value(profile(&REQUEST)).expect("serialises");
    let theirs: Value =
        serde_json::from_slice(&fs::read(old("old-fusion.json")).expect("there")).expect("JSON");
    let keys = |value: &Value| {
        value.as_object().expect("an object").keys().cloned().collect::<Vec<String>>()
    };
    assert_eq!(keys(&ours["metadata"]), keys(&theirs["metadata"]));
    for objects in ["operation_profiles", "fusion_profiles"] {
        let all = |profile: &Value| {
            let objects = profile[objects].as_object().expect("an object").values();
            objects.map(keys).collect::<Vec<_>>()
        };
        let expected = &all(&theirs)[0];
        assert!(!all(&ours).is_empty());
        assert!(all(&ours).iter().all(|keys| keys == expected), "{objects}");
    }
    for key in keys(&theirs) {
        assert!(ours.get(&key).is_some(), "{key}");
    }
}

#[test]
fn a_profile_comes_back_from_its_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("profile.json");
    let profile = profile(&REQUEST);
    fs::write(&file, criterion_report::calibration::json(&profile).expect("serialises"))
        .expect("written");
    alike(&Profile::load(&file).expect("a profile"), &profile);
}

#[test]
fn old_files_load_and_come_back_as_they_were() {
    for name in ["old.json", "old-fusion.json"] {
        let profile = Profile::load(&old(name)).expect("a profile");
        let mut before: Value =
            serde_json::from_slice(&fs::read(old(name)).expect("there")).expect("JSON");
        if before.get("fusion_profiles").is_none() {
            before["fusion_profiles"] = Value::Object(serde_json::Map::new());
        }
        assert_eq!(serde_json::to_value(&profile).expect("serialises"), before, "{name}");
    }
}

#[test]
fn the_summary_of_an_old_file_is_without_its_lies() {
    let output = run(&["--load", old("old-fusion.json").to_str().expect("text")]);
    assert!(output.status.success(), "{}", err(&output));
    assert_snapshot!("calibration-old-summary", out(&output));
}

#[test]
fn files_of_a_newer_schema_and_other_files_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("profile.json");
    let mut value = serde_json::to_value(profile(&REQUEST)).expect("serialises");
    value["version"] = 99.into();
    // A newer schema may lack anything.
    value["metadata"] = Value::Null;
    fs::write(&file, value.to_string()).expect("written");
    let error = Profile::load(&file).expect_err("refused").to_string();
    assert!(error.contains("version 99") && error.contains("up to version 1"), "{error}");
    let other = Profile::load(&fixture("calibration").join("criterion-torch/new/fusion.jsonl"));
    let error = other.expect_err("refused").to_string();
    assert!(error.contains("this is no calibration profile"), "{error}");
}

#[test]
fn upstream_defect_2_every_size_survives() {
    let profile = profile(&REQUEST);
    assert_eq!(profile.operation_profiles.len(), 21, "as many as were measured");
    for (probe, sizes) in [(Probe::Matmul, [1024, 2048]), (Probe::Copy, [128 << 10, 256 << 20])] {
        let [small, large] = sizes.map(|size| found(&profile, probe, size));
        assert_ne!(small.mean_latency_ms, large.mean_latency_ms, "{probe}");
    }
    let linear: Vec<&Vec<u64>> = profile
        .fusion_profiles
        .values()
        .filter(|fusion| fusion.fusion_pattern == "Linear_Bias")
        .map(|fusion| &fusion.input_shape)
        .collect();
    let large = &[512, 1024, 1024];
    assert_eq!(linear, [&[128, 512, 512], large, large, large]);
    assert_eq!(profile.fusion_profiles.len(), 8, "several variants of a shape, too");
}

#[test]
fn what_two_configs_measured_is_said_and_the_later_kept() {
    // `all` threads are two here, and so is the count.
    let (_folder, report) = edited(|line| {
        if line.contains("matmul/cpu/1-thread/f32-1024") {
            line.replace("\"threads\":1,\"interop", "\"threads\":2,\"interop")
        } else {
            line.to_owned()
        }
    });
    let profile = calibrate(&report, &REQUEST).expect("a profile");
    assert_eq!(profile.operation_profiles.len(), 20);
    let kept = &found(&profile, Probe::Matmul, 1024).extra_params["full_id"];
    assert_eq!(kept, "calibration/machine/matmul/cpu/all-threads/f32-1024");
    let twice = profile.notes.iter().find(|note| note.contains("was measured twice"));
    assert!(twice.is_some_and(|note| note.contains("cpu/1-thread/f32-1024, earlier, is not")));
}

#[test]
fn upstream_defect_6_the_file_says_what_ran() {
    let profile = profile(&REQUEST);
    let metadata = &profile.metadata;
    assert_eq!(metadata.num_measurement_runs, Some(10), "criterion's samples in the fixture");
    assert_eq!(metadata.num_warmup_runs, None, "warming up takes a time");
    assert_eq!(metadata.calibration_date, "2026-11-20T13:43:18Z");
    assert!(profile.operation_profiles.values().all(|operation| operation.num_trials == 10));
    assert!(profile.fusion_profiles.values().all(|fusion| fusion.num_trials == 24), "blocks");
    let operators = |pattern: &str| {
        let fusion = profile.fusion_profiles.values().find(|it| it.fusion_pattern == pattern);
        let fusion = fusion.expect("in the profile");
        assert_eq!(fusion.num_operators, fusion.operators.len() as u64);
        fusion.operators.clone()
    };
    assert_eq!(operators("Linear_Bias"), ["mm", "add"]);
    assert_eq!(operators("FullAttention_SDPA"), ["bmm", "mul", "softmax", "bmm"]);
    for (name, value) in
        [("--device", "gpu"), ("--operations", "relu"), ("--fusion-patterns", "mlp")]
    {
        let output = on("calibration", &["--hardware", "x", name, value]);
        assert_eq!(output.status.code(), Some(2));
        assert!(err(&output).contains(&format!("'{value}'")), "{}", err(&output));
    }
}

#[test]
fn upstream_defect_6_a_device_is_chosen_and_never_assumed() {
    let (_folder, report) = edited(|line| {
        if line.contains("bf16-2048") {
            line.replace("\"device\":\"cpu\"", "\"device\":\"cuda\"")
        } else {
            line.to_owned()
        }
    });
    let error = calibrate(&report, &REQUEST).expect_err("two devices").to_string();
    assert_eq!(error, "there are calibrations of cpu and cuda: choose one with --device");
    let of = |device| Request { device: Some(device), ..REQUEST };
    let cuda = calibrate(&report, &of(Device::Cuda)).expect("a profile");
    assert_eq!(cuda.operation_profiles.len(), 1);
    assert!(cuda.fusion_profiles.is_empty(), "those are of the CPU");
    assert_eq!(calibrate(&report, &of(Device::Cpu)).expect("one").operation_profiles.len(), 20);
    let h100 = Preset::named("h100").expect("a preset");
    let preset = Request { preset: Some(&h100), ..REQUEST };
    let profile = calibrate(&report, &preset).expect("the preset's device");
    assert_eq!(profile.rooflines[0].peak_gflops.value, 989_400.0, "of bfloat16");
    let error = calibrate(&common::report("calibration"), &preset).expect_err("another device");
    assert!(error.to_string().contains("preset `h100` is of a device cuda"), "{error}");
}

#[test]
fn upstream_defect_7_a_peak_below_what_was_measured_is_pointed_out() {
    let low = Request { peak_gflops: Some(250.0), ..REQUEST };
    let profile = profile(&low);
    let sources = profile.peak_source.as_ref().expect("there");
    assert_eq!(sources.gflops, Some(PeakSource::Given));
    assert_eq!(sources.bandwidth, Some(PeakSource::Measured), "each figure for itself");
    assert_eq!(profile.theoretical_peak_gflops, Some(250.0));
    assert!(profile.best_efficiency.is_some_and(|it| (1.2..1.21).contains(&it)));
    let note = "the best product is at 120.5 %: the given peak is below what was measured";
    assert!(profile.notes.iter().any(|it| it == note), "{:?}", profile.notes);
    let summary = write(&profile, None, false);
    assert!(summary.contains("120.5 % !") && summary.contains(note), "{summary}");
    let measured = write(&crate::profile(&REQUEST), None, false);
    assert!(!measured.contains('!'), "nothing exceeds what was measured: {measured}");
}

#[test]
fn upstream_defect_7_the_ridge_decides_what_bounds_an_operation() {
    let profile = profile(&REQUEST);
    let ridge = profile.headline().and_then(|roof| roof.ridge_flop_per_byte).expect("a ridge");
    assert!((37.1..37.2).contains(&ridge), "{ridge}");
    let small = found(&profile, Probe::Matmul, 128);
    assert!(small.arithmetic_intensity > 10.0 && small.arithmetic_intensity < ridge);
    assert_eq!((small.memory_bound, small.compute_bound), (Some(true), Some(false)));
    let large = found(&profile, Probe::Matmul, 1024);
    assert_eq!((large.memory_bound, large.compute_bound), (Some(false), Some(true)));
    // Of a machine with less arithmetic the same operation is compute-bound.
    let other = crate::profile(&Request { peak_gflops: Some(80.0), ..REQUEST });
    assert_eq!(found(&other, Probe::Matmul, 128).memory_bound, Some(false));
}

#[test]
fn upstream_defect_7_bandwidths_are_no_additions_and_no_products() {
    let profile = profile(&REQUEST);
    let copy = found(&profile, Probe::Copy, 256 << 20);
    assert_eq!((copy.operation_type.as_str(), copy.measured_gflops), ("copy", 0.0));
    assert_eq!(found(&profile, Probe::Add, 256 << 20).operation_type, "add");
    let worst = found(&profile, Probe::Matmul, 128);
    assert_eq!(profile.worst_measured_gflops, Some(worst.measured_gflops));
    assert_eq!(profile.worst_efficiency, worst.efficiency);
    // An early file of upstream, whose worst product is a copy.
    let old = Profile::load(&old("old.json")).expect("a profile");
    assert_eq!(old.worst_measured_gflops, Some(0.0));
    assert_eq!(old.products().gflops.map(|it| (it.best, it.worst)), Some((640.0, 80.0)));
}

#[test]
fn upstream_defect_8_only_the_very_operation_is_found() {
    let profile = profile(&REQUEST);
    let key = operation(Probe::Matmul, 1024, 2);
    assert!(profile.operation(&key).is_some());
    for other in [
        OperationKey { size: 4096, ..key },
        OperationKey { threads: 8, ..key },
        OperationKey { dtype: Dtype::Float16, ..key },
        OperationKey { device: Device::Cuda, ..key },
    ] {
        assert_eq!(profile.operation(&other), None, "{other}");
    }
}

#[test]
fn upstream_defect_8_the_machine_is_in_the_file() {
    let profile = profile(&REQUEST);
    assert_eq!(profile.metadata.cpu_model, "AMD EPYC 7763 64-Core Processor");
    let environment = profile.environment.as_ref().expect("there");
    assert_eq!(environment.host.governor.as_deref(), Some("performance"));
    assert_eq!(environment.host.affinity.as_deref(), Some("0-1"));
    assert_eq!(environment.host.caches.len(), 3);
    let matmul = found(&profile, Probe::Matmul, 2048);
    assert_eq!(matmul.extra_params["threads"], 2);
    assert_eq!(profile.rooflines.len(), 3, "float32 on one and two threads, bfloat16 on two");
    assert_eq!(profile.preflight_checks.len(), 6);
    assert_eq!(profile.run_ids, ["20261120T134000Z-4242", "20261120T140000Z-4250"]);
}

#[test]
fn peaks_are_at_the_median_of_the_best_size_with_its_interval() {
    let profile = profile(&REQUEST);
    let roof = profile.headline().expect("there");
    let best = roof.peak_gflops.measured.as_ref().expect("there");
    assert_eq!(best.operation, operation(Probe::Matmul, 2048, 2).to_string());
    let median = found(&profile, Probe::Matmul, 2048).extra_params["median_latency_ms"].as_f64();
    let gflops = 2.0 * 2048_f64.powi(3) / (median.expect("there") * 1e6);
    assert!((best.value / gflops - 1.0).abs() < 1e-12);
    assert!(best.low < Some(best.value) && Some(best.value) < best.high);
    let memory = roof.bandwidth_gbps.as_ref().expect("there");
    let triad = operation(Probe::Triad, 256 << 20, 2).to_string();
    assert_eq!(memory.measured.as_ref().map(|it| &it.operation), Some(&triad));
    let levels: Vec<(&str, u32)> =
        profile.bandwidth_by_level.iter().map(|it| (it.level.as_str(), it.threads)).collect();
    assert_eq!(levels, [("L1", 2), ("L2", 2), ("L3", 2), ("memory", 1), ("memory", 2)]);
}

#[test]
fn without_known_caches_the_largest_arrays_stand_for_memory_and_that_is_said() {
    let (_folder, report) = edited(|line| {
        let start = line.find(",\"caches\":[").expect("caches");
        let end = start + line[start..].find(']').expect("their end") + 1;
        format!("{}{}", &line[..start], &line[end..])
    });
    let profile = calibrate(&report, &REQUEST).expect("a profile");
    let note = "bandwidth on 2 threads: the sizes of the caches are not recorded; the largest, \
                256MiB each, stand for memory";
    assert!(profile.notes.iter().any(|it| it == note), "{:?}", profile.notes);
    let levels: Vec<&str> = profile.bandwidth_by_level.iter().map(|it| it.level.as_str()).collect();
    assert_eq!(levels, ["memory", "memory"]);
    assert_eq!(found(&profile, Probe::Copy, 8 << 10).efficiency, None, "of nobody knows what");
    assert!(write(&profile, None, false).contains("  unclear\n"));
}

#[test]
fn arrays_that_fit_a_cache_never_stand_for_memory() {
    let (_folder, report) = edited(|line| {
        line.replace("\"level\":3,\"bytes\":33554432", "\"level\":3,\"bytes\":4294967296")
    });
    let profile = calibrate(&report, &REQUEST).expect("a profile");
    assert_eq!(profile.theoretical_bandwidth_gbps, None);
    assert_eq!(found(&profile, Probe::Matmul, 1024).memory_bound, None, "there is no ridge");
    let note = "no arrays are 4 times as large as the last cache (4.00 GiB); the largest, 256MiB \
                each, fit a cache: the bandwidth of memory is not known";
    assert!(profile.notes.iter().any(|it| it.ends_with(note)), "{:?}", profile.notes);
}

#[test]
fn a_documented_bandwidth_makes_a_ridge_without_a_measured_one() {
    let i7 = Preset::named("i7-12700k").expect("a preset");
    let products = Request { operations: &[OperationKind::Matmul], ..REQUEST };
    assert_eq!(found(&profile(&products), Probe::Matmul, 1024).memory_bound, None);
    let profile = profile(&Request { preset: Some(&i7), ..products });
    let roof = profile.headline().expect("there");
    assert_eq!(roof.ridge_flop_per_byte, Some(1523.2 / 76.8));
    assert_eq!(roof.peak_gflops.source, PeakSource::Preset("i7-12700k".to_owned()));
    assert_eq!(
        (profile.theoretical_bandwidth_gbps, profile.measured_bandwidth_gbps),
        (Some(76.8), None)
    );
    // Figures of a whole machine say nothing about one thread.
    let one = &profile.rooflines[0];
    assert_eq!((one.threads, &one.peak_gflops.source), (1, &PeakSource::Measured));
    // The user's own figure wins over the preset's.
    let both = Request { preset: Some(&i7), peak_gflops: Some(1000.0), ..products };
    let sources = crate::profile(&both).peak_source.expect("there");
    assert_eq!(sources.gflops, Some(PeakSource::Given));
    assert_eq!(sources.bandwidth, Some(PeakSource::Preset("i7-12700k".to_owned())));
}

#[test]
fn what_has_no_time_is_said() {
    let (_folder, report) = edited(|line| {
        if line.contains("cpu/all-threads/f32-2048\",\"run_id") {
            line.replace(
                "{\"status\":\"measured\"}",
                "{\"status\":\"oom\",\"reason\":\"no memory\"}",
            )
        } else {
            line.to_owned()
        }
    });
    let profile = calibrate(&report, &REQUEST).expect("a profile");
    assert_eq!(profile.operation(&operation(Probe::Matmul, 2048, 2)), None);
    let note = "1 calibration case without a time of the last run that selected it; \
                calibration/machine/matmul/cpu/all-threads/f32-2048: oom: no memory";
    assert!(profile.notes.iter().any(|it| it == note), "{:?}", profile.notes);
}

#[test]
fn products_and_memory_may_have_run_on_different_numbers_of_threads() {
    let (_folder, report) = edited(|line| {
        if line.contains("matmul/cpu/all-threads") {
            line.replace("\"threads\":2,\"interop", "\"threads\":3,\"interop")
        } else {
            line.to_owned()
        }
    });
    let given = Request { peak_gflops: Some(400.0), peak_bandwidth: Some(10.0), ..REQUEST };
    let profile = calibrate(&report, &given).expect("a profile");
    assert_eq!(profile.headline().map(|roof| roof.threads), Some(3));
    assert_eq!(profile.theoretical_peak_gflops, Some(400.0));
    assert_eq!(profile.headline().and_then(|roof| roof.ridge_flop_per_byte), Some(40.0));
    // Memory was measured on two threads only: a figure of the whole machine says nothing of it.
    let sources = profile.peak_source.as_ref().expect("there");
    assert_eq!(sources.bandwidth, Some(PeakSource::Measured));
    assert_eq!(profile.theoretical_bandwidth_gbps, profile.measured_bandwidth_gbps);
    assert_eq!(found(&profile, Probe::Triad, 256 << 20).efficiency, Some(1.0));
    let note = "the peak of memory that was named is of the whole machine, not of the 2 threads \
                that it was measured on at most; other operations ran on 3: it is left as measured";
    assert!(profile.notes.iter().any(|it| it == note), "{:?}", profile.notes);
    let summary = write(&profile, None, false);
    assert!(summary.contains("8.110  GB/s     measured  2 threads"), "{summary}");
}

#[test]
fn a_profile_is_of_one_machine() {
    let (_folder, report) = edited(|line| {
        if line.contains("f32-2048") { line.replace("bench-1", "bench-2") } else { line.to_owned() }
    });
    let error = calibrate(&report, &REQUEST).expect_err("two machines").to_string();
    assert!(error.contains("bench-1: AMD") && error.contains("bench-2: AMD"), "{error}");
    assert!(error.contains("--latest"), "{error}");
    // Of fusions as of operations.
    for field in [("bench-1", "bench-2"), ("EPYC 7763", "EPYC 9755")] {
        let (_folder, report) = edited_in("fusion", |line| line.replace(field.0, field.1));
        let error = calibrate(&report, &REQUEST).expect_err("two machines").to_string();
        assert!(error.contains(field.0) && error.contains(field.1), "{error}");
        let without = Request { patterns: &[], ..REQUEST };
        assert!(calibrate(&report, &without).is_ok(), "they are not asked for");
    }
}

#[test]
fn a_peak_is_the_best_product_by_whichever_library() {
    let (_folder, report) = edited(|line| {
        if line.contains("all-threads/f32-2048") {
            line.replace("\"probe\":\"matmul\"", "\"probe\":\"matmul_onednn\"")
        } else {
            line.to_owned()
        }
    });
    let profile = calibrate(&report, &REQUEST).expect("a profile");
    let key = operation(Probe::MatmulOnednn, 2048, 2);
    let best = profile.headline().and_then(|roof| roof.peak_gflops.measured.clone());
    assert_eq!(best.map(|it| it.operation), Some(key.to_string()));
    let product = profile.operation(&key).expect("under its own key");
    assert_eq!(product.operation_type, "matmul", "upstream has no other word");
    assert_eq!((product.name(), product.efficiency), ("matmul_onednn", Some(1.0)));
    let summary = write(&profile, None, false);
    assert!(summary.contains("[300.7, 301.9]  matmul_onednn 2048"), "{summary}");
}

#[test]
fn a_fusion_above_its_roof_refutes_the_peak() {
    let (_folder, report) = edited(|line| {
        let large = ["all-threads/f32-1024", "all-threads/f32-2048"];
        let drop = large.iter().any(|id| line.contains(id));
        if drop {
            line.replace("\"measured\"}", "\"oom\",\"reason\":\"x\"}")
        } else {
            line.to_owned()
        }
    });
    let profile = calibrate(&report, &REQUEST).expect("a profile");
    let note = profile.notes.iter().find(|note| note.contains(" reached ")).expect("a note");
    assert!(note.contains("GFLOP/s of float32 on 2 threads"), "{note}");
    assert!(note.ends_with("the peak is only that of matmul 128 (150.2 GFLOP/s)"), "{note}");
    let above = |fusion: &&FusionCalibration| {
        fusion.extra_params["unfused_efficiency"].as_f64() > Some(1.0)
    };
    assert!(profile.fusion_profiles.values().any(|fusion| above(&fusion)));
    let summary = write(&profile, None, false);
    assert!(summary.contains("150.2 !  [") && summary.contains("exceeds the peak"), "{summary}");
    // The others are not in question.
    let [one, two, other] = &profile.rooflines[..] else { panic!("{:?}", profile.rooflines) };
    assert_eq!([one, two, other].map(|it| profile.is_refuted(it)), [false, true, false]);
    let given = Request { peak_gflops: Some(100.0), ..REQUEST };
    let given = calibrate(&report, &given).expect("a profile");
    let ending = "the peak, 100.0 GFLOP/s (given), is below what was measured";
    assert!(given.notes.iter().any(|note| note.ends_with(ending)), "{:?}", given.notes);
    assert!(!crate::profile(&REQUEST).notes.iter().any(|note| note.contains(" reached ")));
}

/// Upstream's formula has a fused kernel touch its inputs and outputs only, whatever it does.
#[test]
fn upstream_defect_3_bytes_are_consistent_or_measured() {
    let profile = profile(&REQUEST);
    let sdpa: Vec<&FusionCalibration> = profile
        .fusion_profiles
        .values()
        .filter(|fusion| fusion.extra_params["variant"] == "sdpa-3d")
        .collect();
    assert_eq!(sdpa.len(), 2);
    for fusion in sdpa {
        let reduction = |name: &str| fusion.extra_params[name].as_f64().expect("there");
        assert!(fusion.memory_reduction.is_some_and(|it| it > 0.5), "upstream's field");
        assert!(reduction("consistent_reduction") < 0.0, "it moves more");
        for side in ["unfused", "fused"] {
            for name in ["peak", "total"] {
                let bytes = &fusion.extra_params[&format!("{side}_{name}_allocation_bytes")];
                assert!(bytes.is_u64(), "{side} {name}: {bytes}");
            }
        }
    }
    let summary = write(&profile, None, false);
    let lines: Vec<&str> = summary.lines().filter(|it| it.contains("  sdpa-3d  ")).collect();
    assert!(lines[..2].iter().all(|line| line.contains("  +")), "{lines:?}");
    assert!(!summary.contains("upstream's") && summary.contains("measured"), "{summary}");
    let old = Profile::load(&old("old-fusion.json")).expect("a profile");
    let summary = write(&old, None, false);
    assert!(summary.contains("upstream's") && !summary.contains("  peak"), "{summary}");
}

#[test]
fn cautions_are_in_the_file_and_below_the_tables() {
    let noted = |line: &str| line.replace("\"notes\":[]", "\"notes\":[\"the fan was loud\"]");
    for target in ["calibration", "fusion"] {
        let (_folder, report) = edited_in(target, noted);
        let profile = calibrate(&report, &REQUEST).expect("a profile");
        let loud = |params: &serde_json::Map<String, Value>| {
            let cautions = params["cautions"].as_array().expect("a list");
            cautions.iter().any(|it| it == "the fan was loud")
        };
        let of_target = target == "calibration";
        let operations = &profile.operation_profiles;
        assert!(operations.values().all(|it| loud(&it.extra_params) == of_target));
        let fusions = &profile.fusion_profiles;
        assert!(fusions.values().all(|it| loud(&it.extra_params) != of_target));
        let summary = write(&profile, None, false);
        assert_eq!(summary.matches("the fan was loud").count(), 1, "{summary}");
    }
}

#[test]
fn checks_and_circumstances_are_of_the_profiles_runs() {
    let targets = |profile: &Profile| {
        let runs = profile.preflight_checks.iter().map(|it| (it.target.clone(), it.run_id.clone()));
        runs.collect::<BTreeSet<_>>()
    };
    let all = profile(&REQUEST);
    assert!(targets(&all).iter().all(|(_, run)| all.run_ids.contains(run)));
    let (_folder, report) = edited_in("fusion", |line| line.replace("1f0c2ab", "2f0c2ab"));
    let both = calibrate(&report, &REQUEST).expect("a profile");
    assert!(both.notes.iter().any(|note| note.contains("of 2 circumstances")), "{:?}", both.notes);
    let operations = calibrate(&report, &Request { patterns: &[], ..REQUEST }).expect("one");
    assert_eq!(operations.run_ids, ["20261120T134000Z-4242"]);
    assert_eq!(operations.notes, [""; 0]);
    let run = ("calibration".to_owned(), "20261120T134000Z-4242".to_owned());
    assert_eq!(targets(&operations), BTreeSet::from([run]));
    let summary = write(&operations, None, false);
    assert!(summary.contains("Preflight Checks (before run 20261120T134000Z-4242):"), "{summary}");
}

#[test]
fn a_preset_is_held_against_the_machine() {
    let note = |report: &Report, name: &str| {
        let preset = Preset::named(name).expect("a preset");
        let profile = calibrate(report, &Request { preset: Some(&preset), ..REQUEST });
        let notes = profile.expect("a profile").notes;
        notes.into_iter().find(|note| note.starts_with("preset ")).unwrap_or_default()
    };
    let report = common::report("calibration");
    assert_eq!(
        note(&report, "i7-12700k"),
        "preset i7-12700k is of Intel Core i7-12700K; what was measured calls itself AMD EPYC 7763 \
         64-Core Processor: its peaks may be of another machine"
    );
    let as_9654 = |line: &str| line.replace("EPYC 7763", "EPYC 9654");
    let (folder, _) = edited(as_9654);
    let fusions = folder.path().join("criterion-torch/new/fusion.jsonl");
    let text = as_9654(&fs::read_to_string(&fusions).expect("readable"));
    fs::write(&fusions, text).expect("written");
    let location = Location::at(folder.path().join("criterion"));
    let report = Report::read(&location, "new", Selection::default()).expect("readable");
    assert_eq!(
        note(&report, "epyc-9654"),
        "preset epyc-9654 is of 96 cores; the runs could use 2 CPUs: its peaks are out of their reach"
    );
}

#[test]
fn one_set_of_results_makes_profiles_and_strategy() {
    let (_folder, report) = edited_in("fusion", |line| {
        let twin = line.replace("fusion/machine/", "fusion/other/");
        format!("{line}\n{}", twin.replace("\"config\":\"machine\"", "\"config\":\"other\""))
    });
    let twice = calibrate(&report, &REQUEST).expect("a profile");
    let once = profile(&REQUEST);
    assert_eq!(twice.fusion_strategy, once.fusion_strategy);
    assert!(twice.fusion_profiles.keys().eq(once.fusion_profiles.keys()));
    let note = |it: &&String| it.contains("fusion/other/") && it.ends_with("earlier, is not");
    assert_eq!(twice.notes.iter().filter(note).count(), 8);
    for FusionAdvice(advice) in &once.fusion_strategy {
        let points: usize = advice.variants.iter().map(|it| it.points.len()).sum();
        let own = |it: &&FusionCalibration| it.fusion_pattern == advice.pattern.upstream();
        assert_eq!(points, once.fusion_profiles.values().filter(own).count());
    }
}

/// Where both have a key, it means the same.
#[test]
fn names_are_those_of_fusions_document() {
    let folder = "tests/fixtures/calibration/criterion";
    let output = Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .args(["fusion", "--format", "json", "--criterion-dir", folder])
        .output()
        .expect("the program starts");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = criterion_report::calibration::json(&profile(&REQUEST)).expect("serialises");
    let ours: Value = serde_json::from_str(&text).expect("JSON");
    let strategy = |value: &Value, name: &str| value[name].as_array().expect("a list").clone();
    let (own, theirs) = (strategy(&ours, "fusion_strategy"), strategy(&document, "strategy"));
    assert_eq!(own.len(), theirs.len());
    for (own, theirs) in own.iter().zip(&theirs) {
        let mut own = own.clone();
        for variant in own["variants"].as_array_mut().expect("a list") {
            variant.as_object_mut().expect("an object").remove("speedups").expect("there");
        }
        assert_eq!(&own, theirs);
    }
    // Threads are those in force, as everywhere in a profile.
    let differ = ["threads", "extra_params"];
    for result in document["results"].as_array().expect("a list") {
        let profiles = ours["fusion_profiles"].as_object().expect("an object");
        let own = profiles.values().find(|it| it["extra_params"]["full_id"] == result["full_id"]);
        let own = own.expect("in the profile");
        let result = result.as_object().expect("an object");
        let params = own["extra_params"].as_object().expect("an object");
        let shared = result.iter().filter(|(key, _)| !differ.contains(&key.as_str()));
        let shared: Vec<&str> = shared
            .filter(|(key, _)| params.contains_key(*key))
            .map(|(key, _)| key.as_str())
            .collect();
        assert!(shared.len() > 25, "{shared:?}");
        for key in shared {
            assert_eq!(params[key], result[key], "{key}");
        }
        let additional = [
            "device",
            "threads",
            "unfused_samples",
            "fused_samples",
            "unfused_efficiency",
            "fused_efficiency",
        ];
        let unknown: Vec<&String> = params
            .keys()
            .filter(|key| !result.contains_key(*key) && !additional.contains(&key.as_str()))
            .collect();
        assert_eq!(unknown, [""; 0], "names that the document has not");
    }
}

#[test]
fn paint_is_by_the_benefit_alone() {
    let coloured = write(&profile(&REQUEST), None, true);
    let line = |text: &str| {
        let line = coloured.lines().find(|line| line.contains(text));
        line.unwrap_or_else(|| panic!("{text} is not in {coloured}")).to_owned()
    };
    assert!(line("1.84× [1.80, 1.89]").contains("\u{1b}[32m1.84×"), "strong");
    assert!(line("0.71× [0.70, 0.72]").contains("\u{1b}[31m0.71×"), "slower");
    assert!(line("0.97× [0.92, 1.01]").contains("\u{1b}[33m0.97×"), "inconclusive");
    // Its interval excludes 1, by less than upstream calls a benefit.
    let minimal = line("1.003× [1.001, 1.075]");
    assert!(minimal.contains("  1.003×") && minimal.contains("minimal"), "{minimal:?}");
    assert!(!coloured.contains("faster"));
}

#[test]
fn errors_say_what_to_do() {
    assert_snapshot!(err(&on("two-siblings", &["--hardware", "x"])), @r"
    error: no calibration of matmul, memory, launch with a time: no operation that was recorded has one; measure first with `cargo bench --bench calibration`
    ");
    assert_snapshot!(err(&on("calibration", &["--preset", "h-100"])), @r"
    error: unknown preset `h-100`: did you mean `h100`?
    ");
    assert_snapshot!(err(&on("calibration", &["--preset", "a100"])), @r"
    error: preset `a100` is of a device cuda, the calibration of cpu: leave it out
    ");
    assert_snapshot!(err(&on("calibration", &["--hardware", "x", "--peak-gflops", "0"])), @r"
    error: invalid value '0' for '--peak-gflops <GFLOP/S>': a peak is above zero; leave it out to take what was measured

    For more information, try '--help'.
    ");
    assert_snapshot!(err(&on("calibration", &["--hardware", "x", "--device", "cuda"])), @r"
    error: no calibration of matmul, memory, launch on cuda with a time: 22 others have one (matmul on cpu, memory on cpu, launch on cpu); ask for these with --operations and --device, or measure with `cargo bench --bench calibration`
    ");
    assert_snapshot!(err(&on("probes", &["--hardware", "x", "--device", "cpu", "--operations", "launch"])), @r"
    error: no calibration of launch on cpu with a time: 7 others have one (matmul on cpu, memory on cpu, launch on cuda); ask for these with --operations and --device, or measure with `cargo bench --bench calibration`
    ");
    assert_snapshot!(err(&on("calibration", &["--hardware", "x", "--peak-gflops", "-3"])), @r"
    error: invalid value '-3' for '--peak-gflops <GFLOP/S>': a peak is above zero; leave it out to take what was measured

    For more information, try '--help'.
    ");
    assert_snapshot!(err(&on("calibration", &["--hardware", " "])), @r"
    error: invalid value ' ' for '--hardware <NAME>': a name has a letter at least

    For more information, try '--help'.
    ");
    let mixed = ["--hardware", "x", "--fusion-patterns", "none,linear"];
    assert_snapshot!(err(&on("calibration", &mixed)), @r"
    error: --fusion-patterns: `none` stands alone; leave it or the others out
    ");
    assert_snapshot!(err(&run(&["--load", "profile.json", "--baseline", "x"])), @r"
    error: --load prints a profile and reads no results: leave --baseline out
    ");
    assert_snapshot!(err(&run(&["--list-presets", "--criterion-dir", "x", "--strict"])), @r"
    error: --list-presets prints the presets and reads no results: leave --strict, --criterion-dir out
    ");
    for args in [
        &["--list-presets", "--peak-gflops", "3"][..],
        &["--hardware", "x", "--peak-bandwidth=-3"],
        &["--hardware", "x", "--peak-gflops", "inf"],
        &["--load", "profile.json", "--hardware", "x"],
        &["--load", "profile.json", "--latest"],
        &[],
    ] {
        assert_eq!(run(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn the_profile_goes_to_the_file_and_the_summary_to_the_terminal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("profile.json");
    let path = file.to_str().expect("text");
    let output = on("calibration", &["--hardware", "Bench One", "--output", path]);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(out(&output), write(&profile(&REQUEST), None, false));
    alike(&Profile::load(&file).expect("a profile"), &profile(&REQUEST));
    let loaded = run(&["--load", path]);
    assert_eq!(out(&loaded), out(&output), "the file has all that the summary says");
}

#[test]
fn every_preset_is_listed_with_its_sources() {
    let output = run(&["--list-presets"]);
    assert_snapshot!("calibration-presets", out(&output));
    assert_eq!(out(&output).lines().find(|line| line.chars().count() > 80), None);
}

#[test]
fn two_kernels_of_one_attention_are_said() {
    let (_folder, report) = edited_in("fusion", |line| {
        let kernel = if line.contains("/full_attention/cpu/sdpa-3d/") {
            "aten::_scaled_dot_product_attention_math"
        } else if line.contains("/full_attention/cpu/fused/") {
            "aten::_scaled_dot_product_flash_attention_for_cpu"
        } else {
            "aten::bmm"
        };
        let start = line.find("\"kernels\":[").expect("kernels") + "\"kernels\":[".len();
        let end = start + line[start..].find(']').expect("their end");
        format!("{}\"{kernel}\"{}", &line[..start], &line[end..])
    });
    let profile = calibrate(&report, &REQUEST).expect("a profile");
    let note = "`sdpa-3d` and `fused` of FullAttention_SDPA differ by the kernel, not by fusing: \
                without an axis of heads libtorch runs aten::_scaled_dot_product_attention_math, \
                with one aten::_scaled_dot_product_flash_attention_for_cpu";
    assert!(profile.notes.iter().any(|it| it == note), "{:?}", profile.notes);
}
