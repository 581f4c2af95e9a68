//! Comparison with another time, and the exit codes.

use super::*;

const POISSON: &str = "kernels/default/pressure_poisson/cpu";

/// The current results.
fn now() -> Fixture {
    Fixture::of_kernels(&[
        Make("pressure_poisson", "kernel", Float64, Cpu, 1_000_000),
        Make("pressure_poisson", "red_black_sor", Float64, Cpu, 1_000_000),
        Make("gemv", "kernel", Float32, Cpu, 1_000_000),
        Make("gemv", "kernel", Float64, Cpu, 1_000_000),
        Make("reduction", "kernel", Float32, Cpu, 1_000_000),
        Make("scan", "kernel", Float32, Cpu, 1_000_000),
        Make("stencil", "kernel", Float32, Cpu, 1_000_000),
        Make("sort", "kernel", Float32, Cpu, 1_000_000),
        Make("fft", "kernel", Float32, Cpu, 1_000_000),
    ])
    .without("sort")
    .end("fft", &Outcome::Failed { error: "the output has a NaN".to_owned() })
}

/// One of each against it: a regression, an improvement, inconclusive, unchanged, less exact, of
/// another machine, missing and failing; the f64 of gemv is new.
fn main_branch() -> Fixture {
    Fixture::of_kernels(&[
        Make("pressure_poisson", "kernel", Float64, Cpu, 800_000),
        Make("pressure_poisson", "red_black_sor", Float64, Cpu, 2_000_000),
        Make("gemv", "kernel", Float32, Cpu, 800_000),
        Make("reduction", "kernel", Float32, Cpu, 950_000),
        Make("scan", "kernel", Float32, Cpu, 1_000_000),
        Make("stencil", "kernel", Float32, Cpu, 100_000),
        Make("sort", "kernel", Float32, Cpu, 1_000_000),
        Make("fft", "kernel", Float32, Cpu, 1_000_000),
    ])
    .edit("gemv", |it| it.half_width = 0.4)
    .edit("scan", |it| {
        let accuracy = it.record.accuracy.as_mut().expect("measured");
        accuracy.relative_error = plan::JsonFloat(1e-2);
    })
    .edit("stencil", |it| it.record.environment_mut().host.cpu_model = "Another CPU".to_owned())
}

fn compared() -> Folder {
    let folder = Folder::with(&now());
    main_branch().write_in(folder.0.path(), "main");
    folder
}

#[test]
fn one_of_each() {
    let folder = compared();
    let output = folder.run(&["--compare-to", "main"]);
    assert_eq!(output.status.code(), Some(0), "without --fail-on nothing fails");
    let file = folder.text("reports/regressions.json");
    insta::assert_snapshot!("regressions-json", file);
    insta::assert_snapshot!("regressions-md", folder.text("reports/regressions.md"));
    // The summary says the same, one level of headings further down.
    let summary = folder.text("reports/summary.md");
    let section = summary.split("\n## Regressions\n\n").nth(1).expect("the section");
    let alone = folder.text("reports/regressions.md").replace("\n## ", "\n### ");
    let alone = alone.split_once("\n\n").expect("a title").1;
    assert_eq!(
        section,
        format!("Compared with `main` (commit `1f0c2ab3` with uncommitted changes): {alone}")
    );
}

#[test]
fn the_ratio_has_the_interval_of_both_sides() {
    let folder = compared();
    folder.written(&["--compare-to", "main"]);
    let file = folder.json("reports/regressions.json");
    let worse = file["regressions"].as_array().expect("an array");
    let slower = worse.iter().find(|it| it["kind"] == "latency").expect("one");
    assert_eq!(slower["full_id"], format!("{POISSON}/kernel/f64-64x64x64-1e-6"));
    let number = |pointer: &str| slower.pointer(pointer).and_then(Value::as_f64).expect("a number");
    // 1 ms over 0.8 ms, each known to ±0.5 %.
    assert!((number("/change") - 0.25).abs() < 1e-12);
    let below = f64::hypot(f64::ln(1.0 / 0.995), f64::ln(1.005));
    let above = f64::hypot(f64::ln(1.005), f64::ln(1.0 / 0.995));
    assert!((number("/interval/low") - (1.25 * (-below).exp() - 1.0)).abs() < 1e-9);
    assert!((number("/interval/high") - (1.25 * above.exp() - 1.0)).abs() < 1e-9);
    assert_eq!((number("/before"), number("/after")), (0.8, 1.0));
}

