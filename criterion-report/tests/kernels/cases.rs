//! Values of single cases, reckoned by hand.

use criterion_report::views::kernels::{
    KernelResult, Point, contests, descending, high_peak, most, nondeterministic, precision_gains,
    slow_call, slow_first_call, unsteady, without_counts, without_reference,
};

use super::*;
use crate::common::pair_of;

/// One measured case, edited, as its object in the file of its kernel.
fn entry(change: impl Fn(&mut Measured)) -> Value {
    let fixture =
        Fixture::of_kernels(&[Make("gemv", "kernel", Float32, Cpu, 2_000_000)]).edit("", change);
    let folder = Folder::with(&fixture);
    folder.written(&[]);
    folder.json("reports/kernels/gemv.json")["cases"][0].clone()
}

fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!((value - expected).abs() <= 1e-12 * expected.abs(), "{value} {expected}");
}

#[test]
fn timing_is_of_the_single_calls() {
    let entry = entry(|it| {
        fixture::latency(&mut it.record, vec![2_000_000, 4_000_000, 4_000_000, 6_000_000]);
    });
    let timing = &entry["timing"];
    close(&timing["latency_ms_p50"], 4.0);
    close(&timing["latency_ms_mean"], 4.0);
    // √((4 + 0 + 0 + 4) / 4), the population's.
    close(&timing["latency_ms_std"], 2f64.sqrt());
    // Calls per second at the mean.
    close(&timing["throughput_ops_per_sec"], 250.0);
    close(&timing["latency_ms_max"], 6.0);
    assert_eq!(timing["iterations"], 4);
    assert_eq!(timing["raw_times_ms"], serde_json::json!([2.0, 4.0, 4.0, 6.0]));
    // Values that four calls cannot show are not made up.
    assert_eq!(
        (&timing["latency_ms_p90"], &timing["latency_ms_p99"]),
        (&Value::Null, &Value::Null)
    );
    let why = "too few calls: at least five have to lie beyond a percentile: 4 of";
    assert_eq!(entry["absent"]["timing.latency_ms_p90"], format!("{why} 50"));
    assert_eq!(entry["absent"]["timing.latency_ms_p99"], format!("{why} 500"));
}

#[test]
fn percentiles_are_numpys() {
    // 1, 2, …, 500 µs: numpy.percentile gives 450.1 and 495.01 µs.
    let entry = entry(|it| fixture::latency(&mut it.record, (1..=500).map(|i| i * 1000).collect()));
    close(&entry["timing"]["latency_ms_p90"], 0.4501);
    close(&entry["timing"]["latency_ms_p99"], 0.49501);
}

#[test]
fn memory_energy_and_rates() {
    let entry = entry(|_| {});
    let memory = &entry["memory"];
    // 2 MiB of inputs, 1 of an output made beforehand, 1 of the step.
    close(&memory["peak_mb"], 4.0);
    close(&memory["allocated_mb"], 3.0);
    close(&memory["step_peak_mb"], 1.0);
    assert_eq!(memory["reserved_mb"], Value::Null);
    let energy = &entry["energy"];
    close(&energy["energy_j"], 0.015);
    close(&energy["power_w"], 60.0);
    // One second over 4000 steps; 60 W of it are the 0.015 J.
    close(&energy["duration_s"], 0.00025);
    // 2 · 10⁶ operations and 4 · 10⁶ bytes in 2 ms.
    close(&entry["gflop_per_s"], 1.0);
    close(&entry["gb_per_s"], 2.0);
    close(&entry["criterion"]["median_ms"], 2.0);
    close(&entry["criterion"]["low_ms"], 1.99);
    close(&entry["criterion"]["high_ms"], 2.01);
    assert_eq!(entry["criterion"]["confidence_level"], 0.95);
    assert_eq!(entry["no_speedup_reason"], "the others are compared with it");
    assert_eq!(
        entry["metadata"],
        serde_json::json!({
            "domain": "fluid dynamics", "iterations": 100, "seed": 42, "warmup": 3,
        })
    );
}

#[test]
fn accuracy_without_a_reference_is_null_and_says_so() {
    let with = entry(|_| {});
    close(&with["accuracy"]["rmse"], 5e-5);
    close(&with["accuracy"]["max_error"], 3e-4);
    close(&with["accuracy"]["relative_error"], 1e-4);
    close(&with["accuracy"]["determinism_std"], 0.0);
    let without = entry(|it| {
        it.record.kernel.as_mut().expect("measured").has_reference = false;
        let accuracy = it.record.accuracy.as_mut().expect("measured");
        accuracy.relative_error = plan::JsonFloat(f64::NAN);
        accuracy.rmse = Some(plan::JsonFloat(f64::NAN));
    });
    assert_eq!(without["accuracy"]["rmse"], Value::Null);
    assert_eq!(without["accuracy"]["relative_error"], Value::Null);
    close(&without["accuracy"]["determinism_std"], 0.0);
    assert_eq!(without["absent"]["accuracy.rmse"], "the kernel has no reference");
}

