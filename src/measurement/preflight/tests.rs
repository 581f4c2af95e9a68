use nvml_wrapper::bitmasks::device::ThrottleReasons;
use plan::CheckStatus::{self, Failed, Passed, Skipped, Warning};

use super::*;
use crate::measurement::gpu::{Domain, Gpu, GpuProbe, SlowedNs};
use crate::measurement::utilization::Sample;

/// A machine on which every check can be made, and passes.
fn calm() -> (Facts, Quiet) {
    let host = HostFacts {
        hostname: "bench-7".to_owned(),
        os: "linux 6.8".to_owned(),
        os_release: None,
        arch: None,
        cpu_model: "AMD EPYC".to_owned(),
        cpus: 8,
        memory_bytes: 1 << 34,
        affinity: Some("0-7".to_owned()),
        numa_nodes: Some(1),
        governor: Some("performance".to_owned()),
        turbo: Some(false),
        huge_pages: Some("madvise".to_owned()),
        page_fault_ns: None,
        caches: Vec::new(),
    };
    let facts = Facts {
        host,
        is_virtual: false,
        debug_build: false,
        variables: BTreeMap::new(),
        clock_mhz: Ok(3000.0),
        max_clock_mhz: Some(3000.0),
        temperature_c: Some(45.0),
        throttled: Some(Vec::new()),
        gpu: Some(Ok(calm_gpu())),
    };
    (facts, Quiet { score: 1.0, load_1m: Some(0.05), steal: Some(0.0) })
}

fn calm_gpu() -> GpuFacts {
    GpuFacts {
        clock_mhz: Ok((1980.0, 1980.0)),
        idle: Ok(false),
        temperature_c: Ok(40.0),
        slow_downs: Ok(Vec::new()),
    }
}

/// The checks after `disturb`, for a run with four threads.
fn after(disturb: impl FnOnce(&mut Facts, &mut Quiet)) -> Vec<Check> {
    let (mut facts, mut quiet) = calm();
    disturb(&mut facts, &mut quiet);
    checks(&facts, &quiet, 4)
}

/// The check called `name` after `disturb`; all others have passed.
fn only(name: &str, disturb: impl FnOnce(&mut Facts, &mut Quiet)) -> Check {
    let mut checks = after(disturb);
    let index = checks.iter().position(|check| check.name == name).expect(name);
    let check = checks.remove(index);
    assert!(checks.iter().all(|it| it.status == CheckStatus::Passed), "{checks:#?}");
    check
}

/// Demands that values are found to be what they are, one after the other.
fn grades<T: std::fmt::Debug + Copy>(
    name: &str,
    set: impl Fn(&mut Facts, &mut Quiet, T),
    expected: &[(T, CheckStatus)],
) {
    for (value, status) in expected {
        let check = only(name, |facts, quiet| set(facts, quiet, *value));
        assert_eq!(check.status, *status, "{name} {value:?}: {check:?}");
        assert_eq!(check.warning().is_some(), check.remedy.is_some());
    }
}

/// The line about the check called `name`.
fn line(name: &str, disturb: impl FnOnce(&mut Facts, &mut Quiet)) -> String {
    let line = only(name, disturb).warning().expect("something disturbs");
    assert!(!line.contains('\n'), "{line}");
    line
}

#[test]
fn a_calm_machine_passes_every_check_under_a_name_of_its_own() {
    let checks = after(|_, _| ());
    assert!(checks.iter().all(|check| check.status == Passed), "{checks:#?}");
    let mut names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
    let (facts, quiet) = calm();
    assert_eq!(warnings(&facts, &quiet, 8), [""; 0]);
}

