//! `bench`, `test`, `doctor` and the command line, with a cargo that only writes down its arguments.
#![cfg(unix)]

#[allow(dead_code, reason = "each test program uses its own part")]
mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Outcome, Scratch};

const REPORT: &str = "run --quiet --release --package criterion-report -- show";
const PROGRAM: &str = "run --quiet --release --package criterion-report --";
/// The config as the run gets it when something is overridden.
const COPY: &str = "target/xtask/kernels/default.yml";

/// Where, and with what, cargo was run.
fn calls(scratch: &Scratch) -> Vec<String> {
    let place = format!("{}: ", scratch.clone_dir().display());
    scratch
        .log("cargo-calls")
        .iter()
        .map(|call| call.strip_prefix(&place).expect("cargo runs in the root").to_owned())
        .collect()
}

fn provisioned() -> Scratch {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    scratch
}

#[test]
fn bench_measures_and_then_reports() {
    let scratch = provisioned();
    let mut bench = scratch.xtask(&["bench", "--bench", "inference", "--", "int8wo"]);
    bench.current_dir(scratch.clone_dir().join("crates/inner")).env("LIBTORCH", scratch.link());
    let outcome = Outcome::of(bench);
    outcome.assert_fine();
    assert_eq!(outcome.stderr, "", "setup had nothing to do, and says nothing");
    assert_eq!(calls(&scratch), ["bench --bench inference -- int8wo", REPORT]);
    let expected = format!("LIBTORCH={}", scratch.link().display());
    assert!(scratch.log("cargo-environment").iter().all(|line| *line == expected));
}

#[test]
fn bench_provisions_first() {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    fs::remove_file(scratch.link()).expect("unlink");
    // No --cpu here: on a machine with a driver this takes the other flavour, and links it as well.
    let outcome = scratch.run(&["bench"]);
    outcome.assert_fine();
    assert!(outcome.stderr.contains("linked as .libtorch"), "{outcome:?}");
    assert!(scratch.link().join("version.py").exists());
    assert_eq!(calls(&scratch), ["bench", REPORT]);
}

#[test]
fn without_libtorch_cargo_is_not_run() {
    let scratch = Scratch::new();
    scratch.set("offline", "");
    for command in ["bench", "test"] {
        scratch.run(&[command]).assert_refused(1, &["pip failed"]);
    }
    assert!(calls(&scratch).is_empty());
}

#[test]
fn a_listing_is_followed_by_no_report() {
    let scratch = provisioned();
    scratch.run(&["bench", "--", "--list"]).assert_fine();
    assert_eq!(calls(&scratch), ["bench -- --list"]);
}

#[test]
fn the_first_failure_is_the_exit_code() {
    let scratch = provisioned();
    scratch.set("fail", "101");
    scratch.run(&["bench"]).assert_refused(101, &["so no report", "cargo criterion-report show"]);
    assert_eq!(calls(&scratch), ["bench"]);
}

#[test]
fn failed_cases_are_reported_and_remain_a_failure() {
    let scratch = provisioned();
    scratch.set("fail", "1");
    scratch.run(&["bench"]).assert_refused(1, &[]);
    let calls = calls(&scratch);
    assert!(calls.len() == 2 && calls[1].ends_with("-- show"), "{calls:?}");
}

/// Provisioned, with a default suite.
fn with_kernels() -> Scratch {
    let scratch = provisioned();
    let folder = scratch.clone_dir().join("configs/kernels");
    fs::create_dir_all(&folder).expect("make the folder of configs");
    fs::write(folder.join("default.yml"), "benchmark_mode: kernels\n").expect("write a config");
    scratch
}

