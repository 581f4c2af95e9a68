//! `compare-branches` beside another one, interrupted and killed: nothing is mixed, and it can be run
//! again.
#![cfg(unix)]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

use crate::common::repository::Repository;
use crate::common::wait_until;

/// A comparison whose process of that number does not go on, in a process group of its own.
fn comparison_in_progress(repository: &Repository, number: &str) -> Child {
    let holding = [("SPEED_HOLDS", number)];
    let mut command = repository.command("compare-branches main . --same", &holding);
    let command = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    // A shell without job control has its background processes ignore interrupts, and children inherit that.
    let heed = || {
        // SAFETY: it changes what this process does with a signal, and no memory.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: `signal` may be called between `fork` and `exec`.
    let command = unsafe { command.pre_exec(heed) };
    let child = command.spawn().expect("run xtask");
    let begun = format!("{number} in ");
    let begun = || repository.scratch.log("log").iter().any(|line| line.starts_with(&begun));
    wait_until("the process begins", begun);
    child
}

/// Whether nothing that works on the results is left.
fn is_free(repository: &Repository) -> bool {
    let lock = repository.clone.join("target/criterion-torch/launches.lock");
    File::open(lock).expect("there was a comparison").try_lock().is_ok()
}

/// The next comparison is of new processes alone.
fn check_rerun(repository: &Repository) {
    repository.edit("= 100;", "= 200;");
    let outcome = repository.xtask("compare-branches main .", &[]);
    assert_eq!(outcome.assert_fine().stdout, "main: 100\nworking-tree: 200\n");
    let document = repository.document("main..working-tree");
    let blocks = document["cases"][0]["blocks"].as_array().expect("blocks");
    let times = serde_json::json!([[100.0, 200.0], [100.0, 200.0]]);
    assert!(blocks.iter().all(|it| it["times"] == times), "{document:#}");
}

#[test]
fn an_interrupt_ends_all_of_it() {
    let repository = Repository::new();
    repository.xtask("compare-branches main . --same", &[]).assert_fine();
    let before = repository.document("main..working-tree");
    repository.edit("= 100;", "= 120;");
    repository.measured();
    // In the second block.
    let mut child = comparison_in_progress(&repository, "6");
    // A terminal sends it to the group, too.
    let group = format!("-{}", child.id());
    let sent = Command::new("kill").args(["-s", "INT", "--", &group]).status();
    assert!(sent.expect("run kill").success());
    assert_eq!(child.wait().expect("wait for xtask").signal(), Some(2));
    wait_until("the benchmark ends, too", || is_free(&repository));
    assert_eq!(repository.document("main..working-tree"), before, "it was not replaced by a part");
    repository.edit("= 120;", "= 100;");
    check_rerun(&repository);
}

#[test]
fn what_still_measures_keeps_others_out() {
    let repository = Repository::new();
    let mut child = comparison_in_progress(&repository, "2");
    let holder =
        format!("is held by process {}: cargo xtask compare-branches main . --same", child.id());
    let said = [holder.as_str(), "wait until that ends", "fuser -v "];
    for line in ["compare-branches main .", "bench --repeat 2", "compare-branches --clean"] {
        repository.xtask(line, &[]).assert_refused(2, &said);
    }
    child.kill().expect("kill xtask");
    child.wait().expect("wait for xtask");
    // The benchmark has not ended.
    for line in ["compare-branches main .", "bench --repeat 2"] {
        repository.xtask(line, &[]).assert_refused(2, &said);
    }
    repository.scratch.set("go", "");
    wait_until("the benchmark ends", || is_free(&repository));
    assert!(!repository.clone.join("target/criterion-torch/lockstep").exists());
    check_rerun(&repository);
}

#[test]
fn a_checkout_that_was_killed_is_made_again() {
    let repository = Repository::new();
    let main = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let place = repository.clone.join("target/compare").join(&main);
    let worktree = place.display().to_string();
    repository.git(&["worktree", "add", "--quiet", "--detach", &worktree, "main"]);
    // Git locks a worktree that it fills, and leaves it locked.
    repository.git(&["worktree", "lock", "--reason", "initializing", &worktree]);
    fs::remove_file(place.join("Cargo.toml")).expect("it is half there");
    let outcome = repository.xtask("compare-branches main . --same", &[]);
    assert_eq!(outcome.assert_fine().stdout, "main: 100\nworking-tree: 100\n");
    assert!(outcome.stderr.contains("not checked out completely"), "{}", outcome.stderr);
}

#[test]
fn locked_and_lost_worktrees_are_cleaned_up() {
    let repository = Repository::new();
    let compare = repository.clone.join("target/compare");
    repository.xtask("compare-branches main . --same", &[]).assert_fine();
    let main = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let branch = repository.branch("pr", "= 100;", "= 120;");
    repository.xtask("compare-branches main pr", &[]).assert_fine();
    for commit in [&main, &branch] {
        let place = compare.join(commit).display().to_string();
        repository.git(&["worktree", "lock", &place]);
    }
    fs::remove_dir_all(compare.join(&main)).expect("take one away by hand");
    let elsewhere = repository.scratch.empty().join("mine").display().to_string();
    repository.git(&["worktree", "add", "--quiet", "--detach", &elsewhere, "main"]);
    fs::remove_dir_all(&elsewhere).expect("it may be on a disk that is not there now");

    let outcome = repository.xtask("compare-branches --clean", &[]);
    outcome.assert_fine();
    for said in
        [format!("removed {}/{branch}", compare.display()), format!("{main} no longer exists")]
    {
        assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
    }
    let left = repository.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(left.matches("worktree ").count(), 2, "the clone and what is the user's: {left}");
    assert!(!compare.exists());
    repository.xtask("compare-branches main pr", &[]).assert_fine();
}

#[test]
fn what_is_behind_a_link_stays() {
    let repository = Repository::new();
    let foreign = repository.scratch.empty().join("foreign");
    fs::create_dir(&foreign).expect("made");
    fs::write(foreign.join("file"), "mine").expect("written");
    // Also another worktree of the same clone, which git itself would remove.
    let place = repository.scratch.empty().join("worktree");
    repository.git(&["worktree", "add", "--quiet", "--detach", &place.display().to_string()]);
    let compare = repository.clone.join("target/compare");
    fs::create_dir_all(&compare).expect("made");
    for (name, to) in [("a", &foreign), ("b", &place)] {
        symlink(to, compare.join(name)).expect("linked");
    }
    repository.xtask("compare-branches --clean", &[]).assert_fine();
    assert!(!compare.exists(), "the links are gone");
    assert!(foreign.join("file").exists() && place.join("Cargo.toml").exists());

    symlink(&foreign, &compare).expect("linked");
    for line in ["compare-branches --clean", "compare-branches main ."] {
        let refused = repository.xtask(line, &[]);
        refused.assert_refused(1, &["target/compare is a link", "remove the link: rm "]);
    }
    assert!(foreign.join("file").exists());
}