#[test]
fn what_cannot_be_known_is_skipped_with_its_reason() {
    let unknown = |facts: &mut Facts, quiet: &mut Quiet| {
        facts.host.governor = None;
        facts.host.turbo = None;
        facts.host.huge_pages = None;
        facts.host.cpus = 0;
        facts.max_clock_mhz = None;
        facts.temperature_c = None;
        facts.throttled = None;
        facts.gpu = Some(Err("NVML cannot be used: no driver".to_owned()));
        *quiet = Quiet { load_1m: None, steal: None, ..quiet.clone() };
    };
    let checks = after(unknown);
    let skipped: Vec<&Check> = checks.iter().filter(|check| check.status != Passed).collect();
    assert_eq!(skipped.len(), 12, "{skipped:#?}");
    for check in skipped {
        assert_eq!((check.status, &check.remedy), (Skipped, &None), "{check:?}");
        assert!(!check.value.contains("virtual"), "{check:?}");
    }
    let why = |name: &str, checks: &[Check]| {
        checks.iter().find(|check| check.name == name).expect(name).value.clone()
    };
    assert_eq!(why("gpu_clock", &checks), "NVML cannot be used: no driver");
    assert_eq!(why("governor", &checks), "no cpufreq here");
    let guest = after(|facts, quiet| {
        unknown(facts, quiet);
        facts.is_virtual = true;
    });
    assert_eq!(why("governor", &guest), "no cpufreq here: a virtual machine shows none");
    let expected = "3000 MHz of an unknown maximum: no cpufreq here: a virtual machine shows none";
    assert_eq!(why("frequency", &guest), expected);
    let check = only("frequency", |facts, _| facts.clock_mhz = Err("no chain".to_owned()));
    assert_eq!(check, Check::skipped("frequency", "no chain"));
}

#[test]
fn a_build_without_optimization_fails() {
    let line = line("build", |facts, _| facts.debug_build = true);
    assert!(line.starts_with("build: a debug build; "), "{line}");
    assert!(line.contains("`cargo bench`"), "{line}");
    assert_eq!(only("build", |facts, _| facts.debug_build = true).status, Failed);
}

#[test]
fn only_the_governor_performance_passes_and_powersave_fails() {
    let set = |facts: &mut Facts, _: &mut Quiet, governor: &str| {
        facts.host.governor = Some(governor.to_owned());
    };
    let expected = [
        ("performance", Passed),
        ("schedutil", Warning),
        ("performance,schedutil", Warning),
        ("powersave", Failed),
        ("performance,powersave", Failed),
    ];
    grades("governor", set, &expected);
    let line = line("governor", |facts, quiet| set(facts, quiet, "schedutil"));
    assert!(line.starts_with("governor: schedutil; the clock follows the load; "), "{line}");
    assert!(line.contains("cpupower frequency-set"), "{line}");
}

#[test]
fn a_clock_passes_from_nine_tenths_and_fails_below_seven() {
    let expected = [
        (3000.0, Passed),
        (2700.0, Passed),
        (2699.0, Warning),
        (2100.0, Warning),
        (2099.0, Failed),
    ];
    grades("frequency", |facts, _, mhz| facts.clock_mhz = Ok(mhz), &expected);
    let check = only("frequency", |facts, _| facts.clock_mhz = Ok(2400.0));
    assert_eq!(check.value, "2400 of at most 3000 MHz (80 %)");
    let set = |facts: &mut Facts, _: &mut Quiet, mhz| {
        facts.gpu = Some(Ok(GpuFacts { clock_mhz: Ok((mhz, 1000.0)), ..calm_gpu() }));
    };
    let expected = [(900.0, Passed), (899.0, Warning), (700.0, Warning), (699.0, Failed)];
    grades("gpu_clock", set, &expected);
}

#[test]
fn a_temperature_passes_below_70_degrees_and_fails_from_85_on() {
    let expected = [(69.9, Passed), (70.0, Warning), (84.9, Warning), (85.0, Failed)];
    grades("temperature", |facts, _, celsius| facts.temperature_c = Some(celsius), &expected);
    let set = |facts: &mut Facts, _: &mut Quiet, celsius| {
        facts.gpu = Some(Ok(GpuFacts { temperature_c: Ok(celsius), ..calm_gpu() }));
    };
    grades("gpu_temperature", set, &expected);
    assert_eq!(only("temperature", |_, _| ()).value, "45 °C");
}

