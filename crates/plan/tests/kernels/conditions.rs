//! The language of `skip_conditions`.

use std::collections::BTreeMap;

use fastrand::Rng;
use plan::{Expression, Fact, FactValue, Kind};

fn fields() -> Vec<(String, Kind)> {
    [("n", Kind::Number), ("fast", Kind::Flag), ("mode", Kind::Text)]
        .map(|(name, kind)| (name.to_owned(), kind))
        .to_vec()
}

/// A machine with a GPU, and a case on it.
fn machine() -> BTreeMap<String, FactValue> {
    let number = |value: f64| FactValue::Number(value);
    let text = |value: &str| FactValue::Text(value.to_owned());
    [
        ("cuda.available", FactValue::Flag(true)),
        ("cuda.device_count", number(2.0)),
        ("cuda.version", number(12.8)),
        ("device.name", text("NVIDIA H200")),
        ("device.memory_gb", number(139.8)),
        ("device.compute_capability", number(9.0)),
        ("memory_gb", number(64.0)),
        ("backend", text("cuda")),
        ("precision", text("fp16")),
        ("threads", number(1.0)),
        ("problem.n", number(1024.0)),
        ("problem.fast", FactValue::Flag(false)),
        ("problem.mode", text("it's")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn holds(text: &str) -> Result<bool, String> {
    let facts = machine();
    let condition = Expression::parse(text, &fields()).map_err(|error| error.to_string())?;
    condition.holds(&|name| facts.get(name).cloned())
}

#[test]
fn conditions_mean_what_they_say() {
    for (text, expected) in [
        ("true", true),
        ("False", false),
        ("cuda.available", true),
        ("not torch.cuda.is_available()", false),
        ("not cuda.available or device.memory_gb < 16", false),
        ("device.compute_capability >= 8.0 and precision == 'fp16'", true),
        ("cuda.version == 12.8", true),
        ("cuda.version != 12.8", false),
        ("memory_gb <= 64 and memory_gb >= 64 and not (memory_gb < 64 or memory_gb > 64)", true),
        ("backend == \"cuda\"", true),
        ("'cuda' == backend", true),
        ("problem.mode == \"it's\"", true),
        ("problem.n > 1e3", true),
        ("problem.n > -1", true),
        ("problem.fast == false", true),
        ("not not true", true),
        ("not true == false", true),
        // `and` binds before `or`, `not` before both.
        ("true or true and false", true),
        ("(true or true) and false", false),
        ("not false and false", false),
        ("not (false and false)", true),
        ("1 < 2", true),
        ("'aut' in 'beautiful'", true),
        ("'Aut' in 'beautiful'", false),
        ("not 'x' in 'beautiful' and '' in ''", true),
        ("'p3' in precision or 'fp' in precision", true),
        ("(memory_gb) == (64)", true),
        ("  cuda.available\t\n", true),
    ] {
        assert_eq!(holds(text), Ok(expected), "{text}");
    }
}

#[test]
fn the_words_of_this_machine_are_known() {
    let text =
        format!("os == '{}' and cpu.arch == '{}'", std::env::consts::OS, std::env::consts::ARCH);
    assert!(Expression::parse(&text, &[]).is_ok(), "{text}");
}

#[test]
fn what_decides_first_is_all_that_is_asked() {
    let condition = |text: &str| Expression::parse(text, &fields()).expect("a condition");
    let guarded = condition("cuda.available and device.compute_capability < 8.0");
    let asked = |name: &str| match name {
        "cuda.available" => Some(FactValue::Flag(false)),
        other => panic!("`{other}` was asked for"),
    };
    assert_eq!(guarded.holds(&asked), Ok(false));
    let either = condition("not cuda.available or device.compute_capability < 8.0");
    assert_eq!(either.holds(&asked), Ok(true));
}

#[test]
fn a_fact_without_a_value_is_an_error_that_names_it() {
    let condition = Expression::parse("device.compute_capability < 8", &[]).expect("a condition");
    insta::assert_snapshot!(condition.holds(&|_| None).unwrap_err());
    let text = |_: &str| Some(FactValue::Text("9.0".to_owned()));
    insta::assert_snapshot!("of_another_kind", condition.holds(&text).unwrap_err());
}

#[test]
fn mistakes_have_their_column_and_a_remedy() {
    let deep = "(".repeat(65) + "true" + &")".repeat(65);
    let negated = "not ".repeat(65) + "true";
    let texts = [
        "",
        "   ",
        "memory_gb",
        "'text'",
        "not 5",
        "cuda.available and memory_gb",
        "memory_gb < ",
        "< 5",
        "memory_gb < 'sixteen'",
        "cuda.available == 1",
        "cuda.available < true",
        "torch.version < '2.4'",
        "1 < memory_gb < 5",
        "memory_gb < 5 6",
        "(memory_gb < 5",
        "memory_gb < 5)",
        "()",
        "memory_gb = 5",
        "memory_gb < 5 && true",
        "true | false",
        "!cuda.available",
        "device.name == 'H200",
        "device.name == H200",
        "memory_bg < 5",
        "problem.m == 5",
        "problem.grid == 5",
        "backend == 'gpu'",
        "precision == 'float16'",
        "'fp15' != precision",
        "torch.cuda.is_available",
        "torch.cuda.is_available(",
        "torch.cuda.device_count() > 1",
        "cuda.available()",
        "__import__('os').system('true')",
        "1.2.3 < 4",
        "1e999 < memory_gb",
        "12abc < 4",
        "- 5 < 4",
        "memory_gb == +5",
        "1-2 < 4",
        "true and and true",
        "not",
        "größe < 5",
        "os == 'Linux'",
        "cpu.arch != 'amd64'",
        "5 in memory_gb",
        "'5' in memory_gb",
        "'a' in 'b' in 'c'",
        "'H200' in",
        &deep,
        &negated,
    ];
    let line = |text: &&str| {
        let error = Expression::parse(text, &fields()).unwrap_err();
        format!("{text}\n=> {error}; {}\n", error.remedy)
    };
    insta::assert_snapshot!(texts.iter().map(line).collect::<String>());
}

#[test]
fn every_fact_can_be_asked_for() {
    for fact in Fact::ALL {
        let text = match fact.kind() {
            Kind::Flag => fact.to_string(),
            Kind::Number => format!("{fact} > 1"),
            Kind::Text => format!("{fact} != {fact}"),
        };
        assert!(Expression::parse(&text, &[]).is_ok(), "{text}");
    }
}

/// A condition as a text, and what it is when it is evaluated by hand.
fn condition(random: &mut Rng, depth: u8) -> (String, bool) {
    if depth == 0 || random.u8(0..4) == 0 {
        return leaf(random);
    }
    let parts: Vec<_> = (0..random.usize(2..4)).map(|_| condition(random, depth - 1)).collect();
    match random.u8(0..3) {
        0 => (format!("not ({})", parts[0].0), !parts[0].1),
        1 => (joined(&parts, " and "), parts.iter().all(|it| it.1)),
        _ => (joined(&parts, " or "), parts.iter().any(|it| it.1)),
    }
}

const LETTERS: [u8; 27] = *b"abcdefghijklmnopqrstuvwxyz ";

fn leaf(random: &mut Rng) -> (String, bool) {
    match random.u8(0..5) {
        0 => {
            let flag = random.bool();
            (flag.to_string(), flag)
        }
        1 => {
            let (a, b) = (random.i32(-9..9), random.i32(-9..9));
            let results = [
                ("==", a == b),
                ("!=", a != b),
                ("<", a < b),
                ("<=", a <= b),
                (">", a > b),
                (">=", a >= b),
            ];
            let (sign, result) = results[random.usize(..results.len())];
            (format!("{a}{sign}{b}"), result)
        }
        2 => {
            let mut text = || -> String {
                (0..random.usize(0..4))
                    .map(|_| char::from(LETTERS[random.usize(..LETTERS.len())]))
                    .collect()
            };
            let (a, b) = (text(), text());
            (format!("'{a}' == \"{b}\""), a == b)
        }
        3 => ("cuda.available".to_owned(), true),
        _ => ("problem.fast".to_owned(), false),
    }
}

fn one_of<'a>(random: &mut Rng, texts: &[&'a str]) -> &'a str {
    texts[random.usize(..texts.len())]
}

