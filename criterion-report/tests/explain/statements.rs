//! A case for each statement, the figures of the statement, and both sides of its threshold.

use criterion_report::views::explain::{Bound, Explanation, PartKind, Rule, Statement};
use plan::OperationProfile;

use super::fixture::{CALL, Fixture, L2, MEMORY, PEAK, on, operation, profile};
use super::one;

pub const LINEAR: &str = "
quantization_config_recipe_names: [baseline, int8wo]
packed: false
threads: 1
model_params:
  - name: made
    model_type: linear
    device: cpu
    high_precision_dtype: torch.float32
    matrix_shapes:
      - { name: custom, shapes: [[16, 1024, 512]] }
";
pub const GELU: &str = "
benchmark_mode: operators
threads: 2
operator_params:
  - operators: [gelu]
    batch_sizes: [12]
    sequence_lengths: [1024]
    tensor_dimensions: [1024]
    implementations: [aten, aten-composed]
";
pub fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
}

/// Checks that the statement reads like the book's example.
pub fn reads_as(of: &Explanation, rule: Rule) {
    assert_eq!(named(of, rule).map(ToString::to_string).as_deref(), Some(rule.example));
}

pub fn named(of: &Explanation, rule: Rule) -> Option<&Statement> {
    of.statements.iter().find(|it| it.rule() == rule)
}

/// Checks that a statement is made exactly from its threshold on, with cases whose share can be chosen.
pub fn begins_at_its_threshold(rule: Rule, of: impl Fn(f64) -> Explanation) {
    for (share, is_there) in
        [(rule.threshold - 1e-5, false), (rule.threshold + 1e-5, true), (0.97, true)]
    {
        let of = of(share);
        let found = named(&of, rule);
        assert_eq!(found.is_some(), is_there, "{} at {share}: {of:#?}", rule.name);
        if let Some(found) = found {
            assert_near(found.share(), share);
        }
    }
}

/// A decode step without a profile, whose limit is this share of its time.
fn decode(share: f64) -> Explanation {
    let bytes = 1e9 * share;
    let fixture = Fixture::calibrated(LINEAR).takes("/baseline/", 100_000_000);
    one(&fixture.weighing("/baseline/", bytes as u64 - 16 * 512 * 4).explained(), "/baseline/")
}

#[test]
fn a_case_is_memory_bound_at_a_share_of_its_limit() {
    let of = decode(0.93);
    let limit = of.limit.as_ref().expect("a limit");
    assert_eq!(
        (limit.bound, limit.level.as_deref(), limit.level_is_certain),
        (Bound::Memory, Some("memory"), true)
    );
    assert_near(limit.bandwidth_gbps.expect("measured"), MEMORY);
    assert_near(limit.share, 0.93);
    let Some(Statement::MemoryBound { share, level }) = of.primary() else { panic!("{of:#?}") };
    assert_near(*share, 0.93);
    assert_eq!(level, "memory");
    reads_as(&of, Rule::MEMORY_BOUND);
    begins_at_its_threshold(Rule::MEMORY_BOUND, decode);
}

#[test]
fn a_chain_at_its_bandwidth_may_be_far_from_the_limit_of_its_step() {
    // Five operations that each read and write what the step has to read and write once.
    let bytes: u64 = 100_000_000;
    let ns = bytes as f64 / MEMORY;
    let pass = |name: &str| {
        let mut it = operation(name, ns);
        it.input_bytes = Some(bytes);
        it
    };
    let names = ["aten::mul", "aten::exp", "aten::neg", "aten::abs", "aten::add"];
    let chain = profile(names.map(pass).to_vec(), 0.5 * ns);
    let fixture = Fixture::calibrated(LINEAR)
        .weighing("/baseline/", bytes - 16 * 512 * 4)
        .takes("/baseline/", (5.5 * ns) as u64)
        .profiled("/baseline/", &chain);
    let of = one(&fixture.explained(), "/baseline/");
    assert_near(of.limit.as_ref().expect("a limit").share, 1.0 / 5.5);
    let Some(statement @ Statement::MemoryBound { share, .. }) = of.primary() else {
        panic!("{of:#?}")
    };
    // A call of each operation is not at the bandwidth.
    assert_near(*share, (5.0 * (ns - CALL)) / (5.5 * ns));
    let text = "memory-bound: 91 % of the time at the bandwidth of memory";
    assert_eq!(statement.to_string(), text);
}