#[test]
fn a_foreign_estimate_is_nobodys_time() {
    let entry = entry(|it| {
        it.record.last_sample = Some(plan::LastSample { iters: 7, ns: 1 });
    });
    assert_eq!(entry["criterion"], Value::Null);
    let reason = entry["no_criterion_reason"].as_str().expect("a reason");
    assert!(reason.starts_with("stale: criterion's estimate is of another run"), "{reason}");
    // The record's own values are of this run.
    assert_eq!(entry["success"], true);
    close(&entry["timing"]["latency_ms_max"], 2.02);
    assert_eq!((&entry["gflop_per_s"], &entry["error_message"]), (&Value::Null, &Value::Null));
}

#[test]
fn figures_of_an_earlier_run_are_not_of_this_one() {
    let fixture = Fixture::of_kernels(&[Make("gemv", "kernel", Float32, Cpu, 2_000_000)])
        .edit("", |it| it.record.run_id = "kernels-earlier-1".to_owned());
    let report = fixture.kernels_report();
    let result = result(&report, "gemv");
    assert_eq!((&*result.point.status, result.record()), (Point::MISSING, None));
    let reason = result.point.reason.expect("a reason");
    assert!(reason.ends_with("this is from run kernels-earlier-1"), "{reason}");
}

#[test]
fn a_name_of_the_authors_does_not_hide_ours() {
    let entry = entry(|it| {
        if let plan::Work::Kernel(work) = &mut it.record.case.work {
            work.metadata.insert("seed".to_owned(), serde_json::json!("pumpkin"));
        }
    });
    assert_eq!(entry["metadata"]["seed"], 42);
    let notes = entry["notes"].to_string();
    assert!(notes.contains("the `metadata` of its bench.yaml has a `seed`"), "{notes}");
}

#[test]
fn unlike_problems_are_not_ranked_together() {
    let fixture = everything().edit("gemv/cpu/kernel/f16", |it| {
        let facts = it.record.kernel.as_mut().expect("measured");
        facts.problem_size.insert("n".to_owned(), serde_json::json!(8192));
    });
    let report = fixture.kernels_report();
    let results = KernelResult::all(&report);
    let contests = contests(&results);
    let ranked: Vec<Vec<&str>> =
        contests.iter().map(|it| it.0.iter().map(|result| result.full_id).collect()).collect();
    assert_eq!(
        ranked,
        [
            vec![
                "kernels/default/pressure_poisson/cpu/red_black_sor/f32-64x64x64-1e-6",
                "kernels/default/pressure_poisson/cpu/red_black_sor/f64-64x64x64-1e-6",
                "kernels/default/pressure_poisson/cpu/kernel/f32-64x64x64-1e-6",
                "kernels/default/pressure_poisson/cpu/kernel/f64-64x64x64-1e-6",
            ],
            vec!["kernels/default/gemv/cpu/kernel/f32-4096"],
            vec!["kernels/default/gemv/cpu/kernel/f16-4096"],
            vec!["kernels/default/reduction/cpu/kernel/f32-4096"],
        ]
    );
}

#[test]
fn a_narrower_precision_is_compared_with_the_next_wider_one() {
    let report = everything().kernels_report();
    let gains = precision_gains(&KernelResult::all(&report));
    let of = |part: &str| {
        gains.iter().find(|gain| gain.full_id.contains(part)).expect("it has a wider sibling")
    };
    let half = of("gemv/cpu/kernel/f16");
    assert_eq!((half.narrow, half.wide), (Float16, Float32));
    // 300 µs over 900 µs.
    assert!((half.gain.ratio - 1.0 / 3.0).abs() < 1e-12);
    assert!(half.gain.high < 1.0);
    let single = of("pressure_poisson/cpu/kernel/f32");
    // Each bound is off by a half-width of both sides, added as variances of logarithms.
    let below = f64::hypot(f64::ln(1.0 / 0.995), f64::ln(1.005));
    assert!((single.gain.low / (2.0 * (-below).exp()) - 1.0).abs() < 1e-12, "{:?}", single.gain);
    assert!(single.proven);
    assert_eq!(gains.len(), 3, "failed and unsupported ones have no time");
}

