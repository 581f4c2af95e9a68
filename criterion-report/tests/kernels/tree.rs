//! The files, whole.

use insta::assert_snapshot;

use super::*;

#[test]
fn the_tree_is_the_documents() {
    let folder = Folder::with(&everything());
    let output = folder.run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let written = "reports: 11 cases of 4 kernels: 1 failed, 7 measured, 1 missing, 1 skipped, 1 \
                   unsupported\n";
    assert_eq!((stdout(&output), err(&output)), (written, ""));
    assert_eq!(
        files(&folder.path("reports")),
        [
            "env.json",
            "kernel_manifest.json",
            "kernels/gemv.json",
            "kernels/pressure_poisson.json",
            "kernels/reduction.json",
            "kernels/stencil.json",
            "summary.json",
            "summary.md",
        ]
    );
}

#[test]
fn every_file_is_whole() {
    let folder = Folder::with(&everything());
    folder.written(&[]);
    assert_snapshot!("env", folder.text("reports/env.json"));
    assert_snapshot!("manifest", folder.text("reports/kernel_manifest.json"));
    assert_snapshot!("gemv", without_raw(folder.json("reports/kernels/gemv.json")));
    assert_snapshot!("stencil", folder.text("reports/kernels/stencil.json"));
    let mut summary = folder.json("reports/summary.json");
    let all = summary["results"].as_array().expect("an array").len();
    assert_eq!(all, 11);
    summary["results"] = Value::from("see the kernels' own files");
    assert_snapshot!("summary-json", serde_json::to_string_pretty(&summary).expect("JSON"));
    assert_snapshot!("summary-md", folder.text("reports/summary.md"));
}

#[test]
#[cfg(feature = "schema")]
fn the_summary_is_as_its_schema_says() {
    let folder = Folder::of(&everything());
    folder.written(&[]);
    common::assert_as_schema("kernels-v1", &folder.json("reports/summary.json"));
}

/// Each number from what it is of, by hand.
#[test]
fn every_formula_by_hand() {
    let fixture = Fixture::of_kernels(&[Make("gemv", "kernel", Float32, Cpu, 2_000_000)]);
    let fixture = fixture.edit("", |it| {
        let calls = (0..100).map(|i| (i % 4 + 1) * 1_000_000).collect();
        fixture::latency(&mut it.record, calls);
        let energy = it.record.measures.energy.as_mut().expect("measured");
        (energy.joules, energy.watts, energy.window_s, energy.iters) = (0.24, 30.0, 2.0, 250);
        let memory = it.record.measures.memory.as_mut().expect("measured");
        (memory.weights_bytes, memory.step.peak_bytes) = (1 << 19, 3 << 19);
    });
    let folder = Folder::with(&fixture);
    folder.written(&[]);
    let entry = &folder.json("reports/kernels/gemv.json")["cases"][0];
    for (path, expected) in [
        // 25 calls each of 1, 2, 3 and 4 ms.
        ("/timing/latency_ms_p50", 2.5),
        ("/timing/latency_ms_p90", 4.0),
        ("/timing/latency_ms_mean", 2.5),
        ("/timing/latency_ms_max", 4.0),
        // √((1.5² + 0.5² + 0.5² + 1.5²) / 4)
        ("/timing/latency_ms_std", 1.25_f64.sqrt()),
        // 1000 ms / 2.5 ms
        ("/timing/throughput_ops_per_sec", 400.0),
        // Weights 0.5, inputs 2, output 1, step 1.5 MiB.
        ("/memory/peak_mb", 5.0),
        ("/memory/allocated_mb", 3.5),
        // 2 s / 250, of 30 W.
        ("/energy/duration_s", 0.008),
        ("/energy/energy_j", 0.008 * 30.0),
        // 2·10⁶ operations and 4·10⁶ bytes in 2 ms.
        ("/gflop_per_s", 1.0),
        ("/gb_per_s", 2.0),
    ] {
        let found = entry.pointer(path).and_then(Value::as_f64).expect(path);
        assert!((found - expected).abs() < 1e-12 * expected, "{path}: {found}, not {expected}");
    }
}

