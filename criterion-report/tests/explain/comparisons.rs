//! Statements about what a case does otherwise than another one.

use criterion_report::model::explain::{Library, PartKind, Rule, Statement};

use super::fixture::{Fixture, operation, profile};
use super::one;
use super::statements::{GELU, begins_at_its_threshold, named, near, reads_as};

const PATTERNS: &str = "
benchmark_mode: fusion
threads: 1
fusion_params:
  - { patterns: [full_attention], sizes: [[4, 512, 64]], variants: [fused, sdpa-3d] }
  - { patterns: [linear_bias], sizes: [[128, 512, 512]], variants: [mkldnn] }
";

#[test]
fn the_product_of_another_library_is_named_with_its_gain() {
    let unfused = profile(vec![operation("aten::mm", 1_100.0), operation("aten::add", 100.0)], 0.0);
    let of = |product: &str, ns: f64| {
        let fused = profile(vec![operation(product, ns)], 0.0);
        let fixture = Fixture::of(PATTERNS)
            .profiled("linear_bias.*/unfused/", &unfused)
            .takes("linear_bias.*/unfused/", 1_200_000)
            .profiled("linear_bias.*/mkldnn/", &fused)
            .takes("linear_bias.*/mkldnn/", (1e3 * ns) as u64);
        one(&fixture.explained(), "/mkldnn/")
    };
    let found = of("mkldnn::_linear_pointwise", 800.0);
    let statement = named(&found, Rule::OTHER_LIBRARY).expect("another library");
    let Statement::OtherLibrary {
        share,
        ratio,
        operation,
        library,
        instead_of,
        instead_of_library,
        other,
    } = statement
    else {
        panic!("{statement:?}")
    };
    near(*share, 300.0 / 1_200.0);
    near(*ratio, 1.5);
    assert_eq!((&**operation, *library), ("mkldnn::_linear_pointwise", Library::Onednn));
    assert_eq!((&**instead_of, *instead_of_library), ("aten::mm", Library::Aten));
    assert!(other.contains("/unfused/"));
    reads_as(&found, Rule::OTHER_LIBRARY);
    // Another library is worth a word even where both are equally fast; another operation of ATen is not.
    assert!(named(&of("mkldnn::_linear_pointwise", 1_099.0), Rule::OTHER_LIBRARY).is_some());
    assert_eq!(named(&of("aten::_weight_int8pack_mm", 981.0), Rule::OTHER_LIBRARY), None);
    assert!(named(&of("aten::_weight_int8pack_mm", 979.0), Rule::OTHER_LIBRARY).is_some());
    // Without profiles the kernels of the records tell, and the two times.
    let fixture = Fixture::of(PATTERNS)
        .edit("/unfused/", |it| it.record.kernels = vec!["aten::mm".into(), "aten::add".into()])
        .edit("/mkldnn/", |it| it.record.kernels = vec!["mkldnn::_linear_pointwise".into()])
        .takes("linear_bias.*/unfused/", 1_500_000);
    let found = one(&fixture.explained(), "/mkldnn/");
    near(named(&found, Rule::OTHER_LIBRARY).expect("another library").share(), 1.0 / 3.0);
    // A bias makes no other operation.
    let fixture = fixture.edit("/mkldnn/", |it| it.record.kernels = vec!["aten::addmm".into()]);
    assert_eq!(named(&one(&fixture.explained(), "/mkldnn/"), Rule::OTHER_LIBRARY), None);
}

