use super::*;
use crate::shape::Shape;
use crate::variant::Variant;
use crate::words::{DecoderBlock, Recipe};

fn layers(rows: Rows, count: u64) -> LinearLayers {
    let (fqn, group) = ("model.layers.*.it".to_owned(), "it".to_owned());
    LinearLayers { fqn, n: 768, k: 2048, count, group, rows, module: Module::Linear }
}

fn phase(tokens: u64, batch: u64) -> Phase {
    Phase { name: "prefill".to_owned(), tokens, batch, passes: 1 }
}

#[test]
fn the_head_reads_one_token_of_each_sequence() {
    let (all, head) = (layers(Rows::Tokens, 24), layers(Rows::LastToken, 1));
    assert_eq!(all.shape(&phase(2048, 2)), Shape::new(4096, 2048, 768));
    assert_eq!(head.shape(&phase(2048, 2)), Shape::new(2, 2048, 768));
    assert_eq!((all.runs(&phase(1, 1)), head.runs(&phase(1, 1))), (24, 1));
    assert_eq!(all.parameters(), 24 * 2048 * 768);
}

#[test]
fn tokens_are_spread_over_experts() {
    // 48 blocks of 128 experts, of which each token goes to 8.
    let experts = layers(Rows::Routed { experts: 128, chosen: 8 }, 48 * 128);
    let (decode, prefill) = (phase(1, 1), phase(2048, 1));
    assert_eq!((experts.shape(&decode).m, experts.runs(&decode)), (1, 48 * 8));
    assert_eq!((experts.shape(&prefill).m, experts.runs(&prefill)), (128, 48 * 128));
}

fn request(names: &[&str]) -> RecommendationRequest {
    let layers = |name: &&str| LinearLayers {
        fqn: format!("model.layers.*.{name}"),
        ..layers(Rows::Tokens, 2)
    };
    let attention = Some(Attention { heads: 14, key_value_heads: 2, head_width: 64 });
    let (name, family) = ("it".to_owned(), "llama".to_owned());
    let layers = names.iter().map(layers).collect();
    RecommendationRequest {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        model: ModelLayers { name, family, layers, other_parameters: 0, attention },
        phases: vec![phase(2048, 4), phase(1, 4)],
        objective: Objective::Fastest,
        device: Device::Cpu,
        dtype: Dtype::BFloat16,
        stem: "it".to_owned(),
        sensitivity: None,
        weights: None,
        asked: 0,
    }
}

#[test]
fn a_block_is_that_of_a_phase() {
    let request = self::request(DecoderBlock::LAYERS);
    let words = [0, 1].map(|place| {
        let Block { model, shape } = request.block(&request.phases[place]).expect("a block");
        assert_eq!(shape, Shape::new(4, 768, 2048));
        assert_eq!(model.to_string().parse(), Ok(model));
        model.to_string()
    });
    assert_eq!(words, ["decoder-14-2-64-2048-0", "decoder-14-2-64-1-2048"]);
    let fused = self::request(DecoderBlock::FUSED_LAYERS);
    let block = fused.block(&fused.phases[0]).expect("a block");
    assert_eq!(block.model.to_string(), "decoder_fused-14-2-64-2048-0");
    let other = self::request(&["q_proj", "dense"]);
    let why = other.block(&other.phases[0]).expect_err("no such block");
    assert_eq!(why, "the blocks of `llama` are not of Llama's layers");
}

#[test]
fn a_block_has_the_variants_of_its_layers() {
    let int8wo = Variant { packed: true, ..Variant::eager(Recipe::INT8WO) };
    let variants = [("layers.*.up_proj", int8wo), ("layers.*.o_proj", Variant::BASELINE)];
    let recipe = RecommendationRequest::block_recipe(variants).expect("a recipe");
    assert_eq!(recipe.to_string(), "per_layer-o_proj=baseline,up_proj=int8wo+packed");
    let graph = Variant { graph: true, ..int8wo };
    assert!(RecommendationRequest::block_recipe([("up_proj", graph)]).is_err());
}
