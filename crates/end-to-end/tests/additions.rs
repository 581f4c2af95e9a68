//! The additions that the book shows, made for real: the patches on its pages are applied to a copy of
//! this repository, which is built once and run.

#[path = "common/mirror.rs"]
mod mirror;
#[path = "common/patches.rs"]
mod patches;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mirror::{AT_ONCE, KERNELS, files, follow};
use patches::{PAGES, patches, repository};
use serde_json::Value;

/// The cases that are measured: the new words beside known ones.
const CONFIGS: [(&str, &str); 4] = [
    (
        "inference",
        "quantization_config_recipe_names: [int8wo, ternary]
model_params:
  - name: additions
    matrix_shapes: [{ name: custom, shapes: [[64, 128, 64]] }]
    model_type: mlp
",
    ),
    (
        "fusion",
        "fusion_params:
  - name: additions
    patterns: [linear_bias_silu]
    sizes: [[16, 64, 32]]
",
    ),
    (
        "operators",
        "operator_params:
  - name: additions
    operators: [relu6]
    batch_sizes: [2]
    sequence_lengths: [16]
    tensor_dimensions: [64]
",
    ),
    (
        "calibration",
        "calibration_params:
  - name: additions
    probes: [fill]
    sizes: [4KiB]
    threads: 1
",
    ),
];

/// Ten samples, as short as they may be: it is not about times.
const SAMPLING: &str = "energy: false
sampling: { samples: 10, warm_up_s: 0.02, measurement_s: 1, target: 0.5 }
";

/// The package's version in the copy. Cargo tells the artifacts of two copies of a package apart by its
/// version and not by where it lies, so that those of the repository itself stay as they are.
const VERSIONS: [[&str; 2]; 2] = [
    ["\nversion = \"0.1.0\"", "\nversion = \"0.1.0-additions\""],
    ["version = \"=0.1.0\"", "version = \"=0.1.0-additions\""],
];

fn succeeded(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    out.into_owned()
}

/// The repository with every addition, in a folder that stays: what has not changed since the last time
/// is not built again.
struct Copy {
    folder: PathBuf,
}

impl Copy {
    fn patched() -> Self {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("additions");
        fs::create_dir_all(&home).expect("the target folder is writable");
        let staged = tempfile::tempdir_in(&home).expect("writable");
        let files = Self::stage(staged.path());
        let copy = Self { folder: home.join("repository") };
        follow(staged.path(), &copy.folder, &files);
        copy
    }

    /// The files of the repository, patched; their names.
    fn stage(folder: &Path) -> BTreeSet<PathBuf> {
        let repository = repository();
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = succeeded(Command::new("git").args(list).current_dir(&repository));
        for name in listed.split('\0').filter(|name| !name.is_empty()) {
            let (from, to) = (repository.join(name), folder.join(name));
            fs::create_dir_all(to.parent().expect("it is in the folder")).expect("writable");
            match fs::read_link(&from) {
                Ok(target) => std::os::unix::fs::symlink(target, to).expect("writable"),
                // A file that is deleted and not committed yet.
                Err(_) if !from.exists() => {}
                Err(_) => drop(fs::copy(from, to).expect("writable")),
            }
        }
        for (name, path) in patches() {
            let mut apply = Command::new("git");
            // Else git takes the folder for a part of the repository around it.
            apply.env("GIT_CEILING_DIRECTORIES", folder.parent().expect("not the root"));
            apply.env_remove("GIT_DIR").args(["apply", "--"]).arg(&path).current_dir(folder);
            let output = apply.output().expect("git can be started");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{PAGES}/patches/{name} does not apply any more; `git apply --3way` it, mend what is \
                 left, and write `git diff` over it:\n{said}"
            );
        }
        let manifest = folder.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("readable");
        for [version, _] in VERSIONS {
            assert!(text.contains(version), "Cargo.toml has no `{version}`");
        }
        fs::write(&manifest, VERSIONS.iter().fold(text, |text, [from, to]| text.replace(from, to)))
            .expect("writable");
        files(folder)
    }

    /// Cargo there. It finds the dependencies where they are built already, and leaves programs in a
    /// folder of its own. Before 1.91 it has no build folder, and builds the dependencies there again.
    fn cargo(&self, arguments: &[&str]) -> Command {
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target/tmp");
        let mut cargo = Command::new(env!("CARGO"));
        let settings = AT_ONCE.iter().flat_map(|it| ["--config".into(), format!("{KERNELS}.{it}")]);
        cargo.args(settings).args(arguments).current_dir(&self.folder);
        cargo.env("CARGO_BUILD_BUILD_DIR", shared);
        cargo.env("CARGO_TARGET_DIR", self.folder.with_file_name("target"));
        if std::env::var_os("LIBTORCH").is_none() {
            cargo.env("LIBTORCH", repository().join(".libtorch"));
        }
        cargo
    }
}

/// Configs and results, in a folder that goes.
struct TestWorkspace {
    copy: Copy,
    folder: tempfile::TempDir,
    configs: Vec<String>,
}

