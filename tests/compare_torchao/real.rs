//! torchao itself, where there is a Python that has it.

use std::ffi::OsString;
use std::time::Duration;

use libtorch::PYTHON;
use plan::{Case, Mode, ModelWork, Pass, Recipe};

use crate::cases::{cases, with_compiled, work, work_mut};
use crate::torchao::peer::{BuildReply, Built, Patience, Peer};
use crate::torchao::rounds::Contender;

/// The Python that has torchao, where there is one.
fn python() -> Option<OsString> {
    let python = std::env::var_os(PYTHON).filter(|value| !value.is_empty());
    if python.is_none() {
        crate::skip::tool(format_args!("{PYTHON} names no Python that has torch and torchao"));
    }
    python
}

/// The type of a recipe's weight in torchao 0.17 on a CPU; `None` if it refuses.
fn weight_type(recipe: &str) -> Option<&'static str> {
    Some(match recipe {
        "baseline" => "Parameter",
        "int8wo" => "AffineQuantizedTensor",
        "int8dq" | "int8dq_prefill_wo_decode" => "LinearActivationQuantizedTensor",
        "int8wo-v2" | "int8dq-v2" => "Int8Tensor",
        "int4wo-32" | "int4wo-64" | "int4wo-128" => "Int4OpaqueTensor",
        "int4wo-32-hqq" | "int4wo-64-hqq" | "int4wo-128-hqq" => "Int4OpaqueTensor",
        "float8wo" => "Float8Tensor",
        "int8_dynamic_activation_intx_weight-4-32-false" => "IntxUnpackedToInt8Tensor",
        "mxfp8" | "mxfp4" => "MXTensor",
        "nvfp4wo" => "NVFP4Tensor",
        _ => return None,
    })
}

fn eager(weight: &str) -> Built {
    Built { weight: weight.to_owned(), graphs: 0 }
}

#[test]
#[ignore = "long: torchao is started and compiles"]
fn torchao_runs_a_recipe_or_says_why_not() {
    let Some(python) = python() else { return };
    let inference = Recipe::examples().filter(|recipe| recipe.takes(Mode::Inference));
    let recipes: Vec<String> = inference.map(|recipe| recipe.to_string()).collect();
    let mut peer = Peer::start(&python, &[], Patience::default()).expect("it has torchao");
    if cfg!(target_os = "linux") {
        // Some forty megabytes of libtorch's.
        assert!(peer.facts.constants > 5000, "{}", peer.facts.constants);
    }
    let dense = cases(&recipes, "");
    assert_eq!(dense.len(), recipes.len());
    for case in &dense {
        let recipe = work(case).variant.recipe.to_string();
        match (peer.build(case).expect("it lives on"), weight_type(&recipe)) {
            (BuildReply::Built(found), Some(wanted)) => {
                assert_eq!(found, eager(wanted), "{recipe}")
            }
            (BuildReply::Unsupported(reason), None) => {
                println!("{recipe}: {reason}");
                assert!(!reason.is_empty() && !reason.contains("no configuration"), "{recipe}");
            }
            (answer, wanted) => panic!("{recipe}: {answer:?}, wanted {wanted:?}"),
        }
    }
    // On a CPU torchao has no sparse layout at all.
    let sparse = cases(&recipes, "sparsity_config_recipe_names: [semi-sparse, block]");
    let sparse: Vec<&Case> =
        sparse.iter().filter(|case| work(case).variant.sparsity.is_some()).collect();
    assert!(sparse.len() > 2, "{}", sparse.len());
    for case in sparse {
        match peer.build(case).expect("it lives on") {
            BuildReply::Unsupported(reason) => {
                println!("{}: {reason}", case.id.variant);
                assert!(!reason.is_empty() && !reason.contains("no configuration"), "{reason}");
            }
            other => panic!("{}: {other:?}", case.id),
        }
    }
}