/// A hundred numbers per case say little in a snapshot.
fn without_raw(mut file: Value) -> String {
    let mut objects: Vec<Value> = file["cases"].as_array().expect("an array").clone();
    objects.push(file.clone());
    for entry in &mut objects {
        if let Some(raw) = entry.pointer_mut("/timing/raw_times_ms") {
            assert_eq!(raw.as_array().map(Vec::len), Some(100));
            *raw = Value::from("100 calls");
        }
    }
    let mut whole = objects.pop().expect("the object itself");
    whole["cases"] = Value::from(objects);
    file = whole;
    serde_json::to_string_pretty(&file).expect("JSON")
}

#[test]
fn a_kernels_file_is_upstreams_object_of_its_leading_case() {
    let folder = Folder::with(&everything());
    folder.written(&[]);
    let file = folder.json("reports/kernels/pressure_poisson.json");
    let led = &file["cases"][0];
    assert_eq!(led["implementation"], "kernel");
    assert_eq!(file["full_id"], led["full_id"]);
    for key in [
        "kernel_name",
        "backend",
        "precision",
        "problem_size",
        "timing",
        "memory",
        "energy",
        "accuracy",
        "success",
        "error_message",
        "metadata",
    ] {
        assert!(led.get(key).is_some(), "{key}");
        assert_eq!(file[key], led[key], "{key}");
    }
    // The paths of the document's example.
    for path in [
        "/timing/latency_ms_p50",
        "/timing/latency_ms_p90",
        "/timing/latency_ms_p99",
        "/timing/latency_ms_mean",
        "/timing/latency_ms_std",
        "/timing/throughput_ops_per_sec",
        "/timing/iterations",
        "/memory/peak_mb",
        "/memory/allocated_mb",
        "/energy/energy_j",
        "/energy/power_w",
        "/accuracy/rmse",
        "/accuracy/max_error",
    ] {
        assert!(file.pointer(path).is_some(), "{path}");
    }
    assert_eq!(file["success"], true);
    let unmeasured = folder.json("reports/kernels/stencil.json");
    assert_eq!((&unmeasured["success"], &unmeasured["timing"]), (&false.into(), &Value::Null));
}

#[test]
fn the_summary_has_the_files_of_the_kernels_without_their_single_calls() {
    let folder = Folder::with(&everything());
    folder.written(&[]);
    let mut apart = Vec::new();
    for kernel in ["gemv", "pressure_poisson", "reduction", "stencil"] {
        let entries = folder.json(&format!("reports/kernels/{kernel}.json"));
        apart.extend(entries["cases"].as_array().expect("an array").clone());
    }
    for entry in &mut apart {
        if let Some(timing) = entry["timing"].as_object_mut() {
            assert!(timing.remove("raw_times_ms").is_some());
        }
    }
    let id = |entry: &Value| entry["full_id"].as_str().map(str::to_owned);
    apart.sort_by_key(id);
    let summary = folder.json("reports/summary.json");
    let mut together = summary["results"].as_array().expect("an array").clone();
    together.sort_by_key(id);
    assert_eq!(apart, together);
    assert_eq!(summary["environment"], folder.json("reports/env.json"));
}

#[test]
fn what_an_earlier_report_left_is_not_read_as_of_now() {
    let folder = Folder::with(&everything());
    everything().write_in(folder.0.path(), "main");
    folder.written(&["--compare-to", "main"]);
    assert!(folder.path("reports/regressions.md").exists());
    fs::write(folder.path("reports/kernels/own.json"), "mine").expect("written");
    folder.written(&["--filter", "gemv"]);
    assert_eq!(
        files(&folder.path("reports")),
        [
            "env.json",
            "kernel_manifest.json",
            "kernels/gemv.json",
            "kernels/own.json",
            "summary.json",
            "summary.md",
        ]
    );
}

#[test]
fn nulls_do_not_stop_it() {
    let bare = everything().edit("", |it| {
        let environment = it.record.environment_mut();
        environment.git_revision = None;
        environment.quiet = None;
        environment.host.governor = None;
        environment.host.os = "Plan9".to_owned();
        it.record.measures = plan::Measures::default();
        it.record.accuracy = None;
    });
    let folder = Folder::with(&bare);
    folder.written(&[]);
    let env = folder.json("reports/env.json");
    assert_eq!(
        (&env["git"], &env["kernel"], &env["os"]),
        (&Value::Null, &Value::Null, &"Plan9".into())
    );
    let entry = &folder.json("reports/kernels/reduction.json")["cases"][0];
    for name in ["timing", "memory", "energy"] {
        assert_eq!(entry[name], Value::Null, "{name}");
    }
    assert!(folder.text("reports/summary.md").contains("| Commit | – |"));
}

