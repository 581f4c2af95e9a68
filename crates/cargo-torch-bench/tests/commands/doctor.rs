//! `doctor`: gaps, their remedies, and programs that hang.

use crate::common::{Outcome, Scratch};

#[test]
fn the_doctor_names_gaps_and_their_remedies() {
    let scratch = Scratch::new();
    let outcome = scratch.run(&["doctor"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let unnamed = "missing  LIBTORCH      neither set nor named by ";
    for text in
        ["missing  libtorch      .libtorch is not there yet", "-> cargo xtask setup\n", unnamed]
    {
        assert!(outcome.stdout.contains(text), "{}", outcome.stdout);
    }
    assert!(!scratch.cache().exists(), "the doctor changes nothing");
    let installed = scratch.run(&["torch-bench", "doctor"]).stdout;
    assert!(installed.contains("-> cargo torch-bench setup\n"), "{installed}");

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
    let outcome = Outcome::run(doctor);
    let named =
        format!("{} (by CRITERION_TORCH_PYTHON): torch 2.11.0+", scratch.python().display());
    for text in [&named, "compiled      0 packages, 0 kB of 4.3 GB at most\n"] {
        assert!(outcome.stdout.contains(text), "{}", outcome.stdout);
    }

    let mut doctor = scratch.xtask(&["doctor"]);
    doctor.env("LIBTORCH", scratch.empty());
    let outcome = Outcome::run(doctor);
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
    let outcome = Outcome::run(doctor);
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
