//! Reports of a C++ compiler's errors, with a Python that has torch and a compiler that fails.

use std::path::Path;
use std::time::Duration;

use plan::CompileMode;
use tch::{Kind, Tensor};

use super::inductor::{self, InductorReply, Request};
use super::input::Input;
use super::real_tests::is_there;
use super::toolchain::Compiler;
use crate::native::trace;
use crate::program::program;
use crate::refusal::Refusal;
use ::libtorch::Interpreter;

/// Has x + x compiled by g++, but where a shell script, which finds its arguments in `$*` and a
/// folder of its own in `$OWN`, ends before. `probes` keeps which vector instructions work.
fn compile_with(folder: &Path, probes: &Path, script: &str) -> Result<InductorReply, Refusal> {
    let x = Tensor::ones([2, 3], (Kind::Float, tch::Device::Cpu));
    let graph = folder.join("graph.pt");
    trace::trace(&[&x], || x.f_add(&x)).unwrap().save(&graph).unwrap();
    let asked = r#"case "$*" in *--version*|-v) exec g++ "$@";; esac"#;
    let own = folder.display();
    let text = format!("#!/bin/sh\nOWN={own}\n{asked}\n{script}\nexec g++ \"$@\"\n");
    let compiler = program(folder.join("g++"), &text);
    let compiler = Compiler { program: compiler.display().to_string(), version: "fake".to_owned() };
    let inputs = [Input {
        sizes: x.size(),
        strides: x.stride(),
        dtype: "float32",
        device: "cpu".to_owned(),
    }];
    let scratch = folder.join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let request = Request {
        graph: &graph,
        inputs: &inputs,
        mode: CompileMode::Default,
        threads: 1,
        scratch: &scratch,
        probes,
        package: &folder.join("package.pt2"),
    };
    inductor::compile(Interpreter::compiling(), &compiler, &request, Duration::from_secs(600))
}

/// The refusal; nothing is left that a later compilation would take up.
fn refused(script: &str) -> Refusal {
    let folder = tempfile::tempdir().unwrap();
    refused_with(&folder.path().join("probes.json"), script)
}

/// Like [`refused`], with the probes of an earlier compilation.
fn refused_with(probes: &Path, script: &str) -> Refusal {
    let folder = tempfile::tempdir().unwrap();
    let refusal = compile_with(folder.path(), probes, script).unwrap_err();
    assert!(!folder.path().join("package.pt2").exists());
    refusal
}

/// Says something in the place of what compiles a package.
fn of_the_package(words: &str) -> String {
    format!("case \"$*\" in *wrapper.cpp*) echo \"{words}\"; exit 1;; esac")
}

const UNSETTLED: &str = "works here cannot be found out: ";

#[test]
#[ignore = "nightly: Inductor compiles, a quarter of a minute each time"]
#[cfg(target_arch = "x86_64")]
fn nightly_a_compiler_that_dies_says_nothing_of_vector_instructions() {
    if !is_there() {
        return;
    }
    let words = "g++: fatal error: Killed signal terminated program cc1plus";
    for (script, why) in [
        (format!("echo '{words}'; exit 1"), words),
        ("kill -9 $$".to_owned(), "ended with status -9 and said nothing"),
    ] {
        let refusal = refused(&script);
        let Refusal::Failed(text) = &refusal else { panic!("{refusal}") };
        assert!(text.contains(UNSETTLED) && text.ends_with(why), "{text}");
    }
}

#[test]
#[ignore = "nightly: Inductor compiles, a quarter of a minute each time"]
#[cfg(target_arch = "x86_64")]
fn nightly_vector_instructions_that_work_now_and_then_are_a_failure() {
    if !is_there() {
        return;
    }
    let first = "mkdir $OWN/first 2> /dev/null && { echo 'a.cpp:1:1: error: no'; exit 1; }";
    let refusal = refused(first);
    let Refusal::Failed(text) = &refusal else { panic!("{refusal}") };
    assert!(text.contains(UNSETTLED) && text.contains("the second time, not the first"), "{text}");
}

#[test]
#[ignore = "nightly: Inductor compiles, a quarter of a minute each time"]
#[cfg(target_arch = "x86_64")]
fn nightly_a_compiler_without_vector_instructions_compiles_without() {
    if !is_there() {
        return;
    }
    let words = "g++: error: unrecognized command-line option '-mavx512f'";
    let folder = tempfile::tempdir().unwrap();
    let old = format!("case \"$*\" in *-mavx512*) echo \"{words}\"; exit 1;; esac");
    let answer = compile_with(folder.path(), &folder.path().join("probes.json"), &old).unwrap();
    assert!(!answer.target.contains("AVX512"), "{}", answer.target);
}

#[test]
#[ignore = "long: Inductor compiles, a quarter of a minute each time"]
fn errors_in_the_code_are_inductors_and_others_are_failures() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let refused = |script: &str| refused_with(&folder.path().join("probes.json"), script);
    let place = "/gone/a.wrapper.cpp:492:5: ";
    let words = "error: 'foo' does not name a type";
    let refusal = refused(&of_the_package(&format!("{place}{words}\nnote: here")));
    let expected = format!("Inductor: C++: a.wrapper.cpp:492:5: {words}");
    assert_eq!(refusal, Refusal::Unsupported(expected));

    for words in [
        "a.wrapper.cpp:4:5: fatal error: omp.h: No such file or directory",
        "g++: fatal error: Killed signal terminated program cc1plus",
        "a.wrapper.cpp:4:5: internal compiler error: Segmentation fault",
    ] {
        let refusal = refused(&of_the_package(&format!("{words}\ncompilation terminated.")));
        assert_eq!(refusal, Refusal::Failed(format!("Inductor: C++: {words}")));
    }
}
