//! Rows of `coming-from/graphs.md`.

#[path = "../common/patches.rs"]
mod patches;
mod run;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use criterion_report::fusion::{Family, PatternResults, pattern_results};
use plan::{Case, Outcome};
use serde_json::Value;

use crate::gpu;
use crate::page::{Row, rows};
use crate::suites::{cases, python, understood, words, works};
use crate::workspace::{TestWorkspace, assert_near};
use run::{HERE, calibrated, json, profiled, read, run};

rows! { "graphs";
    "`matmul_bench.py`" => matrix_products,
    "`memory_bandwidth_bench.py`" => memory_bandwidth,
    "`python fused_linear_bench.py`" => linear_alone,
    "`python fused_conv_bench.py`" => conv_alone,
    "`python fused_attention_bench.py`" => attention_alone,
    "`--quick`" => quick,
    "`--device cuda`" => device,
    "`calibrator --hardware … --output FILE`" => calibrator,
    "`--peak-gflops 1000 --peak-bandwidth 50`" => given_peaks,
    "`--fusion-patterns all`" => fusion_patterns,
    "run standard calibration, run all fusion benchmarks" => everything,
    "store the results in the calibration JSON" => stored,
    "print a summary with fusion verdicts" => summary,
    "test all fusion benchmarks with `--quick`" => tests_of_benchmarks,
    "`calibrate_linear_fusion_patterns(quick=True)`" => linear_function,
    "`calibrate_conv_fusion_patterns(quick=True)`" => conv_function,
    "`calibrate_attention_fusion_patterns(quick=True)`" => attention_function,
    "`result['fusion_pattern']`, `['speedup_factor']`, `['memory_reduction']`" => dictionaries,
    "`get_fusion_speedup(pattern)` on the profile" => lookup,
    "Linear + Bias with `torch.addmm`" => linear_bias,
    "Linear + Bias + ReLU" => linear_bias_relu,
    "Linear + Bias + GELU" => linear_bias_gelu,
    "Conv2d + ReLU" => conv_relu,
    "Conv2d + BatchNorm" => conv_bn,
    "Conv2d + BatchNorm + ReLU" => conv_bn_relu,
    "`Q @ K.T`" => scores,
    "`Q @ K.T` + Softmax" => softmax,
    "Softmax(`Q @ K.T` / sqrt(d)) @ V" => attention,
    "BatchNorm folding" => folding,
    "`F.scaled_dot_product_attention` where available" => sdpa,
    "manual fusion for older PyTorch versions" => older_versions,
    "`torch.jit.script` around the fused form" => torchscript,
    "quick and full sizes" => sizes,
    "unfused baseline: operations run separately" => unfused,
    "`num_warmup=10`, `num_trials=100`" => sampling,
    "latency in ms" => latency,
    "GFLOPS" => gflops,
    "memory traffic in bytes" => bytes,
    "speedup = unfused_time / fused_time" => speedup,
    "memory reduction = 1 - fused_bytes / unfused_bytes" => memory_reduction,
    "GFLOPS improvement" => gflops_improvement,
    "result dictionary: shape, flops, `extra_params`" => dictionary,
    "`torch.cuda.synchronize()`" => synchronized,
    "baseline GFLOPS, bandwidth and efficiency" => baseline,
    "results per pattern: speedup, memory reduction" => table,
    "finding: how much fusion gains on this CPU" => finding,
    "fusion strategy: fuse, conditionally fuse, avoid" => strategy,
    "expected GPU speedup 2-5×" => expected,
    "for GPU (future): fuse everything" => gpu,
    "test calibrator integration: `--hardware TestCPU`, all patterns, `--quick`" => integration,
    "adding a fusion pattern" => new_pattern,
    "add it to `calibrate_*_fusion_patterns()`" => families,
    "adding GPU support: cuDNN, cuBLAS" => gpu_support,
    "test on both CPU and GPU" => both_devices,
    "design documents" => design,
}

/// The measured result of a variant of a pattern by upstream's name.
fn result(pattern: &str, variant: &str) -> &'static Value {
    let found = run().results.iter().find(|it| {
        (&it["fusion_pattern"], &it["variant"]) == (&pattern.into(), &variant.into())
            && it["outcome"] == "measured"
    });
    found.unwrap_or_else(|| panic!("{pattern} {variant} is not measured"))
}

