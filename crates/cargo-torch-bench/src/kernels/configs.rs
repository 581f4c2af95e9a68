//! The configs of a run, and what its options say over them.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use plan::results::variable;
use serde_json::{Map, Value};

use crate::cargo::BENCH_CONFIG;
use crate::error::{Error, Result};
use crate::files;

/// Settings that win over every config and every `bench.yaml`, and select among the precisions and
/// backends that one lists. Settings that are not given stay as they are there.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct Overrides {
    /// Timed iterations, 10 or more
    #[arg(long = "iters", value_name = "N")]
    pub timed: Option<u64>,
    /// Iterations before the timed ones
    #[arg(long, value_name = "N")]
    pub warmup: Option<u64>,
    /// Only these of bench.yaml's precisions: fp64, fp32, bf16, fp16, fp8
    ///
    /// What a kernel does not list is reported as skipped.
    #[arg(long = "precision", value_name = "LIST", value_delimiter = ',', action = ArgAction::Set, value_parser = word)]
    pub precisions: Vec<String>,
    /// Only these of bench.yaml's backends: cpu, cuda, rocm; or pytorch, what calls torch
    ///
    /// What a kernel does not list is reported as skipped.
    #[arg(long, value_name = "LIST", value_delimiter = ',', action = ArgAction::Set, value_parser = word)]
    pub backends: Vec<String>,
    /// Seed of the inputs
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// The plan knows which words there are.
fn word(text: &str) -> std::result::Result<String, &'static str> {
    match text.trim() {
        "" => Err("it takes words separated by commas"),
        word => Ok(word.to_owned()),
    }
}

impl Overrides {
    /// The value of `plan::OVERRIDE_VARIABLE`; none where nothing is asked for.
    pub fn json(&self) -> Option<String> {
        let Self { timed, warmup, precisions, backends, seed } = self;
        let mut all = Map::new();
        let iterations = [("warmup", warmup), ("timed", timed)];
        let iterations: Map<_, _> = iterations
            .into_iter()
            .filter_map(|(key, calls)| Some((key.to_owned(), Value::from((*calls)?))))
            .collect();
        if !iterations.is_empty() {
            all.insert("iterations".to_owned(), iterations.into());
        }
        for (key, words) in [("precisions", precisions), ("backends", backends)] {
            if !words.is_empty() {
                all.insert(key.to_owned(), words.clone().into());
            }
        }
        all.extend(seed.map(|seed| ("seed".to_owned(), seed.into())));
        (!all.is_empty()).then(|| Value::from(all).to_string())
    }
}

/// The default suite of the bench target.
const DEFAULT: &str = "configs/kernels";
/// Stands for a default suite where there is none. Not in CARGO_TARGET_DIR: `kernel_paths` begin at the nearest
/// Cargo.toml above.
const STAND_IN: &str = "target/torch-bench/kernels/default.yml";

/// The configs, relative to the root: those that BENCH_CONFIG names, else the default suite.
pub fn paths(root: &Path, overrides: &Overrides) -> Result<Vec<PathBuf>> {
    let Some(list) = variable(BENCH_CONFIG) else {
        return default_suite(root);
    };
    if overrides.json().is_some() {
        return Err(Error::usage(format!(
            "{BENCH_CONFIG} is \"{}\", and options override {DEFAULT} alone",
            list.display()
        ))
        .remedy(format!("unset {BENCH_CONFIG}"))
        .remedy("or say it in your config, under the key `override`, without the options"));
    }
    Ok(std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect())
}

/// Every config directly inside the folder, in the order of their names. Without the folder the
/// bench target does as with one that says nothing.
fn default_suite(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join(DEFAULT);
    if !folder.exists() {
        files::write(&root.join(STAND_IN), "benchmark_mode: kernels\n")?;
        return Ok(vec![STAND_IN.into()]);
    }
    let mut suite = files::inside(&folder)?;
    suite.retain(|file| plan::is_config(file));
    if suite.is_empty() {
        return Err(Error::new(format!("{} holds no config", folder.display()))
            .remedy("put one there: `benchmark_mode: kernels` is enough")
            .remedy("or remove the folder, and benches/kernels is searched"));
    }
    Ok(suite.iter().map(|file| Path::new(DEFAULT).join(files::name(file))).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn options_are_data_for_the_plan() {
        let all = Overrides {
            warmup: Some(3),
            timed: Some(30),
            precisions: vec!["fp32".to_owned(), "a\"b".to_owned()],
            backends: vec!["cpu".to_owned()],
            seed: Some(1337),
        };
        let json = r#"{"backends":["cpu"],"iterations":{"timed":30,"warmup":3},"precisions":["fp32","a\"b"],"seed":1337}"#;
        assert_eq!(all.json().as_deref(), Some(json));
        let fewer = Overrides { timed: Some(10), ..Overrides::default() };
        assert_eq!(fewer.json().as_deref(), Some(r#"{"iterations":{"timed":10}}"#));
        assert_eq!(Overrides::default().json(), None);
    }

    #[test]
    fn the_default_suite_is_the_configs_of_its_folder() {
        let root = tempfile::tempdir().expect("a scratch folder");
        let suite = default_suite(root.path()).expect("a stand-in");
        assert_eq!(suite, [PathBuf::from(STAND_IN)]);
        let text = fs::read_to_string(root.path().join(STAND_IN)).expect("it was written");
        assert_eq!(text, "benchmark_mode: kernels\n");

        let folder = root.path().join(DEFAULT);
        fs::create_dir_all(&folder).expect("make a scratch folder");
        fs::write(folder.join("readme"), "").expect("write a scratch file");
        let error = default_suite(root.path()).expect_err("no config");
        assert!(error.what().ends_with("configs/kernels holds no config"), "{error}");
        for file in ["b.yaml", "a.yml"] {
            fs::write(folder.join(file), "").expect("write a config");
        }
        let suite = default_suite(root.path()).expect("two configs");
        assert_eq!(suite, ["configs/kernels/a.yml", "configs/kernels/b.yaml"].map(PathBuf::from));
    }
}
