//! The configs of a run: those of the clone, or copies of them that say what the command line asks
//! for.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::workspace::Workspace;

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
    /// Precisions among fp64, fp32, bf16, fp16, fp8 that a bench.yaml lists: each is really run
    #[arg(long = "precision", value_name = "LIST", value_delimiter = ',', action = ArgAction::Set, value_parser = word)]
    pub precisions: Vec<String>,
    /// Backends among cpu, cuda that a bench.yaml lists: each is run there, or skipped with its reason
    #[arg(long, value_name = "LIST", value_delimiter = ',', action = ArgAction::Set, value_parser = word)]
    pub backends: Vec<String>,
    /// Seed of the inputs
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Which words there are, the plan knows.
fn word(text: &str) -> std::result::Result<String, &'static str> {
    match text.trim() {
        "" => Err("it takes words separated by commas"),
        word => Ok(word.to_owned()),
    }
}

/// What is measured.
#[derive(Debug, PartialEq, Eq)]
pub struct Configs {
    /// Relative to the root of the clone.
    pub files: Vec<PathBuf>,
    /// They are copies, so cargo has to be told.
    pub overridden: bool,
}

/// The default suite of the bench target.
const DEFAULT: &str = "configs/kernels";
/// A config that is called as in the default suite gives the same ids, so that filters, baselines
/// and history match. Not in CARGO_TARGET_DIR: `kernel_paths` begin at the nearest Cargo.toml above.
const COPIES: &str = "target/xtask/kernels";
const BENCH_CONFIG: &str = "BENCH_CONFIG";

pub fn of(workspace: &Workspace, overrides: &Overrides) -> Result<Configs> {
    let chosen = std::env::var_os(BENCH_CONFIG).filter(|list| !list.is_empty());
    if let Some(list) = chosen {
        if overrides != &Overrides::default() {
            return Err(Error::usage(format!(
                "{BENCH_CONFIG} is \"{}\", and options override {DEFAULT} alone",
                list.display()
            ))
            .remedy(format!("unset {BENCH_CONFIG}"))
            .remedy("or say it in your config, under the key `override`, without the options"));
        }
        let named = std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty());
        return Ok(Configs { files: named.collect(), overridden: false });
    }
    of_default_suite(workspace.root(), overrides)
}

fn of_default_suite(root: &Path, overrides: &Overrides) -> Result<Configs> {
    let overridden = overrides != &Overrides::default();
    let suite = default_suite(root)?;
    if !overridden && suite.iter().all(|config| root.join(&config.file).exists()) {
        return Ok(Configs { files: suite.into_iter().map(|it| it.file).collect(), overridden });
    }
    let files = suite.iter().map(|config| config.copy(root, overrides)).collect::<Result<_>>()?;
    Ok(Configs { files, overridden })
}

struct Source {
    file: PathBuf,
    text: String,
}

/// Every config directly inside the folder, in the order of their names. Without the folder the
/// bench target does as with one that says nothing.
fn default_suite(root: &Path) -> Result<Vec<Source>> {
    let folder = root.join(DEFAULT);
    let unreadable = |error| Error::io("read", &folder, &error);
    if !folder.exists() {
        let file = Path::new(DEFAULT).join("default.yml");
        return Ok(vec![Source { file, text: "benchmark_mode: kernels\n".to_owned() }]);
    }
    let mut suite = Vec::new();
    for entry in fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if !path.extension().is_some_and(|it| it == "yml" || it == "yaml") {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|error| Error::io("read", &path, &error))?;
        let name = path.file_name().unwrap_or_default();
        suite.push(Source { file: Path::new(DEFAULT).join(name), text });
    }
    if suite.is_empty() {
        return Err(Error::new(format!("{} holds no config", folder.display()))
            .remedy("put one there: `benchmark_mode: kernels` is enough")
            .remedy("or remove the folder, and benches/kernels is searched"));
    }
    suite.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(suite)
}

impl Source {
    /// Leaves a copy that is already as it has to be: cargo builds anew for one that changes.
    fn copy(&self, root: &Path, overrides: &Overrides) -> Result<PathBuf> {
        let text = self.overridden(overrides)?;
        let copy = Path::new(COPIES).join(self.file.file_name().unwrap_or_default());
        let path = root.join(&copy);
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            return Ok(copy);
        }
        let folder = root.join(COPIES);
        fs::create_dir_all(&folder).map_err(|error| Error::io("create", &folder, &error))?;
        fs::write(&path, text).map_err(|error| Error::io("write", &path, &error))?;
        Ok(copy)
    }

    /// The config as it is, line for line, and what is asked for behind it.
    fn overridden(&self, overrides: &Overrides) -> Result<String> {
        if self.text.lines().any(|line| line.starts_with("override:")) {
            return Err(Error::new(format!(
                "{} has an `override` of its own, which options would replace",
                self.file.display()
            ))
            .remedy("run without --iters, --warmup, --precision, --backends and --seed")
            .remedy(
                "or move that config out of the default suite, and name it with BENCH_CONFIG",
            ));
        }
        let end = if self.text.ends_with('\n') { "" } else { "\n" };
        Ok(format!("{}{end}{overrides}", self.text))
    }
}