fn number(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", of[key]))
}

const LINEAR: [&str; 3] = ["linear_bias", "linear_bias_relu", "linear_bias_gelu"];
const CONV: [&str; 3] = ["conv2d_relu", "conv2d_bn", "conv2d_bn_relu"];
const ATTENTION: [&str; 3] = ["qk_scores", "qk_softmax", "full_attention"];

fn patterns(row: &Row, expected: &[[&str; 3]]) -> Vec<Case> {
    let cases = cases(row);
    let expected: BTreeSet<&str> = expected.concat().into_iter().collect();
    assert_eq!(works(&cases, "fusion"), expected, "{}", row.ours);
    cases
}

fn matrix_products(row: &Row) {
    let cases = cases(row);
    let probes = works(&cases, "calibration");
    assert!(probes.is_superset(&BTreeSet::from(["matmul", "matmul_onednn"])), "{probes:?}");
    let profiles = run().profile["operation_profiles"].as_object().expect("an object");
    let products = profiles.iter().filter(|(key, _)| key.starts_with("matmul_"));
    let products: Vec<_> = products.map(|(_, it)| number(it, "measured_gflops")).collect();
    assert!(!products.is_empty() && products.iter().all(|gflops| *gflops > 0.0));
}

/// `end_to_end::calibration` measures them: a step goes over half a gigabyte.
fn memory_bandwidth(row: &Row) {
    let cases = cases(row);
    let streams = BTreeSet::from(["copy", "scale", "add", "triad"]);
    assert_eq!(works(&cases, "calibration"), streams);
    for stream in streams {
        let own = cases.iter().filter_map(|case| case.work.probe());
        let sizes = own.filter(|work| work.probe.as_str() == stream).map(|work| work.size);
        let sizes: BTreeSet<u64> = sizes.collect();
        // Three arrays fit into a first cache of 32 KiB; a gigabyte is beyond all caches.
        assert!(sizes.first() <= Some(&(10 << 10)), "{stream}: {sizes:?}");
        assert!(sizes.last() >= Some(&(1 << 30)), "{stream}: {sizes:?}");
        assert!(sizes.len() >= 8, "{stream}: {sizes:?}");
    }
}

fn linear_alone(row: &Row) {
    let cases = patterns(row, &[LINEAR]);
    assert!(works(&cases, "calibration").contains("matmul"), "efficiencies need peaks");
}

fn conv_alone(row: &Row) {
    patterns(row, &[CONV]);
}

/// The command itself, at its quick sizes: the configs that it writes are measured and reported as it does.
fn attention_alone(row: &Row) {
    patterns(row, &[ATTENTION]);
    let profile = calibrated();
    assert_eq!(profile["metadata"]["hardware_name"], "tiny");
    let fusions = profile["fusion_profiles"].as_object().expect("an object");
    for pattern in ["QK_AttentionScores", "QK_Softmax", "FullAttention_SDPA"] {
        let of_pattern = fusions.iter().filter(|(_, it)| it["fusion_pattern"] == pattern);
        assert_eq!(
            of_pattern.count(),
            2 + 1,
            "two sizes, and the largest by its name: {pattern} of {fusions:#?}"
        );
        assert!(number(&fusions[pattern], "speedup_factor") > 0.0);
    }
    assert_eq!(fusions.len(), 3 * 3);
    assert_eq!(profile["call_overheads"].as_array().expect("a list").len(), 1);
}

fn quick(row: &Row) {
    let cases = patterns(row, &[LINEAR, CONV, ATTENTION]);
    let of = |size: &str| cases.iter().any(|case| case.id.parameter.contains(size));
    assert!(of("512x1024x1024") && !of("1024x2048x2048"), "the first two sizes");
}

fn device(row: &Row) {
    let cases = patterns(row, &[LINEAR, CONV, ATTENTION]);
    assert!(cases.iter().all(|case| case.device.as_str() == "cuda"));
    assert!(works(&cases, "calibration").contains("launch"));
}

fn calibrator(row: &Row) {
    assert!(!cases(row).is_empty());
    let metadata = &run().profile["metadata"];
    assert_eq!(metadata["hardware_name"], "i7-12700K");
    assert!(run().file.ends_with("profiles/i7_12700k_fusion.json"));
}

