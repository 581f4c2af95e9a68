use std::path::PathBuf;

use super::*;

const PATIENCE: Patience = Patience { quiet: None, limit: Duration::from_secs(60) };
const SHORT: Patience = Patience { quiet: Some(STEP), limit: Duration::from_millis(300) };

fn shell(script: &str, input: &[u8], patience: Patience) -> Result<Vec<u8>, RunError> {
    let program = Program { interpreter: Path::new("sh"), script, what: "trying", patience };
    program.output(input, |_| ())
}

fn failed(result: Result<Vec<u8>, RunError>) -> String {
    match result {
        Err(RunError::Failed(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_child_reads_and_writes_more_than_a_pipe_holds() {
    let input = vec![b'x'; 1 << 20];
    assert_eq!(shell("echo said >&2; cat", &input, PATIENCE).unwrap(), input);
}

#[test]
fn a_child_that_is_silent_is_told_by_how_it_ended() {
    let unread = vec![b'x'; 1 << 20];
    let text = failed(shell("exec <&-; exit 3", &unread, PATIENCE));
    assert_eq!(text, "exit status: 3, said nothing");
    let text = failed(shell("kill -9 $$", b"", PATIENCE));
    assert!(text.starts_with("signal: 9") && text.ends_with(", said nothing"), "{text}");
}

#[test]
fn a_child_that_cannot_be_started_is_another_error() {
    let interpreter = Path::new("/nowhere/python");
    let program = Program { interpreter, script: "", what: "trying", patience: PATIENCE };
    assert!(matches!(program.output(b"", |_| ()), Err(RunError::Start(_))));
}

#[test]
fn a_failing_child_is_quoted_from_its_end() {
    let text = failed(shell(
        "for i in $(seq 100); do echo line $i >&2; done; echo; exit 1",
        b"",
        PATIENCE,
    ));
    assert!(text.starts_with("line 89\n") && text.ends_with("\nline 100"), "{text}");
}

#[test]
fn of_megabytes_on_stderr_the_end_is_kept() {
    let script =
        "head -c 20000000 /dev/zero | tr '\\0' 'x' >&2; echo >&2; echo the end >&2; exit 1";
    let text = failed(shell(script, b"", PATIENCE));
    assert!(text.ends_with("\nthe end") && text.len() <= 3 * KEPT, "{} bytes", text.len());
}

#[test]
fn the_end_is_kept_whatever_the_length() {
    for length in [0, 1, 9, 10, 19, 20, 21, 1000, 100_000] {
        let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let kept = join(read(Some(io::Cursor::new(bytes.clone())), 10)).unwrap();
        assert!(bytes.ends_with(&kept) && kept.len() >= bytes.len().min(10), "{length}");
        assert!(kept.len() <= 20 + (1 << 13), "{length}: {}", kept.len());
    }
}

/// A program that starts another, which would run for long, and writes the other's number first.
pub(super) fn two_processes(folder: &Path, last: &str) -> (String, PathBuf) {
    let file = folder.join("number");
    let shown = file.display();
    (format!("sleep 100000 & echo $! > {shown}.new; mv {shown}.new {shown}; {last}"), file)
}

pub(super) fn number(file: &Path) -> i32 {
    std::fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

/// Waits until a process is gone, or is a zombie whose parent has not looked.
pub(super) fn is_gone(number: i32) -> bool {
    (0..1000).any(|_| {
        thread::sleep(STEP);
        let status = std::fs::read_to_string(format!("/proc/{number}/stat"));
        status.map_or(true, |it| it.rsplit(") ").next().is_some_and(|it| it.starts_with('Z')))
    })
}

#[test]
#[cfg(target_os = "linux")]
fn a_child_that_hangs_is_killed_with_all_that_it_has_started() {
    let folder = tempfile::tempdir().unwrap();
    let (script, file) = two_processes(folder.path(), "wait");
    let error = shell(&script, b"", SHORT).unwrap_err();
    assert!(
        matches!(&error, RunError::Hung(it) if it == "no answer in 0.3 s, killed"),
        "{error:?}"
    );
    assert!(is_gone(number(&file)));
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_child_leaves_behind_ends_with_it_and_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (script, file) = two_processes(folder.path(), "echo done");
    assert_eq!(shell(&script, b"", PATIENCE).unwrap(), b"done\n");
    assert!(is_gone(number(&file)));
}

#[test]
#[cfg(target_os = "linux")]
fn a_child_does_not_outlive_a_process_that_is_killed() {
    let test = "child::tests::a_child_does_not_outlive_a_process_that_is_killed";
    dies_with_its_parent(test, |script| panic!("{:?}", shell(script, b"", PATIENCE)));
}

/// Runs this test in a process of its own, where it runs a script that lasts, and kills the process.
pub(super) fn dies_with_its_parent(test: &str, run: impl FnOnce(&str)) {
    const FOLDER: &str = "FOLDER_OF_THE_CHILD_OF_THIS_TEST";
    if let Some(folder) = std::env::var_os(FOLDER) {
        // The process that is going to be killed.
        return run(&format!(
            "echo $$ > {0}/new; mv {0}/new {0}/number; exec sleep 100000",
            folder.display()
        ));
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("number");
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", test])
        .env(FOLDER, folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert!((0..1000).any(|_| {
        thread::sleep(STEP);
        file.exists()
    }));
    process.kill().unwrap();
    assert_eq!(process.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert!(is_gone(number(&file)));
}

#[test]
fn variables_are_taken_away_by_how_they_begin() {
    // The only test that looks at these variables.
    for name in ["CHILD_TEST_A", "CHILD_TEST_B", "CHILDTEST"] {
        // SAFETY: other threads of this program read variables through std, which takes turns.
        unsafe { std::env::set_var(name, "1") };
    }
    let script = "echo ${CHILD_TEST_A-unset} ${CHILD_TEST_B-unset} $CHILDTEST ${PATH+set}";
    let interpreter = Path::new("sh");
    let program = Program { interpreter, script, what: "trying", patience: PATIENCE };
    let output = program.output(b"", |command| without_variables(command, &["CHILD_TEST_", "NO"]));
    assert_eq!(String::from_utf8_lossy(&output.unwrap()), "unset unset 1 set\n");
}
