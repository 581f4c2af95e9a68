//! Packages of users, built from the packaged crates: what they measure, and what is refused.

mod bundle;
#[path = "../common/document.rs"]
mod document;
#[path = "../common/mirror.rs"]
mod mirror;
mod outside;
#[path = "../coming_from/page.rs"]
#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "its other parts are used by the other test"
)]
mod page;
#[path = "../../../../tests/common/program.rs"]
mod program;
mod revisions;
mod schedulers;
mod sweep;

use std::collections::BTreeSet;
use std::process::Command;

use outside::{Cases, Files, REGISTRY, outside, read, succeeded};

/// The files that `cargo torch-bench new` adds to a package.
const TEMPLATE: &str = "crates/cargo-torch-bench/template";
const SAXPY: &str = "benches/kernels/saxpy";
/// Small: nothing here is optimized.
const SIZE: &str = "problem_size: { elements: 4096 }\n";
const QUICK: &str = "sampling: { samples: 10, warm_up_s: 0.02, measurement_s: 1, target: 0.5 }\n";

fn template(file: &str) -> String {
    read(&format!("{TEMPLATE}/{file}"))
}

/// A manifest with the crates as development dependencies, and the two files of every package.
fn package<'f>(name: &str, dependencies: &str) -> Files<'f> {
    let manifest = format!(
        "[package]
name = \"{name}\"
version = \"0.1.0\"
edition = \"2024\"

[lib]
bench = false

[dev-dependencies]
criterion-torch = \"0.1\"
{dependencies}
[build-dependencies]
criterion-torch-build = \"0.1\"

[[bench]]
name = \"torch\"
harness = false
"
    );
    let tested = "#[test]\nfn it_is_tested() {}\n".to_owned();
    vec![
        ("Cargo.toml", manifest),
        ("src/lib.rs", tested),
        ("build.rs", template("build.rs")),
        ("benches/torch.rs", template("benches/torch.rs")),
    ]
}

/// The template's kernel, small.
fn saxpy() -> Files<'static> {
    vec![
        ("benches/kernels/saxpy/kernel.rs", template(&format!("{SAXPY}/kernel.rs"))),
        ("benches/kernels/saxpy/torch.rs", template(&format!("{SAXPY}/torch.rs"))),
        ("benches/kernels/saxpy/bench.yaml", SIZE.to_owned()),
    ]
}

/// A config of a layer with a recipe.
fn layers() -> String {
    format!(
        "{QUICK}quantization_config_recipe_names: [int8wo]
model_params:
  - {{ name: small, model_type: linear, matrix_shapes: [{{ name: custom, shapes: [[16, 64, 32]] }}], device: cpu }}
"
    )
}

/// A config of the machine's limits, of which it measures what a call costs.
fn calls() -> String {
    format!(
        "{QUICK}benchmark_mode: calibration\ncalibration_params: [{{ name: calls, probes: [call] }}]\n"
    )
}

/// Exactly these cases are there; all were measured, and each candidate has its speed-up or the reason why not.
#[track_caller]
fn assert_measured(cases: &Cases, expected: &BTreeSet<String>) {
    let ids: BTreeSet<String> = cases.keys().cloned().collect();
    assert_eq!(ids, *expected);
    for (id, case) in cases {
        let record = &case["record"];
        assert_eq!(record["outcome"]["status"], "measured", "{id}: {}", record["outcome"]);
        let (speedup, refused) = (&case["measures"]["speedup"]["value"], &record["no_pair"]);
        let is_candidate = record["case"]["role"] == "candidate";
        let is_known = speedup.as_f64().is_some_and(|it| it > 0.0) || refused.is_string();
        assert_eq!(is_known, is_candidate, "{id}: {speedup} {refused}");
    }
}

