//! Accepted and refused sides of a comparison.

use std::fs;

use plan::Device::Cuda;
use plan::Dtype::Float32;

use crate::compare::folder::*;
use crate::kernels::fixture::{Fixture, Make};

/// A preloaded allocator, and one with another number of threads.
#[test]
fn environment_variables_that_differ_are_shown() {
    let folder = Folder::new();
    let with = |set: &'static [(&'static str, &'static str)]| {
        move |run: u64| {
            main_branch(run).edit("", move |it| {
                let variables = &mut it.record.environment_mut().variables;
                *variables =
                    set.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            })
        }
    };
    folder.save("a", 1, with(&[("LD_PRELOAD", "libmimalloc.so")]));
    folder.save("b", 1, with(&[]));
    folder.save("c", 1, with(&[]));
    let told = folder.stderr(0, &["compare", "a", "b"]);
    let expected =
        "measured with other environment variables: a with LD_PRELOAD=libmimalloc.so, b with none";
    assert!(one_line(&told).contains(expected), "{told}");
    assert!(!folder.stderr(0, &["compare", "b", "c"]).contains("environment variables"));
}

#[test]
fn machines_are_refused_unless_asked_for() {
    let folder = Folder::new();
    let elsewhere = |_| {
        main_branch(0).edit("kernels/", |it| {
            it.record.environment_mut().host.cpu_model = "Another CPU".to_owned();
        })
    };
    folder.save("main", 0, main_branch).save("pr", 0, elsewhere);
    let said = folder.stderr(2, &["compare", "main", "pr"]);
    assert!(
        said.contains("was measured on two machines") && said.contains("Another CPU"),
        "{said}"
    );
    let document = folder.json(&["compare", "main", "pr", "--across-hosts"]);
    let text = folder.stdout(0, &["compare", "main", "pr", "--across-hosts"]);
    assert!(one_line(&text).contains("caution: of two machines: AMD EPYC"), "{text}");
    for case in document["cases"].as_array().expect("cases") {
        let caution = case["cautions"][0].as_str().expect("a caution");
        assert!(caution.starts_with("of two machines: "), "{caution}");
    }
}

#[test]
fn sides_are_names_folders_and_earlier_reports() {
    let folder = Folder::new();
    folder.save("main", 0, main_branch).save("new", 0, main_branch).save("both", 2, main_branch);
    folder.save("both", 0, main_branch);
    folder.stdout(0, &["kernels", "--output-dir", "earlier"]);
    for side in ["new", ".", "./criterion", "earlier"] {
        let document = folder.json(&["compare", "main", side]);
        let cases = document["cases"].as_array().expect("cases");
        assert_eq!(cases.len(), KERNELS.len(), "{side}");
        assert_ne!(cases[0]["verdict"], "missing", "{side}");
    }
    // Files hold all of it, or times alone.
    for (format, measures) in [("json", 4), ("jsonl", 4), ("critcmp", 1)] {
        let file = format!("main.{format}");
        folder.stdout(0, &["export", format, "--baseline", "main", "--output", &file]);
        let document = folder.json(&["compare", "main", &file]);
        let cases = document["cases"].as_array().expect("cases");
        assert_eq!(cases.len(), KERNELS.len(), "{file}");
        for case in cases {
            let found = case["measures"].as_array().expect("measures");
            let both = found.iter().filter(|it| !it["b"].is_null()).count();
            assert_eq!(both, measures, "{file}: {case}");
            assert_eq!(found[0]["ratio"], 1.0, "{file}");
        }
    }
    let said = folder.stderr(0, &["compare", "both", "main"]);
    let note = "`both` is skipped: its runs `both@1` to `both@2` are used instead";
    assert!(said.contains(note), "{said}");
    let said = folder.stderr(2, &["compare", "main", "elsewhere"]);
    let names = "use one of: both, main, new";
    assert!(said.contains("`elsewhere` cannot be compared") && said.contains(names), "{said}");
    for slip in ["mian", "mains", "main@1"] {
        let said = folder.stderr(2, &["compare", slip, "new"]);
        assert!(said.contains("did you mean `main`?"), "{said}");
    }
    fs::write(folder.path("notes.txt"), "no export").expect("written");
    let said = folder.stderr(2, &["compare", "main", "notes.txt"]);
    assert!(said.contains("notes.txt: not an export of results"), "{said}");
}

#[test]
fn a_cuda_case_is_of_its_gpu() {
    let folder = Folder::new();
    let on =
        |gpu: &'static str| {
            move |_| {
                clean(Fixture::of_kernels(&[Make("gemv", "kernel", Float32, Cuda, 1_000_000)]))
                    .edit("gemv", |it| {
                        it.record.environment_mut().torch.cuda_device = Some(gpu.to_owned());
                    })
            }
        };
    folder.save("main", 0, on("NVIDIA H200")).save("pr", 0, on("NVIDIA A100"));
    let said = folder.stderr(2, &["compare", "main", "pr"]);
    assert!(said.contains("NVIDIA H200") && said.contains("NVIDIA A100"), "{said}");
}

#[test]
fn a_measurement_is_not_taken_for_another_one() {
    let folder = Folder::new();
    let slower = |_| main_branch(0).takes("reduction", 1_250_000);
    folder.save("main", 0, main_branch).save("new", 0, main_branch).save("pr", 0, slower);
    let said = folder.stderr(2, &["compare", "main", "main"]);
    assert!(said.contains("A and B are both `main`"), "{said}");
    for (b, cases) in [("new", "9 cases"), ("pr", "8 cases")] {
        let said = folder.stderr(0, &["compare", "main", b]);
        let says = format!("A and B hold the same measurement of {cases}: until the next run");
        assert!(said.contains(&says), "{b}: {said}");
    }
}