#[test]
fn a_case_is_compute_bound_at_a_share_of_the_peak() {
    let flops = 2.0 * 16.0 * 1024.0 * 512.0;
    let of = |share: f64| {
        let ns = flops / PEAK / share;
        // The weight lies in a cache, and what is rounded away is less than a thousandth of the time.
        let fixture = Fixture::calibrated(LINEAR).weighing("/baseline/", 512 << 10);
        one(&fixture.takes("/baseline/", ns.round() as u64).explained(), "/baseline/")
    };
    let found = of(0.87);
    let limit = found.limit.as_ref().expect("a limit");
    assert_eq!((limit.bound, limit.level.as_deref()), (Bound::Compute, Some("L2")));
    assert!((limit.flops_ns.expect("a peak") / (flops / PEAK) - 1.0).abs() < 1e-6, "{limit:?}");
    assert!((limit.share - 0.87).abs() < 1e-4, "{limit:?}");
    assert!(
        matches!(found.primary(), Some(Statement::ComputeBound { share }) if (share - 0.87).abs() < 1e-4)
    );
    reads_as(&found, Rule::COMPUTE_BOUND);
    assert_eq!(named(&of(0.499), Rule::COMPUTE_BOUND), None);
    assert!(named(&of(0.501), Rule::COMPUTE_BOUND).is_some());
}

#[test]
fn operations_on_the_weight_convert_it() {
    let weight: &[i64] = &[512, 1024];
    let of = |share: f64| {
        let profile = profile(
            vec![
                on("aten::copy_", 3.0 * share / 4.0, &[(weight, "float32"), (weight, "int8")]),
                on("aten::mul", share / 4.0, &[(weight, "float32"), (&[512, 1], "float32")]),
                // None of these is a conversion: a view reads nothing, a product is not one, and neither are operations
                // on activations.
                on("aten::t", 0.01, &[(weight, "float32")]),
                on("aten::mm", 0.02, &[(&[16, 1024], "float32"), (&[1024, 512], "float32")]),
                on("aten::add", 0.97 - share, &[(&[16, 512], "float32")]),
            ],
            0.0,
        );
        one(&Fixture::of_config(LINEAR).profiled("/int8wo/", &profile).explained(), "/int8wo/")
    };
    let found = of(0.82);
    assert!(
        matches!(found.primary(), Some(Statement::ConvertsWeight { share }) if (share - 0.82).abs() < 1e-6)
    );
    let parts: Vec<(&str, f64)> = found
        .parts
        .iter()
        .filter(|it| it.kind == PartKind::WeightConversion)
        .map(|it| (it.operation.as_deref().expect("an operation"), it.share))
        .collect();
    assert_eq!(parts.iter().map(|it| it.0).collect::<Vec<_>>(), ["aten::copy_", "aten::mul"]);
    assert_near(parts[0].1, 0.615);
    assert_near(parts[1].1, 0.205);
    reads_as(&found, Rule::CONVERTS_WEIGHT);
    begins_at_its_threshold(Rule::CONVERTS_WEIGHT, of);
    // The model before quantization has nothing to convert.
    let weight = on("aten::copy_", 1.0, &[(weight, "float32")]);
    let fixture = Fixture::of_config(LINEAR).profiled("/baseline/", &profile(vec![weight], 0.0));
    assert_eq!(named(&one(&fixture.explained(), "/baseline/"), Rule::CONVERTS_WEIGHT), None);
}