#[test]
#[ignore = "long: torchao is started"]
fn torchao_trains_each_part_of_a_step() {
    let Some(python) = python() else { return };
    let mut peer = Peer::start(&python, &[], Patience::default()).expect("it has torchao");
    let training = Recipe::examples().filter(|recipe| recipe.takes(Mode::Training));
    let recipes: Vec<String> = training.map(|recipe| recipe.to_string()).collect();
    for mut case in cases(&recipes, "benchmark_mode: training") {
        // A block of rows, which the weight's gradient sums over.
        work_mut(&mut case).shape.m = 32;
        let ModelWork { variant, pass, .. } = work(&case);
        let is_call = !matches!(pass, Some(Pass::Casts | Pass::Products));
        let has_peer = !matches!(variant.recipe, Recipe::BlockScaled { .. });
        match peer.build(&case).expect("it lives on") {
            BuildReply::Built(built) => {
                assert!(is_call && has_peer, "{}: {built:?}", case.id);
                assert!(peer.time(1, 3).expect("it runs") > Duration::ZERO, "{}", case.id);
            }
            BuildReply::Unsupported(reason) => {
                assert!(!is_call || !has_peer, "{}: {reason}", case.id);
            }
            BuildReply::Failed(error) => panic!("{}: {error}", case.id),
        }
    }
}

#[test]
fn a_weight_that_torchao_leaves_alone_is_no_peer() {
    let Some(python) = python() else { return };
    let mut peer = Peer::start(&python, &[], Patience::default()).expect("it has torchao");
    let mut case = cases(&["int4wo-64".into()], "").remove(1);
    // It only logs that groups of 64 do not fit.
    work_mut(&mut case).shape.k = 96;
    let BuildReply::Unsupported(reason) = peer.build(&case).expect("it lives on") else {
        panic!("the weight is a plain one");
    };
    assert!(reason.contains("leaves the weight of `linear1` as it is"), "{reason}");
}

#[test]
fn the_peer_times_the_calls_that_it_is_told_to() {
    let Some(python) = python() else { return };
    let switches: Vec<_> = criterion_torch::native::allocator::switches()
        .iter()
        .map(|&(_, switch, value)| (switch, value))
        .collect();
    let mut peer = Peer::start(&python, &switches, Patience::default()).expect("it has torchao");
    let case = cases(&["int8dq".into()], "").remove(1);
    assert!(matches!(peer.build(&case), Ok(BuildReply::Built(_))));
    assert!(peer.time(1, 50).expect("it runs") > Duration::ZERO);
}

#[test]
#[ignore = "long: torchao is started and compiles"]
fn a_compiled_case_is_one_graph_and_an_eager_one_behind_it_is_none() {
    let Some(python) = python() else { return };
    let mut peer = Peer::start(&python, &[], Patience::default()).expect("it has torchao");
    let cases = with_compiled(&["int8dq".into()], "", "default");
    let compiled = |weight: &str| Built { graphs: 1, ..eager(weight) };
    let layer = "LinearActivationQuantizedTensor";
    // The baseline's two, then int8dq's.
    let wanted = [eager("Parameter"), compiled("Parameter"), eager(layer), compiled(layer)];
    assert_eq!(cases.len(), wanted.len());
    for (case, wanted) in cases.iter().zip(wanted).chain([(&cases[2], eager(layer))]) {
        let answer = peer.build(case).expect("it lives on");
        assert_eq!(answer, BuildReply::Built(wanted), "{}", case.id);
        // A call that compiles is an error.
        assert!(peer.time(1, 20).expect("it runs") > Duration::ZERO, "{}", case.id);
    }
}

#[test]
fn what_breaks_is_no_missing_peer() {
    let Some(python) = python() else { return };
    let mut peer = Peer::start(&python, &[], Patience::default()).expect("it has torchao");
    let mut case = cases(&["int8wo".into()], "").remove(1);
    // 2^51 bytes: more than a process can address.
    work_mut(&mut case).shape = plan::Shape::new(1, 1 << 20, 1 << 30);
    let BuildReply::Failed(error) = peer.build(&case).expect("it lives on") else {
        panic!("there is no memory for it");
    };
    assert!(error.contains("can't allocate memory"), "{error}");
}
