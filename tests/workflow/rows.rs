//! A row of the matrix with a cargo that measures nothing: it writes down what it was asked for,
//! and leaves results that are made up.

use std::fs;

use serde_json::{Value, json};

use crate::file::Workflow;
use crate::place::{Ended, ScriptFolder};

/// Its nth call finds what it leaves in the folder `n`, and there in `code` how it ends.
const CARGO: &str = r#"#!/bin/bash
set -euo pipefail
echo "$(basename "$PWD"): $*" >>"$MADE_UP/calls"
answer=$MADE_UP/$(wc -l <"$MADE_UP/calls")
if [[ $* =~ --output-dir\ ([^ ]+) && -e $answer/reports ]]; then
    mkdir -p "${BASH_REMATCH[1]}"
    cp -r "$answer/reports/." "${BASH_REMATCH[1]}"
fi
if [[ -e $answer/sleep ]]; then sleep 60; fi
if [[ -e $answer/code ]]; then exit "$(<"$answer/code")"; fi
"#;

const BASE: &str = "base: xtask kernels --backends cpu --precision fp32 --iters 10 --output-dir \
                    TEMP/base-reports --save-baseline base-branch";
const CHANGE: &str = "project: xtask kernels --backends cpu --precision fp32 --iters 10 \
                      --output-dir reports --compare-to base-branch";

/// A pull request of which both sides have `cargo xtask kernels`.
struct Row {
    place: ScriptFolder,
    calls: usize,
}

/// How the steps of a row ended.
struct Measured {
    /// The script that failed, if one did: those behind it are not run.
    failed: Option<&'static str>,
    said: String,
    summary: String,
}

impl Row {
    fn new() -> Self {
        let mut place = ScriptFolder::new();
        place.write("project/.cargo/config.toml", include_str!("../../.cargo/config.toml"));
        place.commit("base");
        place.commit("change");
        place.write_script("bin/cargo", CARGO);
        let made_up = place.path("made-up").display().to_string();
        for (name, value) in [
            ("MADE_UP", made_up.as_str()),
            ("BACKEND", "cpu"),
            ("PRECISION", "fp32"),
            ("ITERATIONS", "10"),
            ("GITHUB_EVENT_NAME", "pull_request"),
            ("NIGHTLY", "false"),
        ] {
            place.set(name, value);
        }
        Self { place, calls: 0 }
    }

    /// Sets the exit code of the next call of cargo, and the text of each file that it leaves.
    fn answers(&mut self, code: i32, files: &[(&str, &str)]) {
        self.calls += 1;
        let answer = format!("made-up/{}", self.calls);
        self.place.write(&format!("{answer}/code"), &code.to_string());
        for (file, text) in files {
            self.place.write(&format!("{answer}/reports/{file}"), text);
        }
    }

    /// The three steps, in the order of the workflow: until one fails.
    fn measure(&mut self) -> Measured {
        let mut all = Measured { failed: None, said: String::new(), summary: String::new() };
        for script in ["measure_base.sh", "measure_change.sh", "confirm.sh"] {
            let Ended { code, said, output, summary, .. } = self.place.run(script);
            if script == "measure_base.sh" {
                let value = |name: &str| {
                    let set = |line: &str| Some(line.strip_prefix(name)?.to_owned());
                    output.lines().find_map(set).unwrap_or_default()
                };
                self.place.set("NOT_COMPARED", &value("not_compared="));
                self.place.set("BROKEN_BASE", &value("broken="));
            }
            all.said += &said;
            all.summary += &summary;
            if code != Some(0) {
                all.failed = Some(script);
                break;
            }
        }
        all
    }

    /// Every call of cargo: where, and what it was asked for.
    fn calls(&self) -> Vec<String> {
        let temp = self.place.path("temp").display().to_string();
        let text = fs::read_to_string(self.place.path("made-up/calls")).expect("it was called");
        text.lines().map(|line| line.replace(&temp, "TEMP")).collect()
    }

    /// A file of what is uploaded; nothing where there is none.
    fn report(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.place.path("project/reports").join(file)).ok()
    }
}

/// The summary of a run with so many cases measured, failed, skipped and never reached.
fn summary([successful, failed, skipped, missing]: [u64; 4]) -> String {
    let reason = "no CUDA device is there";
    let skip = json!({"full_id": "a", "outcome": "skipped", "error_message": reason});
    let results = if skipped > 0 { vec![skip] } else { Vec::new() };
    json!({
        "successful": successful, "failed": failed, "skipped": skipped, "missing": missing,
        "results": results
    })
    .to_string()
}