/// The operations that convert a weight of 512x1024, by a recipe at a number of rows.
fn converting(recipe: &str, rows: u32, operations: &[OperationProfile]) -> Vec<String> {
    converting_on("cpu", recipe, rows, operations)
}

fn converting_on(
    device: &str,
    recipe: &str,
    rows: u32,
    operations: &[OperationProfile],
) -> Vec<String> {
    let shape = format!("[{rows}, 1024, 512]");
    let config = LINEAR.replace("[16, 1024, 512]", &shape).replace("int8wo", recipe);
    let config = config.replace("device: cpu", &format!("device: {device}"));
    let mut profile = profile(operations.to_vec(), 0.0);
    profile.operations.iter_mut().for_each(|it| it.device_ns = Some(it.self_ns));
    let of = one(&Fixture::of_config(&config).profiled(recipe, &profile).explained(), recipe);
    let parts = of.parts.iter().filter(|it| it.kind == PartKind::WeightConversion);
    let mut found: Vec<String> =
        parts.map(|it| it.operation.clone().expect("an operation")).collect();
    found.sort_unstable();
    found
}

#[test]
fn activations_as_large_as_the_weight_are_told_apart_by_their_dtypes() {
    let large: &[i64] = &[512, 1024];
    let (float, int8) = ((large, "float32"), (large, "int8"));
    // int8wo multiplies its output, which is as large as the weight at 1024 rows, by the scale.
    let output = on("aten::mul", 1.0, &[(&[1024, 512], "float32"), (&[512], "float32")]);
    let operations = [output, on("aten::copy_", 1.0, &[float, int8])];
    assert_eq!(converting("int8wo", 1024, &operations), ["aten::copy_"]);
    // Elsewhere the size alone says what is multiplied.
    let dequantized = on("aten::mul", 1.0, &[float, (&[512, 1], "float32")]);
    assert_eq!(converting("int8wo", 16, std::slice::from_ref(&dequantized)), ["aten::mul"]);
    assert_eq!(converting("int8wo", 512, &[dequantized]), [] as [&str; 0]);
    // int8dq rounds its activations to int8, and reads them in its product alone.
    let operations = [
        on("aten::round", 1.0, &[float]),
        on("aten::copy_", 1.0, &[int8, float]),
        on("aten::_int_mm", 1.0, &[int8, (&[1024, 512], "int8")]),
        on("aten::clone", 1.0, &[int8]),
    ];
    assert_eq!(converting("int8dq", 512, &operations), ["aten::clone"]);
    // This one dequantizes both, which look the same.
    let recipe = "int8_dynamic_activation_intx_weight-4-32-false";
    let both = on("aten::copy_", 1.0, &[float, int8]);
    assert_eq!(converting(recipe, 512, std::slice::from_ref(&both)), [] as [&str; 0]);
    assert_eq!(converting(recipe, 16, &[both]), ["aten::copy_"]);
}

#[test]
fn two_weights_to_a_byte_are_a_weight() {
    let halves: &[i64] = &[512, 512];
    let operations = [
        on("aten::bitwise_and", 1.0, &[(halves, "uint8"), (&[], "")]),
        on("aten::add", 1.0, &[(halves, "float32")]),
        on("aten::sub", 1.0, &[(halves, "int8")]),
    ];
    assert_eq!(converting("uintx-4-64", 16, &operations), ["aten::bitwise_and"]);
    // An activation of 512 rows has as many elements as the weight has bytes, and stays in floats.
    assert_eq!(converting("uintx-4-64", 512, &operations), ["aten::bitwise_and"]);
    // Activations of this recipe are such bytes, too, before they are packed two to a byte.
    let codes = on("aten::bitwise_or", 1.0, &[(&[256, 1024], "uint8"), (&[256, 1024], "uint8")]);
    assert_eq!(converting_on("cuda", "mxfp4", 256, &[codes]), [] as [&str; 0]);
}

