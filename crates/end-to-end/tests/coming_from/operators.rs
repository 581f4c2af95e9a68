//! Rows of `coming-from/operators.md`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use plan::{Case, Record};
use serde_json::Value;

use crate::document;
use crate::page::{Row, rows};
use crate::suites::{cases, understood, words, works};
use crate::workspace::{TestWorkspace, assert_near};

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
    "sequence lengths to 2048, dimensions from 8 to 512" => all_sizes,
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
    "averaged over 100 runs by default" => mean,
    "GPU memory is cleared between tests" => cleared,
    "CUDA operations are synchronized" => synchronized,
    "out of memory: reduce sizes, test one at a time" => out_of_memory,
    "slow: reduce the parameter ranges" => slow,
    "CUDA extension: `python setup.py build_ext --inplace`" => extension,
    "Triton: `pip install triton`" => triton_installed,
}

/// The results that all rows check: every operation in every implementation at one size, one operation at several
/// sizes, and the file that `criterion-report operators` writes of them. `tests/plugin` runs the command that measures
/// and writes in one, because it builds without optimization.
struct Run {
    workspace: TestWorkspace,
    /// The file's records.
    results: Vec<Value>,
    /// Every case, measured or not, as `--format json` has it.
    all: Vec<Value>,
    records: Vec<Record>,
}

fn run() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| {
        let workspace = TestWorkspace::new();
        let profile = "--profile=/layer_norm/cpu/aten/";
        workspace.bench("operators", &[profile, "^operators/comprehensive/"]);
        let file = workspace.path(document::RESULTS);
        let path = file.to_str().expect("UTF-8");
        let json = ["operators", "--format", "json"];
        workspace
            .report(&[&json[..], &["--latest", "--upstream-compat", "--output", path]].concat());
        let list = |text: &str| -> Vec<Value> { serde_json::from_str(text).expect("a JSON array") };
        let results = list(&std::fs::read_to_string(&file).expect("written"));
        let all = list(&workspace.report(&json));
        let records = workspace.records("new", "operators");
        Run { workspace, results, all, records }
    })
}

fn report(row: &Row) -> String {
    let words = words(row, "cargo criterion-report");
    let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    run().workspace.report(&arguments)
}

fn number(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", of[key]))
}

/// The results of an operation by upstream's name.
fn results_of<'a>(operation: &'a str) -> impl Iterator<Item = &'static Value> + use<'a> {
    run().results.iter().filter(move |it| it["operation"] == operation)
}

fn record(result: &Value) -> &'static Record {
    let found = run().records.iter().find(|it| result["full_id"] == it.full_id.as_str());
    found.expect("its record")
}

/// The values of a dimension, 0 to 2, among the sizes that the row's command measures.
fn dimension(row: &Row, place: usize) -> BTreeSet<u64> {
    dimension_of(&cases(row), place)
}

fn dimension_of(cases: &[Case], place: usize) -> BTreeSet<u64> {
    let sizes = cases.iter().map(|case| {
        let size = case.work.operator().expect("an operator").size;
        [size.batch_size, size.sequence_length, size.tensor_dimension][place]
    });
    sizes.collect()
}

fn script(row: &Row) {
    let cases = cases(row);
    assert!(!cases.is_empty() && cases.iter().all(|case| case.device.as_str() == "cpu"));
}

/// The file that the row's command writes.
fn file(row: &Row) -> PathBuf {
    let words = words(row, "cargo torch-bench").into_iter().map(Into::into).collect();
    let reports = cargo_torch_bench::reports(words);
    let reports = reports.unwrap_or_else(|error| panic!("{}: {error}", row.ours));
    let mut words = reports.iter().flatten().skip_while(|word| *word != "--output").skip(1);
    let file = PathBuf::from(words.next().expect("it writes one"));
    let here = std::env::current_dir().expect("a folder");
    file.strip_prefix(here).expect("beside the user").to_owned()
}

/// By default, too.
fn saved(row: &Row) {
    assert_eq!(file(row), Path::new(document::RESULTS));
    let script = Row::new("operators", "`python benchmarks/comprehensive_benchmark.py`");
    assert_eq!(file(&script), Path::new(document::RESULTS));
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
    assert!(row.promise.contains("'my_results.json'"));
    assert_eq!(file(row), Path::new("my_results.json"));
}

fn function(row: &Row) {
    assert_eq!(file(row), Path::new("specific_test.json"));
    assert_eq!(works(&cases(row), "operators"), BTreeSet::from(["layer_norm", "gelu"]));
}

