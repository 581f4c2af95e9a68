use super::*;

#[path = "../../../tests/common/program.rs"]
mod program;

use program::program;

const REMEDY: &str = "install it";

fn demand(program: &str) -> Result<(), String> {
    Interpreter::named(program).demand("triton", "3.6.0", REMEDY)
}

#[test]
fn a_python_that_cannot_serve_is_skipped_with_the_remedy() {
    for (program, why) in [
        ("/nowhere/python", "/nowhere/python, of CRITERION_TORCH_PYTHON: "),
        ("true", "true, of CRITERION_TORCH_PYTHON, has no triton; "),
        ("false", "false, of CRITERION_TORCH_PYTHON, does not run: exit status: 1, said nothing; "),
        ("sh", "sh, of CRITERION_TORCH_PYTHON, does not run: "),
        // It prints its arguments.
        ("echo", "echo, of CRITERION_TORCH_PYTHON, has triton -c import importlib.metadata"),
    ] {
        let text = demand(program).expect_err(program);
        assert!(text.starts_with(why) && text.ends_with("; install it"), "{text}");
    }
}

#[test]
fn builds_of_a_release_may_differ_and_releases_may_not() {
    assert!(VERSION.contains("version('PACKAGE')"));
    for (version, fits) in
        [("3.6.0", true), ("3.6.0+git1", true), ("3.6.0a0+git1", false), ("3.6.1", false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let asks = "case \"$2\" in *\"version('triton')\"*) ;; *) exit 1;; esac";
        let text = format!("#!/bin/sh\n{asks}; echo {version}\n");
        let python = program(folder.path().join("python"), &text);
        assert_eq!(demand(python.to_str().unwrap()).is_ok(), fits, "{version}");
    }
}