#[test]
#[ignore = "long: builds the library from its packaged crates, a minute"]
fn kernels_alone_in_a_folder_with_spaces() {
    let outside = outside();
    outside.put("kernels only", [package("kernels-only", ""), saxpy()].concat());
    let cases = outside.measured("kernels only");
    let ids = ["kernel", "torch"].map(|it| format!("kernels/default/saxpy/cpu/{it}/f32-4096"));
    assert_measured(&cases, &ids.into());
    let tested = outside.cargo("kernels only", &["test", "--quiet"]).output();
    let tested = succeeded(&tested.expect("cargo can be started"));
    assert!(tested.contains("1 passed"), "{tested}");
}

#[test]
#[ignore = "long: builds the library from its packaged crates, a minute"]
fn configs_alone_inside_a_workspace() {
    let outside = outside();
    let mut files = vec![
        ("Cargo.toml", "[workspace]\nmembers = [\"benches-of-us\"]\nresolver = \"3\"\n".to_owned()),
        ("benches-of-us/configs/inference/layers.yml", layers()),
        ("benches-of-us/configs/calibration/machine.yml", calls()),
    ];
    let own = package("benches-of-us", "");
    let own: Vec<_> =
        own.into_iter().map(|(name, text)| (format!("benches-of-us/{name}"), text)).collect();
    files.extend(own.iter().map(|(name, text)| (name.as_str(), text.clone())));
    outside.put("a-workspace", files);
    let cases = outside.measured("a-workspace/benches-of-us");
    let layer = |recipe: &str| format!("inference/layers/linear/cpu/{recipe}/bf16-16x64x32");
    let mut ids = BTreeSet::from(["baseline", "int8wo", "int8wo+packed"].map(layer));
    let calls: Vec<_> = cases.keys().filter(|id| id.starts_with("calibration/")).cloned().collect();
    assert!(!calls.is_empty(), "{:?}", cases.keys());
    ids.extend(calls);
    assert_measured(&cases, &ids);
}

/// As the book's page goes: a new package, `new` in it, and the first `cargo bench`.
#[test]
#[ignore = "long: builds the library from its packaged crates, a minute"]
fn a_package_that_new_has_made() {
    let outside = outside();
    let run = |mut command: Command| succeeded(&command.output().expect("it can be started"));
    // Below target, cargo would enter it into this repository's workspace.
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let mut new = Command::new(env!("CARGO"));
    new.args(["new", "--quiet", "--vcs=none", "made"]).current_dir(elsewhere.path());
    run(new);
    outside.take(&elsewhere.path().join("made"), "made");
    let mut new = outside.tool("made", &["new", "--registry", REGISTRY]);
    // As where nothing says where libtorch is.
    new.env_remove("LIBTORCH");
    let said = run(new);
    for line in ["[[bin]] made: bench = false", "wrote    benches/kernels/saxpy/kernel.rs"] {
        assert!(said.contains(line), "{said}");
    }
    outside.lock("made");
    let cases = outside.measured("made");
    let layer = |(recipe, m)| format!("inference/linear/linear/cpu/{recipe}/bf16-{m}x1024x1024");
    let kernel = |(name, size)| format!("kernels/default/saxpy/cpu/{name}/f32-{size}");
    let recipes = ["baseline", "int8dq", "int8wo", "int8wo+packed"];
    let pairs = |names: &[&'static str], sizes: [u32; 2]| -> Vec<(&'static str, u32)> {
        names.iter().flat_map(|name| sizes.map(|size| (*name, size))).collect()
    };
    let layers = pairs(&recipes, [1, 64]).into_iter().map(layer);
    let kernels = pairs(&["kernel", "torch"], [65536, 1_048_576]).into_iter().map(kernel);
    assert_measured(&cases, &layers.chain(kernels).collect());
}

