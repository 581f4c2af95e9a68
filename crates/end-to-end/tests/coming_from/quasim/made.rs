//! Fixtures of the rows: one measured kernel with its reports, packages of kernels, and a repository.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use plan::{Case, Config, Diagnostics};
use serde_json::{Value, json};

use crate::workspace::TestWorkspace;

/// A kernel by a function.
pub const KERNEL: &str = "
pub struct ProblemSize { pub size: usize }

impl Default for ProblemSize {
    fn default() -> Self { Self { size: 1024 } }
}

pub fn run_benchmark(size: &ProblemSize) -> Result<f32, Refusal> { Ok(size.size as f32) }

pub fn reference(size: &ProblemSize) -> Result<Tensor, Refusal> { todo!() }
";

/// A package of kernels, gone when it is dropped.
pub struct Package(tempfile::TempDir);

impl Package {
    /// A package without kernels.
    pub fn empty() -> Self {
        let package = Self(tempfile::tempdir().expect("a temporary folder"));
        package.write("Cargo.toml", "");
        package
    }

    /// A package whose kernel `mine` has this `bench.yaml`, if it is not empty.
    pub fn new(bench: &str) -> Self {
        let package = Self::empty();
        package.write("benches/kernels/mine/kernel.rs", KERNEL);
        if !bench.is_empty() {
            package.write("benches/kernels/mine/bench.yaml", bench);
        }
        package
    }

    pub fn path(&self, inside: &str) -> PathBuf {
        self.0.path().canonicalize().expect("it is there").join(inside)
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// The config of kernels that says nothing but `rest`.
    pub fn config(&self, rest: &str) -> Result<Config, Diagnostics> {
        let file = self.path("configs/kernels/test.yml");
        Config::parse(&file, &format!("benchmark_mode: kernels\n{rest}\n"))
    }

    pub fn cases_with(&self, rest: &str) -> Vec<Case> {
        let config = self.config(rest).unwrap_or_else(|errors| panic!("{errors}"));
        let plan = plan::expand(&[config]).unwrap_or_else(|errors| panic!("{errors}"));
        plan.cases().cloned().collect()
    }

    /// The files of the kernels that are found.
    pub fn files(&self) -> Vec<String> {
        let cases = self.cases_with("");
        cases.iter().map(|case| case.work.kernel().expect("a kernel").file.clone()).collect()
    }
}

/// The kernel `saxpy`, measured in float32 and refused in fp8, and the function `solved`, under the name `main`, with their
/// reports.
pub struct Measured {
    workspace: TestWorkspace,
    /// The command's output.
    pub said: String,
}

/// How the energy of the leading case was measured: it is written into its record, as few machines that run
/// tests have a counter.
pub const METHOD: &str = "made for this test";

pub fn measured() -> &'static Measured {
    static MEASURED: OnceLock<Measured> = OnceLock::new();
    MEASURED.get_or_init(|| {
        let workspace = TestWorkspace::new();
        let filter = "^kernels/drop_in/(solved/|saxpy/cpu/((kernel|torch)/f32|kernel/f8)-1000-)";
        workspace.bench("kernels", &["--save-baseline", "main", filter]);
        with_energy(&workspace);
        let reports = workspace.path("reports").display().to_string();
        let said = workspace.report(&[
            "kernels",
            "--baseline",
            "main",
            "--compare-to",
            "main",
            "--output-dir",
            &reports,
        ]);
        Measured { workspace, said }
    })
}

fn with_energy(workspace: &TestWorkspace) {
    let file = workspace.path("criterion-torch/main/kernels.jsonl");
    let text = fs::read_to_string(&file).expect("records");
    let lines = text.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).expect("a record");
        if record["full_id"].as_str().is_some_and(|id| id.contains("saxpy/cpu/kernel/f32-")) {
            record["measures"]["energy"] = json!({
                "joules": 0.25, "watts": 50.0, "idle_watts": null, "idle_subtracted": false,
                "window_s": 1.0, "iters": 200, "method": METHOD
            });
            record["measures"]["absent"].as_object_mut().expect("reasons").remove("energy");
        }
        record.to_string() + "\n"
    });
    fs::write(&file, lines.collect::<String>()).expect("written");
}

impl Measured {
    /// A file of the reports.
    pub fn path(&self, file: &str) -> PathBuf {
        self.workspace.path("reports").join(file)
    }

    pub fn text(&self, file: &str) -> String {
        let path = self.path(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn json(&self, file: &str) -> Value {
        serde_json::from_str(&self.text(file)).expect("JSON")
    }

    /// The object of the kernel.
    pub fn kernel(&self) -> Value {
        self.json("kernels/saxpy.json")
    }

    /// The case of `solved` on a device.
    pub fn solved(&self, backend: &str) -> Value {
        let kernel = self.json("kernels/solved.json");
        let mut cases = kernel["cases"].as_array().expect("a list").iter();
        cases.find(|it| it["backend"] == backend).expect("it has a record").clone()
    }

    /// How many cases were measured: two of `saxpy`, and `solved` where the machine has its devices.
    pub fn successful(&self) -> usize {
        2 + ["cpu", "rocm"].iter().filter(|it| self.solved(it)["success"] == true).count()
    }

    /// The text in `summary.md` below a heading, up to the next one of its level.
    pub fn section(&self, heading: &str) -> String {
        let summary = self.text("summary.md");
        let below = summary.split_once(&format!("\n{heading}\n"));
        let (_, below) = below.unwrap_or_else(|| panic!("{heading}: {summary}"));
        below.split("\n## ").next().expect("some text").to_owned()
    }

    pub fn criterion(&self) -> PathBuf {
        self.workspace.path("criterion")
    }

    pub fn kernels_help(&self) -> String {
        self.workspace.report(&["kernels", "--help"])
    }
}

/// A repository whose branch `trunk` has one summary in its history.
pub fn repository(history: &str, summary: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(history);
    fs::create_dir_all(&path).expect("made");
    fs::write(path.join("benchmark-1.json"), summary).expect("written");
    for arguments in [
        &["init", "--quiet", "--initial-branch=trunk"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "history"],
    ] {
        let status = Command::new("git")
            .current_dir(folder.path())
            .args(["-c", "user.name=test", "-c", "user.email=test@localhost"])
            .args(arguments)
            .status();
        assert!(status.expect("git can be run").success(), "{arguments:?}");
    }
    folder
}