fn joined(parts: &[(String, bool)], word: &str) -> String {
    let parts: Vec<String> = parts.iter().map(|(text, _)| format!("({text})")).collect();
    parts.join(word)
}

#[test]
fn no_text_makes_it_panic() {
    let mut random = Rng::with_seed(1);
    for _ in 0..2000 {
        let text: String = (0..random.usize(0..24)).map(|_| random.char(' '..)).collect();
        // Whether it is one does not matter.
        drop(Expression::parse(&text, &fields()));
    }
}

const WORDS: [&str; 24] = [
    "not",
    "and",
    "or",
    "(",
    ")",
    "==",
    "<",
    ">=",
    "1",
    "-2.5e3",
    "'a'",
    "\"b\"",
    "true",
    "cuda.available",
    "torch.cuda.is_available",
    "memory_gb",
    "problem.n",
    "backend",
    "é",
    "'",
    ".",
    "-",
    "=",
    "torch.cuda.is_available()",
];

#[test]
fn nor_does_one_of_its_own_words() {
    let mut random = Rng::with_seed(1);
    let facts = machine();
    let mut conditions = 0;
    for _ in 0..5000 {
        let count = random.usize(0..24);
        let words: Vec<&str> = (0..count).map(|_| one_of(&mut random, &WORDS)).collect();
        let text = words.join(one_of(&mut random, &["", " ", "\t"]));
        if let Ok(condition) = Expression::parse(&text, &fields()) {
            conditions += 1;
            assert!(condition.holds(&|name| facts.get(name).cloned()).is_ok(), "{text}");
        }
    }
    assert!(conditions > 10, "{conditions}");
}

#[test]
fn it_is_what_it_is_by_hand() {
    let mut random = Rng::with_seed(1);
    for _ in 0..500 {
        let (text, expected) = condition(&mut random, 6);
        assert_eq!(holds(&text), Ok(expected), "{text}");
    }
}
