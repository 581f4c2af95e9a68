//! The summary for people, and the command.

use super::*;

#[test]
fn the_summary_of_a_machine() {
    assert_snapshot!("calibration-summary", write(&profile(&REQUEST), None, false));
}

#[test]
fn the_summary_fits_a_hundred_columns_and_colour_changes_nothing_but_colour() {
    let profile = profile(&REQUEST);
    let plain = write(&profile, None, false);
    assert!(plain.contains("mkldnn-unfused"), "the longest variant is there");
    for (columns, width) in [(None, 100), (Some(20), 60), (Some(60), 60), (Some(120), 120)] {
        let text = write(&profile, columns, false);
        // The name of a place is as long as it is.
        let place = |line: &&str| line.starts_with("strategy on ");
        let wide = text.lines().filter(|line| line.chars().count() > width);
        assert_eq!(wide.filter(|line| !place(line)).collect::<Vec<_>>(), [""; 0], "{columns:?}");
        assert!(text.lines().filter(place).all(|line| line.chars().count() <= 100));
        assert!(text.starts_with(&format!("{}\n", "=".repeat(width))), "{columns:?}");
    }
    let codes = regex::Regex::new("\x1b\\[[0-9]+m").expect("a valid pattern");
    let coloured = write(&profile, None, true);
    assert_ne!(coloured, plain);
    assert_eq!(codes.replace_all(&coloured, ""), plain);
}

#[test]
fn the_summary_of_an_old_file_is_without_its_lies() {
    let output = run(&["--load", old("old-fusion.json").to_str().expect("text")]);
    assert!(output.status.success(), "{}", err(&output));
    assert_snapshot!("calibration-old-summary", stdout(&output));
}

#[test]
fn cautions_are_in_the_file_and_below_the_tables() {
    let noted = |line: &str| line.replace("\"notes\":[]", "\"notes\":[\"the fan was loud\"]");
    for target in ["calibration", "fusion"] {
        let (_folder, report) = edited_in(target, noted);
        let profile = calibrate(&report, &REQUEST).expect("a profile");
        let loud = |params: &serde_json::Map<String, Value>| {
            let cautions = params["cautions"].as_array().expect("a list");
            cautions.iter().any(|it| it == "the fan was loud")
        };
        let of_target = target == "calibration";
        let operations = &profile.operation_profiles;
        assert!(operations.values().all(|it| loud(&it.extra_params) == of_target));
        assert!(profile.fusions().all(|it| loud(&it.extra_params) != of_target));
        let summary = write(&profile, None, false);
        assert_eq!(summary.matches("the fan was loud").count(), 1, "{summary}");
    }
}

#[test]
fn paint_is_by_the_benefit_alone() {
    let coloured = write(&profile(&REQUEST), None, true);
    let line = |text: &str| {
        let line = coloured.lines().find(|line| line.contains(text));
        line.unwrap_or_else(|| panic!("{text} is not in {coloured}")).to_owned()
    };
    assert!(line("1.84× [1.80, 1.89]").contains("\u{1b}[32m1.84×"), "strong");
    assert!(line("0.71× [0.70, 0.72]").contains("\u{1b}[31m0.71×"), "slower");
    assert!(line("0.97× [0.92, 1.01]").contains("\u{1b}[33m0.97×"), "inconclusive");
    // Its interval excludes 1, by less than upstream calls a benefit.
    let minimal = line("1.003× [1.001, 1.075]");
    assert!(minimal.contains("  1.003×") && minimal.contains("minimal"), "{minimal:?}");
    assert!(!coloured.contains("faster"));
}

