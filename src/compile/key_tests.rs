use super::*;

fn key(change: impl FnOnce(&mut Ingredients<'_>, &mut Vec<Input>, &mut Compiler)) -> Key {
    let mut compiler = Compiler { program: "g++".to_owned(), version: "g++ 12".to_owned() };
    let input = Input {
        sizes: vec![2, 3],
        strides: vec![3, 1],
        dtype: "bfloat16",
        device: "cpu".to_owned(),
    };
    let mut inputs = vec![input.clone(), input];
    let (no_inputs, no_compiler) = (Vec::new(), compiler.clone());
    let mut ingredients = Ingredients {
        graph: "graph",
        inputs: &no_inputs,
        mode: CompileMode::Default,
        threads: 2,
        compiler: &no_compiler,
        target: "avx2",
    };
    change(&mut ingredients, &mut inputs, &mut compiler);
    Ingredients { inputs: &inputs, compiler: &compiler, ..ingredients }.key()
}

#[test]
fn all_that_decides_the_content_decides_the_name() {
    let first = key(|_, _, _| {});
    assert_eq!(first, key(|_, _, _| {}));
    let others = [
        key(|it, _, _| it.graph = "other"),
        key(|it, _, _| it.mode = CompileMode::MaxAutotune),
        key(|it, _, _| it.threads = 1),
        key(|it, _, _| it.target = "avx512"),
        key(|_, inputs, _| inputs[1].sizes = vec![3, 2]),
        key(|_, inputs, _| inputs[1].strides = vec![1, 2]),
        key(|_, inputs, _| inputs[0].dtype = "float32"),
        key(|_, inputs, _| inputs[0].device = "cuda:0".to_owned()),
        key(|_, inputs, _| drop(inputs.pop())),
        key(|_, _, compiler| compiler.version = "g++ 13".to_owned()),
        // Equal characters, split differently.
        key(|it, _, compiler| {
            it.target = "2avx2";
            compiler.version = "g++ 1".to_owned();
        }),
    ];
    for (at, other) in others.iter().enumerate() {
        assert_ne!(first, *other, "{at}");
        assert!(!others[..at].contains(other), "{at}");
    }
    // The compiler's path does not matter.
    assert_eq!(first, key(|_, _, compiler| compiler.program = "/usr/bin/g++".to_owned()));
}

#[test]
fn a_name_is_a_key_or_not() {
    let key = key(|_, _, _| {});
    let name = key.to_string();
    assert_eq!(name.len(), 32);
    assert_eq!(Key::parse(&name), Some(key));
    for other in [
        "",
        "probes.json",
        &name[1..],
        &format!("{name}.lock"),
        &format!("{name}.partial-1"),
        &format!("{}G", &name[1..]),
        &"A".repeat(32),
    ] {
        assert_eq!(Key::parse(other), None, "{other}");
    }
}