impl TestWorkspace {
    fn new(copy: Copy) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |(mode, params): (&str, &str)| {
            let path = folder.path().join(format!("{mode}.yml"));
            let text = format!("benchmark_mode: {mode}\n{SAMPLING}{params}");
            fs::write(&path, text).expect("writable");
            path.to_str().expect("UTF-8").to_owned()
        };
        Self { configs: CONFIGS.map(write).into(), copy, folder }
    }

    fn cargo(&self, arguments: &[&str]) -> String {
        let mut cargo = self.copy.cargo(arguments);
        cargo.env("BENCH_CONFIG", self.configs.join(":"));
        succeeded(cargo.env("CRITERION_HOME", self.folder.path().join("criterion")))
    }

    fn report(&self, arguments: &[&str]) -> String {
        let run = ["run", "--quiet", "--package", "criterion-report", "--"];
        self.cargo(&[run.as_slice(), arguments].concat())
    }

    /// The ids that configs expand to.
    fn planned(&self, configs: &[&str]) -> BTreeSet<String> {
        let planned = self.report(&[["plan", "--format", "json"].as_slice(), configs].concat());
        let planned: Vec<Value> = serde_json::from_str(&planned).expect("a JSON list");
        planned.iter().map(|case| case["full_id"].as_str().expect("an id").to_owned()).collect()
    }

    /// Every case that was recorded, and its outcome.
    fn outcomes(&self) -> BTreeMap<String, Value> {
        let mut outcomes = BTreeMap::new();
        for (mode, _) in CONFIGS {
            let path = self.folder.path().join(format!("criterion-torch/additions/{mode}.jsonl"));
            for line in fs::read_to_string(path).expect("records").lines() {
                let record: Value = serde_json::from_str(line).expect("a record");
                let id = record["full_id"].as_str().expect("an id").to_owned();
                outcomes.insert(id, record["outcome"].clone());
            }
        }
        outcomes
    }
}

#[test]
fn every_patch_is_shown_on_a_page() {
    let pages = fs::read_dir(repository().join(PAGES)).expect("readable");
    let pages = pages.map(|entry| entry.expect("readable").path()).filter(|path| path.is_file());
    let pages: String = pages.map(|path| fs::read_to_string(path).expect("UTF-8")).collect();
    let patches = patches();
    assert!(!patches.is_empty());
    for name in patches.keys() {
        assert!(
            pages.contains(&format!("{{{{#include patches/{name}}}}}")),
            "{name} is shown nowhere"
        );
    }
}

#[test]
fn every_patch_applies() {
    let staged = tempfile::tempdir().expect("a temporary folder");
    assert!(!Copy::stage(staged.path()).is_empty());
}

#[test]
#[ignore = "nightly: builds the library and four benchmarks with every addition, eight minutes"]
fn nightly_every_addition_is_made() {
    let workspace = TestWorkspace::new(Copy::patched());

    let configs: Vec<&str> = workspace.configs.iter().map(String::as_str).collect();
    let planned = workspace.planned(&configs);
    for word in ["ternary/", "/mlp/", "/linear_bias_silu/", "/relu6/", "/fill/"] {
        assert!(planned.iter().any(|id| id.contains(word)), "no {word} in {planned:?}");
    }
    let of_the_set = workspace.planned(&["configs/suites/phi4-cpu.yml"]);
    assert_eq!(of_the_set.len(), 3 * 4, "{of_the_set:?}");

    let targets = CONFIGS.iter().flat_map(|(mode, _)| ["--bench", *mode]);
    let test = ["test", "--package", "criterion-torch"].into_iter().chain(targets);
    let test = test.chain(["--", "--bench", "--save-baseline", "additions"]);
    workspace.cargo(&test.collect::<Vec<_>>());
    let outcomes = workspace.outcomes();
    assert_eq!(outcomes.keys().cloned().collect::<BTreeSet<_>>(), planned);
    for (id, outcome) in &outcomes {
        assert_eq!(outcome["status"], "measured", "{id}: {outcome}");
    }

    let packages = ["criterion-torch-plan", "criterion-torch-native", "criterion-torch-kernels"];
    let packages = packages.iter().flat_map(|package| ["--package", *package]);
    let unit_tests = ["test"].into_iter().chain(packages);
    // Words; the call of the shim; the operator and the probe on the CPU.
    let names = ["words::", "parallel::", "cpu::pointwise::", "cpu::stream::"];
    workspace.cargo(&unit_tests.chain(["--lib", "--"]).chain(names).collect::<Vec<_>>());

    let shown =
        workspace.report(&["show", "--baseline", "additions", "--columns", "latency,energy-steps"]);
    assert!(shown.contains("energy-steps"), "{shown}");
    let exported = workspace.report(&["export", "--baseline", "additions", "influx"]);
    for id in &planned {
        let line = format!("criterion_torch,id={id} latency=");
        assert!(exported.lines().any(|it| it.starts_with(&line)), "{line}:\n{exported}");
    }
}
