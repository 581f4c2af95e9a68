//! Statements that compare a case with another one.

use clap::ColorChoice;
use criterion_report::cli::writer::Writer;
use criterion_report::views::Answers;
use criterion_report::views::explain::{Explanation, Library, PartKind, Rule, Statement};
use criterion_report::views::summary::{Format, Options};
use plan::OperationProfile;

use super::fixture::{Fixture, operation, profile};
use super::one;
use super::statements::{GELU, assert_near, begins_at_its_threshold, named, reads_as};
use crate::common::{pair_of, write};

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
        let fixture = Fixture::of_config(PATTERNS)
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
    assert_near(*share, 300.0 / 1_200.0);
    assert_near(*ratio, 1.5);
    assert_eq!((&**operation, *library), ("mkldnn::_linear_pointwise", Library::Onednn));
    assert_eq!((&**instead_of, *instead_of_library), ("aten::mm", Library::Aten));
    assert!(other.contains("/unfused/"));
    reads_as(&found, Rule::OTHER_LIBRARY);
    // A different library is reported even if both are equally fast; a different ATen operation is not.
    assert!(named(&of("mkldnn::_linear_pointwise", 1_099.0), Rule::OTHER_LIBRARY).is_some());
    assert_eq!(named(&of("aten::_weight_int8pack_mm", 981.0), Rule::OTHER_LIBRARY), None);
    assert!(named(&of("aten::_weight_int8pack_mm", 979.0), Rule::OTHER_LIBRARY).is_some());
    // Without profiles, the statement uses the kernels in the records and the two times.
    let fixture = Fixture::of_config(PATTERNS)
        .edit("/unfused/", |it| it.record.kernels = vec!["aten::mm".into(), "aten::add".into()])
        .edit("/mkldnn/", |it| it.record.kernels = vec!["mkldnn::_linear_pointwise".into()])
        .takes("linear_bias.*/unfused/", 1_500_000);
    let found = one(&fixture.explained(), "/mkldnn/");
    assert_near(named(&found, Rule::OTHER_LIBRARY).expect("another library").share(), 1.0 / 3.0);
    // A bias does not make it a different operation.
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
        let fixture = Fixture::of_config(PATTERNS)
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
    assert_near(*share, 0.75);
    assert_near(*ratio, 0.25);
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
            Fixture::of_config(GELU).profiled("/aten/", &own).profiled("/aten-composed/", &planted);
        one(&fixture.explained(), "/aten-composed/")
    };
    let found = of(0.46);
    let statement = named(&found, Rule::ADDED_OPERATION).expect("added");
    let Statement::AddedOperation { share, operation: name, calls } = statement else {
        panic!("{statement:?}")
    };
    assert_near(*share, 0.46);
    assert_eq!((&**name, *calls), ("aten::copy_", 1.0));
    reads_as(&found, Rule::ADDED_OPERATION);
    begins_at_its_threshold(Rule::ADDED_OPERATION, of);
    // A second call of what the baseline calls once.
    let mut twice = operation("aten::mul", 1_000.0);
    twice.calls = 2.0;
    let fixture = Fixture::of_config(GELU)
        .profiled("/aten/", &own)
        .profiled("/aten-composed/", &profile(vec![twice], 0.0));
    assert_near(
        named(&one(&fixture.explained(), "/aten-composed/"), Rule::ADDED_OPERATION)
            .expect("added")
            .share(),
        0.5,
    );
    // An operation that replaces one of the same duration is not an additional one.
    let other = profile(vec![operation("aten::exp", 900.0)], 100.0);
    let fixture = fixture.profiled("/aten-composed/", &other);
    assert_eq!(named(&one(&fixture.explained(), "/aten-composed/"), Rule::ADDED_OPERATION), None);
}

