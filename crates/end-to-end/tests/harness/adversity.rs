//! Trouble around a run: nobody reads its output, the disk is full, another run measures in its
//! folder, a case takes too long.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use criterion_torch::refusal::Refusal;
use criterion_torch::workload::Workload;
use plan::{Accuracy, Case, Outcome, Record, Role};
use tch::{Device, Kind, Tensor};

use crate::outcomes::{FINE, FINE_ID, SUITE, SURVIVABLE, estimates, manifest, records};
use crate::program::{exact, prepared};

/// Cases that get slow, by the number of their rows: at once, when criterion has sampled them, or
/// when they are paired.
pub const AT_ONCE: u64 = 20;
pub const SAMPLED: u64 = 21;
pub const PAIRED: u64 = 22;

/// A step that is long enough for a batch of its own.
const LONG: Duration = Duration::from_millis(4);
/// A slow step, and the limit of a case.
const STEP: Duration = Duration::from_millis(100);
const LIMIT_S: f64 = 3.0;

pub const CONFIG: &str = "
quantization_config_recipe_names: [int8wo]
packed: false
energy: false
case_timeout_s: 3
sampling: { samples: 10, warm_up_s: 60, measurement_s: 60 }
latency: { calls: 20 }
model_params:
  matrix_shapes:
    - name: custom
      shapes: [[20, 1, 1], [21, 1, 1], [22, 1, 1]]
";

/// Names a file that gets a line with the number of slow steps for every case that has been slow.
const STEPS: &str = "ADVERSITY_STEPS";

struct Slow {
    case: Case,
    rows: u64,
    is_paired: std::cell::Cell<bool>,
    steps: std::cell::Cell<u64>,
}

pub fn prepare(case: &Case, rows: u64) -> Box<dyn Workload> {
    let (is_paired, steps) = Default::default();
    Box::new(Slow { case: case.clone(), rows, is_paired, steps })
}

impl Slow {
    fn is_slow(&self) -> bool {
        let home = || PathBuf::from(std::env::var_os("CRITERION_HOME").expect("it is set"));
        let estimates =
            |home: PathBuf| home.join(self.case.id.directory()).join("new/estimates.json");
        match self.rows {
            AT_ONCE => true,
            SAMPLED => estimates(home()).exists(),
            _ => self.is_paired.get(),
        }
    }
}

impl Workload for Slow {
    fn step(&self) -> Result<Tensor, Refusal> {
        if self.is_slow() {
            self.steps.set(self.steps.get() + 1);
            std::thread::sleep(STEP);
        } else if self.rows == PAIRED {
            std::thread::sleep(LONG);
        }
        Ok(Tensor::f_ones([8], (Kind::Float, Device::Cpu))?)
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        Ok(exact())
    }

    /// Comes after the passes and before the pairs.
    fn recheck(&self) -> Result<(), Refusal> {
        self.is_paired.set(self.case.role == Role::Candidate);
        Ok(())
    }

    fn weights_bytes(&self) -> u64 {
        0
    }

    fn inputs_bytes(&self) -> u64 {
        0
    }

