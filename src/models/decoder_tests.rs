use plan::{Dtype, Recipe, Variant};
use tch::Device;

use super::*;
use crate::recipes::{self, layer, named_layer};
use crate::{inputs, models};

const SHAPE: Shape = Shape { m: 3, k: 64, n: 96 };

fn block(word: &str) -> (ModelKind, DecoderBlock) {
    match word.parse() {
        Ok(model @ ModelKind::Decoder(block)) => (model, block),
        other => panic!("{other:?}"),
    }
}

fn drawn(model: ModelKind, dtype: Dtype) -> (Parameters, Tensor) {
    let _drawing = inputs::seeded(1);
    let parameters = Parameters::random(model, SHAPE, dtype, Device::Cpu).expect("parameters");
    let sizes = models::sizes(model, SHAPE).expect("sizes");
    (parameters, inputs::normal(&sizes.input, dtype, Device::Cpu).expect("an input"))
}

fn built(model: ModelKind, variant: Variant, parameters: Parameters) -> Box<dyn Network> {
    let made = models::build(model, parameters, &mut |name, it| named_layer(variant, name, it));
    made.unwrap_or_else(|refusal| panic!("{variant}: {refusal}"))
}

/// The block in float64, token by token and head by head.
fn reference(block: DecoderBlock, parameters: &Parameters, input: &Tensor) -> Tensor {
    let take = |name: &str| {
        let name = format!("{name}.weight");
        let found = parameters.iter().find(|it| it.0 == name);
        found.map(|(_, tensor)| tensor.to_kind(Kind::Double)).expect(&name)
    };
    let (queries, keys) =
        (block.heads * block.head_width, block.key_value_heads * block.head_width);
    let [queries, keys, width] = [queries, keys, block.head_width].map(u64::cast_signed);
    let n = SHAPE.n.cast_signed();
    let (q, k, v, gate, up) = match block.is_fused {
        true => {
            let (qkv, gate_up) = (take("qkv_proj"), take("gate_up_proj"));
            let (k, v) = (qkv.narrow(0, queries, keys), qkv.narrow(0, queries + keys, keys));
            (qkv.narrow(0, 0, queries), k, v, gate_up.narrow(0, 0, n), gate_up.narrow(0, n, n))
        }
        false => {
            let [q, k, v, gate, up] =
                ["q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"].map(take);
            (q, k, v, gate, up)
        }
    };
    let normed = |x: &Tensor| {
        let square = (x * x).mean_dim(-1, true, None::<Kind>);
        x / (square + 1e-5).sqrt()
    };
    let x = input.to_kind(Kind::Double);
    let inner = normed(&x);
    let (q, k, v) = (inner.matmul(&q.tr()), inner.matmul(&k.tr()), inner.matmul(&v.tr()));
    let room = (block.cached + block.tokens).cast_signed();
    let cached = |head: i64, at: i64| {
        let first = (head * room + at) * width;
        Tensor::arange_start(first, first + width, (Kind::Float, Device::Cpu))
    };
    let mixed = x.new_zeros([3, block.tokens.cast_signed(), queries], (Kind::Double, Device::Cpu));
    for (sequence, head) in
        (0..3).flat_map(|it| (0..block.heads.cast_signed()).map(move |head| (it, head)))
    {
        let shared = head / (block.heads / block.key_value_heads).cast_signed();
        let part = |all: &Tensor, head: i64, token: i64| {
            all.get(sequence).get(token).narrow(0, head * width, width)
        };
        for token in 0..block.tokens.cast_signed() {
            let mut attended: Vec<[Tensor; 2]> = (0..block.cached.cast_signed())
                .map(|at| [cached(shared, at).sin(), cached(shared, at).cos()])
                .map(|pair| pair.map(|it| it.to_kind(Kind::Double)))
                .collect();
            attended.extend((0..=token).map(|at| [part(&k, shared, at), part(&v, shared, at)]));
            let query = part(&q, head, token);
            let score = |[key, _]: &[Tensor; 2]| (query.dot(key) / (width as f64).sqrt()).exp();
            let scores: Vec<Tensor> = attended.iter().map(score).collect();
            let total: Tensor = scores.iter().sum();
            let own =
                attended.iter().zip(&scores).map(|([_, value], score)| value * score / &total);
            let mut home = mixed.get(sequence).get(token).narrow(0, head * width, width);
            home.copy_(&own.sum::<Tensor>());
        }
    }
    let x = x + mixed.matmul(&take("o_proj").tr());
    let inner = normed(&x);
    let gate = inner.matmul(&gate.tr());
    let hidden = &gate * gate.sigmoid() * inner.matmul(&up.tr());
    x + hidden.matmul(&take("down_proj").tr())
}

