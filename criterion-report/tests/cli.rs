//! The real program: exit codes, streams, files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{self, err, run, run_on, stdout};
use clap::ValueEnum;
use criterion_report::cli::schema::Schema;
use insta::assert_snapshot;

#[test]
fn schema_prints_the_published_file() {
    for schema in Schema::value_variants() {
        let name = schema.to_possible_value().expect("a name");
        let output = run(&["schema", name.get_name()]);
        assert!(output.status.success(), "{schema:?}: {}", err(&output));
        let published = fs::read_to_string(Path::new("schema").join(schema.file()));
        assert_eq!(stdout(&output), published.expect("readable"), "{schema:?}");
    }
}

#[test]
fn a_dash_is_standard_output_and_no_file() {
    let folder = common::copied("two-siblings");
    let criterion = folder.path().join("criterion");
    let here = tempfile::tempdir().expect("a temporary folder");
    let run = |args: &[&str]| {
        let mut report = Command::new(env!("CARGO_BIN_EXE_criterion-report"));
        let report = report.args(args).arg("--criterion-dir").arg(&criterion);
        report.current_dir(here.path()).output().expect("it starts")
    };
    for args in [&["csv"][..], &["show"], &["html"], &["export", "json"], &["summary"]] {
        let (plain, dash) = (run(args), run(&[args, &["-o", "-"]].concat()));
        assert!(dash.status.success() && !dash.stdout.is_empty(), "{args:?}: {}", err(&dash));
        assert_eq!(stdout(&plain), stdout(&dash), "{args:?}");
    }
    let shard = criterion.to_str().expect("UTF-8");
    let merged = common::run(&["merge", shard, "--plan", "plan.json", "--output", "-"]);
    assert!(!merged.status.success(), "{}", stdout(&merged));
    assert!(err(&merged).contains("name it with --output DIR"), "{}", err(&merged));
    assert_eq!(fs::read_dir(here.path()).expect("a folder").count(), 0);
}

#[test]
fn details_name_the_environment_variables_that_were_set() {
    let folder = common::copied("two-siblings");
    let path = folder.path().join("criterion-torch/new/inference.jsonl");
    let text = fs::read_to_string(&path).expect("readable");
    let set = "\"variables\":{\"LD_PRELOAD\":\"libjemalloc.so\"},\"quiet\":";
    let bare = regex::Regex::new("(\"variables\":\\{[^}]*\\},)?\"quiet\":").expect("a pattern");
    fs::write(&path, &*bare.replace_all(&text, set)).expect("writable");
    let criterion = folder.path().join("criterion");
    let show = ["show", "--details", "--criterion-dir", criterion.to_str().expect("UTF-8")];
    let shown = common::run(&show);
    assert!(stdout(&shown).contains("LD_PRELOAD=libjemalloc.so"), "{}", stdout(&shown));
}

#[test]
fn exit_codes() {
    for (fixture, args, code) in [
        ("two-siblings", &["show"][..], 0),
        ("two-siblings", &["show", "--strict"], 0),
        ("every-outcome", &["csv"], 0),
        ("every-outcome", &["csv", "--strict"], 1),
        ("stale-estimate", &["show", "--strict"], 1),
        ("mixed-estimate", &["show", "--strict"], 1),
        ("earlier-runs", &["show", "--strict"], 1),
        ("earlier-runs", &["csv", "--strict", "--latest"], 0),
        ("earlier-runs", &["show", "--latest", "--filter", "baseline"], 2),
        ("unreached-cases", &["show", "--strict"], 1),
        ("named-baseline", &["show"], 2),
        ("named-baseline", &["show", "--baseline", "main"], 0),
        ("nothing", &["show"], 2),
        ("newer-version", &["csv"], 2),
        ("older-version", &["csv"], 2),
        ("candidate-alone", &["show", "--details", "--strict"], 0),
        ("malformed-line", &["csv"], 2),
        ("two-siblings", &["show", "--filter", "int4wo"], 2),
        ("two-siblings", &["show", "--filter", "("], 2),
        ("two-siblings", &["dashboard", "--torchao-compat", "--seed-format"], 2),
        ("two-siblings", &["dashboard", "--output", "results.jsonl"], 2),
        ("two-configs-one-series", &["dashboard"], 1),
        ("two-configs-one-series", &["dashboard", "--filter", "/nightly/"], 0),
        ("two-siblings", &["shwo"], 2),
    ] {
        let output = run_on(fixture, args);
        assert_eq!(output.status.code(), Some(code), "{fixture} {args:?}: {}", err(&output));
        assert_eq!(output.stderr.is_empty(), code == 0, "{fixture} {args:?}: {}", err(&output));
    }
}