#[test]
fn turbo_warns_and_slowing_down_fails() {
    grades(
        "turbo",
        |facts, _, on| facts.host.turbo = Some(on),
        &[(false, Passed), (true, Warning)],
    );
    let warning = line("turbo", |facts, _| facts.host.turbo = Some(true));
    assert!(warning.contains("cpufreq/boost"), "{warning}");
    let reasons = || vec!["thermal: cores throttled 4 times".to_owned()];
    let check = only("throttle", |facts, _| facts.throttled = Some(reasons()));
    assert_eq!((check.status, check.value.as_str()), (Failed, "thermal: cores throttled 4 times"));
}

#[test]
fn a_load_passes_below_5_percent_of_the_cpus_and_fails_from_20_on() {
    let expected = [(0.39, Passed), (0.41, Warning), (1.59, Warning), (1.61, Failed)];
    grades("load", |_, quiet, load| quiet.load_1m = Some(load), &expected);
    let line = line("load", |_, quiet| quiet.load_1m = Some(4.25));
    assert!(line.starts_with("load: 4.25 processes "), "{line}");
    assert!(line.contains("on 8 CPUs (53 %)"), "{line}");
}

#[test]
fn others_on_the_machine() {
    let expected = [(0.9, Passed), (0.89, Warning), (0.0, Warning)];
    grades("quiet", |_, quiet, score| quiet.score = score, &expected);
    let disturbed = line("quiet", |_, quiet| quiet.score = 0.75);
    assert!(disturbed.contains(" 25 % of short"), "{disturbed}");
    let expected = [(0.01, Passed), (0.011, Warning)];
    grades("steal", |_, quiet, steal| quiet.steal = Some(steal), &expected);
    let stolen = line("steal", |facts, quiet| {
        facts.is_virtual = true;
        quiet.steal = Some(0.08);
    });
    assert!(stolen.contains("8 % of the CPU time that this virtual machine"), "{stolen}");
    let stolen = line("steal", |_, quiet| quiet.steal = Some(0.08));
    assert!(stolen.contains("that this machine asked"), "{stolen}");
}

#[test]
fn more_threads_than_cpus() {
    grades("threads", |facts, _, cpus| facts.host.cpus = cpus, &[(4, Passed), (3, Warning)]);
    let line = line("threads", |facts, _| {
        facts.host.cpus = 2;
        facts.host.affinity = Some("4-5".to_owned());
    });
    assert!(line.contains("`threads: 4` is more than the 2 CPUs"), "{line}");
    assert!(line.contains("(affinity 4-5)"), "{line}");
}

#[test]
fn huge_pages_everywhere_or_nowhere() {
    let set = |facts: &mut Facts, _: &mut Quiet, mode: &str| {
        facts.host.huge_pages = Some(mode.to_owned());
    };
    let expected = [("madvise", Passed), ("always", Warning), ("never", Warning)];
    grades("huge_pages", set, &expected);
    let never = line("huge_pages", |facts, quiet| set(facts, quiet, "never"));
    assert!(never.contains("equal weights differ"), "{never}");
    let always = line("huge_pages", |facts, quiet| set(facts, quiet, "always"));
    assert!(always.contains("echo madvise"), "{always}");
}

#[test]
fn variables_that_meddle_with_threads() {
    let set = |pairs: &'static [(&str, &str)]| {
        move |facts: &mut Facts, _: &mut Quiet| {
            let owned = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            facts.variables = owned.collect();
        }
    };
    for (name, value, word) in [
        ("OMP_NUM_THREADS", "2", "the config's `threads` (4) decides"),
        ("MKL_NUM_THREADS", "1", "the config's `threads` (4) decides"),
        ("OMP_THREAD_LIMIT", "3", "allows fewer threads"),
        ("OMP_DYNAMIC", "TRUE", "lets OpenMP use fewer"),
    ] {
        let line = line("variables", |facts, _| {
            facts.variables = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        });
        assert!(line.starts_with(&format!("variables: {name}={value}; ")), "{line}");
        assert!(line.contains(word), "{line}");
    }
    let harmless = set(&[
        ("OMP_NUM_THREADS", "4"),
        ("OMP_THREAD_LIMIT", "4"),
        ("OMP_DYNAMIC", "false"),
        ("MALLOC_ARENA_MAX", "1"),
    ]);
    assert_eq!(only("variables", harmless).status, Passed);
    let both = set(&[("OMP_NUM_THREADS", "1"), ("OMP_DYNAMIC", "1")]);
    let check = only("variables", both);
    assert_eq!(check.value, "OMP_NUM_THREADS=1, OMP_DYNAMIC=1");
    assert_eq!(check.remedy.expect("two").matches("unset it").count(), 2);
}

