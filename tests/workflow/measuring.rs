//! The whole workflow on a clone of this repository that has kernels of the test's own: built, measured,
//! compared, confirmed, commented on, kept.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::events::{self, PULL_REQUEST, PUSH};
use crate::file::Workflow;
use crate::github::GitHub;
use crate::repository::{self, git};
use crate::runner::{self, Runner};

/// A kernel whose time is its number of terms: each waits for the one before.
fn kernel(terms: u32) -> String {
    format!(
        "//! A sum whose terms wait for each other.

use std::hint::black_box;

use criterion_torch::kernel::prelude::*;

/// It has one size.
pub struct ProblemSize;

pub fn run_benchmark(_size: &ProblemSize) -> Result<f32, Refusal> {{
    Ok((0..{terms}_u32).fold(0.0, |sum, _| black_box(sum + 1.0)))
}}
"
    )
}

/// Far enough apart that no noise makes one look like the other, or like no difference.
const FEW: u32 = 100_000;
const MANY: u32 = 10 * FEW;

/// For the clones below: what is built of them is not what is under test, nor does it have to be fast.
/// What they depend on is built as ever, and so is shared with other tests.
const PROFILES: &str = "[profile.release.package]
criterion-report = { opt-level = 0 }
criterion-torch = { opt-level = 0 }
criterion-torch-kernels = { opt-level = 0 }
criterion-torch-libtorch = { opt-level = 0 }
criterion-torch-native = { opt-level = 0 }
criterion-torch-plan = { opt-level = 0 }
criterion-torch-statistics = { opt-level = 0 }
";

/// What cargo builds of a package is called after its name, its version and its place in the
/// workspace. In a folder of cargo's that is shared, the clones' packages would take the place of those
/// under test, of which some are still to be used: so they have a version of their own.
fn set_version(tree: &Path) {
    let version = |version: &str| format!("version = \"{version}\"\n");
    let ours = version(env!("CARGO_PKG_VERSION"));
    for (file, before) in [("Cargo.toml", "[workspace.package]\n"), ("Cargo.lock", "")] {
        let path = tree.join(file);
        let text = fs::read_to_string(&path).expect("it has one");
        // Only packages of the workspace have no source.
        let changed: Vec<String> = text
            .split_inclusive("\n\n")
            .map(|part| match part.contains("source = ") || !part.contains(before) {
                true => part.to_owned(),
                false => part.replace(&ours, &version("0.0.0-clone")),
            })
            .collect();
        let changed = changed.concat();
        assert_ne!(changed, text, "{file} has the version");
        fs::write(path, changed).expect("write a file");
    }
}

/// A repository on the server, and a clone in which somebody works.
struct Project {
    place: PathBuf,
    tree: PathBuf,
}

impl Project {
    fn new(place: &Path) -> Self {
        let tree = place.join("tree");
        for folder in ["tree", "origin.git", "artifacts", "criterion"] {
            repository::remove(&place.join(folder));
        }
        fs::create_dir_all(&tree).expect("make a folder");
        repository::copy_of_this(&tree);
        set_version(&tree);
        repository::remove(&tree.join("benches/kernels"));
        git(&tree, &["init", "--quiet", "--initial-branch=main"]);
        let project = Self { place: place.to_owned(), tree };
        project.write(FEW, MANY);
        project.commit("the base");
        git(place, &["clone", "--quiet", "--bare", "tree", "origin.git"]);
        let origin = project.place.join("origin.git");
        git(&project.tree, &["remote", "add", "origin", origin.to_str().expect("UTF-8")]);
        let config = place.join(".cargo/config.toml");
        fs::create_dir_all(config.parent().expect("a folder")).expect("make a folder");
        fs::write(&config, PROFILES).expect("write cargo's config");
        project
    }

    /// The kernels `grows` and `shrinks`.
    fn write(&self, grows: u32, shrinks: u32) {
        for (name, terms) in [("grows", grows), ("shrinks", shrinks)] {
            let folder = self.tree.join("benches/kernels").join(name);
            fs::create_dir_all(&folder).expect("make a folder");
            fs::write(folder.join("kernel.rs"), kernel(terms)).expect("write a kernel");
        }
    }

    /// The kernel that the README shows, with the `bench.yaml` that it shows.
    fn add_the_readmes(&self) {
        let readme = fs::read_to_string(self.tree.join("README.md")).expect("it has a README");
        let section = readme.split("\n## Kernels of your own\n").nth(1).expect("the section");
        let block = |language: &str| {
            let block = section.split(&format!("```{language}\n")).nth(1).expect("a block");
            block.split("```").next().expect("it ends").to_owned()
        };
        let folder = self.tree.join("benches/kernels/saxpy");
        fs::create_dir_all(&folder).expect("make a folder");
        fs::write(folder.join("kernel.rs"), block("rust")).expect("write a kernel");
        fs::write(folder.join("bench.yaml"), block("yaml")).expect("write a bench.yaml");
    }

    fn commit(&self, message: &str) {
        git(&self.tree, &["add", "--all"]);
        git(&self.tree, &["commit", "--quiet", "--message", message]);
    }

