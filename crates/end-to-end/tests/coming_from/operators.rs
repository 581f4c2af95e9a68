//! Rows of `coming-from/operators.md`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

use plan::{Outcome, Record};
use serde_json::Value;

use crate::lab::{Lab, near};
use crate::page::{Row, rows};
use crate::suites::{cases, python, understood, words, works};

rows! { "operators";
    "`python benchmarks/comprehensive_benchmark.py`" => script,
    "save results to `benchmark_results.json`" => saved,
    "`batch_sizes=[16, 32, 64, 128]`" => batch_sizes,
    "`sequence_lengths=[256, 512, 1024]`" => sequence_lengths,
    "`tensor_dimensions=[32, 64, 128, 256]`" => tensor_dimensions,
    "`operations=['LayerNorm', 'GELU', 'Swish', 'Loss']`" => operations,
    "`output_file='my_results.json'`" => output_file,
    "`results = run_comprehensive_benchmark(…)`" => function,
    "default sizes of the script" => default_sizes,
    "sizes above 50 million elements are skipped" => large_sizes,
    "LayerNorm" => layer_norm,
    "GELU" => gelu,
    "Swish (x * sigmoid(x))" => swish,
    "Loss: MSE, Cross Entropy" => losses,
    "PyTorch: native implementations" => pytorch,
    "CUDA: custom kernels, if the extension is built" => cuda,
    "Triton, if available" => triton,
    "a JSON array of records" => array,
    "`time_ms`: average execution time" => time_ms,
    "`memory_mb`: peak GPU memory" => memory_mb,
    "`inference_speed`: 1000 / time_ms" => inference_speed,
    "`gpu_efficiency`: estimated utilization" => gpu_efficiency,
    "`throughput_gbps`: memory throughput" => throughput,
    "comparison tables are printed" => tables,
    "load the results and filter by operation" => by_operation,
    "average time per implementation" => averages,
    "by batch size" => by_batch,
    "by sequence length" => by_sequence,
    "by tensor dimension" => by_dimension,
    "the fastest implementation for LayerNorm" => fastest,
    "compare CUDA vs Triton" => compared,
    "identify optimal configurations" => optimal,
    "`python benchmarks/visualize_results.py`" => visualized,
    "PyTorch profiler, sorted by time" => profiler,
    "`record_shapes=True, profile_memory=True`" => recorded,
    "`record_function(\"layernorm\")`" => named,
    "`nsys profile --trace=cuda,nvtx`" => nsys,
    "warmup runs" => warm_up,
    "averaged over 100 runs" => mean,
    "GPU memory is cleared between tests" => cleared,
    "CUDA operations are synchronized" => synchronized,
    "out of memory: reduce sizes, test one at a time" => out_of_memory,
    "slow: reduce the parameter ranges" => slow,
    "CUDA extension: `python setup.py build_ext --inplace`" => extension,
    "Triton: `pip install triton`" => triton_installed,
}

/// The results that all rows check: every operation in every implementation at one size, one operation at several
/// sizes, and the file that `cargo torch-bench operators` writes.
struct Run {
    lab: Lab,
    file: PathBuf,
    /// The file's records.
    results: Vec<Value>,
    /// Every case, measured or not, as `--format json` has it.
    all: Vec<Value>,
    records: Vec<Record>,
}

fn run() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| {
        let lab = Lab::new();
        let profile = "--profile=/layer_norm/cpu/aten/";
        lab.bench("operators", &[profile, "^operators/comprehensive/"]);
        let file = lab.path("benchmark_results.json");
        let path = file.to_str().expect("UTF-8");
        let json = ["operators", "--format", "json"];
        lab.report(&[&json[..], &["--latest", "--upstream-compat", "--output", path]].concat());
        let list = |text: &str| -> Vec<Value> { serde_json::from_str(text).expect("a JSON array") };
        let results = list(&std::fs::read_to_string(&file).expect("written"));
        let all = list(&lab.report(&json));
        let records = lab.records("new", "operators");
        Run { lab, file, results, all, records }
    })
}

fn report(row: &Row) -> String {
    let words = words(row, "cargo criterion-report");
    let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    run().lab.report(&arguments)
}

