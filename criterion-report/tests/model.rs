//! Joining and comparing, on what runs left.

use std::fs;

use crate::common::{fixture, in_graphs, latest, report, try_report};
use criterion_report::model::{Caution, Entry, NoSpeedup, NoTime, Speedup};
use criterion_report::read::{Location, Report, Selection};
use serde_json::Value;
use statistics::Verdict;

fn entry<'a>(report: &'a Report, variant: &str) -> Entry<'a> {
    report
        .entries()
        .find(|entry| entry.row.record.case.id.variant == variant)
        .expect("the fixture has this variant")
}

#[test]
fn a_candidate_is_compared_with_its_baseline() {
    let report = report("two-siblings");
    let candidate = entry(&report, "int8wo");
    let comparison = candidate.comparison.expect("a candidate is compared");
    let speedup = comparison.speedup.as_ref().expect("there is a pair");
    assert_eq!((speedup.ratio, speedup.blocks), (1.83608, 18), "the pair's, not the medians'");
    assert_eq!(speedup.verdict(), Verdict::Faster);
    assert_eq!(comparison.weights_reduction, Some(1.0 - 1_052_672.0 / 2_097_152.0));
    let peak = |weights: f64| weights + 2.0 * 2_097_152.0;
    assert_eq!(comparison.peak_reduction, Some(1.0 - peak(1_052_672.0) / peak(2_097_152.0)));
    assert_eq!(comparison.cautions, []);
    assert!(entry(&report, "baseline").comparison.is_none());
}

#[test]
fn a_stale_estimate_is_no_time() {
    let report = report("stale-estimate");
    let stale = entry(&report, "int8wo");
    assert!(matches!(stale.row.time, Err(NoTime::Stale { recorded: (8, 99_999_999), .. })));
    let comparison = stale.comparison.expect("a candidate is compared");
    assert!(comparison.speedup.is_ok(), "the pair is the record's own");
    assert!(comparison.weights_reduction.is_some(), "and so is memory");
}

/// The record vouches for sample.json; an older estimates.json copied back beside it is not its.
#[test]
fn estimates_of_other_samples_are_no_time() {
    let report = report("mixed-estimate");
    let mixed = entry(&report, "int8wo");
    let why = NoTime::Mixed { sampled_ns: 6_789_000.0, estimated_ns: 5_000_000.0 };
    assert_eq!(mixed.row.time, Err(why));
    assert!(entry(&report, "baseline").row.time.is_ok());
}

/// Criterion's estimate of the baseline is one moment's, the pair another's.
#[test]
fn a_stale_baseline_leaves_the_speedup() {
    let report = report("stale-baseline");
    assert!(entry(&report, "baseline").row.time.is_err());
    let candidate = entry(&report, "int8wo");
    let comparison = candidate.comparison.expect("a candidate is compared");
    assert!(comparison.speedup.is_ok());
}

#[test]
fn a_candidate_alone_has_its_speedup() {
    let report = report("candidate-alone");
    let comparison = entry(&report, "int8wo").comparison.expect("a candidate is compared");
    assert!(comparison.speedup.is_ok() && comparison.baseline.is_none());
    assert_eq!(comparison.weights_reduction, None, "memory is not measured in pairs");
}

#[test]
fn without_a_pair_there_is_no_speedup_but_a_reason() {
    let report = report("no-pair");
    let speedup = |variant: &str| {
        let comparison = entry(&report, variant).comparison.expect("a candidate is compared");
        comparison.speedup.clone()
    };
    let reason = "baseline and candidate together do not fit into memory (1.20 GiB needed, 0.61 \
                  GiB free)";
    assert_eq!(speedup("int8wo"), Err(NoSpeedup::Recorded(reason.to_owned())));
    let variant = Some("baseline".to_owned());
    assert_eq!(speedup("int8dq"), Err(NoSpeedup::NoPair { variant }));
}

/// The candidate of the fixture `probes` without its baseline, which is `2-threads`, in a report of
/// `change`d records.
fn probe_alone(change: impl Fn(&mut Value)) -> Result<Speedup, NoSpeedup> {
    let records = fixture("probes").join("criterion-torch/new/calibration.jsonl");
    let text = fs::read_to_string(records).expect("readable").replace("1-thread", "2-threads");
    let mut records = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let mut candidate: Value = records
        .find(|record: &Value| record["case"]["role"] == "candidate")
        .expect("the fixture has one");
    change(&mut candidate);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let new = folder.path().join("criterion-torch/new");
    fs::create_dir_all(&new).expect("created");
    fs::write(new.join("calibration.jsonl"), candidate.to_string() + "\n").expect("written");
    let location = Location::at(folder.path().join("criterion"));
    let report = Report::read(&location, "new", Selection::default()).expect("readable");
    let comparison = entry(&report, "all-threads").comparison.expect("a candidate is compared");
    assert_eq!(comparison.baseline, None);
    comparison.speedup.clone()
}