#[test]
fn a_second_product_is_an_added_operation_and_another_one_in_its_place_is_not() {
    let product = |name: &str, ns: f64, calls: f64| {
        let mut it = operation(name, ns);
        it.calls = calls;
        it
    };
    let of = |operations: Vec<OperationProfile>| {
        let sum: f64 = operations.iter().map(|it| it.self_ns).sum();
        let own = profile(vec![operation("aten::mm", 1_000.0)], 0.0);
        let fixture = Fixture::of_config(PATTERNS)
            .profiled("linear_bias.*/unfused/", &own)
            .profiled("linear_bias.*/mkldnn/", &profile(operations, 0.0))
            .takes("linear_bias.*/unfused/", 1_000_000)
            .takes("linear_bias.*/mkldnn/", (1e3 * sum) as u64);
        one(&fixture.explained(), "/mkldnn/")
    };
    let added = |found: &Explanation| match named(found, Rule::ADDED_OPERATION) {
        Some(Statement::AddedOperation { share, operation, calls }) => {
            Some((operation.clone(), *calls, (100.0 * share).round()))
        }
        _ => None,
    };
    let mm = |calls, share| Some(("aten::mm".to_owned(), calls, share));
    assert_eq!(added(&of(vec![product("aten::mm", 2_000.0, 2.0)])), mm(1.0, 50.0));
    // One of three calls of oneDNN's product replaces the baseline's.
    let onednn = "mkldnn::_linear_pointwise";
    let expected = Some((onednn.to_owned(), 2.0, 67.0));
    assert_eq!(added(&of(vec![product(onednn, 3_000.0, 3.0)])), expected);
    // The two calls take no longer than the one of the baseline.
    assert_eq!(added(&of(vec![product("aten::mm", 1_000.0, 2.0)])), None);
    // Neither another product in its place nor one that only calls it is a second one.
    assert_eq!(added(&of(vec![product(onednn, 3_000.0, 1.0)])), None);
    let mut outer = product("aten::linear", 900.0, 1.0);
    (outer.total_ns, outer.is_leaf) = (1_900.0, false);
    assert_eq!(added(&of(vec![outer, product("aten::mm", 1_000.0, 1.0)])), None);
}

#[test]
fn an_answer_is_explained_against_its_baseline() {
    let flash = "aten::_scaled_dot_product_flash_attention_for_cpu";
    let math = "aten::_scaled_dot_product_attention_math";
    let kernel = |fixture: Fixture, variant: &str, name: &str| {
        let filter = format!("attention.*/{variant}/");
        fixture.edit(&filter, |it| it.record.kernels = vec![name.to_owned()])
    };
    let fixture = Fixture::of_config(PATTERNS).edit("attention.*/fused/", |it| {
        let against = it.record.pairs[0].against.clone();
        it.record.pairs = vec![pair_of(against, 2.0)];
    });
    let fixture = kernel(fixture, "fused", flash)
        .takes("attention.*/unfused/", 2_000_000)
        .takes("attention.*/sdpa-3d/", 9_000_000);
    let fixture = kernel(kernel(fixture, "sdpa-3d", math), "unfused", "aten::bmm");
    let dispatch = |fixture: &Fixture| {
        let report = fixture.explained();
        let found = one(&report, "attention/cpu/fused/");
        assert!(named(&found, Rule::OTHER_DISPATCH).is_some(), "{found:#?}");
        let answers = Answers::new(&report).answers;
        let attention = answers.iter().find(|it| it.subject == "full_attention");
        let attention = attention.expect("an answer");
        assert_eq!(attention.variant, "fused");
        attention.why.as_ref().map(|it| it.statement.clone())
    };
    // The baseline runs no operation of attention: the other variant's is no reason of the speed-up.
    assert_eq!(dispatch(&fixture), None);
    let fixture = kernel(fixture, "unfused", math).takes("attention.*/sdpa-3d/", 1_500_000);
    let Some(Statement::OtherDispatch { share, other, .. }) = dispatch(&fixture) else {
        panic!("the baseline's implementation")
    };
    assert_near(share, 0.5);
    assert!(other.contains("/unfused/"), "{other}");
    let summary = Writer::Summary(Options { format: Format::Text, color: ColorChoice::Auto });
    let text = write(&summary, &fixture.explained());
    let why = "another implementation of attention than in `unfused` saves 50 % of the time";
    assert!(text.contains(why), "{text}");
}

#[test]
fn an_added_operation_at_its_limit_does_not_make_a_case_memory_bound() {
    let moving = |name: &str| {
        let mut it = operation(name, 500.0);
        (it.input_bytes, it.flops) = (Some(50_330_000), None);
        it
    };
    // The time that its bytes take in memory.
    let fixture = Fixture::calibrated(GELU)
        .takes("/aten", 10_070_000)
        .profiled("/aten/", &profile(vec![moving("aten::mul")], 500.0))
        .profiled(
            "/aten-composed/",
            &profile(vec![moving("aten::mul"), moving("aten::copy_")], 0.0),
        );
    let found = one(&fixture.explained(), "/aten-composed/");
    let memory: f64 =
        found.parts.iter().filter(|it| it.kind == PartKind::MemoryLimit).map(|it| it.share).sum();
    assert!(memory > 0.99, "{found:#?}");
    assert_near(named(&found, Rule::ADDED_OPERATION).expect("added").share(), 0.5);
    assert_near(named(&found, Rule::MEMORY_BOUND).map_or(0.5, Statement::share), 0.5);
}