fn number(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", of[key]))
}

/// The results of an operation by upstream's name.
fn of<'a>(operation: &'a str) -> impl Iterator<Item = &'static Value> + use<'a> {
    run().results.iter().filter(move |it| it["operation"] == operation)
}

fn record(result: &Value) -> &'static Record {
    let found = run().records.iter().find(|it| result["full_id"] == it.full_id.as_str());
    found.expect("its record")
}

/// The values of a dimension, 0 to 2, among the sizes that the row's command measures.
fn dimension(row: &Row, place: usize) -> BTreeSet<u64> {
    let sizes = cases(row).into_iter().map(|case| {
        let size = case.work.operator().expect("an operator").size;
        [size.batch_size, size.sequence_length, size.tensor_dimension][place]
    });
    sizes.collect()
}

fn script(row: &Row) {
    let cases = cases(row);
    assert!(!cases.is_empty() && cases.iter().all(|case| case.device.as_str() == "cpu"));
}

fn saved(row: &Row) {
    assert!(!cases(row).is_empty());
    assert!(run().file.ends_with(row.code()[0].rsplit(' ').next().expect("a name")));
    assert!(!run().results.is_empty());
}

fn batch_sizes(row: &Row) {
    assert_eq!(dimension(row, 0), BTreeSet::from([16, 32, 64, 128]));
}

fn sequence_lengths(row: &Row) {
    assert_eq!(dimension(row, 1), BTreeSet::from([256, 512, 1024]));
}

fn tensor_dimensions(row: &Row) {
    assert_eq!(dimension(row, 2), BTreeSet::from([32, 64, 128, 256]));
}

fn operations(row: &Row) {
    let words = ["layer_norm", "gelu", "silu", "mse_loss", "cross_entropy"];
    assert_eq!(works(&cases(row), "operators"), BTreeSet::from(words));
    assert_eq!(plan::Operator::ALL.len() - words.len(), 6, "the others that the row counts");
}

fn output_file(row: &Row) {
    assert!(!cases(row).is_empty());
}

fn function(row: &Row) {
    assert_eq!(works(&cases(row), "operators"), BTreeSet::from(["layer_norm", "gelu"]));
}

fn default_sizes(row: &Row) {
    assert_eq!(dimension(row, 0), BTreeSet::from([16, 32, 64]));
    assert_eq!(dimension(row, 1), BTreeSet::from([256, 512, 1024]));
    assert_eq!(dimension(row, 2), BTreeSet::from([32, 64, 128, 256]));
}

fn large_sizes(row: &Row) {
    let skipped = run().all.iter().find(|it| it["outcome"] == "skipped").expect("64x8x16");
    let reason = skipped["reason"].as_str().expect("a reason");
    let told = format!("{} is 8000", row.code()[0]);
    assert!(reason.contains("8192 elements") && reason.contains(&told), "{reason}");
    assert!(run().results.iter().all(|it| it["full_id"] != skipped["full_id"]));
}

/// The row's operators are measured under upstream's name.
fn measured_as(row: &Row, operations: &[&str]) {
    for (word, operation) in row.code().iter().zip(operations) {
        assert!(of(operation).count() > 1, "{operation}");
        assert!(of(operation).all(|it| it["operator"] == **word), "{word}");
        assert!(of(operation).all(|it| it["outcome"] == "measured"));
    }
}

fn layer_norm(row: &Row) {
    measured_as(row, &["LayerNorm"]);
}

fn gelu(row: &Row) {
    measured_as(row, &["GELU"]);
    assert!(of("GELU").all(|it| it["operator"] != "gelu_tanh"));
}

fn swish(row: &Row) {
    measured_as(row, &["Swish"]);
    let composed = of("Swish").find(|it| it["variant"] == "aten-composed").expect("measured");
    assert!(composed["kernels"].to_string().contains("sigmoid"), "{}", composed["kernels"]);
}

fn losses(row: &Row) {
    measured_as(row, &["Loss", "CrossEntropyLoss"]);
}

