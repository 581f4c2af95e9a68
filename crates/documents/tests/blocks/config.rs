//! Blocks of YAML: whole configs, `bench.yaml` files, and parts.

use std::fs;

use plan::{Config, Package, expand};

use crate::common::{Block, Document, blocks, root};
use crate::{Fault, text};

/// By what stands behind `yaml`: the target whose config it is, `bench` for the `bench.yaml` of the kernel
/// before it, or `part`.
pub fn check(document: &Document, block: &Block, kind: &str) -> Result<(), Fault> {
    match kind {
        "part" => serde_yaml::from_str::<serde_yaml::Value>(&block.body)
            .map(drop)
            .map_err(|error| error.to_string()),
        "bench" => {
            let before = blocks(&document.text[..block.begin]);
            let mut before = before.iter().rev().filter(|it| it.language == "rust");
            let kernel = before.next().ok_or("no kernel in Rust stands before it")?;
            let file = text::included(document, kernel)?;
            bench(&file.unwrap_or_else(|| kernel.body.clone()), &block.body)
        }
        target => {
            let file = text::included(document, block)?;
            config(target, file.as_ref().unwrap_or(&block.body))
        }
    }
}

fn config(target: &str, text: &str) -> Result<(), Fault> {
    let file = root().join("configs").join(target).join("block.yml");
    let config = Config::parse(&file, text).map_err(|errors| errors.to_string())?;
    let mode = config.mode.as_str();
    let plan = expand(&[config]).map_err(|errors| errors.to_string())?;
    match plan.cases().next() {
        _ if mode != target => Err(format!("`yaml,{target}` is a config of `{mode}`")),
        None => Err("it expands to no case".to_owned()),
        Some(_) => Ok(()),
    }
}

fn bench(kernel: &str, text: &str) -> Result<(), Fault> {
    let package = tempfile::tempdir().expect("a temporary folder");
    let folder = package.path().join("benches/kernels/block");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(package.path().join("Cargo.toml"), "").expect("writable");
    fs::write(folder.join("kernel.rs"), kernel).expect("writable");
    fs::write(folder.join("bench.yaml"), text).expect("writable");
    let built = Package { folder: package.path(), libraries: &[] };
    criterion_torch_build::generate(built, None, package.path())
        .map_err(|errors| errors.to_string())
}

#[test]
fn wrong_configs_are_found() {
    for (target, text, what) in [
        ("fusion", "benchmark_mode: fusion\nfusion_parms: []\n", "unknown key"),
        ("inference", "quantization_config_recipe_names: [int8w0]\n", "unknown recipe"),
        (
            "fusion",
            "benchmark_mode: calibration\ncalibration_params: [{ probes: [call] }]\n",
            "a config of",
        ),
    ] {
        let fault = config(target, text).expect_err(text);
        assert!(fault.contains(what), "{fault}");
    }
    let kernel = fs::read_to_string(root().join("crates/end-to-end/kernels/readme/kernel.rs"));
    let fault = bench(&kernel.expect("readable"), "iteration: { timed: 3 }\n").expect_err("a key");
    assert!(fault.contains("iteration"), "{fault}");
}