fn given_peaks(row: &Row) {
    assert!(!cases(row).is_empty());
    let run = run();
    assert_eq!(run.profile["peak_source"]["gflops"], "measured");
    let mut line = words(row, "cargo torch-bench");
    line.extend(["--output", "given.json"].map(str::to_owned));
    let given = read(&profiled(&run.workspace, &line, HERE).0);
    assert_eq!(given["peak_source"], json(r#"{"gflops": "given", "bandwidth": "given"}"#));
    assert_near(&given["theoretical_peak_gflops"], 1000.0);
    assert_near(&given["theoretical_bandwidth_gbps"], 50.0);
    let peak = line.iter_mut().find(|word| *word == "1000").expect("it is given");
    "0.000001".clone_into(peak);
    let given = read(&profiled(&run.workspace, &line, HERE).0);
    let notes = given["notes"].as_array().expect("a list").iter();
    let told = notes.filter_map(Value::as_str).any(|note| note.contains("below what was measured"));
    assert!(told, "{}", given["notes"]);
}

fn fusion_patterns(row: &Row) {
    patterns(row, &[LINEAR, CONV, ATTENTION]);
    let line = ["torch-bench", "calibrate", "--hardware", "x", "--fusion-patterns", "mlp"];
    let error =
        cargo_torch_bench::check::<cargo_torch_bench::cli::Cli>(line.map(Into::into).to_vec())
            .expect_err("refused");
    assert!(error.to_string().contains("linear, conv, attention, all"), "{error}");
}

fn everything(row: &Row) {
    let cases = patterns(row, &[LINEAR, CONV, ATTENTION]);
    let probes = works(&cases, "calibration");
    assert!(probes.contains("matmul") && probes.contains("copy"), "{probes:?}");
}

fn stored(row: &Row) {
    let profiles = run().profile[row.code()[0]].as_object().expect("an object");
    let patterns: BTreeSet<&str> =
        profiles.values().map(|it| it["fusion_pattern"].as_str().expect("a name")).collect();
    assert_eq!(patterns.len(), 9, "{patterns:?}");
}

fn report(row: &Row) -> String {
    let words = words(row, "cargo criterion-report");
    let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    run().workspace.report(&arguments)
}

fn summary(row: &Row) {
    let printed = report(row);
    for text in ["Fusion Pattern Performance (", "benefit", "Linear_Bias_ReLU (mm, add, relu)"] {
        assert!(printed.contains(text), "{text}: {printed}");
    }
    assert!(run().summary.contains("i7-12700K"));
}

fn tests_of_benchmarks(row: &Row) {
    let words = words(row, "cargo bench");
    assert_eq!(words[1..], ["--bench", "fusion", "--", "--test"]);
    let said = TestWorkspace::new().bench("fusion", &["--test", "^fusion/graphs/conv2d_bn/"]);
    assert!(said.contains("fusion/graphs/conv2d_bn/cpu/fused/"), "{said}");
}

fn function(row: &Row, word: &str, family: Family) -> PatternResults {
    assert_eq!(row.code(), ["criterion_report::fusion::pattern_results", word]);
    let criterion = run().workspace.path("criterion");
    let found = pattern_results(&criterion, &[family]).expect("readable");
    for result in &found.results {
        let written = run().results.iter().find(|it| it["full_id"] == result.full_id.as_str());
        assert_eq!(&serde_json::to_value(result).expect("serialises"), written.expect("there"));
    }
    found
}

fn linear_function(row: &Row) {
    let found = function(row, "Family::Linear", Family::Linear);
    // Three patterns in two sizes each, and the `addmm` variant of two of the patterns.
    assert_eq!(found.results.len(), 10);
    let refused: Vec<_> = found.unmeasured.iter().map(|it| it.full_id.as_str()).collect();
    let variants = ["/torchscript/", "/linear_bias/cpu/addmm/"];
    let is_one = |id: &&str| variants.iter().any(|variant| id.contains(variant));
    assert!(refused.iter().all(is_one), "{refused:?}");
}

fn conv_function(row: &Row) {
    let found = function(row, "Family::Conv", Family::Conv);
    assert_eq!(found.results.len(), 4);
    assert!(found.unmeasured.iter().all(|it| it.full_id.contains("/folded/")));
}

fn attention_function(row: &Row) {
    let found = function(row, "Family::Attention", Family::Attention);
    assert_eq!(found.results.len(), 4);
}

fn dictionaries(row: &Row) {
    let document = json(&report(row));
    let results = document["results"].as_array().expect("a list").clone();
    for key in ["fusion_pattern", "speedup_factor", "memory_reduction"] {
        assert!(results.iter().all(|it| it.get(key).is_some()), "{key}");
    }
}

/// Upstream's method returns the entry under the name, or its default of 1.
fn lookup(row: &Row) {
    const SCRIPT: &str = "
import json, sys
profiles = json.load(open(sys.argv[1]))['fusion_profiles']
def speedup(pattern, default=1.0):
    found = profiles.get(pattern)
    return found['speedup_factor'] if found else default
print(speedup('Linear_Bias_ReLU'), speedup('Linear_Dropout'))
";
    assert_eq!(row.code(), [r#"fusion_profiles["Linear_Bias_ReLU"]"#]);
    let profiles = &run().profile["fusion_profiles"];
    let largest =
        "Linear_Bias_ReLU_device=cpu_dtype=float32_shape=16x64x32_threads=1_variant=fused";
    assert_eq!(profiles["Linear_Bias_ReLU"], profiles[largest]);
    let Some(printed) = python(SCRIPT, &run().file) else { return };
    let speedups: Vec<f64> =
        printed.split_whitespace().map(|it| it.parse().expect("a number")).collect();
    assert_eq!(speedups, [number(&profiles[largest], "speedup_factor"), 1.0]);
}

/// The pattern of the row, measured in a variant under upstream's name.
fn pattern(row: &Row, upstream: &str, variant: &str) -> &'static Value {
    let result = result(upstream, variant);
    assert_eq!(result["pattern"], row.code()[0]);
    assert!(number(result, "speedup_factor") > 0.0);
    result
}

fn kernels(result: &Value) -> Vec<&str> {
    let kernels = result["fused_kernels"].as_array().expect("a list");
    kernels.iter().filter_map(Value::as_str).collect()
}

fn linear_bias(row: &Row) {
    assert_eq!(kernels(pattern(row, "Linear_Bias", "fused")), ["aten::addmm"]);
}

fn linear_bias_relu(row: &Row) {
    let fused = kernels(pattern(row, "Linear_Bias_ReLU", "fused"));
    assert_eq!(fused, ["aten::addmm", "aten::relu_"], "on the CPU");
    assert_eq!(kernels(pattern(row, "Linear_Bias_ReLU", "addmm")).len(), 2);
}

fn linear_bias_gelu(row: &Row) {
    pattern(row, "Linear_Bias_GELU", "fused");
    assert_eq!(kernels(pattern(row, "Linear_Bias_GELU", "addmm")).len(), 2);
}

fn conv_relu(row: &Row) {
    let fused = pattern(row, "Conv2d_ReLU", "fused");
    assert_ne!(fused["fused_kernels"], fused["unfused_kernels"], "not the same code twice");
}

fn conv_bn(row: &Row) {
    assert_eq!(kernels(pattern(row, "Conv2d_BN", "fused")).len(), 1);
}

fn conv_bn_relu(row: &Row) {
    let [fused, folded] = ["fused", "folded"].map(|it| pattern(row, "Conv2d_BN_ReLU", it));
    assert_eq!((kernels(fused).len(), kernels(folded).len()), (1, 2));
}

fn scores(row: &Row) {
    pattern(row, "QK_AttentionScores", "fused");
}

fn softmax(row: &Row) {
    pattern(row, "QK_Softmax", "fused");
}

fn attention(row: &Row) {
    pattern(row, "FullAttention_SDPA", "fused");
}

/// The mean and variance must differ from 0 and 1; otherwise a fold that does nothing would pass.
fn folding(row: &Row) {
    let folded = pattern(row, "Conv2d_BN", "fused");
    let checked = &folded["fused_accuracy"];
    assert!(checked["rows_checked"].as_u64() > Some(0), "{checked}");
    assert!(number(checked, "sqnr_db") > 60.0, "{checked}");
}

fn sdpa(row: &Row) {
    let [fused, flat] = ["fused", "sdpa-3d"].map(|it| pattern(row, "FullAttention_SDPA", it));
    let name = |result| kernels(result).concat();
    assert!(name(fused).contains("scaled_dot_product_flash_attention"), "{fused}");
    assert!(!name(flat).contains("flash"), "{flat}");
    assert_eq!((&fused["fuses"], &flat["fuses"]), (&true.into(), &false.into()));
}

fn older_versions(row: &Row) {
    assert!(row.refusal().contains("libtorch 2.11"));
    let environment = &run().profile["environment"]["torch"]["libtorch"];
    assert!(environment.as_str().is_some_and(|it| it.starts_with("2.11.")), "{environment}");
}

fn torchscript(row: &Row) {
    let word = row.code()[0];
    let of_word = run().records.iter().filter(|it| it.case.id.variant == word);
    let outcomes: Vec<&Outcome> = of_word.map(|it| &it.outcome).collect();
    assert!(!outcomes.is_empty());
    for outcome in outcomes {
        let reason = outcome.reason().unwrap_or_default();
        assert!(matches!(outcome, Outcome::Unsupported { .. }), "{outcome:?}");
        assert!(reason.contains("unfused"), "{reason}");
    }
}

fn sizes(row: &Row) {
    let of = |cases: &[Case], pattern: &str| -> BTreeSet<String> {
        let own = cases.iter().filter(|case| case.id.group.contains(&format!("/{pattern}/")));
        own.map(|case| case.id.parameter.trim_start_matches("f32-").to_owned()).collect()
    };
    let quick = cases(row);
    let full = cases(&Row {
        ours: row.ours.replace("--quick ", ""),
        promise: row.promise.clone(),
        differs: row.differs.clone(),
    });
    for (pattern, sizes) in [
        ("linear_bias", ["128x512x512", "512x1024x1024", "1024x2048x2048"]),
        ("conv2d_bn", ["1x64x64x56", "4x128x128x28", "8x256x256x14"]),
        ("qk_scores", ["1x128x64", "4x256x64", "8x512x64"]),
    ] {
        let sizes = sizes.map(str::to_owned);
        assert_eq!(of(&full, pattern), BTreeSet::from(sizes.clone()));
        assert_eq!(of(&quick, pattern), sizes[..2].iter().cloned().collect());
    }
}

fn unfused(row: &Row) {
    let word = row.code()[0];
    let of_word: Vec<_> = run().records.iter().filter(|it| it.case.id.variant == word).collect();
    assert!(of_word.len() >= 9 && of_word.iter().all(|it| it.kernels.len() >= 2));
}

fn sampling(row: &Row) {
    let config = format!(
        "benchmark_mode: fusion\n{}: {{ samples: 100 }}\nfusion_params: {{ patterns: [linear] }}",
        row.code()[0]
    );
    let config = plan::Config::parse(Path::new("x.yml"), &config).expect("it has the key");
    let plan = plan::expand(&[config]).expect("it expands");
    assert!(plan.cases().all(|case| case.settings.sampling.samples == Some(100)));
}

/// Each of the row's keys is a positive number of every measured result.
fn keys(row: &Row) {
    let measured = run().results.iter().filter(|it| it["outcome"] == "measured");
    for result in measured {
        for key in row.code() {
            let upstreams = !key.ends_with("_bytes") || !result[key].is_null();
            assert!(!upstreams || number(result, key) > 0.0, "{key}: {result}");
        }
    }
}

fn latency(row: &Row) {
    keys(row);
    let fused = result("Linear_Bias", "fused");
    let record = run().records.iter().find(|it| fused["full_id"] == it.full_id.as_str());
    let median =
        run().workspace.median_ns(&record.expect("its record").case, "new").expect("measured");
    assert_near(&fused["fused_latency_ms"], median / 1e6);
}

fn gflops(row: &Row) {
    keys(row);
    let fused = result("Linear_Bias", "fused");
    assert_near(
        &fused["fused_gflops"],
        number(fused, "flops") / number(fused, "fused_latency_ms") / 1e6,
    );
}

/// By hand: M = 8, K = 32, N = 16, or 16, 64, 32; MK + NK + 3MN + N and MK + NK + N + MN elements of 4 bytes.
fn bytes(row: &Row) {
    keys(row);
    let fused = result("Linear_Bias", "fused");
    let shape: Vec<u64> =
        fused["input_shape"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
    let [m, k, n] = shape[..] else { panic!("{shape:?}") };
    let weights = m * k + n * k + n;
    assert_eq!(fused["unfused_bytes"], 4 * (weights + 3 * m * n));
    assert_eq!(fused["fused_bytes"], 4 * (weights + m * n));
    assert!(
        fused["fused_consistent_bytes"].is_u64() && fused["fused_peak_allocation_bytes"].is_u64()
    );
}

fn speedup(row: &Row) {
    keys(row);
    let fused = result("Linear_Bias", "fused");
    let record = run().records.iter().find(|it| fused["full_id"] == it.full_id.as_str());
    assert_near(&fused[row.code()[0]], record.expect("its record").pairs[0].speedup);
}

fn memory_reduction(row: &Row) {
    let fused = result("Conv2d_BN_ReLU", "fused");
    let share = number(fused, "fused_bytes") / number(fused, "unfused_bytes");
    assert_near(&fused[row.code()[0]], 1.0 - share);
}

fn gflops_improvement(row: &Row) {
    let fused = result("QK_Softmax", "fused");
    assert_near(&fused[row.code()[0]], number(fused, "speedup_factor") - 1.0);
}

fn dictionary(row: &Row) {
    let fused = result("Conv2d_BN", "fused");
    assert_eq!(row.code(), ["input_shape", "flops", "extra_params"]);
    assert_eq!(fused["input_shape"], json("[1, 4, 10, 10]"));
    // 2·3²·4·8·10² of the convolution, 2·8·10² of the normalization.
    assert_eq!(fused["flops"], 2 * 9 * 4 * 8 * 100 + 2 * 8 * 100);
    assert_eq!(fused["extra_params"]["o"], 8);
    assert_eq!(fused["kernel_size"], 3);
}

/// The CUDA cases of a config that contains only what the row says.
fn on_cuda(row: &Row) -> Vec<Case> {
    let config =
        format!("benchmark_mode: fusion\nfusion_params: {{ patterns: [all], {} }}", row.code()[0]);
    let config = plan::Config::parse(Path::new("x.yml"), &config).expect("it has the key");
    plan::expand(&[config]).expect("it expands").cases().cloned().collect()
}

fn synchronized(row: &Row) {
    let cases = on_cuda(row);
    assert!(!cases.is_empty() && cases.iter().all(|case| case.device.as_str() == "cuda"));
    // Two events on the stream, and the host's clock until the device was done.
    for record in gpu::measured_patterns() {
        let clocks = &record["measures"]["clocks"];
        assert!(number(clocks, "device_ns") > 0.0, "{record}");
        assert!(number(clocks, "host_ns") >= number(clocks, "queue_ns"), "{record}");
    }
}

fn baseline(row: &Row) {
    let profiles = run().profile["operation_profiles"].as_object().expect("an object");
    let product = profiles.iter().find(|(key, _)| key.starts_with("matmul_")).expect("measured").1;
    assert_eq!(row.code().len(), 3);
    assert!(row.code().iter().all(|key| number(product, key) > 0.0), "{product}");
}

fn table(row: &Row) {
    let printed = report(row);
    for text in ["speed-up", "full_attention", "sdpa-3d", "fused"] {
        assert!(printed.contains(text), "{text}: {printed}");
    }
}

fn finding(row: &Row) {
    let printed = report(row);
    assert!(printed.contains("Fusion Pattern Performance ("), "{printed}");
    assert!(printed.contains('['), "intervals: {printed}");
}

fn strategy(row: &Row) {
    let strategy = run().profile[row.code()[0]].as_array().expect("a list");
    assert_eq!(strategy.len(), 9);
    let words = ["fuse", "fuse_conditionally", "indifferent", "avoid", "inconclusive"];
    for advice in strategy {
        let word = advice["advice"].as_str().expect("a word").replace([' ', '-'], "_");
        assert!(words.contains(&&*word), "{advice}");
    }
    assert!(run().summary.contains("Fusion Strategy:"));
}

fn expected(row: &Row) {
    assert!(row.refusal().contains("--device cuda"));
    assert!(!run().summary.to_lowercase().contains("expected"), "{}", run().summary);
}

fn gpu(row: &Row) {
    let cases = patterns(row, &[LINEAR, CONV, ATTENTION]);
    assert!(cases.iter().all(|case| case.device.as_str() == "cuda"));
}

/// A page of the book that a row links to.
fn linked(row: &Row) -> PathBuf {
    let link = row.ours.split(['(', ')']).nth(1).expect("a link");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src/coming-from");
    here.join(link)
}

fn integration(row: &Row) {
    let cases = patterns(row, &[LINEAR, CONV, ATTENTION]);
    assert!(cases.iter().all(|case| !case.id.parameter.contains("1024x2048x2048")), "quick sizes");
    let (file, summary) = profiled(&run().workspace, &words(row, "cargo torch-bench"), HERE);
    assert!(file.ends_with("profiles/test.json"), "{file:?}");
    let profile = read(&file);
    assert_eq!(profile["metadata"]["hardware_name"], "TestCPU");
    assert_near(&profile["theoretical_peak_gflops"], 1000.0);
    assert_near(&profile["theoretical_bandwidth_gbps"], 50.0);
    // Efficiencies are of the peak that was given, and all else is the same.
    let fusions = |profile: &Value| -> Vec<String> {
        profile["fusion_profiles"].as_object().expect("an object").keys().cloned().collect()
    };
    assert_eq!(fusions(&profile), fusions(&run().profile));
    assert!(summary.contains("TestCPU") && summary.contains("Fusion Strategy:"), "{summary}");
}

/// `tests/additions.rs` makes this addition, and measures the new pattern.
fn new_pattern(row: &Row) {
    let page = std::fs::read_to_string(linked(row)).expect("readable");
    let applied = patches::patches();
    let shown = ["pattern-word.patch", "pattern.patch"];
    for patch in shown {
        assert!(page.contains(&format!("{{{{#include patches/{patch}}}}}")), "{patch}");
        assert!(applied.contains_key(patch), "{patch} is not applied: {applied:?}");
    }
    let added = shown.map(|patch| std::fs::read_to_string(&applied[patch]).expect("readable"));
    let measured = "linear_bias_silu";
    assert!(added.concat().contains(measured), "{added:?}");
    assert!(include_str!("../additions.rs").contains(&format!("patterns: [{measured}]")));
}

fn families(row: &Row) {
    let config = format!("benchmark_mode: fusion\nfusion_params: {{ {} }}", row.code()[0]);
    let config = plan::Config::parse(Path::new("x.yml"), &config).expect("it has the word");
    let plan = plan::expand(&[config]).expect("it expands");
    let cases: Vec<Case> = plan.cases().cloned().collect();
    assert_eq!(works(&cases, "fusion"), BTreeSet::from(LINEAR));
}

fn gpu_support(row: &Row) {
    let fused = on_cuda(row).into_iter().find(|it| it.full_id().contains("conv2d_relu/cuda/fused"));
    let plan::Work::Fusion(work) = fused.expect("it is planned").work else { panic!("a pattern") };
    let operations =
        work.operations(plan::Dtype::Float32, plan::Device::Cuda).expect("it runs some");
    assert!(operations.iter().any(|it| it.name.contains("cudnn_convolution_relu")));
    for record in gpu::measured_patterns() {
        let is_conv =
            record["full_id"].as_str().expect("an id").contains("/conv2d_relu/cuda/fused/");
        let kernels = record["kernels"].to_string();
        assert!(!is_conv || kernels.contains("cudnn_convolution_relu"), "{record}");
    }
}

/// Its config has every pattern on CUDA; all other rows measure them on the CPU.
fn both_devices(row: &Row) {
    understood(row, "cargo xtask");
    let file = patches::repository().join("configs/suites/gpu-check/fusion.yml");
    let text = std::fs::read_to_string(&file).expect("readable");
    let config = plan::Config::parse(&file, &text).expect("a config");
    let plan = plan::expand(&[config]).expect("it expands");
    let cases: Vec<Case> = plan.cases().cloned().collect();
    let all: BTreeSet<&str> = [LINEAR, CONV, ATTENTION].concat().into_iter().collect();
    assert_eq!(works(&cases, "fusion"), all);
    assert!(cases.iter().all(|case| case.device.as_str() == "cuda"));
    for record in gpu::measured_patterns() {
        assert!(record["accuracy"]["sqnr_db"].as_f64() > Some(30.0), "{record}");
    }
}

fn design(row: &Row) {
    assert!(linked(row).is_file());
}