fn regressions(list: &[(&str, &str)]) -> String {
    let of = |(id, kind): &(&str, &str)| json!({"full_id": id, "kind": kind});
    json!({"regressions": list.iter().map(of).collect::<Vec<Value>>()}).to_string()
}

/// The files of a report beside a baseline.
fn compared<'t>(summary: &'t str, regressions: &'t str) -> [(&'static str, &'t str); 4] {
    [
        ("summary.json", summary),
        ("regressions.json", regressions),
        ("summary.md", "# Kernel benchmarks\n"),
        ("regressions.md", "# Regressions\n"),
    ]
}

#[test]
fn a_base_that_is_broken_is_said_and_fails_unless_it_cannot_be_built() {
    let all = summary([2, 0, 0, 0]);
    let change = [("summary.json", all.as_str()), ("summary.md", "# Kernel benchmarks\n")];
    // How measuring ends, and then building alone; what is said, and which step fails.
    for (code, builds, why, failed) in [
        (101, Some(101), "cannot be built", None),
        (101, Some(0), "could not be measured: exit code 101", Some("confirm.sh")),
        (2, None, "could not be measured: exit code 2", Some("confirm.sh")),
    ] {
        let mut row = Row::new();
        row.answers(code, &[]);
        if let Some(builds) = builds {
            // The report of what was measured before the end, of which there is none.
            row.answers(2, &[]);
            row.answers(builds, &[]);
        }
        row.answers(0, &change);
        let ended = row.measure();
        assert_eq!(ended.failed, failed, "{}", ended.said);
        let base = row.place.git(&["rev-parse", "HEAD~1"]);
        let why = format!("the base, {}, {why}", &base[..8]);
        let level = if failed.is_some() { "::error::" } else { "::warning::not compared: " };
        assert!(ended.said.contains(&format!("{level}{why}\n")), "{}", ended.said);
        let said = row.report("regressions.md").expect("it is uploaded");
        assert_eq!(said, format!("Not compared: {why}.\n"));
        let verdict = row.report("verdict.md").expect("it is uploaded");
        assert_eq!(verdict, format!("not compared: {why}\n"));
        assert_eq!(ended.summary, format!("{said}# Kernel benchmarks\n"));
        let measured = row.calls().pop().expect("calls");
        assert_eq!(measured, CHANGE.replace(" --compare-to base-branch", ""));
    }
}

#[test]
fn a_change_that_never_ends_or_crashes_fails_with_what_was_measured_before() {
    let unreached = summary([1, 0, 0, 2]);
    let partial = [("summary.json", unreached.as_str()), ("summary.md", "# Until then\n")];
    for (code, endless, shown) in [(139, false, 139), (1, true, 124), (1, false, 1)] {
        let mut row = Row::new();
        row.place.set("MEASURING_TAKES_AT_MOST", "2s");
        row.answers(0, &[("summary.json", &summary([2, 0, 0, 0]))]);
        let reports_itself = code == 1 && !endless;
        row.answers(code, if reports_itself { &partial } else { &[] });
        if endless {
            row.place.write("made-up/2/sleep", "");
        }
        row.answers(0, &partial);
        let ended = row.measure();
        assert_eq!(ended.failed, Some("measure_change.sh"), "{}", ended.said);
        assert_eq!(ended.summary, "# Until then\n");
        let verdict = row.report("verdict.md").expect("it is uploaded");
        let expected = "the change could not be measured to the end: exit code";
        assert_eq!(verdict, format!("{expected} {shown}\n"), "{}", ended.said);
        let report = "project: criterion-report kernels --latest --output-dir reports \
                      --compare-to base-branch";
        let last = row.calls().pop().expect("calls");
        assert_eq!(last, if reports_itself { CHANGE } else { report });
    }
}

#[test]
fn a_row_without_its_device_is_skipped_and_says_so() {
    let mut row = Row::new();
    let skipped = summary([0, 0, 1, 0]);
    row.answers(0, &[("summary.json", &skipped)]);
    row.answers(0, &compared(&skipped, &regressions(&[])));
    let ended = row.measure();
    assert_eq!(ended.failed, None, "{}", ended.said);
    assert_eq!(ended.summary, "# Kernel benchmarks\n", "and not its regressions twice");
    let verdict = row.report("verdict.md").expect("it is uploaded");
    assert_eq!(verdict, "nothing measured here: no CUDA device is there\n");
}

