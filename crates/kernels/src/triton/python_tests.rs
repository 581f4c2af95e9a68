use super::*;

fn python(program: &str, script: &'static str) -> Python {
    Python::new(&Interpreter::named(program), script)
}

fn failed(result: Result<Vec<u8>, Refusal>) -> String {
    match result {
        Err(Refusal::Failed(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_triton_it_is_skipped_with_the_remedy() {
    for (program, why) in [("/nowhere/python", ": "), ("true", ", has no triton; ")] {
        let refusal = Python::with_triton(&Interpreter::named(program)).expect_err(program);
        let Refusal::Skipped(text) = refusal else { panic!("{refusal}") };
        let start = format!("{program}, of CRITERION_TORCH_PYTHON{why}");
        assert!(text.starts_with(&start) && text.ends_with(&remedy()), "{text}");
    }
}

#[test]
fn a_failure_is_told_with_the_version_and_the_purpose() {
    let text = failed(python("sh", "echo broken >&2; exit 1").ask("", "compiling"));
    assert_eq!(text, "Triton 3.6.0, compiling: broken");
    let text = failed(python("/nowhere/python", "").ask("", "compiling"));
    assert!(text.starts_with("Triton 3.6.0, compiling: /nowhere/python: "), "{text}");
}

#[test]
fn after_one_that_hung_none_is_compiled() {
    let python = python("sh", "read line; echo 0");
    python.hung.set("not tried again".to_owned()).unwrap();
    assert_eq!(failed(python.ask("", "compiling")), "Triton 3.6.0, compiling: not tried again");
}

#[test]
fn variables_of_triton_do_not_reach_the_child() {
    // The only test that looks at this variable.
    // SAFETY: other threads of this program read variables through std, which takes turns.
    unsafe { std::env::set_var("TRITON_OF_THIS_TEST", "1") };
    let script = "read line; echo 10; echo ${TRITON_OF_THIS_TEST-unset} ${PATH+set}";
    let output = python("sh", script).ask("", "looking").unwrap();
    assert_eq!(String::from_utf8_lossy(&output), "unset set\n");
}
