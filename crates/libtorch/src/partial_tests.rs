use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    entries.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn what_no_process_holds_any_longer_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["a.tar.partial-1", "a.tar.partial-2", "b.txt.partial-3", "a.tar"] {
        fs::write(path(name), "x").unwrap();
    }
    fs::create_dir_all(path("c.tar.partial-4/inner")).unwrap();
    let held = File::open(path("a.tar.partial-2")).unwrap();
    hold(&path("a.tar.partial-2"), &held).unwrap();
    sweep(folder.path(), |place| place.ends_with(".tar")).unwrap();
    let mut left = names(folder.path());
    left.sort();
    assert_eq!(left, ["a.tar", "a.tar.partial-2", "b.txt.partial-3"]);
    drop(held);
    sweep(folder.path(), |place| place.ends_with(".tar")).unwrap();
    assert_eq!(names(folder.path()).len(), 2);
    // Removed between its making and its holding.
    let gone = File::create_new(path("d.tar.partial-5")).unwrap();
    fs::remove_file(path("d.tar.partial-5")).unwrap();
    let error = hold(&path("d.tar.partial-5"), &gone).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn what_is_given_up_leaves_nothing() {
    let cache = tempfile::tempdir().unwrap();
    let partial = folder_beside(&cache.path().join("torch-2.11.0")).unwrap();
    assert!(is_partial(partial.path()) && partial.path().parent() == Some(cache.path()));
    assert_eq!(place_of(&names(cache.path())[0]), Some("torch-2.11.0"));
    fs::write(partial.path().join("file"), "x").unwrap();
    drop(partial);
    assert!(names(cache.path()).is_empty());
}

#[test]
fn the_first_to_move_wins_and_the_second_leaves_nothing() {
    let cache = tempfile::tempdir().unwrap();
    let place = cache.path().join("torch");
    let [first, second] = ["first", "second"].map(|text| {
        let partial = folder_beside(&place).unwrap();
        fs::write(partial.path().join("file"), text).unwrap();
        partial
    });
    move_to(first, &place).unwrap();
    let error = move_to(second, &place).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::DirectoryNotEmpty);
    assert_eq!(fs::read_to_string(place.join("file")).unwrap(), "first");
    assert_eq!(names(cache.path()), ["torch"]);
    assert!(!is_partial(&place));
    remove(&place).unwrap();
    remove(&place).unwrap();
    assert!(names(cache.path()).is_empty());
}

#[cfg(unix)]
#[test]
fn a_folder_has_the_permissions_of_any_other() {
    let cache = tempfile::tempdir().unwrap();
    let partial = folder_beside(&cache.path().join("torch")).unwrap();
    fs::create_dir(cache.path().join("usual")).unwrap();
    let permissions = |path: &Path| fs::metadata(path).unwrap().permissions();
    assert_eq!(permissions(partial.path()), permissions(&cache.path().join("usual")));
}

#[test]
fn what_cannot_be_put_in_place_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // A folder that is not empty cannot be replaced by a file.
    let path = folder.path().join("x.jsonl");
    fs::create_dir_all(path.join("inside")).unwrap();
    assert!(write(&path, b"text").is_err());
    assert_eq!(names(folder.path()), ["x.jsonl"]);
}

#[cfg(unix)]
#[test]
fn a_replaced_file_can_be_read_by_whom_any_other_can() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let [written, usual] = ["new/x.json", "usual"].map(|name| folder.path().join(name));
    write(&written, b"before").unwrap();
    write(&written, b"text").unwrap();
    assert_eq!(fs::read(&written).unwrap(), b"text");
    fs::write(&usual, "text").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&written), mode(&usual));
}