/// The config says which threads a probe's baseline has; a name must not be made up.
#[test]
fn a_probe_without_its_baselines_row_has_the_speedup_of_its_pair() {
    let kept = probe_alone(|record| {
        let against = record["pairs"][0]["against"].as_str().expect("a pair");
        assert!(against.contains("/2-threads/"), "{against}");
    });
    assert!(kept.is_ok(), "{kept:?}");
    let unpaired = probe_alone(|record| record["pairs"] = Value::Array(vec![])).expect_err("none");
    assert_eq!(unpaired, NoSpeedup::NoPair { variant: None });
    let text =
        "it was not measured in pairs with its baseline; measure it again with `cargo bench`";
    assert_eq!(unpaired.to_string(), text);
}

#[test]
fn a_pair_of_an_unmeasured_case_is_none() {
    let report = report("every-outcome");
    for entry in report.entries().filter(|entry| !entry.row.is_baseline()) {
        let measured = entry.row.record.outcome.status() == "measured";
        let comparison = entry.comparison.expect("a candidate is compared");
        let expected = if measured { None } else { Some(&NoSpeedup::NotMeasured) };
        assert_eq!(comparison.speedup.as_ref().err(), expected, "{}", entry.row.full_id());
    }
}

const OUT_OF_TIME: &str = "time budget spent before the speed-up's interval reached ±1 %; \
                           `sampling.measurement_s` extends it";

fn texts(cautions: &[Caution]) -> Vec<String> {
    cautions.iter().map(ToString::to_string).collect()
}

#[test]
fn what_made_a_number_doubtful_is_said() {
    let noisy = report("noisy");
    let compared = entry(&noisy, "int8dq").comparison.expect("a candidate is compared");
    assert_eq!(texts(&compared.cautions), [OUT_OF_TIME]);
    let verdict = compared.speedup.as_ref().map(Speedup::verdict);
    assert_eq!(verdict, Ok(Verdict::Inconclusive));
    let moved = "the clock moved by more than 5 % while criterion sampled";
    let throttled = "the processor slowed itself down meanwhile: thermal";
    let discarded = "samples that were taken while the processor was throttled were taken again";
    let wide = "the interval of its time is wider than ±2 %";
    let cautions = |variant| texts(&entry(&noisy, variant).row.cautions());
    assert_eq!(cautions("int8dq"), [moved, throttled, discarded]);
    assert_eq!(cautions("int8wo"), [wide, moved]);
    assert_eq!(cautions("baseline"), [""; 0]);
    let host_bound = texts(&entry(&report("host-bound"), "baseline").row.cautions());
    let [waits] = &host_bound[..] else { panic!("{host_bound:?}") };
    assert!(waits.starts_with("run back to back, the device would wait for the host"), "{waits}");
}

/// Its output is held beside weights and inputs, and no longer part of a step.
#[test]
fn a_preallocated_output_is_part_of_the_peak() {
    let report = report("preallocated");
    let comparison = |variant| entry(&report, variant).comparison.expect("a candidate is compared");
    assert_eq!(comparison("baseline+out").peak_reduction, Some(0.0));
    assert_eq!(comparison("baseline+out").cautions, []);
}

#[test]
fn a_step_in_a_graph_is_quantized_against_the_unquantized_one_in_a_graph() {
    let report = in_graphs();
    let variants: Vec<_> = report.entries().map(|entry| entry.row.record.case.variant()).collect();
    assert_eq!(variants, ["baseline", "baseline+graph", "int8wo+graph"]);
    let graph = entry(&report, "int8wo+graph");
    let of = |row: Option<&criterion_report::model::Row>| row.map(|it| it.record.case.variant());
    assert_eq!(of(graph.baseline).as_deref(), Some("baseline"));
    assert_eq!(of(graph.unquantized).as_deref(), Some("baseline+graph"));
    assert!(entry(&report, "baseline+graph").quantization.is_none());
}

#[test]
fn blocks_that_were_taken_for_two_are_pointed_out() {
    let report = report("preallocated");
    let comparison = entry(&report, "int8wo+out").comparison.expect("a candidate is compared");
    let halved = "only a few blocks fitted into the time budget; the interval uses half blocks; \
                  `sampling.measurement_s` extends it";
    assert_eq!(texts(&comparison.cautions), [OUT_OF_TIME, halved]);
}