#[test]
fn kernels_are_planned_measured_and_reported() {
    let scratch = with_kernels();
    let quiet = scratch.run(&["kernels"]);
    assert_eq!((quiet.assert_fine().stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    let clone = scratch.clone_dir().display().to_string();
    assert_eq!(
        calls(&scratch),
        [
            format!("{PROGRAM} plan configs/kernels/default.yml"),
            "bench --bench kernels --".to_owned(),
            format!("{PROGRAM} kernels --latest --output-dir {clone}/reports"),
        ]
    );
    assert_eq!(scratch.log("cargo-configs"), ["unset"], "what it takes by itself");
    assert!(!scratch.clone_dir().join(COPY).exists());
}

#[test]
fn options_of_kernels_go_where_they_belong() {
    let scratch = with_kernels();
    let line = "kernels --iters 30 --precision fp32,fp16 --save-baseline b --compare-to a \
                --history old --fail-on regression --output-dir out --verbose poisson";
    for folder in ["target/criterion-torch/a", "old"] {
        fs::create_dir_all(scratch.clone_dir().join(folder)).expect("make a folder");
    }
    let outcome = scratch.run(&line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(outcome.assert_fine().stdout, "what was found\n");
    let clone = scratch.clone_dir().display().to_string();
    assert_eq!(
        calls(&scratch),
        [
            format!("{PROGRAM} plan {COPY} --filter poisson"),
            "bench --bench kernels -- --save-baseline b poisson".to_owned(),
            format!(
                "{PROGRAM} kernels --latest --output-dir {clone}/out --compare-to a \
                 --history {clone}/old --fail-on regression --filter poisson"
            ),
        ]
    );
    assert_eq!(scratch.log("cargo-configs"), [COPY]);
    let config = fs::read_to_string(scratch.clone_dir().join(COPY)).expect("a config was written");
    assert_eq!(
        config,
        "benchmark_mode: kernels\n\n# Asked for on the command line of `cargo xtask kernels`.\n\
         override:\n  iterations: {timed: 30}\n  precisions: [\"fp32\", \"fp16\"]\n"
    );
}

#[test]
fn failed_kernels_are_reported_and_what_did_not_run_is_not() {
    let scratch = with_kernels();
    scratch.set("fail", "1");
    scratch.run(&["kernels"]).assert_refused(1, &[]);
    assert_eq!(calls(&scratch).len(), 3, "the report follows failed cases");
    scratch.set("fail", "101");
    scratch.set("fail-build", "101");
    scratch.run(&["kernels"]).assert_refused(101, &["cargo bench failed", "so no report"]);
    assert_eq!(calls(&scratch).len(), 6, "and not what could not be built");
    scratch.set("fail-plan", "2");
    scratch.run(&["kernels", "--precision", "fp33"]).assert_refused(2, &[]);
    assert_eq!(calls(&scratch).len(), 7, "a mistake is found before anything is built");
}

#[test]
fn a_run_that_dies_is_reported_and_says_so() {
    let scratch = with_kernels();
    scratch.set("fail", "101");
    scratch.run(&["kernels"]).assert_refused(1, &["the run died before its end", "101"]);
    let calls = calls(&scratch);
    assert_eq!(calls.len(), 4, "{calls:?}");
    assert_eq!(calls[2], "bench --bench kernels --no-run", "it is no build that failed");
    assert!(calls[3].contains("kernels --latest"), "{calls:?}");
}

#[test]
fn what_to_compare_with_is_looked_for_before_anything_is_measured() {
    let scratch = with_kernels();
    for (line, word) in [
        ("--compare-to main", "nor a baseline of that name"),
        ("--compare-to ./earlier", "nor a baseline of that name"),
        ("--history old", "--history: there is no folder"),
    ] {
        let words: Vec<&str> = std::iter::once("kernels").chain(line.split(' ')).collect();
        scratch.run(&words).assert_refused(2, &[word]);
    }
    assert!(calls(&scratch).is_empty());
    for folder in ["target/criterion-torch/main", "earlier", "old"] {
        fs::create_dir_all(scratch.clone_dir().join(folder)).expect("make a folder");
    }
    scratch.run(&["kernels", "--compare-to", "main", "--history", "old"]).assert_fine();
    scratch.run(&["kernels", "--compare-to", "./earlier"]).assert_fine();
}

#[test]
fn configs_of_ones_own_are_not_overridden() {
    let scratch = with_kernels();
    let with = |arguments: &[&str]| {
        let mut kernels = scratch.xtask(arguments);
        kernels.env("BENCH_CONFIG", "my.yml:other.yml");
        Outcome::of(kernels)
    };
    with(&["kernels", "--seed", "1"]).assert_refused(2, &["BENCH_CONFIG is", "unset BENCH_CONFIG"]);
    assert!(calls(&scratch).is_empty());
    with(&["kernels"]).assert_fine();
    assert_eq!(calls(&scratch)[0], format!("{PROGRAM} plan my.yml other.yml"));
    assert_eq!(scratch.log("cargo-configs"), ["my.yml:other.yml"]);
}

/// The aliases are the command with options, and take further ones, of which the last counts.
#[test]
fn quick_and_full_are_the_same_command_with_other_iterations() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cargo/config.toml");
    let config = fs::read_to_string(file).expect("the clone has a .cargo/config.toml");
    for (alias, iterations) in
        [("bench-quick", "{warmup: 2, timed: 10}"), ("bench-full", "{warmup: 3, timed: 30}")]
    {
        let line = config.lines().find_map(|line| line.strip_prefix(&format!("{alias} = ")));
        let line = line.expect("the alias is there").trim_matches('"');
        let arguments = line.strip_prefix("xtask ").expect("it is a command of xtask");
        let mut arguments: Vec<&str> = arguments.split_whitespace().collect();
        arguments.extend(["--seed", "7", "poisson"]);
        let scratch = with_kernels();
        scratch.run(&arguments).assert_fine();
        let config = fs::read_to_string(scratch.clone_dir().join(COPY)).expect("written");
        let expected = format!("override:\n  iterations: {iterations}\n  seed: 7\n");
        assert!(config.ends_with(&expected), "{config}");
        assert!(calls(&scratch)[1].ends_with(" -- poisson"));
    }
}

#[test]
fn test_covers_the_workspace() {
    let scratch = provisioned();
    scratch.run(&["test", "--", "--nocapture"]).assert_fine();
    assert_eq!(calls(&scratch), ["test --workspace -- --nocapture"]);
}

#[test]
fn exhaustive_tests_are_those_that_are_ignored_otherwise() {
    let scratch = provisioned();
    scratch.run(&["test", "--exhaustive", "exp_is"]).assert_fine();
    scratch.run(&["test", "--exhaustive", "--", "--nocapture"]).assert_fine();
    let test = "test --release --package criterion-torch --lib";
    let called = ["exp_is -- --ignored", "-- --nocapture --ignored"];
    assert_eq!(calls(&scratch), called.map(|it| format!("{test} {it}")));
}

/// The command runs the library's alone.
#[test]
fn ignored_tests_are_all_in_the_library() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let listed = Command::new("git")
        .args(["grep", "-lE", r"^\s*#\[ignore", "--", "*.rs"])
        .current_dir(root)
        .output()
        .expect("git is there");
    let listed = String::from_utf8(listed.stdout).expect("paths are text");
    assert!(listed.lines().count() > 1, "{listed}");
    assert!(listed.lines().all(|path| path.starts_with("src/")), "{listed}");
}

#[test]
fn skipped_tests_are_counted_at_the_end() {
    let scratch = provisioned();
    let none = scratch.run(&["test"]);
    assert_eq!(none.assert_fine().stderr, "no test was skipped\n");
    // Twice by the same test, as where it looks again for each dtype.
    let b = "skipped: b::second: no CUDA device\n";
    scratch.set("skips", &format!("{b}{b}skipped: a::first: no compiler: not found\n"));
    scratch.set("fail", "101");
    let some = scratch.run(&["test"]);
    assert_eq!(some.code, Some(101));
    let (a, b) = ("  a::first: no compiler: not found\n", "  b::second: no CUDA device\n");
    assert_eq!(some.stderr, format!("2 tests were skipped:\n{a}{b}"));
}

/// A config in the clone, and the call that compares it.
fn comparable(scratch: &Scratch) -> String {
    let config = scratch.clone_dir().join("my.yml");
    fs::write(&config, "").expect("write a config");
    format!("bench --bench self_test -- torchao {}", config.display())
}

#[test]
fn compare_torchao_provisions_a_python_once_and_compares_with_it() {
    let scratch = provisioned();
    let call = comparable(&scratch);
    let first = scratch.run(&["compare-torchao", "my.yml"]);
    first.assert_fine();
    assert!(first.stderr.contains("installing torchao 0.17.0 and torch 2.11.0"), "{first:?}");
    let again = scratch.run(&["compare-torchao", "my.yml", "--filter", "int8wo"]);
    again.assert_fine();
    assert_eq!(again.stderr, "", "nothing is left to do");

    assert_eq!(calls(&scratch), [call.clone(), format!("{call} --filter int8wo")]);
    let python = scratch.cache().join("torchao-0.17.0-python3.12/bin/python");
    let with = format!("{} passive", python.display());
    assert_eq!(scratch.log("cargo-python"), [with.clone(), with]);
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu", "torchao-0.17.0-python3.12"]);
    let [_, install] = &scratch.installs()[..] else { panic!("{:?}", scratch.installs()) };
    assert!(install.contains(" torchao==0.17.0") && install.contains(" numpy=="), "{install}");
    assert!(install.contains("/lib/python3.12/site-packages"), "{install}");
}

#[test]
fn compare_torchao_takes_a_python_that_is_named_and_has_both() {
    let scratch = provisioned();
    comparable(&scratch);
    let python = scratch.python();
    let named = python.display().to_string();
    scratch.run(&["compare-torchao", "my.yml", "--python", &named]).assert_fine();
    let mut by_variable = scratch.xtask(&["compare-torchao", "my.yml"]);
    by_variable.env("SELF_TEST_PYTHON", &python).env("OMP_WAIT_POLICY", "active");
    Outcome::of(by_variable).assert_fine();
    let with = |policy: &str| format!("{named} {policy}");
    assert_eq!(scratch.log("cargo-python"), [with("passive"), with("active")]);

    scratch.set("versions", "2.11.0 0.14.1\n");
    let said = ["it has torch 2.11.0 and torchao 0.14.1, wanted 2.11.0 and 0.17.0", "leave out"];
    scratch.run(&["compare-torchao", "my.yml", "--python", &named]).assert_refused(1, &said);
    let nowhere = ["compare-torchao", "my.yml", "--python", "/nowhere/python"];
    scratch.run(&nowhere).assert_refused(1, &["--python: /nowhere/python cannot be used"]);
    assert_eq!((calls(&scratch).len(), scratch.installs().len()), (2, 1));
}

#[test]
fn compare_torchao_leaves_nothing_half_installed_and_repairs() {
    let scratch = provisioned();
    comparable(&scratch);
    scratch.set("versions", "2.11.0 0.16.0\n");
    let outcome = scratch.run(&["compare-torchao", "my.yml"]);
    outcome.assert_refused(1, &["pip succeeded, but", "torchao 0.16.0", "--python /path/to/it"]);
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu"]);
    scratch.unset("versions");

    scratch.set("offline", "");
    let outcome = scratch.run(&["compare-torchao", "my.yml"]);
    outcome.assert_refused(1, &["pip failed", "--python /path/to/it"]);
    scratch.unset("offline");

    scratch.run(&["compare-torchao", "my.yml"]).assert_fine();
    let installs = scratch.installs().len();
    scratch.set("broken", "");
    let passing = ["cannot be used: exit status: 1: OSError: no memory", "rm -r ", "--python"];
    scratch.run(&["compare-torchao", "my.yml"]).assert_refused(1, &passing);
    scratch.unset("broken");
    scratch.run(&["compare-torchao", "my.yml"]).assert_fine();
    assert_eq!(scratch.installs().len(), installs, "nothing was installed again");

    let place = scratch.cache().join("torchao-0.17.0-python3.12");
    fs::remove_file(place.join("bin/python")).expect("break it");
    let outcome = scratch.run(&["compare-torchao", "my.yml"]);
    outcome.assert_fine();
    assert!(outcome.stderr.contains("has not both releases, installing them again"), "{outcome:?}");
    assert!(place.join("bin/python").exists());
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu", "torchao-0.17.0-python3.12"]);
}

#[test]
fn compare_torchao_wants_a_config_that_is_there() {
    let scratch = Scratch::new();
    let missing = scratch.run(&["compare-torchao", "missing.yml"]);
    missing.assert_refused(1, &["cannot read missing.yml"]);
    assert!(scratch.installs().is_empty(), "nothing is downloaded before that is known");
}

#[test]
fn the_doctor_names_gaps_and_their_remedies() {
    let scratch = Scratch::new();
    let outcome = scratch.run(&["doctor"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    for text in ["missing  libtorch      .libtorch is not there yet", "-> cargo xtask setup\n"] {
        assert!(outcome.stdout.contains(text), "{}", outcome.stdout);
    }
    assert!(!scratch.cache().exists(), "the doctor changes nothing");

    scratch.run(&["setup", "--cpu"]).assert_fine();
    scratch.set("no-pip", "");
    let outcome = scratch.run(&["doctor"]);
    let found = format!(" in {}", scratch.cache().join("torch-2.11.0-cpu/torch").display());
    for text in ["ok       libtorch      2.11.0", &found, ", by .libtorch\n"] {
        assert!(outcome.stdout.contains(text), "{}", outcome.stdout);
    }
    let torch = "python3 (by the PATH): no torch, no triton; wanted torch 2.11.0, triton 3.6.0";
    assert!(outcome.stdout.contains(torch), "{}", outcome.stdout);
    let pip = "warning  pip           python3 (3.12.1) has no pip (ends with exit status: 1)\n";
    assert!(outcome.stdout.contains(pip), "pip is done its work: {}", outcome.stdout);

    scratch.set("packages", "torch 2.11.0+cu130\ntriton 3.6.0\n");
    let mut doctor = scratch.xtask(&["doctor"]);
    doctor.env("CRITERION_TORCH_PYTHON", scratch.python());
    let outcome = Outcome::of(doctor);
    let named =
        format!("{} (by CRITERION_TORCH_PYTHON): torch 2.11.0+", scratch.python().display());
    for text in [&named, "compiled      0 packages, 0 kB of 4.3 GB at most\n"] {
        assert!(outcome.stdout.contains(text), "{}", outcome.stdout);
    }

    let mut doctor = scratch.xtask(&["doctor"]);
    doctor.env("LIBTORCH", scratch.empty());
    let outcome = Outcome::of(doctor);
    assert!(outcome.stdout.contains("-> unset LIBTORCH"), "{}", outcome.stdout);
}

#[test]
fn the_doctor_waits_for_no_program_that_hangs() {
    let scratch = Scratch::new();
    // Both leave a child behind that holds their pipes.
    scratch.program("nvidia-smi", "sleep 100000 & wait");
    scratch.program("slow-python", "sleep 100000 & wait");
    let mut doctor = scratch.xtask(&["doctor"]);
    doctor.env("CRITERION_TORCH_ASK_S", "0.2");
    doctor.env("CRITERION_TORCH_PYTHON", scratch.python().with_file_name("slow-python"));
    let outcome = Outcome::of(doctor);
    for text in [
        "warning  devices       nvidia-smi -L: no answer in 0.2 s, killed\n",
        "slow-python (by CRITERION_TORCH_PYTHON) no answer in 0.2 s, killed: compiled variants",
    ] {
        assert!(outcome.stdout.contains(text), "{}", outcome.stdout);
    }
    assert!(outcome.stdout.contains("needed thing"), "it came to its end: {}", outcome.stdout);
}

#[test]
fn the_doctor_says_each_line_when_it_is_known() {
    use std::io::BufRead as _;

    let scratch = Scratch::new();
    // Hangs until the lines before it have been read; only then is the folder taken away from it.
    let go = scratch.fake("go");
    scratch
        .program("nvidia-smi", &format!("while test ! -e {}; do sleep 0.02; done", go.display()));
    let mut doctor = scratch.xtask(&["doctor"]);
    let mut doctor = doctor.stdout(std::process::Stdio::piped()).spawn().expect("run xtask");
    let lines = std::io::BufReader::new(doctor.stdout.take().expect("piped")).lines();
    let mut seen = String::new();
    for line in lines {
        let line = line.expect("text");
        if line.contains("CUDA ") {
            scratch.set("go", "");
        }
        seen += &(line + "\n");
    }
    doctor.wait().expect("it ends");
    assert!(go.exists(), "the line before the devices came: {seen}");
    assert!(seen.contains("ok       devices"), "not before nvidia-smi was killed: {seen}");
}

#[test]
fn help_and_mistakes_on_the_command_line() {
    let scratch = Scratch::new();
    let help = scratch.run(&["--help"]);
    help.assert_fine();
    for command in
        ["setup", "bench", "kernels", "test", "compare-torchao", "python", "cache", "doctor"]
    {
        assert!(help.stdout.contains(&format!("\n  {command} ")), "{}", help.stdout);
        let own = scratch.run(&[command, "--help"]);
        own.assert_fine();
        assert!(own.stdout.starts_with(&format!("cargo xtask {command}")), "{}", own.stdout);
    }
    scratch.run(&["setup", "--cpu", "--cuda"]).assert_refused(2, &["--cpu or --cuda, not both"]);
    scratch.run(&["build"]).assert_refused(2, &["unknown command \"build\""]);
}