    fn kernels(&self) -> Vec<String> {
        vec!["aten::ones".to_owned()]
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        let path = std::env::var_os(STEPS).expect("the parent sets it");
        let mut log = File::options().append(true).create(true).open(path).expect("writable");
        writeln!(log, "{}", self.steps.get()).expect("writable");
    }
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A run of the cases with and without output that can be written ends alike.
pub fn output_that_cannot_be_written_changes_nothing() {
    let good = home();
    let mut run = SUITE.command(good.path(), &[SURVIVABLE]);
    assert_eq!(run.output().expect("it starts").status.code(), Some(1));
    let unread = || Stdio::from(std::io::pipe().expect("a pipe").1);
    let full = || {
        let full = File::options().write(true).open("/dev/full");
        Stdio::from(full.expect("every Linux has it"))
    };
    let null = Stdio::null;
    for (what, stdout, stderr) in [
        ("nobody reads stdout", unread(), null()),
        ("nobody reads stderr", null(), unread()),
        ("nobody reads either", unread(), unread()),
        ("stdout is full", full(), null()),
        ("stderr is full", null(), full()),
    ] {
        let home = home();
        let mut run = SUITE.command(home.path(), &[SURVIVABLE]);
        let status = run.stdout(stdout).stderr(stderr).status().expect("it starts");
        assert_eq!(status.code(), Some(1), "{what}");
        let outcomes = |home: &Path| -> Vec<Outcome> {
            records(home, "new", what).into_iter().map(|record| record.outcome).collect()
        };
        assert_eq!(outcomes(home.path()), outcomes(good.path()), "{what}");
        assert!(manifest(home.path()).finished.is_some(), "{what}");
        assert!(estimates(home.path(), FINE, "new").exists(), "{what}");
    }
    let mut list = SUITE.command(good.path(), &["--list"]);
    let status = list.stdout(unread()).stderr(unread()).status().expect("it starts");
    assert_eq!(status.code(), Some(0), "--list");
    // Errors that come before anything is run keep their code.
    let mut bad = SUITE.command(good.path(), &["--sample-size", "1"]);
    let status = bad.stdout(unread()).stderr(unread()).status().expect("it starts");
    assert_eq!(status.code(), Some(2), "--sample-size 1");
}

pub fn output_is_whole_and_in_order() {
    let home = home();
    let path = home.path().join("said");
    let both = File::create(&path).expect("writable");
    let mut run = SUITE.command(home.path(), &["--exact", FINE_ID]);
    run.stdout(both.try_clone().expect("a number is left")).stderr(both);
    assert_eq!(run.status().expect("it starts").code(), Some(0));
    let said = fs::read_to_string(&path).expect("UTF-8");
    // The second comes by stdout, the others by stderr.
    let places =
        ["[1/1, ", "time:   [", "outcomes: 1 case: 1 measured\n"].map(|text| said.find(text));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}: {said}");
    assert!(said.ends_with("measured\n"), "{said}");
    let listed = SUITE.command(home.path(), &["--list"]).output().expect("it starts").stdout;
    let listed = String::from_utf8(listed).expect("UTF-8");
    assert_eq!(listed.lines().filter(|line| line.ends_with(": benchmark")).count(), 19, "{listed}");
}

