//! A folder of packages outside of this repository, which take criterion-torch from its packaged crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{LazyLock, Mutex, MutexGuard};

use serde_json::Value;

use crate::mirror::{AT_ONCE, KERNELS, files, follow};
use crate::program::program;

/// One for all tests, which take turns: they build in one folder, and measure.
pub fn outside() -> MutexGuard<'static, Outside> {
    static OUTSIDE: LazyLock<Mutex<Outside>> = LazyLock::new(|| Mutex::new(Outside::new()));
    OUTSIDE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The content of each file of a package, by its name.
pub type Files<'f> = Vec<(&'f str, String)>;

/// The cases of a report by their ids.
pub type Cases = BTreeMap<String, Value>;

pub struct Outside {
    home: PathBuf,
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it is there")
}

/// A file of the repository.
pub fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

impl Outside {
    /// The folder stays: what has not changed since the last time is not built again.
    fn new() -> Self {
        let outside = Self { home: Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugin") };
        fs::create_dir_all(&outside.home).expect("the target folder is writable");
        let crates = outside.unpack(&outside.package());
        outside.write(".cargo", vec![("config.toml", outside.configuration(&crates))]);
        outside
    }

    /// The crates in the place of the registry's; a registry that has them, for `cargo add`; and the profile of this
    /// repository, with which their dependencies are built already, but for the kernels.
    fn configuration(&self, crates: &BTreeMap<String, PathBuf>) -> String {
        let patches: String = crates
            .iter()
            .filter(|(name, _)| name.contains("criterion-torch"))
            .map(|(name, folder)| format!("{name} = {{ path = {folder:?} }}\n"))
            .collect();
        // Cargo makes it where it packages crates that depend on each other.
        let registry = self.home.join("packaged/package/tmp-registry");
        assert!(registry.is_dir(), "cargo package leaves no registry of what it has packaged");
        let manifest = read("Cargo.toml");
        let tables = manifest.split("\n[").filter(|table| table.starts_with("profile.dev"));
        let tables = tables.filter(|table| !table.starts_with(KERNELS));
        let profile: String = tables.map(|table| format!("[{table}\n")).collect();
        let kernels = AT_ONCE.join("\n");
        format!(
            "[registries.{REGISTRY}]\nindex = \"{INDEX}\"\n
[source.{REGISTRY}]\nregistry = \"{INDEX}\"\nreplace-with = \"folder\"\n
[source.folder]\nlocal-registry = {registry:?}\n
[patch.crates-io]\n{patches}
[patch.{REGISTRY}]\n{patches}
{profile}
[{KERNELS}]
{kernels}
"
        )
    }

    /// The crates as cargo would publish them.
    fn package(&self) -> Vec<PathBuf> {
        let packaged = self.home.join("packaged");
        let mut package = Command::new(env!("CARGO"));
        package.args([
            "package",
            "--quiet",
            "--offline",
            "--no-verify",
            "--allow-dirty",
            "--workspace",
        ]);
        package.args(
            [
                "criterion-torch-end-to-end",
                "criterion-torch-documents",
                "xtask",
                "example-kernel",
                "example-recipe",
            ]
            .map(|unpublished| format!("--exclude={unpublished}")),
        );
        package.arg("--target-dir").arg(&packaged).current_dir(repository());
        succeeded(&package.output().expect("cargo can be started"));
        let entries = fs::read_dir(packaged.join("package")).expect("it was made");
        let paths = entries.map(|entry| entry.expect("readable").path());
        paths.filter(|path| path.extension().is_some_and(|it| it == "crate")).collect()
    }

    /// The folders of the crates, by their names.
    fn unpack(&self, archives: &[PathBuf]) -> BTreeMap<String, PathBuf> {
        let staged = tempfile::tempdir_in(&self.home).expect("writable");
        for archive in archives {
            let mut tar = Command::new("tar");
            tar.arg("-xzf").arg(archive).arg("-C").arg(staged.path());
            succeeded(&tar.output().expect("tar can be started"));
        }
        let sources = self.home.join("crates");
        follow(staged.path(), &sources, &files(staged.path()));
        let version = concat!("-", env!("CARGO_PKG_VERSION"));
        let names = fs::read_dir(staged.path()).expect("readable");
        let names = names.map(|entry| entry.expect("readable").file_name().into_string());
        let names = names.map(|name| name.expect("UTF-8"));
        let named = names.map(|folder| {
            let name = folder.strip_suffix(version).expect("every crate has the version");
            (name.to_owned(), sources.join(&folder))
        });
        named.collect()
    }

    /// Folder of a package.
    pub fn path(&self, package: &str) -> PathBuf {
        self.home.join(package)
    }

    /// A package of these files and of no other, with the versions that are tested here.
    pub fn put(&self, package: &str, mut files: Files) {
        files.push(("Cargo.lock", read("Cargo.lock")));
        self.write(package, files);
    }

    fn write(&self, package: &str, files: Files) {
        let staged = tempfile::tempdir_in(&self.home).expect("writable");
        for (name, text) in &files {
            let path = staged.path().join(name);
            fs::create_dir_all(path.parent().expect("it is in the folder")).expect("writable");
            fs::write(path, text).expect("writable");
        }
        let names: BTreeSet<PathBuf> = files.iter().map(|(name, _)| name.into()).collect();
        follow(staged.path(), &self.home.join(package), &names);
    }

    /// A package that lies somewhere else.
    pub fn take(&self, from: &Path, package: &str) {
        follow(from, &self.home.join(package), &files(from));
    }

    pub fn remove(&self, package: &str) {
        match fs::remove_dir_all(self.home.join(package)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
            _ => {}
        }
    }

    /// Gives a package the versions that are tested here.
    pub fn lock(&self, package: &str) {
        fs::write(self.home.join(package).join("Cargo.lock"), read("Cargo.lock"))
            .expect("writable");
    }

    /// Cargo in a package. It finds what the repository has built already.
    pub fn cargo(&self, folder: &str, arguments: &[&str]) -> Command {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(arguments).current_dir(self.home.join(folder));
        self.equip(&mut cargo, folder);
        cargo
    }

    /// Tells a command where everything is, also what the repository has built already.
    pub fn equip(&self, command: &mut Command, folder: &str) {
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target/tmp");
        command.env("CARGO_NET_OFFLINE", "true").env("CARGO_BUILD_BUILD_DIR", shared);
        command.env("CARGO_TARGET_DIR", self.home.join("target"));
        command.env("CRITERION_HOME", self.results(folder)).env_remove("BENCH_CONFIG");
        if std::env::var_os("LIBTORCH").is_none() {
            command.env("LIBTORCH", repository().join(".libtorch"));
        }
    }

    /// `cargo torch-bench` in a package.
    pub fn tool(&self, folder: &str, arguments: &[&str]) -> Command {
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "--package", "cargo-torch-bench"])
            .current_dir(repository());
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target/tmp");
        build.env("CARGO_TARGET_DIR", target);
        succeeded(&build.output().expect("cargo can be started"));
        let mut tool = Command::new(target.join("debug/cargo-torch-bench"));
        tool.arg("torch-bench").args(arguments).current_dir(self.home.join(folder));
        tool.env("CARGO", env!("CARGO")).env("CARGO_NET_OFFLINE", "true");
        tool
    }

    /// `cargo torch-bench` in a package where it measures: with `criterion-report` on the PATH, as when it is installed,
    /// and with a cargo that does not optimize benchmarks, as everything here.
    pub fn measuring_tool(&self, folder: &str, arguments: &[&str]) -> Command {
        self.remove(&format!("results/{folder}"));
        self.remove("programs");
        let programs = self.home.join("programs");
        fs::create_dir_all(&programs).expect("writable");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_report"), programs.join("criterion-report"))
            .expect("writable");
        let cargo = programs.join("cargo");
        let real = env!("CARGO");
        let script = format!(
            "#!/bin/sh\ncase \"$1 $2 $3\" in\nbench*)\n    shift\n    exec \"{real}\" bench --profile dev \"$@\";;\n\
             \"rustc --profile bench\")\n    shift 3\n    exec \"{real}\" rustc --profile dev \"$@\";;\nesac\n\
             exec \"{real}\" \"$@\"\n"
        );
        let cargo = program(cargo, &script);
        let mut tool = self.tool(folder, arguments);
        self.equip(&mut tool, folder);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(programs).chain(std::env::split_paths(&path));
        tool.env("PATH", std::env::join_paths(folders).expect("no colon in a folder"));
        tool.env("CARGO", cargo);
        tool
    }

    fn results(&self, folder: &str) -> PathBuf {
        self.home.join("results").join(folder).join("criterion")
    }

    /// `cargo bench -- --quick` in a package, and the cases of its report.
    pub fn measured(&self, folder: &str) -> Cases {
        self.remove(&format!("results/{folder}"));
        succeeded(&self.cargo(folder, &BENCH).output().expect("cargo can be started"));
        let mut report = Command::new(env!("CARGO_BIN_EXE_report"));
        report.args(["export", "json"]).env("CRITERION_HOME", self.results(folder));
        let report = succeeded(&report.output().expect("it can be started"));
        let report: Value = serde_json::from_str(&report).expect("JSON");
        let cases = report["cases"].as_array().expect("a list").iter().cloned();
        cases.map(|case| (case["full_id"].as_str().expect("an id").to_owned(), case)).collect()
    }

    /// Errors from building a package's benchmarks.
    pub fn refused(&self, folder: &str) -> String {
        failed(self.cargo(folder, &["bench", "--profile", "dev", "--no-run"]))
    }

    /// Errors without development dependencies and with another libtorch than that of the other builds, in an empty
    /// folder. Cargo may build torch-sys first, which is a dependency and has its own errors.
    pub fn refused_with(&self, folder: &str, libtorch: Option<&Path>) -> String {
        let mut cargo = self.cargo(folder, &["check"]);
        self.remove("without libtorch");
        let target = self.home.join("without libtorch");
        cargo.env("CARGO_BUILD_BUILD_DIR", &target).env("CARGO_TARGET_DIR", &target);
        match libtorch {
            Some(libtorch) => cargo.env("LIBTORCH", libtorch),
            // Not removed: this folder may lie in the repository, whose configuration would name it again.
            None => cargo.env("LIBTORCH", ""),
        };
        failed(cargo)
    }
}

/// A registry that has the crates.
pub const REGISTRY: &str = "packaged";
/// Nothing asks it: a folder is in its place.
const INDEX: &str = "https://packaged.invalid/index";

/// As users run it, but not optimized, as everything here.
const BENCH: [&str; 5] = ["bench", "--profile", "dev", "--", "--quick"];

fn failed(mut cargo: Command) -> String {
    let output = cargo.output().expect("cargo can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "nothing was refused: {said}");
    said.into_owned()
}

pub fn succeeded(output: &Output) -> String {
    let [said, printed] = [&output.stderr, &output.stdout].map(|it| String::from_utf8_lossy(it));
    assert!(output.status.success(), "{}\n{printed}\n{said}", output.status);
    printed.into_owned()
}