/// The texts of steps that are no files: what they leave, and that a cargo which fails ends them.
#[test]
fn what_the_key_of_the_cache_is_made_of_is_read_or_the_row_ends() {
    let workflow = Workflow::read();
    let place = ScriptFolder::new();
    let run = |step: &str| place.bash(workflow.step(step).run.as_ref().expect("it runs"));
    place.write_script("bin/cargo", "#!/bin/sh\n[ \"$*\" = 'xtask flavour' ] && echo cpu\n");
    place.write_script("bin/rustc", "#!/bin/sh\necho 'rustc 1.95.0 (59807616e 2026-04-14)'\n");
    assert_eq!(run("Read the flavour of libtorch").output, "flavour=cpu\n");
    assert_eq!(run("Read the version of Rust").output, "version=1.95.0\n");
    place.write_script("bin/cargo", "#!/bin/sh\nexit 7\n");
    assert_eq!(run("Read the flavour of libtorch").code, Some(7));
    assert_eq!(place.run("provision.sh").code, Some(7));
}

#[test]
fn the_base_finds_what_was_built_of_the_change() {
    let mut place = ScriptFolder::new();
    place.write_script("bin/cargo", "#!/bin/sh\n[ \"$*\" = 'xtask setup' ]\n");
    place.set("GITHUB_WORKSPACE", "/work space");
    let expected = "LIBTORCH=/work space/.libtorch\nCARGO_TARGET_DIR=/work space/target\n";
    assert_eq!(place.run("provision.sh").env, expected);
    place.set("LIBTORCH", "/mine");
    place.set("CARGO_TARGET_DIR", "/built");
    assert_eq!(place.run("provision.sh").env, "LIBTORCH=/mine\nCARGO_TARGET_DIR=/built\n");
}

#[test]
fn the_history_is_read_where_there_is_one() {
    let mut row = Row::new();
    row.place.write("project/benchmarks/history/README.md", "");
    let (all, none) = (summary([1, 1, 0, 0]), regressions(&[]));
    row.answers(0, &[("summary.json", &all)]);
    // A case fails, as it does on the base.
    row.answers(1, &compared(&all, &none));
    let ended = row.measure();
    assert_eq!(ended.failed, None, "{}", ended.said);
    let change = CHANGE.replace("--compare-to", "--history benchmarks/history --compare-to");
    assert_eq!(row.calls(), [BASE.to_owned(), change]);
    let verdict = row.report("verdict.md").expect("it is uploaded");
    assert_eq!(verdict, "nothing regressed; failed cases: 1\n");
}

/// A row whose change regressed so, and so when it was measured again.
fn confirmed(
    first: &[(&str, &str)],
    again: &[(&str, &str)],
) -> (Measured, Vec<String>, Option<String>) {
    let mut row = Row::new();
    let all = summary([2, 0, 0, 0]);
    row.answers(0, &[("summary.json", &all)]);
    row.answers(0, &compared(&all, &regressions(first)));
    row.answers(0, &[("summary.json", &all)]);
    row.answers(0, &[("summary.json", &all)]);
    row.answers(0, &compared(&all, &regressions(again)));
    let ended = row.measure();
    (ended, row.calls(), row.report("confirmed.md"))
}

#[test]
fn what_regressed_is_measured_again_in_the_other_order() {
    let slow = [("kernels/a+b/cpu/kernel/f32", "latency")];
    let (ended, calls, text) = confirmed(&slow, &slow);
    assert_eq!(ended.failed, Some("confirm.sh"), "{}", ended.said);
    let only = "^(kernels/a\\+b/cpu/kernel/f32)$";
    let again = "--backends cpu --precision fp32 --iters 10 --output-dir TEMP";
    let expected = [
        BASE.to_owned(),
        CHANGE.to_owned(),
        format!("project: xtask kernels {again}/change-again --save-baseline change-again {only}"),
        format!("base: xtask kernels {again}/base-again --save-baseline base-branch-again {only}"),
        format!(
            "project: criterion-report kernels --baseline change-again --compare-to \
             base-branch-again --filter {only} --output-dir reports/again"
        ),
    ];
    assert_eq!(calls, expected);
    let text = text.expect("it is uploaded");
    assert_eq!(text, "Regressed twice in a row:\n\n- `kernels/a+b/cpu/kernel/f32`: latency\n");
}

