use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::program::program;

const ANSWER: &str = r#"{"torch": "2.11.0+cpu", "options": {"cpp.threads": 2},
    "target": "AVX2", "kernels": ["aten::mm"], "seconds": 1.5}"#;

const PATIENT: Duration = Duration::from_secs(60);

/// Compiles by a shell script instead of a Python.
fn compile_by_script(script: &str, limit: Duration) -> Result<InductorReply, Refusal> {
    compile_by_reader(&format!("cat > /dev/null; {script}"), limit)
}

/// Compiles by a shell script that reads its request.
fn compile_by_reader(script: &str, limit: Duration) -> Result<InductorReply, Refusal> {
    let folder = tempfile::tempdir().unwrap();
    let python =
        Interpreter::named(program(folder.path().join("python"), &format!("#!/bin/sh\n{script}")));
    let compiler = Compiler { program: "my-g++".to_owned(), version: "g++ 12".to_owned() };
    let place: PathBuf = "/place".into();
    let inputs =
        [Input { sizes: vec![2, 3], strides: vec![3, 1], dtype: "int8", device: "cpu".to_owned() }];
    let request = Request {
        graph: &place,
        inputs: &inputs,
        mode: CompileMode::MaxAutotune,
        threads: 2,
        scratch: folder.path(),
        probes: &place,
        package: &place,
    };
    compile(&python, &compiler, &request, limit)
}

fn failed(script: &str) -> String {
    match compile_by_script(script, PATIENT) {
        Err(Refusal::Failed(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_answer_is_understood_whatever_is_said_besides() {
    let noise = "head -c 5000000 /dev/zero | tr '\\0' 'x' >&2";
    let answer = compile_by_script(&format!("{noise}; echo '{ANSWER}'"), PATIENT).unwrap();
    let expected = InductorReply {
        torch: "2.11.0+cpu".to_owned(),
        options: [("cpp.threads".to_owned(), json!(2))].into(),
        target: "AVX2".to_owned(),
        kernels: vec!["aten::mm".to_owned()],
        seconds: 1.5,
    };
    assert_eq!(answer, expected);
}

#[test]
fn the_request_is_what_the_program_reads() {
    let Err(Refusal::Failed(written)) = compile_by_reader("cat >&2; exit 1", PATIENT) else {
        panic!()
    };
    let start = written.find('{').unwrap();
    let request: Value = serde_json::from_str(&written[start..]).unwrap();
    assert_eq!(request["mode"], json!("max-autotune"));
    assert_eq!(request["threads"], json!(2));
    let input = json!([{"sizes": [2, 3], "strides": [3, 1], "dtype": "int8", "device": "cpu"}]);
    assert_eq!(request["inputs"], input);
    for (name, _) in request.as_object().unwrap() {
        let is_read = [format!("request[\"{name}\"]"), format!("\n    {name} ")];
        assert!(is_read.iter().all(|it| PROGRAM.contains(it)), "{name}");
    }
}

#[test]
fn a_child_that_hangs_is_a_timeout_with_the_limit() {
    let refusal = compile_by_script("sleep 100000", Duration::from_millis(200)).unwrap_err();
    let Refusal::Timeout(text) = refusal else { panic!("{refusal}") };
    assert!(text.ends_with(": no answer in 0.2 s, killed; see compile_timeout_s"), "{text}");
}

#[test]
fn a_child_that_dies_is_quoted() {
    assert!(failed("echo first >&2; echo last >&2; exit 1").ends_with(": first\nlast"));
    let killed = failed("kill -9 $$");
    assert!(killed.contains(": signal: 9"), "{killed}");
    let Err(Refusal::Oom(text)) = compile_by_script("echo std::bad_alloc >&2; exit 1", PATIENT)
    else {
        panic!()
    };
    assert!(text.ends_with("std::bad_alloc"), "{text}");
}

#[test]
fn an_answer_that_is_not_as_agreed_is_a_failure() {
    for (script, why) in [
        ("exit 0", "its answer: EOF while parsing"),
        ("echo garbage", "its answer: expected value"),
        ("echo '{}'", "its answer: missing field"),
        (r#"echo '{"refused": "perhaps", "reason": ""}'"#, "its answer: unknown variant"),
    ] {
        let text = failed(script);
        assert!(text.contains(why), "{text}");
    }
    let other = failed(&format!("echo '{}'", ANSWER.replace("2.11.0", "2.12.0")));
    assert!(other.ends_with(": it has torch 2.12.0+cpu, not 2.11.0"), "{other}");
}

#[test]
fn inductors_reason_is_the_refusals() {
    let refused = |kind: &str| {
        compile_by_script(
            &format!(r#"echo '{{"refused": "{kind}", "reason": "no kernel"}}'"#),
            PATIENT,
        )
    };
    let reason = "Inductor: no kernel".to_owned();
    assert_eq!(refused("unsupported"), Err(Refusal::Unsupported(reason.clone())));
    assert_eq!(refused("oom"), Err(Refusal::Oom(reason.clone())));
    assert_eq!(refused("failed"), Err(Refusal::Failed(reason)));
}

#[test]
fn the_vectors_that_libtorch_is_told_to_keep_to_are_the_childs() {
    let compiler = Compiler { program: "my-g++".to_owned(), version: "g++ 12".to_owned() };
    let set = |capability: Option<&str>| {
        let mut command = Command::new("python");
        surround(&mut command, &compiler, Path::new("/scratch"), capability.map(Into::into));
        let found = command.get_envs().find(|(name, _)| *name == CAPABILITY);
        found.and_then(|(_, value)| value.map(std::ffi::OsStr::to_owned))
    };
    assert_eq!(set(Some("avx2")).as_deref(), Some("avx2".as_ref()));
    assert_eq!(set(None), None);
}

#[test]
fn no_variable_changes_what_is_compiled() {
    for prefix in SETTINGS {
        // The only test that looks at these variables.
        // SAFETY: other threads of this program read variables through std, which takes turns.
        unsafe { std::env::set_var(format!("{prefix}_OF_THIS_TEST"), "1") };
    }
    let text = failed("env | grep _OF_THIS_TEST >&2; echo $CXX $TMPDIR >&2; exit 1");
    let (_, said) = text.rsplit_once(": ").unwrap();
    assert!(said.starts_with("my-g++ /") && !said.contains('\n'), "{said}");
}