#[test]
fn the_runs_warnings_are_those_of_shown_rows() {
    assert_eq!(report("noisy").run_warnings.len(), 2);
    assert_eq!(report("two-siblings").run_warnings, [""; 0]);
    let none = try_report("noisy", "new", "float8wo").expect("a readable fixture");
    assert_eq!(none.run_warnings, [""; 0]);
}

#[test]
fn an_unmeasured_case_has_no_time_even_where_an_older_estimate_lies() {
    let report = report("every-outcome");
    for entry in report.entries() {
        let measured = entry.row.record.outcome.status() == "measured";
        assert_eq!(entry.row.time.is_ok(), measured, "{}", entry.row.full_id());
    }
}

#[test]
fn two_quick_samples_support_no_interval() {
    let report = report("quick-mode");
    let candidate = entry(&report, "int8wo");
    let time = candidate.row.time.as_ref().expect("it is measured");
    assert!(time.quick && time.interval.is_none());
    assert_eq!(texts(&candidate.row.cautions()), ["quick mode: two samples, so no interval"]);
}

#[test]
fn what_differs_between_the_sides_is_said() {
    let report = report("different-runs");
    let comparison = entry(&report, "int8wo").comparison.expect("a candidate is compared");
    assert_eq!(
        texts(&comparison.cautions),
        [
            "the baseline's time and memory are of another run (the speed-up does not use them)",
            "baseline and candidate differ in threads: 1 against 2",
        ]
    );
}

#[test]
fn compiled_candidates_have_both_comparisons() {
    let report = report("compiled");
    let ratio = |comparison: Option<&criterion_report::model::Comparison>| {
        comparison.map(|comparison| comparison.speedup.as_ref().expect("all have pairs").ratio)
    };
    let compiled = entry(&report, "int8wo+max-autotune");
    assert_eq!(ratio(compiled.comparison), Some(3.09347));
    assert_eq!(ratio(compiled.quantization), Some(2.02217));
    let model = entry(&report, "baseline+max-autotune");
    assert_eq!(ratio(model.comparison), Some(1.55821));
    assert_eq!(ratio(model.quantization), None);
}

#[test]
fn results_without_a_record_are_foreign() {
    assert_eq!(report("foreign-benchmark").foreign, ["fib/20"]);
    assert_eq!(report("two-siblings").foreign, [""; 0]);
}

#[test]
fn a_filter_hides_a_baseline_without_losing_it() {
    let report = try_report("two-siblings", "new", "int8wo").expect("a readable fixture");
    let ids: Vec<&str> = report.entries().map(|entry| entry.row.full_id()).collect();
    assert_eq!(ids, ["inference/quick/linear/cpu/int8wo/bf16-1024x1024x1024"]);
    let comparison = entry(&report, "int8wo").comparison.expect("a candidate is compared");
    assert!(comparison.speedup.is_ok());
}

#[test]
fn a_word_of_another_branch_costs_only_its_own_record() {
    let report = report("unknown-word");
    assert_eq!(report.rows_read, 1);
    let [warning] = report.unreadable.as_slice() else { panic!("{:?}", report.unreadable) };
    for part in ["inference.jsonl:1: ", "unknown variant `mesured`", "of the branch that wrote it"]
    {
        assert!(warning.contains(part), "{warning}");
    }
}

#[test]
fn a_line_cut_off_by_a_crash_costs_one_record() {
    for (name, ids) in [("torn-last-line", 1), ("torn-line-then-more", 2)] {
        let report = report(name);
        assert_eq!((report.entries().count(), report.unreadable.len()), (ids, 1), "{name}");
        assert!(report.unreadable[0].contains("inference.jsonl:2: "), "{}", report.unreadable[0]);
    }
}

/// Two cases were measured by an earlier version; a third was measured again since.
#[test]
fn records_of_an_earlier_version_cost_only_themselves() {
    let report = report("older-lines");
    assert_eq!(report.rows_read, 1);
    let [warning] = report.warnings.as_slice() else { panic!("{:?}", report.warnings) };
    assert!(warning.contains(": 2 records written by an earlier version"), "{warning}");
    assert_eq!(report.missing.len(), 2);
    for case in &report.missing {
        assert!(case.reason.starts_with("its record is of an earlier version"), "{case:?}");
    }
}