#[test]
fn it_computes_what_the_formulas_say() {
    for word in [
        "decoder-4-2-8-6-0",
        "decoder-4-1-8-1-5",
        "decoder_fused-6-2-4-1-0",
        "decoder_fused-2-2-8-3-0",
    ] {
        let (model, block) = block(word);
        let (parameters, input) = drawn(model, Dtype::Float32);
        let expected = reference(block, &parameters, &input);
        let network = built(model, Variant::BASELINE, parameters);
        for _ in 0..2 {
            let found = network.forward(&input, None).expect("an output").to_kind(Kind::Double);
            let error = (found - &expected).abs().max().double_value(&[]);
            assert!(error < 1e-5, "{word}: {error}");
        }
        let some = network.forward(&input.narrow(0, 1, 1), None).expect("an output");
        let error = (some.to_kind(Kind::Double) - expected.narrow(0, 1, 1)).abs().max();
        assert!(error.double_value(&[]) < 1e-5, "{word}: fewer sequences");
    }
}

#[test]
fn each_layer_has_its_own_recipe() {
    let (model, block) = block("decoder-4-2-8-6-0");
    let word =
        "per_layer-q_proj=int8wo+packed,v_proj=int8wo,up_proj=baseline+float32,o_proj=uintx-8-32";
    let (parameters, input) = drawn(model, Dtype::BFloat16);
    let variant = Variant::eager(word.parse().expect("a recipe"));
    let network = built(model, variant, parameters.share());
    let int8wo = Variant::eager(Recipe::INT8WO);
    let uintx = Variant::eager("uintx-8-32".parse().expect("a recipe"));
    for (name, found) in block.layers().iter().zip(network.layers()) {
        let own = match *name {
            "q_proj" => Variant { packed: true, ..int8wo },
            "v_proj" => int8wo,
            "o_proj" => uintx,
            _ => Variant::BASELINE,
        };
        let kind = if *name == "up_proj" { Kind::Float } else { Kind::BFloat16 };
        let weight = parameters.share().take_weight(name).expect("a weight").to_kind(kind);
        let x = weight.narrow(0, 0, 2).to_kind(Kind::BFloat16);
        let expected = layer(own, weight).expect("a layer");
        let output = expected.forward(&x.to_kind(kind), None).expect("an output");
        let own_output = found.forward(&x, None).expect("an output");
        assert!(own_output.equal(&output.to_kind(Kind::BFloat16)), "{name}");
        assert_eq!(
            (found.kernels(), found.is_quantized()),
            (expected.kernels(), expected.is_quantized())
        );
        assert_eq!(found.tensors()[0].kind(), expected.tensors()[0].kind(), "{name}");
    }
    let difference = network.forward(&input, None).expect("an output")
        - built(model, Variant::BASELINE, parameters).forward(&input, None).expect("an output");
    assert!(difference.abs().max().double_value(&[]) > 0.0, "the recipes change something");
}

#[test]
fn a_layer_that_is_not_there_is_refused() {
    let recipe = "per_layer-fc1=int8wo".parse().expect("a recipe");
    let sizes = models::sizes(block("decoder_fused-2-1-8-1-5").0, SHAPE).expect("sizes");
    let refused = recipes::check_layers(recipe, &sizes.linears).expect_err("no such layer");
    let expected =
        "recipe `per_layer-fc1=int8wo`: the model has no layer `fc1`; its layers are qkv_proj, ";
    assert!(refused.to_string().contains(expected), "{refused}");
}
