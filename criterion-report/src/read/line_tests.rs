use super::*;

fn cut(line: &str) -> Option<(String, String)> {
    let Unusable { full_id, run_id, .. } = parse(line.as_bytes()).err().expect("no record");
    full_id.zip(run_id)
}

#[test]
fn a_byte_that_is_not_utf_8_hides_neither_case_nor_run_before_it() {
    let line = b"{\"version\":2,\"full_id\":\"a/b\",\"run_id\":\"r1\",\"case\":\"\xff\"}";
    let found = parse(line).err().expect("no record");
    assert!(found.why.starts_with("not a record: invalid unicode"), "{}", found.why);
    assert_eq!((found.full_id.as_deref(), found.run_id.as_deref()), (Some("a/b"), Some("r1")));
}

#[test]
fn of_a_record_that_cannot_be_used_case_and_run_are_known_if_they_are_there() {
    let begun = Some(("a/b".to_owned(), "r1".to_owned()));
    let whole = r#"{"version":2,"full_id":"a/b","run_id":"r1","timestamp":1,"case":{"id":"#;
    let known = whole.find(",\"timestamp").expect("it is there");
    for end in 1..whole.len() {
        let expected = begun.clone().filter(|_| end >= known);
        assert_eq!(cut(&whole[..end]), expected, "{}", &whole[..end]);
    }
    // Nor does another mistake behind them take them away.
    assert_eq!(cut(r#"{"version":2,"full_id":"a/b","run_id":"r1"}"#), begun);
    assert_eq!(cut(r#"{"full_id":3,"run_id":"r1","case":["#), None);
}