    /// A pull request to main as it is on the server: the commit that merges it.
    fn pull_request(&self, name: &str, change: impl FnOnce()) -> String {
        git(&self.tree, &["fetch", "--quiet", "origin"]);
        git(&self.tree, &["checkout", "--quiet", "-b", name, "origin/main"]);
        change();
        self.commit(name);
        git(&self.tree, &["checkout", "--quiet", "--detach", "origin/main"]);
        git(&self.tree, &["merge", "--quiet", "--no-ff", "--message", "merge", name]);
        git(&self.tree, &["push", "--quiet", "origin", &format!("HEAD:refs/heads/{name}-merge")]);
        git(&self.tree, &["rev-parse", "HEAD"])
    }
}

fn json(file: &Path) -> Value {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// Ids, and in what they regressed.
fn regressions(file: &Path) -> Vec<(String, String)> {
    let list = json(file)["regressions"].as_array().expect("a list").clone();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    list.iter().map(|it| (text(&it["full_id"]), text(&it["kind"]))).collect()
}

/// One test, because each step stands on the one before, and they build for minutes.
#[test]
fn every_step_runs_and_only_what_regresses_twice_fails() {
    // Kept from test to test, as is what is built: cargo's folder is this repository's.
    let cargo = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let place = cargo.join("workflow");
    let project = Project::new(&place);
    let (workflow, github) = (Workflow::read(), GitHub::start());
    let mut runner = Runner::new(&workflow, &place);
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let target = text(cargo.parent().expect("tmp lies in cargo's folder"));
    runner.variables.insert("CARGO_TARGET_DIR".to_owned(), target);
    runner.variables.insert("CRITERION_HOME".to_owned(), text(&place.join("criterion")));

    // A pull request that makes one kernel slower, and another faster.
    let slower = project.pull_request("slower", || project.write(MANY, FEW));
    events::describe(&mut runner, PULL_REQUEST, &slower, &github);
    assert_eq!(runner.run("precisions", &slower).failed, None);
    let ended = runner.run("bench", &slower);
    assert_eq!(ended.failed.as_deref(), Some("Confirm regressions"), "{}", ended.log);
    let row = runner.artifacts().join("benchmark-results-cpu-fp32");
    let grows = [("kernels/default/grows/cpu/kernel/f32-default".to_owned(), "latency".to_owned())];
    assert_eq!(regressions(&row.join("regressions.json")), grows, "{}", ended.log);
    assert_eq!(regressions(&row.join("again/regressions.json")), grows, "{}", ended.log);
    let again = json(&row.join("again/summary.json"));
    assert_eq!(again["results"].as_array().map(Vec::len), Some(1), "only what regressed: {again}");
    assert!(ended.log.contains(&format!("::error::confirmed regression: {}: latency", grows[0].0)));
    assert_eq!(runner.run("comment", &slower).failed, None);
    let comments = github.by_programs();
    let [comment] = &comments[..] else { panic!("{comments:?}") };
    assert!(comment.contains("**failure**") && comment.contains(&grows[0].0), "{comment}");

    // On main what was measured is kept; and the next run knows it.
    let main = runner::head(&place, "main");
    events::describe(&mut runner, PUSH, &main, &github);
    let ended = runner.run("history", &main);
    assert_eq!(ended.failed, None, "{}", ended.log);
    let main = runner::head(&place, "main");
    let kept = git(&place.join("origin.git"), &["ls-tree", "-r", "--name-only", &main]);
    let kept: Vec<&str> =
        kept.lines().filter(|it| it.starts_with("benchmarks/history/benchmark-")).collect();
    assert!(kept.len() == 1 && kept[0].ends_with("-cpu-fp32.json"), "{kept:?}");

    // The next pull request is faster than main, and adds a kernel.
    let faster = project.pull_request("faster", || {
        project.write(FEW / 3, FEW);
        project.add_the_readmes();
    });
    events::describe(&mut runner, PULL_REQUEST, &faster, &github);
    let ended = runner.run("bench", &faster);
    assert_eq!(ended.failed, None, "{}", ended.log);
    assert_eq!(regressions(&row.join("regressions.json")), [], "{}", ended.log);
    let results = json(&row.join("summary.json"))["results"].as_array().expect("a list").clone();
    let readmes = results.iter().filter(|it| it["kernel_name"] == "saxpy");
    let succeeded: Vec<&Value> = readmes.map(|it| &it["success"]).collect();
    assert_eq!(succeeded, [true, true], "two sizes in the precision of the row: {}", ended.log);
    assert!(ended.log.contains("== Confirm regressions\nno regressions\n"), "{}", ended.log);
    assert!(!row.join("confirmed.md").exists(), "that was the time before");
    assert_eq!(runner.run("comment", &faster).failed, None);
    let comments = github.by_programs();
    let [comment] = &comments[..] else { panic!("{} comments", comments.len()) };
    let trend = fs::read_to_string(row.join("summary.md")).expect("UTF-8");
    assert!(trend.contains("Last over first"), "what main has kept: {trend}");
    assert!(comment.contains("**success**") && !comment.contains("Regressed twice"), "{comment}");

    assert!(runner.never_executed().is_empty(), "{:?}", runner.never_executed());
}
