//! The JSON array, and the command.

use std::process::{Command, Output};

use super::*;
use crate::common::{err, text_and_notes};

const UPSTREAM: [&str; 10] = [
    "operation",
    "implementation",
    "batch_size",
    "sequence_length",
    "tensor_dimension",
    "time_ms",
    "memory_mb",
    "inference_speed",
    "gpu_efficiency",
    "throughput_gbps",
];

fn array(writer: &Writer, fixture: &Fixture) -> Vec<Value> {
    let text = match text_and_notes(writer, &fixture.operators_report(""), TO_STDOUT) {
        Ok((text, _)) => text,
        Err(error) => panic!("{error}"),
    };
    serde_json::from_str(&text).expect("a JSON array")
}

const TO_STDOUT: Target<'_> = Target { colour_terminal: false, width: None, file: None };

fn entry<'a>(array: &'a [Value], end: &str) -> &'a Value {
    let is_it = |entry: &&Value| entry["full_id"].as_str().expect("an id").ends_with(end);
    array.iter().find(is_it).expect("the fixture has it")
}

#[test]
fn an_object_has_upstreams_fields_in_upstreams_units_and_ours() {
    let fixture = Fixture::of_operators("quick", SMALL);
    assert_snapshot!("array", write(&JSON, &fixture.operators_report("softmax/cpu/rust")));
    let array = array(&JSON, &fixture);
    assert_eq!(array.len(), 10);
    for entry in &array {
        for key in UPSTREAM {
            assert!(!entry[key].is_null(), "{}: {key}", entry["full_id"]);
        }
    }
    let rust = entry(&array, "softmax/cpu/rust/f32-32x512x768");
    let number = |key: &str| rust[key].as_f64().expect("a number");
    // Two tensors of 48 MiB at 36 GB/s.
    let bytes = f64::from(2 * 4 * 32 * 512 * 768);
    assert_eq!(number("bytes"), bytes);
    assert!((number("time_ms") - bytes / 36e6).abs() < 1e-6);
    assert!((number("memory_mb") - bytes / f64::from(1 << 20)).abs() < 1e-9, "MiB, as upstream");
    assert!((number("inference_speed") - 1000.0 / number("time_ms")).abs() < 1e-9);
    assert!((number("throughput_gbps") - bytes / 1e6 / number("time_ms")).abs() < 1e-9);
    assert!((number("gpu_efficiency") - 90.0).abs() < 1e-4);
    assert_eq!(
        (&rust["worst_gate"], &rust["worst_gate_inputs"]),
        (&0.42.into(), &"denormal".into())
    );
}

/// A NaN where there should be none is worse than any error.
#[test]
fn the_worst_gate_is_that_of_the_largest_error() {
    let fixture = Fixture::of_operators("quick", SMALL).edit("/rust/", |it| {
        let gates = &mut it.record.accuracy.as_mut().expect("measured").gates;
        (gates[0].worst, gates[2].worst) =
            (plan::JsonFloat(f64::NAN), plan::JsonFloat(f64::INFINITY));
        gates.swap(0, 2);
    });
    let array = array(&JSON, &fixture);
    let rust = entry(&array, "gelu/cpu/rust/f32-32x512x768");
    assert_eq!(
        (&rust["worst_gate"], &rust["worst_gate_inputs"]),
        (&"nan".into(), &"random".into())
    );
}

/// Upstream's efficiency says nothing of how busy the GPU was.
#[test]
fn a_gpu_has_its_utilization_or_the_reason_why_not() {
    let of_cuda = format!("{SMALL}  devices: [cuda]\n");
    let fixture = Fixture::of_operators("gpu", &of_cuda)
        .edit("gelu/cuda/cuda/", |it| {
            let range = |median| plan::Range { min: median - 0.1, median, max: 1.0 };
            it.record.measures.utilization = Some(plan::Utilization {
                sm: range(0.75),
                memory: range(0.5),
                window_s: 2.0,
                samples: 7,
                method: "NVML".to_owned(),
            });
        })
        .edit("gelu/cuda/triton/", |it| {
            let why = "the window is too short".to_owned();
            it.record.measures.absent.insert("utilization".to_owned(), why);
        });
    let array = array(&JSON, &fixture);
    let of = |implementation: &str| {
        let entry = entry(&array, &format!("gelu/cuda/{implementation}/f32-32x512x768"));
        ["sm_utilization", "memory_utilization", "utilization_samples", "no_utilization_reason"]
            .map(|key| entry[key].clone())
    };
    assert_eq!(of("cuda"), [75.0.into(), 50.0.into(), 7.into(), Value::Null]);
    let reason = "the window is too short".into();
    assert_eq!(of("triton"), [Value::Null, Value::Null, Value::Null, reason]);
}

