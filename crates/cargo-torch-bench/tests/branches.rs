//! `compare-branches`: the real cargo and git, on a small repository of their own (fixtures/speed) whose benchmark runs in
//! no time.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::common::repository::Repository;

/// The programs of a side, by its index.
fn programs(repository: &Repository, side: usize) -> Vec<PathBuf> {
    let folder = repository.clone.join(format!("target/compare/programs-{side}/speed"));
    let files = fs::read_dir(folder).expect("programs").map(|it| it.expect("a file").path());
    let mut files: Vec<PathBuf> = files.collect();
    files.retain(|it| it.is_file());
    files
}

#[test]
fn branches_are_measured_in_turn_from_worktrees_and_compared() {
    let repository = Repository::new();
    let main = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let branch = repository.branch("feature/x", "= 100;", "= 120;");
    let line = "compare-branches main feature/x --fail-on regression --format markdown -- some";
    let outcome = repository.xtask(line, &[]);
    let kept = "lockstep/main..feature-x.json; to compare again: cargo criterion-report compare \
                main feature-x\n";
    outcome.assert_refused(1, &["checking out", "1 case measured in ", kept]);
    let table = "main: 100\nfeature-x: 120\nwith --fail-on regression --format markdown\n";
    assert_eq!(outcome.stdout, table, "and nothing else");

    let (a, b) = (format!("HERE/target/compare/{main}"), format!("HERE/target/compare/{branch}"));
    let measured = repository.measured();
    for (index, line) in measured.iter().enumerate() {
        let folder = [&a, &b][index % 2];
        let started = format!("{} in {folder} with HERE/.libtorch: --bench ", index + 1);
        assert!(line.starts_with(&started), "{line}");
        // As it was asked for, and then what is open.
        let filter = if index < 4 { " --sample-size 50 some" } else { " ^(?:speed/some-case)$" };
        assert!(line.ends_with(filter), "{line}");
    }

    let document = repository.document("main..feature-x");
    let sides = [("main", &main), ("feature-x", &branch)];
    for (side, (name, commit)) in document["sides"].as_array().expect("two").iter().zip(sides) {
        assert_eq!(side["name"], name);
        assert!(side["commit"].as_str().is_some_and(|it| it.starts_with(commit)), "{side}");
    }
    let case = &document["cases"][0];
    for (key, value) in [
        ("full_id", json!("speed/some-case")),
        ("target", json!("speed")),
        ("has", json!([true, true])),
        ("is_decided", json!(true)),
        ("confirmed_from", json!(8)),
    ] {
        assert_eq!(case[key], value, "{key}");
    }
    let blocks = case["blocks"].as_array().expect("blocks");
    assert!(blocks.len() > 8);
    assert_eq!(measured.len(), 4 * blocks.len(), "of four processes each");
    for (index, block) in blocks.iter().enumerate() {
        let times = json!([[100.0, 120.0], [100.0, 120.0]]);
        assert_eq!(*block, json!({ "layout": index, "times": times }));
    }
}

/// With what is not committed, as it lies there, and with nothing changed there.
#[test]
fn a_dot_is_the_checkout_as_it_lies_there() {
    let repository = Repository::new();
    repository.edit("u32 = 100;", "u32 = include!(\"staged.in\");");
    repository.put("benches/staged.in", "include!(\"untracked.in\")");
    repository.git(&["add", "--all"]);
    repository.put("benches/untracked.in", "130");
    repository.edit("//! A benchmark without criterion", "//! A changed benchmark");
    let state = || {
        let index = fs::read(repository.clone.join(".git/index")).expect("git's index");
        let refs = repository.git(&["for-each-ref"]);
        (index, refs, repository.git(&["stash", "list"]), repository.git(&["rev-parse", "HEAD"]))
    };
    let status = || repository.git(&["status", "--porcelain"]);
    let (status_before, before) = (status(), state());
    assert_eq!(status_before, "MM benches/speed.rs\nA  benches/staged.in\n?? benches/untracked.in");
    for (line, table) in [
        ("compare-branches main .", "main: 100\nworking-tree: 130\n"),
        ("compare-branches . HEAD", "working-tree: 130\nHEAD: 100\n"),
    ] {
        let outcome = repository.xtask(line, &[]);
        assert_eq!(outcome.assert_fine().stdout, table);
    }
    assert!(repository.measured()[1].starts_with("2 in HERE with HERE/.libtorch: "));
    assert!(state() == before, "git knows what it knew");
    assert_eq!(status(), status_before);
    let document = repository.document("main..working-tree");
    assert_eq!(document["sides"][1]["commit"], json!(null));
}

