use tch::Kind;

use super::*;
use crate::border::tests::wave;
use crate::memory;

const LAYERS: &str = "
def biased_relu(x, b):
    return torch.relu(x + b)

def linear_gelu(x, w, b):
    return torch.gelu(torch.linear(x, w, b), approximate=\"none\")

def convolution_relu(x, w):
    return torch.relu(torch.conv2d(x, w, None, [1, 1], [1, 1]))

def either(x):
    if bool(x.sum() > 0):
        y = torch.sigmoid(x)
    else:
        y = torch.tanh(x)
    return y";

fn function(name: &str) -> Function {
    Script::compile(LAYERS).expect("compiled").function(name).expect("there")
}

fn assert_near(found: &Tensor, expected: &Tensor) {
    assert_eq!(found.size(), expected.size());
    let error = (found - expected).abs().max().double_value(&[]);
    assert!(error <= 2e-5, "off by {error:e}");
}

#[test]
fn without_a_fuser_the_operations_run_one_by_one() {
    let (x, b) = (wave(&[8, 16], Kind::Float), wave(&[16], Kind::Float));
    let expected = (&x + &b).relu();
    let f = function("biased_relu");
    let unready = f.optimized_graph().expect_err("never ran").to_string();
    assert_eq!(unready, "biased_relu is not optimized yet");
    f.optimize(&[&x, &b], Fuser::Default).expect("optimized");
    for _ in 0..3 {
        assert_eq!(f.run(&[&x, &b]).expect("ran"), expected);
    }
    // As long as PyTorch's builds for the CPU are without LLVM.
    let graph = f.optimized_graph().expect("optimized");
    assert_eq!(graph, ["aten::add", "aten::relu"]);
    assert!(!graph.iter().any(|node| is_fusion_group(node)));
}

#[test]
fn the_second_run_is_optimized() {
    let (x, b) = (wave(&[8, 16], Kind::Float), wave(&[16], Kind::Float));
    let f = function("biased_relu");
    let first = f.run(&[&x, &b]).expect("ran");
    assert!(f.optimized_graph().is_err(), "profiled only");
    let second = f.run(&[&x, &b]).expect("ran");
    assert_eq!(f.optimized_graph().expect("optimized").len(), 2);
    assert_eq!(first, second);
    // The fuser would come too late.
    let late = f.optimize(&[&x, &b], Fuser::OnednnGraph).expect_err("refused").to_string();
    assert_eq!(late, "biased_relu is optimized already");
}

#[test]
fn onednn_graph_fuses_on_the_cpu() {
    let kind = Kind::Float;
    let (x, w, b) = (wave(&[32, 64], kind), wave(&[48, 64], kind), wave(&[48], kind));
    let f = function("linear_gelu");
    f.optimize(&[&x, &w, &b], Fuser::OnednnGraph).expect("optimized");
    let graph = f.optimized_graph().expect("optimized");
    assert_eq!(
        graph,
        [
            "prim::oneDNNFusionGuard",
            "prim::If",
            "prim::oneDNNFusionGroup(aten::linear, aten::gelu)",
            "prim::CallFunction",
            "prim::TupleUnpack",
        ]
    );
    assert_eq!(graph.iter().filter(|node| is_fusion_group(node)).count(), 1);
    assert_near(&f.run(&[&x, &w, &b]).expect("ran"), &x.linear(&w, Some(&b)).gelu("none"));
    // Not the sizes that it was optimized for: the unfused copy.
    let other = wave(&[5, 64], kind);
    for _ in 0..3 {
        let y = f.run(&[&other, &w, &b]).expect("ran");
        assert_near(&y, &other.linear(&w, Some(&b)).gelu("none"));
    }

    let (x, w) = (wave(&[2, 8, 6, 6], kind), wave(&[4, 8, 3, 3], kind));
    let f = function("convolution_relu");
    f.optimize(&[&x, &w], Fuser::OnednnGraph).expect("optimized");
    let graph = f.optimized_graph().expect("optimized");
    let group = "prim::oneDNNFusionGroup(aten::conv2d, aten::relu)".to_owned();
    assert!(graph.contains(&group), "{graph:?}");
    let expected = x.conv2d(&w, None::<Tensor>, [1, 1], [1, 1], [1, 1], 1).relu();
    assert_near(&f.run(&[&x, &w]).expect("ran"), &expected);

    // Asked for once is not asked for always.
    let (x, b) = (wave(&[8, 16], kind), wave(&[16], kind));
    let f = function("biased_relu");
    f.optimize(&[&x, &b], Fuser::Default).expect("optimized");
    assert_eq!(f.optimized_graph().expect("optimized"), ["aten::add", "aten::relu"]);
}

#[test]
fn branches_are_listed_and_taken() {
    let x = wave(&[32], Kind::Float).abs();
    let f = function("either");
    f.optimize(&[&x], Fuser::Default).expect("optimized");
    let graph = f.optimized_graph().expect("optimized");
    let position = |kind: &str| graph.iter().position(|node| node == kind);
    let branch = position("prim::If").expect("a branch");
    assert!(position("aten::sigmoid") > Some(branch), "{graph:?}");
    assert!(position("aten::tanh") > Some(branch), "{graph:?}");
    assert_eq!(f.run(&[&x]).expect("ran"), x.sigmoid());
    assert_eq!(f.run(&[&-&x]).expect("ran"), (-&x).tanh());
}

#[test]
fn what_does_not_compile_says_why_and_where() {
    let refusal = |source: &str| Script::compile(source).expect_err("refused").to_string();
    let unknown = refusal("def f(x):\n    return torch.nonsense(x)");
    assert!(unknown.starts_with("Unknown builtin op: aten::nonsense."), "{unknown}");
    assert!(unknown.ends_with(" (line 2)"), "{unknown}");
    assert_eq!(refusal("def f(x: return x"), "expected ident but found 'return' here (line 1)");
    let arguments = refusal("def f(x):\n    y = x\n    return torch.relu(x, x, x)");
    assert!(arguments.contains("Expected at most 1 arguments but found 3"), "{arguments}");
    assert!(arguments.ends_with("(line 3)"), "{arguments}");
}

#[test]
fn functions_of_tensors_alone_are_found() {
    let script = Script::compile(
        "def scaled(x, by: float):\n    return x * by\ndef pair(x):\n    return x, x",
    )
    .expect("compiled");
    let refusal = |name: &str| script.function(name).expect_err("refused").to_string();
    assert_eq!(refusal("missing"), "the script has no function `missing`");
    assert_eq!(refusal("scaled"), "`by` has to be a Tensor: scaled(Tensor x, float by) -> Tensor");
    assert_eq!(refusal("pair"), "it has to return a Tensor: pair(Tensor x) -> ((Tensor, Tensor))");
}

#[test]
fn what_fails_when_run_says_why() {
    let (x, b) = (wave(&[3], Kind::Float), wave(&[4], Kind::Float));
    let f = function("biased_relu");
    for _ in 0..3 {
        assert_eq!(
            f.run(&[&x, &b]).expect_err("sizes differ").to_string(),
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton \
             dimension 0"
        );
    }
    assert_eq!(
        f.run(&[&x]).expect_err("one is missing").to_string(),
        "biased_relu takes 2 tensors, not 1"
    );
    let script = Script::compile("def f(x):\n    assert bool(x.sum() < 0), \"no\"\n    return x");
    let raised = script.expect("compiled").function("f").expect("there").run(&[&b.abs()]);
    assert_eq!(raised.expect_err("raised").to_string(), "AssertionError: no");
}

#[test]
fn nothing_leaks() {
    let (x, b) = (wave(&[64, 64], Kind::Float), wave(&[64], Kind::Float));
    let f = function("biased_relu");
    let ((), report) = memory::track(|| {
        for _ in 0..10 {
            drop(f.run(&[&x, &b]).expect("ran"));
        }
        f.run(&[&x, &b.slice(0, 0, 3, 1)]).expect_err("sizes differ");
    })
    .expect("nothing else tracks");
    assert!(report.cpu.total_bytes >= 10 * 64 * 64 * 4, "{report:?}");
    assert_eq!(report.cpu.live_bytes, 0, "{report:?}");
}

#[test]
fn groups_are_told_from_what_only_holds_or_guards() {
    for group in ["prim::TensorExprGroup(aten::add, aten::relu)", "prim::TensorExprDynamicGroup()"]
    {
        assert!(is_fusion_group(group), "{group}");
    }
    for other in [
        "prim::TypeCheck",
        "prim::oneDNNFusionGuard",
        "prim::DifferentiableGraph(aten::add, prim::TensorExprGroup(aten::relu))",
        "aten::addGroup",
    ] {
        assert!(!is_fusion_group(other), "{other}");
    }
}
