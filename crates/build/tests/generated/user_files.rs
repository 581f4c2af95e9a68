//! The source that is generated of a package's own recipes and models is as expected, and rustc takes it.

use plan::{Brings, Library};

use crate::kernels::{compiled, compiled_with};
use crate::package::Package;

const CONFIG: &str = "\
quantization_config_recipe_names: [w4a8, ternary]
model_params:
  - matrix_shapes: [{ name: custom, shapes: [[1, 64, 64]] }]
    high_precision_dtype: torch.float32
    model_type: mlp-2
";

/// A file of the form of the kind: its struct, and the trait of it. The library here has traits without
/// functions, so nothing reads the fields.
fn file((name, of_trait): (&str, &str), spelling: &str, fields: &str) -> String {
    format!(
        "use criterion_torch::kernel::generated::{of_trait};
pub const SPELLING: &str = {spelling:?};
#[allow(dead_code)]
pub struct {name} {fields}
impl {of_trait} for {name} {{}}
"
    )
}

const RECIPE: (&str, &str) = ("Recipe", "Scheme");
const MODEL: (&str, &str) = ("Model", "Architecture");

fn package() -> Package {
    let package = Package::new(&[]);
    for (path, text) in [
        ("recipes/mixed.rs", file(RECIPE, "w<bits>a<type>", "{ pub bits: u8, pub r#type: usize }")),
        ("recipes/ternary.rs", file(RECIPE, "ternary", ";")),
        ("models/mlp.rs", file(MODEL, "mlp-<layers>", "{ pub layers: u32 }")),
    ] {
        package.write(&format!("benches/{path}"), &text);
    }
    package.write("configs/inference/own.yml", CONFIG);
    package
}

#[test]
fn recipes_and_models_are_modules_of_the_targets_that_can_name_them() {
    let package = package();
    let source = package.without_folder(&package.generated("inference.rs"));
    let own = source.split("generated::prepare(KERNELS, case)\n}\n").last().expect("it is split");
    insta::assert_snapshot!(own);
    let all = package.without_folder(&package.read("all.rs"));
    assert!(all.ends_with(own), "the same for all modes");
    let others = package.read("fusion.rs");
    assert!(
        others.contains(
            "const RECIPES: &[generated::UserDefinition<dyn generated::Scheme>] = &[\n];"
        )
    );
    assert!(!others.contains("mod recipe_0"));
}

#[test]
fn rustc_takes_it_without_a_warning() {
    let errors = compiled(&package());
    assert!(errors.is_empty(), "{errors}");
}

#[test]
fn one_word_in_two_packages_names_both_files() {
    let package = package();
    for file in ["Cargo.toml", "benches/recipes/other.rs", "b.yml"] {
        let text = match file {
            "b.yml" => CONFIG.replace("w4a8, ", "").replace("mlp-2", "linear"),
            "Cargo.toml" => String::new(),
            _ => self::file(RECIPE, "ternary", ";"),
        };
        package.write(&format!("inner/{file}"), &text);
    }
    let errors = package.generate(Some("configs/inference/own.yml:inner/b.yml")).unwrap_err();
    assert_eq!(
        package.without_folder(&errors.to_string()),
        "inner/benches/recipes/other.rs: its spelling `ternary` can mean the same recipe as `ternary` of \
         benches/recipes/ternary.rs; choose another word for one of the two"
    );
}

/// A crate that brings a recipe, under another name than it has there; and one that spells it as the package does.
#[test]
fn a_crate_brings_a_recipe_as_a_module_of_its_own() {
    let mut package = package();
    for (path, text) in [
        ("fast/lib.rs", "pub mod recipes;\n".to_owned()),
        ("fast/recipes/mod.rs", "pub mod binary;\n".to_owned()),
        ("fast/recipes/binary.rs", file(RECIPE, "binary-<group>", "{ pub group: u64 }")),
    ] {
        package.write(path, &text);
    }
    package.write("configs/inference/own.yml", &CONFIG.replace("w4a8", "binary-8"));
    package.libraries.push(Library {
        package: "fast-recipes".to_owned(),
        manifest: package.path("fast/Cargo.toml"),
        brings: Brings::Recipes,
        folder: package.path("fast/recipes"),
        module: "::fast::recipes".to_owned(),
    });
    let errors = compiled_with(&package, &["fast"]);
    assert!(errors.is_empty(), "{errors}");
    let source = package.read("inference.rs");
    assert!(source.contains("::fast::recipes::binary::Recipe {"), "{source}");

    package.write("fast/recipes/binary.rs", &file(RECIPE, "ternary", ";"));
    let errors = package.generate(None).unwrap_err().to_string();
    let said = "fast/recipes/binary.rs: its spelling `ternary` can mean the same recipe as `ternary` of \
                benches/recipes/ternary.rs";
    assert!(package.without_folder(&errors).contains(said), "{errors}");
}
