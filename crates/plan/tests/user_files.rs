//! Recipes and models of a package: from their files to a plan, and what is told of a mistake.

use plan::{Config, Diagnostics, Plan, expand};

struct Package {
    folder: tempfile::TempDir,
}

impl Package {
    /// One with `files`, by their paths inside `benches`.
    fn new(files: &[(&str, &str)]) -> Self {
        let package = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        package.write("Cargo.toml", "");
        for (file, text) in files {
            package.write(&format!("benches/{file}"), text);
        }
        package
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.folder.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    fn config(&self, text: &str) -> Result<Config, Diagnostics> {
        Config::parse(&self.folder.path().join("configs/inference/own.yml"), text)
    }

    fn plan(&self, text: &str) -> Plan {
        let config = self.config(text).unwrap_or_else(|errors| panic!("{errors}"));
        expand(&[config]).unwrap_or_else(|errors| panic!("{errors}"))
    }

    /// The error messages for a file with this text, without the path of the package's folder.
    fn errors(&self, text: &str) -> String {
        let errors = match self.config(text) {
            Ok(config) => expand(&[config]).expect_err("something is wrong"),
            Err(errors) => errors,
        };
        let folder = self.folder.path().display().to_string() + "/";
        errors.to_string().replace(&folder, "")
    }
}

const TERNARY: &str = r#"
use criterion_torch::recipes::prelude::*;

pub const SPELLING: &str = "ternary-<group>";

pub struct Recipe {
    pub group: u8,
}

impl Scheme for Recipe {}
"#;

const MLP: &str = r#"
pub const SPELLING: &str = "mlp";

pub struct Model;

impl criterion_torch::models::Architecture for Model {}
"#;

/// A config of these recipes and this model.
fn config(recipes: &str, model: &str) -> String {
    format!(
        "quantization_config_recipe_names: [{recipes}]
model_params: {{ model_type: {model}, high_precision_dtype: torch.float32,
  matrix_shapes: [{{ name: custom, shapes: [[4, 64, 32]] }}] }}
"
    )
}

fn both() -> Package {
    Package::new(&[
        ("recipes/ternary.rs", TERNARY),
        ("recipes/_helper.rs", "not Rust"),
        ("recipes/ternary/pack.rs", "pub fn pack() {}"),
        ("models/mlp.rs", MLP),
    ])
}

#[test]
fn configs_name_what_is_in_the_package() {
    let plan = both().plan(&config("int8wo, ternary-64, ternary-128", "mlp"));
    let ids: Vec<String> = plan.cases().map(plan::Case::full_id).collect();
    assert_eq!(
        ids,
        [
            "inference/own/mlp/cpu/baseline/f32-4x64x32",
            "inference/own/mlp/cpu/int8wo/f32-4x64x32",
            "inference/own/mlp/cpu/int8wo+packed/f32-4x64x32",
            "inference/own/mlp/cpu/ternary-64/f32-4x64x32",
            "inference/own/mlp/cpu/ternary-128/f32-4x64x32",
        ]
    );
    let json = serde_json::to_string(&plan).expect("a plan");
    assert_eq!(serde_json::from_str::<Plan>(&json).expect("the same"), plan);
    for case in plan.cases() {
        assert_eq!(plan::cost::flops(case), None, "a package's model says it when it runs");
    }
}

#[test]
fn a_recipe_with_a_built_in_model_has_a_known_cost() {
    let plan = both().plan(&config("ternary-64", "linear"));
    let [baseline, own] = &plan.groups[0].cases[..] else { panic!("two cases: {plan:?}") };
    assert_eq!(plan::cost::flops(own), Some(2 * 4 * 64 * 32));
    assert!(plan::cost::memory_bytes(own) >= plan::cost::memory_bytes(baseline));
}

#[test]
fn a_sparse_layout_is_planned_and_left_to_the_recipe() {
    let text = config("ternary-64", "linear") + "sparsity_config_recipe_names: [semi-sparse]\n";
    let plan = both().plan(&text);
    let variants: Vec<_> = plan.cases().map(plan::Case::variant).collect();
    assert_eq!(variants, ["baseline", "ternary-64", "ternary-64+semi-sparse"]);
}

#[test]
fn the_hash_is_of_the_files_that_are_named() {
    let package = both();
    let hashes = || {
        let hash = |text: &str| package.config(text).unwrap_or_else(|it| panic!("{it}")).hash;
        [("ternary-64", "linear"), ("int8wo", "mlp"), ("int8wo", "linear")]
            .map(|(recipes, model)| hash(&config(recipes, model)))
    };
    let [recipe, model, neither] = hashes();
    package.write("benches/recipes/ternary.rs", &(TERNARY.to_owned() + "// edited\n"));
    let edited = hashes();
    assert_ne!(edited[0], recipe);
    assert_eq!(edited[1..], [model, neither]);
}

#[test]
fn unknown_words_have_a_remedy_that_knows_both() {
    let package = both();
    for (recipes, model, said) in [
        ("ternery-<group>", "linear", "did you mean `ternary-<group>`?"),
        ("ternry-32", "linear", "unknown recipe `ternry-32`; did you mean `ternary-32`?"),
        ("int8w0", "linear", "unknown recipe `int8w0`; did you mean `int8wo`?"),
        (
            "ternary",
            "linear",
            "unknown recipe `ternary`; this family is written ternary-<group>, group up to 255",
        ),
        ("ternary-0", "linear", "this family is written ternary-<group>, group up to 255"),
        ("ternary-256", "linear", "this family is written ternary-<group>, group up to 255"),
        ("int4wo-33", "linear", "this family is written int4wo-{32|64|128|256}"),
        (
            "int8wo",
            "mlpp",
            "model_params.model_type: unknown model type `mlpp`; did you mean `mlp`?",
        ),
        ("int8wo", "convolution", "use one of: linear, ln_linear_relu"),
        (
            "int8wo",
            "convolution",
            "transformer_block, decoder-16-8-32-6-0, decoder_fused-8-4-64-1-5, mlp",
        ),
    ] {
        let errors = package.errors(&config(recipes, model));
        assert!(errors.contains(said), "{recipes} {model}: {errors}");
    }
    // Without the files, the words are unknown.
    let bare = Package::new(&[]);
    assert!(bare.errors(&config("ternary-64", "mlp")).contains("unknown recipe `ternary-64`"));
}

#[test]
fn a_model_with_too_long_a_word_is_refused() {
    let long = "a_model_with_a_rather_long_name";
    let package =
        Package::new(&[("models/long.rs", &MLP.replace("\"mlp\"", &format!("{long:?}")))]);
    let stem = "a-config-with-a-long-name";
    let file = package.folder.path().join(format!("{stem}.yml"));
    let config = Config::parse(&file, &config("", long)).expect("it reads");
    let errors = expand(&[config]).expect_err("too long").to_string();
    assert!(errors.contains("is longer than a group can be, 64 bytes"), "{errors}");
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_place() {
    let text = config("int8wo", "linear");
    for (from, to, said) in [
        (
            r#"pub const SPELLING: &str = "ternary-<group>";"#,
            "",
            "benches/recipes/mine.rs: no `pub const SPELLING: &str`; say how configs write it",
        ),
        (
            r#""ternary-<group>""#,
            "NAME",
            "benches/recipes/mine.rs:4:28: `SPELLING` is `NAME`; write the text itself",
        ),
        ("pub const", "const", "benches/recipes/mine.rs:4:7: `SPELLING` is private; write"),
        (
            "ternary-<group>",
            "my ternary",
            "benches/recipes/mine.rs:4:28: `my ternary` has a ` `, which cannot be part of an id; use \
             letters",
        ),
        (
            "ternary-<group>",
            "int4wo-<group>-mine",
            "benches/recipes/mine.rs: its spelling `int4wo-<group>-mine` is taken: `int4wo` is a \
             built-in recipe; choose another word for SPELLING",
        ),
        (
            "ternary-<group>",
            "ternary",
            "benches/recipes/mine.rs:7:5: the spelling `ternary` does not have the field `group`; \
             write `<group>` into it, or make the field a constant",
        ),
        (
            "ternary-<group>",
            "ternary-<group>-<bits>",
            "benches/recipes/mine.rs:6:12: `Recipe` has no field `bits`; the spelling \
             `ternary-<group>-<bits>` has it: add `pub bits: u64`, or take it out",
        ),
        ("pub group", "group", "benches/recipes/mine.rs:7:5: the field `group` is private"),
        (
            "group: u8",
            "group: f64",
            "benches/recipes/mine.rs:7:16: `group` has the type `f64`; use one of u8, u16, u32, u64,",
        ),
        ("Recipe {", "Other {", "benches/recipes/mine.rs: no `pub struct Recipe`; declare it"),
        (
            "impl Scheme for Recipe {}",
            "",
            "benches/recipes/mine.rs: no `impl Scheme for Recipe`; implement the trait `Scheme` of \
             criterion-torch for it",
        ),
        ("{\n    pub group: u8,\n}", "(pub u8);", "`Recipe`'s fields have no names"),
        ("impl", "impl {", "benches/recipes/mine.rs:10:"),
    ] {
        let wrong = TERNARY.replacen(from, to, 1);
        assert_ne!(wrong, TERNARY, "{from}");
        let errors = Package::new(&[("recipes/mine.rs", &wrong)]).errors(&text);
        assert!(errors.contains(said), "{to}: {errors}");
    }
}

#[test]
fn one_word_in_two_files_names_both() {
    let package = Package::new(&[
        ("recipes/a.rs", TERNARY),
        ("recipes/b.rs", &TERNARY.replace("\"ternary-<group>\"", "\"Ternary-<group>\"")),
    ]);
    let errors = package.errors(&config("int8wo", "linear"));
    assert_eq!(
        errors.replace(&package.folder.path().display().to_string(), ""),
        "benches/recipes/b.rs: its spelling `Ternary-<group>` can mean the same recipe as \
         `ternary-<group>` of benches/recipes/a.rs; choose another word for one of the two"
    );
    let taken = Package::new(&[("models/mine.rs", &MLP.replace("mlp", "ln_linear"))]);
    let taken = taken.errors(&config("int8wo", "linear"));
    assert!(taken.contains("`ln_linear` is a built-in model type"), "{taken}");
    let taken = Package::new(&[("models/mine.rs", &MLP.replace("mlp", "Linear"))]);
    let taken = taken.errors(&config("int8wo", "linear"));
    assert!(
        taken.contains("its spelling `Linear` is taken: `linear` is a built-in model"),
        "{taken}"
    );
}

#[test]
fn a_record_of_a_word_whose_file_is_elsewhere_is_read() {
    let plan = both().plan(&config("ternary-64", "mlp"));
    let case = plan.cases().last().expect("two cases");
    let json = serde_json::to_value(case).expect("a case");
    assert_eq!((&json["recipe"], &json["model"]), (&"ternary-64".into(), &"mlp".into()));
    let read: plan::Case = serde_json::from_value(json.clone()).expect("the same");
    assert_eq!(&read, case);
    let mut wrong = json;
    wrong["recipe"] = "no word".into();
    assert!(serde_json::from_value::<plan::Case>(wrong).is_err());
}

/// The book shows these lines.
#[test]
fn a_mistake_is_one_line() {
    let mut said =
        both().errors("quantization_config_recipe_names: [int8wo, ternry-32]\nmodel_params: {}\n");
    let taken = TERNARY.replace("ternary-<group>", "int4wo-<group>");
    said += "\n";
    said += &Package::new(&[("recipes/mine.rs", &taken)]).errors(&config("int8wo", "linear"));
    insta::assert_snapshot!(said);
}