#[test]
fn recommendations_are_from_evidence() {
    let report = everything().kernels_report();
    let results = KernelResult::all(&report);
    let reduction = "kernels/default/reduction/cpu/kernel/f32-4096";
    // 36 calls of 50 µs and 4 of 100: mean 55, standard deviation √(0.9 · 25 + 0.1 · 2025) = 15.
    let unsteady = descending(&results, unsteady);
    assert_eq!((unsteady.len(), unsteady[0].0.full_id), (1, reduction));
    assert!((unsteady[0].1 - 15.0 / 55.0).abs() < 1e-12);
    let named = |value: fn(&KernelResult<'_>) -> Option<f64>| {
        let cases = descending(&results, value).into_iter();
        cases.map(|(result, value)| (result.full_id.to_owned(), value)).collect::<Vec<_>>()
    };
    let bytes = f64::from((3 << 20) + (2 << 10)) * 1024.0;
    assert_eq!(named(high_peak), [(reduction.to_owned(), bytes)]);
    assert_eq!(named(nondeterministic), [(reduction.to_owned(), 2.5e-7)]);
    assert_eq!(without_reference(&results), ["reduction"]);
    assert_eq!(without_counts(&results), ["reduction"]);
    let folder =
        Folder::with(&Fixture::of_kernels(&[Make("gemv", "kernel", Float32, Cpu, 2_000_000)]));
    folder.written(&[]);
    let summary = folder.text("reports/summary.md");
    let (_, section) = summary.split_once("## Recommendations\n\n").expect("the section");
    let titles: Vec<&str> = section.lines().filter(|line| line.starts_with("- **")).collect();
    assert_eq!(titles, ["- **Quiet machine:** the machine was not quiet when the runs began"]);
}

#[test]
fn who_is_the_fastest_is_sure_only_where_the_intervals_say_so() {
    let decided = |rival: u64| {
        let fixture = Fixture::of_kernels(&[
            Make("gemv", "kernel", Float32, Cpu, 1_000_000),
            Make("gemv", "blocked", Float32, Cpu, rival),
        ]);
        let report = fixture.kernels_report();
        let results = KernelResult::all(&report);
        let contests = contests(&results);
        assert_eq!((contests.len(), contests[0].0[0].implementation), (1, "kernel"));
        contests[0].is_decided()
    };
    // Intervals of ±0.5 %.
    assert!(decided(1_011_000));
    assert!(!decided(1_009_000));
}

#[test]
fn a_test_is_no_measurement() {
    let fixture = Fixture::of_kernels(&[Make("gemv", "kernel", Float32, Cpu, 2_000_000)])
        .end("gemv", &Outcome::Tested);
    let report = fixture.kernels_report();
    let result = result(&report, "gemv");
    assert_eq!(result.point.status, "tested");
    let reason = "run once to be checked (`--test`), not measured";
    assert_eq!(result.point.reason.as_deref(), Some(reason));
    assert!(contests(&[result]).is_empty());
}

#[test]
fn with_a_calibration_the_share_of_the_bandwidth_is_said() {
    let fixture = Fixture::of_kernels(&[Make("gemv", "kernel", Float32, Cpu, 2_000_000)]);
    let folder = Folder::with(&fixture);
    let probes = &common::fixture("probes");
    for file in files(probes).iter().filter(|file| !file.contains("/runs/")) {
        let to = folder.path(file);
        fs::create_dir_all(to.parent().expect("a folder")).expect("created");
        fs::copy(probes.join(file), to).expect("copied");
    }
    folder.written(&[]);
    let entry = &folder.json("reports/summary.json")["results"];
    assert_eq!(entry.as_array().map(Vec::len), Some(1), "calibrations are no kernels");
    // STREAM's copy of 256 MiB on one thread: both arrays over its median.
    let estimates = "criterion/calibration_quick_copy_cpu/1-thread/f32-256MiB/new/estimates.json";
    let median = folder.json(estimates)["median"]["point_estimate"].as_f64().expect("a time");
    let copy = 2.0 * f64::from(256 << 20) / median;
    let share = 100.0 * 2.0 / copy;
    let line = format!("  - `kernels/default/gemv/cpu/kernel/f32-4096`: {share:.1} % of memory\n");
    let summary = folder.text("reports/summary.md");
    assert!(summary.contains(&line), "{line}{summary}");
}