fn default_sizes(row: &Row) {
    assert_eq!(dimension(row, 0), BTreeSet::from([16, 32, 64]));
    assert_eq!(dimension(row, 1), BTreeSet::from([256, 512, 1024]));
    assert_eq!(dimension(row, 2), BTreeSet::from([32, 64, 128, 256]));
}

/// The document's lists go further than its program's defaults.
fn all_sizes(row: &Row) {
    let file = row.code()[0].strip_prefix("BENCH_CONFIG=").and_then(|it| it.split_once(' '));
    let (file, command) = file.expect("a config and a command");
    assert_eq!(command, "cargo bench --bench operators");
    let text = std::fs::read_to_string(repository().join(file)).expect("it is in the repository");
    let config = plan::Config::parse(Path::new(file), &text).expect("a config");
    let plan = plan::expand(&[config]).expect("it expands");
    let cases: Vec<Case> = plan.cases().cloned().collect();
    assert_eq!(dimension_of(&cases, 0), BTreeSet::from([16, 32, 64, 128]));
    assert_eq!(dimension_of(&cases, 1), BTreeSet::from([256, 512, 1024, 2048]));
    assert_eq!(dimension_of(&cases, 2), BTreeSet::from([8, 16, 32, 64, 128, 256, 512]));
    let works = ["layer_norm", "gelu", "silu", "mse_loss", "cross_entropy"];
    assert_eq!(self::works(&cases, "operators"), BTreeSet::from(works));
}

fn large_sizes(row: &Row) {
    // 50 million where a config says nothing else.
    let config = "benchmark_mode: operators\noperator_params: { operators: [gelu] }";
    let config = plan::Config::parse(Path::new("x.yml"), config).expect("a config");
    let plan = plan::expand(&[config]).expect("it expands");
    let most = |case: &Case| case.work.operator().expect("an operator").max_elements;
    assert!(plan.cases().all(|case| most(case) == 50_000_000));
    let skipped = run().all.iter().find(|it| it["outcome"] == "skipped").expect("64x8x16");
    let reason = skipped["reason"].as_str().expect("a reason");
    let told = format!("{} is 8000", row.code()[0]);
    assert!(reason.contains("8192 elements") && reason.contains(&told), "{reason}");
    assert!(run().results.iter().all(|it| it["full_id"] != skipped["full_id"]));
}

/// The row's operators are measured under upstream's name.
fn measured_as(row: &Row, operations: &[&str]) {
    for (word, operation) in row.code().iter().zip(operations) {
        assert!(results_of(operation).count() > 1, "{operation}");
        assert!(results_of(operation).all(|it| it["operator"] == **word), "{word}");
        assert!(results_of(operation).all(|it| it["outcome"] == "measured"));
    }
}

fn layer_norm(row: &Row) {
    measured_as(row, &["LayerNorm"]);
}

fn gelu(row: &Row) {
    measured_as(row, &["GELU"]);
    assert!(results_of("GELU").all(|it| it["operator"] != "gelu_tanh"));
}

fn swish(row: &Row) {
    measured_as(row, &["Swish"]);
    let composed =
        results_of("Swish").find(|it| it["variant"] == "aten-composed").expect("measured");
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
    let config = plan::Config::parse(Path::new("x.yml"), config).expect("a config");
    let plan = plan::expand(&[config]).expect("it expands");
    let word = row.code()[0];
    let own = plan.cases().find(|case| case.id.variant == word).expect("it is planned");
    let work = own.work.operator().expect("an operator");
    assert_eq!(work.implementation.upstream(), implementation);
}

fn cuda(row: &Row) {
    on_cuda(row, "CUDA");
    assert!(results_of("LayerNorm").any(|it| it["implementation"] == "Rust"));
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
        let median = run().workspace.median_ns(&record(result).case, "new").expect("measured");
        assert_near(&result[row.code()[0]], median / 1e6);
        assert!(number(result, "mean_time_ms") > 0.0);
    }
}

fn memory_mb(row: &Row) {
    for result in &run().results {
        let memory = record(result).measures.memory.expect("counted");
        assert_near(&result[row.code()[0]], memory.peak_bytes() as f64 / f64::from(1 << 20));
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
        assert_near(&result[row.code()[0]], estimate);
        let own = run().all.iter().find(|it| it["full_id"] == result["full_id"]).expect("there");
        assert_eq!(result["share_of_limit"], own["gpu_efficiency"], "ours without the option");
    }
}

/// By hand: x and y of 16·4·8 elements of 4 bytes.
fn throughput(row: &Row) {
    let gelu = results_of("GELU").find(|it| it["size"] == "16x4x8").expect("measured");
    assert_near(
        &gelu[row.code()[0]],
        f64::from(2 * 4 * 16 * 4 * 8) / 1e6 / number(gelu, "time_ms"),
    );
}

