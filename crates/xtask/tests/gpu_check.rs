//! `gpu-check` on a GPU that is made of recorded outcomes, and on none.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::{Outcome, Scratch};

const TARGETS: [&str; 6] =
    ["self_test", "operators", "kernels", "inference", "fusion", "calibration"];
const CHECKS: [&str; 10] = [
    "device",
    "launches",
    "flush",
    "device-memory",
    "fused",
    "energy",
    "board",
    "device-copy",
    "fault",
    "device-oom",
];
const CASES: [(&str, &str); 6] = [
    ("operators", "operators/operators/gelu/cuda/cuda/bf16-4x128x1000"),
    ("kernels", "kernels/own-kernels/reduction/cuda/cuda/f32-default"),
    ("recipes", "inference/recipes/linear/cuda/int8wo/bf16-17x1024x1024"),
    ("fusion", "fusion/fusion/linear_bias/cuda/fused/f16-128x512x512"),
    ("compiled", "inference/compiled/linear/cuda/baseline+compile/bf16-64x1024x1024"),
    ("limits", "calibration/limits/copy/cuda/1-thread/f32-1GiB"),
];
const MEASURED: &str = r#"{"status":"measured"}"#;

/// A clone whose bench targets hand out recorded outcomes: a GPU on which everything is as it should be.
struct Gpu(Scratch);

impl Gpu {
    fn new() -> Self {
        let scratch = Scratch::new();
        fs::create_dir_all(scratch.fake("gpu")).expect("a folder");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/gpu/bench");
        let mut programs = String::new();
        let report = [("bin", "criterion-report")];
        for (kind, target) in TARGETS.map(|target| ("bench", target)).into_iter().chain(report) {
            let program = scratch.fake(target);
            symlink(&script, &program).expect("link the fake");
            programs += &format!(
                r#"{{"target":{{"kind":["{kind}"],"name":"{target}"}},"executable":"{}"}}"#,
                program.display()
            );
            programs.push('\n');
        }
        scratch.set("programs", &programs);
        let gpu = Self(scratch);
        for check in CHECKS {
            gpu.finds(check, "1.0 ms", "passed");
        }
        for (step, id) in CASES {
            gpu.records(step, &[(id, MEASURED)]);
        }
        let breaks = "kernels/fault/a_illegal_access/cuda/kernel/f32-default";
        gpu.records(
            "culprit",
            &[
                (breaks, r#"{"status":"failed","error":"CUDA error: an illegal memory access"}"#),
                (
                    "kernels/fault/b_sound/cuda/kernel/f32-default",
                    &format!(r#"{{"status":"skipped","reason":"after {breaks}"}}"#),
                ),
                ("kernels/fault/b_sound/cpu/kernel/f32-default", MEASURED),
            ],
        );
        gpu.0.set(
            "profile.json",
            r#"{"peak_source":{"bandwidth":"preset h100"},"operation_profiles":{"copy":{"operation_type":"copy",
                "achieved_bandwidth_gbps":2900.4,"efficiency":0.866,"extra_params":{"full_id":"copy 1GiB"}}}}"#,
        );
        gpu.0.program(
            "compute-sanitizer",
            "echo '========= ERROR SUMMARY: 0 errors'\nshift 6\nexec \"$@\"",
        );
        gpu
    }

    /// The check finds this.
    fn finds(&self, check: &str, measured: &str, verdict: &str) {
        let line = format!(
            r#"{{"check":"{check}","name":"{check} of it","measured":"{measured}","expected":"1 ms","verdict":"{verdict}"}}"#
        );
        self.0.set(&format!("gpu/{check}.jsonl"), &(line + "\n"));
    }

    /// The run of the step leaves these outcomes.
    fn records(&self, step: &str, cases: &[(&str, &str)]) {
        let host = r#"{"hostname":"secret-host","cpu_model":"A CPU","cpus":16,"memory_bytes":1,"os":"linux 6"}"#;
        let torch = r#"{"libtorch":"2.11.0","tch":"0.24.0","cpu_capability":"AVX2","threads":1,"float32_matmul_precision":"highest","cuda":"13.0","cuda_devices":1,"cuda_device":"Fake H100","cuda_driver":"580.1"}"#;
        let lines = cases.iter().map(|(id, outcome)| {
            format!(
                r#"{{"full_id":"{id}","outcome":{outcome},"accuracy":{{"sqnr_db":52.25,"min_sqnr_db":38.0}},"environment":{{"host":{host},"torch":{torch},"allocator":"retained","rustc":"rustc 1"}}}}"#
            )
        });
        let text: String = lines.map(|line| line + "\n").collect();
        self.0.set(&format!("gpu/{step}.jsonl"), &text);
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.0.xtask(&[&["gpu-check"], arguments].concat());
        command.env("USER", "somebody");
        Outcome::run(command)
    }

    fn page(&self) -> String {
        self.read("target/gpu-check/gpu-check.md")
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.clone_dir().join(file)).expect("it was written")
    }
}

/// The verdict and what was found, in the row of a step, without how long it took.
fn row(page: &str, step: &str) -> String {
    let start = format!("| {step} | ");
    let row = page.lines().find_map(|line| line.strip_prefix(&start)).expect(step);
    let (verdict, rest) = row.split_once(" | ").expect("a verdict");
    let (took, rest) = rest.split_once(" | ").expect("a time");
    assert!(took.ends_with(" s"), "{row}");
    format!("{verdict} | {rest}")
}

