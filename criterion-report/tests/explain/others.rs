//! Cases with incomplete data: emulated cases, comparisons in which one side lacks something, and several runs.

use plan::Outcome;

use super::fixture::{Fixture, operation, profile, read};
use super::statements::LINEAR;
use super::{explained, one};

#[test]
fn an_emulated_case_has_no_statement() {
    let fixture = Fixture::calibrated(LINEAR)
        .profiled("/int8wo/", &profile(vec![operation("aten::mm", 1.0)], 0.0))
        .edit("/int8wo/", |it| {
            let plan::Work::Model(work) = &mut it.record.case.work else { panic!("a model") };
            work.variant.emulated = true;
        });
    let of = one(&fixture.explained(), "/int8wo/");
    assert!(of.emulated && of.statements.is_empty());
    assert_eq!((of.primary(), &of.limit, &of.difference), (None, &None, &None));
    assert_eq!(of.no_difference, None);
    assert!(of.no_limit.expect("a reason").starts_with("emulated"));
}

#[test]
fn a_product_without_tensor_cores_is_named_on_cuda_alone() {
    let cautions = |device: plan::Device| {
        let fixture = Fixture::of_config(LINEAR).edit("/int8wo/", |it| {
            it.record.case.device = device;
            it.record.kernels = vec!["aten::_weight_int8pack_mm".to_owned()];
        });
        let said = one(&fixture.explained(), "/int8wo/").cautions;
        said.into_iter().filter(|it| it.contains("tensor cores")).collect::<Vec<_>>()
    };
    assert_eq!(cautions(plan::Device::Cpu), [""; 0]);
    let on_cuda = cautions(plan::Device::Cuda);
    assert_eq!(on_cuda.len(), 1, "{on_cuda:?}");
    assert!(on_cuda[0].contains("torch.compile of Python, too"), "{on_cuda:?}");
}

#[test]
fn a_difference_needs_both_sides() {
    let profile = profile(vec![operation("aten::mm", 1.0)], 0.0);
    let whys = |fixture: Fixture| {
        let of = one(&fixture.explained(), "/int8wo/");
        assert_eq!(of.difference, None);
        of.no_difference.expect("a reason")
    };
    let why = whys(Fixture::of_config(LINEAR).profiled("/int8wo/", &profile));
    assert!(why.starts_with("its baseline has no profile: cargo bench --bench inference"), "{why}");
    assert!(why.contains("/baseline/"), "{why}");
    let why = whys(Fixture::of_config(LINEAR).profiled("/baseline/", &profile));
    assert!(why.starts_with("it has no profile: ") && why.contains("/int8wo/"), "{why}");
    let why = whys(
        Fixture::of_config(LINEAR).end("/baseline/", &Outcome::Failed { error: "no".to_owned() }),
    );
    assert_eq!(why, "the baseline has no time");
    let baseline = one(&Fixture::of_config(LINEAR).explained(), "/baseline/");
    assert_eq!((baseline.difference, baseline.no_difference), (None, None));
}

#[test]
fn a_case_without_a_time_is_not_explained() {
    let fixture =
        Fixture::of_config(LINEAR).end("/int8wo/", &Outcome::Failed { error: "no".to_owned() });
    assert_eq!(explained(&fixture.explained()).len(), 1);
}

#[test]
fn a_profile_without_operations_says_why() {
    let mut empty = profile(Vec::new(), 0.0);
    empty.absent.insert("operations".to_owned(), "Kineto is missing".to_owned());
    let of =
        one(&Fixture::of_config(LINEAR).profiled("/baseline/", &empty).explained(), "/baseline/");
    assert!(of.profile.is_none() && of.profile_command.is_some());
    assert!(of.cautions.iter().any(|it| it.contains("Kineto is missing")), "{:?}", of.cautions);
}

#[test]
fn several_runs_have_one_time_and_the_profile_of_the_last_one_that_has_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let first = profile(vec![operation("aten::mm", 800_000.0)], 200_000.0);
    let runs = [(1_000_000, Some(first)), (4_000_000, None)];
    let mut criterion = None;
    for (place, (ns, profile)) in runs.into_iter().enumerate() {
        let fixture = Fixture::of_config(LINEAR).without("/int8wo/").takes("/baseline/", ns);
        let fixture = match profile {
            Some(profile) => fixture.profiled("/baseline/", &profile),
            None => fixture,
        };
        criterion = Some(fixture.write_in(folder.path(), &format!("main@{}", place + 1)));
    }
    let report = read(&criterion.expect("written"), "main", "");
    let of = one(&report, "/baseline/");
    assert!((of.time_ns / 2_000_000.0 - 1.0).abs() < 1e-9, "the geometric mean: {}", of.time_ns);
    let mm = of.operations.iter().find(|it| it.name.is_some()).expect("profiled");
    assert!((mm.ns / 1_600_000.0 - 1.0).abs() < 1e-9, "{mm:?}");
    assert!(of.cautions.iter().any(|it| it.contains("2 runs")), "{:?}", of.cautions);
}
