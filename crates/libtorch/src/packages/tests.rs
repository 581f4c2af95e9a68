use std::time::{Duration, SystemTime};

use super::lease::tests::written;
use super::*;

fn key(number: u128) -> Key {
    Key::parse(&format!("{number:032x}")).unwrap()
}

fn store(bound: u64) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("compiled"), bound);
    (folder, store)
}

fn turn(store: &Store, number: u128) -> LockGuard {
    store.turn(&key(number), Duration::ZERO).unwrap().unwrap()
}

/// Makes the package of a key.
fn kept(store: &Store, number: u128, content: &[u8]) -> PackageLease {
    let key = key(number);
    let turn = turn(store, number);
    let partial = store.partial(&key, &turn).unwrap();
    written(partial.path(), content);
    store.keep(&key, partial, &turn).unwrap()
}

/// Used so many hours ago.
fn aged(store: &Store, number: u128, hours: u32) {
    let file = fs::File::options().append(true).open(store.place(&key(number)).join(FACTS));
    let then = SystemTime::now() - Duration::from_secs(3600) * hours;
    file.unwrap().set_modified(then).unwrap();
}

fn names(store: &Store) -> Vec<String> {
    let mut names: Vec<String> = store.names().collect();
    names.sort();
    names
}

fn folders(numbers: &[u128]) -> Vec<String> {
    numbers.iter().map(|number| key(*number).to_string()).collect()
}

#[test]
fn what_is_kept_is_found_and_nothing_else_is_left() {
    let (_folder, store) = store(u64::MAX);
    assert!(store.find(&key(1)).is_none() && !store.holds_any());
    let package = kept(&store, 1, b"package").package.clone();
    assert_eq!(fs::read(package).unwrap(), b"package");
    assert_eq!(store.find(&key(1)).unwrap().package, store.place(&key(1)).join(PACKAGE));
    assert!(store.find(&key(2)).is_none() && store.holds_any());
    assert_eq!(names(&store), folders(&[1]));
}

#[test]
fn what_is_not_whole_is_replaced() {
    let (_folder, store) = store(u64::MAX);
    let package = kept(&store, 1, b"package").package.clone();
    fs::write(&package, b"pack").unwrap();
    assert!(store.find(&key(1)).is_none());
    kept(&store, 1, b"package");
    assert_eq!(fs::read(&package).unwrap(), b"package");
    assert_eq!(names(&store), folders(&[1]));
}

#[test]
fn the_least_recently_used_go_first() {
    let (_folder, store) = store(u64::MAX);
    for number in 1..=4 {
        kept(&store, number, &[0; 100_000]);
        aged(&store, number, 10 - u32::try_from(number).unwrap());
    }
    // The oldest is used.
    drop(store.find(&key(1)).unwrap());
    let small = Store { bound: 350_000, ..store };
    kept(&small, 5, &[0; 100_000]);
    assert_eq!(names(&small), folders(&[1, 4, 5]));
}

#[test]
fn what_is_held_stays_whatever_the_bound() {
    let (_folder, store) = store(1000);
    let first = kept(&store, 1, &[0; 5000]);
    let second = kept(&store, 2, &[0; 5000]);
    assert_eq!(names(&store), folders(&[1, 2]));
    assert!(first.package.exists() && second.package.exists());
    drop(first);
    let third = kept(&store, 3, &[0; 5000]);
    assert_eq!(names(&store), folders(&[2, 3]));
    drop((second, third));
    kept(&store, 4, &[]);
    assert_eq!(names(&store), folders(&[4]));
}

#[test]
fn what_the_dead_leave_is_removed_and_what_the_living_make_is_not() {
    let (_folder, store) = store(u64::MAX);
    kept(&store, 1, b"package");
    let abandoned = |number| {
        let folder = store.folder.join(format!("{}.partial-0123", key(number)));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("half"), "").unwrap();
        folder
    };
    let (dead, alive) = (abandoned(1), abandoned(2));
    let stranger = store.folder.join("else.partial-1");
    fs::create_dir(&stranger).unwrap();
    let turns = [2, 3].map(|number| turn(&store, number));
    store.sweep(&key(3), &turns[1]);
    assert!(!dead.exists() && alive.exists() && stranger.exists());
    // Only who has the turn asks for the own key.
    store.sweep(&key(2), &turns[0]);
    assert!(!alive.exists() && stranger.exists());
    assert!(store.find(&key(1)).is_some());
}

#[test]
fn where_no_locks_are_known_nobody_removes_what_another_makes_or_has_made() {
    let (_folder, store) = store(u64::MAX);
    fs::create_dir(&store.folder).unwrap();
    let turn = LockGuard::lockless(&store.lock(&key(1)));
    let [first, second] = [b"first", b"later"].map(|content| {
        let partial = store.partial(&key(1), &turn).unwrap();
        written(partial.path(), content);
        partial
    });
    // As on a file system that knows none: whoever asks does not get it.
    let lock = fs::File::create(store.lock(&key(1))).unwrap();
    lock.lock().unwrap();
    store.sweep(&key(1), &turn);
    assert!(first.path().exists() && second.path().exists());
    let kept = [first, second].map(|partial| store.keep(&key(1), partial, &turn).unwrap());
    for held in &kept {
        assert_eq!(fs::read(&held.package).unwrap(), b"first");
    }
}

#[test]
fn a_package_that_was_not_finished_leaves_nothing() {
    let (_folder, store) = store(u64::MAX);
    let turn = turn(&store, 1);
    let partial = store.partial(&key(1), &turn).unwrap();
    fs::write(partial.path().join(PACKAGE), "half").unwrap();
    drop((partial, turn));
    assert!(names(&store).is_empty());
}

#[test]
fn variables_say_where_and_how_much() {
    let of = |variables: &[(&str, &str)]| {
        Store::from_variables(|name| Some(variables.iter().find(|it| it.0 == name)?.1.into()))
    };
    let home = ("HOME", "/home/me");
    let found = of(&[home]).unwrap().unwrap();
    assert_eq!(found.folder, Path::new("/home/me/.cache/criterion-torch/compiled"));
    assert_eq!(found.bound, 4 << 30);
    let found = of(&[("CRITERION_TORCH_CACHE", "/own"), ("CRITERION_TORCH_COMPILED_MB", "3")])
        .unwrap()
        .unwrap();
    assert_eq!((found.folder.as_path(), found.bound), (Path::new("/own/compiled"), 3 << 20));
    assert!(of(&[]).unwrap().is_none());
    let wrong = of(&[home, ("CRITERION_TORCH_COMPILED_MB", "4G")]);
    assert!(wrong.unwrap_err().contains("4G"));
}
