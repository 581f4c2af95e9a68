//! The names of a profile's files.

use std::path::{Path, PathBuf};
use std::{fs, io};

use ::libtorch::partial;
use plan::{Case, Work};

/// The folder of all profiles, in the folder of the records.
pub const FOLDER: &str = "profiles";
/// Ends of the names of the files that a profile writes.
const ENDINGS: [&str; 3] = ["_profile.json", "_memory_profile.pickle", "_memory_profile.svg"];
/// Longest stem, in bytes: a file system takes 255, and endings follow.
const LONGEST_STEM: usize = 160;

/// The folder of a case's files, in the folder of the records.
pub fn folder(case: &Case) -> PathBuf {
    Path::new(FOLDER).join(case.id.directory())
}

/// Removes the files of earlier profiles from the folder of a case, also those that were not finished. Other files stay.
///
/// # Errors
/// When one cannot be removed; the error names it.
pub fn clear(folder: &Path) -> io::Result<()> {
    let named = |path: &Path, error: io::Error| {
        io::Error::new(error.kind(), format!("cannot remove {}: {error}", path.display()))
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| named(folder, error))?,
    };
    for entry in entries {
        let path = entry.map_err(|error| named(folder, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = partial::place_of(&name).unwrap_or(&name);
        if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            let removed =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(|error| named(&path, error))?;
        }
    }
    Ok(())
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
        assert_eq!(
            folder(&cases[1]),
            Path::new("profiles/inference_a_linear_cpu/int8wo/bf16-1x2x3"),
            "criterion's folder of the case"
        );
    }

    #[test]
    fn a_folder_is_cleared_of_what_profiles_leave_and_of_nothing_else() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("profiles/x");
        clear(&folder).expect("there is none");
        fs::create_dir_all(&folder).expect("created");
        let unfinished =
            partial::folder_beside(&folder.join("a_profile.json")).expect("a folder").keep();
        fs::write(unfinished.join("trace.json"), "{").expect("written");
        let mark = partial::MARK;
        for name in [
            "a_profile.json",
            "other_memory_profile.pickle",
            "a_memory_profile.svg",
            &format!("a_memory_profile.pickle{mark}x"),
            "notes.txt",
            "profile.json.gz",
        ] {
            fs::write(folder.join(name), "x").expect("written");
        }
        clear(&folder).expect("removed");
        let left = fs::read_dir(&folder).expect("a folder").map(|it| it.expect("an entry"));
        let mut left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["notes.txt", "profile.json.gz"]);
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
