//! How a case's time is split, and what differs from its baseline.

use criterion_report::views::explain::{Change, Explanation, PartKind};
use plan::Profile;

use super::fixture::{CALL, Fixture, L3, on, operation, profile};
use super::one;
use super::statements::{GELU, LINEAR};

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6 * expected.abs().max(1.0), "{found} is not {expected}");
}

/// The nanoseconds of a kind in an operation; 0 where there is no such part.
fn ns(of: &Explanation, kind: PartKind, operation: Option<&str>) -> f64 {
    let own = of.parts.iter().filter(|it| it.kind == kind && it.operation.as_deref() == operation);
    own.map(|it| it.ns).sum()
}

/// An addition of a million bytes, and a product that calls it.
fn planted() -> Profile {
    let mut add = operation("aten::add", 300_000.0);
    (add.input_bytes, add.allocated_bytes) = (Some(15_000_000), 5_000_000);
    let mut linear = operation("aten::linear", 100_000.0);
    // It calls the addition, which does the work.
    (linear.total_ns, linear.is_leaf) = (400_000.0, false);
    (linear.input_bytes, linear.allocated_bytes) = (Some(15_000_000), 0);
    profile(vec![add, linear], 100_000.0)
}

#[test]
fn the_profile_is_scaled_to_the_time_and_split() {
    // Twice the profile's own time, at a working set that lies in the third cache.
    let fixture = Fixture::calibrated(LINEAR).weighing("/baseline/", 4 << 20);
    let fixture = fixture.profiled("/baseline/", &planted()).counted("/baseline/", 50.0, 0.06, 1.0);
    let of = one(&fixture.explained(), "/baseline/");
    let used = of.profile.as_ref().expect("a profile");
    assert_near(used.stretch, 0.5);
    assert!(of.cautions.iter().any(|it| it.contains("0.50×")), "{:?}", of.cautions);
    let limit = of.limit.as_ref().expect("a limit");
    assert_eq!(limit.level.as_deref(), Some("L3"));

    // Page faults where bytes are allocated.
    assert_near(ns(&of, PartKind::PageFaults, Some("aten::add")), 60_000.0);
    assert_near(ns(&of, PartKind::PageFaults, Some("aten::linear")), 0.0);
    for name in ["aten::add", "aten::linear"] {
        assert_near(ns(&of, PartKind::CallOverhead, Some(name)), CALL);
    }
    let bytes_ns = 20_000_000.0 / L3;
    assert_near(ns(&of, PartKind::MemoryLimit, Some("aten::add")), bytes_ns);
    assert_near(ns(&of, PartKind::MemoryLimit, Some("aten::linear")), 0.0);
    assert_near(
        ns(&of, PartKind::Unexplained, Some("aten::add")),
        600_000.0 - 60_000.0 - CALL - bytes_ns,
    );
    assert_near(ns(&of, PartKind::Unexplained, Some("aten::linear")), 200_000.0 - CALL);
    // The step's own limit is smaller than the sum of its operations' limits.
    assert_near(ns(&of, PartKind::OutsideOperations, None), 200_000.0);

    let add =
        of.operations.iter().find(|it| it.name.as_deref() == Some("aten::add")).expect("there");
    assert_eq!((add.calls, add.bytes, add.flops), (1.0, Some(20_000_000), None));
    assert_near(add.share, 0.6);
    assert_near(add.limit_ns.expect("known"), bytes_ns);
    assert_eq!(of.operations.last().and_then(|it| it.bytes), None);
}

#[test]
fn work_that_no_operation_records_takes_the_limit_of_its_step() {
    let fixture = Fixture::calibrated(LINEAR).weighing("/baseline/", (4 << 20) - 16 * 512 * 4);
    let compiled = profile(vec![operation("aten::empty", 100.0)], 999_900.0);
    let of = one(&fixture.profiled("/baseline/", &compiled).explained(), "/baseline/");
    let flops_ns = 2.0 * 16.0 * 1024.0 * 512.0 / super::fixture::PEAK;
    assert_near(of.limit.as_ref().expect("a limit").ns, flops_ns);
    assert_near(ns(&of, PartKind::ComputeLimit, None), flops_ns);
    assert_near(ns(&of, PartKind::OutsideOperations, None), 999_900.0 - flops_ns);
}

#[test]
fn faults_that_exceed_an_operation_go_to_the_others() {
    let mut empty = operation("aten::empty", 1_000.0);
    empty.allocated_bytes = 50_000_000;
    let gelu = profile(vec![operation("aten::gelu", 989_000.0), empty], 10_000.0);
    let fixture =
        Fixture::of_config(GELU).profiled("/aten/", &gelu).counted("/aten/", 12_289.0, 0.7, 2.0);
    let of = one(&fixture.explained(), "/aten/");
    assert_near(ns(&of, PartKind::PageFaults, Some("aten::empty")), 1_000.0);
    assert_near(ns(&of, PartKind::PageFaults, Some("aten::gelu")), 699_000.0 * 989.0 / 999.0);
    assert_near(
        of.parts.iter().filter(|it| it.kind == PartKind::PageFaults).map(|it| it.share).sum(),
        0.7,
    );
}

