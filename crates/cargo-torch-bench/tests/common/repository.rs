//! A repository whose benchmark runs in no time (fixtures/speed), for the real cargo and git.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Outcome, Scratch};

/// A clone with one commit on `main`, and libtorch.
pub struct Repository {
    pub scratch: Scratch,
    pub clone: PathBuf,
}

impl Repository {
    pub fn new() -> Self {
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

    pub fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=test", "-c", "user.email=test@localhost"]).args(arguments);
        let output = isolated(&mut git).current_dir(&self.clone).output().expect("run git");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("git prints text").trim().to_owned()
    }

    /// All that lies here; the first 12 digits.
    pub fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=change"]);
        self.git(&["rev-parse", "--short=12", "HEAD"])
    }

    /// A branch whose benchmark has another line, checked out.
    pub fn branch(&self, name: &str, from: &str, to: &str) -> String {
        self.git(&["switch", "--quiet", "--create", name, "main"]);
        self.edit(from, to);
        self.commit()
    }

    pub fn edit(&self, from: &str, to: &str) {
        self.edit_file("benches/speed.rs", from, to);
    }

    pub fn edit_file(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.clone.join(file)).expect("read it");
        assert!(text.contains(from), "{from} is not in {text}");
        fs::write(self.clone.join(file), text.replace(from, to)).expect("change it");
    }

    /// Writes a file, in a folder that may be new.
    pub fn put(&self, file: &str, text: &str) {
        let path = self.clone.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
        fs::write(path, text).expect("write a file");
    }

    pub fn source(&self) -> PathBuf {
        self.clone.join("benches/speed.rs")
    }

    pub fn xtask(&self, line: &str, variables: &[(&str, &str)]) -> Outcome {
        Outcome::run(self.command(line, variables))
    }

    pub fn command(&self, line: &str, variables: &[(&str, &str)]) -> Command {
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
            // Cargo's alias sets it, too.
            .env("LIBTORCH", self.scratch.link())
            .env("SPEED_LOG", self.scratch.fake("log"))
            .env_remove("CARGO_BUILD_TARGET_DIR");
        isolated(&mut xtask).envs(variables.iter().copied()).current_dir(&self.clone);
        xtask
    }

    /// The measurements since the last time, with HERE for the clone.
    pub fn measured(&self) -> Vec<String> {
        let lines = self.scratch.log("log");
        self.scratch.set("log", "");
        let here = self.clone.display().to_string();
        lines.iter().map(|line| line.replace(&here, "HERE").trim_end().to_owned()).collect()
    }

    /// The document of a comparison, `A..B`.
    pub fn document(&self, names: &str) -> serde_json::Value {
        let folder = self.clone.join("target/criterion-torch/lockstep");
        let text = fs::read_to_string(folder.join(format!("{names}.json"))).expect("a document");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The results that are kept, as folders in `target` and the number in each.
    pub fn kept(&self) -> Vec<String> {
        let mut kept = Vec::new();
        for (folder, file) in
            [("criterion/speed/some-case", "sample.json"), ("criterion-torch", "speed.jsonl")]
        {
            for entry in fs::read_dir(self.clone.join("target").join(folder)).expect("results") {
                let entry = entry.expect("results").path();
                if entry.is_file() {
                    continue;
                }
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

/// Copies a fixture.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("make a folder");
    for entry in fs::read_dir(from).expect("read the fixture") {
        let path = entry.expect("read the fixture").path();
        let target = to.join(path.file_name().expect("it has a name"));
        // A folder that somebody built in the fixture is no part of it.
        if path.is_dir() && !path.ends_with("target") {
            copy(&path, &target);
        } else if path.is_file() {
            fs::copy(&path, target).expect("copy a file");
        }
    }
}

/// Names with numbers, as `kept` gives them.
pub fn both(names: &[(&str, u32)]) -> Vec<String> {
    let of = |kind| names.iter().map(move |(name, number)| format!("{kind} {name} {number}"));
    of("record").chain(of("time")).collect()
}
