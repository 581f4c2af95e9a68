use super::*;

fn python(program: &str) -> Interpreter {
    Interpreter::named(program)
}

#[test]
fn without_triton_it_is_skipped_with_the_remedy() {
    for (program, why) in [("/nowhere/python", ": "), ("true", ", has no triton; ")] {
        let refusal = Python::with_triton(python(program)).expect_err(program);
        let Refusal::Skipped(text) = refusal else { panic!("{refusal}") };
        let start = format!("{program}, of CRITERION_TORCH_PYTHON{why}");
        assert!(text.starts_with(&start) && text.ends_with(&remedy()), "{text}");
    }
}

#[test]
fn a_failure_is_told_with_the_version_and_the_purpose() {
    let python = Python { interpreter: python("sh") };
    let refusal = python.run("echo broken >&2; exit 1", "compiling", b"").expect_err("1");
    assert_eq!(refusal, Refusal::Failed("Triton 3.6.0, compiling: broken".to_owned()));
}

#[test]
fn variables_of_triton_do_not_reach_the_child() {
    // The only test that looks at this variable.
    // SAFETY: other threads of this program read variables through std, which takes turns.
    unsafe { std::env::set_var("TRITON_OF_THIS_TEST", "1") };
    let python = Python { interpreter: python("sh") };
    let script = "echo ${TRITON_OF_THIS_TEST-unset} ${PATH+set}";
    let output = python.run(script, "looking", b"").unwrap();
    assert_eq!(String::from_utf8_lossy(&output), "unset set\n");
}
