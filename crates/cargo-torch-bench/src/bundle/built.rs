//! The bench targets as cargo builds them, each with the plan that it embeds.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use memchr::memmem;
use plan::{Plan, mode_of};

use super::options::Options;
use super::target_cpu::Flags;
use crate::cargo;
use crate::error::{Error, Result};
use crate::files;

/// criterion-torch's build script tells the features of the processor by this variable of the compiler's.
const FEATURES: &str = "CRITERION_TORCH_TARGET_FEATURES";

/// Every plan begins so. A program is searched for that once, and not for each whole plan.
const START: &[u8] = br#"{"groups":"#;

/// A bench target.
#[derive(Debug)]
pub struct Bench {
    pub name: String,
    pub program: PathBuf,
    /// The file whose text the program has in it.
    pub plan: PathBuf,
    pub cases: usize,
    /// The first parts of its ids.
    pub modes: BTreeSet<String>,
}

/// All of them.
#[derive(Debug)]
pub struct Built {
    pub benches: Vec<Bench>,
    /// Features of the processor; none if no build script tells them.
    pub features: Option<Vec<String>>,
    /// Bench targets without a plan.
    pub others: Vec<String>,
}

impl Built {
    /// Builds the bench targets that are asked for, with these flags of cargo's and value of BENCH_CONFIG, if it is
    /// not the environment's.
    pub fn build(
        root: &Path,
        options: &Options,
        configs: Option<OsString>,
        flags: Flags,
    ) -> Result<Self> {
        let benches = options.targets();
        let mut build = cargo::in_folder(root);
        build.args(["build", "--profile", &options.profile]).args(&flags.arguments);
        build.envs(flags.variable);
        build.envs(configs.map(|configs| (cargo::BENCH_CONFIG, configs)));
        build.args(options.packages.iter().flat_map(|package| ["--package", package]));
        build.args(benches.iter().flat_map(|bench| ["--bench", bench]));
        if benches.is_empty() {
            build.arg("--benches");
        }
        let built = cargo::announced(build)?;
        if !built.status.success() {
            let what = format!("the benchmarks cannot be built ({})", built.status);
            return Err(Error::failed(what, cargo::code(built.status)));
        }
        Self::from_messages(&built.stdout)
    }

    /// Refuses a build that has nothing to run, and notes what is left out.
    pub fn check(&self) -> Result<()> {
        for other in &self.others {
            eprintln!(
                "note: the bench target {other} is left out: it has no plan of criterion-torch"
            );
        }
        if self.features.is_none() {
            eprintln!(
                "note: no build script told the processor's features, so hosts are not checked for them; criterion-torch \
                 {} and newer tell them",
                env!("CARGO_PKG_VERSION")
            );
        }
        if self.benches.is_empty() {
            return Err(Error::new("no bench target of criterion-torch was built")
                .remedy("add one to your package: cargo xtask new")
                .remedy("name the package that has them: --package NAME"));
        }
        Ok(())
    }

    fn from_messages(messages: &[u8]) -> Result<Self> {
        let messages = cargo::messages(messages);
        let scripts = || messages.iter().filter(|it| it.reason == "build-script-executed");
        let mut built = Self { benches: Vec::new(), features: None, others: Vec::new() };
        let told = scripts().flat_map(|it| &it.env).find(|(name, _)| name == FEATURES);
        built.features = told.map(|(_, value)| features(value));
        for it in messages.iter().filter(|it| it.target.is("bench")) {
            let Some(program) = &it.executable else { continue };
            let script = scripts().find(|script| script.package_id == it.package_id);
            let folder = script.map(|script| script.out_dir.as_path());
            match Bench::new(&it.target.name, program, folder)? {
                Some(bench) => built.benches.push(bench),
                None => built.others.push(it.target.name.clone()),
            }
        }
        // Cargo announces them in the order in which they were built.
        built.benches.sort_by(|a, b| a.name.cmp(&b.name));
        built.others.sort();
        built.refuse_doubles()?;
        Ok(built)
    }

    fn refuse_doubles(&self) -> Result<()> {
        let mut names = BTreeSet::new();
        match self.benches.iter().find(|bench| !names.insert(&bench.name)) {
            None => Ok(()),
            Some(double) => Err(Error::usage(format!(
                "two packages have a bench target `{}`, and a bundle names a target by that alone",
                double.name
            ))
            .remedy("choose a package: --package NAME")),
        }
    }
}