impl std::fmt::Display for Overrides {
    /// Writes the key of a config; nothing if nothing is asked for.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self == &Self::default() {
            return Ok(());
        }
        f.write_str("\n# Asked for on the command line of `cargo xtask kernels`.\noverride:\n")?;
        let iterations: Vec<String> = [("warmup", self.warmup), ("timed", self.timed)]
            .iter()
            .filter_map(|(key, calls)| Some(format!("{key}: {}", (*calls)?)))
            .collect();
        if !iterations.is_empty() {
            writeln!(f, "  iterations: {{{}}}", iterations.join(", "))?;
        }
        for (key, words) in [("precisions", &self.precisions), ("backends", &self.backends)] {
            if words.is_empty() {
                continue;
            }
            // Quoted: the plan, not YAML, is to say what is wrong with a word.
            let mut list = String::new();
            for word in words {
                let comma = if list.is_empty() { "" } else { ", " };
                write!(list, "{comma}{}", Value::from(word.as_str()))?;
            }
            writeln!(f, "  {key}: [{list}]")?;
        }
        self.seed.map_or(Ok(()), |seed| writeln!(f, "  seed: {seed}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clone with these configs.
    struct Clone(PathBuf);

    impl Clone {
        fn with(name: &str, configs: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            fs::create_dir_all(&root).expect("make a scratch folder");
            for (file, text) in configs {
                fs::create_dir_all(root.join(DEFAULT)).expect("make a scratch folder");
                fs::write(root.join(DEFAULT).join(file), text).expect("write a config");
            }
            Self(root)
        }

        fn read(&self, file: &str) -> String {
            fs::read_to_string(self.0.join(file)).expect("a config was written")
        }
    }

    impl Drop for Clone {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("remove the scratch folder");
        }
    }

    fn all() -> Overrides {
        Overrides {
            warmup: Some(3),
            timed: Some(30),
            precisions: vec!["fp32".to_owned(), "a\"b".to_owned()],
            backends: vec!["cpu".to_owned()],
            seed: Some(1337),
        }
    }

    #[test]
    fn what_is_asked_for_stands_behind_the_config_and_under_its_name() {
        let clone = Clone::with("copies", &[("b.yaml", "b: 1"), ("a.yml", "a: 1\n"), ("c", "c")]);
        let configs = of_default_suite(&clone.0, &all()).expect("two configs");
        let copies = ["target/xtask/kernels/a.yml", "target/xtask/kernels/b.yaml"];
        assert_eq!(configs, Configs { files: copies.map(PathBuf::from).into(), overridden: true });
        let behind = "
# Asked for on the command line of `cargo xtask kernels`.
override:
  iterations: {warmup: 3, timed: 30}
  precisions: [\"fp32\", \"a\\\"b\"]
  backends: [\"cpu\"]
  seed: 1337
";
        assert_eq!(clone.read(copies[0]), format!("a: 1\n{behind}"));
        assert_eq!(clone.read(copies[1]), format!("b: 1\n{behind}"));

        let fewer = Overrides { timed: Some(10), ..Overrides::default() };
        of_default_suite(&clone.0, &fewer).expect("two configs");
        assert!(clone.read(copies[0]).ends_with("override:\n  iterations: {timed: 10}\n"));
    }

    #[test]
    fn configs_that_are_not_overridden_stay_where_they_are() {
        let clone = Clone::with("own", &[("default.yml", "benchmark_mode: kernels\n")]);
        let configs = of_default_suite(&clone.0, &Overrides::default()).expect("a config");
        let file = PathBuf::from("configs/kernels/default.yml");
        assert_eq!(configs, Configs { files: vec![file], overridden: false });
        assert!(!clone.0.join("target").exists());
    }

    #[test]
    fn without_a_folder_the_config_says_nothing_but_its_mode() {
        let clone = Clone::with("none", &[]);
        let configs = of_default_suite(&clone.0, &Overrides::default()).expect("the default");
        assert!(!configs.overridden);
        assert_eq!(configs.files, [PathBuf::from("target/xtask/kernels/default.yml")]);
        assert_eq!(clone.read("target/xtask/kernels/default.yml"), "benchmark_mode: kernels\n");
    }

    #[test]
    fn a_copy_that_is_right_is_left_alone() {
        let clone = Clone::with("same", &[("default.yml", "benchmark_mode: kernels\n")]);
        of_default_suite(&clone.0, &all()).expect("a config");
        let path = clone.0.join("target/xtask/kernels/default.yml");
        let past = std::time::SystemTime::UNIX_EPOCH;
        let file = fs::File::options().write(true).open(&path).expect("it was written");
        file.set_modified(past).expect("make it old");
        of_default_suite(&clone.0, &all()).expect("the same config");
        let modified = fs::metadata(&path).and_then(|it| it.modified()).expect("still there");
        assert_eq!(modified, past);
    }

    #[test]
    fn what_would_be_lost_is_refused() {
        let clone = Clone::with("twice", &[("default.yml", "x: 1\noverride:\n  seed: 1\n")]);
        let error = of_default_suite(&clone.0, &all()).expect_err("an override of its own");
        assert!(error.what().starts_with("configs/kernels/default.yml has an `override`"));
        assert!(of_default_suite(&clone.0, &Overrides::default()).is_ok());

        let empty = Clone::with("empty", &[("readme", "")]);
        let error = of_default_suite(&empty.0, &all()).expect_err("no config");
        assert!(error.what().ends_with("configs/kernels holds no config"), "{error}");
    }
}
