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

/// A pass over one case.
fn pass<'a>(root: &str, keep: &'a mut dyn FnMut(&str, Profile) -> Result<(), Failure>) -> Pass<'a> {
    let (progress, counted) = (Progress::new([]), HashMap::new());
    Pass { root: PathBuf::from(root), keep, progress, counted, cases: 1, failed: 0, bytes: 0 }
}

#[test]
fn a_gpus_counters_come_before_libtorchs_profiler_and_are_kept_with_its_parts() {
    let all = Wanted { operations: true, memory: true, hardware: true };
    let [none, whole] = Asked::new(&(&case("cpu"), all));
    assert!(none.is_none() && whole.expect("a child").wanted == all);
    let [first, then] = Asked::new(&(&case("cuda"), all)).map(|it| it.expect("a child"));
    assert_eq!(first.wanted, Wanted { operations: false, memory: false, hardware: true });
    assert_eq!(then.wanted, Wanted { hardware: false, ..all });
    assert_eq!(first.name(), format!("{}, counters", then.name()));
    let [none, _] = Asked::new(&(&case("cuda"), Wanted { hardware: false, ..all }));
    assert!(none.is_none());

    let mut kept = vec![];
    let mut keep = |_: &str, profile: Profile| {
        kept.push(profile);
        Ok(())
    };
    let mut pass = pass("", &mut keep);
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
    let mut pass = pass("target/criterion-torch", &mut keep);
    (pass.cases, pass.bytes) = (12, 3_412_345);
    let line = "
profiles: 12 cases, 3.4 MB, 4.1 s: target/criterion-torch/profiles
";
    assert_eq!(pass.summary(4.12), line.trim());
    (pass.cases, pass.failed) = (1, 1);
    assert!(pass.summary(4.12).starts_with("profiles: 1 case (1 with parts missing), 3.4 MB"));
}

#[test]
fn a_profile_without_the_activity_of_its_gpu_misses_a_part() {
    let mut keep = |_: &str, _: Profile| Ok(());
    let mut pass = pass("", &mut keep);
    let [_, asked] = Asked::new(&(&case("cuda"), WITHOUT_COUNTERS));
    let asked = asked.expect("a child");
    let mut profile = Profile { steps: 3, memory: Some(Default::default()), ..Profile::default() };
    pass.ends(&asked, profile.clone()).expect("kept");
    assert_eq!(pass.failed, 0);
    profile.absent.insert(DEVICE.to_owned(), "libcupti.so is not found".to_owned());
    pass.ends(&asked, profile).expect("kept");
    assert_eq!(pass.failed, 1);
}

/// All parts of a profile but for the counters.
const WITHOUT_COUNTERS: Wanted = Wanted { operations: true, memory: true, hardware: false };

/// Children that would live for long, were they not ended.
#[cfg(target_os = "linux")]
mod children {
    use super::*;

    /// A child that says these lines, each as `printf` of a shell takes it.
    fn saying(lines: &[&str]) -> Attended {
        let mut command = Command::new("sh");
        command.args(["-c", "for line; do printf \"$line\\n\"; done; exec sleep 3600", "sh"]);
        let child = command.args(lines).stdout(Stdio::piped()).spawn();
        Attended(child.expect("there is a shell"))
    }

    fn message(of: &Message) -> String {
        serde_json::to_string(of).expect("serialises")
    }

    fn is_there(process: u32) -> bool {
        std::path::Path::new(&format!("/proc/{process}")).exists()
    }

    fn one() -> VecDeque<Asked> {
        let [_, asked] = Asked::new(&(&case("cpu"), WITHOUT_COUNTERS));
        asked.into_iter().collect()
    }

    #[test]
    fn one_does_not_outlive_a_record_that_cannot_be_written() {
        let mut keep = |_: &str, _: Profile| Err(Failure::from("the disk is full".to_owned()));
        let mut left = one();
        let ends = message(&Message::Ends(left[0].id.clone(), Box::default()));
        let child = saying(&[&ends]);
        let process = child.0.id();
        assert!(is_there(process));
        let ended = pass("", &mut keep).follow(child, &mut left).map(|_| ());
        assert_eq!(ended.map_err(|error| error.to_string()), Err("the disk is full".to_owned()));
        assert!(!is_there(process), "it was ended and waited for");
    }

    #[test]
    fn one_that_cannot_be_understood_is_ended_and_costs_its_case() {
        let mut keep = |_: &str, _: Profile| Ok(());
        let mut left = one();
        let starts = message(&Message::Starts(left[0].id.clone()));
        let child = saying(&[&starts, "\\377"]);
        let process = child.0.id();
        let death = pass("", &mut keep).follow(child, &mut left).expect("none of `keep`");
        let death = death.expect("its case is left");
        assert!(death.at_case && death.reason.contains("UTF-8"), "{}", death.reason);
        assert!(!is_there(process), "it was ended and waited for");
    }
}
