//! The calibration that a case's limit comes from, or why it has none.

use criterion_report::views::explain::{Bound, PartKind, Rule, Statement};

use super::fixture::{Fixture, L2, L3, MEMORY, PEAK};
use super::statements::LINEAR;
use super::statements::named;
use super::{explained, one};

#[test]
fn the_bandwidth_is_that_of_the_level_of_the_working_set() {
    for (bytes, level, certain, rate) in [
        (512 << 10, "L2", true, L2),
        (4 << 20, "L3", true, L3),
        (256 << 20, "memory", true, MEMORY),
        // The first cache was not measured, and it is unknown where 64 MiB lie.
        (8 << 10, "memory", false, MEMORY),
        (64 << 20, "memory", false, MEMORY),
    ] {
        let fixture = Fixture::calibrated(LINEAR)
            .weighing("/baseline/", bytes)
            .takes("/baseline/", 30_000_000);
        let of = one(&fixture.explained(), "/baseline/");
        assert_eq!(of.working_set_bytes, Some(bytes));
        assert_eq!(of.bytes, Some(bytes + 16 * 512 * 4), "and the output");
        let limit = of.limit.expect("a limit");
        let found = (limit.level.as_deref(), limit.level_is_certain, limit.bandwidth_gbps);
        let (_, _, gbps) = found;
        assert_eq!((found.0, found.1), (Some(level), certain), "{bytes}");
        assert!((gbps.expect("measured") / rate - 1.0).abs() < 1e-4, "{bytes}: {gbps:?}");
    }
    // A cold step finds nothing in a cache.
    let cold = LINEAR.replace("threads: 1", "threads: 1\ncache: cold");
    let of =
        one(&Fixture::calibrated(&cold).weighing("/baseline/", 4 << 20).explained(), "/baseline/");
    let limit = of.limit.expect("a limit");
    assert_eq!((limit.level.as_deref(), limit.level_is_certain), (Some("memory"), true));
}

/// On a machine whose probe of bfloat16 took a slow path, a layer was twenty times as fast as the "peak".
#[test]
fn a_case_that_is_faster_than_its_limit_does_not_have_it() {
    let of = |ns: u64| {
        let fixture = Fixture::calibrated(LINEAR).takes("/int8wo/", ns);
        let explained = fixture.weighing("/int8wo/", 4 << 10).explained();
        (one(&explained, "/int8wo/"), ns)
    };
    let flops_ns = of(1_000_000).0.limit.and_then(|it| it.flops_ns).expect("a limit");
    // Measurements vary: 4 % above the limit it is at the limit.
    let (at, ns) = of((flops_ns / 1.04) as u64);
    let limit = at.limit.clone().expect("a limit");
    assert!((limit.share - flops_ns / ns as f64).abs() < 1e-9 && limit.share > 1.03, "{limit:?}");
    assert!(named(&at, Rule::COMPUTE_BOUND).is_some(), "{:?}", at.statements);
    let (above, _) = of((flops_ns / 20.0) as u64);
    assert_eq!(named(&above, Rule::COMPUTE_BOUND), None);
    let limit = above.limit.expect("that of its bytes is left");
    assert_eq!((limit.bound, limit.peak_gflops), (Bound::Memory, None));
    let caution = format!("GFLOP/s of products in its dtype, which is measured to have {PEAK:.0}");
    assert!(above.cautions.iter().any(|it| it.contains(&caution)), "{:?}", above.cautions);
}

#[test]
fn without_a_calibration_there_is_no_limit_and_the_command_that_gives_one() {
    let of =
        one(&Fixture::of_config(LINEAR).weighing("/baseline/", 4 << 20).explained(), "/baseline/");
    assert_eq!((&of.limit, &of.calibration), (&None, &None));
    let why =
        "no calibration is recorded: measure its limits with `cargo bench --bench calibration`";
    assert_eq!(of.no_limit.as_deref(), Some(why));
    assert_eq!(of.statements, [Statement::Unexplained { share: 1.0, outside_share: 0.0 }]);
    // A calibration of another machine does not count.
    let elsewhere = Fixture::calibrated(LINEAR).edit("^calibration/", |it| {
        it.record.environment_mut().host.cpu_model = "another".to_owned();
    });
    let of = one(&elsewhere.explained(), "/baseline/");
    let why = of.no_limit.expect("a reason");
    assert!(
        why.contains("of this machine") && why.contains("only of cpu of another, 2 CPUs"),
        "{why}"
    );
}

#[test]
fn a_calibration_on_other_threads_serves_and_is_named() {
    let fixture = Fixture::calibrated(LINEAR).weighing("/baseline/", 4 << 20);
    let fixture = fixture.on_threads("/baseline/", 4);
    let of = one(&fixture.explained(), "/baseline/");
    assert_eq!(of.calibration.expect("one").threads, 2, "the most");
    let caution = "the limits are of 2 threads, the case ran on 4 threads";
    assert!(of.cautions.iter().any(|it| it.starts_with(caution)), "{:?}", of.cautions);
}

#[test]
fn figures_that_the_calibration_lacks_are_named() {
    let fixture = Fixture::calibrated(LINEAR).without("^calibration/.*/(call|matmul)/");
    let of = one(&fixture.weighing("/baseline/", 4 << 20).explained(), "/baseline/");
    let limit = of.limit.expect("by bytes");
    assert_eq!((limit.flops_ns, limit.peak_gflops), (None, None));
    let lacks = "the calibration lacks the peak in float32 and the cost of a call";
    assert!(of.cautions.iter().any(|it| it.starts_with(lacks)), "{:?}", of.cautions);
}

#[test]
fn without_a_profile_limits_and_counters_speak() {
    let fixture = Fixture::calibrated(LINEAR)
        .weighing("/baseline/", (4 << 20) - 16 * 512 * 4)
        .counted("/baseline/", 40.0, 0.25, 1.0);
    let of = one(&fixture.explained(), "/baseline/");
    assert_eq!(of.profile, None);
    let command = "cargo bench --bench inference -- --profile --exact \
                   'inference/made/linear/cpu/baseline/f32-16x1024x512'";
    assert_eq!(of.profile_command.as_deref(), Some(command));
    let kinds: Vec<PartKind> = of.parts.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [PartKind::Unexplained, PartKind::PageFaults, PartKind::ComputeLimit]);
    assert!(of.parts.iter().all(|it| it.operation.is_none()));
}

#[test]
fn calibrations_are_not_explained_by_themselves() {
    let ids: Vec<String> = explained(&Fixture::calibrated(LINEAR).explained())
        .into_iter()
        .map(|it| it.full_id)
        .collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert!(ids.iter().all(|id| id.starts_with("inference/")));
}
