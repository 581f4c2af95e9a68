use super::*;

#[test]
fn every_spelling_reads_back() {
    for word in SPELLINGS {
        assert_eq!(word.parse::<Recipe>().map(|recipe| recipe.to_string()).as_deref(), Ok(*word));
    }
}

#[test]
fn every_recipe_has_a_spelling() {
    let own = UserWord::new("mine").map(Recipe::User);
    let missing = Recipe::missing(Recipe::examples().chain(own));
    assert!(missing.is_empty(), "SPELLINGS and `parse` lack {missing:?}");
}

#[test]
fn upstreams_defaults_are_filled_in() {
    for (short, full) in [
        ("int4wo", "int4wo-128"),
        ("gemlitewo", "gemlitewo-4-64"),
        ("gemlitewo-8", "gemlitewo-8-64"),
    ] {
        assert_eq!(short.parse::<Recipe>(), full.parse::<Recipe>(), "{short}");
    }
}

#[test]
fn wrong_words_say_what_to_write() {
    for (typed, remedy) in [
        ("int8w0", "did you mean `int8wo`?"),
        ("int8wo-v3", "this family is written int8wo[-v2|-v018]"),
        (
            "int4wo-48",
            "this family is written int4wo-{32|64|128|256}[-hqq|-hqq-fp16solver|-tilepacked]",
        ),
        ("float8dq", "this family is written float8dq-{tensor|row}"),
        ("uintx-4-064", "this family is written uintx-<1..8 bits>-<group>[-hqq]"),
        ("uintx-9-64", "this family is written uintx-<1..8 bits>-<group>[-hqq]"),
        (
            "gemlitewo-3-64",
            "this family is written gemlitewo-{4|8}-<group>, with 4 bits also \
             gemlitewo-4-<group>-fp16solver",
        ),
    ] {
        assert_eq!(typed.parse::<Recipe>().unwrap_err().remedy, remedy, "{typed}");
    }
}

#[test]
fn the_asymmetry_flag_means_what_it_says() {
    let flag = |word: &str| match word.parse() {
        Ok(Recipe::Int8DynamicIntx { asymmetric, .. }) => asymmetric,
        other => panic!("{other:?}"),
    };
    assert!(flag("int8_dynamic_activation_intx_weight-4-32-true"));
    assert!(!flag("int8_dynamic_activation_intx_weight-4-32-false"));
}

#[test]
fn a_word_of_a_package_is_read_from_files_of_a_run_and_not_from_a_config() {
    let read = |text: &str| serde_json::from_str::<Recipe>(text);
    let own = read("\"ternary-64\"").expect("it may be a package's");
    assert_eq!(own, Recipe::User(UserWord::new("ternary-64").expect("a word")));
    assert_eq!(serde_json::to_string(&own).expect("a word"), "\"ternary-64\"");
    assert_eq!(read("\"int8wo\"").ok(), Some(Recipe::INT8WO));
    assert!(read("\"no word\"").is_err());
    assert!("ternary-64".parse::<Recipe>().is_err());
}
