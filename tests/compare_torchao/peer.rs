//! Requests to the Python process, its answers, and the end of one that does not answer.

use std::time::Duration;

use criterion_torch::compile::SETTINGS;
use serde_json::json;

use crate::cases::with_compiled;
use crate::program::program;
use crate::torchao::peer::{
    BuildReply, Built, CAPABILITY, Facts, Patience, Peer, build_request, parse,
};

#[test]
fn a_request_says_all_that_a_case_is() {
    let recipes = ["baseline".into(), "int8dq".into()];
    let cases = with_compiled(&recipes, "sparsity_config_recipe_names: [2:4]", "max-autotune");
    let [.., eager, compiled] = &cases[..] else { panic!("few cases: {cases:?}") };
    for (case, compile_mode) in [(eager, None), (compiled, Some("max-autotune"))] {
        let build = json!({
            "model": "linear",
            "recipe": "int8dq",
            "sparsity": "semi-sparse",
            "compile_mode": compile_mode,
            "dtype": "torch.bfloat16",
            "shape": [4, 256, 128],
            "threads": 1,
            "pass": null,
            "training": null,
        });
        assert_eq!(build_request(case), json!({ "build": build }));
    }
}

#[test]
fn answers_are_read_and_anything_else_is_quoted() {
    let built = BuildReply::Built(Built { weight: "Int8Tensor".into(), graphs: 1 });
    assert_eq!(parse(r#"{"built": {"weight": "Int8Tensor", "graphs": 1}}"#), Ok(built));
    let refused = BuildReply::Unsupported("ImportError: gemlite is required".into());
    assert_eq!(parse(r#"{"unsupported": "ImportError: gemlite is required"}"#), Ok(refused));
    let error = parse::<BuildReply>("Segmentation fault\n").expect_err("no JSON");
    assert!(error.starts_with("not an answer: ") && error.ends_with(": Segmentation fault"));
    assert!(parse::<Facts>(r#"{"torch": "2.11.0"}"#).is_err());
}

#[test]
fn a_process_that_ends_is_an_error() {
    let start = |python: &str| Peer::start(python.as_ref(), &[], Patience::default());
    let error = start("true").err().expect("it says nothing");
    assert!(error.starts_with("the Python process ended: exit status: 0"), "{error}");
    let error = start("/nowhere/python").err().expect("it is not there");
    assert!(error.starts_with("cannot run /nowhere/python"), "{error}");
}

#[test]
fn a_process_that_hangs_is_an_error() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let python = program(folder.path().join("python"), "#!/bin/sh\nexec sleep 1000\n");
    let patience = Patience { build: Duration::from_millis(50), ..Patience::default() };
    let error = Peer::start(python.as_ref(), &[], patience).err().expect("it never answers");
    assert_eq!(error, "the Python process hangs: no answer within 0.05 s");
}

#[test]
fn it_hears_no_settings_but_the_instruction_set() {
    for prefix in SETTINGS {
        // The only test that looks at these variables.
        // SAFETY: other threads of this program read variables through std, which takes turns.
        unsafe { std::env::set_var(format!("{prefix}_OF_THIS_TEST"), "1") };
    }
    let ours = std::env::var(CAPABILITY).unwrap_or_else(|_| "avx2".to_owned());
    // SAFETY: as above.
    unsafe { std::env::set_var(CAPABILITY, &ours) };
    let folder = tempfile::tempdir().expect("a scratch folder");
    let script = format!(
        r#"#!/bin/sh
        read request
        settings=$(env | grep -c _OF_THIS_TEST)
        echo "{{\"torch\": \"$settings\", \"torchao\": \"\", \"python\": \"\", \"configuration\": \"\",
            \"capability\": \"${CAPABILITY}\", \"constants\": 0}}" | tr -d '\n'
        echo; read request"#
    );
    let python = program(folder.path().join("python"), &script);
    let peer = Peer::start(python.as_ref(), &[], Patience::default()).expect("it answers");
    assert_eq!((&*peer.facts.torch, &peer.facts.capability), ("0", &ours));
}
