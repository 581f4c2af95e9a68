use super::*;
use crate::cli::{self, Command};

fn parsed(line: &str) -> std::result::Result<Options, clap::Error> {
    match cli::tests::parsed(&format!("kernels {line}"))? {
        Command::Kernels(options) => Ok(options),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_option_is_understood() {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let all = "--iters 30 --warmup=3 --precision fp32,fp16 --backends cpu,cuda --seed 1337 \
               --output-dir out --save-baseline main --compare-to before --history old \
               --fail-on regression,missing --budget 10min -v poisson";
    assert_eq!(
        parsed(all).expect("fine"),
        Options {
            overrides: Overrides {
                warmup: Some(3),
                timed: Some(30),
                precisions: words(&["fp32", "fp16"]),
                backends: words(&["cpu", "cuda"]),
                seed: Some(1337),
            },
            output_dir: "out".into(),
            save_baseline: Some("main".into()),
            compare_to: Some("before".into()),
            history: Some("old".into()),
            fail_on: words(&["regression", "missing"]),
            budget: Some("10min".to_owned()),
            verbose: true,
            filter: Some("poisson".into()),
        }
    );
    let none = parsed("").expect("fine");
    assert_eq!(
        (&none.overrides, none.output_dir.as_path()),
        (&Overrides::default(), "reports".as_ref())
    );
    assert_eq!(none.filter, None);
    assert_eq!(parsed("a=b").expect("a filter").filter, Some("a=b".into()));
}

#[test]
fn the_last_one_counts() {
    let line = "--iters 10 --precision fp32,fp16 --fail-on missing --iters 50 --precision bf16 \
                --fail-on failure -v -v";
    let options = parsed(line).expect("fine");
    assert_eq!(options.overrides.timed, Some(50));
    assert_eq!(options.overrides.precisions, ["bf16"]);
    assert_eq!(options.fail_on, ["failure"]);
}

#[test]
fn mistakes_are_usage_errors() {
    for (line, what) in [
        ("--iters", "a value is required for '--iters <N>'"),
        ("--iters many", "invalid value 'many' for '--iters <N>'"),
        ("--seed -1", "unexpected argument '-1'"),
        ("--precision fp32,,fp16", "'--precision <LIST>': it takes words separated by commas"),
        ("--backends=", "'--backends <LIST>': it takes words separated by commas"),
        ("--fail-on slower", "[possible values: failure, regression, accuracy, missing]"),
        ("--verbose=yes", "unexpected value 'yes' for '--verbose'"),
        ("--dry-run", "unexpected argument '--dry-run'"),
        ("one two", "unexpected argument 'two'"),
    ] {
        let error = parsed(line).expect_err(line);
        assert!(error.to_string().contains(what), "{line}: {error}");
        assert_eq!(error.exit_code(), 2);
    }
    for (line, what) in [
        ("--fail-on failure,missing", "--fail-on missing compares with something"),
        (
            "--save-baseline main --compare-to main",
            "this run would replace \"main\", with which it is to be compared",
        ),
    ] {
        let error = parsed(line).expect("its words are known").check().expect_err(line);
        assert_eq!((error.what(), error.exit_code()), (what, 2));
        assert!(!error.remedies().is_empty(), "{line}");
    }
}

#[test]
fn the_report_gets_paths_from_where_the_user_is() {
    let here = Path::new("/home/me/clone");
    let report = |line: &str| {
        let arguments = parsed(line).expect("fine").report(here);
        let texts = arguments.iter().map(|word| word.to_string_lossy().into_owned());
        texts.collect::<Vec<_>>().join(" ").replace("/home/me/clone", "HERE")
    };
    assert_eq!(report(""), "kernels --latest --output-dir HERE/reports");
    assert_eq!(
        report("--output-dir /out --compare-to ./earlier --history old --fail-on failure,accuracy"),
        "kernels --latest --output-dir /out --compare-to HERE/./earlier --history HERE/old \
         --fail-on failure,accuracy"
    );
    assert_eq!(
        report("a|b"),
        "kernels --latest --output-dir HERE/reports --filter a|b",
        "what was not to be measured is not missing"
    );
    assert_eq!(
        report("--compare-to main"),
        "kernels --latest --output-dir HERE/reports --compare-to main"
    );
}

#[test]
fn what_is_compared_with_is_looked_for_before_anything_is_measured() {
    let here = std::env::temp_dir().join(format!("xtask-compare-to-{}", std::process::id()));
    let records = here.join("criterion-torch");
    for folder in ["criterion-torch/main", "criterion-torch/often@1", "earlier"] {
        std::fs::create_dir_all(here.join(folder)).expect("created");
    }
    std::fs::write(here.join("main.json"), "{}").expect("written");
    for (with, found) in [
        ("main", true),
        ("often", true),
        ("often@1", true),
        ("often@2", false),
        ("earlier", true),
        ("main.json", true),
        ("./main", false),
        ("absent", false),
    ] {
        let options = parsed(&format!("--compare-to {with}")).expect("fine");
        assert_eq!(options.look(&here, &here, &records).is_ok(), found, "{with}");
    }
    std::fs::remove_dir_all(here).expect("removed");
}

#[test]
fn a_branch_with_a_history_needs_no_saved_baseline() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        let arguments = [&identity[..], arguments].concat();
        git::git(folder.path(), &arguments).expect("git can be run")
    };
    git(&["init", "--quiet", "--initial-branch=bare"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "nothing measured"]);
    git(&["checkout", "--quiet", "-b", "main"]);
    let history = folder.path().join(plan::HISTORY);
    std::fs::create_dir_all(&history).expect("created");
    std::fs::write(history.join("benchmark-1.json"), "{}").expect("written");
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "history"]);
    let look = |with: &str| {
        let options = parsed(&format!("--compare-to {with}")).expect("fine");
        // From a folder inside, in which nothing lies.
        let here = folder.path().join("src/deeper");
        options.look(&here, folder.path(), &folder.path().join("criterion-torch"))
    };
    let found = |with: &str| look(with).is_ok();
    assert!(found("main"));
    assert!(!found("bare"), "its commit has no history");
    assert!(!found("nowhere"));
    // The remote branch is preferred over the local one.
    git(&["update-ref", "refs/remotes/origin/bare", "main"]);
    assert!(found("bare"));

    // A branch of origin is fetched by the report. That origin does not answer is no "no".
    git(&["remote", "add", "origin", "."]);
    git(&["update-ref", "-d", "refs/remotes/origin/bare"]);
    assert!(found("main") && !found("nowhere") && !found("no..name"));
    git(&["remote", "set-url", "origin", "/gone/away"]);
    let error = look("elsewhere").expect_err("it is unknown");
    let what = "--compare-to elsewhere: whether origin has that branch is unknown: git ls-remote";
    assert!(error.what().starts_with(what), "{error}");
    assert!(
        error.what().contains("'/gone/away' does not appear to be a git repository"),
        "{error}"
    );
    let remedies = [
        "measure it first, with --save-baseline elsewhere",
        "git fetch origin elsewhere:refs/remotes/origin/elsewhere",
    ];
    assert_eq!(error.remedies(), remedies);
}