#[test]
fn calls_that_were_not_kept_are_null_with_the_reason() {
    let entry = entry(|it| it.record.measures.calls_ns.clear());
    close(&entry["timing"]["latency_ms_max"], 2.02);
    for name in ["latency_ms_std", "raw_times_ms"] {
        assert_eq!(entry["timing"].get(name), Some(&Value::Null), "{name}");
        let why = "the record does not have the single calls, only what follows from them";
        assert_eq!(entry["absent"][format!("timing.{name}")], why);
    }
    assert_eq!(entry["absent"]["memory.reserved_mb"], "a CPU has no reserving allocator");
}

#[test]
fn a_rival_becomes_the_kernel_only_where_it_can_replace_it_everywhere() {
    let both = || {
        Fixture::of_kernels(&[
            Make("gemv", "kernel", Float32, Cpu, 2_000_000),
            Make("gemv", "blocked", Float32, Cpu, 1_000_000),
            Make("gemv", "kernel", Float64, Cpu, 2_000_000),
            Make("gemv", "blocked", Float64, Cpu, 1_000_000),
        ])
    };
    let everywhere = |fixture: Fixture| {
        let report = fixture.kernels_report();
        let rivals = criterion_report::views::kernels::rivals(&KernelResult::all(&report));
        assert_eq!((rivals.len(), rivals[0].implementation), (1, "blocked"));
        rivals[0].not.is_empty()
    };
    let wide = "gemv/cpu/blocked/f64";
    let pair = |it: &mut Measured, ratio: f64| {
        let against = it.record.pairs[0].against.clone();
        it.record.pairs = vec![pair_of(against, ratio)];
    };
    assert!(everywhere(both()));
    assert!(everywhere(both().edit(wide, |it| pair(it, 1.0))), "the same");
    assert!(!everywhere(both().edit(wide, |it| pair(it, 0.5))), "slower");
    assert!(!everywhere(both().without(wide)), "not there");
    assert!(!everywhere(both().edit(wide, |it| it.record.pairs.clear())), "not compared");
    let unproven = both().edit(wide, |it| {
        it.record.kernel.as_mut().expect("measured").has_reference = false;
    });
    assert!(!everywhere(unproven), "not proven");
    let failed = Outcome::Failed { error: "<b> of @someone".to_owned() };
    let folder = Folder::with(&both().end(wide, &failed));
    folder.written(&[]);
    let summary = folder.text("reports/summary.md");
    let line = "- `gemv/blocked`: faster here: `cpu/f32-4096` 2.00× [1.98, 2.02]; slower or \
                missing: `cpu/f64-4096`\n";
    assert!(summary.contains(line), "{summary}");
    assert!(summary.contains("&lt;b&gt; of @\u{200b}someone"), "{summary}");
}

#[test]
fn among_equals_none_is_the_most() {
    let report = Fixture::of_kernels(&[
        Make("gemv", "kernel", Float32, Cpu, 2_000_000),
        Make("sort", "kernel", Float32, Cpu, 1_000_000),
    ])
    .kernels_report();
    let results = KernelResult::all(&report);
    assert!(most(&results, |it| it.peak_bytes().map(|bytes| bytes as f64)).is_none());
    let flops = most(&results, |it| it.entry?.row.gflop_per_s());
    assert_eq!(flops.expect("they differ").0.0.kernel, "sort");
}

#[test]
fn a_case_that_failed_its_check_keeps_its_facts() {
    let entry = entry(|it| {
        it.record.outcome = Outcome::Failed { error: "wrong".to_owned() };
        it.record.measures = plan::Measures::default();
    });
    assert_eq!((&entry["outcome"], &entry["flops"]), (&"failed".into(), &2_000_000.into()));
    assert_eq!(entry["problem_size"]["max_iterations"], 200);
    assert_eq!((&entry["no_speedup_reason"], &entry["timing"]), (&Value::Null, &Value::Null));
}

#[test]
fn calls_far_above_the_median_stand_out() {
    let with = |calls: Vec<u64>| {
        let report = Fixture::of_kernels(&[Make("gemv", "kernel", Float32, Cpu, 2_000_000)])
            .edit("", |it| fixture::latency(&mut it.record, calls.clone()))
            .kernels_report();
        let results = KernelResult::all(&report);
        let factors = |value: fn(&KernelResult<'_>) -> Option<f64>| -> Vec<f64> {
            descending(&results, value).into_iter().map(|(_, factor)| factor).collect()
        };
        (factors(slow_first_call), factors(slow_call))
    };
    assert_eq!(with(vec![1000; 9]), (vec![], vec![]));
    assert_eq!(with(vec![6000, 1000, 1000, 1000]), (vec![6.0], vec![]));
    assert_eq!(with(vec![1000, 1000, 8000, 1000]), (vec![], vec![8.0]));
    assert_eq!(with(vec![1000, 1000, 4900, 1000]), (vec![], vec![]));
}