#[test]
fn a_regression_is_confirmed_in_its_kind_or_by_failing() {
    let confirms = |first: &[(&str, &str)], again: &[(&str, &str)]| {
        let (ended, _, text) = confirmed(first, again);
        let text = text.expect("it is uploaded");
        assert_eq!(ended.failed.is_some(), text.starts_with("Regressed twice"), "{}", ended.said);
        text.lines().filter_map(|line| line.strip_prefix("- ").map(str::to_owned)).collect()
    };
    let none: [String; 0] = [];
    let found: Vec<String> = confirms(&[("a", "latency"), ("b", "failure")], &[("a", "failure")]);
    assert_eq!(found, ["`a`: failure"]);
    assert_eq!(confirms(&[("a", "failure")], &[("a", "latency")]), none, "it runs again");
    assert_eq!(confirms(&[("a", "latency")], &[("a", "accuracy")]), none);
    assert_eq!(confirms(&[("a", "latency")], &[("b", "failure")]), none, "another one");
    assert_eq!(confirms(&[("a", "latency")], &[]), none, "not there again");
    let both = [("a", "accuracy"), ("a", "latency")];
    assert_eq!(confirms(&both, &both), ["`a`: accuracy", "`a`: latency"]);
}

/// Runs a row of a target other than kernels, whose comparison ends with `code` and `verdict`. Returns how it ended,
/// what cargo was asked for, and the row's verdict.
fn compared_target(code: i32, verdict: &str) -> (Ended, Vec<String>, Row) {
    let mut row = Row::new();
    row.place.set("TARGET", "fusion");
    row.place.set("RUNS", "8");
    let case = json!({"full_id": "fusion/a", "verdict": verdict, "reason": "12 % slower"});
    row.place.write_script(
        "bin/cargo",
        &format!(
            "#!/bin/bash\nset -eu\necho \"$*\" >>\"$MADE_UP/calls\"\ncase $* in\n\
             *compare-branches*) exit {code} ;;\n\
             *json) echo '{}' ;;\n*markdown) echo '| fusion/a |' ;;\nesac\n",
            json!({ "cases": [case] })
        ),
    );
    row.place.write("made-up/calls", "");
    let ended = row.place.run("compare_target.sh");
    let calls = fs::read_to_string(row.place.path("made-up/calls")).expect("it was called");
    (ended, calls.lines().map(str::to_owned).collect(), row)
}

#[test]
fn another_target_is_compared_over_several_runs() {
    let (ended, calls, row) = compared_target(1, "regressed");
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    let base = row.place.git(&["rev-parse", "HEAD~1"]);
    let sides = format!("{} working-tree", &base[..12]);
    let expected = [
        format!("xtask compare-branches {base} . --bench fusion --runs 8 --fail-on regression"),
        format!("criterion-report compare {sides} --format json"),
        format!("criterion-report compare {sides} --format markdown"),
    ];
    assert_eq!(calls, expected);
    let verdict = row.report("verdict.md").expect("it is uploaded");
    assert_eq!(verdict, "**regressed in 8 runs of each side**: `fusion/a` (12 % slower)\n");
    assert_eq!(ended.summary, "| fusion/a |\n");
    let regressions = row.report("regressions.json").expect("it is uploaded");
    let regressions: Value = serde_json::from_str(&regressions).expect("JSON");
    assert_eq!(regressions["regressions"][0]["full_id"], "fusion/a");

    let (ended, _, row) = compared_target(0, "equivalent");
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let verdict = row.report("verdict.md").expect("it is uploaded");
    assert_eq!(verdict, "nothing regressed in 8 runs of each side\n");

    // The current commit can be built, so it is the base that cannot.
    for (code, ends, said) in [(101, 0, "cannot be built\n"), (2, 2, ": exit code 2\n")] {
        let (ended, _, row) = compared_target(code, "regressed");
        assert_eq!(ended.code, Some(ends), "{}", ended.said);
        let verdict = row.report("verdict.md").expect("it is uploaded");
        assert!(verdict.ends_with(said), "{verdict}");
    }
}

#[test]
fn another_target_without_a_base_is_measured_alone() {
    let mut row = Row::new();
    row.place.set("TARGET", "fusion");
    row.place.set("RUNS", "8");
    row.place.git(&["checkout", "--quiet", "--orphan", "new"]);
    row.place.commit("only");
    row.answers(0, &[]);
    let ended = row.place.run("compare_target.sh");
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let calls =
        ["project: xtask bench --bench fusion", "project: criterion-report export markdown"];
    assert_eq!(row.calls(), calls);
    let verdict = row.report("verdict.md").expect("it is uploaded");
    assert_eq!(verdict, "not compared: there is no earlier commit\n");
}
