//! `bench --repeat` and `compare-branches`: the real cargo and git, on a small repository of their own
//! (fixtures/speed) whose benchmark runs in no time.
#![cfg(unix)]

#[allow(dead_code, reason = "each test program uses its own part")]
mod common;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Outcome, Scratch};

/// A clone with one commit on `main`, and libtorch.
struct Repository {
    scratch: Scratch,
    clone: PathBuf,
}

impl Repository {
    fn new() -> Self {
        let scratch = Scratch::new();
        let clone = scratch.clone_dir();
        fs::remove_dir_all(&clone).expect("make place");
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/speed"), &clone);
        scratch.run(&["setup", "--cpu"]).assert_fine();
        let repository = Self { scratch, clone };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.commit();
        repository
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=test", "-c", "user.email=test@localhost"]).args(arguments);
        let output = isolated(&mut git).current_dir(&self.clone).output().expect("run git");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("git prints text").trim().to_owned()
    }

    /// All that lies here; the first 12 digits.
    fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=change"]);
        self.git(&["rev-parse", "--short=12", "HEAD"])
    }

    /// A branch whose benchmark has another line, checked out.
    fn branch(&self, name: &str, from: &str, to: &str) -> String {
        self.git(&["switch", "--quiet", "--create", name, "main"]);
        self.edit(from, to);
        self.commit()
    }

    fn edit(&self, from: &str, to: &str) {
        let source = fs::read_to_string(self.source()).expect("read the benchmark");
        assert!(source.contains(from));
        fs::write(self.source(), source.replace(from, to)).expect("change the benchmark");
    }

    fn source(&self) -> PathBuf {
        self.clone.join("benches/speed.rs")
    }

    fn xtask(&self, line: &str, variables: &[(&str, &str)]) -> Outcome {
        let mut xtask = self.scratch.xtask(&line.split_whitespace().collect::<Vec<_>>());
        let inherited = |name| std::env::var_os(name).unwrap_or_default();
        // Before the python3 of this machine.
        let mut path = OsString::from(self.scratch.python().parent().expect("bin"));
        path.push(":");
        path.push(inherited("PATH"));
        xtask
            .env("PATH", path)
            .env("HOME", inherited("HOME"))
            .env("CARGO", env!("CARGO"))
            // As cargo's alias sets it.
            .env("LIBTORCH", self.scratch.link())
            .env("SPEED_LOG", self.scratch.fake("log"))
            .env_remove("CARGO_BUILD_TARGET_DIR");
        isolated(&mut xtask).envs(variables.iter().copied());
        Outcome::of(xtask)
    }

    /// What was launched since the last time, with HERE for the clone.
    fn launched(&self) -> Vec<String> {
        let lines = self.scratch.log("log");
        self.scratch.set("log", "");
        let here = self.clone.display().to_string();
        lines.iter().map(|line| line.replace(&here, "HERE").trim_end().to_owned()).collect()
    }

    /// What is kept, as folders in `target` and the number in each.
    fn kept(&self) -> Vec<String> {
        let mut kept = Vec::new();
        for (folder, file) in
            [("criterion/speed/some-case", "sample.json"), ("criterion-torch", "speed.jsonl")]
        {
            for entry in fs::read_dir(self.clone.join("target").join(folder)).expect("results") {
                let entry = entry.expect("results").path();
                let number = fs::read_to_string(entry.join(file)).expect("a number");
                let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
                kept.push(format!(
                    "{} {name} {number}",
                    if file == "sample.json" { "time" } else { "record" }
                ));
            }
        }
        kept.sort();
        kept
    }
}

/// Without the user's configuration and a hook's variables.
fn isolated(command: &mut Command) -> &mut Command {
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("make a folder");
    for entry in fs::read_dir(from).expect("read the fixture") {
        let path = entry.expect("read the fixture").path();
        let target = to.join(path.file_name().expect("it has a name"));
        // What somebody built in the fixture is no part of it.
        if path.is_dir() && !path.ends_with("target") {
            copy(&path, &target);
        } else if path.is_file() {
            fs::copy(&path, target).expect("copy a file");
        }
    }
}

/// Names with numbers, as `kept` gives them.
fn both(names: &[(&str, u32)]) -> Vec<String> {
    let of = |kind| names.iter().map(move |(name, number)| format!("{kind} {name} {number}"));
    of("record").chain(of("time")).collect()
}

