//! Which modes a bench target has: those for which the package has something.

use crate::package::{KERNEL, Package};

const CALL: &str = "benchmark_mode: calibration\ncalibration_params: { probes: [call] }\n";
const LINEAR: &str = "\
benchmark_mode: inference
quantization_config_recipe_names: [baseline, int8wo]
model_params:
  - matrix_shapes: [{ name: custom, shapes: [[1, 64, 64]] }]
    high_precision_dtype: torch.float32
    model_type: linear
    device: cpu
";

fn groups(source: &str) -> usize {
    source.matches("\nfn group_").count()
}

/// The error that rustc would give first, without the package's folder.
fn absence(package: &Package, file: &str) -> String {
    let source = package.generated(file);
    let said = source.lines().find_map(|line| line.strip_prefix("compile_error!("));
    package.without_folder(said.unwrap_or_default().trim_end_matches(");"))
}

#[test]
fn a_target_of_all_modes_has_the_groups_of_each() {
    let package = Package::new(&[("one.rs", KERNEL), ("two.rs", KERNEL)]);
    package.write("configs/inference/mine.yml", LINEAR);
    package.write("configs/calibration/machine.yml", CALL);
    let all = package.generated("all.rs");
    let of = |mode: &str| groups(&package.read(&format!("{mode}.rs")));
    assert_eq!([of("inference"), of("calibration"), of("kernels")], [1, 1, 2]);
    assert_eq!(groups(&all), 4);
    assert_eq!(all.matches("\nmod kernel_").count(), 2);
    assert!(!package.read("inference.rs").contains("mod kernel_"));
    let plan: plan::Plan = serde_json::from_str(&package.read("all.json")).expect("a plan");
    let ids: Vec<String> = plan.cases().map(plan::Case::full_id).collect();
    assert_eq!(
        ids,
        [
            "inference/mine/linear/cpu/baseline/f32-1x64x64",
            "inference/mine/linear/cpu/int8wo/f32-1x64x64",
            "inference/mine/linear/cpu/int8wo+packed/f32-1x64x64",
            "calibration/machine/call/cpu/1-thread/f32-1",
            "kernels/default/one/cpu/kernel/f32-default",
            "kernels/default/two/cpu/kernel/f32-default",
        ]
    );
}

#[test]
fn a_mode_without_anything_is_an_error_of_the_target_that_asks_for_it() {
    let package = Package::new(&[("one.rs", KERNEL)]);
    assert_eq!([absence(&package, "kernels.rs"), absence(&package, "all.rs")], ["", ""]);
    assert_eq!(
        absence(&package, "fusion.rs"),
        r#""this package has nothing for the mode `fusion`: put a config into configs/fusion, as default.yml""#
    );
    let empty = Package::new(&[]);
    let kernels = r#""this package has no kernels: put one into benches/kernels, as mine.rs""#;
    assert_eq!(absence(&empty, "kernels.rs"), kernels);
    assert_eq!(
        absence(&empty, "all.rs"),
        r#""this package has nothing to measure: put a config into configs/inference, as default.yml, or a kernel into benches/kernels, as mine.rs""#
    );
    // An empty folder is the author's to fill; that is told otherwise.
    std::fs::create_dir_all(empty.path("benches/kernels")).expect("made");
    assert_eq!(absence(&empty, "kernels.rs"), "");
}

/// Cargo is not told to look for a folder that is missing, or it would build each time.
#[test]
fn a_program_of_all_modes_knows_the_folder_that_it_has_not_seen() {
    let package = Package::new(&[("one.rs", KERNEL)]);
    let unseen = |file: &str| {
        let source = package.generated(file);
        let line =
            source.lines().find_map(|line| line.strip_prefix("const UNSEEN: Option<&str> = "));
        package.without_folder(line.expect("it is there"))
    };
    assert_eq!([unseen("all.rs"), unseen("kernels.rs")], [r#"Some("configs");"#, "None;"]);
    package.write("configs/calibration/machine.yml", CALL);
    assert_eq!(unseen("all.rs"), "None;");
}

#[test]
fn named_configs_go_to_their_modes_and_the_others_have_nothing_to_do() {
    let package = Package::new(&[("one.rs", KERNEL), ("two.rs", KERNEL), ("three.rs", KERNEL)]);
    package.write("a.yml", "benchmark_mode: kernels\n");
    package.write("b.yml", "benchmark_mode: kernels\noverride: { precisions: [fp64] }\n");
    package.write("c.yml", CALL);
    package.generate(Some("a.yml:b.yml:c.yml")).unwrap_or_else(|it| panic!("{it}"));
    let kernels = package.read("kernels.rs");
    assert_eq!(kernels.matches("\nmod kernel_").count(), 3);
    assert_eq!([groups(&kernels), groups(&package.read("all.rs"))], [6, 7]);
    assert!(!package.read("calibration.rs").contains("mod kernel_"));
    package.generate(Some("c.yml")).unwrap_or_else(|it| panic!("{it}"));
    assert_eq!(package.read("all.rs"), package.read("calibration.rs"));
    insta::assert_snapshot!(package.read("kernels.rs"));
}

#[test]
fn a_config_of_training_goes_to_its_mode() {
    let package = Package::new(&[]);
    package.write(
        "mine.yml",
        &LINEAR.replace("inference", "training").replace("int8wo", "float8-tensorwise"),
    );
    package.generate(Some("mine.yml")).unwrap_or_else(|it| panic!("{it}"));
    // A group for each of six parts of a step.
    assert_eq!(groups(&package.read("training.rs")), 6);
    assert_eq!(groups(&package.read("inference.rs")), 0);
    assert_eq!(package.read("all.rs"), package.read("training.rs"));
}

#[test]
fn a_config_outside_of_any_package_is_one_of_the_build_s() {
    let package = Package::new(&[("mine.rs", KERNEL)]);
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let config = elsewhere.path().join("other.yml");
    std::fs::write(&config, "benchmark_mode: kernels\n").expect("written");
    package.generate(config.to_str()).expect("it is fine");
    let made = package.read("kernels.json");
    assert!(made.contains(r#""file":"benches/kernels/mine.rs""#), "{made}");
}