#[test]
fn every_key_is_documented() {
    let folder = Folder::with(&everything());
    everything().write_in(folder.0.path(), "main");
    folder.written(&["--compare-to", "main"]);
    let page = fs::read_to_string("../docs/book/src/reports/kernels.md").expect("readable");
    let names = [
        "kernel_manifest.json",
        "kernels/pressure_poisson.json",
        "regressions.json",
        "summary.json",
    ];
    for name in names {
        let mut keys = Vec::new();
        collect_keys(&folder.json(&format!("reports/{name}")), &mut keys);
        assert!(keys.len() > 5, "{name}");
        for key in keys {
            let is = [format!("`{key}`"), format!(".{key}`")].iter().any(|it| page.contains(it));
            assert!(is, "{name}: `{key}` is not in its page");
        }
    }
}

/// All keys but those of what others define: authors, records and the environment.
fn collect_keys(value: &Value, keys: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_keys(item, keys)),
        Value::Object(fields) => {
            for (key, value) in fields {
                keys.push(key.clone());
                let others = ["metadata", "problem_size", "absent", "tolerances", "environment"];
                let of_others = ["skip_conditions", "outcomes", "problem_sizes"];
                if !others.contains(&key.as_str()) && !of_others.contains(&key.as_str()) {
                    collect_keys(value, keys);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn rows_of_earlier_runs_are_announced() {
    let folder = Folder::with(&everything());
    let manifest = folder.path("criterion-torch/runs/kernels-20261120T134000Z-4242.json");
    let text = fs::read_to_string(&manifest).expect("readable");
    let mut run: Value = serde_json::from_str(&text).expect("JSON");
    let gone = "kernels/default/reduction/cpu/kernel/f32-4096";
    run["selected"].as_array_mut().expect("an array").retain(|id| id != gone);
    fs::write(&manifest, run.to_string()).expect("written");
    let note = "1 of 10 rows is of an earlier run than the latest; `--latest` skips it";
    assert_eq!(err(&folder.run(&[])), format!("note: {note}\n"));
    assert!(folder.text("reports/summary.md").contains(note));
    let latest = folder.run(&["--latest", "--strict"]);
    assert!(stdout(&latest).starts_with("reports: 10 cases of 3 kernels: "), "{}", stdout(&latest));
    assert_eq!(latest.status.code(), Some(1), "some were not measured");
}

#[test]
fn a_name_leads_nowhere_else() {
    let sly = Fixture::of_kernels(&[Make("gemv", "kernel", Float32, Cpu, 1_000)]).edit("", |it| {
        if let plan::Work::Kernel(work) = &mut it.record.case.work {
            work.kernel = "../../etc".to_owned();
        }
    });
    let folder = Folder::with(&sly);
    let output = folder.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("a kernel named `../../etc`"), "{}", err(&output));
    assert!(!folder.path("reports").exists());
}

/// Every list of it is longer than is shown, with ids as long as they may be.
#[test]
fn a_comment_has_room_for_the_summary_of_many_kernels() {
    let names: Vec<String> =
        (0..100).map(|i| format!("kernel_of_a_name_as_long_as_allowed_{i:03}")).collect();
    let implementations = ["kernel", "another_one_of_as_long_a_name"];
    let cases: Vec<Make<'_>> = names
        .iter()
        .flat_map(|name| implementations.map(|word| Make(name, word, Float32, Cpu, 900_000)))
        .collect();
    let mut before = Fixture::of_kernels(&cases);
    let mut now = Fixture::of_kernels(&cases);
    for (i, name) in names.iter().enumerate() {
        now = match i % 4 {
            0 => now.takes(name, 1_200_000),
            1 => now.takes(name, 500_000).edit(name, |it| it.record.pairs.clear()),
            2 => {
                now.end(name, &Outcome::Failed { error: format!("{i} {}", "wrong ".repeat(2000)) })
            }
            _ => now.takes(name, 1_200_000).edit(name, |it| it.half_width = 0.5),
        };
        if i % 7 == 0 {
            before = before.without(name);
        }
    }
    let folder = Folder::with(&now);
    before.write_in(folder.0.path(), "main");
    folder.written(&["--compare-to", "main"]);
    let text = folder.text("reports/summary.md");
    assert!(text.len() < 65_536, "{}", text.len());
    assert!(text.contains("75 further measured cases in `kernels/`"), "{text}");
    assert!(text.contains("64 more in `regressions.json`"), "{text}");
}

#[test]
fn every_problem_is_seen_and_columns_without_a_value_are_not() {
    let names: Vec<String> = (0..30).map(|i| format!("k{i:02}")).collect();
    let words = ["kernel", "a", "b", "c"];
    let times = [1_000_000, 2_000_000, 3_000_000, 4_000_000];
    let cases: Vec<Make<'_>> = names
        .iter()
        .flat_map(|name| {
            words.iter().zip(times).map(move |(word, ns)| Make(name, word, Float32, Cpu, ns))
        })
        .collect();
    let few = |it: &mut Measured| fixture::latency(&mut it.record, vec![1000 * 1000; 30]);
    let folder = Folder::with(&Fixture::of_kernels(&cases));
    folder.written(&[]);
    let text = folder.text("reports/summary.md");
    assert!(names.iter().all(|name| text.contains(&format!("\n**{name}**, "))), "{text}");
    // The best and the last of four are listed.
    assert!(text.contains("| 1 | kernel |") && text.contains("| 4 | c |"), "{text}");
    assert!(!text.contains("| 2 | a |"), "{text}");
    assert!(text.contains("| p90 (ms) |") && !text.contains("p99 (ms)"), "{text}");
    assert!(text.contains("No case has p99 (takes 500)."), "{text}");
    let folder = Folder::with(&Fixture::of_kernels(&cases[..1]).edit("", few));
    folder.written(&[]);
    let text = folder.text("reports/summary.md");
    assert!(text.contains("No case has p90 (takes 50 calls) and p99 (takes 500)."), "{text}");
    assert!(!text.contains("speed-up |"), "{text}");
}

#[test]
fn reasons_that_differ_by_the_precision_share_a_line() {
    let why = |precision: &str| Outcome::Unsupported {
        reason: format!("cpu, {precision}: CUDA runs on backend cuda, on a machine with a GPU"),
    };
    let fixture = Fixture::of_kernels(&[
        Make("gemv", "cuda", Float32, Cpu, 1_000),
        Make("gemv", "cuda", Float64, Cpu, 1_000),
        Make("sort", "kernel", Float64, Cpu, 1_000),
    ]);
    let fixture = fixture.end("cuda/f32", &why("fp32")).end("cuda/f64", &why("fp64"));
    let fixture = fixture.end("sort", &Outcome::Failed { error: "wrong".to_owned() });
    let folder = Folder::with(&fixture);
    folder.written(&[]);
    let text = folder.text("reports/summary.md");
    let failed = "| failed | `kernels/default/sort/cpu/kernel/f64-4096` | wrong |\n";
    let both = "| unsupported | `kernels/default/gemv/cpu/cuda/f32-4096` and 1 more | cpu: CUDA runs on \
                backend cuda, on a machine with a GPU |\n";
    assert!(text.contains(&format!("{failed}{both}")), "{text}");
}

#[test]
fn the_environment_has_what_newer_records_have() {
    let fixture =
        Fixture::of_kernels(&[Make("gemv", "kernel", Float32, Cpu, 1_000)]).edit("", |it| {
            let environment = it.record.environment_mut();
            environment.git_branch = Some("topic".to_owned());
            environment.host.os_release = Some("Debian GNU/Linux 13".to_owned());
            environment.host.arch = Some("x86_64".to_owned());
            environment.torch.cuda_devices = Some(2);
            let measures = &mut it.record.measures;
            measures.calls_ns.clear();
            measures.latency.as_mut().expect("measured").std_ns = Some(3e6);
        });
    let folder = Folder::with(&fixture);
    folder.written(&[]);
    let env = folder.json("reports/env.json");
    assert_eq!(env["git"]["branch"], "topic");
    assert_eq!(env["os_version"], "Debian GNU/Linux 13");
    assert_eq!(env["architecture"], "x86_64");
    assert_eq!(env["cuda"]["device_count"], 2);
    let entry = &folder.json("reports/kernels/gemv.json")["cases"][0];
    assert_eq!(entry["timing"]["latency_ms_std"], 3.0);
    assert_eq!(entry["absent"]["timing.latency_ms_std"], Value::Null);
    assert!(entry["absent"]["timing.raw_times_ms"].is_string());
}