/// Files that cargo builds are no part of the checkout, whether git ignores them or not.
#[test]
fn the_folder_that_is_built_in_may_be_broken_or_not_ignored() {
    let repository = Repository::new();
    repository.put(".gitignore", "/.libtorch\n");
    repository.commit();
    repository.edit("= 100;", "= 120;");
    let table = "main: 100\nworking-tree: 120\n";
    for git in [".git", "nothing"] {
        let outcome = repository.xtask("compare-branches main .", &[]);
        assert_eq!(outcome.assert_fine().stdout, table);
        let build = "target/compare/build";
        let listed = repository.git(&["-C", build, "ls-tree", "--name-only", "HEAD"]);
        assert!(!listed.lines().any(|it| it == "target"), "{listed}");
        // Without its file of git's, the folder is one in the clone.
        let file = repository.clone.join(build).join(git);
        assert!(git == "nothing" || fs::remove_file(file).is_ok());
    }
    let status = repository.git(&["status", "--porcelain", "--untracked-files=no"]);
    assert_eq!(status, "M benches/speed.rs", "the clone is as it was");
}

#[test]
fn a_worktree_serves_one_commit_after_another() {
    let repository = Repository::new();
    repository.branch("pr", "= 100;", "= 120;");
    repository.xtask("compare-branches main pr", &[]).assert_fine();
    let next = repository.branch("next", "= 100;", "= 140;");
    let outcome = repository.xtask("compare-branches main next", &[]);
    assert_eq!(outcome.assert_fine().stdout, "main: 100\nnext: 140\n");
    let compare = repository.clone.join("target/compare");
    assert!(outcome.stderr.contains(&format!("checking out {next} in {}/", compare.display())));
    // One for each side, one that both are built in, two folders of programs and the linker.
    assert_eq!(fs::read_dir(&compare).expect("list it").count(), 6);
    let again = repository.xtask("compare-branches main next", &[]);
    assert!(!again.assert_fine().stderr.contains("checking out"), "{}", again.stderr);

    // One in which somebody works is left alone.
    fs::write(compare.join(&next).join("notes"), "mine").expect("work in a worktree");
    repository.xtask("compare-branches main pr", &[]).assert_fine();
    assert_eq!(fs::read_dir(&compare).expect("list it").count(), 7);
}

#[test]
fn one_commit_twice_is_compared_with_itself() {
    let repository = Repository::new();
    // In a hook of another repository these are set; the folder says which repository this is.
    let hook = [("GIT_DIR", "/nowhere"), ("GIT_INDEX_FILE", "/nowhere/index")];
    let outcome = repository.xtask("compare-branches HEAD HEAD --bench speed", &hook);
    let same = "speed: the same program on both sides\nnothing is measured: ";
    assert!(outcome.assert_fine().stderr.contains(same), "{}", outcome.stderr);
    assert_eq!((outcome.stdout.as_str(), repository.measured().len()), ("", 0));
    assert_eq!(outcome.stderr.matches("Compiling speed").count(), 1, "{}", outcome.stderr);
    let [a, b] = [0, 1].map(|side| programs(&repository, side));
    let ([a], [b]) = (&a[..], &b[..]) else { panic!("one each: {a:?} {b:?}") };
    assert!(fs::read(a).expect("A's") == fs::read(b).expect("B's"), "{}", a.display());
    let outcome = repository.xtask("compare-branches HEAD HEAD --same", &hook);
    assert_eq!(outcome.assert_fine().stdout, "HEAD-a: 100\nHEAD-b: 100\n");
    let case = &repository.document("HEAD-a..HEAD-b")["cases"][0];
    let blocks = case["blocks"].as_array().expect("blocks").len();
    assert_eq!((blocks, &case["confirmed_from"]), (8, &json!(null)), "it is soon decided");
}