fn tables(row: &Row) {
    let printed = report(row);
    for text in ["operators/comprehensive/layer_norm/cpu", "aten-composed"] {
        assert!(printed.contains(text), "{text}: {printed}");
    }
    // The row says which columns stand for the document's.
    for column in ["time", "speed-up", "GB/s", "of limit", "peak MiB", "gate"] {
        let is_heading = |line: &str| line.split("  ").any(|cell| cell.trim() == column);
        let is_named = row.differs.contains(&format!("`{column}`")) || column == "time";
        assert!(printed.lines().any(is_heading) && is_named, "{column}: {printed}");
    }
}

/// The document's first script, which loads the file. It names the implementations of a GPU: as the row says, a file of
/// a CPU has others.
fn loading(names: &[&str]) -> String {
    let script = document::block("### Using Python");
    let list = "['PyTorch', 'CUDA', 'Triton']";
    assert!(script.contains(list), "{script}");
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    script.replace(list, &format!("[{}]", quoted.join(", ")))
}

fn analyzed(script: &str) -> Option<String> {
    document::python(script, &run().workspace.path(""))
}

/// The mean time of some results, in milliseconds.
fn mean_ms<'a>(results: impl Iterator<Item = &'a Value>) -> f64 {
    let times: Vec<f64> = results.map(|it| number(it, "time_ms")).collect();
    assert!(!times.is_empty());
    times.iter().sum::<f64>() / times.len() as f64
}

fn by_operation(row: &Row) {
    assert_eq!(row.code(), [document::RESULTS]);
    let script = loading(&["PyTorch"]) + "print(len(layernorm_results))\n";
    let Some(printed) = analyzed(&script) else { return };
    assert_eq!(printed.lines().last(), Some(results_of("LayerNorm").count().to_string().as_str()));
}

fn averages(row: &Row) {
    assert_eq!(row.code()[0], document::RESULTS);
    let Some(printed) = analyzed(&loading(&["PyTorch", "Rust"])) else { return };
    let expected = ["PyTorch", "Rust"].map(|name| {
        let own = results_of("LayerNorm").filter(|it| it["implementation"] == name);
        format!("{name} average time: {:.3} ms\n", mean_ms(own))
    });
    assert_eq!(printed, expected.concat());
}

/// The results with a value of a key.
fn results_with<'a>(key: &'a str, value: u64) -> impl Iterator<Item = &'static Value> + use<'a> {
    run().results.iter().filter(move |it| it[key] == value)
}

/// The document's script below a heading, which makes a list `<word>_<value>` for each value: what it prints, then how
/// many results each list has. The table of the row's command has a line for each value, too.
fn along(row: &Row, heading: &str, word: &str, key: &str, values: [u64; 3]) -> Option<String> {
    let lists = values.map(|value| format!("len({word}_{value})")).join(", ");
    let script = loading(&[]) + &document::block(heading) + &format!("print({lists})\n");
    let printed = analyzed(&script)?;
    let counts = values.map(|value| results_with(key, value).count());
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let (printed, last) = printed.trim_end().rsplit_once('\n').unwrap_or(("", printed.trim_end()));
    assert_eq!(last, counts.map(|count| count.to_string()).join(" "));
    let table = report(row);
    for value in values {
        let value = value.to_string();
        let is_it = |line: &str| line.split_whitespace().next() == Some(&value);
        assert!(table.lines().any(is_it), "{value}: {table}");
    }
    Some(printed.to_owned())
}

fn by_batch(row: &Row) {
    let sizes = [16, 32, 64];
    let printed = along(row, "### By Batch Size", "batch", "batch_size", sizes);
    let Some(printed) = printed else { return };
    let expected = sizes
        .map(|size| format!("Batch {size}: {:.3} ms", mean_ms(results_with("batch_size", size))));
    assert_eq!(printed, expected.join("\n"));
}

fn by_sequence(row: &Row) {
    along(row, "### By Sequence Length", "seq", "sequence_length", [256, 512, 1024]);
}

fn by_dimension(row: &Row) {
    along(row, "### By Tensor Dimension", "dim", "tensor_dimension", [128, 256, 512]);
}

fn fastest(row: &Row) {
    let time = |it: &&Value| number(it, "time_ms");
    let own = results_of("LayerNorm").min_by(|a, b| time(a).total_cmp(&time(b))).expect("measured");
    let name = own["implementation"].as_str().expect("a name");
    assert_ne!(name, "Stream", "it computes nothing");
    if let Some(printed) = document::workflow(&run().workspace.path("")) {
        assert_eq!(printed, format!("Fastest LayerNorm: {name} ({:.3} ms)\n", time(&own)));
    }
    let standings: Vec<&Value> = results_of("LayerNorm").map(|it| &it[row.code()[0]]).collect();
    let words = ["fastest", "tie"];
    assert!(standings.iter().any(|it| words.iter().any(|word| **it == *word)), "{standings:?}");
}

