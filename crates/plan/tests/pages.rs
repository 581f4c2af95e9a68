//! The tables of the book's pages on configs name what the readers accept, no more and no less.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use plan::{
    Activation, CompileMode, Config, DecoderBlock, Device, Diagnostic, Dtype, Fact, FusionVariant,
    Implementation, ModelKind, Operator, OperatorShape, OperatorWork, Pattern, PatternFamily,
    Probe, Recipe, SizeSet, Sparsity, UnknownWord, pattern,
};

type WordSet = BTreeSet<String>;

/// The rows of the table below a heading of a page.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src/configs");
    let text = std::fs::read_to_string(folder.join(page)).expect("a page of the book");
    let below =
        text.lines().skip_while(|line| line.trim_start_matches('#') != format!(" {heading}"));
    let lines =
        below.skip_while(|line| !line.starts_with('|')).take_while(|it| it.starts_with('|'));
    let cells = |line: &str| {
        let line = line.replace("\\|", "¦");
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows: Vec<Vec<String>> = lines.skip(2).map(cells).collect();
    assert!(!rows.is_empty(), "{page} has no table below `{heading}`");
    rows
}

/// The words in backticks.
fn words(cell: &str) -> WordSet {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The words of the first column.
fn named(page: &str, heading: &str) -> WordSet {
    table(page, heading).iter().flat_map(|row| words(&row[0])).collect()
}

fn set<T: ToString>(words: impl IntoIterator<Item = T>) -> WordSet {
    words.into_iter().map(|word| word.to_string()).collect()
}

/// The words of a closed set, others that are read as one of them included: no word is near `?`.
fn allowed<T: FromStr<Err = UnknownWord>>() -> WordSet {
    let Err(unknown) = "?".parse::<T>() else { panic!("`?` is a word of nothing") };
    listed(&unknown.remedy, "use one of: ").expect("all of them")
}

/// The words that a remedy lists.
fn listed(remedy: &str, opening: &str) -> Option<WordSet> {
    let list = remedy.strip_prefix(opening)?.split(" (").next()?;
    Some(set(list.split(", ")))
}

/// A kernel with a field `n`.
const KERNEL: &str = "pub struct ProblemSize { pub n: u32 }\n\
                      pub fn run_benchmark(size: &ProblemSize) -> Result<f32, Refusal> { Ok(0.0) }\n";

/// The errors of a config; `bench`, if there is any, is the `bench.yaml` of its kernel.
fn errors(config: &str, bench: &str) -> Vec<Diagnostic> {
    errors_with(config, KERNEL, bench)
}

fn errors_with(config: &str, kernel: &str, bench: &str) -> Vec<Diagnostic> {
    let package = tempfile::tempdir().expect("a temporary folder");
    let folder = package.path().join("benches/kernels/mine");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(package.path().join("Cargo.toml"), "").expect("written");
    std::fs::write(folder.join("kernel.rs"), kernel).expect("written");
    std::fs::write(folder.join("bench.yaml"), bench).expect("written");
    Config::parse(&package.path().join("test.yml"), config)
        .map_or_else(|errors| errors.0, |_| vec![])
}

/// A table of keys, and the key whose parts are wanted of it; the keys themselves, if that is empty.
type Keys = (&'static str, &'static str, &'static str);

const MODE: Keys = ("README.md", "The mode", "");
const SETTINGS: Keys = ("sampling.md", "Keys", "");
const COMPILED: Keys = ("compiled.md", "Keys", "");
const ENTRY: Keys = ("README.md", "Entries", "");
const BOTH: Keys = ("inference.md", "At the top or in a model", "");
const BENCH: Keys = ("kernels.md", "bench.yaml", "");

/// A key that none is near to.
const UNKNOWN: &str = "'?': 1";

/// Places of keys: a config, and a `bench.yaml`, with an unknown key there; the list of entries, for
/// keys at the top of an entry; and the tables that name them.
const PLACES: &[(&str, &str, &str, &[Keys])] = &[
    (
        "'?': 1\nmodel_params: {}",
        "",
        "",
        &[
            MODE,
            BOTH,
            ("inference.md", "At the top", ""),
            ("training.md", "Keys of torchao", ""),
            ("training.md", "Keys of our own", ""),
            SETTINGS,
        ],
    ),
    (
        "model_params: {'?': 1}",
        "",
        "",
        &[("inference.md", "In a model", ""), BOTH, COMPILED, SETTINGS],
    ),
    ("model_params: {matrix_shapes: [{'?': 1}]}", "", "", &[("shapes.md", "Keys", "")]),
    ("'?': 1\nbenchmark_mode: fusion", "", "fusion_params", &[MODE, SETTINGS]),
    (
        "benchmark_mode: fusion\nfusion_params: {patterns: [all], '?': 1}",
        "",
        "",
        &[("fusion.md", "Keys", ""), ENTRY, COMPILED, SETTINGS],
    ),
    ("'?': 1\nbenchmark_mode: operators", "", "operator_params", &[MODE, SETTINGS]),
    (
        "benchmark_mode: operators\noperator_params: {operators: [all], '?': 1}",
        "",
        "",
        &[("operators.md", "Keys", ""), ENTRY, COMPILED, SETTINGS],
    ),
    ("'?': 1\nbenchmark_mode: calibration", "", "calibration_params", &[MODE, SETTINGS]),
    (
        "benchmark_mode: calibration\ncalibration_params: {probes: [matmul], '?': 1}",
        "",
        "",
        &[("calibration.md", "Keys", ""), ENTRY, SETTINGS],
    ),
    (
        "'?': 1\nbenchmark_mode: kernels",
        "problem_size: {n: 1}",
        "",
        &[MODE, ("kernels.md", "In the config", ""), SETTINGS],
    ),
    (
        "benchmark_mode: kernels\noverride: {'?': 1}",
        "problem_size: {n: 1}",
        "",
        &[("kernels.md", "override", "override")],
    ),
    ("benchmark_mode: kernels", "'?': 1\nproblem_size: {n: 1}", "", &[BENCH, SETTINGS]),
    (
        "benchmark_mode: kernels",
        "problem_size: {n: 1}\niterations: {'?': 1}",
        "",
        &[("kernels.md", "bench.yaml", "iterations")],
    ),
    (
        "benchmark_mode: kernels",
        "problem_size: {n: 1}\ntolerances: {'?': 1}",
        "",
        &[("kernels.md", "bench.yaml", "tolerances")],
    ),
    (
        "benchmark_mode: kernels",
        "problem_size: {n: 1}\nskip_conditions: [{reason: r, '?': 1}]",
        "",
        &[("kernels.md", "bench.yaml", "skip_conditions")],
    ),
    ("model_params: {}\nsampling: {'?': 1}", "", "", &[("sampling.md", "Keys", "sampling")]),
    ("model_params: {}\nlatency: {'?': 1}", "", "", &[("sampling.md", "Keys", "latency")]),
    ("model_params: {}\nenergy: {'?': 1}", "", "", &[("sampling.md", "Keys", "energy")]),
    ("model_params: {}\ntolerance: {'?': 1}", "", "", &[("sampling.md", "Keys", "tolerance")]),
];

/// The keys of a table, each with the words of its values.
fn keys((page, heading, of): Keys, in_bench: bool) -> Vec<(String, WordSet)> {
    let mut keys = Vec::new();
    for row in table(page, heading) {
        if in_bench && row[3].contains("not in a `bench.yaml`") {
            continue;
        }
        for key in words(&row[0]) {
            let (first, rest) = key.split_once('.').unwrap_or((&key, ""));
            match of {
                "" if rest.is_empty() => keys.push((key, words(&row[1]))),
                "" => keys.push((first.to_owned(), WordSet::new())),
                _ if first == of && !rest.is_empty() => {
                    keys.push((rest.to_owned(), words(&row[1])))
                }
                _ => {}
            }
        }
    }
    keys
}

#[test]
fn the_pages_have_the_keys_of_the_readers() {
    for (config, bench, entries, tables) in PLACES {
        let in_bench = bench.contains(UNKNOWN);
        let mut named: WordSet =
            tables.iter().flat_map(|it| keys(*it, in_bench)).map(|(key, _)| key).collect();
        if !entries.is_empty() {
            named.insert((*entries).to_owned());
        }
        let found = errors(config, bench);
        let known = found.iter().find_map(|it| listed(&it.remedy, "the keys here are: "));
        assert_eq!(
            named,
            known.expect("an error of the unknown key"),
            "{config}\n{bench}\n{tables:?}"
        );
    }
}

/// Where a table lists the words that a key takes, these are all of them.
#[test]
fn the_pages_have_the_words_of_the_keys() {
    let mut compared = 0;
    for (config, bench, _, tables) in PLACES {
        for (key, named) in tables.iter().flat_map(|it| keys(*it, bench.contains(UNKNOWN))) {
            let stands = [config, bench].iter().any(|it| it.contains(&format!("{key}:")));
            for value in ["'?'", "['?']"].iter().filter(|_| !stands && !named.is_empty()) {
                let with = |text: &str| text.replace(UNKNOWN, &format!("{key}: {value}"));
                for error in errors(&with(config), &with(bench)) {
                    if let Some(known) = listed(&error.remedy, "use one of: ") {
                        assert_eq!(named, known, "{key}: {config}\n{bench}");
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn the_pages_have_the_words_of_the_catalogue() {
    let kind = |model: ModelKind| match model {
        ModelKind::LnLinear(_) => "ln_linear_<activation>".to_owned(),
        ModelKind::Decoder(DecoderBlock { is_fused, .. }) => {
            format!("decoder{}-H-G-D-T-C", if is_fused { "_fused" } else { "" })
        }
        other => other.to_string(),
    };
    assert_eq!(named("inference.md", "Models"), ModelKind::all().map(kind).collect());
    assert_eq!(named("inference.md", "Activations"), allowed::<Activation>());
    assert_eq!(named("recipes.md", "Sparsity"), allowed::<Sparsity>());
    assert_eq!(named("fusion.md", "Patterns"), allowed::<Pattern>());
    assert_eq!(named("fusion.md", "Sizes"), allowed::<PatternFamily>());
    assert_eq!(named("fusion.md", "Variants"), allowed::<FusionVariant>());
    assert_eq!(named("operators.md", "The operators"), allowed::<Operator>());
    assert_eq!(named("operators.md", "Implementations"), allowed::<Implementation>());
    assert_eq!(named("calibration.md", "Probes"), allowed::<Probe>());
    assert_eq!(named("compiled.md", "Modes"), allowed::<CompileMode>());
    assert_eq!(named("README.md", "Devices"), allowed::<Device>());
    let mut facts = allowed::<Fact>();
    facts.insert("problem.<field>".to_owned());
    assert_eq!(named("kernels.md", "Conditions"), facts);
    let sets = errors("model_params: {matrix_shapes: [{name: '?'}]}", "");
    let sets = sets.iter().find_map(|it| listed(&it.remedy, "use one of: "));
    assert_eq!(Some(named("shapes.md", "Sets")), sets);
}

/// The page writes `G` for a group, `B` for bits and `A` for the flag.
#[test]
fn the_page_has_the_spellings_of_recipes() {
    let is_one = |pattern: &str, word: &str| {
        let (pattern, word): (Vec<_>, Vec<_>) =
            (pattern.split('-').collect(), word.split('-').collect());
        let fits = |(pattern, part): (&&str, &&str)| match *pattern {
            "G" | "B" => part.parse::<u16>().is_ok(),
            "A" => part.parse::<bool>().is_ok(),
            other => other == *part,
        };
        pattern.len() == word.len() && pattern.iter().zip(&word).all(fits)
    };
    let patterns = named("recipes.md", "Words");
    let examples = set(Recipe::examples());
    for example in &examples {
        assert!(patterns.iter().any(|it| is_one(it, example)), "`{example}` is not on the page");
    }
    for pattern in &patterns {
        assert!(examples.iter().any(|it| is_one(pattern, it)), "`{pattern}` is no recipe");
    }
}

/// The members that a cell names: `all`, `all but` some, some, or all of a family.
fn members<T: ToString + Copy>(cell: &str, all: &[T], family: impl Fn(T) -> String) -> WordSet {
    let is_named = |it: &T| words(cell).contains(&it.to_string());
    let is_member = |it: &T| match cell.strip_prefix("all") {
        Some(_) => !is_named(it),
        None => is_named(it) || cell.split(", ").any(|word| word == family(*it)),
    };
    set(all.iter().filter(|it| is_member(it)).map(T::to_string))
}

#[test]
fn the_pages_have_the_facts_of_the_catalogue() {
    for row in table("fusion.md", "Patterns") {
        let pattern: Pattern = words(&row[0]).first().expect("a word").parse().expect("a pattern");
        assert_eq!(row[2..], [pattern.family().to_string(), format!("`{}`", pattern.upstream())]);
    }
    for row in table("fusion.md", "Sizes") {
        let family = words(&row[0]).first().expect("a word").parse().expect("a family");
        let size =
            |size: &pattern::FusionShape| format!("[{}]", size.to_string().replace('x', ", "));
        let sizes: Vec<String> = pattern::sizes(family, SizeSet::Full).iter().map(size).collect();
        assert_eq!(row[2], sizes.join(", "));
    }
    for row in table("fusion.md", "Variants") {
        for word in words(&row[0]) {
            let variant: FusionVariant = word.parse().expect("a variant");
            let have = Pattern::ALL.iter().filter(|it| it.variants().contains(&variant));
            let found = members(&row[1], Pattern::ALL, |it| it.family().to_string());
            assert_eq!(found, set(have), "{word}");
        }
    }
    for row in table("operators.md", "Implementations") {
        let way = words(&row[0]).first().expect("a word").parse().expect("an implementation");
        let have = Operator::ALL.iter().filter(|it| it.implementations().contains(&way));
        assert_eq!(members(&row[1], Operator::ALL, |_| String::new()), set(have), "{way}");
    }
    for row in table("operators.md", "The operators") {
        let operator = words(&row[0]).first().expect("a word").parse().expect("an operator");
        let size = OperatorShape { batch_size: 1, sequence_length: 1, tensor_dimension: 1 };
        let implementation = Implementation::Aten;
        let work = OperatorWork { operator, implementation, compile: None, size, max_elements: 1 };
        assert_eq!(row[3], work.flops().to_string(), "{operator}");
    }
    for row in table("compiled.md", "Modes") {
        let mode: CompileMode = words(&row[0]).first().expect("a word").parse().expect("a mode");
        assert_eq!(row[1], format!("`+{}`", mode.suffix()));
    }
    let dtypes = table("README.md", "Dtypes");
    assert_eq!(dtypes.len(), Dtype::PRECISIONS.len());
    for (row, dtype) in dtypes.iter().zip(Dtype::PRECISIONS) {
        assert_eq!([&row[0], &row[2]], [&format!("`{dtype}`"), &format!("`{}`", dtype.short())]);
        assert!(words(&row[1]).iter().all(|it| it.parse() == Ok(*dtype)), "{}", row[1]);
        assert!(words(&row[1]).contains(dtype.precision()), "{}", row[1]);
    }
}
