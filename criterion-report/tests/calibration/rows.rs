//! The rows that a profile is made of, and what it says of them.

use super::*;

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
    assert!(error.to_string().contains("preset `h100` is for cuda"), "{error}");
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
fn a_profile_is_of_one_machine() {
    let (_folder, report) = edited(|line| {
        if line.contains("f32-2048") { line.replace("bench-1", "bench-2") } else { line.to_owned() }
    });
    let error = calibrate(&report, &REQUEST).expect_err("two machines").to_string();
    assert!(error.contains("bench-1: AMD") && error.contains("bench-2: AMD"), "{error}");
    assert!(error.contains("--latest"), "{error}");
    // Fusions are checked as operations are.
    for field in [("bench-1", "bench-2"), ("EPYC 7763", "EPYC 9755")] {
        let (_folder, report) = edited_in("fusion", |line| line.replace(field.0, field.1));
        let error = calibrate(&report, &REQUEST).expect_err("two machines").to_string();
        assert!(error.contains(field.0) && error.contains(field.1), "{error}");
        let without = Request { patterns: &[], ..REQUEST };
        assert!(calibrate(&report, &without).is_ok(), "they are not asked for");
    }
}

/// Upstream's formula has a fused kernel touch its inputs and outputs only, whatever it does.
#[test]
fn upstream_defect_3_bytes_are_consistent_or_measured() {
    let profile = profile(&REQUEST);
    let sdpa: Vec<&FusionCalibration> =
        profile.fusions().filter(|fusion| fusion.extra_params["variant"] == "sdpa-3d").collect();
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
    for advice in &once.fusion_strategy {
        let points: usize = advice.variants.iter().map(|it| it.cases_with_speedup).sum();
        let own = |it: &&FusionCalibration| it.fusion_pattern == advice.pattern.upstream();
        assert_eq!(points, once.fusions().filter(own).count());
    }
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