fn pytorch(row: &Row) {
    let aten = run().results.iter().filter(|it| it["variant"] == row.code()[0]);
    assert!(aten.clone().count() >= 5 && aten.clone().all(|it| it["implementation"] == "PyTorch"));
}

/// Which implementations the row's word adds on CUDA.
fn on_cuda(row: &Row, implementation: &str) {
    let config =
        "benchmark_mode: operators\noperator_params: { operators: [gelu], devices: [cuda] }";
    let config = plan::Config::parse(std::path::Path::new("x.yml"), config).expect("a config");
    let plan = plan::expand(&[config]).expect("it expands");
    let word = row.code()[0];
    let own = plan.cases().find(|case| case.id.variant == word).expect("it is planned");
    let work = own.work.operator().expect("an operator");
    assert_eq!(work.implementation.upstream(), implementation);
}

fn cuda(row: &Row) {
    on_cuda(row, "CUDA");
    assert!(of("LayerNorm").any(|it| it["implementation"] == "Rust"));
}

fn triton(row: &Row) {
    on_cuda(row, "Triton");
}

fn array(row: &Row) {
    let printed = report(row);
    let results: Vec<Value> = serde_json::from_str(&printed).expect("an array");
    assert_eq!(results.len(), run().results.len());
    for result in &results {
        assert!(result["operation"].is_string() && result["implementation"].is_string());
        for key in ["batch_size", "sequence_length", "tensor_dimension"] {
            assert!(result[key].is_u64(), "{key}");
        }
        for key in ["time_ms", "memory_mb", "inference_speed", "gpu_efficiency", "throughput_gbps"]
        {
            assert!(number(result, key) > 0.0, "{key}");
        }
    }
}

fn time_ms(row: &Row) {
    for result in &run().results {
        let median = run().lab.median_ns(&record(result).case, "new").expect("measured");
        near(&result[row.code()[0]], median / 1e6);
        assert!(number(result, "mean_time_ms") > 0.0);
    }
}

fn memory_mb(row: &Row) {
    for result in &run().results {
        let memory = record(result).measures.memory.expect("counted");
        near(&result[row.code()[0]], memory.peak_bytes() as f64 / f64::from(1 << 20));
    }
}

fn inference_speed(row: &Row) {
    for result in &run().results {
        let speed = number(result, row.code()[0]);
        assert!((speed * number(result, "time_ms") / 1e3 - 1.0).abs() < 1e-12);
    }
}

fn gpu_efficiency(row: &Row) {
    for result in &run().results {
        let estimate = (100.0 / number(result, "time_ms")).min(100.0);
        near(&result[row.code()[0]], estimate);
        let own = run().all.iter().find(|it| it["full_id"] == result["full_id"]).expect("there");
        assert_eq!(result["share_of_limit"], own["gpu_efficiency"], "ours without the option");
    }
}

/// By hand: x and y of 16·4·8 elements of 4 bytes.
fn throughput(row: &Row) {
    let gelu = of("GELU").find(|it| it["size"] == "16x4x8").expect("measured");
    near(&gelu[row.code()[0]], f64::from(2 * 4 * 16 * 4 * 8) / 1e6 / number(gelu, "time_ms"));
}

fn tables(row: &Row) {
    let printed = report(row);
    for text in ["operators/comprehensive/layer_norm/cpu", "speed-up", "aten-composed", "of limit"]
    {
        assert!(printed.contains(text), "{text}: {printed}");
    }
}

/// Runs a script of the document on the file.
fn analyzed(row: &Row, script: &str) -> Option<String> {
    assert!(row.code().iter().all(|code| !code.is_empty()));
    let script = format!("import json, sys\nresults = json.load(open(sys.argv[1]))\n{script}");
    python(&script, &run().file)
}

fn by_operation(row: &Row) {
    let script = "print(len([r for r in results if r['operation'] == 'LayerNorm']))";
    let Some(printed) = analyzed(row, script) else { return };
    assert_eq!(printed.trim(), of("LayerNorm").count().to_string());
}

