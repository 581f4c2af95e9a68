//! Peaks, bandwidths, the roofline, and what refutes them.

use super::*;

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
    let measured = write(&super::profile(&REQUEST), None, false);
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
    // On a machine with less arithmetic the same operation is compute-bound.
    let other = super::profile(&Request { peak_gflops: Some(80.0), ..REQUEST });
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
    let sources = super::profile(&both).peak_source.expect("there");
    assert_eq!(sources.gflops, Some(PeakSource::Given));
    assert_eq!(sources.bandwidth, Some(PeakSource::Preset("i7-12700k".to_owned())));
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
    let note = "the given peak of memory is for the whole machine, but it was measured on at most \
                2 threads, and other operations on 3: the measured peak is kept";
    assert!(profile.notes.iter().any(|it| it == note), "{:?}", profile.notes);
    let summary = write(&profile, None, false);
    assert!(summary.contains("8.110  GB/s     measured  2 threads"), "{summary}");
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
    assert!(
        note.contains("only 150 (matmul_device=cpu_dtype=float32_size=128_threads=2)"),
        "{note}"
    );
    // It is the peak itself, then; the others are not in question.
    let [one, two, other] = &profile.rooflines[..] else { panic!("{:?}", profile.rooflines) };
    assert_eq!([one, two, other].map(|it| it.refuted().is_some()), [false, true, false]);
    let PeakSource::Reached(id) = &two.peak_gflops.source else { panic!("{two:?}") };
    assert!(note.starts_with(&format!("{id} reached ")), "{note}");
    let efficiency = |fusion: &FusionCalibration| fusion.extra_params["fused_efficiency"].as_f64();
    assert_eq!(profile.fusions().filter_map(efficiency).fold(0.0, f64::max), 1.0);
    let summary = write(&profile, None, false);
    assert!(summary.contains(&format!("reached by {id}")), "{summary}");
    let given = Request { peak_gflops: Some(100.0), ..REQUEST };
    let given = calibrate(&report, &given).expect("a profile");
    let ending = "the peak, 100.0 GFLOP/s (given), is below what was measured";
    assert!(given.notes.iter().any(|note| note.ends_with(ending)), "{:?}", given.notes);
    assert!(!super::profile(&REQUEST).notes.iter().any(|note| note.contains(" reached ")));
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
        "preset i7-12700k is of Intel Core i7-12700K; the measured processor calls itself AMD \
         EPYC 7763 64-Core Processor: the peaks may be those of another machine"
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
        "preset epyc-9654 is of 96 cores; the runs could use 2 CPUs: they cannot reach its peaks"
    );
}