impl Bench {
    /// A program with the plan that it embeds: of those in the output of its package's build script the longest whose
    /// text it has in it. None if it has none, as a benchmark without criterion-torch.
    fn new(name: &str, program: &Path, folder: Option<&Path>) -> Result<Option<Self>> {
        let Some(folder) = folder else { return Ok(None) };
        let bytes = fs::read(program).map_err(|error| Error::io("read", program, &error))?;
        let starts: Vec<usize> = memmem::find_iter(&bytes, START).collect();
        let has =
            |text: &str| starts.iter().any(|start| bytes[*start..].starts_with(text.as_bytes()));
        let mut found: Option<(PathBuf, String)> = None;
        for path in files::inside(folder)? {
            if path.extension().is_none_or(|it| it != "json") {
                continue;
            }
            let text = files::read(&path)?;
            let is_longer = found.as_ref().is_none_or(|(_, longest)| text.len() > longest.len());
            if is_longer && has(&text) {
                found = Some((path, text));
            }
        }
        let Some((path, text)) = found else { return Ok(None) };
        let plan = Plan::from_json(text.as_bytes()).map_err(|error| {
            Error::new(format!("{} is not a plan of this version: {error}", path.display()))
                .remedy("use one version of cargo-torch-bench and of criterion-torch")
        })?;
        Ok(Some(Self {
            name: name.to_owned(),
            program: program.to_owned(),
            plan: path,
            cases: plan.cases().count(),
            modes: plan.cases().map(|case| mode_of(&case.id.group).to_owned()).collect(),
        }))
    }
}

/// Names in the list of a build script.
fn features(list: &str) -> Vec<String> {
    let names: BTreeSet<&str> = list.split(',').filter(|name| !name.is_empty()).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// The report's program: built where its sources are, else the one on the PATH.
pub fn report(root: &Path) -> Result<PathBuf> {
    if !cargo::has_report(root) {
        let name = cargo::REPORT;
        return files::on_path(name, &std::env::var_os("PATH").unwrap_or_default()).ok_or_else(
            || {
                Error::new(format!("{name} is not on the PATH"))
                    .remedy(format!("cargo install {name}"))
            },
        );
    }
    let mut build = cargo::in_folder(root);
    build.args(["build", "--release", "--bin", cargo::REPORT]);
    let built = cargo::announced(build)?;
    if !built.status.success() {
        let what = format!("{} cannot be built ({})", cargo::REPORT, built.status);
        return Err(Error::failed(what, cargo::code(built.status)));
    }
    cargo::built_report(&built.stdout).ok_or_else(|| {
        Error::new(format!("cargo does not say where it has built {}", cargo::REPORT))
    })
}

/// The plan of these benchmarks as JSON, by `criterion-report plan`.
pub fn plan(
    report: &Path,
    benches: &[Bench],
    filter: Option<&str>,
    criterion: &Path,
) -> Result<Vec<u8>> {
    let mut plan = cargo::at_home(Command::new(report), criterion);
    plan.args(["plan", "--format", "json"]);
    let plans: BTreeSet<&Path> = benches.iter().map(|bench| bench.plan.as_path()).collect();
    for file in plans {
        plan.arg("--built").arg(file);
    }
    plan.args(filter.iter().flat_map(|filter| ["--filter", filter]));
    let output = plan.output().map_err(|error| cargo::not_run(&plan, &error))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().trim_start_matches("error: ");
    Err(Error::failed(format!("the plan: {said}"), cargo::code(output.status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_listed_once_in_order() {
        assert_eq!(features("sse2,avx,sse2,"), ["avx", "sse2"]);
        assert!(features("").is_empty());
    }

    /// Messages of a package `p` with a bench target of this program.
    fn messages(folder: &Path, names: &[&str]) -> String {
        let line = |value: serde_json::Value| format!("{value}\n");
        let mut text = line(serde_json::json!({
            "reason": "build-script-executed", "package_id": "p", "out_dir": folder,
            "env": [["OTHER", "x"], [FEATURES, "sse2,sse"]], "cfgs": [], "linked_libs": [],
        }));
        text.push_str("not a message\n");
        for name in names {
            text += &line(serde_json::json!({
                "reason": "compiler-artifact", "package_id": "p",
                "target": { "kind": ["bench"], "name": name }, "executable": folder.join("program"),
            }));
        }
        text
    }

    #[test]
    fn a_program_without_a_plan_is_none_of_ours() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("program"), "no plan").expect("written");
        fs::write(folder.path().join("all.json"), r#"{"groups":[]}"#).expect("written");
        let built =
            Built::from_messages(messages(folder.path(), &["b"]).as_bytes()).expect("readable");
        assert_eq!((built.benches.len(), built.others), (0, vec!["b".to_owned()]));
        assert_eq!(built.features, Some(vec!["sse".to_owned(), "sse2".to_owned()]));
    }

    #[test]
    fn a_plan_is_found_in_the_program_that_embeds_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let put =
            |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
        put("program", "code {\"groups\":[]} code");
        put("all.json", r#"{"groups":[]}"#);
        put("fusion.json", r#"{"groups":[ ]}"#);
        let built =
            Built::from_messages(messages(folder.path(), &["b"]).as_bytes()).expect("readable");
        let [bench] = &built.benches[..] else { panic!("{built:?}") };
        assert_eq!((&*bench.name, bench.cases), ("b", 0));
        assert_eq!(bench.plan, folder.path().join("all.json"));

        let error =
            Built::from_messages(messages(folder.path(), &["b", "b"]).as_bytes()).expect_err("two");
        assert!(error.to_string().contains("--package"), "{error}");
        put("program", "{\"groups\":7}");
        put("all.json", "{\"groups\":7}");
        let error =
            Built::from_messages(messages(folder.path(), &["b"]).as_bytes()).expect_err("no plan");
        assert!(error.what().contains("is not a plan of this version"), "{error}");
    }
}
