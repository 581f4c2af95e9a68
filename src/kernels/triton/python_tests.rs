use super::*;

fn find(program: &str) -> Result<Python, Refusal> {
    Python::find(Some(program.into()))
}

fn skipped(refusal: Refusal) -> String {
    match refusal {
        Refusal::Skipped(text) => text,
        other => panic!("{other}"),
    }
}

#[test]
fn a_python_that_cannot_serve_is_skipped_with_the_remedy() {
    for (program, why) in [
        ("/nowhere/python", "/nowhere/python, of CRITERION_TORCH_PYTHON: "),
        ("true", "true, of CRITERION_TORCH_PYTHON, has no Triton; "),
        ("false", "false, of CRITERION_TORCH_PYTHON, does not run: it failed and said nothing; "),
        ("sh", "sh, of CRITERION_TORCH_PYTHON, does not run: "),
    ] {
        let text = skipped(find(program).expect_err(program));
        assert!(text.starts_with(why) && text.ends_with(REMEDY), "{text}");
    }
}

#[test]
fn another_version_is_skipped() {
    // It prints its arguments.
    let text = skipped(find("echo").expect_err("no version"));
    let start = format!("echo, of CRITERION_TORCH_PYTHON, has Triton -c {VERSION}; ");
    assert!(text.starts_with(&start) && text.ends_with(REMEDY), "{text}");
}

fn shell(script: &str, input: &[u8], patience: Patience) -> Result<Vec<u8>, String> {
    let run = Run { program: Path::new("sh"), script, what: "trying" };
    run.output(input, patience).map_err(|error| match error {
        RunError::Start(error) => error.to_string(),
        RunError::Failed(text) | RunError::Hung(text) => text,
    })
}

#[test]
fn a_child_reads_and_writes_more_than_a_pipe_holds() {
    let input = vec![b'x'; 1 << 20];
    assert_eq!(shell("echo said >&2; cat", &input, PATIENCE), Ok(input.clone()));
    assert_eq!(shell("exec <&-; exit 3", &input, PATIENCE).expect_err("3"), last_lines(b""));
}

#[test]
fn a_failing_child_is_quoted_from_its_end() {
    let script = "for i in $(seq 100); do echo line $i >&2; done; echo; exit 1";
    let text = shell(script, b"", PATIENCE).expect_err("1");
    assert!(text.starts_with("line 89\n") && text.ends_with("\nline 100"), "{text}");
    let python = Python { program: "sh".into() };
    let refusal = python.run("echo broken >&2; exit 1", "compiling", b"").expect_err("1");
    assert_eq!(refusal, Refusal::Failed("Triton 3.6.0, compiling: broken".to_owned()));
}

#[test]
fn a_child_that_hangs_is_killed() {
    let patience = Patience { quiet: 2 * STEP, limit: 5 * STEP };
    let text = shell("exec sleep 100000", b"", patience).expect_err("it sleeps");
    assert_eq!(text, "no answer in 0 s, killed");
}

#[test]
fn variables_of_triton_do_not_reach_the_child() {
    // The only test that looks at this variable.
    // SAFETY: other threads of this program read variables through std, which takes turns.
    unsafe { std::env::set_var("TRITON_OF_THIS_TEST", "1") };
    let output = shell("echo ${TRITON_OF_THIS_TEST-unset} ${PATH+set}", b"", PATIENCE).unwrap();
    assert_eq!(String::from_utf8_lossy(&output), "unset set\n");
}