fn averages(row: &Row) {
    const SCRIPT: &str = "
layernorm = [r for r in results if r['operation'] == 'LayerNorm']
for impl in ['PyTorch', 'Rust']:
    own = [r for r in layernorm if r['implementation'] == impl]
    average = sum(r['time_ms'] for r in own) / len(own)
    print(f'{impl} {average:.9f}')
";
    let Some(printed) = analyzed(row, SCRIPT) else { return };
    let expected: String = ["PyTorch", "Rust"]
        .map(|name| {
            let own = of("LayerNorm").filter(|it| it["implementation"] == name);
            let times: Vec<f64> = own.map(|it| number(it, "time_ms")).collect();
            format!("{name} {:.9}\n", times.iter().sum::<f64>() / times.len() as f64)
        })
        .concat();
    assert_eq!(printed, expected);
}

/// The document's script for a key at some values: how many there are, and their mean time.
fn along(row: &Row, key: &str, values: &[u64]) {
    let script = format!(
        "
for value in {values:?}:
    own = [r for r in results if r['{key}'] == value]
    average = sum(r['time_ms'] for r in own) / len(own)
    print(own[0]['{key}'], len(own), average > 0)
"
    );
    let Some(printed) = analyzed(row, &script) else { return };
    let count = |value: &u64| run().results.iter().filter(|it| it[key] == *value).count();
    let expected: String =
        values.iter().map(|value| format!("{value} {} True\n", count(value))).collect();
    assert_eq!(printed, expected);
    let table = report(row);
    for value in values {
        let value = value.to_string();
        let is_it = |line: &str| line.split_whitespace().next() == Some(&value);
        assert!(table.lines().any(is_it), "{value}: {table}");
    }
}

fn by_batch(row: &Row) {
    along(row, "batch_size", &[16, 32, 64]);
}

fn by_sequence(row: &Row) {
    along(row, "sequence_length", &[4, 8]);
}

fn by_dimension(row: &Row) {
    along(row, "tensor_dimension", &[8, 16]);
}

fn fastest(row: &Row) {
    const SCRIPT: &str = "
layernorm = [r for r in results if r['operation'] == 'LayerNorm']
fastest = min(layernorm, key=lambda r: r['time_ms'])
print('Fastest LayerNorm:', fastest['implementation'])
";
    let time = |it: &&Value| number(it, "time_ms");
    let own = of("LayerNorm").min_by(|a, b| time(a).total_cmp(&time(b))).expect("measured");
    let name = own["implementation"].as_str().expect("a name");
    assert_ne!(name, "Stream", "it computes nothing");
    if let Some(printed) = analyzed(row, SCRIPT) {
        assert_eq!(printed, format!("Fastest LayerNorm: {name}\n"));
    }
    let standings: Vec<&Value> = of("LayerNorm").map(|it| &it[row.code()[0]]).collect();
    let words = ["fastest", "tie"];
    assert!(standings.iter().any(|it| words.iter().any(|word| **it == *word)), "{standings:?}");
}

fn compared(row: &Row) {
    let rust = of("LayerNorm").find(|it| it["variant"] == "rust").expect("measured");
    assert!(number(rust, row.code()[0]) > 0.0);
    assert!(number(rust, "speedup_low") <= number(rust, "speedup_high"));
}

fn optimal(row: &Row) {
    let printed = report(row);
    assert!(printed.contains("layer_norm"), "{printed}");
}

fn visualized(row: &Row) {
    let page = report(row);
    assert!(page.starts_with("<!DOCTYPE html>") || page.starts_with("<!doctype html>"));
    assert!(page.contains("operators/comprehensive/layer_norm"));
}

/// The profiled case.
fn profiled(row: &Row) -> &'static Record {
    let words = words(row, "cargo bench");
    assert_eq!(words[1..4], ["--bench", "operators", "--"]);
    assert!(words[4].starts_with("--profile="), "{words:?}");
    let aten = of("LayerNorm").find(|it| it["variant"] == "aten").expect("measured");
    record(aten)
}

fn profiler(row: &Row) {
    let text = serde_json::to_string(profiled(row)).expect("serialises");
    assert!(text.contains("layer_norm") && text.contains("self_ns"), "{text}");
}