#[test]
fn cases_that_a_run_did_not_reach_are_known() {
    let report = report("unreached-cases");
    let missing: Vec<&str> = report.missing.iter().map(|case| case.full_id.as_str()).collect();
    let id = |variant: &str| format!("inference/quick/linear/cpu/{variant}/bf16-1024x1024x1024");
    assert_eq!(missing, [id("int8dq"), id("int4wo-32")]);
    assert!(entry(&report, "int8wo").row.outdated.is_some());
    assert!(entry(&report, "baseline").row.outdated.is_none());
    assert_eq!(report.unmeasured().len(), 3);
}

/// A full run crashed, a filtered one came after it, then one whose filter selected nothing.
#[test]
fn the_last_run_that_selected_a_case_decides() {
    let report = report("earlier-runs");
    let id = |variant: &str| format!("inference/quick/linear/cpu/{variant}/bf16-1024x1024x1024");
    let run = "run 20261119T090000Z-17 ended";
    let missing: Vec<(&str, &str)> =
        report.missing.iter().map(|case| (case.full_id.as_str(), case.reason.as_str())).collect();
    assert_eq!(
        missing,
        [
            (id("int8dq").as_str(), format!("{run} while this case was running").as_str()),
            (id("int4wo-32").as_str(), format!("{run} before it reached this case").as_str()),
        ]
    );
    assert!(report.entries().all(|entry| entry.row.outdated.is_none()));
    assert_eq!(report.unmeasured().len(), 2);
}

#[test]
fn latest_is_what_the_latest_run_that_selected_anything_selected() {
    assert_eq!(report("earlier-runs").earlier, 1);
    let latest = latest("earlier-runs");
    let ids: Vec<&str> = latest.entries().map(|entry| entry.row.full_id()).collect();
    assert_eq!(ids, ["inference/quick/linear/cpu/int8wo/bf16-1024x1024x1024"]);
    assert_eq!((latest.earlier, latest.missing.len(), latest.unmeasured().len()), (0, 0, 0));
    let comparison = entry(&latest, "int8wo").comparison.expect("a candidate is compared");
    assert!(comparison.speedup.is_ok(), "a case left out still serves as baseline");
}

#[test]
fn without_a_manifest_no_case_is_earlier() {
    assert_eq!(report("two-configs-one-series").earlier, 0);
    assert_eq!(latest("two-configs-one-series").entries().count(), 4);
}

/// The records of `interleaved` begin with a candidate and change between two groups.
#[test]
fn a_baseline_comes_before_its_candidates_and_groups_stay_together() {
    let report = report("interleaved");
    let ids: Vec<(&str, &str)> = report
        .entries()
        .map(|entry| &entry.row.record.case)
        .map(|case| (case.config.as_str(), case.id.variant.as_str()))
        .collect();
    assert_eq!(
        ids,
        [
            ("quick", "baseline"),
            ("quick", "int8dq"),
            ("quick", "int8wo"),
            ("nightly", "baseline"),
            ("nightly", "int8wo"),
        ]
    );
    assert!(entry(&report, "int8dq").comparison.is_some_and(|it| it.speedup.is_ok()));
}

/// Packed ones were measured by themselves, after all others.
#[test]
fn a_packed_case_stands_behind_its_eager_sibling() {
    let report = report("packed-sibling");
    let linear = |entry: &Entry<'_>| entry.row.full_id().starts_with("inference/quick/linear/");
    let variants: Vec<&str> = report
        .entries()
        .filter(linear)
        .map(|entry| entry.row.record.case.id.variant.as_str())
        .collect();
    let expected = [
        "baseline",
        "int8wo",
        "int8wo+packed",
        "int8dq",
        "uintx-4-64",
        "uintx-4-64+packed",
        "baseline+block",
        "float8dq-row",
    ];
    assert_eq!(variants, expected);
    let comparison = entry(&report, "int8wo+packed").comparison.expect("a candidate is compared");
    let baseline = comparison.baseline.expect("the group has one");
    assert_eq!(baseline, 0, "the unquantized model, not the eager sibling");
    assert_eq!(comparison.speedup.as_ref().map(|it| it.ratio), Ok(3.0511));
}

#[test]
fn records_of_before_there_were_weights_are_read() {
    let report = report("packed-sibling");
    assert_eq!(entry(&report, "int8dq").row.record.weights, None);
    let sparse = entry(&report, "baseline+block").row.record.weights.expect("it has them");
    assert_eq!((sparse.quantized, sparse.density), (0, Some(0.5)));
}

#[test]
fn one_iteration_is_no_iterations() {
    let stale = |iters| NoTime::Stale { recorded: (3, 9), found: (iters, 7) }.to_string();
    assert!(stale(1).contains("its last sample is 1 iteration in 7 ns"), "{}", stale(1));
    assert!(stale(2).contains("its last sample is 2 iterations in 7 ns"), "{}", stale(2));
}
