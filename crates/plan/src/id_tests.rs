use super::*;
use crate::shape::Shape;
use crate::variant::Variant;
use crate::words::{CompileMode, ModelKind, Recipe};

#[test]
fn the_longest_id_stays_inside_the_limits() {
    let intx = Recipe::Int8DynamicIntx { bits: 4, group: 128, asymmetric: false };
    let compile = Some(CompileMode::MaxAutotuneNoCudagraphs);
    let variant = Variant { compile, preallocated: true, ..Variant::eager(intx) };
    for model in ModelKind::all() {
        for stem in ["default", "microbenchmark_quantization_config"] {
            let group = group(Mode::Inference, stem, model, Device::Cuda);
            let parameter = parameter(Dtype::BFloat16, Shape::new(128_000, 131_072, 131_072));
            let id = case_id(&group, &variant.to_string(), &parameter);
            assert!(group.len() <= MAX_PART, "{group}");
            assert!(id.variant.len() <= MAX_PART, "{id}");
            assert!(id.to_string().len() <= MAX_ID, "{id}: {}", id.to_string().len());
        }
    }
}

#[test]
fn a_problem_size_fits_beside_the_longest_group() {
    let text = "64x64x64-".repeat(20);
    for length in [1, 40, MAX_PART] {
        let group = "g".repeat(length);
        for dtype in Dtype::PRECISIONS {
            let parameter = parameter(*dtype, size(&group, &text));
            let id = case_id(&group, &"red_black_sor".repeat(5), &parameter);
            assert!(id.to_string().len() <= MAX_ID, "{id}");
            assert!(id.variant.len() >= 16 && id.variant.starts_with("red_black"), "{id}");
        }
    }
    assert_eq!(size("kernels/default/a/cpu", "64x64x64-200-1e-6"), "64x64x64-200-1e-6");
}

#[test]
fn a_config_is_known_by_its_ending() {
    for name in ["a.yml", "a.yaml", "UPPER.YML", "b.c.Yaml"] {
        assert!(is_config(Path::new(name)), "{name}");
    }
    for name in ["yml", ".yml", "a.yml.bak", "a.json", "a.yml~"] {
        assert!(!is_config(Path::new(name)), "{name}");
    }
}

#[test]
fn shortened_parts_keep_their_head_and_differ() {
    let (a, b) = (shorten("a-rather-long-name-1", 16), shorten("a-rather-long-name-2", 16));
    assert!(a.starts_with("a-rather-") && a.len() == 16, "{a}");
    assert_ne!(a, b);
    assert_eq!(shorten("short", 16), "short");
}