fn recorded(row: &Row) {
    let text = serde_json::to_string(profiled(row)).expect("serialises");
    for key in ["input_bytes", "allocated_bytes"] {
        assert!(text.contains(key), "{key}: {text}");
    }
}

fn named(row: &Row) {
    let folder = row.code()[0].strip_prefix("target/").expect("criterion's parent");
    let aten = of("LayerNorm").find(|it| it["variant"] == "aten").expect("measured");
    let folder = run().lab.path(folder).join(record(aten).case.id.directory());
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    assert!(files.count() > 0, "{folder:?}");
}

/// Without Nsight's library nothing changes: every case of the run is there.
fn nsys(row: &Row) {
    let words = words(row, "nsys profile");
    assert_eq!(words[1..], ["--trace=cuda,nvtx", "cargo", "bench", "--bench", "operators"]);
    let measured = |it: &&Record| it.outcome == Outcome::Measured;
    let skipped = run().all.iter().filter(|it| it["outcome"] == "skipped").count();
    assert_eq!(run().records.iter().filter(measured).count() + skipped, run().records.len());
}

/// A setting of an operator config.
fn settings(text: &str) -> plan::Settings {
    let text =
        format!("benchmark_mode: operators\n{text}\noperator_params: {{ operators: [gelu] }}");
    let config = plan::Config::parse(std::path::Path::new("x.yml"), &text).expect("it has the key");
    let plan = plan::expand(&[config]).expect("it expands");
    plan.cases().next().expect("there are some").settings.clone()
}

fn warm_up(row: &Row) {
    let (part, key) = row.code()[0].split_once('.').expect("a key in a mapping");
    let settings = settings(&format!("{part}: {{ {key}: 0.25 }}"));
    assert_eq!(settings.sampling.warm_up_s, Some(0.25));
}

fn mean(row: &Row) {
    let cases = cases(row);
    assert!(cases.iter().all(|it| it.settings.latency.calls == Some(100)));
    for result in &run().results {
        assert_eq!(result["mean_calls"], 100);
        let latency = record(result).measures.latency.expect("timed");
        near(&result["mean_time_ms"], latency.mean_ns / 1e6);
    }
    let table = run().lab.report(&["operators", "--mean"]);
    assert!(table.contains("  mean") && table.contains("calls"), "{table}");
}

/// The smaller of two sizes, measured later, has the smaller peak.
fn cleared(row: &Row) {
    let peak = |end: &str| {
        let found =
            run().all.iter().find(|it| it["full_id"].as_str().is_some_and(|id| id.ends_with(end)));
        number(found.expect("measured"), row.code()[0])
    };
    assert!(peak("gelu/cpu/rust/f32-16x4x8") < peak("gelu/cpu/rust/f32-32x8x16"));
    let elements = f64::from(16 * 4 * 8);
    assert!(peak("gelu/cpu/rust/f32-16x4x8") <= 4.0 * 4.0 * elements, "its tensors alone");
}

fn synchronized(row: &Row) {
    let text = format!(
        "benchmark_mode: operators\noperator_params: {{ operators: [gelu], {} }}",
        row.code()[0]
    );
    let config = plan::Config::parse(std::path::Path::new("x.yml"), &text).expect("it has the key");
    let plan = plan::expand(&[config]).expect("it expands");
    assert!(plan.cases().all(|case| case.device.as_str() == "cuda"));
}

fn out_of_memory(row: &Row) {
    assert_eq!(works(&cases(row), "operators"), BTreeSet::from(["layer_norm"]));
    assert_eq!(dimension(row, 0), BTreeSet::from([16]));
    assert!(
        row.differs.contains(&format!("`{}`", Outcome::Oom { reason: String::new() }.status()))
    );
}

fn slow(row: &Row) {
    let words = words(row, "cargo criterion-report");
    assert_eq!(words[1], "plan");
    let planned = run().lab.report(&["plan", "configs/operators/comprehensive.yml"]);
    assert!(planned.contains("operators/comprehensive/gelu"), "{planned}");
}

fn extension(row: &Row) {
    assert!(row.refusal().contains("NVRTC"));
}

fn triton_installed(row: &Row) {
    understood(row, "cargo torch-bench");
}
