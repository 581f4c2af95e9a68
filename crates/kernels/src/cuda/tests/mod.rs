//! With the real NVRTC; without it these tests say so and check nothing, or fail where it is said to
//! be there.

use plan::{Implementation, Operator};

use super::compile::compile;
use super::{Capability, Source, gemlite, libraries, operator, pass_through, samples};
use native::refusal::Refusal;

/// Every source of this folder, with its entry functions.
fn sources() -> Vec<(Source<'static>, Vec<String>)> {
    let mut sources = vec![
        (gemlite::SOURCE, gemlite::all_entries()),
        (pass_through::SOURCE, pass_through::entries()),
    ];
    for &it in Operator::ALL {
        let entries = samples::KINDS.into_iter().flat_map(|kind| operator::entries(it, kind));
        let source = operator::source(it);
        let promised = it.implementations().contains(&Implementation::Cuda);
        assert_eq!(source.is_some(), promised, "{it}: its facts and `family` disagree");
        let Some(source) = source else { continue };
        match sources.iter_mut().find(|(known, _)| known.name == source.name) {
            Some((_, known)) => known.extend(entries),
            None => sources.push((source, entries.collect())),
        }
    }
    sources.sort_by_key(|(source, _)| source.name);
    sources
}

const CAPABILITIES: [Capability; 3] = [
    Capability { major: 8, minor: 0 },
    Capability { major: 9, minor: 0 },
    Capability { major: 10, minor: 0 },
];

/// Whether there is an NVRTC. A missing one has to be told as such.
fn has_compiler() -> bool {
    match libraries::nvrtc() {
        Ok(found) => {
            println!("{found:?}");
            true
        }
        Err(Refusal::Skipped(reason)) => {
            crate::skip::tool(reason);
            false
        }
        Err(other) => panic!("{other}"),
    }
}

fn holds(cubin: &[u8], text: &str) -> bool {
    cubin.windows(text.len()).any(|window| window == text.as_bytes())
}

fn number<const BYTES: usize>(cubin: &[u8], at: usize) -> usize {
    let mut bytes = [0; 8];
    bytes[..BYTES].copy_from_slice(&cubin[at..at + BYTES]);
    usize::try_from(u64::from_le_bytes(bytes)).unwrap()
}

/// Bytes that functions keep on the stack, by the index of their symbol: registers did not suffice.
/// In `.nv.info`, as `(symbol, bytes)` after a header of format 4 (a size follows) and attribute
/// 0x11 (frame size).
pub(crate) fn frames(cubin: &[u8]) -> Vec<(usize, usize)> {
    let table = number::<8>(cubin, 0x28);
    let (each, count, names) =
        (number::<2>(cubin, 0x3A), number::<2>(cubin, 0x3C), number::<2>(cubin, 0x3E));
    let section = |index: usize| {
        let at = table + index * each;
        let (offset, size) = (number::<8>(cubin, at + 24), number::<8>(cubin, at + 32));
        (number::<4>(cubin, at), offset, size)
    };
    let (_, names, _) = section(names);
    let info =
        (0..count).map(section).find(|(name, ..)| cubin[names + name..].starts_with(b".nv.info\0"));
    let (_, mut at, size) = info.expect("a section .nv.info");
    let end = at + size;
    let mut frames = Vec::new();
    while at < end {
        let (format, attribute, length) = (cubin[at], cubin[at + 1], number::<2>(cubin, at + 2));
        at += 4;
        if format == 4 {
            if attribute == 0x11 {
                frames.push((number::<4>(cubin, at), number::<4>(cubin, at + 4)));
            }
            at += length;
        }
    }
    frames
}

#[test]
#[ignore = "long: a quarter of a minute of compilations"]
fn every_source_compiles_to_its_entry_functions() {
    check_sources(&CAPABILITIES[1..2]);
}

#[test]
#[ignore = "nightly: a minute of compilations for three generations of GPUs"]
fn nightly_every_source_compiles_for_every_generation() {
    check_sources(&CAPABILITIES);
}

fn check_sources(capabilities: &[Capability]) {
    if !has_compiler() {
        return;
    }
    for (source, entries) in sources() {
        for &capability in capabilities {
            let cubin = compile(&source, capability).unwrap_or_else(|it| panic!("{it}"));
            assert_eq!(&cubin[..4], b"\x7fELF");
            for entry in &entries {
                // The section of the function's code, up to its NUL.
                let section = format!(".text.{entry}\0");
                assert!(holds(&cubin, &section), "{capability}: no {entry} in {}", source.name);
            }
            assert!(!holds(&cubin, ".text.gemlite_gemv_2bit"), "the check finds everything");
            let frames = frames(&cubin);
            assert!(frames.len() >= entries.len(), "{capability}, {}: {frames:?}", source.name);
            let spilled: Vec<_> = frames.iter().filter(|(_, bytes)| *bytes > 0).collect();
            assert!(spilled.is_empty(), "{capability}, {}: {spilled:?}", source.name);
        }
    }
}

#[test]
fn every_file_is_one_of_the_sources() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cuda");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".cu"))
        .collect();
    files.sort();
    let known: Vec<_> = sources().into_iter().map(|(source, _)| source.name).collect();
    assert_eq!(files, known);
}

/// That the check above would find a stack: an array that cannot be in registers.
#[test]
fn a_stack_is_found() {
    if !has_compiler() {
        return;
    }
    let text = "extern \"C\" __global__ void f(int* y, int n) {
        int values[64];
        for (int i = 0; i < n; ++i) { values[y[i] & 63] = i; }
        y[n] = values[y[n] & 63];
    }";
    let cubin = compile(&Source { name: "stack.cu", text }, CAPABILITIES[1]).unwrap();
    assert!(frames(&cubin).iter().any(|(_, bytes)| *bytes >= 256), "{:?}", frames(&cubin));
}

#[test]
fn a_mistake_is_shown_with_its_place() {
    if !has_compiler() {
        return;
    }
    let source = Source { name: "wrong.cu", text: "#line 7 \"wrong.cu\"\nint f() { return g(); }" };
    let refusal = compile(&source, CAPABILITIES[0]).expect_err("there is no g");
    let Refusal::Failed(text) = refusal else { panic!("{refusal}") };
    assert!(text.starts_with("NVRTC, wrong.cu with --gpu-architecture=sm_80 --std=c++17: "));
    assert!(text.contains("wrong.cu(7): error"), "{text}");
}

#[test]
fn a_gpu_that_the_compiler_does_not_know_is_an_error() {
    if !has_compiler() {
        return;
    }
    let refusal =
        compile(&gemlite::SOURCE, Capability { major: 1, minor: 0 }).expect_err("ancient");
    let Refusal::Failed(text) = refusal else { panic!("{refusal}") };
    assert!(text.contains("sm_10 ") && text.contains("INVALID_OPTION"), "{text}");
}

#[test]
fn a_gpu_that_is_newer_than_the_compiler_is_skipped_with_both_versions() {
    let Ok(nvrtc) = libraries::nvrtc() else {
        assert!(!has_compiler());
        return;
    };
    let refusal =
        compile(&gemlite::SOURCE, Capability { major: 99, minor: 0 }).expect_err("not yet built");
    let Refusal::Skipped(text) = refusal else { panic!("{refusal}") };
    let (major, minor) = nvrtc.version;
    let expected = format!("the GPU is sm_990, but NVRTC {major}.{minor}, ");
    assert!(text.starts_with(&expected) && text.contains("knows none above sm_"), "{text}");
    assert!(text.contains("CRITERION_TORCH_NVRTC"), "{text}");
}
