use super::*;

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn compaction_keeps_the_last_line_of_each_id_in_the_first_ones_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let (a1, b, a2) =
        (r#"{"full_id":"a","n":1}"#, r#"{"full_id":"b"}"#, r#"{"full_id":"a","n":2}"#);
    for line in [a1, b, a2] {
        append_line(&path, format!("{line}\n").as_bytes()).unwrap();
    }
    compact(&path).unwrap();
    assert_eq!(lines(&path), [a2, b]);
}

#[test]
fn a_byte_that_is_not_utf_8_costs_only_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let (a1, a2, bad) = (
        &br#"{"full_id":"a","n":1}"#[..],
        br#"{"full_id":"a","n":2}"#,
        b"{\"full_id\":\"a\",\"n\":\"\xff\"}",
    );
    for line in [a1, a2, bad] {
        append_line(&path, &[line, b"\n"].concat()).unwrap();
    }
    compact(&path).unwrap();
    let expected: Vec<u8> = [a2, &b"\n"[..], bad, b"\n"].concat();
    assert_eq!(fs::read(&path).unwrap(), expected, "it replaces no line that can be read");
}

#[test]
fn a_torn_line_is_kept_until_its_case_is_measured_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let torn = |id: &str| format!(r#"{{"version":2,"full_id":"{id}","run_id":"r","case":{{"#);
    let whole = |id: &str| format!(r#"{{"full_id":"{id}","run_id":"s"}}"#);
    let (no_json, no_case) = (r#"{"full_id":"b"]"#, r#"{"version":2,"full_id":"b"#);
    let all: [&str; 6] = [&whole("a"), &torn("a"), &torn("b"), no_case, no_json, &whole("c")];
    for line in all {
        append_line(&path, format!("{line}\n").as_bytes()).unwrap();
    }
    compact(&path).unwrap();
    let left = [whole("a"), torn("a"), torn("b"), no_json.to_owned(), whole("c")];
    assert_eq!(lines(&path), left, "neither a nor b was measured again");
    for id in ["b", "a"] {
        append_line(&path, format!("{}\n", whole(id)).as_bytes()).unwrap();
    }
    compact(&path).unwrap();
    assert_eq!(lines(&path), [&*whole("a"), no_json, &*whole("c"), &*whole("b")]);
}

#[test]
fn a_torn_line_does_not_swallow_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    fs::write(&path, r#"{"full_id":"a","run_id":"r","#).unwrap();
    append_line(&path, b"{\"full_id\":\"b\"}\n").unwrap();
    compact(&path).unwrap();
    assert_eq!(lines(&path), [r#"{"full_id":"a","run_id":"r","#, r#"{"full_id":"b"}"#]);
}