#[test]
fn results_come_together_wherever_cargo_builds() {
    let repository = Repository::new();
    let elsewhere = repository.scratch.empty().join("built");
    let built = elsewhere.display().to_string();
    for variable in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"] {
        let outcome = repository.xtask("compare-branches main . --same", &[(variable, &built)]);
        assert_eq!(outcome.assert_fine().stdout, "main: 100\nworking-tree: 100\n", "{variable}");
    }
    let document = "criterion-torch/lockstep/main..working-tree.json";
    assert!(elsewhere.join(document).exists(), "as with cargo bench");
    let place = elsewhere.join("compare/build");
    assert!(place.join("target/release/deps").exists(), "the sides have their own");
    assert!(!repository.clone.join("target").exists());
}

#[test]
fn what_cannot_be_compared_is_known_before_anything_is_measured() {
    let repository = Repository::new();
    let main = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let said = ["no commit \"nowhere\"", "git fetch", "origin/NAME"];
    repository.xtask("compare-branches nowhere main", &[]).assert_refused(2, &said);
    assert!(!repository.clone.join("target/compare").exists());

    repository.branch("broken", "fn main", "fn naim");
    let place = repository.clone.join("target/compare/build");
    let said = [
        "broken: the bench target speed could not be built (exit status: 101) in ",
        &place.display().to_string(),
    ];
    repository.xtask("compare-branches main broken", &[]).assert_refused(101, &said);

    let worktree = repository.clone.join("target/compare").join(&main);
    fs::write(worktree.join("notes"), "mine").expect("work in a worktree");
    let said = ["has changes: ?? notes", "--clean"];
    repository.xtask("compare-branches main .", &[]).assert_refused(1, &said);

    repository.edit("fn naim", "fn main");
    repository.put("criterion-report/src/main.rs", "fn main() { std::process::exit(2) }");
    let said = ["does not compare (exit status: 2): cargo criterion-report compare --help"];
    repository.xtask("compare-branches . .", &[]).assert_refused(2, &said);
    assert!(repository.measured().is_empty());

    let outcome = repository.xtask("compare-branches --clean", &[]);
    outcome.assert_fine();
    // Both commits, the worktree to build in, the programs of both sides, and the linker.
    assert_eq!(outcome.stderr.matches("removed ").count(), 6, "{}", outcome.stderr);
    assert!(!repository.clone.join("target/compare").exists());
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    repository.xtask("compare-branches --clean", &[]).assert_fine();
}

#[test]
fn a_filter_that_selects_nothing_costs_nothing() {
    let repository = Repository::new();
    repository.edit("= 100;", "= 120;");
    repository.xtask("compare-branches main .", &[]).assert_fine();
    let before = repository.document("main..working-tree");
    let outcome = repository.xtask("compare-branches main . -- nothing", &[]);
    outcome.assert_refused(2, &["no case is selected", "cargo bench -- --list"]);
    assert_eq!(outcome.stdout, "");
    assert_eq!(repository.document("main..working-tree"), before);
}

