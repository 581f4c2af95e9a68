//! Rows of `coming-from/quasim.md`.

mod made;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use plan::{Dtype, Work};
use serde_json::{Value, json};

use crate::page::{Row, rows};
use crate::workspace::TestWorkspace;
use made::{Package, measured, repository};

rows! { "quasim";
    "`make bench`" => make_bench,
    "`make bench-quick`" => make_bench_quick,
    "`--iters 30`" => iters,
    "`--warmup 3`" => warmup,
    "`--precision fp32,fp16`" => precision,
    "`--backends cpu,cuda`" => backends_option,
    "`--output-dir reports`" => output_dir,
    "`--seed 1337`" => seed,
    "`--verbose`" => verbose,
    "`--compare-to main`" => compare_to,
    "`--precision fp32,fp16,fp8 --output-dir reports/multi-precision`" => several_precisions,
    "`--backends cuda --output-dir reports/cuda-only`" => one_backend,
    "`--iters 100 --warmup 10 --output-dir reports/high-iter`" => many_iterations,
    "Automatic kernel discovery across multiple paths" => discovery,
    "`kernels/`" => path_kernels,
    "`src/kernels/`" => path_src,
    "`quasim/kernels/`" => path_quasim,
    "`integrations/kernels/`" => path_integrations,
    "`autonomous_systems_platform/services/backend/quasim/kernels/`" => path_platform,
    "Update discovery paths in `KERNEL_PATHS`" => kernel_paths,
    "Each kernel is analyzed: name and path" => name_and_path,
    "Each kernel is analyzed: backend (cuda/rocm/cpu/pytorch)" => backend,
    "Backend `jax`" => jax,
    "Each kernel is analyzed: dependencies" => dependencies,
    "Each kernel is analyzed: benchmark configuration" => configuration,
    "Place kernel in a discovered path" => placed,
    "`def run_benchmark(problem_size=1024, iterations=1)`" => run_benchmark,
    "`size: 2048`, `precisions: [fp32, fp16]`, `backends: [cpu, cuda]`" => optional_configuration,
    "The kernel will be automatically discovered and benchmarked" => discovered_and_benchmarked,
    "`function_name` in the kernel's config" => function_name,
    "`problem_size`" => problem_size,
    "`precisions`" => precisions,
    "`backends`" => backends,
    "`tolerances`: `rmse`, `relative_error`" => tolerances,
    "`skip_conditions`: `backend`, `reason`, `check`" => skip_conditions,
    "`check: \"not torch.cuda.is_available()\"`" => check,
    "Standardized protocol with warmup and multiple iterations" => protocol,
    "`time_execution()`: p50/p90/p99" => percentiles,
    "Throughput" => throughput,
    "`measure_memory()`: GPU/CPU memory usage" => memory_measured,
    "`measure_energy()`: nvidia-smi/rocm-smi" => energy_measured,
    "`compute_accuracy()`: errors against a reference" => accuracy_measured,
    "`get_system_info()`" => system_info,
    "`save_json()`, `load_json()`, `generate_markdown_table()`" => functions_of_python,
    "Multiple output formats: JSON (machine-readable) and Markdown (human-readable)" => formats,
    "Classes `MetricsCollector`, `KernelDiscovery`, `BenchmarkRunner`, `ReportGenerator`" => classes,
    "Energy measurement unavailable: install nvidia-smi or rocm-smi" => no_energy,
    "`env.json`" => env_json,
    "`kernel_manifest.json`" => manifest,
    "`kernels/<name>.json`" => kernel_file,
    "`summary.json`" => summary_json,
    "`summary.md`" => summary_md,
    "`regressions.md`" => regressions_md,
    "`kernel_name`, `backend`, `precision`, `problem_size`" => keys_of_a_kernel,
    "`timing`" => keys_of_timing,
    "`memory`" => keys_of_memory,
    "`energy`" => keys_of_energy,
    "`accuracy`" => keys_of_accuracy,
    "`success`" => success,
    "Section: Environment" => section_environment,
    "Section: Performance Leaderboard, by p50" => section_leaderboard,
    "Section: Resource Usage" => section_resources,
    "Section: Key Findings" => section_findings,
    "Section: Recommendations" => section_recommendations,
    "Section: Regressions" => section_regressions,
    "Add new report sections in `ReportGenerator`" => new_sections,
    "Add new metrics to `MetricsCollector`" => new_metrics,
    "This fetches the `summary.json` from the `main` branch" => history_of_a_branch,
    "Latency regressions (>10% threshold)" => latency_threshold,
    "Accuracy drift (>1e-3 threshold)" => accuracy_threshold,
    "Thresholds are configurable in the code" => thresholds,
    "Push to `main` or `develop` branches" => on_push,
    "Pull requests to `main` or `develop`" => on_pull_request,
    "Manual workflow dispatch" => on_dispatch,
    "Posted as PR comments (with regression alerts)" => comments,
    "Uploaded as artifacts, 30 days" => artifacts,
    "Committed to `benchmarks/history/` on main branch" => committed,
    "Published to a GitHub issue" => issue,
    "Matrix strategy: multiple backend/precision combinations" => matrix,
    "Kernel not discovered: check if file is in a scanned path" => scanned_paths,
    "Kernel not discovered: not prefixed with `__` or `test_`" => prefixes,
    "Run with `--verbose` to see discovery logs" => discovery_logs,
    "Check that required dependencies are installed" => doctor,
    "Verify kernel has a callable benchmark function" => callable,
    "Python 3.8+ and numpy" => no_python,
    "Optional: PyYAML, PyTorch" => optional_dependencies,
    "PyTorch for CUDA/ROCm memory and energy metrics" => rocm,
    "Optional: JAX" => no_jax,
    "Add new backend support in `_infer_backend()` and `_resolve_backend()`" => new_backend,
}

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn text_of(file: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The words of a row's command, behind `cargo xtask` or `cargo torch-bench`, which take them. An alias of
/// this repository stands for its text.
fn command(row: &Row) -> Vec<String> {
    let text = row.code()[0].to_owned();
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    assert_eq!(words.remove(0), "cargo", "{text}");
    let first = words.remove(0);
    if !["xtask", "torch-bench"].contains(&first.as_str()) {
        let aliases = text_of(".cargo/config.toml");
        let line =
            aliases.lines().find_map(|line| line.strip_prefix(&format!("{first} = \"xtask ")));
        let alias = line.unwrap_or_else(|| panic!("no alias {first}")).trim_end_matches('"');
        words.splice(0..0, alias.split_whitespace().map(str::to_owned));
    }
    let program = std::iter::once("xtask".to_owned());
    let line: Vec<OsString> = program.chain(words.iter().cloned()).map(OsString::from).collect();
    cargo_torch_bench::check::<cargo_torch_bench::cli::Cli>(line)
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    words
}

/// The words of a row that promises options, which our command takes unchanged.
fn options(row: &Row) -> Vec<String> {
    let promised = row.promise.trim_matches('`');
    assert!(row.code()[0].ends_with(promised), "{}", row.code()[0]);
    command(row)
}

/// Expands `saxpy` under an override.
fn planned(json: &Value) -> Vec<Value> {
    let workspace = TestWorkspace::new().with_value("CRITERION_TORCH_OVERRIDE", json.to_string());
    let config = "configs/kernels/drop_in.yml";
    let text = workspace.report(&["plan", "--format", "json", config, "--filter", "saxpy"]);
    serde_json::from_str(&text).expect("a list")
}

/// The reasons why cases whose ids contain a text are not measured; an empty reason means measured.
fn reasons(cases: &[Value], part: &str) -> Vec<String> {
    let of = |case: &&Value| case["full_id"].as_str().expect("an id").contains(part);
    let reason = |case: &Value| case["skip_conditions"][0]["reason"].as_str().map(str::to_owned);
    cases.iter().filter(of).map(|case| reason(case).unwrap_or_default()).collect()
}

fn make_bench(row: &Row) {
    assert_eq!(command(row), ["kernels", "--iters", "30", "--warmup", "3"]);
}

fn make_bench_quick(row: &Row) {
    assert_eq!(command(row), ["kernels", "--iters", "10", "--warmup", "2"]);
}

fn iters(row: &Row) {
    options(row);
    // 30 and 10 are accepted; 9 is refused as too few.
    for timed in [30, 10] {
        assert!(!planned(&json!({ "iterations": { "timed": timed } })).is_empty());
    }
    let package = Package::new("");
    let error = package.config("override: { iterations: { timed: 9 } }").expect_err("too few");
    assert!(error.to_string().contains("10"), "{error}");
    assert!(row.differs.starts_with("10 at least"));
    // They are the fewest: where a call is cheap, more are taken, as the row says. `saxpy` asks for 20.
    let kernel = measured().kernel();
    let (asked, taken) = (&kernel["metadata"]["iterations"], &kernel["timing"]["iterations"]);
    assert_eq!((asked, taken), (&json!(20), &json!(500)));
    assert!(row.differs.contains("`timing.iterations`") && row.differs.contains("the fewest"));
}

fn warmup(row: &Row) {
    options(row);
    let package = Package::new("");
    let cases = package.cases_with("override: { iterations: { warmup: 3 } }");
    assert_eq!(cases[0].settings.latency.warm_up, Some(3));
}

fn precision(row: &Row) {
    options(row);
    let package = Package::new("precisions: [fp64, fp32, fp16]\n");
    let cases = package.cases_with("override: { precisions: [fp32, fp16] }");
    let dtypes: Vec<Dtype> = cases.iter().map(|case| case.dtype).collect();
    assert_eq!(dtypes, [Dtype::Float32, Dtype::Float16]);
}

fn backends_option(row: &Row) {
    options(row);
    let package = Package::new("backends: [cpu, cuda]\n");
    let devices = |rest: &str| {
        let cases = package.cases_with(rest);
        cases.iter().map(|case| case.device.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(devices("override: { backends: [cpu, cuda] }"), ["cpu", "cuda"]);
    assert_eq!(devices("override: { backends: [cuda] }"), ["cuda"], "it selects");
}

fn output_dir(row: &Row) {
    options(row);
    assert!(measured().path("summary.json").is_file());
}

fn seed(row: &Row) {
    options(row);
    // Whatever the kernel's own file says.
    let cases = Package::new("seed: 1337\n").cases_with("override: { seed: 7 }");
    assert_eq!(cases[0].settings.seed, 7);
    assert_eq!(measured().kernel()["metadata"]["seed"], 1337, "the one that was used is reported");
}

fn verbose(row: &Row) {
    options(row);
    discovery_is_logged();
}

fn compare_to(row: &Row) {
    options(row);
    assert_eq!(measured().json("regressions.json")["baseline"], "main");
    let said = &measured().said;
    assert!(said.contains("\ncompared with the saved baseline main in "), "{said}");
}

fn several_precisions(row: &Row) {
    options(row);
    let cases = planned(&json!({ "precisions": ["fp32", "fp16", "fp8"] }));
    let lacking = "`fp16` is not among the precisions listed: fp64, fp32, fp8";
    let [fp16, fp32] = ["/f16-1000", "/f32-1000"].map(|part| reasons(&cases, part));
    assert_eq!(fp16, [lacking; 2]);
    assert_eq!(fp32, [""; 2]);
    // The document's kernel lists no fp8, and the case is there all the same.
    let package = Package::new("precisions: [fp32, fp16]\n");
    let cases = package.cases_with("override: { precisions: [fp32, fp16, fp8] }");
    let skips = |case: &plan::Case| {
        let skips = &case.work.kernel().expect("a kernel").skip_conditions;
        skips.iter().map(|skip| skip.reason.clone()).collect::<Vec<_>>()
    };
    let found: Vec<_> = cases.iter().map(|case| (case.dtype, skips(case))).collect();
    let lacking = "`fp8` is not among the precisions listed: fp32, fp16".to_owned();
    let expected =
        [(Dtype::Float32, vec![]), (Dtype::Float16, vec![]), (Dtype::Float8E4M3Fn, vec![lacking])];
    assert_eq!(found, expected);
}

fn one_backend(row: &Row) {
    options(row);
    let cases = Package::new("backends: [cpu]\n").cases_with("override: { backends: [cuda] }");
    let skips = &cases[0].work.kernel().expect("a kernel").skip_conditions;
    assert_eq!(skips[0].reason, "`cuda` is not among the backends listed: cpu");
}

fn many_iterations(row: &Row) {
    options(row);
    let package = Package::new("");
    let cases = package.cases_with("override: { iterations: { timed: 100, warmup: 10 } }");
    assert_eq!(cases[0].settings.latency.fewest, Some(100));
}

fn discovery(row: &Row) {
    assert_eq!(row.code(), ["benches/kernels"]);
    assert!(plan::usual_kernel_roots().next() == Some("benches/kernels"));
    assert_eq!(plan::usual_kernel_roots().count(), 1 + 5);
}

/// A kernel is found in the folder, and other Rust code there is skipped.
fn is_searched(row: &Row) {
    let folder = row.code()[0];
    assert_eq!(row.promise.trim_matches(['`', '/']), folder);
    let package = Package::empty();
    package.write(&format!("{folder}/mine/kernel.rs"), made::KERNEL);
    package.write(&format!("{folder}/mod.rs"), "pub mod mine;\n");
    assert_eq!(package.files(), [format!("{folder}/mine/kernel.rs")]);
}

fn path_kernels(row: &Row) {
    is_searched(row);
}

fn path_src(row: &Row) {
    is_searched(row);
}

fn path_quasim(row: &Row) {
    is_searched(row);
}

fn path_integrations(row: &Row) {
    is_searched(row);
}

fn path_platform(row: &Row) {
    is_searched(row);
}

fn kernel_paths(row: &Row) {
    assert_eq!(row.code(), ["kernel_paths"]);
    let package = Package::empty();
    package.write("elsewhere/mine.rs", made::KERNEL);
    assert!(package.files().is_empty());
    let cases = package.cases_with("kernel_paths: [elsewhere]");
    assert_eq!(cases.len(), 1);
}

fn name_and_path(row: &Row) {
    let manifest = measured().json("kernel_manifest.json");
    for key in row.code() {
        assert!(manifest[0][key].is_string(), "{manifest}");
    }
}

fn backend(row: &Row) {
    let manifest = measured().json("kernel_manifest.json");
    assert_eq!(row.code(), ["backends", "pytorch"]);
    assert_eq!(manifest[0]["backends"], json!(["cpu"]));
    for implementation in manifest[0]["implementations"].as_array().expect("a list") {
        assert_eq!(implementation["pytorch"], implementation["name"] == "torch");
    }
    let cases = Package::new("backends: [cpu, cuda, rocm]\n").cases_with("");
    let devices: Vec<&str> = cases.iter().map(|case| case.device.as_str()).collect();
    assert_eq!(devices, ["cpu", "cuda", "rocm"]);
    let only_torch = reasons(&planned(&json!({ "backends": ["pytorch"] })), "/f32-1000");
    assert!(only_torch[0].starts_with("`pytorch` selects implementations with tch"));
    assert_eq!(only_torch[1], "");
}

fn jax(row: &Row) {
    let error = Package::new("backends: [jax]\n").config("").expect_err("refused").to_string();
    let reason = row.refusal().split(':').next().expect("words");
    assert!(reason.starts_with("JAX runs in Python") && error.contains(reason), "{error}");
}

fn dependencies(row: &Row) {
    assert!(row.refusal().contains("`Cargo.lock`"));
    assert!(Path::new(ROOT).join("Cargo.lock").is_file());
    assert!(measured().json("kernel_manifest.json")[0].get("dependencies").is_none());
}

fn configuration(row: &Row) {
    assert_eq!(row.code(), ["bench.yaml"]);
    // The metadata of `saxpy` has an author.
    assert_eq!(measured().json("kernel_manifest.json")[0]["metadata"]["author"], "nobody");
}

fn placed(row: &Row) {
    let package = Package::empty();
    package.write(row.code()[0], made::KERNEL);
    let cases = package.cases_with("");
    let Work::Kernel(work) = &cases[0].work else { panic!("a kernel") };
    assert_eq!((work.kernel.as_str(), work.file.as_str()), ("mykernel", row.code()[0]));
}

fn run_benchmark(row: &Row) {
    assert_eq!(row.code()[0], "run_benchmark");
    assert!(made::KERNEL.contains("pub fn run_benchmark(size: &ProblemSize"));
    assert_eq!(Package::new("").cases_with("").len(), 1);
}

fn optional_configuration(row: &Row) {
    assert_eq!(row.code(), ["problem_size", "precisions", "backends"]);
    let bench = "problem_size:\n  size: 2048\nprecisions: [fp32, fp16]\nbackends: [cpu, cuda]\n";
    let cases = Package::new(bench).cases_with("");
    assert_eq!(cases.len(), 2 * 2);
    assert!(cases.iter().all(|case| case.full_id().ends_with("-2048")));
}

fn discovered_and_benchmarked(row: &Row) {
    command(row);
    assert_eq!(measured().kernel()["success"], true);
}

fn function_name(row: &Row) {
    let package = Package::new(&format!("{}: solve\n", row.code()[0]));
    let kernel = made::KERNEL.replace("run_benchmark", "solve");
    package.write("benches/kernels/mine/kernel.rs", &kernel);
    assert_eq!(package.cases_with("").len(), 1);
    package.write("benches/kernels/mine/bench.yaml", "seed: 1\n");
    assert!(package.config("").is_err(), "nothing names `solve`");
    // Compiled and measured.
    assert!(
        text_of("crates/end-to-end/kernels/solved/bench.yaml").contains("function_name: solve")
    );
    let solved = measured().solved("cpu");
    assert_eq!(solved["success"], true, "{solved}");
    assert!(solved["timing"]["latency_ms_p50"].as_f64().is_some_and(|ms| ms > 0.0), "{solved}");
}

fn problem_size(row: &Row) {
    assert_eq!(row.code(), ["problem_size"]);
    let cases = Package::new("problem_size: { size: [8, 16] }\n").cases_with("");
    let sizes = cases.iter().map(|case| case.id.parameter.clone()).collect::<Vec<_>>();
    assert_eq!(sizes, ["f32-8", "f32-16"]);
    // The document's example: a list for an array is one value.
    let package = Package::new(
        "problem_size:\n  grid_size: [64, 64, 64]\n  max_iterations: 50\n  tolerance: 1.0e-5\n",
    );
    let fields = "pub grid_size: [usize; 3], pub max_iterations: u32, pub tolerance: f64";
    let kernel = made::KERNEL
        .replace("pub size: usize", fields)
        .replace("size: 1024", "grid_size: [8; 3], max_iterations: 1, tolerance: 1.0")
        .replace("size.size as f32", "size.tolerance as f32");
    package.write("benches/kernels/mine/kernel.rs", &kernel);
    let cases = package.cases_with("");
    let sizes: Vec<&str> = cases.iter().map(|case| case.id.parameter.as_str()).collect();
    assert_eq!(sizes, ["f32-64x64x64-50-1e-5"]);
}

fn precisions(row: &Row) {
    assert_eq!(row.code(), ["precisions"]);
    assert_eq!(Package::new("precisions: [fp32, fp16]\n").cases_with("").len(), 2);
}

fn backends(row: &Row) {
    assert_eq!(row.code(), ["backends"]);
    assert_eq!(Package::new("backends: [cpu, cuda]\n").cases_with("").len(), 2);
}

fn tolerances(row: &Row) {
    let bench = format!("{}: {{ rmse: 1.0e-3, relative_error: 1.0e-2 }}\n", row.code()[0]);
    let cases = Package::new(&bench).cases_with("");
    let Work::Kernel(work) = &cases[0].work else { panic!("a kernel") };
    assert_eq!((work.tolerances.rmse, work.tolerances.relative_error), (Some(1e-3), Some(1e-2)));
}

const SKIP: &str = "skip_conditions:
  - backend: cuda
    reason: \"CUDA not available\"
    check: \"not torch.cuda.is_available()\"
";

fn skip_conditions(row: &Row) {
    assert!(SKIP.starts_with(row.code()[0]));
    let cases = Package::new(&format!("backends: [cpu, cuda]\n{SKIP}")).cases_with("");
    let skips = |at: usize| cases[at].work.kernel().expect("a kernel").skip_conditions.clone();
    assert!(skips(0).is_empty());
    assert_eq!(skips(1)[0].reason, "CUDA not available");
}

fn check(row: &Row) {
    let text = row.promise.trim_matches('`').trim_start_matches("check: ").trim_matches('"');
    let expression = plan::Expression::parse(text, &[]).expect("it is understood");
    for available in [false, true] {
        let fact =
            |name: &str| (name == "cuda.available").then_some(plan::FactValue::Flag(available));
        assert_eq!(expression.holds(&fact), Ok(!available));
    }
}

fn protocol(row: &Row) {
    // As the kernel's bench.yaml has it.
    let metadata = &measured().kernel()[row.code()[0]];
    assert_eq!((&metadata["warmup"], &metadata["iterations"]), (&json!(3), &json!(20)));
}

/// A call takes microseconds, so that enough of them are taken for all three.
fn percentiles(row: &Row) {
    let timing = &measured().kernel()[row.code()[0]];
    let percentiles = ["p50", "p90", "p99"].map(|it| {
        let ms = timing[format!("latency_ms_{it}")].as_f64();
        ms.unwrap_or_else(|| panic!("no {it}: {timing}"))
    });
    assert!(percentiles[0] > 0.0 && percentiles.is_sorted(), "{timing}");
}

fn throughput(row: &Row) {
    let timing = &measured().kernel()["timing"];
    let expected = 1e3 / timing["latency_ms_mean"].as_f64().expect("a mean");
    let found = timing[row.code()[0]].as_f64().expect("a number");
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
}

fn memory_measured(row: &Row) {
    // Three vectors of a thousand floats, on the CPU.
    let peak = measured().kernel()[row.code()[0]]["peak_mb"].as_f64().expect("a number");
    assert!(peak * f64::from(1 << 20) >= 3.0 * 4000.0, "{peak}");
}

fn energy_measured(row: &Row) {
    // The measuring method is reported with the figures; this one is made up.
    let energy = &measured().kernel()[row.code()[0]];
    assert_eq!(energy["method"], made::METHOD);
    assert_eq!((&energy["energy_j"], &energy["power_w"]), (&json!(0.25), &json!(50.0)));
}

fn accuracy_measured(row: &Row) {
    let accuracy = &measured().kernel()[row.code()[0]];
    let relative = accuracy["relative_error"].as_f64().expect("it has a reference");
    assert!(relative < 1e-6, "{accuracy}");
}

fn system_info(row: &Row) {
    let env = measured().json(row.code()[0]);
    assert!(env["processor"].is_string() && env["torch"].is_string(), "{env}");
}

fn functions_of_python(row: &Row) {
    assert!(row.refusal().contains("Python module"));
    assert!(measured().path("summary.json").is_file());
}

fn formats(row: &Row) {
    let [json, markdown] = row.code()[..] else { panic!("{}", row.ours) };
    assert!(measured().json(json)["results"].is_array());
    assert!(measured().text(markdown).contains("| --- |"));
}

fn classes(row: &Row) {
    assert!(row.refusal().contains("trait `Kernel`"));
    assert!(text_of("src/kernel/mod.rs").contains("pub trait Kernel"));
}

/// Energy was asked for: it is there, or the reason why this machine has none.
fn no_energy(row: &Row) {
    let solved = measured().solved("cpu");
    let reason = &solved[row.code()[0]]["energy"];
    if solved["energy"].is_null() {
        let reason = reason.as_str().unwrap_or_else(|| panic!("no reason: {solved}"));
        assert!(reason.contains("/sys/class/powercap"), "{reason}");
    } else {
        assert!(reason.is_null(), "{solved}");
        assert!(solved["energy"]["energy_j"].as_f64().is_some_and(|it| it > 0.0), "{solved}");
    }
    let kernel = measured().kernel();
    let cases = kernel["cases"].as_array().expect("a list");
    let torch = cases.iter().find(|case| case["implementation"] == "torch").expect("measured");
    assert_eq!(torch[row.code()[0]]["energy"], "the config has `energy: false`");
}

fn env_json(row: &Row) {
    let env = measured().json(row.code()[0]);
    assert_eq!(env["python_version"], Value::Null);
    assert!(env.get("git").is_some() && env["os"].is_string(), "{env}");
}

fn manifest(row: &Row) {
    let manifest = measured().json(row.code()[0]);
    assert_eq!(
        (manifest.as_array().map(Vec::len), &manifest[0]["name"]),
        (Some(2), &json!("saxpy"))
    );
}

fn kernel_file(row: &Row) {
    let kernel = measured().json(row.code()[0]);
    assert_eq!(kernel["kernel_name"], "saxpy");
    assert_eq!(kernel["cases"].as_array().map(Vec::len), Some(3), "two implementations, and fp8");
}

fn summary_json(row: &Row) {
    let summary = measured().json(row.code()[0]);
    assert_eq!(summary["total_kernels"], 2);
    assert_eq!(summary["successful"], measured().successful());
    assert!(summary["timestamp"].as_str().is_some_and(|it| it.contains('T')), "{summary}");
}

fn summary_md(row: &Row) {
    assert!(measured().text(row.code()[0]).starts_with("# Kernel benchmarks\n"));
}

fn regressions_md(row: &Row) {
    let text = measured().text(row.code()[0]);
    assert!(text.starts_with("# Comparison with `main`") && text.contains("0 worse"), "{text}");
}

/// The kernel's object, or the part of it under `part`, has the keys of the row, and none is null.
fn has_keys(row: &Row, part: Option<&str>) {
    let kernel = measured().kernel();
    let object = part.map_or(&kernel, |part| &kernel[part]);
    for key in row.code() {
        let value = object.get(key).unwrap_or_else(|| panic!("{key}: {object}"));
        assert!(!value.is_null(), "{key}: {object}");
    }
}

fn keys_of_a_kernel(row: &Row) {
    has_keys(row, None);
}

fn keys_of_timing(row: &Row) {
    has_keys(row, Some("timing"));
    let timing = &measured().kernel()["timing"];
    assert!(row.code().iter().all(|key| timing[key].is_number()), "{timing}");
}

fn keys_of_memory(row: &Row) {
    has_keys(row, Some("memory"));
}

fn keys_of_energy(row: &Row) {
    has_keys(row, Some("energy"));
}

fn keys_of_accuracy(row: &Row) {
    has_keys(row, Some("accuracy"));
}

fn success(row: &Row) {
    has_keys(row, None);
}

/// The row's section of `summary.md` has these words in one of its lines.
fn has_line(row: &Row, words: &[&str]) {
    let section = measured().section(row.code()[0]);
    let has_all = |line: &str| words.iter().all(|word| line.contains(word));
    assert!(section.lines().any(has_all), "{words:?}: {section}");
}

fn section_environment(row: &Row) {
    has_line(row, &["| Machine | ", " CPUs, "]);
    has_line(row, &["| libtorch | 2.11"]);
    has_line(row, &["| Rust | 1."]);
}

/// Both implementations at the size, the faster one first.
fn section_leaderboard(row: &Row) {
    has_line(row, &["**saxpy**, ", "elements 1000"]);
    has_line(row, &["| p50 (ms) | p90 (ms) | p99 (ms) |"]);
    has_line(row, &["| 1 | ", "| cpu | fp32 | "]);
    has_line(row, &["| 2 | ", "| cpu | fp32 | "]);
}

fn section_resources(row: &Row) {
    has_line(row, &["| Peak (MiB) |", "| Energy (J) | Power (W) |"]);
    has_line(row, &["`saxpy/kernel/f32-1000-2.5`", "| 0.250 | 50.0 |"]);
}

fn section_findings(row: &Row) {
    has_line(row, &["- **Fastest:**"]);
    // The fastest, or that two are too close to tell.
    has_line(row, &["  - ", "saxpy ("]);
}

/// `solved` lacks a `reference` on every machine.
fn section_recommendations(row: &Row) {
    has_line(row, &["- **Proof:**", "`reference`"]);
    has_line(row, &["  - `solved`"]);
}

fn section_regressions(row: &Row) {
    has_line(row, &["Compared with `main`", "0 worse"]);
}

fn new_sections(row: &Row) {
    assert!(row.refusal().contains("`criterion-report`"));
}

fn new_metrics(row: &Row) {
    assert!(Path::new(ROOT).join(row.code()[0]).join("measured.rs").is_file());
}

/// The history of a branch is found without a saved baseline of its name, and it is said what was used.
fn history_of_a_branch(row: &Row) {
    let repository = repository(row.code()[0], &measured().text("summary.json"));
    let output = Command::new(env!("CARGO_BIN_EXE_report"))
        .args(["kernels", "--baseline", "main", "--compare-to", "trunk", "--output-dir", "reports"])
        .arg("--criterion-dir")
        .arg(measured().criterion())
        .current_dir(repository.path())
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let used = format!("compared with {}/benchmark-1.json of trunk at ", row.code()[0]);
    assert!(said.contains(&used), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let changes = fs::read_to_string(repository.path().join("reports/regressions.json"));
    let changes: Value = serde_json::from_str(&changes.expect("written")).expect("JSON");
    assert_eq!(changes["unchanged"], measured().successful(), "{changes}");
}

fn latency_threshold(row: &Row) {
    assert!(measured().kernels_help().contains(row.code()[0]));
    assert_eq!(measured().json("regressions.json")["latency_threshold"], 0.1);
}

fn accuracy_threshold(row: &Row) {
    assert!(measured().kernels_help().contains(row.code()[0]));
    assert_eq!(measured().json("regressions.json")["accuracy_threshold"], 1e-3);
}

fn thresholds(row: &Row) {
    let help = measured().kernels_help();
    assert!(row.code().iter().all(|option| help.contains(option)));
}

fn workflow() -> String {
    text_of(".github/workflows/bench.yml")
}

/// The branches of an event of the workflow.
fn is_on_both(row: &Row) {
    let workflow = workflow();
    let event = format!("\n  {}:\n    branches: [main, develop]\n", row.code()[0]);
    assert!(workflow.contains(&event), "{event}");
}

fn on_push(row: &Row) {
    is_on_both(row);
}

fn on_pull_request(row: &Row) {
    is_on_both(row);
}

fn on_dispatch(row: &Row) {
    assert!(workflow().contains(&format!("\n  {}:\n    inputs:", row.code()[0])));
    assert!(workflow().contains("\n  schedule:\n"));
    // GitHub starts schedules of the default branch alone.
    assert!(workflow().contains("run: .github/scripts/nightly.sh\n"));
    assert!(text_of(".github/scripts/nightly.sh").contains("for branch in main develop;"));
}

/// A step of the workflow runs the script.
fn is_run(row: &Row) {
    assert!(workflow().contains(&format!("run: {} results\n", row.code()[0])));
    assert!(Path::new(ROOT).join(row.code()[0]).is_file());
}

fn comments(row: &Row) {
    is_run(row);
}

fn artifacts(row: &Row) {
    let workflow = workflow();
    let uploads = workflow.matches("actions/upload-artifact@").count();
    assert!(uploads > 0);
    assert_eq!(workflow.matches(row.code()[0]).count(), uploads);
}

fn committed(row: &Row) {
    is_run(row);
    assert!(text_of(row.code()[0]).contains("git push origin HEAD:main"));
}

fn issue(row: &Row) {
    is_run(row);
    assert!(workflow().contains("issues: write"));
}

fn matrix(row: &Row) {
    let expected = format!("{}:\n        backend: [cpu, cuda]\n        precision: ", row.code()[0]);
    assert!(workflow().contains(&expected), "{expected}");
}

fn scanned_paths(row: &Row) {
    command(row);
    let package = Package::empty();
    package.write("somewhere/mine.rs", made::KERNEL);
    assert!(package.files().is_empty());
}

fn prefixes(row: &Row) {
    let package = Package::empty();
    for prefix in row.code() {
        package.write(&format!("benches/kernels/{prefix}mine.rs"), made::KERNEL);
    }
    package.write("benches/kernels/__mine.rs", made::KERNEL);
    assert!(package.files().is_empty());
}

fn discovery_logs(row: &Row) {
    command(row);
    discovery_is_logged();
}

/// Discovered kernels are printed, and skipped ones are reported.
fn discovery_is_logged() {
    let package = Package::new("");
    package.write("src/kernels/helper.rs", "pub fn helper() {}\n");
    package.write("src/lib.rs", "");
    package.write(
        "Cargo.toml",
        "[package]\nname = \"mine\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    package.write("kernels.yml", "benchmark_mode: kernels\n");
    let output = Command::new(env!("CARGO_BIN_EXE_report"))
        .args(["plan", "kernels.yml"])
        .current_dir(package.path(""))
        .output()
        .expect("the program starts");
    let [found, noted] =
        [output.stdout, output.stderr].map(|it| String::from_utf8(it).expect("UTF-8"));
    assert!(found.contains("kernels/mine/cpu"), "{found}{noted}");
    assert!(noted.contains("helper.rs is not a kernel: it does not name `ProblemSize`"), "{noted}");
}

fn doctor(row: &Row) {
    assert_eq!(command(row), ["doctor"]);
}

fn callable(row: &Row) {
    let package = Package::new("");
    let kernel = made::KERNEL.replace(row.code()[0], "some_other_name");
    package.write("benches/kernels/mine/kernel.rs", &kernel);
    let error = package.config("").expect_err("nothing to time").to_string();
    assert!(error.contains("nor `pub fn run_benchmark`"), "{error}");
}

fn no_python(row: &Row) {
    assert!(row.refusal().contains("Python"));
    assert_eq!(measured().json("env.json")["numpy_version"], Value::Null);
}

fn optional_dependencies(row: &Row) {
    assert_eq!(command(row), ["setup"]);
}

/// A GPU case has a CPU case's keys, or the reason why it has none of them.
fn rocm(row: &Row) {
    assert_eq!(row.code(), ["memory", "energy"]);
    let [cpu, rocm] = ["cpu", "rocm"].map(|backend| measured().solved(backend));
    assert!(cpu["memory"]["peak_mb"].is_number(), "{cpu}");
    if rocm["outcome"] == "skipped" {
        let reason = rocm["error_message"].as_str().expect("a reason");
        assert!(reason.contains("HIP"), "{reason}");
        assert!(row.code().iter().all(|key| rocm[key].is_null()), "{rocm}");
        return;
    }
    assert!(rocm["memory"]["peak_mb"].is_number(), "{rocm}");
    assert!(rocm["energy"].is_object() != rocm["absent"]["energy"].is_string(), "{rocm}");
}

fn no_jax(row: &Row) {
    assert!(row.refusal().contains("JAX runs in Python"));
    assert!(Package::new("backends: [jax]\n").config("").is_err());
}

fn new_backend(row: &Row) {
    // Which words there are, and which device of libtorch each of them means.
    let [words, devices] = row.code()[..] else { panic!("{}", row.ours) };
    assert!(text_of(words).contains("const DEVICES"));
    assert!(text_of(devices).contains("pub fn resolve(device: plan::Device)"));
}
