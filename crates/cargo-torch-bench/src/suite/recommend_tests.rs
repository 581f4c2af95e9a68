use plan::recommendation::Rows;

use super::*;
use crate::cli::{self, Command};

fn parsed(line: &str) -> std::result::Result<Options, clap::Error> {
    match cli::tests::parsed(&format!("recommend {line}"))? {
        Command::Recommend(options) => Ok(*options),
        other => panic!("{other:?}"),
    }
}

fn model() -> ModelLayers {
    let layers = |name: &str, n, count, rows| LinearLayers {
        fqn: name.to_owned(),
        n,
        k: 64,
        count,
        group: name.to_owned(),
        rows,
        module: recommendation::Module::Linear,
    };
    let layers = vec![
        layers("model.layers.*.up", 256, 2, Rows::Tokens),
        layers("model.layers.*.gate", 256, 2, Rows::Tokens),
        layers("lm_head", 1000, 1, Rows::LastToken),
    ];
    let (name, family) = ("tiny".to_owned(), "llama".to_owned());
    ModelLayers { name, family, layers, other_parameters: 100, attention: None }
}

#[test]
fn each_product_is_measured_once() {
    let options = parsed("a/config.json --phase prefill:32,decode:1x10 --batch 1,4");
    let request = options.as_ref().expect("fine").request(model());
    let sizes: Vec<[u64; 3]> = shapes(&request).iter().map(|it| [it.m, it.k, it.n]).collect();
    let expected = [[32, 256], [1, 1000], [1, 256], [128, 256], [4, 1000], [4, 256]];
    assert_eq!(sizes, expected.map(|[m, n]| [m, 64, n]));
    let passes: Vec<u64> = request.phases.iter().map(|it| it.passes).collect();
    assert_eq!(passes, [1, 10, 1, 10]);
    let said = shown(&request);
    for line in [
        "tiny (llama): 129636 parameters, 129536 of them in linear layers\n",
        "  model.layers.*.up           [256, 64] × 2     model.layers.*.up\n",
        "a request: 1 × prefill (32 tokens × 1), 10 × decode (1 tokens × 1), ",
        "; 6 different products\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn the_config_is_one_of_ours() {
    for (line, recipes) in [
        ("config.json", "[int8wo, int8dq, "),
        ("config.json --device cuda", "float8dq-row, "),
        ("config.json --recipes int4wo-32,fp6 --dtype float32", "[int4wo-32, fp6]"),
        ("config.json --as graph --device cuda", "cuda_graph: true"),
        ("config.json --as compiled", "use_torch_compile: true"),
    ] {
        let options = parsed(line).expect(line);
        let text = options.config(&options.request(model()));
        assert!(text.contains(recipes), "{text}");
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("recommend.yml");
        files::write(&file, &text).expect("written");
        let plan = plan::load(&[file]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(!plan.groups.is_empty());
    }
}

fn qwen() -> ModelLayers {
    let text = include_str!("../../../plan/tests/architectures/Qwen2.5-0.5B.json");
    architecture::read(text, "qwen").expect("a known model")
}

#[test]
fn a_block_has_the_recommended_recipes_and_a_share_of_the_budget() {
    let options = parsed("config.json --phase prefill:32,decode:1 --budget 100s").expect("fine");
    let request = options.request(qwen());
    let json = r#"{"block_recipe": "per_layer-q_proj=int8wo+packed,up_proj=baseline+float32"}"#;
    let decision: Decision = serde_json::from_str(json).expect("a decision");
    let recipe = decision.block_recipe.expect("a recipe");
    let text = options.block_config(&request, recipe).expect("a config");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(BLOCK_STEM).with_extension("yml");
    files::write(&file, &text).expect("written");
    let plan = plan::load(&[file]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let of_group = |group: &plan::Group| (group.id(), group.cases.len());
    let ids: Vec<_> = plan.groups.iter().map(of_group).collect();
    let id = |word: &str| {
        format!("inference/recommend-block/decoder-14-2-64-{word}/cpu/bf16-1x896x4864")
    };
    assert_eq!(ids, [(id("32-0"), 2), (id("1-32"), 2)]);
    let variant = plan.groups[0].cases[1].variant();
    assert!(
        variant.contains("q_proj=int8wo+packed") && variant.contains("up_proj=baseline+float32"),
        "{variant}"
    );
    let arguments = |suite: Result<Suite>| suite.map(|it| it.arguments).expect("a suite");
    assert_eq!(arguments(options.suite(&request)), ["--", "--budget", "80s", "--fastest"]);
    assert_eq!(arguments(options.suite_of(String::new(), BLOCK_SHARE)), ["--", "--budget", "20s"]);
    // Without a block the products have all.
    assert_eq!(
        arguments(options.suite(&options.request(model()))),
        ["--", "--budget", "100s", "--fastest"]
    );
    assert_eq!(request.block_stem(), BLOCK_STEM);
}

#[test]
fn words_are_read_or_refused() {
    assert_eq!(pass("decode:1"), pass("decode:1x256"));
    assert_eq!(pass("prefill:512").expect("fine").passes, 1);
    assert_eq!(objective("memory:1.5GiB"), Ok(Objective::Memory { bytes: 3 << 29 }));
    assert_eq!(objective("smallest:5%"), Ok(Objective::Smallest { within: 0.05 }));
    for (line, what) in [
        ("", "<FILE>"),
        ("a --phase decode", "is not NAME:TOKENS"),
        ("a --phase decode:0", "is not NAME:TOKENS"),
        ("a --objective smallest", "smallest:5%"),
        ("a --objective memory:2", "memory:2GiB"),
        ("a --dtype int4", "dtype"),
        ("a --batch 0", "--batch"),
    ] {
        let error = parsed(line).expect_err(line);
        assert!(error.to_string().contains(what), "{line}: {error}");
        assert_eq!(error.exit_code(), 2);
    }
}

#[test]
fn mistakes_are_found_before_anything_is_built() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("config.json");
    files::write(&file, r#"{"model_type": "rwkv"}"#).expect("written");
    let options = parsed(&file.display().to_string()).expect("a command line");
    let unknown = options.read().expect_err("no such family");
    let place = format!("{}: model_type: \"rwkv\" is not known", file.display());
    assert_eq!((unknown.what(), unknown.exit_code()), (&*place, 2));
    assert!(unknown.to_string().contains("list the model's layers in a YAML file"));
    let root = folder.path();
    let sensitivity = root.join("s.yml");
    files::write(&sensitivity, "sqnr_db: { lm_haed: { int8dq: 20 } }").expect("written");
    let line = format!("config.json --sensitivity {}", sensitivity.display());
    let found = parsed(&line).expect("a command line").sensitivity(&model());
    let unknown = found.expect_err("no such layer");
    let place = format!("{}: sqnr_db: unknown layer `lm_haed`", sensitivity.display());
    assert_eq!((unknown.what(), unknown.exit_code()), (&*place, 2));
    let recipes = |word: &str| {
        let options = parsed(&format!("config.json --recipes int8wo,{word}"));
        options.expect("a command line").check_recipes(root)
    };
    for (word, what) in [
        ("int8w0", "--recipes: unknown recipe `int8w0`"),
        ("float8-rowwise", "--recipes: `float8-rowwise` is no recipe of inference"),
    ] {
        let refused = recipes(word).expect_err(word);
        assert_eq!((refused.what(), refused.exit_code()), (what, 2));
    }
    files::make_folder(&root.join("benches/recipes")).expect("made");
    assert_eq!(recipes("ternary-64"), Ok(()), "it may be the package's");
    let options = parsed("config.json --budget soon").expect("a command line");
    let no_time = options.suite(&options.request(model())).map(drop).expect_err("no time");
    assert_eq!((no_time.what(), no_time.exit_code()), ("--budget soon: it is no time", 2));
    let options = parsed("config.json --as graph").expect("a command line");
    let no_graph = options.suite(&options.request(model())).map(drop).expect_err("no graph");
    assert_eq!((no_graph.what(), no_graph.exit_code()), ("--as graph: cpu has no CUDA graphs", 2));
}

#[test]
fn a_model_is_named_for_its_folder() {
    assert_eq!(name(Path::new("Qwen2.5-0.5B/config.json")), "Qwen2.5-0.5B");
    assert_eq!((&*name(Path::new("my.yml")), &*name(Path::new("config.json"))), ("my", "model"));
}