#[test]
fn page_faults_have_their_number_and_their_share() {
    let of = |share: f64| {
        let gelu = profile(vec![operation("aten::gelu", 900.0)], 100.0);
        let fixture = Fixture::of_config(GELU).profiled("/aten/", &gelu).on_threads("/aten/", 1);
        one(&fixture.counted("/aten/", 12_289.0, share, 1.0).explained(), "/aten/")
    };
    let found = of(0.71);
    assert_eq!(found.page_faults, Some(12_289.0));
    let Some(Statement::PageFaults { share, faults }) = found.primary() else {
        panic!("{found:#?}")
    };
    assert_near(*share, 0.71);
    assert_eq!(*faults, 12_289.0);
    reads_as(&found, Rule::PAGE_FAULTS);
    begins_at_its_threshold(Rule::PAGE_FAULTS, of);
    // One of two threads handles page faults all the time: half of the available CPU time, but all of the wall time.
    let half = Fixture::of_config(GELU).counted("/aten/", 100.0, 0.4, 1.0);
    assert_near(
        named(&one(&half.explained(), "/aten/"), Rule::PAGE_FAULTS).expect("faults").share(),
        0.4,
    );
    // The thread works for half of the wall time, and both threads for all of it.
    for (busy, share) in [(0.5, 0.2), (2.0, 0.4)] {
        let fixture = Fixture::of_config(GELU).counted("/aten/", 100.0, 0.4, busy);
        let of = one(&fixture.explained(), "/aten/");
        assert_near(named(&of, Rule::PAGE_FAULTS).expect("faults").share(), share);
    }
}

#[test]
fn counters_over_no_time_have_no_share() {
    let fixture =
        Fixture::of_config(GELU).counted("/aten/", 100.0, 0.4, 1.0).edit("/aten/", |it| {
            let counters = it.record.measures.counters.as_mut().expect("counted");
            (counters.user_ns, counters.system_ns, counters.wall_ns) = (0.0, 0.0, 0.0);
        });
    let of = one(&fixture.explained(), "/aten/");
    assert_eq!((of.page_faults, of.utilization), (Some(100.0), None));
    assert_eq!(of.statements, [Statement::Unexplained { share: 1.0, outside_share: 0.0 }]);
}

#[test]
fn calls_bound_a_case_that_spends_a_quarter_on_them() {
    let of = |share: f64| {
        // 1 000 calls of 500 ns, of which so many fit into the time.
        let mut small = operation("aten::add", 1_000.0 * share);
        small.calls = 2_000.0 * share;
        let profile = profile(vec![small], 1_000.0 * (1.0 - share));
        let fixture = Fixture::calibrated(GELU).on_threads("/aten/", 1);
        one(&fixture.profiled("/aten/", &profile).explained(), "/aten/")
    };
    let found = of(0.64);
    let Some(Statement::LaunchBound { share, calls, device_busy }) =
        named(&found, Rule::LAUNCH_BOUND)
    else {
        panic!("{found:#?}")
    };
    assert_near(*share, 0.64);
    assert_eq!((*calls, *device_busy), (Some(1_280.0), None));
    reads_as(&found, Rule::LAUNCH_BOUND);
    begins_at_its_threshold(Rule::LAUNCH_BOUND, of);
}