#[test]
fn idle_threads_take_what_is_not_explained() {
    let profile = profile(vec![operation("aten::gelu", 800_000.0)], 200_000.0);
    let fixture =
        Fixture::of_config(GELU).profiled("/aten/", &profile).counted("/aten/", 0.0, 0.0, 1.2);
    let of = one(&fixture.explained(), "/aten/");
    assert_near(ns(&of, PartKind::IdleThreads, None), 400_000.0);
    assert_near(ns(&of, PartKind::Unexplained, Some("aten::gelu")), 480_000.0);
    assert_near(ns(&of, PartKind::OutsideOperations, None), 120_000.0);
}

#[test]
fn operations_are_matched_by_name_and_by_shapes_where_there_are_several() {
    let (small, large): (&[i64], &[i64]) = (&[16, 512], &[16, 1024]);
    let before = profile(
        vec![
            on("aten::mm", 600_000.0, &[(large, "float32")]),
            on("aten::add", 100_000.0, &[(small, "float32")]),
            on("aten::add", 200_000.0, &[(large, "float32")]),
            on("aten::exp", 50_000.0, &[(large, "float32")]),
        ],
        50_000.0,
    );
    let after = profile(
        vec![
            // It runs with other shapes on each side, and with one on either.
            on("aten::mm", 300_000.0, &[(small, "float32")]),
            on("aten::add", 100_000.0, &[(large, "float32")]),
            on("aten::copy_", 80_000.0, &[(large, "float32")]),
        ],
        20_000.0,
    );
    let fixture = Fixture::of_config(LINEAR)
        .profiled("/baseline/", &before)
        .profiled("/int8wo/", &after)
        .takes("/int8wo/", 500_000);
    let of = one(&fixture.explained(), "/int8wo/");
    let difference = of.difference.as_ref().expect("both have a profile");
    assert!(difference.baseline.contains("/baseline/"));
    assert_eq!((difference.baseline_ns, difference.difference_ns), (1e6, -5e5));
    assert_eq!(difference.speedup_factor, Some(1.0), "that of the pairs");
    type Line<'l> = (Change, Option<&'l str>, Option<&'l [i64]>, f64, f64);
    let found: Vec<Line<'_>> = difference
        .operations
        .iter()
        .map(|it| {
            let shape = it.shapes.as_ref().map(|shapes| &*shapes[0]);
            (
                it.change,
                it.operation.as_deref(),
                shape,
                it.difference_ns.round(),
                it.share.expect("of it").abs(),
            )
        })
        .collect();
    let expected: [Line<'_>; 6] = [
        (Change::Changed, Some("aten::mm"), None, -300_000.0, 0.6),
        (Change::Removed, Some("aten::add"), Some(small), -100_000.0, 0.2),
        (Change::Changed, Some("aten::add"), Some(large), -100_000.0, 0.2),
        (Change::Added, Some("aten::copy_"), None, 80_000.0, 0.16),
        (Change::Removed, Some("aten::exp"), None, -50_000.0, 0.1),
        (Change::Outside, None, None, -30_000.0, 0.06),
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for expected in expected {
        let like = |it: &&Line<'_>| {
            (it.0, it.1, it.2, it.3) == (expected.0, expected.1, expected.2, expected.3)
        };
        let it = found.iter().find(like).unwrap_or_else(|| panic!("{expected:?}: {found:#?}"));
        assert_near(it.4, expected.4);
    }
    assert_eq!(found.last().map(|it| it.0), Some(Change::Outside));
    assert_near(difference.operations.iter().filter_map(|it| it.share).sum(), 1.0);
}