/// Upstream drops what it has not measured.
#[test]
fn nothing_is_dropped() {
    let fixture = Fixture::of_operators("quick", SMALL).end("/(rust|aten-out)/", &skipped());
    let array = array(&JSON, &fixture);
    assert_eq!(array.len(), 10);
    let rust = entry(&array, "softmax/cpu/rust/f32-32x512x768");
    assert_eq!((&rust["operation"], &rust["implementation"]), (&"Softmax".into(), &"Rust".into()));
    assert_eq!((&rust["outcome"], &rust["batch_size"]), (&"skipped".into(), &32.into()));
    assert_eq!(rust["reason"], "this machine has no CUDA device");
    assert_eq!(rust["no_efficiency_reason"], "it is not measured");
    for key in &UPSTREAM[5..] {
        assert_eq!(rust[key], Value::Null, "{key}");
    }
    assert_eq!(rust["bytes"], 100_663_296, "what is computed needs no run");
}

#[test]
fn only_skipped_cases_are_written_too() {
    let fixture = Fixture::of_operators("quick", SMALL).end("", &skipped());
    let all = array(&JSON, &fixture);
    assert!(all.len() == 10 && all.iter().all(|entry| entry["time_ms"].is_null()));
    assert_eq!(array(&COMPAT, &fixture), Vec::<Value>::new());
    let text = write(&TABLE, &fixture.operators_report(""));
    assert!(text.contains("    all 5 cases: skipped: this machine has no CUDA device\n"), "{text}");
}

/// Upstream's scripts take sums and minima over all results of an operation.
#[test]
fn upstreams_scripts_can_take_the_compatible_array() {
    let fixture = Fixture::of_operators("quick", SMALL).end("/aten-out/", &skipped());
    let array = array(&COMPAT, &fixture);
    assert_eq!(array.len(), 6);
    let softmax = || array.iter().filter(|entry| entry["operation"] == "Softmax");
    let time = |entry: &Value| entry["time_ms"].as_f64().expect("each has a time");
    let fastest = softmax().min_by(|a, b| time(a).total_cmp(&time(b))).expect("there are some");
    assert_eq!(fastest["implementation"], "Rust", "and not a pass that computes nothing");
    assert_eq!(softmax().filter(|entry| entry["implementation"] == "PyTorch").count(), 1);
    let (_, notes) =
        text_and_notes(&COMPAT, &fixture.operators_report(""), TO_STDOUT).expect("written");
    assert_eq!(
        notes,
        ["2 cases of `stream` skipped: it computes nothing", "2 cases without a time skipped"]
    );
}

/// Upstream's formula is 100 over the milliseconds, at most 100, on any machine. It is written on request, next to
/// ours.
#[test]
fn upstreams_efficiency_is_there_on_request_alone() {
    let fixture = Fixture::of_operators("quick", SMALL);
    let (ours, compatible) = (array(&JSON, &fixture), array(&COMPAT, &fixture));
    let rust = |array| entry(array, "softmax/cpu/rust/f32-32x512x768");
    let (ours, compatible) = (rust(&ours), rust(&compatible));
    let number = |entry: &Value, key: &str| entry[key].as_f64().expect("a number");
    assert!((number(ours, "gpu_efficiency") - 90.0).abs() < 1e-4);
    assert_eq!(ours["efficiency_source"], "stream");
    let time_ms = number(compatible, "time_ms");
    assert!(time_ms > 1.0, "{time_ms}");
    assert_eq!(number(compatible, "gpu_efficiency"), 100.0 / time_ms);
    assert_eq!(compatible["efficiency_source"], "upstream");
    assert_eq!(compatible["efficiency_method"], "formula");
    assert_eq!(compatible["gpu_efficiency_low"], Value::Null);
    assert_eq!(compatible["share_of_limit"], ours["share_of_limit"]);
    assert_eq!(ours["share_of_limit"], ours["gpu_efficiency"]);
    // The document's example has 85.3 at 0.442 ms, where its program writes 100.
    assert_eq!(criterion_report::views::upstreams_estimate(0.442), 100.0);
    assert_eq!(criterion_report::views::upstreams_estimate(4.0), 25.0);
}

