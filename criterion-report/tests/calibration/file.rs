//! The file of a profile: keys, values, and that it comes back.

use super::*;

#[test]
fn the_file_of_a_machine() {
    let request = Request {
        operations: &[OperationKind::Matmul],
        patterns: &[PatternFamily::Linear],
        peak_gflops: Some(250.0),
        ..REQUEST
    };
    let text = criterion_report::cli::calibration::json(&profile(&request)).expect("serialises");
    assert_snapshot!("calibration-profile", text);
}

#[test]
#[cfg(feature = "schema")]
fn the_file_is_as_its_schema_says() {
    let profile = serde_json::to_value(profile(&REQUEST)).expect("serialises");
    crate::common::assert_as_schema("calibration-v1", &profile);
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
    fs::write(&file, criterion_report::cli::calibration::json(&profile).expect("serialises"))
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
    assert!(error.contains("not a calibration profile"), "{error}");
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
        .fusions()
        .filter(|fusion| fusion.fusion_pattern == "Linear_Bias")
        .map(|fusion| &fusion.input_shape)
        .collect();
    let large = &[512, 1024, 1024];
    assert_eq!(linear, [&[128, 512, 512], large, large, large]);
    assert_eq!(profile.fusions().count(), 8, "several variants of a shape, too");
}

/// Upstream's `get_fusion_speedup` returns the entry under the pattern's name, or a default if there is none.
#[test]
fn upstreams_lookup_finds_the_largest_size_of_what_it_calls_fused() {
    let profile = profile(&REQUEST);
    let file = serde_json::to_value(&profile).expect("serialises");
    let speedup = |pattern: &str| {
        let found = file["fusion_profiles"].get(pattern);
        found.map_or(1.0, |it| it["speedup_factor"].as_f64().expect("a number"))
    };
    let measured: BTreeSet<&str> = profile.fusions().map(|it| &*it.fusion_pattern).collect();
    assert_eq!(measured.len(), 2);
    for pattern in measured {
        let own = |it: &&FusionCalibration| {
            it.fusion_pattern == pattern && it.extra_params["variant"] == "fused"
        };
        let flops = |it: &FusionCalibration| it.extra_params["flops"].as_u64();
        let largest = profile.fusions().filter(own).max_by_key(|it| flops(it)).expect("measured");
        assert_eq!(speedup(pattern), largest.speedup_factor, "{pattern}");
        assert_eq!(&file["fusion_profiles"][pattern], &serde_json::json!(largest), "{pattern}");
    }
    assert_eq!(speedup("Conv2d_BN"), 1.0, "it was not measured, so upstream's default holds");
}

/// Upstream does not know other dtypes and variants. An entry of one of them under the pattern's name would be a wrong
/// number without any error.
#[test]
fn upstreams_lookup_finds_nothing_but_what_upstream_measures() {
    for (from, to) in [("torch.float32", "torch.bfloat16"), ("\"hot\"", "\"cold\"")] {
        let (_folder, report) = edited_in("fusion", |line| line.replace(from, to));
        let profile = calibrate(&report, &REQUEST).expect("a profile");
        assert_eq!(profile.fusion_profiles.len(), profile.fusions().count(), "{to}");
    }
}

#[test]
fn upstreams_lookup_finds_no_smaller_size_in_place_of_the_largest() {
    let (_folder, report) = edited_in("fusion", |line| {
        if line.contains("\"full_id\":\"fusion/machine/linear_bias/cpu/fused/f32-512x1024x1024\"") {
            line.replace(
                "{\"status\":\"measured\"}",
                "{\"status\":\"oom\",\"reason\":\"no memory\"}",
            )
        } else {
            line.to_owned()
        }
    });
    let profile = calibrate(&report, &REQUEST).expect("a profile");
    let smaller = |it: &FusionCalibration| it.input_shape == [128, 512, 512];
    assert!(profile.fusions().any(smaller), "the smaller one is measured");
    let named = |name: &str| profile.fusion_profiles.contains_key(name);
    assert!(!named("Linear_Bias") && named("FullAttention_SDPA"));
    let note = "`fusion_profiles` has no `Linear_Bias` alone: its largest case, \
                fusion/machine/linear_bias/cpu/fused/f32-512x1024x1024, has no speed-up";
    assert!(profile.notes.iter().any(|it| it == note), "{:?}", profile.notes);
}

#[test]
fn upstream_defect_6_the_file_says_what_ran() {
    let profile = profile(&REQUEST);
    let metadata = &profile.metadata;
    assert_eq!(metadata.num_measurement_runs, Some(10), "criterion's samples in the fixture");
    assert_eq!(metadata.num_warmup_runs, None, "warming up takes a time");
    assert_eq!(metadata.calibration_date, "2026-11-20T13:43:18Z");
    assert!(profile.operation_profiles.values().all(|operation| operation.num_trials == 10));
    assert!(profile.fusions().all(|fusion| fusion.num_trials == 24), "blocks");
    let operators = |pattern: &str| {
        let fusion = profile.fusions().find(|it| it.fusion_pattern == pattern);
        let fusion = fusion.expect("in the profile");
        assert_eq!(fusion.num_operators, fusion.operators.len() as u64);
        fusion.operators.clone()
    };
    assert_eq!(operators("Linear_Bias"), ["mm", "add"]);
    assert_eq!(operators("FullAttention_SDPA"), ["bmm", "mul", "softmax", "bmm"]);
    for (name, value) in
        [("--device", "gpu"), ("--operations", "relu"), ("--fusion-patterns", "mlp")]
    {
        let output = run_on("calibration", &["--hardware", "x", name, value]);
        assert_eq!(output.status.code(), Some(2));
        assert!(err(&output).contains(&format!("'{value}'")), "{}", err(&output));
    }
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

/// A key that both have means the same.
#[test]
fn names_are_those_of_fusions_document() {
    let folder = common::fixture("calibration").join("criterion");
    let output = Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .args(["fusion", "--format", "json", "--criterion-dir"])
        .arg(folder)
        .output()
        .expect("the program starts");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = criterion_report::cli::calibration::json(&profile(&REQUEST)).expect("serialises");
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
