use super::*;
use crate::program::program;

fn skipped(variable: &str) -> String {
    match find(Some(variable.to_owned())) {
        Err(Refusal::Skipped(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_a_compiler_it_is_skipped_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let mute = program(folder.path().join("mute"), "#!/bin/sh\nexit 3\n").display().to_string();
    for (program, why) in [("/nowhere/c++", "No such file"), (mute.as_str(), "exit status: 3")] {
        let text = skipped(program);
        let start = format!("the C++ compiler {program} does not run: {why}");
        assert!(
            text.starts_with(&start) && text.contains("; install g++, or set CXX to"),
            "{text}"
        );
    }
}

#[test]
fn the_first_line_is_the_version_and_without_a_variable_it_is_the_systems() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#!/bin/sh\n[ $1 = --version ] && echo one 1.0 && echo two\n";
    let program = program(folder.path().join("c++"), text);
    let program = program.display().to_string();
    let version = "one 1.0".to_owned();
    assert_eq!(find(Some(program.clone())), Ok(Compiler { program, version }));
    assert_eq!(find(Some(String::new())), find(None));
}

#[test]
fn what_a_distribution_adds_is_left_out_of_the_short_form() {
    for (version, short) in [
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", "g++ 12.2.0"),
        ("g++ (GCC) 14.2.1 20240912", "g++ 14.2.1 20240912"),
        ("Debian clang version 14.0.6", "Debian clang version 14.0.6"),
        ("clang version 18.1.3 (https://x y)", "clang version 18.1.3"),
    ] {
        let compiler = Compiler { program: String::new(), version: version.to_owned() };
        assert_eq!(compiler.short(), short);
    }
}

const X86: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n\
    model name\t: AMD EPYC\nstepping\t: 1\ncpu MHz\t\t: 2700.1\nflags\t\t: fpu avx2 sse\n\n\
    processor\t: 1\nvendor_id\t: GenuineIntel\n";

#[test]
fn a_target_is_model_and_features_and_not_what_changes_from_minute_to_minute() {
    let target = of_cpuinfo(X86);
    let expected = "vendor_id: AuthenticAMD\ncpu family: 26\nmodel: 2\nstepping: 1\n\
        flags: avx2 fpu sse\n";
    assert_eq!(target, expected);
    assert_eq!(of_cpuinfo(&X86.replace("2700.1", "3000").replace("fpu avx2", "avx2 fpu")), target);
    assert_ne!(of_cpuinfo(&X86.replace("avx2", "avx512f")), target);
    assert_ne!(of_cpuinfo(&X86.replace(": 26", ": 25")), target);
    let arm = "processor : 0\nBogoMIPS : 2.0\nFeatures : fp asimd\nCPU implementer : 0x41\n\
        CPU part : 0xd40\n";
    assert_eq!(of_cpuinfo(arm), "Features: asimd fp\nCPU implementer: 0x41\nCPU part: 0xd40\n");
    assert_eq!(of_cpuinfo(""), "");
}

#[test]
fn a_processor_that_is_not_named_is_none() {
    let named = |text: &str| named("/proc/cpuinfo", Ok(text.to_owned()));
    assert_eq!(named(X86), Ok(of_cpuinfo(X86)));
    let start = "compiled packages are stored per processor, and it is not known: /proc/cpuinfo ";
    let expected = Refusal::Skipped(format!("{start}does not name it"));
    assert_eq!([named(""), named("cache size : 512 KB\n")], [Err(expected.clone()), Err(expected)]);
    let unreadable = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let refusal = super::named("/proc/cpuinfo", Err(unreadable)).unwrap_err();
    let expected = format!("{start}cannot be read: permission denied");
    assert_eq!(refusal, Refusal::Skipped(expected));
}

#[test]
fn the_vectors_that_libtorch_is_told_to_keep_to_are_part_of_the_target() {
    let of = |capability: Option<&str>| described("model: 2\n", capability.map(Into::into));
    let without = format!("{} {}\nmodel: 2\n", std::env::consts::OS, std::env::consts::ARCH);
    assert_eq!(of(Some("avx2")), format!("{without}ATEN_CPU_CAPABILITY=avx2\n"));
    assert_eq!(of(None), without);
}

#[test]
#[cfg(target_os = "linux")]
fn this_machine_is_known() {
    let target = target(tch::Device::Cpu).unwrap();
    assert!(target.lines().count() >= 4, "{target}");
    assert!(target.starts_with(&format!("linux {}\n", std::env::consts::ARCH)), "{target}");
}