#[test]
fn the_mean_of_single_calls_stands_beside_the_median() {
    let fixture = Fixture::of_operators("quick", SMALL).edit("/rust/", |it| {
        it.record.measures.latency = Some(plan::Latency {
            calls: 100,
            mean_ns: 3.25e6,
            std_ns: None,
            p50_ns: 3e6,
            p90_ns: None,
            p99_ns: None,
            max_ns: 9e6,
        });
    });
    let all = array(&JSON, &fixture);
    let rust = entry(&all, "gelu/cpu/rust/f32-32x512x768");
    assert_eq!((&rust["mean_time_ms"], &rust["mean_calls"]), (&3.25.into(), &100.into()));
    assert_ne!(rust["time_ms"], rust["mean_time_ms"], "the median is criterion's");
    let mean = Writer::Operators(Options { mean: true, ..OPTIONS });
    let text = write(&mean, &fixture.operators_report("gelu"));
    let line = text.lines().find(|line| line.contains("    rust ")).expect("its line");
    assert!(line.contains("2.796 ms") && line.contains(" 3.250 ms    100 "), "{line}");
    assert!(!write(&TABLE, &fixture.operators_report("gelu")).contains("3.250 ms"), "not unasked");
}

/// The blocks of code of upstream's document, word for word, in its order.
fn scripts() -> [String; 5] {
    let file = "../crates/plan/tests/documents/comprehensive-operator-benchmarks.md";
    let text = std::fs::read_to_string(file).expect("it is in the repository");
    let blocks = text.split("```").skip(1).step_by(2);
    let code =
        blocks.map(|block| block.split_once('\n').expect("a language, then code").1.to_owned());
    code.collect::<Vec<_>>().try_into().expect("five blocks")
}

/// The document's implementations, which a GPU alone has, and its sizes: everything that its scripts look for.
const OF_A_GPU: &str = "
benchmark_mode: operators
operator_params:
  - operators: [layer_norm]
    batch_sizes: [16, 32, 64]
    sequence_lengths: [256]
    tensor_dimensions: [128]
    devices: [cuda]
  - operators: [layer_norm]
    batch_sizes: [16]
    sequence_lengths: [512, 1024]
    tensor_dimensions: [256, 512]
    devices: [cuda]
";

/// Output of a program run beside the file made of a fixture; none without python3.
fn analyzed(fixture: &Fixture, program: &str, arguments: &[&str]) -> Option<String> {
    if Command::new("python3").arg("--version").output().is_err() {
        crate::common::skip::tool("no python3");
        return None;
    }
    let (folder, criterion) = fixture.write();
    let file = folder.path().join("benchmark_results.json");
    let path = file.to_str().expect("text");
    let args = ["--format", "json", "--upstream-compat", "--output", path];
    assert!(run(&criterion, &args).status.success());
    let analysis = Command::new(program).args(arguments).current_dir(folder.path()).output();
    let analysis = analysis.expect("it can be started");
    assert!(analysis.status.success(), "{}", err(&analysis));
    Some(String::from_utf8(analysis.stdout).expect("text"))
}