#[test]
fn a_device_that_waits_for_the_host_is_launch_bound() {
    let config = GELU.replace("operators: [gelu]", "operators: [gelu]\n    devices: [cuda]");
    let of = |busy: f64, clocks: Option<bool>| {
        let mut kernel = operation("aten::gelu", 5_000_000.0);
        kernel.device_ns = Some(1e6 * busy);
        let fixture = Fixture::of_config(&config).profiled("/aten/", &profile(vec![kernel], 1e6));
        let fixture = fixture.edit("/aten/", |it| {
            it.record.measures.clocks = clocks.map(|host_bound| plan::Clocks {
                device_ns: 1e6,
                host_ns: 5e6,
                queue_ns: 5e6,
                host_bound,
            });
        });
        one(&fixture.explained(), "/aten/")
    };
    let found = of(0.3, Some(true));
    let Some(Statement::LaunchBound { share, device_busy, .. }) = found.primary() else {
        panic!("{found:#?}")
    };
    assert_near(*share, 0.7);
    assert_near(device_busy.expect("a device"), 0.3);
    assert_eq!((found.utilization, found.page_faults), (None, None));
    assert!(named(&of(0.751, None), Rule::LAUNCH_BOUND).is_none());
    assert!(named(&of(0.749, None), Rule::LAUNCH_BOUND).is_some());
    // A device that did not wait was busy with work that no operation recorded.
    let Some(Statement::Unexplained { share, outside_share }) =
        of(0.3, Some(false)).primary().cloned()
    else {
        panic!("unexplained")
    };
    assert_near(share, 1.0);
    assert_near(outside_share, 0.7);
}

#[test]
fn idle_threads_are_counted() {
    let of = |busy: f64| {
        let fixture = Fixture::of_config(GELU).counted("/aten/", 0.0, 0.0, busy);
        one(&fixture.explained(), "/aten/")
    };
    let found = of(1.04);
    assert_near(found.utilization.expect("counted"), 0.52);
    let Some(Statement::IdleThreads { share, idle, threads }) = named(&found, Rule::IDLE_THREADS)
    else {
        panic!("{found:#?}")
    };
    assert_near(*share, 0.48);
    assert_eq!((*idle, *threads), (1, 2));
    reads_as(&found, Rule::IDLE_THREADS);
    // Half a thread is the minimum.
    assert!(named(&of(1.49), Rule::IDLE_THREADS).is_some());
    assert_eq!(named(&of(1.51), Rule::IDLE_THREADS), None);
    // Time that other parts explain is not attributed to idle threads.
    let fixture = Fixture::of_config(GELU).counted("/aten/", 9.0, 0.95, 1.0);
    assert_eq!(named(&one(&fixture.explained(), "/aten/"), Rule::IDLE_THREADS), None);
}

#[test]
fn what_remains_is_unexplained_and_has_its_size() {
    let of = |share: f64| {
        let gelu = profile(vec![operation("aten::gelu", 1_000.0)], 0.0);
        let fixture = Fixture::of_config(GELU).profiled("/aten/", &gelu).on_threads("/aten/", 1);
        one(&fixture.counted("/aten/", 10.0, 1.0 - share, 1.0).explained(), "/aten/")
    };
    let found = of(0.34);
    assert_eq!(found.statements.len(), 2);
    assert_near(named(&found, Rule::UNEXPLAINED).expect("a rest").share(), 0.34);
    reads_as(&found, Rule::UNEXPLAINED);
    begins_at_its_threshold(Rule::UNEXPLAINED, of);
    // If nothing else is notable, this statement is made, however small its share.
    let limited = |bytes, flops, ns| {
        let mut it = operation(&format!("aten::of_{ns}"), ns);
        (it.input_bytes, it.flops) = (bytes, flops);
        it
    };
    let parts = vec![
        limited(Some((0.49e6 * L2) as u64), None, 0.49e6),
        limited(None, Some((0.43e6 * PEAK) as u64), 0.43e6),
        limited(Some(0), None, 0.08e6),
    ];
    let fixture = Fixture::calibrated(LINEAR).weighing("/baseline/", 512 << 10);
    let found =
        one(&fixture.profiled("/baseline/", &profile(parts, 0.0)).explained(), "/baseline/");
    let [Statement::Unexplained { share, outside_share }] = found.statements[..] else {
        panic!("{found:#?}")
    };
    // The cost of the last operation's call is explained.
    assert_near(share, 0.08 - CALL / 1e6);
    assert_near(outside_share, 0.0);
}

#[test]
fn every_statement_has_a_rule_of_its_own() {
    let names: std::collections::BTreeSet<&str> = Rule::ALL.iter().map(|it| it.name).collect();
    assert_eq!(names.len(), Rule::ALL.len());
}
