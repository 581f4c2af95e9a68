//! Input that should be a result and is none: one line names the file, the rest is reported, and the
//! program says so at its end.
//!
//! The folders of `fixtures/bad` lie over a copy of `two-siblings`, of which they spoil one file;
//! what git cannot hold is made here.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{copied, copy, fixture};
use insta::assert_snapshot;
use tempfile::TempDir;

const RESULT: &str = "criterion/inference_quick_linear_cpu/int8wo/bf16-1024x1024x1024/new";
const RECORDS: &str = "criterion-torch/new/inference.jsonl";
const RUN: &str = "criterion-torch/runs/20261120T134000Z-4242.json";

/// A copy of the good input.
fn good() -> TempDir {
    copied("two-siblings")
}

fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_criterion-report"));
    command.args(arguments).arg("--criterion-dir").arg(folder.join("criterion"));
    command.env_remove("RUST_BACKTRACE");
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    program(folder, arguments).output().expect("the program starts")
}

fn stderr(output: &Output, folder: &Path) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.replace(folder.to_str().expect("text"), "DIR").replace(RESULT, "RESULT")
}

/// The exit code, the lines on standard error, and how many cases were reported all the same.
fn summary(folder: &Path) -> String {
    let output = run(folder, &["csv"]);
    let lines = String::from_utf8_lossy(&output.stdout).lines().count();
    let code = output.status.code().expect("it ends by itself");
    format!("exit {code}, {} cases\n{}", lines.saturating_sub(1), stderr(&output, folder))
}

/// Checks the rules that hold for every bad input.
fn check(name: &str, folder: &Path) -> String {
    let said = summary(folder);
    if !said.starts_with("exit 0") {
        assert!(said.starts_with("exit 2"), "{name}: {said}");
        let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error:")).collect();
        assert_eq!(errors.len(), 1, "{name}: {said}");
        assert!(errors[0].contains("DIR/"), "{name}: the line names no file: {said}");
    }
    assert!(!said.contains("panicked"), "{name}: {said}");
    said
}

#[test]
fn one_line_for_each() {
    let bad = fixture("bad");
    let mut names: Vec<_> =
        fs::read_dir(&bad).expect("fixtures").map(|it| it.expect("an entry").file_name()).collect();
    names.sort_unstable();
    let mut text = String::new();
    for name in &names {
        let folder = good();
        copy(&bad.join(name), folder.path());
        let name = name.to_string_lossy();
        writeln!(text, "--- {name}\n{}", check(&name, folder.path())).expect("to memory");
    }
    assert_snapshot!("bad-files", text);
}

type Spoil = fn(&Path);

fn replace_by_folder(path: PathBuf) {
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("created");
}

fn replace_by_link(path: PathBuf, target: &str) {
    fs::remove_file(&path).expect("removed");
    symlink(target, &path).expect("linked");
}

fn replace_by_pipe(path: PathBuf) {
    fs::remove_file(&path).or_else(not_there).expect("removed");
    let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
}