pub fn two_runs_in_one_folder_take_turns() {
    let home = home();
    let folder = home.path().join("criterion-torch");
    let runs = folder.join("runs");
    fs::create_dir_all(&runs).expect("writable");
    fs::write(runs.join("killed-1-1.running"), FINE_ID).expect("writable");
    let path = folder.join("lock");
    let mut held = File::create(&path).expect("writable");
    held.lock().expect("nobody has it");
    let holder = r#"{"pid":4242,"run_id":"fusion-1-4242","target":"fusion","started":60}"#;
    held.write_all(holder.as_bytes()).expect("writable");

    let run = |arguments: &[&str]| {
        let output = SUITE.command(home.path(), arguments).output().expect("it starts");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let (status, said) = run(&["--exact", FINE_ID]);
    assert_eq!(status, Some(2), "{said}");
    for text in ["process 4242", "`fusion` since 00:01 UTC", "--wait", "CRITERION_HOME"] {
        assert!(said.contains(text), "{text}: {said}");
    }
    assert!(prepared(home.path()).is_empty(), "nothing is measured");
    assert_eq!(fs::read_to_string(&path).expect("readable"), holder, "nothing is written");
    assert!(runs.join("killed-1-1.running").exists(), "it may be the other run's");
    for harmless in [&["--test", "--exact", FINE_ID][..], &["--list"]] {
        assert_eq!(run(harmless).0, Some(0), "{harmless:?} takes no lock");
    }

    let mut run = SUITE.command(home.path(), &["--wait", "--exact", FINE_ID]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(run.stderr.take().expect("it is piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("UTF-8");
    assert_eq!(line, "waiting for process 4242, which measures `fusion` since 00:01 UTC\n");
    drop(held);
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("UTF-8");
    assert_eq!(run.wait().expect("it ends").code(), Some(0), "{rest}");
    assert_eq!(records(home.path(), "new", &rest).len(), 1);
    assert!(!runs.join("killed-1-1.running").exists(), "no process is behind it");
    let text = fs::read_to_string(&path).expect("it is never deleted");
    let last: serde_json::Value = serde_json::from_str(&text).expect("one JSON object");
    let manifest = manifest(home.path());
    assert_eq!(last["run_id"], manifest.run_id);
    assert_eq!((&last["target"], &last["started"]), (&"outcomes".into(), &manifest.started.into()));
    assert_eq!(last["pid"], run.id());
}

/// A small disk, until it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: PathBuf) -> Option<Self> {
        fs::create_dir_all(&folder).expect("writable");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=32k", "none"]).arg(&folder);
        let mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        mounted.then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(&self.0).status();
        assert!(status.is_ok_and(|it| it.success()), "{} stays mounted", self.0.display());
    }
}

pub fn what_cannot_be_stored_ends_the_run() {
    let home = home();
    let disk = SmallDisk::mount(home.path().join("criterion-torch"));
    let mut run = SUITE.command(home.path(), &[SURVIVABLE]);
    let (expected, code) = if disk.is_some() {
        // There may be room another time.
        ("No space left on device", 75)
    } else {
        // Without mount rights: files of 4 KiB at most; 8 blocks of 512 bytes.
        let (program, arguments) = (run.get_program().to_owned(), run.get_args().map(Into::into));
        let arguments: Vec<std::ffi::OsString> = arguments.collect();
        let mut limited = Command::new("sh");
        limited.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""]);
        limited.arg(program).args(arguments);
        for (name, value) in run.get_envs() {
            limited.env(name, value.expect("only set"));
        }
        run = limited;
        ("File too large", 2)
    };
    let output = run.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    let records = records(home.path(), "new", &said);
    assert!((1..8).contains(&records.len()), "{} records: {said}", records.len());
    let begun = prepared(home.path()).len();
    assert!(begun <= records.len() + 1, "{begun} begun, {} stored: {said}", records.len());
    let folder = home.path().join("criterion-torch");
    for text in
        [expected, folder.to_str().expect("UTF-8"), "Make room on that disk", "CRITERION_HOME"]
    {
        assert!(said.contains(text), "{text}: {said}");
    }
    assert_eq!(manifest(home.path()).finished, None, "it has not done what it was asked for");
    let mut files = Vec::new();
    for folder in [folder.join("runs"), folder.join("new"), folder.join("base")] {
        let entries = fs::read_dir(folder).into_iter().flatten();
        files.extend(entries.map(|entry| entry.expect("readable").file_name()));
    }
    let left = |word: &str| files.iter().any(|name| name.to_string_lossy().contains(word));
    assert!(!left("tmp-") && !left(".running"), "{files:?}");
}

pub fn a_slow_case_ends_at_its_time_limit() {
    let home = home();
    let steps = home.path().join("steps");
    let mut run = SUITE.command(home.path(), &["^inference/slow/"]);
    let output = run.env(STEPS, &steps).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "a timeout is a failure: {said}");
    let records = records(home.path(), "new", &said);
    let id =
        |rows: u64, variant: &str| format!("inference/slow/linear/cpu/{variant}/bf16-{rows}x1x1");
    let record = |rows: u64, variant: &str| -> &Record {
        let record = records.iter().find(|it| it.full_id == id(rows, variant));
        record.unwrap_or_else(|| panic!("{rows} {variant}: {said}"))
    };
    let slow = [AT_ONCE, SAMPLED].map(|rows| (rows, "baseline"));
    for (rows, variant) in slow.into_iter().chain([(PAIRED, "int8wo")]) {
        let record = record(rows, variant);
        let expected = format!("it took longer than {LIMIT_S} s (`case_timeout_s`)");
        assert_eq!(record.outcome, Outcome::Timeout { reason: expected }, "{rows}");
        assert!(record.last_sample.is_none() && record.pairs.is_empty(), "{rows}: no time is kept");
        assert_eq!((record.measures.latency, &record.no_pair), (None, &None), "{rows}");
    }
    assert_eq!(record(PAIRED, "baseline").outcome, Outcome::Measured, "{said}");
    // Slow steps take their time at least, so no case can have more of them, but for those of the
    // batch that was running when the time was over.
    let most = (LIMIT_S / STEP.as_secs_f64()) as u64 + 3;
    let steps = fs::read_to_string(steps).expect("each case writes a line");
    let counts: Vec<u64> = steps.lines().map(|line| line.parse().expect("a number")).collect();
    assert!(counts.iter().all(|count| *count <= most), "more than {most}: {counts:?}");
    assert!(counts.iter().filter(|count| **count > 0).count() >= 3, "{counts:?}");
}