fn compared(row: &Row) {
    let rust = results_of("LayerNorm").find(|it| it["variant"] == "rust").expect("measured");
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
    let aten = results_of("LayerNorm").find(|it| it["variant"] == "aten").expect("measured");
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
    let aten = results_of("LayerNorm").find(|it| it["variant"] == "aten").expect("measured");
    let folder = run().workspace.path(folder).join(record(aten).case.id.directory());
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    assert!(files.count() > 0, "{folder:?}");
}

fn nsys(row: &Row) {
    let words = words(row, "nsys profile");
    assert_eq!(words[1..], ["--trace=cuda,nvtx", "cargo", "bench", "--bench", "operators"]);
    // The harness tells a profiler of every bench target's cases alike.
    crate::gpu::nsight_is_told_of_every_part_and_of_nothing_inside_a_timed_sample();
}

/// A setting of an operator config.
fn settings(text: &str) -> plan::Settings {
    let text =
        format!("benchmark_mode: operators\n{text}\noperator_params: {{ operators: [gelu] }}");
    let config = plan::Config::parse(Path::new("x.yml"), &text).expect("it has the key");
    let plan = plan::expand(&[config]).expect("it expands");
    plan.cases().next().expect("there are some").settings.clone()
}

fn warm_up(row: &Row) {
    let (part, key) = row.code()[0].split_once('.').expect("a key in a mapping");
    let settings = settings(&format!("{part}: {{ {key}: 0.25 }}"));
    assert_eq!(settings.sampling.warm_up_s, Some(0.25));
}

fn mean(row: &Row) {
    assert!(row.differs.starts_with("on request"), "{}", row.differs);
    let plain = Row::new("operators", "default sizes of the script");
    assert!(self::cases(&plain).iter().all(|it| it.settings.latency.calls.is_none()));
    let cases = cases(row);
    assert!(cases.iter().all(|it| it.settings.latency.calls == Some(100)));
    for result in &run().results {
        assert_eq!(result["mean_calls"], 100);
        let latency = record(result).measures.latency.expect("timed");
        assert_near(&result["mean_time_ms"], latency.mean_ns / 1e6);
    }
    let table = run().workspace.report(&["operators", "--mean"]);
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
    let config = plan::Config::parse(Path::new("x.yml"), &text).expect("it has the key");
    let plan = plan::expand(&[config]).expect("it expands");
    assert!(plan.cases().all(|case| case.device.as_str() == "cuda"));
}

fn out_of_memory(row: &Row) {
    assert_eq!(works(&cases(row), "operators"), BTreeSet::from(["layer_norm"]));
    assert_eq!(dimension(row, 0), BTreeSet::from([16]));
    // The run continued after a size of this operation that no machine has memory for.
    let enormous = run().all.iter().find(|it| it["sequence_length"] == 1 << 24);
    let enormous = enormous.expect("it has a record");
    let word = enormous["outcome"].as_str().expect("an outcome");
    assert!(row.differs.contains(&format!("`{word}`")), "{enormous}");
    let reason = enormous["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("needs about ") && reason.ends_with(" available"), "{reason}");
    let place = |id: &Value| run().records.iter().position(|it| *id == it.full_id.as_str());
    let last = run().results.iter().filter_map(|it| place(&it["full_id"])).max();
    assert!(place(&enormous["full_id"]).expect("its record") < last.expect("measured ones"));
}

/// The repository, whose configs rows name.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn slow(row: &Row) {
    let mut report = Command::new(env!("CARGO_BIN_EXE_report"));
    report.args(&words(row, "cargo criterion-report")[1..]).current_dir(repository());
    // Nothing is learnt from earlier runs.
    report.env("CRITERION_HOME", run().workspace.path("none/criterion"));
    let output = report.output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let planned = String::from_utf8(output.stdout).expect("UTF-8");
    let last = planned.lines().find(|line| line.contains(" to measure")).expect("a total");
    let (cases, time) = last.split_once("; about ").expect("a time");
    assert!(cases.starts_with(|it: char| ('1'..='9').contains(&it)), "{last}");
    assert!(time.starts_with(|it: char| ('1'..='9').contains(&it)), "{last}");
}

fn extension(row: &Row) {
    assert!(row.refusal().contains("NVRTC"));
}

fn triton_installed(row: &Row) {
    understood(row, "cargo torch-bench");
}
