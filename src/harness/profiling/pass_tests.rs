use super::*;

#[test]
fn the_last_line_says_what_was_written_and_where() {
    let mut keep = |_: &str, _: Profile| Ok(());
    let mut pass = Pass {
        root: PathBuf::from("target/criterion-torch"),
        keep: &mut keep,
        progress: Progress::new([]),
        cases: 12,
        failed: 0,
        bytes: 3_412_345,
    };
    let line = "
profiles: 12 cases, 3.4 MB, 4.1 s: target/criterion-torch/profiles
";
    assert_eq!(pass.summary(4.12), line.trim());
    (pass.cases, pass.failed) = (1, 1);
    assert!(pass.summary(4.12).starts_with("profiles: 1 case (1 with parts missing), 3.4 MB"));
}