/// The command of the book's page about the comprehensive operator benchmark, at small sizes; then the document's own
/// workflow and script on the file that it leaves.
#[test]
#[ignore = "nightly: builds the library from its packaged crates, a minute"]
fn nightly_one_command_measures_operators_and_the_documents_scripts_read_its_file() {
    let outside = outside();
    outside.put("operators alone", package("operators-alone", ""));
    let row = page::Row::new("operators", "save results to `benchmark_results.json`");
    let mut words = row.code()[0].split(' ');
    assert_eq!((words.next(), words.next()), (Some("cargo"), Some("torch-bench")));
    let sizes =
        "--operations LayerNorm --batch-sizes 16,32,64 --sequence-lengths 4 --tensor-dimensions 8";
    let words: Vec<&str> = words.chain(sizes.split(' ')).collect();
    let mut tool = outside.measuring_tool("operators alone", &words);
    let printed = succeeded(&tool.output().expect("it can be started"));
    assert!(printed.contains("operators/comprehensive/layer_norm/cpu"), "{printed}");

    let folder = outside.path("operators alone");
    let text = std::fs::read_to_string(folder.join(document::RESULTS)).expect("it is written");
    let results: Vec<serde_json::Value> = serde_json::from_str(&text).expect("a JSON array");
    for implementation in ["PyTorch", "Rust"] {
        let of = results.iter().filter(|it| it["implementation"] == implementation);
        assert!(of.clone().count() >= 3, "{text}");
        assert!(of.clone().all(|it| it["time_ms"].as_f64().is_some_and(|ms| ms > 0.0)), "{text}");
    }
    let Some(fastest) = document::workflow(&folder) else { return };
    assert!(fastest.starts_with("Fastest LayerNorm: ") && fastest.ends_with(" ms)\n"), "{fastest}");
    // The document's first script names implementations that a CPU lacks: only what loads the file is taken of it.
    let loading = document::block("### Using Python");
    let loading = loading.split("# Compare implementations").next().expect("its first part");
    let script = loading.to_owned() + &document::block("### By Batch Size");
    let batches = document::python(&script, &folder).expect("python3 ran before");
    let lines: Vec<&str> = batches.lines().collect();
    assert_eq!(lines.len(), 3, "{batches}");
    for (line, size) in lines.iter().zip([16, 32, 64]) {
        assert!(line.starts_with(&format!("Batch {size}: ")) && line.ends_with(" ms"), "{line}");
    }
}

const TERNARY: &str = "crates/end-to-end/benches/recipes/ternary.rs";
const MLP: &str = "crates/end-to-end/benches/models/mlp.rs";

/// A config of both beside what is built in.
fn user_config() -> String {
    let shapes = "matrix_shapes: [{ name: custom, shapes: [[32, 128, 64]] }]";
    format!(
        "{QUICK}quantization_config_recipe_names: [int8wo, ternary-32]
model_params:
  - {{ name: a, model_type: mlp, {shapes} }}
  - {{ name: b, model_type: linear, {shapes} }}
"
    )
}

#[test]
#[ignore = "nightly: builds the library from its packaged crates, a minute"]
fn nightly_a_recipe_and_a_model_of_its_own() {
    let outside = outside();
    let mut files = package("of-its-own", "");
    files.push(("configs/inference/own.yml", user_config()));
    files.push(("benches/recipes/ternary.rs", read(TERNARY)));
    files.push(("benches/models/mlp.rs", read(MLP)));
    outside.put("of-its-own", files.clone());
    let cases = outside.measured("of-its-own");
    let case = |(model, recipe)| format!("inference/own/{model}/cpu/{recipe}/bf16-32x128x64");
    let recipes = ["baseline", "int8wo", "int8wo+packed", "ternary-32"];
    let all = ["linear", "mlp"].into_iter().flat_map(|model| recipes.map(|recipe| (model, recipe)));
    assert_measured(&cases, &all.map(case).collect());

    // Nothing says how configs write it.
    let (_, text) =
        files.iter_mut().find(|(name, _)| name.ends_with("ternary.rs")).expect("it is there");
    *text = text.replace("pub const SPELLING", "pub const WORD");
    outside.put("of-its-own", files);
    let said = outside.refused("of-its-own");
    for part in
        ["benches/recipes/ternary.rs", "no `pub const SPELLING: &str`", "say how configs write it"]
    {
        assert!(said.contains(part), "no {part} in: {said}");
    }
}

