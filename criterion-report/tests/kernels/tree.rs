//! The files, whole.

use insta::assert_snapshot;

use super::*;

#[test]
fn the_tree_is_the_documents() {
    let folder = Folder::of(&everything());
    let output = folder.run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let written = "reports: 11 cases of 4 kernels: 1 failed, 7 measured, 1 missing, 1 skipped, 1 \
                   unsupported\n";
    assert_eq!((out(&output), err(&output)), (written, ""));
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
    let folder = Folder::of(&everything());
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

/// A hundred numbers per case say little in a snapshot.
fn without_raw(mut entries: Value) -> String {
    for entry in entries.as_array_mut().expect("an array") {
        if let Some(raw) = entry.pointer_mut("/timing/raw_times_ms") {
            assert_eq!(raw.as_array().map(Vec::len), Some(100));
            *raw = Value::from("100 calls");
        }
    }
    serde_json::to_string_pretty(&entries).expect("JSON")
}

#[test]
fn the_summary_has_the_files_of_the_kernels_without_their_single_calls() {
    let folder = Folder::of(&everything());
    folder.written(&[]);
    let mut apart = Vec::new();
    for kernel in ["gemv", "pressure_poisson", "reduction", "stencil"] {
        let entries = folder.json(&format!("reports/kernels/{kernel}.json"));
        apart.extend(entries.as_array().expect("an array").clone());
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
    let folder = Folder::of(&everything());
    everything().write(folder.0.path(), "main");
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
        let environment = &mut it.record.environment;
        environment.git_revision = None;
        environment.quiet = None;
        environment.host.governor = None;
        environment.host.os = "Plan9".to_owned();
        it.record.measures = plan::Measures::default();
        it.record.accuracy = None;
    });
    let folder = Folder::of(&bare);
    folder.written(&[]);
    let env = folder.json("reports/env.json");
    assert_eq!(
        (&env["git"], &env["kernel"], &env["os"]),
        (&Value::Null, &Value::Null, &"Plan9".into())
    );
    let entry = &folder.json("reports/kernels/reduction.json")[0];
    for name in ["timing", "memory", "energy"] {
        assert_eq!(entry[name], Value::Null, "{name}");
    }
    assert!(folder.text("reports/summary.md").contains("| Commit | – |"));
}

#[test]
fn a_comment_has_room_for_the_summary_of_many_kernels() {
    let names: Vec<String> = (0..300).map(|i| format!("kernel_of_some_length_{i:03}")).collect();
    let cases: Vec<Make<'_>> = names
        .iter()
        .flat_map(|name| {
            [
                Make(name, "kernel", Float32, Cpu, 900_000),
                Make(name, "other", Float32, Cpu, 450_000),
            ]
        })
        .collect();
    let folder = Folder::of(&Fixture::of(&cases));
    Fixture::of(&cases).takes("/other/", 990_000).write(folder.0.path(), "main");
    folder.written(&["--compare-to", "main"]);
    let text = folder.text("reports/summary.md");
    assert!(text.len() < 65_536, "{}", text.len());
    assert!(text.contains("520 further measured cases in `kernels/`"), "{text}");
    assert!(text.contains("260 more in `regressions.json`"), "{text}");
}