fn not_there(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Root can read every folder, so that files stand here where folders should, and links that lead in
/// circles.
const MADE: &[(&str, Spoil)] = &[
    ("estimates-absent", |it| {
        fs::remove_file(it.join(RESULT).join("estimates.json")).expect("removed");
    }),
    ("estimates-are-a-folder", |it| replace_by_folder(it.join(RESULT).join("estimates.json"))),
    ("estimates-link-to-themselves", |it| {
        replace_by_link(it.join(RESULT).join("estimates.json"), "estimates.json");
    }),
    ("estimates-are-a-pipe", |it| replace_by_pipe(it.join(RESULT).join("estimates.json"))),
    ("estimates-are-endless", |it| {
        replace_by_link(it.join(RESULT).join("estimates.json"), "/dev/zero");
    }),
    ("estimates-are-too-large", |it| {
        fs::remove_file(it.join(RESULT).join("estimates.json")).expect("removed");
        let file = fs::File::create(it.join(RESULT).join("estimates.json")).expect("created");
        // A file with a hole, which takes no room.
        file.set_len(1 << 31).expect("sized");
    }),
    ("benchmark-is-a-folder", |it| replace_by_folder(it.join(RESULT).join("benchmark.json"))),
    ("no-criterion-folder", |it| fs::remove_dir_all(it.join("criterion")).expect("removed")),
    ("criterion-is-a-file", |it| {
        fs::remove_dir_all(it.join("criterion")).expect("removed");
        fs::write(it.join("criterion"), "").expect("written");
    }),
    ("a-result-is-a-file", |it| {
        fs::remove_dir_all(it.join(RESULT)).expect("removed");
        fs::write(it.join(RESULT), "").expect("written");
    }),
    ("a-link-to-the-folder-around-it", |it| {
        symlink("..", it.join("criterion/around")).expect("linked");
    }),
    ("a-link-to-itself", |it| symlink("loop", it.join("criterion/loop")).expect("linked")),
    ("a-link-to-nothing", |it| symlink("nothing", it.join("criterion/lost")).expect("linked")),
    ("a-link-to-a-file", |it| symlink("../criterion-torch", it.join(RESULT).join("x")).expect("")),
    ("names-that-are-no-utf8", |it| {
        let odd = it.join("criterion").join(OsStr::from_bytes(b"gr\xffup/new"));
        fs::create_dir_all(&odd).expect("created");
        fs::write(odd.join("benchmark.json"), "{").expect("written");
    }),
    ("records-are-a-folder", |it| {
        fs::create_dir(it.join("criterion-torch/new/training.jsonl")).expect("created");
    }),
    ("records-link-to-themselves", |it| {
        symlink("fusion.jsonl", it.join("criterion-torch/new/fusion.jsonl")).expect("linked");
    }),
    ("records-are-empty-lines", |it| {
        fs::write(it.join("criterion-torch/new/fusion.jsonl"), "\n \n\r\n").expect("written");
    }),
    ("all-records-cut-off", |it| fs::write(it.join(RECORDS), "{\"version\":2").expect("written")),
    ("the-run-is-a-pipe", |it| replace_by_pipe(it.join(RUN))),
    ("the-running-is-a-pipe", |it| replace_by_pipe(it.join(RUN).with_extension("running"))),
    ("the-run-is-a-folder", |it| replace_by_folder(it.join(RUN))),
    ("the-runs-are-a-file", |it| {
        fs::remove_dir_all(it.join("criterion-torch/runs")).expect("removed");
        fs::write(it.join("criterion-torch/runs"), "").expect("written");
    }),
    ("the-baseline-is-a-file", |it| {
        fs::remove_dir_all(it.join("criterion-torch/new")).expect("removed");
        fs::write(it.join("criterion-torch/new"), "").expect("written");
    }),
];

#[test]
fn and_for_what_git_cannot_hold() {
    let mut text = String::new();
    for (name, spoil) in MADE {
        let folder = good();
        spoil(folder.path());
        writeln!(text, "--- {name}\n{}", check(name, folder.path())).expect("to memory");
    }
    assert_snapshot!("bad-folders", text);
}

/// A pipe that nobody writes to would be waited for without end.
#[test]
fn no_pipe_is_waited_for() {
    let folder = good();
    replace_by_pipe(folder.path().join("pipe"));
    for arguments in [
        "show --from pipe",
        "validate pipe",
        "calibration --load pipe",
        "compare new criterion --thresholds pipe --criterion-dir criterion",
        "compare new criterion --noise pipe --criterion-dir criterion",
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_criterion-report"));
        command.args(arguments.split(' ')).current_dir(folder.path());
        let output = command.output().expect("the program starts");
        let said = stderr(&output, folder.path());
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains("pipe: not a regular file"), "{arguments}: {said}");
    }
}

