use super::*;

fn version(text: &str) -> Version {
    Version::parse(text).expect("a version")
}

#[test]
fn an_old_glibc_is_an_error_with_both_versions() {
    let needed = version("2.34");
    for host in ["2.34", "2.41"] {
        assert_eq!(glibc(Some(&needed), Some(&version(host))), None);
    }
    assert_eq!(glibc(None, None), None);
    let error = glibc(Some(&needed), Some(&version("2.9"))).expect("it is older");
    assert_eq!(error.what(), "this host has glibc 2.9, and the bundle needs glibc 2.34 or newer");
    let error = glibc(Some(&needed), None).expect("there is none");
    assert!(error.what().contains("no glibc") && error.remedies().len() == 2, "{error}");
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn this_hosts_glibc_is_known() {
    assert!(host_glibc().expect("it has one") > version("2.2"));
}

#[test]
fn missing_features_are_all_named() {
    let features = ["avx2", "avx512f", "avx512vl", "odd"].map(str::to_owned).to_vec();
    let mut cpu = Cpu { target_cpu: Some("x86-64-v4".to_owned()), features: Some(features) };
    let old = |name: &str| if name == "odd" { None } else { Some(name == "avx2") };
    let error = processor(&cpu, old).expect("it lacks two");
    assert_eq!(
        error.what(),
        "this processor lacks avx512f, avx512vl, for which the benchmarks were built (x86-64-v4)"
    );
    assert!(error.to_string().contains("--target-cpu"), "{error}");
    assert_eq!(processor(&cpu, |_| Some(true)), None);
    cpu.features = None;
    assert_eq!(processor(&cpu, |_| Some(false)), None);
}

#[test]
fn a_path_that_the_loader_would_split_is_refused() {
    for path in ["/a:b/lib", "/a;b/lib"] {
        let error = joined(Path::new(path)).expect_err(path);
        assert!(error.what().contains(path) && !error.remedies().is_empty(), "{error}");
    }
    let path = joined(Path::new("/a b/lib")).expect("spaces are fine");
    assert!(path.to_string_lossy().starts_with("/a b/lib"), "{path:?}");
}

#[test]
fn libraries_that_are_missing_or_old_are_named_once() {
    let trace = |missing: &[&str], old: &[&str]| {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Trace { missing: set(missing), too_old: set(old), ..Trace::default() }
    };
    let line = "x: version `GLIBCXX_3.4.30' not found (required by x)";
    let found = unloaded(&[trace(&["libz.so.1"], &[line]), trace(&["libz.so.1"], &[])]);
    let [missing, old] = &found[..] else { panic!("{found:?}") };
    assert!(missing.what().contains("this host has no libz.so.1"), "{missing}");
    assert!(old.what().contains(line), "{old}");
    assert!(found.iter().all(|error| !error.remedies().is_empty()), "{found:?}");
}

#[test]
fn cases_of_a_gpu_need_its_driver() {
    let with = |version: &str| Driver { evidence: "/proc/x".into(), version: Some(version.into()) };
    let (old, new) = (with("535.104.05"), with("580.65.06"));
    assert_eq!(driver(None, 0, None), None);
    assert_eq!(driver(Some("13.0"), 0, None), None);
    assert_eq!(driver(Some("13.0"), 3, Some(&new)), None);
    assert_eq!(driver(Some("12.8"), 3, Some(&old)), None);
    for (cuda, found, what) in [
        (None, Some(&new), "3 cases are of a GPU, and the bundle's libtorch is without CUDA"),
        (Some("13.0"), None, "3 cases are of a GPU, and this host has no NVIDIA driver"),
        (Some("13.0"), Some(&old), "the NVIDIA driver is 535, and CUDA 13.0 needs 580 or newer"),
    ] {
        let error = driver(cuda, 3, found).expect(what);
        assert_eq!(error.what(), what);
        assert!(!error.remedies().is_empty(), "{what}");
    }
}

#[test]
fn a_host_without_a_shell_on_the_path_is_told() {
    assert_eq!(programs(OsStr::new("/nowhere:/bin")), None);
    let error = programs(OsStr::new("/nowhere")).expect("they are not there");
    assert!(error.what().starts_with("sh, cat not on the PATH"), "{error}");
    assert!(error.to_string().contains("export PATH="), "{error}");
}

#[test]
fn a_host_without_proc_is_told() {
    assert_eq!(proc(Path::new("/proc/self/exe")), None);
    let error = proc(Path::new("/nowhere/exe")).expect("it is not there");
    assert!(error.to_string().contains("mount -t proc"), "{error}");
}

#[test]
fn every_error_names_its_way_out() {
    let cpu = Cpu {
        target_cpu: Some("x86-64-v4".to_owned()),
        features: Some(["avx512bw", "avx512f"].map(str::to_owned).to_vec()),
    };
    let old = glibc(Some(&version("2.34")), Some(&version("2.28"))).expect("it is older");
    let slow = processor(&cpu, |_| Some(false)).expect("it lacks both");
    let expected = "\
error: this host has glibc 2.28, and the bundle needs glibc 2.34 or newer
  help: run it on a newer system or in a container of one
  help: or make the bundle on an older system
error: this processor lacks avx512bw, avx512f, for which the benchmarks were built (x86-64-v4)
  help: run it on a processor that has them
  help: or make the bundle for this one: cargo torch-bench bundle --target-cpu x86-64-v2 …
";
    assert_eq!(format!("{old}{slow}"), expected);
}
