use std::path::Path;

use plan::{Config, GpuCounters};

use super::*;

fn case(device: &str) -> Case {
    let text = format!(
        "model_params:\n  - name: small\n    device: {device}\n    \
         matrix_shapes: [{{ name: custom, shapes: [[1, 2, 3]] }}]\n"
    );
    let config = Config::parse(Path::new("a.yml"), &text).expect("a config");
    plan::expand(&[config]).expect("a plan").cases().next().expect("a case").clone()
}

#[test]
fn a_gpus_counters_come_before_libtorchs_profiler_and_are_kept_with_its_parts() {
    let all = Wanted { operations: true, memory: true, hardware: true };
    let [none, whole] = Asked::of(&(&case("cpu"), all));
    assert!(none.is_none() && whole.expect("a child").wanted == all);
    let [first, then] = Asked::of(&(&case("cuda"), all)).map(|it| it.expect("a child"));
    assert_eq!(first.wanted, Wanted { operations: false, memory: false, hardware: true });
    assert_eq!(then.wanted, Wanted { hardware: false, ..all });
    assert_eq!(first.name(), format!("{}, counters", then.name()));
    let [none, _] = Asked::of(&(&case("cuda"), Wanted { hardware: false, ..all }));
    assert!(none.is_none());

    let mut kept = vec![];
    let mut keep = |_: &str, profile: Profile| {
        kept.push(profile);
        Ok(())
    };
    let mut pass = Pass {
        root: PathBuf::new(),
        keep: &mut keep,
        progress: Progress::new([]),
        counted: HashMap::new(),
        cases: 1,
        failed: 0,
        bytes: 0,
    };
    let counters = GpuCounters { cycles: 5.0, ..GpuCounters::default() };
    let counted = Profile { gpu: Some(counters), ..Profile::default() };
    let mut refused = Profile::default();
    first.wanted.explain(&mut refused, "not permitted");
    let mut rest = Profile { steps: 3, memory: Some(Default::default()), ..Profile::default() };
    then.wanted.explain(&mut rest, "it was not taken");
    for first_part in [counted, refused] {
        pass.ends(&first, first_part).expect("kept");
        pass.ends(&then, rest.clone()).expect("kept");
    }
    assert_eq!(pass.failed, 0);
    let [with, without] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!((with.gpu, with.steps), (Some(counters), 3));
    assert!(with.absent.is_empty(), "{with:?}");
    assert_eq!((without.gpu, without.steps), (None, 3));
    assert_eq!(without.absent.get(HARDWARE).map(String::as_str), Some("not permitted"));
}

#[test]
fn the_last_line_says_what_was_written_and_where() {
    let mut keep = |_: &str, _: Profile| Ok(());
    let mut pass = Pass {
        root: PathBuf::from("target/criterion-torch"),
        keep: &mut keep,
        progress: Progress::new([]),
        counted: HashMap::new(),
        cases: 12,
        failed: 0,
        bytes: 3_412_345,
    };
    let line = "
profiles: 12 cases, 3.4 MB, 4.1 s: target/criterion-torch/profiles
";
    assert_eq!(pass.summary(4.12), line.trim());
    (pass.cases, pass.failed) = (1, 1);
    assert!(pass.summary(4.12).starts_with("profiles: 1 case (1 with parts missing), 3.4 MB"));
}