#[test]
fn errors_say_what_to_do() {
    assert_snapshot!(err(&run_on("two-siblings", &["--hardware", "x"])), @r"
    error: no calibration of matmul, memory, launch, call with a time: no operation that was recorded has one; measure first with `cargo bench --bench calibration`
    ");
    assert_snapshot!(err(&run_on("calibration", &["--preset", "h-100"])), @r"
    error: unknown preset `h-100`: did you mean `h100`?
    ");
    assert_snapshot!(err(&run_on("calibration", &["--preset", "a100"])), @r"
    error: preset `a100` is for cuda, but the calibration is of cpu: omit --preset
    ");
    assert_snapshot!(err(&run_on("calibration", &["--hardware", "x", "--peak-gflops", "0"])), @r"
    error: invalid value '0' for '--peak-gflops <GFLOP/S>': a peak must be above 0; omit the option to use the measured peak

    For more information, try '--help'.
    ");
    assert_snapshot!(err(&run_on("calibration", &["--hardware", "x", "--device", "cuda"])), @r"
    error: no calibration of matmul, memory, launch, call on cuda with a time: 24 others have one (matmul on cpu, memory on cpu, launch on cpu, call on cpu); ask for these with --operations and --device, or measure with `cargo bench --bench calibration`
    ");
    assert_snapshot!(err(&run_on("probes", &["--hardware", "x", "--device", "cpu", "--operations", "launch"])), @r"
    error: no calibration of launch on cpu with a time: 7 others have one (matmul on cpu, memory on cpu, launch on cuda); ask for these with --operations and --device, or measure with `cargo bench --bench calibration`
    ");
    assert_snapshot!(err(&run_on("calibration", &["--hardware", "x", "--peak-gflops", "-3"])), @r"
    error: invalid value '-3' for '--peak-gflops <GFLOP/S>': a peak must be above 0; omit the option to use the measured peak

    For more information, try '--help'.
    ");
    assert_snapshot!(err(&run_on("calibration", &["--hardware", " "])), @r"
    error: invalid value ' ' for '--hardware <NAME>': the name is empty

    For more information, try '--help'.
    ");
    let mixed = ["--hardware", "x", "--fusion-patterns", "none,linear"];
    assert_snapshot!(err(&run_on("calibration", &mixed)), @r"
    error: --fusion-patterns: `none` cannot be combined with other families
    ");
    assert_snapshot!(err(&run(&["--load", "profile.json", "--baseline", "x"])), @r"
    error: --load prints a profile and reads no results: omit --baseline
    ");
    assert_snapshot!(err(&run(&["--list-presets", "--criterion-dir", "x", "--strict"])), @r"
    error: --list-presets prints the presets and reads no results: omit --strict, --criterion-dir
    ");
    for args in [
        &["--list-presets", "--peak-gflops", "3"][..],
        &["--hardware", "x", "--peak-bandwidth=-3"],
        &["--hardware", "x", "--peak-gflops", "inf"],
        &["--load", "profile.json", "--hardware", "x"],
        &["--load", "profile.json", "--latest"],
        &[],
    ] {
        assert_eq!(run(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn the_profile_goes_to_the_file_and_the_summary_to_the_terminal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("profile.json");
    let path = file.to_str().expect("text");
    let output = run_on("calibration", &["--hardware", "Bench One", "--output", path]);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(stdout(&output), write(&profile(&REQUEST), None, false));
    alike(&Profile::load(&file).expect("a profile"), &profile(&REQUEST));
    let loaded = run(&["--load", path]);
    assert_eq!(stdout(&loaded), stdout(&output), "the file has all that the summary says");
}

#[test]
fn every_preset_is_listed_with_its_sources() {
    let output = run(&["--list-presets"]);
    assert_snapshot!("calibration-presets", stdout(&output));
    assert_eq!(stdout(&output).lines().find(|line| line.chars().count() > 100), None);
}

#[test]
fn records_that_are_not_understood_are_named_beside_the_error() {
    let (folder, _) = edited(|line| line.replace("\"probe\":", "\"prob\":"));
    let criterion = folder.path().join("criterion");
    let output = run(&["--hardware", "x", "--criterion-dir", criterion.to_str().expect("text")]);
    let lines: Vec<&str> = err(&output).lines().collect();
    let (last, records) = lines.split_last().expect("there is an error");
    assert!(last.starts_with("error: no calibration of "), "{last}");
    let (more, records) = records.split_last().expect("there are others");
    assert!(more.ends_with(": and 14 more"), "of the 24 records: {more}");
    assert_eq!(records.len(), 10);
    assert!(records.iter().all(|line| line.contains("unknown record skipped")), "{records:?}");
}