/// A crate of kernels announces its folder; who depends on it measures them beside its own.
#[test]
#[ignore = "nightly: builds the library from its packaged crates, a minute"]
fn nightly_a_crate_of_kernels() {
    let outside = outside();
    outside.put("kernels-of-others", library("kernels-of-others"));
    let renamed = "others = { package = \"kernels-of-others\", path = \"../kernels-of-others\" }\n";
    let mut user = package("user-of-kernels", renamed);
    user.push(("benches/kernels/pi.rs", read("crates/end-to-end/kernels/readme/kernel.rs")));
    outside.put("user-of-kernels", user);
    let cases = outside.measured("user-of-kernels");
    let mut ids = vec!["kernels/default/pi/cpu/kernel/f32-default".to_owned()];
    ids.extend(["kernel", "torch"].map(|it| format!("kernels/default/saxpy/cpu/{it}/f32-4096")));
    assert_measured(&cases, &ids.into_iter().collect());

    // Its name is taken: by this package's own kernel.
    let mut user = [package("user-of-kernels", renamed), saxpy()].concat();
    user.retain(|(name, _)| !name.ends_with("saxpy/torch.rs"));
    outside.put("user-of-kernels", user);
    let said = outside.refused("user-of-kernels");
    for part in ["saxpy", "benches/kernels/saxpy", "kernels-of-others", "src/kernels/saxpy"] {
        assert!(said.contains(part), "no {part} in: {said}");
    }
}

/// A crate whose module `kernels` is the template's kernel.
fn library(name: &str) -> Files<'static> {
    let manifest = format!(
        "[package]
name = \"{name}\"
version = \"0.1.0\"
edition = \"2024\"

[package.metadata.criterion-torch]
kernels = \"src/kernels\"

[dependencies]
criterion-torch = \"0.1\"
"
    );
    let kernel = template(&format!("{SAXPY}/kernel.rs"));
    let torch = template(&format!("{SAXPY}/torch.rs"));
    vec![
        ("Cargo.toml", manifest),
        ("src/lib.rs", "pub mod kernels;\n".to_owned()),
        ("src/kernels/mod.rs", "pub mod saxpy;\n".to_owned()),
        ("src/kernels/saxpy/mod.rs", "pub mod kernel;\npub mod torch;\n".to_owned()),
        ("src/kernels/saxpy/kernel.rs", kernel),
        ("src/kernels/saxpy/torch.rs", torch),
        ("src/kernels/saxpy/bench.yaml", SIZE.to_owned()),
    ]
}

#[test]
#[ignore = "long: builds the library from its packaged crates, a minute"]
fn two_kernels_with_one_name() {
    let outside = outside();
    let mut files = [package("twice", ""), saxpy()].concat();
    files.push(("benches/kernels/saxpy.rs", template(&format!("{SAXPY}/kernel.rs"))));
    outside.put("twice", files);
    let said = outside.refused("twice");
    for part in ["saxpy", "benches/kernels/saxpy.rs", "benches/kernels/saxpy/kernel.rs"] {
        assert!(said.contains(part), "no {part} in: {said}");
    }
}

#[test]
#[ignore = "nightly: builds the library's build script from its packaged crate, a minute"]
fn nightly_a_wrong_libtorch_and_none() {
    let outside = outside();
    outside.put("kernels without libtorch", [package("kernels-only", ""), saxpy()].concat());
    outside.put("old libtorch", vec![("build-version", "2.10.0+cpu\n".to_owned())]);
    let old = outside.path("old libtorch");
    for (libtorch, parts) in [
        (Some(old.as_path()), ["wanted 2.11.0, found 2.10.0", " setup`"]),
        (None, ["LIBTORCH is not set", " setup`"]),
    ] {
        let said = outside.refused_with("kernels without libtorch", libtorch);
        for part in parts {
            assert!(said.contains(part), "no {part} in: {said}");
        }
    }
}
