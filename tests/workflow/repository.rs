//! Git repositories of the test's own.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Of this repository, as it is now: committed or not, but for its history and what it ignores.
/// Without git, which refuses folders of other users: that says nothing of the workflow.
pub fn copy_of_this(into: &Path) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ignored = fs::read_to_string(here.join(".gitignore")).expect("it has one");
    let ignored = |name: &str| ignored.lines().any(|line| line.strip_prefix('/') == Some(name));
    fs::create_dir_all(into).expect("a folder");
    for entry in fs::read_dir(here).expect("a folder") {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        // Of a worktree `.git` is a file.
        if name == ".git" || ignored(&name) {
            continue;
        }
        if path.is_dir() {
            copy(&path, &into.join(name));
        } else {
            // With its permissions: scripts can be run.
            fs::copy(&path, into.join(name)).expect("copy a file");
        }
    }
}

/// What git prints; it has to succeed.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["-c", "user.name=test", "-c", "user.email=test@localhost"]);
    git.args(arguments);
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_"))
    {
        git.env_remove(name);
    }
    isolate(&mut git);
    let output = git.output().expect("git can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?} in {}: {said}", folder.display());
    String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned()
}

/// Without the user's and the machine's configuration: hooks, signatures, names of branches.
pub fn isolate(command: &mut Command) {
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
}

/// As `actions/checkout`, with the whole history or with nothing but the commit. Files that stay the
/// same are not touched.
pub fn check_out(origin: &Path, workspace: &Path, commit: &str, whole: bool) {
    if !workspace.join(".git").exists() {
        git(workspace, &["init", "--quiet", "--initial-branch=main"]);
        git(workspace, &["remote", "add", "origin", origin.to_str().expect("UTF-8")]);
    }
    git(workspace, &["worktree", "prune"]);
    if whole {
        git(workspace, &["fetch", "--quiet", "--prune", "origin"]);
    } else {
        git(workspace, &["fetch", "--quiet", "--depth=1", "origin", commit]);
    }
    git(workspace, &["checkout", "--quiet", "--force", "--detach", commit]);
    git(workspace, &["clean", "-ffdxq"]);
}

/// A folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("make a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("readable").path();
        let target = to.join(path.file_name().expect("it has a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).expect("copy a file");
        }
    }
}

/// A folder that may not be there.
pub fn remove(folder: &Path) {
    if folder.exists() {
        fs::remove_dir_all(folder).expect("remove a folder");
    }
}
