//! The names of a profile's files.

use std::path::{Path, PathBuf};

use plan::{Case, Work};

/// The folder of all profiles, in the folder of the records.
pub const FOLDER: &str = "profiles";
/// Longest stem, in bytes: a file system takes 255, and endings follow.
const LONGEST_STEM: usize = 160;

/// The folder of a case's files.
pub fn folder(root: &Path, case: &Case) -> PathBuf {
    root.join(FOLDER).join(case.id.directory())
}

/// The beginning of their names: upstream's, for a model; else the workload, variant and parameter of the id.
pub fn stem(case: &Case) -> String {
    let stem = match &case.work {
        Work::Model(work) => {
            let (shape, variant) = (work.shape, work.variant);
            let name = case.names.first().unwrap_or(&case.config);
            let sparsity = variant.sparsity.map_or_else(|| "None".to_owned(), |it| it.to_string());
            let (m, k, n) = (shape.m, shape.k, shape.n);
            format!("{name}_{m}_{k}_{n}_quant_{}_sparsity_{sparsity}", variant.recipe)
        }
        _ => {
            let workload = case.id.group.split('/').nth(2).unwrap_or(&case.id.group);
            format!("{workload}_{}_{}", case.id.variant, case.id.parameter)
        }
    };
    let is_plain = |c: char| c.is_alphanumeric() || "+-._~".contains(c);
    let mut stem: String = stem.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    while stem.len() > LONGEST_STEM {
        stem.pop();
    }
    stem
}

#[cfg(test)]
mod tests {
    use plan::Config;

    use super::*;

    fn cases(text: &str) -> Vec<Case> {
        let config = Config::parse(Path::new("a.yml"), text).expect("a config");
        let plan = plan::expand(&[config]).expect("a plan");
        plan.cases().cloned().collect()
    }

    #[test]
    fn a_models_files_have_upstreams_names() {
        let cases = cases(
            "quantization_config_recipe_names: [int8wo]\n\
             model_params:\n\
             \x20 - name: small linear\n\
             \x20   matrix_shapes: [{ name: custom, shapes: [[1, 2, 3]] }]\n",
        );
        let stems: Vec<String> = cases.iter().map(stem).collect();
        // The packed form of a recipe has the same file names, in another folder.
        let expected = ["baseline", "int8wo", "int8wo"]
            .map(|recipe| format!("small_linear_1_2_3_quant_{recipe}_sparsity_None"));
        assert_eq!(stems, expected);
        let folder = folder(Path::new("root"), &cases[1]);
        assert_eq!(
            folder,
            Path::new("root/profiles/inference_a_linear_cpu/int8wo/bf16-1x2x3"),
            "criterion's folder of the case"
        );
    }

    #[test]
    fn long_names_fit_a_file_system() {
        let name = "é".repeat(300);
        let text = format!(
            "model_params:\n  - name: {name}\n    matrix_shapes: [{{ name: custom, shapes: [[1, 2, 3]] }}]\n"
        );
        for case in cases(&text) {
            assert!(stem(&case).len() <= LONGEST_STEM);
        }
    }
}
