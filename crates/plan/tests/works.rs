//! Configs of fusion and calibration: which cases they expand to, and that records of every kind of
//! work are read back as they were written.

use std::path::Path;

use plan::{
    Case, CompileMode, Config, Device, Diagnostics, Dtype, Plan, Role, Threads, Work, expand,
};

fn try_plan(text: &str) -> Result<Plan, Diagnostics> {
    expand(&[Config::parse(Path::new("test.yml"), text)?])
}

fn plan_of(text: &str) -> Plan {
    try_plan(text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn calibration(rest: &str) -> Plan {
    plan_of(&format!("benchmark_mode: calibration\n{rest}"))
}

fn fusion(entry: &str) -> Plan {
    plan_of(&format!("benchmark_mode: fusion\nfusion_params: {entry}"))
}

fn ids(plan: &Plan) -> Vec<String> {
    plan.cases().map(Case::full_id).collect()
}

/// Every group is compared with its first case, and with no other.
fn one_baseline_per_group(plan: &Plan) {
    for group in &plan.groups {
        for (place, case) in group.cases.iter().enumerate() {
            let role = if place == 0 { Role::Baseline } else { Role::Candidate };
            assert_eq!(case.role, role, "{}", case.full_id());
        }
    }
}

#[test]
fn siblings_of_calibration_differ_in_their_threads() {
    let plan = calibration(
        "calibration_params: { probes: [matmul], sizes: [512, 1000], threads: [1, 4, all] }",
    );
    let group = "calibration/test/matmul/cpu";
    let expected = ["512", "1000"].map(|size| {
        ["1-thread", "4-threads", "all-threads"].map(|it| format!("{group}/{it}/f32-{size}"))
    });
    assert_eq!(ids(&plan), expected.concat());
    one_baseline_per_group(&plan);
    for case in plan.cases() {
        let work = case.work.probe().expect("a probe");
        // The harness reads the settings.
        assert_eq!(work.threads, case.settings.threads, "{}", case.full_id());
        assert_eq!(case.shape_names, ["custom"]);
    }
}

#[test]
fn the_first_threads_are_what_the_others_are_compared_with() {
    let plan =
        calibration("calibration_params: { probes: [copy], sizes: [8KiB], threads: [all, 1] }");
    let variants: Vec<_> = plan.cases().map(|case| (case.id.variant.as_str(), case.role)).collect();
    assert_eq!(variants, [("all-threads", Role::Baseline), ("1-thread", Role::Candidate)]);
}

#[test]
fn threads_are_those_of_the_entry_of_the_file_or_one() {
    let threads = |text: &str| -> Vec<Threads> {
        calibration(text).cases().map(|case| case.settings.threads).collect()
    };
    let entry = "calibration_params: { probes: [copy], sizes: [8KiB] }";
    assert_eq!(threads(entry), [Threads::Count(1)]);
    assert_eq!(threads(&format!("threads: 2\n{entry}")), [Threads::Count(2)]);
    let both = [Threads::Count(1), Threads::All];
    assert_eq!(threads(&format!("threads: [1, all]\n{entry}")), both);
    let own = "calibration_params: { probes: [copy], sizes: [8KiB], threads: 3 }";
    assert_eq!(threads(&format!("threads: [1, all]\n{own}")), [Threads::Count(3)]);
    let twice = "calibration_params: { probes: [copy], sizes: [8KiB], threads: [1, 1] }";
    assert_eq!(threads(twice), [Threads::Count(1)], "once is enough");
}

#[test]
fn two_entries_cannot_each_have_a_baseline_of_their_own() {
    let entries = |second: &str| {
        format!(
            "benchmark_mode: calibration\ncalibration_params:\n  \
             - {{ probes: [copy], sizes: [8KiB], threads: [1, all] }}\n  \
             - {{ probes: [copy], sizes: [8KiB, 16KiB], threads: {second} }}\n"
        )
    };
    let error = try_plan(&entries("2")).unwrap_err().to_string();
    assert!(error.contains("`f32-8KiB` is to be compared with `1-thread` and with `2-threads`"));
    assert!(error.contains("write one entry"), "{error}");
    let plan = plan_of(&entries("[1, 2]"));
    one_baseline_per_group(&plan);
    let variants: Vec<&str> =
        plan.groups[0].cases.iter().map(|it| it.id.variant.as_str()).collect();
    assert_eq!(variants, ["1-thread", "all-threads", "2-threads"]);
}

#[test]
fn stream_is_four_probes_and_sizes_have_units() {
    let plan =
        calibration("calibration_params: { probes: [stream, copy], sizes: [1KiB, 1536KiB, 2GiB] }");
    let expected = ["copy", "scale", "add", "triad"].map(|probe| {
        let id = |size| format!("calibration/test/{probe}/cpu/1-thread/f32-{size}");
        ["1KiB", "1536KiB", "2GiB"].map(id)
    });
    assert_eq!(ids(&plan), expected.concat());
    let sizes: Vec<u64> = plan.cases().take(3).map(|it| it.work.probe().unwrap().size).collect();
    assert_eq!(sizes, [1 << 10, 1536 << 10, 2 << 30]);
}

#[test]
fn sets_name_their_sizes() {
    let plan =
        calibration("calibration_params: { probes: [matmul], sizes: quick, dtypes: [bf16, f16] }");
    let expected = ["bf16-1024", "bf16-2048", "f16-1024", "f16-2048"];
    assert_eq!(plan.cases().map(|it| it.id.parameter.as_str()).collect::<Vec<_>>(), expected);
    assert!(plan.cases().all(|case| case.shape_names == ["quick"]));
    let full = calibration("calibration_params: { probes: [triad] }");
    let names: Vec<&str> = full.cases().map(|case| case.id.parameter.as_str()).collect();
    assert_eq!((names[0], names[names.len() - 1]), ("f32-8KiB", "f32-1GiB"));
    let launch = calibration("calibration_params: { probes: [launch], devices: [cuda, cpu] }");
    let expected = ["cuda", "cpu"].map(|on| format!("calibration/test/launch/{on}/1-thread/f32-1"));
    assert_eq!(ids(&launch), expected);
}

#[test]
fn a_call_is_measured_eagerly_and_compiled() {
    let plan =
        calibration("calibration_params: { probes: [call, compiled_call], devices: [cpu, cuda] }");
    let id = |probe, on| format!("calibration/test/{probe}/{on}/1-thread/f32-1");
    let expected = ["call", "compiled_call"].map(|probe| ["cpu", "cuda"].map(|on| id(probe, on)));
    assert_eq!(ids(&plan), expected.concat());
    one_baseline_per_group(&plan);
    let modes: Vec<_> = plan.cases().map(|case| case.work.compile()).collect();
    let compiled = Some(CompileMode::Default);
    assert_eq!(modes, [None, None, compiled, compiled]);
    for case in plan.cases() {
        // One element changes its sign.
        let (flops, bytes) = (plan::cost::flops(case), plan::cost::moved_bytes(case));
        assert_eq!((flops, bytes), (Some(1), Some(8)), "{}", case.full_id());
    }
}

/// Whatever else is measured, of the calibration the call alone is compiled.
#[test]
fn no_other_probe_is_compiled() {
    for probe in plan::Probe::ALL {
        let plan = calibration(&format!("calibration_params: {{ probes: [{probe}] }}"));
        let compiled = plan.cases().filter(|case| case.work.compile().is_some()).count();
        let expected = if *probe == plan::Probe::CompiledCall { plan.cases().count() } else { 0 };
        assert_eq!(compiled, expected, "{probe}");
    }
}

#[test]
fn patterns_have_their_own_variants_the_baseline_first() {
    let plan = fusion(
        "{ patterns: [linear_bias, conv2d_bn_relu], sizes: quick, variants: [folded, fused] }",
    );
    one_baseline_per_group(&plan);
    for group in &plan.groups {
        let variants: Vec<&str> = group.cases.iter().map(|it| it.id.variant.as_str()).collect();
        let expected: &[&str] = match group.cases[0].work.fusion().unwrap().pattern {
            plan::Pattern::LinearBias => &["unfused", "fused"],
            _ => &["unfused", "fused", "folded"],
        };
        assert_eq!(variants, expected, "{}", group.cases[0].full_id());
    }
}

#[test]
fn what_a_pattern_has_no_use_for_multiplies_no_cases() {
    let plan = fusion(
        "{ patterns: [attention], sizes: [[2, 64, 32]], heads: [1, 8], causal: [false, true], \
         variants: [fused] }",
    );
    one_baseline_per_group(&plan);
    let sizes = |pattern: &str| {
        let wanted = format!("/{pattern}/");
        plan.groups.iter().filter(|it| it.cases[0].full_id().contains(&wanted)).count()
    };
    // The scores alone have no mask.
    assert_eq!(["qk_scores", "qk_softmax", "full_attention"].map(sizes), [2, 4, 4]);
    let conv = fusion(
        "{ patterns: [linear, conv], sizes: quick, memory_formats: [contiguous, channels_last] }",
    );
    let groups = |pattern: &str| {
        let wanted = format!("/{pattern}/");
        conv.groups.iter().filter(|it| it.cases[0].full_id().contains(&wanted)).count()
    };
    let quick = |family| plan::pattern::sizes(family, plan::SizeSet::Quick).len();
    assert_eq!(groups("conv2d_relu"), 2 * quick(plan::PatternFamily::Conv));
    assert_eq!(groups("linear_bias"), quick(plan::PatternFamily::Linear));
}

#[test]
fn every_kind_of_work_is_read_back_as_it_was_written() {
    let plans = [
        plan_of("quantization_config_recipe_names: [int8wo]\nmodel_params: {}"),
        fusion("{ patterns: [all], sizes: quick, dtypes: [f32, bf16], devices: [cpu, cuda] }"),
        fusion("{ patterns: [conv], memory_formats: [channels_last] }"),
        fusion("{ patterns: [full_attention], heads: [4], causal: [true] }"),
        calibration("calibration_params: { probes: [matmul], threads: [1, 7, all] }"),
        calibration("calibration_params: { probes: [stream], threads: [all] }"),
        calibration("calibration_params: { probes: [launch], devices: [cuda] }"),
        plan_of("model_params: { compile: [default, max-autotune] }"),
        fusion("{ patterns: [all], sizes: quick, compile: max-autotune-no-cudagraphs }"),
        operators(&format!("{{ operators: [all], {SIZE}, compile: true }}")),
        calibration("calibration_params: { probes: [call, compiled_call] }"),
    ];
    for case in plans.iter().flat_map(Plan::cases) {
        let text = serde_json::to_string(case).expect("JSON");
        let read: Case = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert_eq!(read, *case, "{text}");
        let kind = |work: &Work| (work.model().is_some(), work.fusion().is_some());
        assert_eq!(kind(&read.work), kind(&case.work), "{text}");
    }
}

#[test]
fn estimates_are_of_the_device() {
    let plan =
        calibration("calibration_params: { probes: [copy], sizes: [64KiB], devices: [cpu, cuda] }");
    let moved = |device: Device| {
        let case = plan.cases().find(|case| case.device == device).expect("asked for");
        (plan::cost::moved_bytes(case), case.dtype)
    };
    // 512 MiB of an array in a step on the host, one pass on a device.
    assert_eq!(moved(Device::Cpu), (Some(1 << 30), Dtype::Float32));
    assert_eq!(moved(Device::Cuda), (Some(128 << 10), Dtype::Float32));
}

#[test]
fn the_suites_of_calibration_are_valid_and_pair_threads_on_the_host_only() {
    let plan = |file: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(file);
        plan::load(&[path]).unwrap_or_else(|errors| panic!("{errors}"))
    };
    for file in ["calibration/quick.yml", "suites/calibration-cpu.yml"] {
        let plan = plan(file);
        one_baseline_per_group(&plan);
        let variants = |case: &Case| (case.device, case.id.variant.clone());
        let host = |variant: &str| (Device::Cpu, variant.to_owned());
        for group in &plan.groups {
            let found: Vec<_> = group.cases.iter().map(variants).collect();
            let work = group.cases[0].work.probe().expect("a probe");
            // A call is one thread's.
            let expected = match work.probe.is_call() {
                true => vec![host("1-thread")],
                false => vec![host("1-thread"), host("all-threads")],
            };
            assert_eq!(found, expected, "{file}");
        }
        calls(&plan, file);
    }
    let cuda = plan("suites/calibration-cuda.yml");
    assert!(cuda.cases().all(|case| case.device == Device::Cuda && case.role == Role::Baseline));
    let dtypes = |case: &&Case| case.dtype != Dtype::Float32;
    assert!(cuda.cases().filter(dtypes).all(|case| case.full_id().contains("/matmul/")));
    calls(&cuda, "suites/calibration-cuda.yml");
}

/// Every suite has the call of an operation, eagerly and compiled, each once.
fn calls(plan: &Plan, file: &str) {
    let probes = plan.cases().map(|case| case.work.probe().expect("a probe").probe);
    let calls: Vec<plan::Probe> = probes.filter(plan::Probe::is_call).collect();
    assert_eq!(calls, [plan::Probe::Call, plan::Probe::CompiledCall], "{file}");
}

fn operators(entry: &str) -> Plan {
    plan_of(&format!("benchmark_mode: operators\noperator_params: {entry}"))
}

fn errors_of(entry: &str) -> String {
    try_plan(&format!("benchmark_mode: operators\noperator_params: {entry}"))
        .unwrap_err()
        .to_string()
}

const SIZE: &str = "batch_sizes: [2], sequence_lengths: [3], tensor_dimensions: [8]";

#[test]
fn implementations_of_an_operator_are_siblings_of_aten() {
    let plan = operators(&format!("{{ operators: [gelu, rms_norm], {SIZE} }}"));
    let gelu = ["aten", "aten-out", "aten-composed", "rust", "stream"];
    let rms_norm = ["aten", "aten-composed", "rust", "stream"];
    let id = |operator, it| format!("operators/test/{operator}/cpu/{it}/f32-2x3x8");
    let expected: Vec<String> = gelu
        .iter()
        .map(|it| id("gelu", it))
        .chain(rms_norm.iter().map(|it| id("rms_norm", it)))
        .collect();
    assert_eq!(ids(&plan), expected);
    one_baseline_per_group(&plan);
}

#[test]
fn a_device_has_the_implementations_made_for_it_unless_others_are_listed() {
    let of = |rest: &str| -> Vec<String> {
        let plan = operators(&format!("{{ operators: [silu], {SIZE}, {rest} }}"));
        plan.cases().map(|case| case.id.variant.clone()).collect()
    };
    let usual = ["aten", "aten-out", "aten-composed", "cuda", "triton", "stream"];
    assert_eq!(of("devices: [cuda]"), usual);
    assert_eq!(of("devices: [mps]"), ["aten", "aten-out", "aten-composed"]);
    assert_eq!(of("implementations: [cuda]"), ["aten", "cuda"], "to be refused, by name");
}

#[test]
fn an_implementation_that_some_listed_operators_lack_is_left_to_be_refused() {
    let plan = operators(&format!(
        "{{ operators: [rms_norm, gelu], implementations: [rust, aten-out], {SIZE} }}"
    ));
    for group in &plan.groups {
        let variants: Vec<_> = group.cases.iter().map(|case| &*case.id.variant).collect();
        assert_eq!(variants, ["aten", "aten-out", "rust"]);
    }
    one_baseline_per_group(&plan);
}

#[test]
fn sizes_are_the_documents_unless_listed() {
    let plan = operators("{ operators: [softmax], implementations: [aten] }");
    assert_eq!(plan.groups.len(), 4 * 4 * 7);
    let last = plan.cases().last().unwrap();
    assert_eq!(last.id.parameter, "f32-128x2048x512");
    let work = last.work.operator().unwrap();
    assert!(work.size.elements() > work.max_elements, "a case that will be skipped is written");
    assert_eq!(work.max_elements, 50_000_000);
    let all = operators(&format!("{{ operators: [all, gelu], {SIZE}, max_elements: 7 }}"));
    assert_eq!(all.groups.len(), plan::Operator::ALL.len());
    assert!(all.cases().all(|case| case.work.operator().unwrap().max_elements == 7));
}

#[test]
fn upstreams_names_of_operators_are_translated() {
    for (name, remedy) in [
        ("Swish", "write `silu`"),
        ("LayerNorm", "write `layer_norm`"),
        ("Loss", "write `mse_loss`, `cross_entropy`"),
        ("swish", "write `silu`"),
        ("layernorm", "write `layer_norm`"),
        ("softmx", "did you mean `softmax`?"),
    ] {
        let errors = errors_of(&format!("{{ operators: [{name}], {SIZE} }}"));
        assert!(errors.contains(remedy), "{errors}");
        assert!(errors.contains(&format!("unknown operator `{name}`")), "{errors}");
    }
}

#[test]
fn what_operators_cannot_be_is_told() {
    for (entry, message) in [
        ("{ operators: [] }", "the list is empty"),
        ("{}", "no `operators`"),
        ("{ operators: [gelu], batch_sizes: [0] }", "a whole number from 1"),
        ("{ operators: [gelu], max_elements: -1 }", "a whole number from 1"),
        (
            "{ operators: [rms_norm], implementations: [aten-out] }",
            "none of the entry's operators has the implementation `aten-out`",
        ),
        ("{ operators: [gelu], benchmark_mode: operators }", "it belongs at the top"),
    ] {
        let errors = errors_of(entry);
        assert!(errors.contains(message), "{entry}: {errors}");
    }
}