#[test]
fn an_operation_in_the_place_of_another_one_is_one_change() {
    let onednn = "mkldnn::_linear_pointwise";
    let flash = "aten::_scaled_dot_product_flash_attention_for_cpu";
    let math = "aten::_scaled_dot_product_attention_math";
    let mut outer = operation("aten::linear", 10_000.0);
    (outer.total_ns, outer.is_leaf) = (310_000.0, false);
    let before = [
        operation("aten::mm", 600_000.0),
        operation("aten::bmm", 100_000.0),
        operation("aten::add", 80_000.0),
        operation(math, 20_000.0),
    ];
    let after = [operation(onednn, 300_000.0), operation(flash, 90_000.0), outer];
    let fixture = Fixture::of_config(LINEAR)
        .profiled("/baseline/", &profile(before.to_vec(), 200_000.0))
        .profiled("/int8wo/", &profile(after.to_vec(), 100_000.0))
        .takes("/int8wo/", 500_000);
    let of = one(&fixture.explained(), "/int8wo/");
    let difference = of.difference.as_ref().expect("both have a profile");
    type Line<'l> = (Change, Option<&'l str>, Option<&'l str>, f64);
    let found: Vec<Line<'_>> = difference
        .operations
        .iter()
        .map(|it| {
            let names = (it.operation.as_deref(), it.instead_of.as_deref());
            (it.change, names.0, names.1, it.difference_ns.round())
        })
        .collect();
    let expected: [Line<'_>; 6] = [
        // The longest products of both sides belong together, and so do the two of attention.
        (Change::Replaced, Some(onednn), Some("aten::mm"), -300_000.0),
        (Change::Removed, Some("aten::bmm"), None, -100_000.0),
        (Change::Removed, Some("aten::add"), None, -80_000.0),
        (Change::Replaced, Some(flash), Some(math), 70_000.0),
        // It calls oneDNN's product and computes none.
        (Change::Added, Some("aten::linear"), None, 10_000.0),
        (Change::Outside, None, None, -100_000.0),
    ];
    assert_eq!(found, expected);
    let replaced = &difference.operations[0];
    assert_eq!((replaced.baseline_calls, replaced.calls), (1.0, 1.0));
    assert_near(replaced.baseline_ns, 600_000.0);
    assert_near(replaced.ns, 300_000.0);
    assert_near(replaced.share.expect("of it"), 0.6);
}

/// Without a step that looks at all others for each: a profile can have so many.
#[test]
fn many_operations_take_each_others_places_by_their_lengths() {
    const MANY: usize = 20_000;
    let products = |side: &str| {
        let all = (0..MANY).map(|at| operation(&format!("{side}{at}::mm"), 1.0 + at as f64));
        profile(all.collect(), 0.0)
    };
    let fixture = Fixture::of_config(LINEAR)
        .profiled("/baseline/", &products("before"))
        .profiled("/int8wo/", &products("after"));
    let of = one(&fixture.explained(), "/int8wo/");
    let operations = &of.difference.as_ref().expect("both have a profile").operations;
    let replaced = operations.iter().filter(|it| it.change == Change::Replaced);
    let pairs = replaced.map(|it| (it.operation.as_deref(), it.instead_of.as_deref()));
    let in_order = pairs.filter(|(after, before)| {
        let of = |name: &Option<&str>, side| {
            name.and_then(|it| it.strip_prefix(side)).map(str::to_owned)
        };
        of(after, "after") == of(before, "before") && after.is_some()
    });
    assert_eq!(in_order.count(), MANY);
    assert_eq!(of.operations.len(), MANY);
}

#[test]
fn a_product_with_other_shapes_is_not_in_its_own_place() {
    let (small, large): (&[i64], &[i64]) = (&[16, 512], &[16, 1024]);
    let mm = |shapes: &[&[i64]]| {
        let all = shapes.iter().map(|shape| on("aten::mm", 100_000.0, &[(shape, "float32")]));
        profile(all.collect(), 0.0)
    };
    let fixture = Fixture::of_config(LINEAR)
        .profiled("/baseline/", &mm(&[small, small]))
        .profiled("/int8wo/", &mm(&[large]));
    let of = one(&fixture.explained(), "/int8wo/");
    let difference = of.difference.as_ref().expect("both have a profile");
    let changes: Vec<Change> = difference.operations.iter().map(|it| it.change).collect();
    assert!(!changes.contains(&Change::Replaced), "{difference:#?}");
}

#[test]
fn a_stretched_profile_of_either_side_is_pointed_out() {
    let mm = |ns| profile(vec![operation("aten::mm", ns)], 0.0);
    let cautions = |own: f64, baseline: f64| {
        let fixture = Fixture::of_config(LINEAR)
            .profiled("/int8wo/", &mm(1e6 * own))
            .profiled("/baseline/", &mm(1e6 * baseline));
        let of = one(&fixture.explained(), "/int8wo/");
        assert_near(of.profile.expect("a profile").stretch, own);
        assert_near(of.difference.expect("both have a profile").baseline_stretch, baseline);
        let stretched = of.cautions.iter().filter(|it| it.starts_with("a profiled step takes "));
        stretched.map(|it| it.split(':').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(cautions(1.4, 0.8), [] as [&str; 0]);
    let baseline = "a profiled step takes 1.60× the baseline's time";
    assert_eq!(cautions(1.4, 1.6), [baseline]);
    assert_eq!(cautions(0.5, 1.6), ["a profiled step takes 0.50× the case's time", baseline]);
}