#[test]
fn a_gpu_that_is_as_it_should_be_passes_every_step() {
    let gpu = Gpu::new();
    let outcome = gpu.run(&[]);
    let page = gpu.page();
    // The doctor looks at the real machine, and this one may lack a Python or a compiler.
    let others =
        page.lines().filter(|line| line.contains("**failed**") && !line.contains("| doctor |"));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&str>::new(), "{outcome:?}");
    for step in CHECKS {
        assert!(row(&page, step).starts_with("passed | 1.0 ms | "), "{page}");
    }
    assert!(row(&page, "recipes").starts_with("passed | SQNR 52.2 dB, at least 38.0 | "), "{page}");
    assert!(row(&page, "memcheck").starts_with("passed | 3 of 3 passed | "), "{page}");
    assert!(row(&page, "limits").starts_with("passed | 3 of 3 passed | "), "{page}");
    assert!(page.contains("| copy 1GiB | 2900 GB/s, 87 % of the vendor's figure | 60 to 102 % |"));
    assert!(row(&page, "culprit").starts_with("passed | 3 of 3 passed | "), "{page}");
    for fact in ["| GPU | Fake H100 |", "| driver | 580.1 |", "| CUDA of libtorch | 13.0 |"] {
        assert!(page.contains(fact), "{page}");
    }
    assert!(outcome.stderr.contains("[2/20] device, about "), "{}", outcome.stderr);
    // Cases are selected by their ids, and built with the configs of the steps.
    let calls = gpu.0.log("bench-calls");
    assert!(calls.contains(&"self_test: device --exact --format json".to_owned()), "{calls:?}");
    assert!(calls.contains(&"inference: --bench --noplot ^inference/recipes/".to_owned()));
    assert!(calls.iter().any(|call| call.starts_with("operators: --bench --test ^operators/")));
}

#[test]
fn what_fails_is_told_with_all_that_it_takes_to_mend_it() {
    let gpu = Gpu::new();
    gpu.finds("flush", "cold 1.01 times hot", "failed");
    let id = "inference/recipes/linear/cuda/float8dq-row/bf16-17x1024x1024";
    gpu.records(
        "recipes",
        &[
            (CASES[2].1, MEASURED),
            (id, r#"{"status":"failed","error":"SQNR 3.0 dB | below 25"}"#),
            ("other", r#"{"status":"unsupported","reason":"compute capability 7.5"}"#),
        ],
    );
    gpu.0.set("gpu/fusion.exit", "139");
    gpu.0.set("gpu/fusion.running", "fusion/fusion/conv2d_bn/cuda/fused/f16");
    let outcome = gpu.run(&["--output", "out"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let page = gpu.read("out/gpu-check.md");
    assert!(row(&page, "flush").starts_with("**failed** | cold 1.01 times hot | "), "{page}");
    assert!(
        row(&page, "recipes").starts_with(&format!(
            "**failed** | 1 of 3 passed, 1 failed, 1 skipped; first {id}: failed: SQNR"
        )),
        "{page}"
    );
    assert!(page.contains("SQNR 3.0 dB \\| below 25 | an output within its limits |"), "{page}");
    let died = "ended with exit status: 139, while fusion/fusion/conv2d_bn/cuda/fused/f16 ran";
    assert!(row(&page, "fusion").contains(died), "{page}");
    let json = gpu.read("out/gpu-check.json");
    for text in ["\"compute capability 7.5\"", "\"sqnr_db\": 52.25", "\"verdict\": \"failed\""] {
        assert!(json.contains(text.trim_matches('"')), "{text} is not in {json}");
    }
    let clone = gpu.0.clone_dir().display().to_string();
    for private in ["secret-host", "somebody", clone.as_str()] {
        assert!(!json.contains(private) && !page.contains(private), "{private} is told");
    }
}

#[test]
fn without_a_gpu_every_step_is_skipped_with_its_reason() {
    let gpu = Gpu::new();
    for check in CHECKS {
        gpu.finds(check, "no CUDA device", "skipped");
    }
    let skipped = r#"{"status":"skipped","reason":"no CUDA device"}"#;
    for (step, id) in CASES {
        gpu.records(step, &[(id, skipped)]);
    }
    let ids = ["a_illegal_access/cuda", "b_sound/cuda"]
        .map(|it| format!("kernels/fault/{it}/kernel/f32-default"));
    gpu.records("culprit", &[(&ids[0], skipped), (&ids[1], skipped)]);
    fs::remove_file(gpu.0.python().with_file_name("compute-sanitizer")).expect("uninstall it");
    gpu.run(&["--quick"]);
    let page = gpu.page();
    assert!(page.starts_with("# gpu-check --quick: "), "{page}");
    for step in CHECKS.iter().filter(|step| **step != "energy") {
        assert!(row(&page, step).starts_with("skipped | no CUDA device | "), "{page}");
    }
    for step in ["operators", "recipes", "limits", "culprit"] {
        assert!(row(&page, step).starts_with("skipped | no CUDA device | "), "{page}");
    }
    let (steps, _) = page.split_once("\n## ").expect("the doctor has more to say");
    for step in ["energy", "compiled", "memcheck"] {
        assert!(!steps.contains(&format!("| {step} | ")), "{step} is left out: {page}");
    }
    let calls = gpu.0.log("bench-calls");
    assert!(
        calls.contains(&"inference: --bench --noplot ^inference/recipes/.*/bf16-17x".to_owned())
    );
}

#[test]
fn what_does_not_build_is_the_failure_of_every_step_but_the_doctors() {
    let gpu = Gpu::new();
    gpu.0.set("fail-build", "101");
    let outcome = gpu.run(&[]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(row(&gpu.page(), "recipes").starts_with("**failed** | the benchmarks do not build"));
    let refused = gpu.run(&["--slow"]);
    refused.assert_refused(2, &["unexpected argument '--slow'", "Usage: cargo xtask gpu-check"]);
}