#[test]
fn a_series_of_two_configs_is_refused_and_the_rest_is_written() {
    let one_case_less = "quick|nightly/linear/cpu/baseline";
    let output = run_on("two-configs-one-series", &["dashboard", "--filter", one_case_less]);
    assert_eq!(output.status.code(), Some(1));
    let records: Vec<serde_json::Value> =
        serde_json::from_str(stdout(&output)).expect("a JSON list");
    let ids: BTreeSet<&str> = records
        .iter()
        .filter_map(|record| record["benchmark"]["extra_info"]["full_id"].as_str())
        .collect();
    assert_eq!(ids, ["inference/quick/linear/cpu/int8wo/bf16-1024x1024x1024"].into());
    assert_snapshot!(err(&output), @r"
    refused: `Bfloat16 Fwd Time (ms)` and 10 other metrics of `baseline-1024-1024-1024`: 2 cases of the configs `quick`, `nightly` would become one series on the dashboard:
      inference/quick/linear/cpu/baseline/bf16-1024x1024x1024
      inference/nightly/linear/cpu/baseline/bf16-1024x1024x1024
      choose one with --filter, or those of the latest run with --latest
    ");
    // If every series belongs to two configs, nothing is left to write.
    let all = run_on("two-configs-one-series", &["dashboard"]);
    assert_eq!((stdout(&all).trim(), all.status.code()), ("", Some(1)));
    assert_eq!(err(&all).matches("refused: ").count(), 2, "{}", err(&all));
}

#[test]
fn where_all_series_are_refused_the_notes_are_told_all_the_same() {
    let folder = common::copied("two-configs-one-series");
    let file = folder.path().join("criterion-torch/new/inference.jsonl");
    let read = |file: &Path| fs::read_to_string(file).expect("readable");
    let others =
        read(Path::new("tests/fixtures/every-outcome/criterion-torch/new/inference.jsonl"));
    let skipped = others.lines().find(|line| line.contains(r#""status":"skipped""#));
    let records = format!("{}{}\n", read(&file), skipped.expect("it has one"));
    fs::write(&file, records).expect("writable");
    let criterion = folder.path().join("criterion");
    let output = run(&["dashboard", "--criterion-dir", criterion.to_str().expect("text")]);
    assert_eq!((stdout(&output).trim(), output.status.code()), ("", Some(1)), "{}", err(&output));
    let said = err(&output);
    assert_eq!(said.matches("refused: ").count(), 2, "{said}");
    assert!(said.contains("left out: 1 case: skipped: this libtorch has no CUDA"), "{said}");
}

#[test]
fn piped_output_is_plain() {
    let output = run_on("every-outcome", &["show"]);
    assert!(stdout(&output).contains("1.836×"));
    assert!(!stdout(&output).contains('\x1b'));
    let coloured = run_on("every-outcome", &["show", "--color", "always"]);
    assert!(stdout(&coloured).contains('\x1b'));
}

#[test]
fn a_failed_gate_says_which_cases() {
    let output = run_on("unreached-cases", &["csv", "--strict"]);
    assert!(!stdout(&output).is_empty(), "the file is written all the same");
    assert_snapshot!(err(&output), @r"
    --strict: 3 cases have no time:
      inference/quick/linear/cpu/int8wo/bf16-1024x1024x1024: run 20261120T134000Z-4242 ended before it reached this case; this is from run 20261119T090000Z-17
      inference/quick/linear/cpu/int8dq/bf16-1024x1024x1024: run 20261120T134000Z-4242 ended while this case was running
      inference/quick/linear/cpu/int4wo-32/bf16-1024x1024x1024: run 20261120T134000Z-4242 ended before it reached this case
    ");
}

#[test]
fn rows_of_earlier_runs_are_announced() {
    for format in ["csv", "dashboard"] {
        let note = "note: 1 of 2 rows is of an earlier run than the latest; `--latest` skips it\n";
        let output = run_on("earlier-runs", &[format]);
        assert!(err(&output).contains(note), "{format}: {}", err(&output));
        let latest = run_on("earlier-runs", &[format, "--latest"]);
        assert!(latest.status.success() && latest.stderr.is_empty(), "{}", err(&latest));
        assert!(stdout(&latest).len() < stdout(&output).len());
    }
    let shown = run_on("earlier-runs", &["show", "--latest"]);
    assert!(stdout(&shown).contains("1 case: 1 measured (of 2 recorded)"), "{}", stdout(&shown));
}

#[test]
fn errors_say_what_to_do() {
    assert_snapshot!(err(&run_on("two-siblings", &["show", "--filter", "int4wo"])), @r"
    error: --filter int4wo matches none of 2 recorded cases in tests/fixtures/two-siblings/criterion-torch
      `criterion-report show --columns full-id` lists their ids
    ");
    let escaped = run_on("compiled-modes", &["show", "--filter", "baseline+compile"]);
    let said = r"as a regular expression, that text is 'baseline\+compile'";
    assert!(err(&escaped).contains(said), "{}", err(&escaped));
    assert_snapshot!(err(&run_on("two-siblings", &["dashboard", "-o", "results.jsonl"])), @r"
    error: results.jsonl: the uploader takes only files named *.json; write to a name that ends in .json
    ");
    assert_snapshot!(err(&run_on("named-baseline", &["show"])), @r"
    error: no records: looked for tests/fixtures/named-baseline/criterion-torch/new/*.jsonl
      measure first with `cargo bench`, or say where the results are with --criterion-dir
      baselines that have records: main (choose with --baseline)
    ");
}

#[test]
fn a_file_is_complete_or_untouched() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("results.json");
    let path = file.to_str().expect("text");
    std::fs::write(&file, "before").expect("written");
    assert_eq!(run_on("nothing", &["dashboard", "-o", path]).status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&file).expect("readable"), "before");

    let output = run_on("two-siblings", &["dashboard", "-o", path]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", err(&output));
    assert!(std::fs::read_to_string(&file).expect("readable").starts_with("[\n"));
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("readable").collect();
    assert_eq!(left.len(), 1, "only the file itself");
}

#[test]
fn without_a_revision_gits_reason_is_shown() {
    let folder = common::copied("two-siblings");
    let records = folder.path().join("criterion-torch/new/inference.jsonl");
    let text = std::fs::read_to_string(&records).expect("readable");
    let reason = "fatal: detected dubious ownership in repository at '/x'";
    let revision = r#""git_revision":"1f0c2ab""#;
    assert!(text.contains(revision));
    let text = text.replace(revision, &format!(r#""git_refusal":"{reason}""#));
    std::fs::write(&records, text).expect("written");
    let criterion = folder.path().join("criterion");
    let output = run(&["show", "--criterion-dir", criterion.to_str().expect("UTF-8")]);
    let words: Vec<&str> = stdout(&output).split_whitespace().collect();
    assert!(words.join(" ").contains(&format!("git none ({reason})")), "{}", stdout(&output));
}

#[test]
fn criterion_home_is_found() {
    let output = Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .arg("csv")
        .env("CRITERION_HOME", "tests/fixtures/two-siblings/criterion")
        .output()
        .expect("the program starts");
    assert_eq!(stdout(&output), stdout(&run_on("two-siblings", &["csv"])));
    assert!(output.status.success());
}

#[test]
fn compiled_patterns_and_operators_have_lines_of_their_own() {
    assert_snapshot!("fusion-compiled", stdout(&run_on("compiled-modes", &["fusion"])));
    assert_snapshot!("operators-compiled", stdout(&run_on("compiled-modes", &["operators"])));
    let json = run_on("compiled-modes", &["operators", "--format", "json", "--filter", "composed"]);
    assert_snapshot!("operators-compiled-json", stdout(&json));
    let json =
        run_on("compiled-modes", &["fusion", "--format", "json", "--filter", "unfused.compile"]);
    assert_snapshot!("fusion-compiled-json", stdout(&json));
}

#[test]
fn a_plan_says_how_much_is_compiled() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = folder.path().join("compiled.yml");
    let text = "quantization_config_recipe_names: [int8wo]\npacked: false\n\
                model_params: { compile: [default, max-autotune] }\n";
    std::fs::write(&config, text).expect("written");
    let planned = plan(&[config.to_str().expect("text")]);
    let totals = stdout(&planned).lines().rev().nth(1).expect("totals");
    assert!(totals.starts_with("6 cases in 1 group, 4 of them compiled; about "), "{totals}");
    assert!(totals.contains(" to measure once compiled, "), "{totals}");
}

#[test]
fn a_plan_says_what_upstream_has_removed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = folder.path().join("legacy.yml");
    let text = "quantization_config_recipe_names: [fp6, mxfp4wo]\nmodel_params: {}\n";
    std::fs::write(&config, text).expect("written");
    let config = config.to_str().expect("text");
    let planned = plan(&[config]);
    let line = |word: &str| {
        let mut lines = stdout(&planned).lines();
        lines.find(|line| line.trim_start().starts_with(word)).expect("a line of it").to_owned()
    };
    assert!(line("shape name").ends_with("time  legacy"), "{}", stdout(&planned));
    assert!(line("fp6/").ends_with("torchao 0.15.0"), "{}", stdout(&planned));
    assert!(!line("mxfp4wo/").contains("torchao"), "{}", stdout(&planned));
    let json = plan(&[config, "--format", "json"]);
    let cases: serde_json::Value = serde_json::from_str(stdout(&json)).expect("JSON");
    let legacy: Vec<_> = cases.as_array().expect("cases").iter().map(|it| &it["legacy"]).collect();
    assert_eq!(legacy, [&serde_json::Value::Null, &"0.15.0".into(), &serde_json::Value::Null]);
}

#[test]
fn a_plan_estimates_the_time_of_a_kernel_by_its_first_run() {
    let package = tempfile::tempdir().expect("a temporary folder");
    let kernel = "pub struct ProblemSize;\npub fn run_benchmark(size: &ProblemSize) -> \
                  Result<f32, Refusal> { Ok(0.0) }\n";
    std::fs::write(package.path().join("Cargo.toml"), "").expect("written");
    std::fs::write(package.path().join("mine.rs"), kernel).expect("written");
    let config = package.path().join("kernels.yml");
    std::fs::write(&config, "benchmark_mode: kernels\nkernel_paths: [.]\n").expect("written");
    let config = config.to_str().expect("text");
    let table = plan(&[config]);
    let lines: Vec<&str> = stdout(&table).lines().collect();
    let cells: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(cells[..4], ["kernel/f32-default", "default", "-", "-"]);
    let [totals, from] = lines[lines.len() - 2..] else { panic!("{lines:?}") };
    assert!(totals.starts_with("1 case in 1 group; about ") && totals.ends_with(" s to measure"));
    assert!(from.starts_with("estimated from defaults: a first run"), "{from}");
    let json = plan(&[config, "--format", "json"]);
    let cases: serde_json::Value = serde_json::from_str(stdout(&json)).expect("JSON");
    assert!(cases[0]["memory_bytes"].is_null(), "{cases}");
    assert_eq!(cases[0]["seconds_from"], "defaults");
    let id = cases[0]["full_id"].as_str().expect("an id");

    // A measured record, copied under the case's id, stands for an earlier run of the case.
    let recorded = "tests/fixtures/probes/criterion-torch/new/calibration.jsonl";
    let lines = std::fs::read_to_string(recorded).expect("readable");
    let line = lines.lines().next().expect("a line");
    let mut record: serde_json::Value = serde_json::from_str(line).expect("JSON");
    record["full_id"] = id.into();
    let records = package.path().join("criterion-torch/new");
    std::fs::create_dir_all(&records).expect("made");
    std::fs::write(records.join("kernels.jsonl"), format!("{record}\nnot a record\n"))
        .expect("written");
    let results = package.path().join("criterion");
    let results = results.to_str().expect("text");
    let learnt = run(&["plan", config, "--format", "json", "--criterion-dir", results]);
    let cases: serde_json::Value = serde_json::from_str(stdout(&learnt)).expect("JSON");
    assert_eq!(cases[0]["seconds_from"], "same_case", "{cases}");
    let said = String::from_utf8_lossy(&learnt.stderr);
    assert!(
        said.contains("estimates leave out 1 line of ") && said.contains("kernels.jsonl"),
        "{said}"
    );
}

/// A plan without any measurements, so that estimates use defaults.
fn plan(arguments: &[&str]) -> Output {
    run(&[&["plan", "--criterion-dir", "tests/fixtures/no-results/criterion"], arguments].concat())
}

#[test]
fn plan_expands_without_measuring() {
    let config = "tests/fixtures/configs/inference/quick.yml";
    assert_snapshot!("plan-table", stdout(&plan(&[config])));
    assert_snapshot!("plan-json", stdout(&plan(&[config, "--format", "json"])));
    let one = plan(&[config, "--format", "json", "--filter", "int8wo/.*2048"]);
    let cases: serde_json::Value = serde_json::from_str(stdout(&one)).expect("JSON");
    assert_eq!(cases.as_array().map(Vec::len), Some(1));
}

/// The plan built into a bench target is shown like that of its config.
#[test]
fn a_built_plan_is_planned_like_its_config() {
    let config = "tests/fixtures/configs/inference/quick.yml";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let built = folder.path().join("inference.json");
    let expanded = plan::load(&[config.into()]).expect("it is fine");
    std::fs::write(&built, serde_json::to_string(&expanded).expect("JSON")).expect("written");
    let built = built.to_str().expect("text");
    let of = |arguments: &[&str]| stdout(&plan(arguments)).to_owned();
    assert_eq!(of(&["--built", built, "--format", "json"]), of(&[config, "--format", "json"]));
    let twice = of(&["--built", built, "--built", built, "--filter", "int8wo/.*2048"]);
    assert!(twice.contains("2 cases"), "{twice}");
    for (text, what) in
        [("{}", "is not a plan of this version"), ("[", "is not a plan of this version")]
    {
        std::fs::write(built, text).expect("written");
        let refused = plan(&["--built", built]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(err(&refused).contains(what), "{}", err(&refused));
    }
    assert_eq!(plan(&["--built", built, config]).status.code(), Some(2));
}

#[test]
fn a_plan_says_which_part_each_case_is_in() {
    let config = "tests/fixtures/configs/inference/quick.yml";
    let cases = |arguments: &[&str]| {
        let planned = plan(&[&[config, "--format", "json"][..], arguments].concat());
        serde_json::from_str::<Vec<serde_json::Value>>(stdout(&planned)).expect("JSON")
    };
    assert!(cases(&[]).iter().all(|case| case.get("shard").is_none()));
    for partition in ["balanced", "hash"] {
        let partition = ["--partition", partition];
        let all = cases(&[&["--shards", "2"][..], &partition].concat());
        assert_eq!(all.len(), cases(&[]).len());
        let mut parts = 0;
        for index in [1, 2] {
            let shard = format!("{index}/2");
            let part = cases(&[&["--shard", shard.as_str()][..], &partition].concat());
            let same = all.iter().filter(|case| case["shard"] == index);
            assert!(part.iter().eq(same), "{shard}");
            parts += part.len();
        }
        assert_eq!(parts, all.len(), "each case is in one part");
    }
    let table = plan(&[config, "--shards", "2"]);
    assert!(stdout(&table).contains(" shard\n"), "{}", stdout(&table));
    let last = stdout(&table).lines().last().expect("a line");
    assert!(last.contains(" with cases, each about "), "{last}");
    for (arguments, what) in [
        (&["--partition", "hash"][..], "--shards <N>"),
        (&["--shard", "3/2"], "there is no shard 3 of 2"),
        (&["--shard", "3/4", "--shards", "4"], "cannot be used with"),
        (&["--shards", "0"], "0 is not in 1..=1000000"),
    ] {
        let output = plan(&[&[config][..], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(err(&output).contains(what), "{arguments:?}: {}", err(&output));
    }
}

#[test]
fn plan_prints_all_errors_of_all_files() {
    let output = run(&["plan", "tests/fixtures/configs/inference/two-errors.yml", "absent.yml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    for part in ["two-errors.yml:2:", "did you mean `int8wo`?", "two-errors.yml:8:", "absent.yml: "]
    {
        assert!(err(&output).contains(part), "{part}: {}", err(&output));
    }
}

/// Every format writes a small sweep, and nothing is said of the input.
#[test]
fn every_format_of_every_mode() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let criterion = common::many::write(folder.path(), 400);
    let criterion = criterion.to_str().expect("text");
    let reports = folder.path().join("reports");
    let kernels = ["kernels", "--output-dir", reports.to_str().expect("text")];
    for args in [
        &["show"][..],
        &["csv"],
        &["csv", "--layout", "v-final"],
        &["dashboard"],
        &["dashboard", "--jsonl"],
        &["dashboard", "--torchao-compat"],
        &["fusion", "--format", "json"],
        &["operators", "--format", "json"],
        &kernels,
    ] {
        let output = run(&[args, &["--criterion-dir", criterion]].concat());
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", err(&output));
        for word in ["error:", "warning:", "stale"] {
            assert!(!err(&output).contains(word), "{args:?}: {}", err(&output));
        }
    }
}

#[test]
fn a_plan_has_the_kernels_of_the_crates_that_the_package_depends_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernel = "pub struct ProblemSize;\npub fn run_benchmark(_: &ProblemSize) -> Result<Tensor, Refusal> {}\n";
    for (file, text) in [
        (
            "mine/Cargo.toml",
            "[package]\nname = \"mine\"\n[dev-dependencies]\nfast = { path = \"../fast\" }\ncriterion-torch = { path = \"../criterion-torch\" }\n",
        ),
        ("criterion-torch/Cargo.toml", "[package]\nname = \"criterion-torch\"\n"),
        ("criterion-torch/src/lib.rs", ""),
        ("mine/src/lib.rs", ""),
        ("mine/configs/kernels/all.yml", "benchmark_mode: kernels\n"),
        (
            "fast/Cargo.toml",
            "[package]\nname = \"fast\"\n[package.metadata.criterion-torch]\nkernels = \"src/kernels\"\n",
        ),
        ("fast/src/lib.rs", "pub mod kernels;\n"),
        ("fast/src/kernels/double.rs", kernel),
    ] {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    let config = folder.path().join("mine/configs/kernels/all.yml");
    let planned = || run(&["plan", config.to_str().expect("text")]);
    // Without a lock file cargo does not say which crates those are.
    let said = String::from_utf8_lossy(&planned().stderr).into_owned();
    assert!(said.contains("kernels of other crates are left out"), "{said}");
    let mut cargo = Command::new(std::env::var_os("CARGO").expect("cargo runs this"));
    cargo.args(["generate-lockfile", "--offline"]).current_dir(folder.path().join("mine"));
    assert!(cargo.output().expect("cargo runs").status.success());
    assert!(stdout(&planned()).contains("kernels/all/double/cpu"), "{}", stdout(&planned()));
}