#[test]
fn attention_of_three_dimensions_is_dispatched_to_another_implementation() {
    let flash = "aten::_scaled_dot_product_flash_attention_for_cpu";
    let math = "aten::_scaled_dot_product_attention_math";
    let composite = |ns: f64| {
        let mut outer = operation(math, 100.0);
        (outer.total_ns, outer.is_leaf) = (ns, false);
        let callees = [operation("aten::bmm", ns - 300.0), operation("aten::softmax", 200.0)];
        profile([vec![outer], callees.into()].concat(), 0.0)
    };
    let of = |ns: f64| {
        let fixture = Fixture::of(PATTERNS)
            .profiled("attention.*/fused/", &profile(vec![operation(flash, 1_000.0)], 0.0))
            .profiled("attention.*/sdpa-3d/", &composite(ns))
            .takes("attention.*/sdpa-3d/", (1e3 * ns) as u64);
        one(&fixture.explained(), "/sdpa-3d/")
    };
    let found = of(4_000.0);
    let statement = named(&found, Rule::OTHER_DISPATCH).expect("another implementation");
    let Statement::OtherDispatch { share, ratio, operation, instead_of, other } = statement else {
        panic!("{statement:?}")
    };
    near(*share, 0.75);
    near(*ratio, 0.25);
    assert_eq!([&**operation, instead_of], [math, flash]);
    assert!(other.contains("/fused/"));
    reads_as(&found, Rule::OTHER_DISPATCH);
    assert_eq!(named(&of(1_110.0), Rule::OTHER_DISPATCH), None);
    assert!(named(&of(1_112.0), Rule::OTHER_DISPATCH).is_some());
}

#[test]
fn a_planted_copy_is_an_added_operation() {
    let own = profile(vec![operation("aten::mul", 1_000.0)], 0.0);
    let of = |share: f64| {
        let copy = operation("aten::copy_", 1_000.0 * share);
        let planted = profile(vec![operation("aten::mul", 1_000.0 * (1.0 - share)), copy], 0.0);
        let fixture =
            Fixture::of(GELU).profiled("/aten/", &own).profiled("/aten-composed/", &planted);
        one(&fixture.explained(), "/aten-composed/")
    };
    let found = of(0.46);
    let statement = named(&found, Rule::ADDED_OPERATION).expect("added");
    let Statement::AddedOperation { share, operation: name, calls } = statement else {
        panic!("{statement:?}")
    };
    near(*share, 0.46);
    assert_eq!((&**name, *calls), ("aten::copy_", 1.0));
    reads_as(&found, Rule::ADDED_OPERATION);
    begins_at_its_threshold(Rule::ADDED_OPERATION, of);
    // A second call of what the baseline calls once.
    let mut twice = operation("aten::mul", 1_000.0);
    twice.calls = 2.0;
    let fixture = Fixture::of(GELU)
        .profiled("/aten/", &own)
        .profiled("/aten-composed/", &profile(vec![twice], 0.0));
    near(
        named(&one(&fixture.explained(), "/aten-composed/"), Rule::ADDED_OPERATION)
            .expect("added")
            .share(),
        0.5,
    );
    // What takes the place of something as long is not beyond the baseline.
    let other = profile(vec![operation("aten::exp", 900.0)], 100.0);
    let fixture = fixture.profiled("/aten-composed/", &other);
    assert_eq!(named(&one(&fixture.explained(), "/aten-composed/"), Rule::ADDED_OPERATION), None);
}

#[test]
fn an_added_operation_at_its_limit_does_not_make_a_case_memory_bound() {
    let moving = |name: &str| {
        let mut it = operation(name, 500.0);
        (it.input_bytes, it.flops) = (Some(5_000_000), None);
        it
    };
    let fixture = Fixture::calibrated(GELU)
        .profiled("/aten/", &profile(vec![moving("aten::mul")], 500.0))
        .profiled(
            "/aten-composed/",
            &profile(vec![moving("aten::mul"), moving("aten::copy_")], 0.0),
        );
    let found = one(&fixture.explained(), "/aten-composed/");
    let memory: f64 =
        found.parts.iter().filter(|it| it.kind == PartKind::MemoryLimit).map(|it| it.share).sum();
    assert!(memory > 0.99, "{found:#?}");
    near(named(&found, Rule::ADDED_OPERATION).expect("added").share(), 0.5);
    near(named(&found, Rule::MEMORY_BOUND).map_or(0.5, Statement::share), 0.5);
}
