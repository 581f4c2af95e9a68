//! One block of the model with the recommended recipes.

use super::*;

/// A model of two of Llama's blocks.
fn llama() -> RecommendationRequest {
    let attention = Some(Attention { heads: 4, key_value_heads: 2, head_width: 16 });
    let layers = |(name, n, k): (&str, u64, u64)| LinearLayers {
        fqn: format!("model.layers.*.{name}"),
        n,
        k,
        count: 2,
        group: name.to_owned(),
        rows: Rows::Tokens,
        module: Module::Linear,
    };
    let layers = [
        ("self_attn.q_proj", 64, 64),
        ("self_attn.k_proj", 32, 64),
        ("self_attn.v_proj", 32, 64),
        ("self_attn.o_proj", 64, 64),
        ("mlp.gate_proj", 128, 64),
        ("mlp.up_proj", 128, 64),
        ("mlp.down_proj", 64, 128),
    ]
    .map(layers);
    let request = request(Objective::Fastest);
    let model = ModelLayers { layers: layers.to_vec(), attention, ..request.model };
    RecommendationRequest { model, ..request }
}

/// The products of a block, and the block with the recipes that they recommend: it takes 27 µs more than its seven products
/// in prefill, and 3 µs more in decode.
fn whole(recipe: &str) -> Fixture {
    let down = "      - { name: custom, shapes: [[32, 128, 64], [1, 128, 64]] }\n";
    let products = format!("{CONFIG}{down}");
    let block = |word: &str| {
        format!(
            "  - {{ model_type: {word}, matrix_shapes: [{{ name: custom, shapes: [[1, 64, 128]] }}] }}\n"
        )
    };
    let words = ["decoder-4-2-16-32-0", "decoder-4-2-16-1-32"];
    let blocks: String = words.map(block).concat();
    let blocks = format!("quantization_config_recipe_names: ['{recipe}']\nmodel_params:\n{blocks}");
    let configs = [("tiny.yml", products), ("tiny-block.yml", blocks)]
        .map(|(file, text)| Config::parse(Path::new(file), &text).expect("a valid config"));
    let plan = plan::expand(&configs).expect("it expands");
    let fixture = Fixture::of_cases(plan.cases().map(measured).collect());
    let [prefill, decode] = words.map(|word| format!("/{word}/cpu/baseline"));
    let gain = |fixture: Fixture, word: &str, ns: f64, speedup: f64| {
        let filter = format!("/{word}/cpu/per_layer");
        let fixture = fixture.takes(&filter, (ns / speedup) as u64);
        fixture.edit(&filter, |it| {
            it.record.pairs = vec![pair_of(it.record.pairs[0].against.clone(), speedup)];
        })
    };
    let fixture = fixture.takes(&prefill, 90_000).takes(&decode, 24_000);
    gain(gain(fixture, words[0], 90e3, 1.87), words[1], 24e3, 1.2)
}

const CHOSEN: &str = "per_layer-q_proj=int8dq,k_proj=int8dq,v_proj=int8dq,o_proj=int8dq,gate_proj=int8dq,\
                      up_proj=int8dq,down_proj=int8dq";

fn asked_of_llama(
    fixture: &Fixture,
    change: impl Fn(&mut RecommendationRequest),
) -> (TempDir, PathBuf) {
    let (folder, criterion) = fixture.write();
    let mut request = llama();
    change(&mut request);
    let text = serde_json::to_string(&request).expect("serialises");
    fs::write(file(&folder.path().join("criterion-torch")), text).expect("written");
    (folder, criterion)
}

fn blocks(fixture: &Fixture, change: impl Fn(&mut RecommendationRequest), args: &[&str]) -> Value {
    let (_folder, criterion) = asked_of_llama(fixture, change);
    let output = recommend(&criterion, &[&["--format", "json"], args].concat());
    assert!(output.status.success(), "{}", err(&output));
    let document: Value = serde_json::from_str(stdout(&output)).expect("JSON");
    #[cfg(feature = "schema")]
    assert_as_schema("recommendation-v1", &document);
    let recipe = CHOSEN.parse::<Recipe>().expect("a recipe").to_string();
    let is_block = document["blocks"][0]["not_measured"].is_null();
    assert!(!is_block || document["block_recipe"] == recipe, "{document}");
    document["blocks"].clone()
}

#[test]
fn a_block_shows_what_the_layers_gain_together() {
    let fixture = whole(CHOSEN);
    let blocks = blocks(&fixture, |_| {}, &[]);
    let number = |place: usize, path: &str| blocks[place].pointer(path).and_then(Value::as_f64);
    let near = |found: Option<f64>, expected: f64| {
        assert!((found.expect("a number") / expected - 1.0).abs() < 1e-6, "{found:?} {expected}");
    };
    // 63 of 90 µs are products, which int8dq makes three times faster; 21 of 24 µs, half as fast again.
    near(number(0, "/predicted/speedup_factor"), 90.0 / (27.0 + 21.0));
    near(number(1, "/predicted/speedup_factor"), 24.0 / (3.0 + 14.0));
    near(number(0, "/measured/speedup_factor"), 1.87);
    near(number(0, "/other_share"), 0.3);
    near(number(1, "/excess_ns"), 3000.0);
    assert_eq!(
        (&blocks[0]["differs"], &blocks[1]["differs"]),
        (&Value::Bool(false), &Value::Bool(true))
    );
    let (_folder, criterion) = asked_of_llama(&fixture, |_| {});
    assert_snapshot!("recommend-block", stdout(&recommend(&criterion, &[])));
}

#[test]
fn a_block_without_a_measurement_says_why() {
    let why = |fixture: &Fixture, change: fn(&mut RecommendationRequest), args: &[&str]| {
        let blocks = blocks(fixture, change, args);
        blocks[0]["not_measured"].as_str().expect("a reason").to_owned()
    };
    let other = "it was not measured with the recommended recipes";
    assert_eq!(why(&whole("per_layer-q_proj=int8dq"), |_| {}, &[]), other);
    let fixture = whole(CHOSEN);
    assert_eq!(why(&fixture, |_| {}, &["--min-sqnr", "60"]), "its layers stay as they are");
    let gpt2 = why(&fixture, |it| it.model.layers.truncate(4), &[]);
    assert_eq!(gpt2, "the blocks of `qwen2` are not of Llama's layers");
    let unknown = why(&fixture, |it| it.model.attention = None, &[]);
    assert_eq!(unknown, "the heads of its attention are not known");
    let none = why(&fixture.clone().without("/decoder-"), |_| {}, &[]);
    assert_eq!(none, "its baseline has no record");
    let failed = Outcome::Failed { error: "3 dB".to_owned() };
    assert!(
        why(&fixture.end("/decoder-4-2-16-32-0/cpu/per_layer", &failed), |_| {}, &[])
            .contains("3 dB")
    );
}

/// Products of an earlier question are none of this one.
#[test]
fn only_what_was_measured_since_the_question_counts() {
    let (_folder, criterion) = asked_of_llama(&whole(CHOSEN), |it| it.asked = u64::MAX);
    let output = recommend(&criterion, &[]);
    assert!(err(&output).contains("its baseline has no record"), "{}", err(&output));
}