#[test]
fn an_idle_gpu_has_no_clock_to_be_judged() {
    let gpu = |gpu: GpuFacts| move |facts: &mut Facts, _: &mut Quiet| facts.gpu = Some(Ok(gpu));
    let idle = GpuFacts { clock_mhz: Ok((345.0, 1980.0)), idle: Ok(true), ..calm_gpu() };
    let check = only("gpu_clock", gpu(idle.clone()));
    assert_eq!(check.status, Skipped);
    assert!(check.value.starts_with("345 of at most 1980 MHz (17 %), idle"), "{check:?}");
    // Its clock is locked.
    let locked = GpuFacts { clock_mhz: Ok((1980.0, 1980.0)), ..idle };
    assert_eq!(only("gpu_clock", gpu(locked)).status, Passed);
    let slow = GpuFacts { slow_downs: Ok(vec!["SW Power Cap".to_owned()]), ..calm_gpu() };
    let check = only("gpu_throttle", gpu(slow));
    assert_eq!((check.status, check.value.as_str()), (Failed, "SW Power Cap"));
    let mute = GpuFacts { temperature_c: Err("not supported".to_owned()), ..calm_gpu() };
    let check = only("gpu_temperature", gpu(mute));
    assert_eq!(check, Check::skipped("gpu_temperature", "not supported"));
}

/// A GPU that tells everything but its temperature.
struct Fake;

impl Gpu for Fake {
    fn energy_mj(&self) -> Result<u64, String> {
        Ok(0)
    }
    fn clock_mhz(&self, _: Domain) -> Result<u32, String> {
        Ok(345)
    }
    fn max_clock_mhz(&self, _: Domain) -> Result<u32, String> {
        Ok(1980)
    }
    fn temperature_c(&self) -> Result<u32, String> {
        Err("not supported".to_owned())
    }
    fn limits(&self) -> Result<ThrottleReasons, String> {
        Ok(ThrottleReasons::GPU_IDLE | ThrottleReasons::SW_POWER_CAP)
    }
    fn slowed_ns(&self) -> Result<SlowedNs, String> {
        Ok(SlowedNs::default())
    }
    fn utilization(&self, _: Domain, _: u64) -> Result<Vec<Sample>, String> {
        Ok(vec![])
    }
    fn compute_processes(&self) -> Result<u32, String> {
        Ok(0)
    }
}

#[test]
fn a_gpu_is_read_as_far_as_it_tells() {
    let probe = GpuProbe::new(Fake, "GPU X".to_owned(), "580.1".to_owned());
    let expected = GpuFacts {
        clock_mhz: Ok((345.0, 1980.0)),
        idle: Ok(true),
        temperature_c: Err("not supported".to_owned()),
        slow_downs: Ok(vec!["SW Power Cap".to_owned()]),
    };
    assert_eq!(GpuFacts::read(&probe), expected);
}

#[test]
fn a_run_without_a_gpu_is_not_asked_about_one() {
    let checks = after(|facts, _| facts.gpu = None);
    assert!(checks.iter().all(|check| !check.name.starts_with("gpu")), "{checks:#?}");
}

#[test]
fn this_machine_can_be_asked() {
    let (facts, quiet) = look(true);
    let checks = checks(&facts, &quiet, 1);
    for Check { name, status, value, remedy } in &checks {
        println!("{:8} {name}: {value} {remedy:?}", status.as_str().to_uppercase());
    }
    let build = checks.iter().find(|check| check.name == "build").expect("asked");
    assert_eq!(build.status == Failed, facts.debug_build);
    assert_eq!(checks.iter().filter(|check| check.name.starts_with("gpu")).count(), 3);
}