#[test]
fn a_gate_names_its_cases() {
    let folder = compared();
    let run = |gates: &str| {
        let output = folder.run(&["--compare-to", "main", "--fail-on", gates]);
        (output.status.code(), err(&output).to_owned())
    };
    let (code, text) = run("regression");
    assert_eq!(code, Some(1));
    insta::assert_snapshot!(text, @r"
    --fail-on regression: 2 cases:
      kernels/default/pressure_poisson/cpu/kernel/f64-64x64x64-1e-6: time: 800.0 µs to 1.000 ms, 1.25× [1.24, 1.26]
      kernels/default/fft/cpu/kernel/f32-4096: outcome: now failed: the output has a NaN
    ");
    let (code, text) = run("missing,failure");
    assert_eq!(code, Some(1));
    insta::assert_snapshot!(text, @r"
    --fail-on missing: 1 case:
      kernels/default/sort/cpu/kernel/f32-4096: outcome: there is no record of it now
    --fail-on failure: 1 case:
      kernels/default/fft/cpu/kernel/f32-4096: failed: the output has a NaN
    ");
    assert_eq!(run("accuracy"), (Some(0), String::new()), "it became more exact");
    assert!(folder.path("reports/regressions.md").exists(), "written all the same");
}

#[test]
fn noise_is_a_gate_as_of_any_comparison() {
    let folder = compared();
    let output = folder.run(&["--compare-to", "main", "--fail-on", "inconclusive"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("gemv/cpu/kernel/f32-4096: time: 800.0 µs"), "{}", err(&output));
}

#[test]
fn accuracy_is_a_gate_of_its_own() {
    let folder = Folder::with(&now());
    let exact = |it: &mut Measured| {
        it.record.accuracy.as_mut().expect("measured").relative_error = plan::JsonFloat(0.0);
    };
    let inexact = now().edit("scan", |it| {
        it.record.accuracy.as_mut().expect("measured").relative_error = plan::JsonFloat(2e-3);
    });
    inexact.write_in(folder.0.path(), "new");
    now().edit("scan", exact).write_in(folder.0.path(), "main");
    let output = folder.run(&["--compare-to", "main", "--fail-on", "accuracy,regression"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(err(&output), @r"
    --fail-on accuracy: 1 case:
      kernels/default/scan/cpu/kernel/f32-4096: accuracy: relative_error 0 to 0.00200
    ");
    let lenient = ["--compare-to", "main", "--fail-on", "accuracy", "--accuracy-threshold", "0.01"];
    assert_eq!(folder.run(&lenient).status.code(), Some(0));
}

#[test]
fn a_clean_comparison_names_nothing() {
    let folder = Folder::with(&now().without("fft"));
    now().without("fft").write_in(folder.0.path(), "main");
    let gates = "regression,accuracy,missing,failure";
    let output = folder.run(&["--compare-to", "main", "--fail-on", gates]);
    assert_eq!((output.status.code(), err(&output)), (Some(0), ""));
    let file = folder.json("reports/regressions.json");
    for list in ["regressions", "improvements", "inconclusive", "new", "missing", "not_compared"] {
        assert_eq!(file[list], Value::Array(Vec::new()), "{list}");
    }
    assert_eq!(file["unchanged"], 7);
    let text = folder.text("reports/regressions.md").to_lowercase();
    assert!(!text.contains("regress"), "{text}");
}

#[test]
fn another_report_or_another_checkout_is_a_baseline_too() {
    let folder = compared();
    folder.written(&["--compare-to", "main", "--output-dir", "of-main"]);
    let expected = folder.json("of-main/regressions.json");
    let other = Folder::with(&main_branch());
    other.written(&[]);
    let path = |name: &str| other.path(name).to_str().expect("UTF-8").to_owned();
    for baseline in [path("reports"), path("criterion"), path("")] {
        folder.written(&["--compare-to", &baseline]);
        let mut file = folder.json("reports/regressions.json");
        assert_eq!(file["baseline"], baseline);
        file["baseline"] = "main".into();
        for list in ["improvements", "inconclusive", "new", "missing", "not_compared"] {
            assert_eq!(ids(&file[list]), ids(&expected[list]), "{baseline}: {list}");
        }
        assert_eq!(ids(&file["regressions"]), ids(&expected["regressions"]));
    }
}

#[test]
fn whatever_compare_takes_is_a_baseline_too() {
    let folder = compared();
    folder.written(&["--compare-to", "main"]);
    let expected = folder.json("reports/regressions.json");
    for (format, file) in
        [("json", "main.json"), ("jsonl", "main.jsonl"), ("critcmp", "critcmp.json")]
    {
        let args = ["export", format, "--baseline", "main", "--output", file];
        let output = Command::new(env!("CARGO_BIN_EXE_criterion-report"))
            .args(args)
            .args(["--criterion-dir", "criterion"])
            .current_dir(folder.0.path())
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "{}", err(&output));
        folder.written(&["--compare-to", file]);
        let mut found = folder.json("reports/regressions.json");
        if format == "critcmp" {
            // It has times alone: no error, and no machine.
            let slower = format!("\"{POISSON}/kernel/f64-64x64x64-1e-6\" \"latency\"");
            assert!(ids(&found["regressions"]).contains(&slower), "{found}");
            continue;
        }
        found["baseline"] = "main".into();
        assert_eq!(found, expected, "{format}");
    }
}

#[test]
fn the_runs_of_a_baseline_say_what_one_does_not_show() {
    let folder = Folder::with(&now().without("fft"));
    // Five runs 4 % apart, but for two cases: there they agree.
    for run in 1..=5_u64 {
        let ns = 800_000 + 32_000 * run;
        let main = main_branch().without("fft").without("stencil").takes("gemv", ns);
        let main = main.edit("gemv", |it| it.half_width = 0.005).edit("scan", |it| {
            let accuracy = it.record.accuracy.as_mut().expect("measured");
            accuracy.relative_error = plan::JsonFloat(0.004 * (run - 1) as f64);
        });
        main.write_in(folder.0.path(), &format!("main@{run}"));
    }
    folder.written(&["--compare-to", "main@2"]);
    let one = folder.json("reports/regressions.json");
    folder.written(&["--compare-to", "main"]);
    let all = folder.json("reports/regressions.json");
    let gemv = |file: &Value| -> (Vec<String>, Vec<String>) {
        let of = |list: &str| {
            let ids = ids(&file[list]).into_iter();
            ids.filter(|id| id.contains("gemv/cpu/kernel/f32")).collect()
        };
        (of("regressions"), of("inconclusive"))
    };
    assert_eq!((gemv(&one).0.len(), gemv(&one).1.len()), (1, 0), "{one}");
    assert_eq!((gemv(&all).0.len(), gemv(&all).1.len()), (0, 1), "{all}");
    // A latency that is far from all of theirs is a regression.
    let poisson = format!("\"{POISSON}/kernel/f64-64x64x64-1e-6\" \"latency\"");
    assert!(ids(&all["regressions"]).contains(&poisson), "{all}");
    assert_eq!(all["regressions"][0]["interval"]["confidence_level"], 0.95);
    // Their errors reach from 0 to 0.016, and that of now is among them.
    let scan = "\"kernels/default/scan/cpu/kernel/f32-4096\" \"accuracy\"".to_owned();
    assert!(ids(&all["inconclusive"]).contains(&scan), "{all}");
    assert!(folder.text("reports/regressions.md").contains("or runs disagree as much"));
}

fn ids(list: &Value) -> Vec<String> {
    let entries = list.as_array().expect("an array").iter();
    entries.map(|entry| format!("{} {}", entry["full_id"], entry["kind"])).collect()
}

#[test]
fn quick_times_are_not_compared() {
    let quick = now().without("fft");
    let folder = Folder::with(&quick);
    quick.write_in(folder.0.path(), "main");
    let sample = folder.path("criterion/kernels_default_scan_cpu/kernel/f32-4096/main/sample.json");
    fs::write(sample, r#"{"iters":[1.0,1.0],"times":[1000000.0,1000000.0]}"#).expect("written");
    folder.written(&["--compare-to", "main"]);
    let file = folder.json("reports/regressions.json");
    assert_eq!(file["not_compared"][0]["full_id"], "kernels/default/scan/cpu/kernel/f32-4096");
    let reason = "its earlier time has no interval: it was measured in quick mode";
    assert_eq!(file["not_compared"][0]["reason"], reason);
}

#[test]
fn what_cannot_be_used_is_said() {
    let folder = compared();
    let said = |args: &[&str]| {
        let output = folder.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        err(&output).to_owned()
    };
    insta::assert_snapshot!(said(&["--compare-to", "absent"]), @r"
    error: --compare-to: `absent` cannot be compared: it is neither a baseline in criterion-torch, nor criterion's folder with a `criterion-torch` beside it, nor a folder with a summary.json, nor an exported file
      use one of: main, new
    ");
    let slip = said(&["--compare-to", "mian"]);
    assert!(slip.ends_with("did you mean `main`?\n"), "{slip}");
    insta::assert_snapshot!(said(&["--fail-on", "failure,missing"]), @"error: --fail-on missing needs --compare-to: nothing is compared");
    insta::assert_snapshot!(said(&["--output", "x.json"]), @"error: `kernels` writes a folder: use --output-dir instead of --output");
    insta::assert_snapshot!(said(&["--history", "absent"]), @"error: --history: absent: No such file or directory (os error 2)");
    assert!(
        said(&["--latency-threshold", "-0.1"]).contains("a threshold is a number of 0 or more")
    );
    assert!(!folder.path("reports").exists(), "nothing is written");
    fs::create_dir(folder.path("foreign")).expect("created");
    fs::write(folder.path("foreign/summary.json"), "[1]").expect("written");
    assert!(said(&["--compare-to", "foreign"]).contains("not a summary.json"));
}

#[test]
fn records_of_other_targets_are_no_kernels() {
    let output = Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .args(["kernels", "--criterion-dir", "tests/fixtures/two-siblings/criterion"])
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(err(&output), @"error: no record of a kernel in tests/fixtures/two-siblings/criterion-torch; measure first with `cargo bench --bench kernels`");
}

/// Changes the manifest of the run of now.
fn edit_run(folder: &Folder, change: impl Fn(&mut Value)) {
    let path = folder.path("criterion-torch/runs/kernels-20261120T134000Z-4242.json");
    let mut run: Value =
        serde_json::from_str(&fs::read_to_string(&path).expect("readable")).expect("JSON");
    change(&mut run);
    fs::write(&path, run.to_string()).expect("written");
}

#[test]
fn what_was_not_selected_is_not_missing() {
    let gates = ["--compare-to", "main", "--fail-on", "missing"];
    let folder = Folder::with(&now().without("fft").without("scan").without("stencil"));
    main_branch().without("fft").write_in(folder.0.path(), "main");
    edit_run(&folder, |run| run["args"] = serde_json::json!(["gemv|pressure|red", "--bench"]));
    let output = folder.run(&gates);
    assert_eq!((output.status.code(), err(&output)), (Some(0), ""));
    let file = folder.json("reports/regressions.json");
    let not_compared = file["not_compared"].as_array().expect("an array");
    assert_eq!(not_compared.len(), 3, "{not_compared:?}");
    let why = "the latest run did not select it: its filter was `gemv|pressure|red`";
    assert!(not_compared.iter().all(|it| it["reason"] == why), "{not_compared:?}");
    // A filter that selects the missing case means that the case is gone.
    edit_run(&folder, |run| run["args"] = serde_json::json!(["cpu", "--bench"]));
    assert_eq!(folder.run(&gates).status.code(), Some(1));
    // A filter of the report is one of both sides.
    let filtered = Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .args(["kernels", "--criterion-dir", "criterion", "--filter", "gemv"])
        .args(gates)
        .current_dir(folder.0.path())
        .output()
        .expect("the program starts");
    assert_eq!(filtered.status.code(), Some(0), "{}", err(&filtered));
}

#[test]
fn a_deleted_kernel_is_missing_though_its_record_is_still_there() {
    let folder = Folder::with(&now().without("fft"));
    now().without("fft").write_in(folder.0.path(), "main");
    let gone = "kernels/default/scan/cpu/kernel/f32-4096";
    edit_run(&folder, |run| {
        run["selected"].as_array_mut().expect("an array").retain(|id| id != gone);
    });
    let output = folder.run(&["--compare-to", "main", "--fail-on", "missing"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains(&format!("{gone}: outcome: the latest run no longer has it")));
}

#[test]
fn what_the_baseline_no_longer_has_is_not_missing() {
    const OF_MAIN: &str = "kernels-20261119T134000Z-4241";
    let folder = Folder::with(&now().without("fft"));
    let main = main_branch().without("fft").edit("", |it| it.record.run_id = OF_MAIN.to_owned());
    main.write_in(folder.0.path(), "main");
    let runs = folder.path("criterion-torch/runs");
    let text = fs::read_to_string(runs.join("kernels-20261120T134000Z-4242.json")).expect("a run");
    let mut run: Value = serde_json::from_str(&text).expect("JSON");
    (run["baseline"], run["run_id"]) = ("main".into(), OF_MAIN.into());
    run["started"] = (fixture::ENDED - 86_400).into();
    let select = |with_sort: bool| -> Vec<Value> {
        let ids = main.cases.iter().map(|it| it.record.full_id.clone());
        ids.filter(|id| with_sort || !id.contains("sort")).map(Value::from).collect()
    };
    for (with_sort, code) in [(true, 1), (false, 0)] {
        run["selected"] = select(with_sort).into();
        fs::write(runs.join(format!("{OF_MAIN}.json")), run.to_string()).expect("written");
        let output = folder.run(&["--compare-to", "main", "--fail-on", "missing"]);
        assert_eq!(output.status.code(), Some(code), "{}", err(&output));
    }
    let file = folder.json("reports/regressions.json");
    let not_compared = file["not_compared"].as_array().expect("an array");
    let sort = not_compared.iter().find(|it| it["full_id"].to_string().contains("sort"));
    let reason = &sort.expect("it is said")["reason"];
    assert_eq!(reason, "the baseline's latest run did not select it");
}
