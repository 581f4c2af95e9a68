use std::fs;

use super::*;
use crate::python::fake::fake;

const REMEDY: &str = "install it";

fn demand(program: &str) -> Result<(), Refusal> {
    Interpreter::find(Some(program.into()), None).demand("triton", "3.6.0", REMEDY)
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
        let Refusal::Skipped(text) = demand(program).expect_err(program) else { panic!() };
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
        let python = fake(folder.path(), &format!("{asks}; echo {version}"));
        assert_eq!(demand(python.to_str().unwrap()).is_ok(), fits, "{version}");
    }
}

#[test]
fn the_variable_decides_then_the_cache_then_the_path() {
    let cache = tempfile::tempdir().unwrap();
    let found = |variable: Option<&str>| {
        let found = Interpreter::find(variable.map(Into::into), Some(cache.path()));
        (
            found.program.strip_prefix(cache.path()).map_or(found.program.clone(), Into::into),
            found.by,
        )
    };
    let path = ("python3".into(), "the PATH");
    assert_eq!(found(None), path);
    // Being installed; of another release; without an interpreter.
    for folder in ["0.17.0-python3.12.partial-1", "0.16.0-python3.12", "0.17.0-python3.x"] {
        let bin = cache.path().join(format!("torchao-{folder}/bin"));
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("python"), "").unwrap();
    }
    fs::create_dir(cache.path().join("torchao-0.17.0-python3.14")).unwrap();
    assert_eq!(found(None), path);
    for minor in [9, 11, 10] {
        let bin = cache.path().join(format!("torchao-0.17.0-python3.{minor}/bin"));
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("python"), "").unwrap();
    }
    let newest: PathBuf = "torchao-0.17.0-python3.11/bin/python".into();
    assert_eq!(found(None), (newest.clone(), "the cache"));
    assert_eq!(found(Some("")), (newest, "the cache"));
    assert_eq!(found(Some("/my/python")), ("/my/python".into(), VARIABLE));
    assert_eq!(Interpreter::find(None, None).by, "the PATH");
}
