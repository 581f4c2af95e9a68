use std::time::Duration;

use super::super::tests::{dies_with_its_parent, is_gone, number, two_processes};
use super::*;

const PATIENCE: Patience = Patience { quiet: None, limit: Duration::from_secs(60) };
const SHORT: Patience = Patience { quiet: Some(STEP), limit: Duration::from_millis(300) };

/// Answers with its number and the request.
const ECHO: &str = "while read line; do a=\"$$ $line\"; echo ${#a}; printf %s \"$a\"; done; exit 1";

fn workers(script: impl Into<String>) -> Workers {
    Workers::new(Path::new("sh"), script.into().leak(), |_| ())
}

fn answer(workers: &Workers, request: &str) -> String {
    String::from_utf8(workers.ask(request, "trying", PATIENCE).unwrap()).unwrap()
}

fn failed(workers: &Workers, request: &str) -> String {
    match workers.ask(request, "trying", PATIENCE) {
        Err(RunError::Failed(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// The process that answered.
fn process(answer: &str) -> i32 {
    answer.split(' ').next().unwrap().parse().unwrap()
}

/// It ends with the thread that started it: that has to be another one than the first that asked.
#[test]
fn a_process_stays_for_requests_of_other_threads() {
    let workers = workers(ECHO);
    let ask = |request| thread::scope(|it| it.spawn(|| answer(&workers, request)).join().unwrap());
    let (first, second) = (ask("a b"), ask("c"));
    assert_eq!(first, format!("{} a b", process(&second)));
    thread::sleep(10 * STEP);
    assert_eq!(ask("d"), format!("{} d", process(&first)));
    assert_eq!(workers.idle.lock().unwrap().len(), 1);
}

#[test]
fn requests_at_once_are_answered_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    // Each answers only when the other one has been asked.
    let workers = workers(format!(
        "cd {}; while read line; do touch $line; until [ -e a -a -e b ]; do sleep 0.01; done; \
         echo 1; printf %s $line; done",
        folder.path().display()
    ));
    thread::scope(|scope| {
        let other = scope.spawn(|| answer(&workers, "a"));
        assert_eq!(answer(&workers, "b"), "b");
        assert_eq!(other.join().unwrap(), "a");
    });
    assert_eq!(workers.idle.lock().unwrap().len(), 2);
}

#[test]
fn requests_and_answers_are_larger_than_a_pipe() {
    let request = "x".repeat(1 << 20);
    let workers = workers("read line; echo ${#line}; printf %s \"$line\"");
    assert!(answer(&workers, &request) == request);
}

#[test]
fn a_process_that_fails_is_quoted_and_replaced() {
    let script =
        "read line; [ $line = good ] || { echo broken $line >&2; exit 1; }; echo 0; read line";
    let workers = workers(script);
    assert_eq!(failed(&workers, "bad"), "broken bad");
    assert_eq!(answer(&workers, "good"), "");
    // It has ended without a word since, or in the middle of an answer.
    assert_eq!(failed(&workers, "good"), "exit status: 0, said nothing");
    assert_eq!(
        failed(&self::workers("read line; echo 9; echo half"), ""),
        "exit status: 0, said nothing"
    );
    let killed = failed(&self::workers("read line; echo at line 9 >&2; kill -9 $$"), "");
    assert!(killed.starts_with("signal: 9") && killed.ends_with(" after:\nat line 9"), "{killed}");
}

#[test]
fn an_idle_process_that_is_gone_is_replaced() {
    let workers = workers(ECHO);
    let first = process(&answer(&workers, "a"));
    // SAFETY: takes numbers only; the process is a child that has not been reaped.
    assert_eq!(unsafe { libc::kill(first, libc::SIGKILL) }, 0);
    assert!(is_gone(first));
    assert_ne!(process(&answer(&workers, "b")), first);
}

#[test]
fn an_answer_without_its_length_is_refused() {
    assert_eq!(failed(&workers("echo words; sleep 100000"), ""), "its answer: \"words\\n\"");
}

#[test]
fn an_interpreter_that_cannot_be_started_is_another_error() {
    let workers = Workers::new(Path::new("/nowhere/python"), "", |_| ());
    assert!(matches!(workers.ask("", "trying", PATIENCE), Err(RunError::Start(_))));
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_hangs_is_killed_with_all_that_it_has_started_and_no_other_is() {
    let folder = tempfile::tempdir().unwrap();
    let (hangs, file) = two_processes(folder.path(), "wait");
    let workers = workers(format!(
        "while read line; do if [ $line = hang ]; then {hangs}; fi; a=$$; echo ${{#a}}; printf %s $a; done"
    ));
    let other = workers.start().unwrap();
    let before = other.ask("go", PATIENCE, || ()).unwrap().unwrap();
    let error = workers.ask("hang", "trying", SHORT).unwrap_err();
    assert!(
        matches!(&error, RunError::Hung(it) if it == "no answer in 0.3 s, killed"),
        "{error:?}"
    );
    assert!(is_gone(number(&file)));
    assert_eq!(other.ask("go", PATIENCE, || ()).unwrap().unwrap(), before);
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_does_not_outlive_this_one() {
    dies_with_its_parent("child::workers::tests::a_process_does_not_outlive_this_one", |script| {
        panic!("{:?}", workers(script).ask("", "trying", PATIENCE));
    });
}
