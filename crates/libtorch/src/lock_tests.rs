use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use super::*;

const PATIENT: Duration = Duration::from_secs(60);

#[test]
fn one_at_a_time_has_its_turn_and_the_file_goes_with_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    let (inside, turns) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let turn = LockGuard::wait(&path, PATIENT).unwrap().unwrap();
                    assert!(turn.is_exclusive());
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    turns.fetch_add(1, Ordering::SeqCst);
                    assert!(LockGuard::attempt(&path).unwrap().is_none());
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(turn);
                }
            });
        }
    });
    assert_eq!(turns.into_inner(), 400);
    assert!(!path.exists());
    assert!(LockGuard::attempt(&path).unwrap().is_some());
}

#[test]
fn a_turn_needs_a_folder() {
    assert!(LockGuard::wait(Path::new("/nowhere/a.lock"), PATIENT).is_err());
    assert!(LockGuard::attempt(Path::new("/nowhere/a.lock")).is_err());
}

#[test]
fn a_turn_is_waited_for_until_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    let turn = LockGuard::wait(&path, Duration::ZERO).unwrap().unwrap();
    assert!(LockGuard::wait(&path, Duration::from_millis(100)).unwrap().is_none());
    drop(turn);
    assert!(LockGuard::wait(&path, Duration::ZERO).unwrap().is_some());
}

#[test]
fn what_is_held_is_not_taken_and_what_is_taken_is_as_good_as_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("facts");
    assert_eq!(hold(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    fs::write(&path, "").unwrap();

    let first = hold(&path).unwrap();
    let second = hold(&path).unwrap();
    let is_held = || matches!(take(&path).unwrap(), Taken::Held);
    assert!(is_held());
    drop(first);
    assert!(is_held());
    drop(second);
    let Taken::Free(Some(taken)) = take(&path).unwrap() else { panic!("nobody holds it") };
    assert_eq!(hold(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    drop(taken);
    assert!(hold(&path).is_ok());
    fs::remove_file(&path).unwrap();
    assert!(matches!(take(&path).unwrap(), Taken::Free(None)));
}

#[test]
fn what_nobody_makes_any_longer_is_left_over() {
    let folder = tempfile::tempdir().unwrap();
    let (lock, partial) = (folder.path().join("a.lock"), folder.path().join("a.partial-1"));
    fs::create_dir(&partial).unwrap();
    assert!(is_left_over(&lock, &partial));
    let turn = LockGuard::attempt(&lock).unwrap().unwrap();
    assert!(!is_left_over(&lock, &partial));
    drop(turn);
    assert!(is_left_over(&lock, &partial) && !is_old(&partial));
    let long_ago = std::time::SystemTime::now() - PATIENCE;
    File::open(&partial).unwrap().set_modified(long_ago).unwrap();
    assert!(is_old(&partial));
}

#[test]
fn a_file_counts_while_its_path_leads_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("a"), folder.path().join("b"));
    fs::write(&path, "").unwrap();
    fs::write(&other, "").unwrap();
    let file = File::open(&path).unwrap();
    assert!(leads_to(&path, &file));
    fs::rename(&other, &path).unwrap();
    assert!(!leads_to(&path, &file));
    fs::remove_file(&path).unwrap();
    assert!(!leads_to(&path, &file));
}