#[test]
fn a_program_that_dies_is_named_and_the_others_go_on() {
    let repository = Repository::new();
    // Built and measured before the other.
    repository.edit_file(
        "Cargo.toml",
        "[profile",
        "[[bench]]\nname = \"brief\"\nharness = false\n\n[profile",
    );
    fs::copy(repository.source(), repository.clone.join("benches/brief.rs")).expect("copied");
    repository.commit();
    let line = "compare-branches HEAD HEAD --same";
    let outcome = repository.xtask(line, &[("SPEED_FAILS", "2 3")]);
    let place = repository.clone.join("target/compare/programs-1/speed/brief-");
    let place = format!("error: {}", place.display());
    outcome.assert_refused(1, &[&place, ": exit status: 3: 2 has come to grief\n"]);
    assert_eq!(outcome.stdout, "HEAD-a: 100\nHEAD-b: 100\n");
    let document = repository.document("HEAD-a..HEAD-b");
    let cases = document["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 1, "{document:#}");
    assert_eq!((&cases[0]["target"], &cases[0]["is_decided"]), (&json!("speed"), &json!(true)));

    // The cases that were measured until then are reported.
    repository.measured();
    let outcome = repository.xtask(line, &[("SPEED_FAILS", "9 3")]);
    outcome.assert_refused(1, &[": exit status: 3: 9 has come to grief\n"]);
    assert_eq!(outcome.stdout, "HEAD-a: 100 100\nHEAD-b: 100 100\n");

    // By hand or by cargo clean, and git is not told.
    fs::remove_dir_all(repository.clone.join("target/compare")).expect("take them away");
    let outcome = repository.xtask("compare-branches HEAD . --same --bench brief", &[]);
    assert_eq!(outcome.assert_fine().stdout, "HEAD: 100\nworking-tree: 100\n");
    repository.measured();
    let line = "compare-branches HEAD . --same --bench brief";
    let outcome = repository.xtask(line, &[("SPEED_FAILS", "1 3")]);
    outcome.assert_refused(1, &["1 has come to grief"]);
    assert_eq!(outcome.stdout, "", "there is nothing to report");
}

#[test]
fn the_budget_ends_what_is_never_decided() {
    let repository = Repository::new();
    let line = "compare-branches HEAD HEAD --same --budget 2s";
    let outcome = repository.xtask(line, &[("SPEED_WAVERS", "1")]);
    outcome.assert_fine();
    let document = repository.document("HEAD-a..HEAD-b");
    assert_eq!(document["cases"][0]["is_decided"], json!(false));
    let blocks = document["cases"][0]["blocks"].as_array().expect("blocks");
    assert!(blocks.len() > 1, "{}", blocks.len());
    let seconds = document["seconds"].as_f64().expect("a number");
    let last = seconds / blocks.len() as f64;
    assert!(seconds > 2.0 - 10.0 * last && seconds < 2.0 + 10.0 * last, "{seconds}");

    // A program that outlasts the time is named.
    repository.edit_file(
        "Cargo.toml",
        "[profile",
        "[[bench]]\nname = \"brief\"\nharness = false\n\n[profile",
    );
    fs::copy(repository.source(), repository.clone.join("benches/brief.rs")).expect("copied");
    repository.edit_file(
        "benches/speed.rs",
        "let port = env",
        "sleep(Duration::from_secs(600));\n    let port = env",
    );
    let outcome = repository.xtask("compare-branches . . --same --budget 5s", &[]);
    let said = "error: speed, speed: the budget was spent before all of it was measured once\n";
    outcome.assert_refused(1, &[said, "--budget 10min"]);
    assert_eq!(outcome.stdout, "working-tree-a: 100\nworking-tree-b: 100\n");
}

#[test]
fn records_of_the_plug_in_are_kept_once() {
    let repository = Repository::new();
    repository.edit_file(
        "Cargo.toml",
        "[\"criterion-report\"]",
        "[\"criterion-report\", \"plug-in\"]",
    );
    repository.put("plug-in/Cargo.toml", "[package]\nname = \"criterion-torch\"\n");
    repository.put("plug-in/src/lib.rs", "");
    repository.edit_file("Cargo.lock", "[[package]]\nname = \"speed\"", "[[package]]\nname = \"criterion-torch\"\nversion = \"0.0.0\"\n\n[[package]]\nname = \"speed\"");
    repository.commit();
    repository.edit("= 100;", "= 120;");
    let records = repository.clone.join("target/criterion-torch");
    fs::create_dir_all(records.join("main@2")).expect("made");
    let line = "compare-branches main . --features plug-in";
    let outcome = repository.xtask(line, &[]);
    assert_eq!(outcome.assert_fine().stdout, "main: 100\nworking-tree: 120\n");
    for (name, number) in [("main@1", "100"), ("working-tree@1", "120")] {
        let record = fs::read_to_string(records.join(name).join("speed.jsonl"));
        assert_eq!(record.expect("a record"), number);
    }
    assert!(!records.join("main@2").exists(), "it was of another comparison");
    // It plans its samples itself. The clone's link leads to the same libtorch for both sides.
    let libtorch = fs::read_link(repository.scratch.link()).expect("setup made a link");
    let line = format!(
        "2 in HERE with {}: --bench --warm-up-time 0.03 --measurement-time 0.06",
        libtorch.display()
    );
    assert_eq!(repository.measured()[1], line);
}