#[test]
fn upstreams_scripts_run_on_the_file_of_a_gpu() {
    let fixture = Fixture::of_operators("gpu", OF_A_GPU);
    let [loading, batches, sequences, dimensions, workflow] = scripts();
    // Two of the scripts make lists and print nothing.
    let lists = "print(len(seq_256), len(seq_512), len(seq_1024))\n\
                 print(len(dim_128), len(dim_256), len(dim_512))\n";
    let script = [&loading, &batches, &sequences, &dimensions, lists].map(String::from).join("\n");
    let Some(printed) = analyzed(&fixture, "python3", &["-c", &script]) else { return };
    // By hand, at 2000, 3200 and 3000 GB/s; the composed form, at 900, is in the means of the batches alone.
    let expected = "PyTorch average time: 0.013 ms\nCUDA average time: 0.008 ms\n\
                    Triton average time: 0.009 ms\nBatch 16: 0.018 ms\nBatch 32: 0.005 ms\n\
                    Batch 64: 0.009 ms\n12 8 8\n12 8 8\n";
    assert_eq!(printed, expected);
    assert_eq!(fastest(&fixture, &workflow), "Fastest LayerNorm: CUDA (0.001 ms)\n");
}

/// The document's workflow, whose first step, the measurement, is done already.
fn fastest(fixture: &Fixture, workflow: &str) -> String {
    let python =
        "python() { [ \"$1\" = benchmarks/comprehensive_benchmark.py ] || python3 \"$@\"; }\n";
    let script = python.to_owned() + workflow;
    analyzed(fixture, "bash", &["-ec", &script]).expect("python3 ran before")
}

/// The first script names implementations that a CPU lacks; with those that it has, the same lines run.
#[test]
fn upstreams_scripts_run_on_the_file_of_a_cpu() {
    let config = SMALL.replace("[softmax, gelu]", "[layer_norm]");
    let fixture = Fixture::of_operators("quick", &config);
    let [loading, _, _, _, workflow] = scripts();
    let (gpu, cpu) = ("['PyTorch', 'CUDA', 'Triton']", "['PyTorch', 'Rust']");
    assert!(loading.contains(gpu), "{loading}");
    let loading = loading.replace(gpu, cpu);
    let Some(printed) = analyzed(&fixture, "python3", &["-c", &loading]) else { return };
    assert_eq!(printed, "PyTorch average time: 5.033 ms\nRust average time: 2.796 ms\n");
    assert_eq!(fastest(&fixture, &workflow), "Fastest LayerNorm: Rust (2.796 ms)\n");
}

#[test]
fn the_documented_keys_are_those_written() {
    let page = std::fs::read_to_string("../docs/book/src/reports/operators.md").expect("readable");
    let (_, table) = page.split_once("\n| key |").expect("its table");
    let table = table.split("\n\n").next().expect("its text");
    let row = Regex::new("(?m)^\\| (`[^|]*`) \\|").expect("a valid pattern");
    let key = Regex::new("[a-z_0-9]+").expect("a valid pattern");
    let cells: String = row.captures_iter(table).map(|row| row[1].to_owned()).collect();
    let documented: Vec<&str> = key.find_iter(&cells).map(|it| it.as_str()).collect();
    // The parser sorts an object's keys; the text has them as they were written.
    let text =
        write(&JSON, &Fixture::of_operators("quick", SMALL).operators_report("gelu/cpu/rust"));
    let written = Regex::new("(?m)^    \"([a-z_0-9]+)\":").expect("a valid pattern");
    let written: Vec<String> = written.captures_iter(&text).map(|key| key[1].to_owned()).collect();
    assert_eq!(documented, written);
    assert_eq!(written[..10], UPSTREAM);
}

fn run(criterion: &std::path::Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .args(["operators", "--criterion-dir"])
        .arg(criterion)
        .args(args)
        .env_remove("CRITERION_HOME")
        .output()
        .expect("the program starts")
}