#[test]
fn launches_are_kept_under_their_numbers_and_replace_a_longer_set() {
    let repository = Repository::new();
    let outcome = repository.xtask("bench --repeat 3 -- some --save-baseline pr", &[]);
    outcome.assert_fine();
    let expected = [
        "pr@1 in HERE with HERE/.libtorch: some --bench",
        "pr@2 in HERE with HERE/.libtorch: some --bench",
        "pr@3 in HERE with HERE/.libtorch: some --bench",
    ];
    assert_eq!(repository.launched(), expected);
    assert_eq!(outcome.stdout, "speed of pr@1\nspeed of pr@2\nspeed of pr@3\n");
    assert_eq!(outcome.stderr.matches("Compiling speed").count(), 1, "{}", outcome.stderr);
    for said in ["launch 1 of 3 (pr@1)\n", "launch 3 of 3 (pr@3), ", "compare OTHER pr\n"] {
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
    assert_eq!(repository.kept(), both(&[("pr@1", 100), ("pr@2", 100), ("pr@3", 100)]));

    repository.edit("= 100;", "= 200;");
    let again = repository.xtask("bench --bench speed --repeat=2 -- -s pr", &[]);
    again.assert_fine();
    let said = "removed earlier launches, which these replace: pr@1 to pr@3\n";
    assert!(again.stderr.contains(said), "{}", again.stderr);
    repository.xtask("bench --repeat 1", &[]).assert_fine();
    assert_eq!(repository.kept(), both(&[("base@1", 200), ("pr@1", 200), ("pr@2", 200)]));
}

#[test]
fn a_launch_that_fails_ends_it_and_failed_cases_do_not() {
    let repository = Repository::new();
    let outcome = repository.xtask("bench --repeat 4", &[("SPEED_FAILS", "base@2 101")]);
    let said =
        ["launch 2 of 4 (base@2): base could not be measured", "save-baseline base@2", "kept"];
    outcome.assert_refused(101, &said);
    assert_eq!(repository.launched().len(), 2);
    assert_eq!(repository.kept(), both(&[("base@1", 100), ("base@2", 100)]));

    let outcome = repository.xtask("bench --repeat 3", &[("SPEED_FAILS", "base@2 1")]);
    outcome.assert_refused(1, &["note: cases failed in base@2", "kept as base@1 to base@3"]);
    assert_eq!(repository.launched().len(), 3);

    repository.edit("fn main", "fn naim");
    repository.xtask("bench --repeat 2", &[]).assert_refused(101, &["base could not be built"]);
    assert_eq!(
        repository.kept().len(),
        6,
        "nothing is removed before there is something to measure"
    );
    repository.edit("fn naim", "fn main");
    let nothing = repository.xtask("bench --repeat 2 -- nothing", &[]);
    nothing.assert_refused(2, &["no case of base is selected", "cargo bench -- --list"]);
    assert_eq!(repository.kept().len(), 6, "a slip of the pen costs nothing");
    repository.xtask("bench --repeat 2 -- --list", &[]).assert_refused(2, &["--list", "--repeat"]);
    assert!(repository.launched().is_empty());
}

#[test]
fn sources_that_change_meanwhile_end_it() {
    let repository = Repository::new();
    let source = repository.source().display().to_string();
    let outcome = repository.xtask("bench --repeat 3", &[("SPEED_EDITS", &source)]);
    outcome.assert_refused(1, &["launch 2 of 3", "were changed in", "leave the sources alone"]);
    assert_eq!(repository.kept(), both(&[("base@1", 100)]), "and nothing is measured of them");
}

#[test]
fn branches_are_measured_in_turn_from_worktrees_and_compared() {
    let repository = Repository::new();
    let main = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let branch = repository.branch("feature/x", "= 100;", "= 120;");
    let line = "compare-branches main feature/x --launches 3 --fail-on regression -- some";
    let outcome = repository.xtask(line, &[]);
    outcome.assert_refused(1, &["launch 6 of 6 (feature-x@3), ", "checking out"]);
    let table = "main: 100 100 100\nfeature-x: 120 120 120\n";
    assert_eq!(outcome.stdout, format!("{table}fails on regression\n"), "and nothing else");
    let (a, b) = (format!("HERE/target/compare/{main}"), format!("HERE/target/compare/{branch}"));
    let launch = |name: &str, folder: &str| {
        format!("{name} in {folder} with {folder}/.libtorch: some --bench")
    };
    let order = [("main@1", &a), ("feature-x@1", &b), ("feature-x@2", &b), ("main@2", &a)];
    let order = order.into_iter().chain([("main@3", &a), ("feature-x@3", &b)]);
    let order: Vec<String> = order.map(|(name, folder)| launch(name, folder)).collect();
    assert_eq!(repository.launched(), order);
    let libtorch = fs::read_link(repository.scratch.link()).expect("setup made a link");
    for commit in [&main, &branch] {
        let link = repository.clone.join("target/compare").join(commit).join(".libtorch");
        assert_eq!(fs::read_link(link).expect("a link like the clone's"), libtorch);
    }

    // Again, with what is not committed: nothing is checked out or built that is there.
    repository.edit("= 120;", "= 130;");
    let outcome = repository.xtask("compare-branches main . --launches 2", &[]);
    outcome.assert_fine();
    assert_eq!(outcome.stdout, "main: 100 100\nworking-tree: 130 130\n");
    assert!(!outcome.stderr.contains("checking out"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.matches("Compiling speed").count(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("replace: main@1 to main@3\n"), "{}", outcome.stderr);
    assert_eq!(repository.launched()[1], "working-tree@1 in HERE with HERE/.libtorch: --bench");
}

#[test]
fn one_commit_twice_is_compared_with_itself() {
    let repository = Repository::new();
    // As in a hook of another repository: the folder says which one this is.
    let hook = [("GIT_DIR", "/nowhere"), ("GIT_INDEX_FILE", "/nowhere/index")];
    let line = "compare-branches HEAD HEAD --launches 2 --bench speed";
    let outcome = repository.xtask(line, &hook);
    outcome.assert_fine();
    assert_eq!(outcome.stdout, "HEAD-a: 100 100\nHEAD-b: 100 100\n");
    assert!(outcome.stderr.contains("an A/A comparison"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.matches("Compiling speed").count(), 1, "{}", outcome.stderr);
}

#[test]
fn results_come_together_wherever_cargo_builds() {
    let repository = Repository::new();
    let main = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let elsewhere = repository.scratch.empty().join("built");
    let built = elsewhere.display().to_string();
    for variable in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"] {
        let line = "compare-branches main . --launches 1";
        let outcome = repository.xtask(line, &[(variable, &built)]);
        assert_eq!(outcome.assert_fine().stdout, "main: 100\nworking-tree: 100\n", "{variable}");
    }
    assert!(elsewhere.join("criterion/speed/some-case/main@1").exists(), "as with cargo bench");
    for place in [elsewhere.join("compare"), repository.clone.join("target/compare")] {
        assert!(place.join(&main).join("target/release/deps").exists(), "a side has its own");
    }
}

#[test]
fn what_cannot_be_compared_is_known_before_anything_is_measured() {
    let repository = Repository::new();
    let main = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let said = ["no commit \"nowhere\"", "git fetch", "origin/NAME"];
    repository.xtask("compare-branches nowhere main", &[]).assert_refused(2, &said);
    assert!(!repository.clone.join("target/compare").exists());

    // It would have no records, and the other side nothing to be compared with.
    repository.branch("empty", "word == \"nothing\"", "word == \"--list\"");
    let said = ["main: 1 case\n", "no case of empty is selected", "cargo bench -- --list"];
    repository.xtask("compare-branches main empty", &[]).assert_refused(2, &said);

    let broken = repository.branch("broken", "fn main", "fn naim");
    let place = repository.clone.join("target/compare").join(broken);
    let said = [
        "broken could not be built (exit status: 101): cargo bench --no-run",
        &place.display().to_string(),
    ];
    repository.xtask("compare-branches main broken", &[]).assert_refused(101, &said);

    let worktree = repository.clone.join("target/compare").join(&main);
    fs::write(worktree.join("notes"), "mine").expect("work in a worktree");
    let said = ["is not as it was checked out: ?? notes", "--clean"];
    repository.xtask("compare-branches main .", &[]).assert_refused(1, &said);

    let reporter = repository.clone.join("criterion-report/src/main.rs");
    fs::write(&reporter, "fn main() { std::process::exit(2) }").expect("break the report");
    let said = ["does not compare (exit status: 2): cargo criterion-report compare --help"];
    repository.xtask("compare-branches . .", &[]).assert_refused(2, &said);
    assert!(repository.launched().is_empty());

    let outcome = repository.xtask("compare-branches --clean", &[]);
    outcome.assert_fine();
    assert_eq!(outcome.stderr.matches("removed ").count(), 3, "{}", outcome.stderr);
    assert!(!repository.clone.join("target/compare").exists());
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    repository.xtask("compare-branches --clean", &[]).assert_fine();
}

#[test]
fn a_launch_that_fails_ends_the_comparison() {
    let repository = Repository::new();
    let failing = [("SPEED_FAILS", "HEAD-b@2 3")];
    let outcome = repository.xtask("compare-branches HEAD HEAD", &failing);
    outcome.assert_refused(
        3,
        &["launch 3 of 16 (HEAD-b@2): ", "cargo bench -- --save-baseline HEAD-b@2, in "],
    );
    assert_eq!((outcome.stdout.as_str(), repository.launched().len()), ("", 3));

    // By hand or by cargo clean, and git is not told.
    let main = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let place = repository.clone.join("target/compare").join(main);
    fs::remove_dir_all(place).expect("take the worktree away");
    let outcome = repository.xtask("compare-branches HEAD . --launches 1", &failing);
    assert_eq!(outcome.assert_fine().stdout, "HEAD: 100\nworking-tree: 100\n");
}
