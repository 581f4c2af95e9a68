//! A folder for scripts: a clone, the repository that it was cloned from, and GitHub's variables for a step.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::program::program;

/// Removed when dropped.
pub struct ScriptFolder {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

/// How a script ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    /// Its stdout, then its stderr.
    pub said: String,
    /// Its output for later steps, and for the page of the job.
    pub output: String,
    pub env: String,
    pub summary: String,
}

impl ScriptFolder {
    /// The clone `project` of the repository `origin.git`, with one commit that holds the scripts.
    pub fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a folder"), variables: Vec::new() };
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let scripts = place.path("project/.github/scripts");
        for folder in [&scripts, &place.path("bin"), &place.path("temp")] {
            fs::create_dir_all(folder).expect("make a folder");
        }
        // With their permissions: they can be run. By another process, so that none is busy then.
        let copied = Command::new("cp")
            .arg("-pr")
            .arg(here.join(".github/scripts/."))
            .arg(&scripts)
            .status();
        assert!(copied.expect("cp can be run").success());
        place.git(&["init", "--quiet", "--initial-branch=main"]);
        place.commit("first");
        place.git(&["clone", "--quiet", "--bare", ".", "../origin.git"]);
        place.git(&["remote", "add", "origin", "../origin.git"]);
        place
    }

    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// Writes a file, and its folder.
    pub fn write(&self, inside: &str, text: &str) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
        fs::write(path, text).expect("write a file");
    }

    /// Writes an executable script, and its folder.
    pub fn write_script(&self, inside: &str, text: &str) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
        program(path, text);
    }

    /// A variable of every script.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Commits whatever lies in the clone, or nothing.
    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    pub fn push(&self) {
        self.git(&["push", "--quiet", "origin", "main"]);
    }

    /// Runs git in the clone, which has to succeed, and returns its output.
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut git = self.command("git");
        git.args(["-c", "user.name=test", "-c", "user.email=test@localhost"]).args(arguments);
        let output = git.output().expect("git can be run");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {said}");
        String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned()
    }

    /// Runs a script of the repository, with its arguments.
    pub fn run(&self, script: &str) -> Ended {
        self.bash(&format!(".github/scripts/{script}"))
    }

    /// Runs the text of a step as its `shell: bash` does.
    pub fn bash(&self, text: &str) -> Ended {
        self.write("temp/step", text);
        let mut bash = self.command("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(self.path("temp/step"));
        for name in ["GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY"] {
            self.write(&format!("temp/{name}"), "");
            bash.env(name, self.path("temp").join(name));
        }
        let output = bash.output().expect("bash can be run");
        let read = |name: &str| {
            fs::read_to_string(self.path("temp").join(name)).expect("a script leaves its files")
        };
        let printed = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        Ended {
            code: output.status.code(),
            said: printed.concat(),
            output: read("GITHUB_OUTPUT"),
            env: read("GITHUB_ENV"),
            summary: read("GITHUB_STEP_SUMMARY"),
        }
    }

    /// Without the user's variables and without the user's and the machine's configuration of git.
    fn command(&self, program: &str) -> Command {
        let path = std::env::var("PATH").expect("a PATH in UTF-8");
        let mut command = Command::new(program);
        command
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("HOME", self.folder.path())
            .env("RUNNER_TEMP", self.path("temp"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}