/// The run has not failed to reach what it left half a line of.
#[test]
fn a_case_whose_record_is_cut_off_is_not_called_unreached() {
    let folder = good();
    let file = folder.path().join(RECORDS);
    let text = fs::read_to_string(&file).expect("readable");
    let (first, second) = text.split_once('\n').expect("two records");
    let cut = format!("{first}\n{}\n", &second[..300]);
    fs::write(&file, &cut).expect("written");
    let missing = "! inference/quick/linear/cpu/int8wo/bf16-1024x1024x1024: the record that run \
                   20261120T134000Z-4242 left of this case is cut off or invalid";
    let shown = |arguments: &[&str]| {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(shown(&["show"]).contains(missing), "{}", shown(&["show"]));

    // Exported and read back it is the same.
    let exported = folder.path().join("exported.json");
    fs::write(&exported, run(folder.path(), &["export", "json"]).stdout).expect("written");
    let mut again = Command::new(env!("CARGO_BIN_EXE_criterion-report"));
    let again = again.args(["show", "--from"]).arg(&exported).output().expect("the program starts");
    assert_eq!(again.stdout, run(folder.path(), &["show"]).stdout);

    // A record of an earlier run is shown as such.
    let earlier = second.replace("20261120T134000Z-4242", "20261119T000000Z-1");
    fs::write(&file, format!("{earlier}{cut}")).expect("written");
    let outdated = "the record that run 20261120T134000Z-4242 left of this case is cut off or invalid; this is \
                    from run 20261119T000000Z-1";
    let text = shown(&["show", "--details"]);
    assert!(text.contains(outdated), "{text}");
}

/// A name of a config that a spreadsheet would execute.
#[test]
fn no_cell_of_a_csv_is_a_formula_unless_it_is_asked_for() {
    let folder = good();
    let file = folder.path().join(RECORDS);
    let text = fs::read_to_string(&file).expect("readable");
    let formula = text.replace("small_bf16_linear", "=HYPERLINK(0)");
    fs::write(&file, formula).expect("written");
    for (arguments, names) in [
        (&["csv"][..], "'=HYPERLINK(0)"),
        (&["csv", "--raw"], "=HYPERLINK(0)"),
        (&["csv", "--layout", "v-final"], "'=HYPERLINK(0)"),
    ] {
        let output = String::from_utf8(run(folder.path(), arguments).stdout).expect("UTF-8");
        let found: Vec<_> =
            output.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
        assert_eq!(found, [names; 2], "{arguments:?}");
    }
}

/// Every command that reads results ends so, and says it on standard error.
#[test]
fn every_command_says_it_and_ends_with_2() {
    let folder = good();
    copy(&fixture("probes"), folder.path());
    copy(&fixture("fusion"), folder.path());
    let foreign = folder.path().join("criterion/other/new");
    fs::create_dir_all(&foreign).expect("created");
    fs::write(foreign.join("benchmark.json"), "{").expect("written");
    let kernels = folder.path().join("criterion-torch/new/kernels.jsonl");
    fs::write(kernels, "{\"version\":2\n").expect("written");
    const CALIBRATION: [&str; 3] = ["calibration", "--hardware", "here"];
    for arguments in
        [&["show"][..], &["csv"], &["dashboard"], &["fusion"], &["operators"], &CALIBRATION]
    {
        let output = run(folder.path(), arguments);
        let said = stderr(&output, folder.path());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        let both = format!("{said}{}", String::from_utf8_lossy(&output.stdout));
        for file in ["other/new/benchmark.json", "kernels.jsonl:1"] {
            assert!(both.contains(file), "{arguments:?} names no {file}: {both}");
        }
        assert!(said.contains("error: "), "{arguments:?}: {said}");
    }
}

/// A shell that lets no file grow beyond some KiB, and the program in it.
fn limited(folder: &Path, blocks: u32, file: &Path) -> Output {
    let mut shell = Command::new("bash");
    let script = format!(
        "ulimit -f {blocks}; trap '' XFSZ; exec \"$0\" csv --criterion-dir \"$1\" -o \"$2\""
    );
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_criterion-report")]);
    shell.arg(folder.join("criterion")).arg(file).output().expect("bash")
}

#[test]
fn a_full_disk_leaves_the_old_file_whole() {
    let folder = good();
    let file = folder.path().join("results.csv");
    fs::write(&file, "old\n").expect("written");
    let output = limited(folder.path(), 0, &file);
    let said = stderr(&output, folder.path());
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said, "error: cannot write DIR/results.csv: File too large (os error 27)\n");
    assert_eq!(fs::read_to_string(&file).expect("readable"), "old\n");
    assert_eq!(left_overs(folder.path()), 0);

    let enough = limited(folder.path(), 1000, &file);
    assert_eq!(enough.status.code(), Some(0));
    assert!(fs::read_to_string(&file).expect("readable").lines().count() > 2);
}

fn left_overs(folder: &Path) -> usize {
    let names = fs::read_dir(folder).expect("a folder").map(|it| it.expect("an entry").file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".tmp")).count()
}

#[cfg(unix)]
#[test]
fn a_new_file_can_be_read_by_whom_any_other_can() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = good();
    let [written, usual] = ["results.csv", "usual"].map(|name| folder.path().join(name));
    fs::write(&usual, "").expect("written");
    let output = limited(folder.path(), 1000, &written);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output, folder.path()));
    let mode = |file: &Path| fs::metadata(file).expect("a file").permissions().mode();
    assert_eq!(mode(&written), mode(&usual));
}

#[test]
fn a_device_is_written_to_and_stays_one() {
    let folder = good();
    let output = run(folder.path(), &["csv", "--output", "/dev/full"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output, folder.path());
    assert_eq!(said, "error: cannot write /dev/full: No space left on device (os error 28)\n");
    let kind = fs::metadata("/dev/full").expect("there").file_type();
    assert!(kind.is_char_device());
    assert_eq!(run(folder.path(), &["csv", "--output", "/dev/null"]).status.code(), Some(0));
}

#[test]
fn a_link_stays_a_link() {
    let folder = good();
    let [link, file] = ["link.csv", "real.csv"].map(|name| folder.path().join(name));
    fs::write(&file, "old\n").expect("written");
    symlink("real.csv", &link).expect("linked");
    let output = run(folder.path(), &["csv", "--output", link.to_str().expect("text")]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output, folder.path()));
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert!(fs::read_to_string(&file).expect("readable").lines().count() > 2);
}

/// `… | head -1` ends in peace: what it wanted it has.
#[test]
fn a_pipe_that_is_closed_early_is_no_error() {
    let folder = good();
    let mut child = program(folder.path(), &["dashboard"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(stderr(&output, folder.path()), "");
    assert_eq!(output.status.code(), Some(0));
}