#[test]
fn exit_codes_and_messages() {
    let (_folder, good) = Fixture::of_operators("quick", SMALL).write();
    assert!(run(&good, &["--strict"]).status.success());
    let (_folder, bad) =
        Fixture::of_operators("quick", SMALL).end("gelu/cpu/rust", &skipped()).write();
    assert!(run(&bad, &[]).status.success());
    let strict = run(&bad, &["--strict", "--format", "json"]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(!strict.stdout.is_empty(), "the array is written all the same");
    assert!(err(&strict).starts_with("--strict: 1 case has no time:\n"), "{}", err(&strict));

    let calibration = "benchmark_mode: calibration\ncalibration_params: { probes: [copy], \
                       sizes: [4MiB] }";
    let (_folder, calibration) = Fixture::of_operators("bandwidth", calibration).write();
    for (folder, args, message) in [
        (&good, &["--by", "batch", "--format", "json"][..], "--by applies to the tables"),
        (&good, &["--upstream-compat"], "--upstream-compat applies to the JSON array only"),
        (&good, &["--mean", "--format", "json"], "--mean applies to the tables only"),
        (&good, &["--mean", "--by", "batch"], "--mean applies to cases"),
        (&good, &["--by", "width"], "invalid value 'width'"),
        (&good, &["--filter", "int8wo"], "--filter int8wo matches none of 10 recorded cases"),
        (&good, &["--baseline", "main"], "no records: looked for"),
        (&calibration, &[], "error: the records of `new` hold no operator case\n  measure some"),
        (&calibration, &["--filter", "copy"], "error: the records of `new` hold no operator case"),
    ] {
        let output = run(folder, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty());
        assert!(err(&output).contains(message), "{args:?}: {}", err(&output));
    }
}

#[test]
fn a_selected_case_without_a_record_is_an_object_too() {
    let fixture = Fixture::of_operators("quick", SMALL);
    let (folder, criterion) = fixture.write();
    let runs = folder.path().join("criterion-torch/runs");
    std::fs::create_dir_all(&runs).expect("created");
    let manifest = serde_json::json!({
        "version": 1, "run_id": "20261121T120000Z-7", "target": "operators", "baseline": "base",
        "started": 1_795_262_400u64, "args": [], "warnings": [], "outcomes": {},
        "selected": ["operators/quick/silu/cpu/rust/f32-32x512x768"],
    });
    std::fs::write(runs.join("20261121T120000Z-7.json"), manifest.to_string()).expect("written");
    let output = run(&criterion, &["--format", "json"]);
    let array: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
    assert_eq!(array.len(), 11);
    let missing = entry(&array, "silu/cpu/rust/f32-32x512x768");
    assert_eq!((&missing["outcome"], &missing["operation"]), (&"missing".into(), &Value::Null));
    assert!(missing["reason"].as_str().expect("a reason").contains("20261121T120000Z-7"));
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect();
    let (own, others): (Vec<String>, Vec<String>) = (keys(missing), keys(&array[0]));
    assert_eq!(own, others, "a script finds every key");
    for format in ["json", "table"] {
        let alone = run(&criterion, &["--filter", "/silu/", "--format", format]);
        assert!(alone.status.success(), "{}", err(&alone));
        let text = String::from_utf8_lossy(&alone.stdout);
        assert!(text.contains("silu/cpu/rust/f32-32x512x768"), "{text}");
    }
    let compat = run(&criterion, &["--format", "json", "--upstream-compat"]);
    assert!(err(&compat).contains("1 case without a time skipped"), "{}", err(&compat));
}

#[test]
fn a_file_holds_what_would_be_printed() {
    let (folder, criterion) = Fixture::of_operators("quick", SMALL).write();
    let file = folder.path().join("operators.json");
    let path = file.to_str().expect("text");
    let output = run(&criterion, &["--format", "json", "--output", path]);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    let text = std::fs::read(&file).expect("written");
    assert_eq!(text, run(&criterion, &["--format", "json"]).stdout);
    let target = Target { colour_terminal: true, width: None, file: Some(&file) };
    let report = Fixture::of_operators("quick", SMALL).operators_report("");
    let (_, notes) = text_and_notes(&TABLE, &report, target).expect("written");
    assert!(notes.is_empty(), "the tables say everything themselves");
}

#[test]
#[cfg(feature = "schema")]
fn the_array_is_as_its_schema_says() {
    for writer in [&JSON, &COMPAT] {
        for config in [SMALL, SIZES] {
            let document = array(writer, &Fixture::of_operators("quick", config)).into();
            crate::common::assert_as_schema("operators-v1", &document);
        }
    }
}
