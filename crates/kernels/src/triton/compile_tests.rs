use super::*;

const HOPPER: Capability = Capability { major: 9, minor: 0 };

fn specification() -> Specification {
    Specification {
        file: "activation.py",
        kernel: "gelu",
        parameters: vec![("x", Type::Pointer(Kind::Half)), ("blocks", Type::Int)],
        aligned: vec!["x"],
        constants: vec![("BLOCK", Constant::Integer(8)), ("EPSILON", Constant::Real(1e-5))],
        warps: 4,
        stages: None,
    }
}

/// The answer of `compile.py`, changed.
fn answer(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut metadata = json!({
        "triton": "3.6.0", "name": "gelu", "shared": 16, "warps": 4,
        "parameters": ["u64", "u32", "u64", "u64"],
        "ctas": 1, "global_scratch": 0, "profile_scratch": 0,
        "cooperative": false, "dependent": false,
    });
    change(&mut metadata);
    [metadata.to_string().as_bytes(), b"\n", cache::ELF, b"\nrest"].concat()
}

#[test]
fn the_name_follows_everything_that_decides_the_content() {
    let first = specification();
    let name = first.name(HOPPER);
    assert!(name.starts_with("activation.py.gelu-sm_90-") && name.ends_with(".triton"), "{name}");
    assert_eq!(name, first.name(HOPPER));

    let change = |change: fn(&mut Specification)| {
        let mut other = specification();
        change(&mut other);
        other.name(HOPPER)
    };
    let others = [
        first.name(Capability { major: 10, minor: 0 }),
        change(|it| it.kernel = "silu"),
        change(|it| it.parameters[0].1 = Type::Pointer(Kind::BFloat16)),
        change(|it| it.aligned.clear()),
        change(|it| it.constants[0].1 = Constant::Integer(16)),
        change(|it| it.constants[1].1 = Constant::Real(1e-6)),
        change(|it| it.warps = 8),
        change(|it| it.stages = Some(4)),
    ];
    assert!(!others.contains(&name));
    // The source of every file is in what is hashed.
    let request = first.request(HOPPER);
    for (name, text) in FILES {
        assert_eq!(request["files"][name], json!(text));
    }
}

#[test]
fn a_request_is_what_the_driver_reads() {
    let mut request = specification().request(HOPPER);
    request.as_object_mut().unwrap().remove("files");
    let expected = json!({
        "file": "activation.py", "kernel": "gelu",
        "parameters": [["x", "*fp16"], ["blocks", "i32"]], "aligned": ["x"],
        "constants": {"BLOCK": 8, "EPSILON": 1e-5}, "capability": 90, "warps": 4, "stages": null,
    });
    assert_eq!(request, expected);
}

#[test]
fn an_answer_is_metadata_and_a_cubin() {
    let found = understood("n".to_owned(), &answer(|_| {}), &specification()).unwrap();
    assert_eq!(found.cubin, [cache::ELF, b"\nrest"].concat());
    assert_eq!((found.metadata.name.as_str(), found.metadata.shared), ("gelu", 16));
}

#[test]
fn a_kernel_that_needs_more_than_it_is_given_is_refused() {
    let cases: [(&str, Value, &str); 9] = [
        ("ctas", json!(2), "clusters"),
        ("global_scratch", json!(128), "scratch memory"),
        ("profile_scratch", json!(1), "a profile"),
        ("cooperative", json!(true), "a cooperative launch"),
        ("dependent", json!(true), "a dependent launch"),
        // One hidden parameter, as Triton had before; an `i32` more; one of another width.
        ("parameters", json!(["u64", "u32", "u64"]), "[64, 32, 64] bits"),
        ("parameters", json!(["u64", "u32", "u32", "u64", "u64"]), "pip install triton==3.6.0"),
        ("parameters", json!(["u64", "u64", "u64", "u64"]), "launched with [64, 32, 64, 64]"),
        ("warps", json!(8), "in 8 warps, but is launched"),
    ];
    for (key, value, word) in cases {
        let answer = answer(|metadata| metadata[key] = value);
        let refusal = understood(String::new(), &answer, &specification()).expect_err(word);
        let Refusal::Failed(text) = refusal else { panic!("{refusal}") };
        assert!(text.starts_with("Triton 3.6.0, gelu of activation.py: it "), "{text}");
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn an_answer_that_is_not_as_agreed_is_refused() {
    let no_cubin = [b"{}".as_slice(), b"\nMZ"].concat();
    let renamed = answer(|metadata| metadata["shard"] = json!(1));
    let negative = answer(|metadata| metadata["shared"] = json!(-1));
    for answer in [b"".to_vec(), b"{}".to_vec(), no_cubin, renamed, negative] {
        assert!(parse(&answer).is_err(), "{}", String::from_utf8_lossy(&answer));
    }
    let whole = answer(|_| {});
    assert!(parse(&whole[..whole.len() - 8]).is_err(), "the cubin's head is cut");
}

#[test]
fn a_file_is_one_of_the_files() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/triton");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".py"))
        .collect();
    files.sort();
    let mut known = FILES.map(|(name, _)| name).to_vec();
    known.push("compile.py");
    known.sort_unstable();
    assert_eq!(files, known);
}
