use super::*;

#[test]
fn a_copy_is_never_laid_over_a_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
    fs::write(&from, "1").expect("written");
    carry_file(&from, &to).expect("carried over");
    assert_eq!(fs::read_to_string(&to).expect("readable"), "1");
    assert_eq!(
        carry_file(&from, &to).expect_err("it is there").kind(),
        io::ErrorKind::AlreadyExists
    );
}
