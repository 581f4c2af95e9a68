//! `csv --torchao-output`: the folders of torchao's runner.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::err;
use crate::common::made::profiled_siblings;

const INT8WO: &str = "/int8wo/";
/// Below `output_dir`, which is torchao's default.
const FOLDER: &str = "benchmarks/microbenchmarks/results/inference";
const STEM: &str = "custom_1024_1024_1024";

fn run(results: &Path, here: &Path, arguments: &[&str]) -> Output {
    let mut report = Command::new(env!("CARGO_BIN_EXE_criterion-report"));
    report.arg("csv").args(arguments).arg("--criterion-dir").arg(results.join("criterion"));
    report.current_dir(here).output().expect("it starts")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("UTF-8");
    let mut names: Vec<String> = entries.map(|entry| name(entry.expect("readable"))).collect();
    names.sort();
    names
}

fn cell(folder: &Path, name: &str, column: &str) -> String {
    let mut reader = csv::Reader::from_path(folder.join(name)).expect("a CSV");
    let heading = reader.headers().expect("a heading").clone();
    let place = heading.iter().position(|it| it == column).expect("a column");
    reader.records().next().expect("a line").expect("cells")[place].to_owned()
}

#[test]
fn an_output_dir_of_a_record_leads_nowhere_else() {
    let here = tempfile::tempdir().expect("a temporary folder");
    let outside = tempfile::tempdir().expect("a temporary folder");
    let absolute = outside.path().to_str().expect("UTF-8");
    for elsewhere in [absolute, "../../victim", "a/../../victim", "link/below"] {
        let results = profiled_siblings();
        let path = results.path().join("criterion-torch/new/inference.jsonl");
        let text = fs::read_to_string(&path).expect("readable");
        let own = "\"output_dir\":\"benchmarks/microbenchmarks/results\"";
        assert!(text.contains(own), "{text}");
        let other = text.replace(own, &format!("\"output_dir\":\"{elsewhere}\""));
        fs::write(&path, other).expect("writable");
        let folder = here.path().join("folder/of/the/user");
        fs::create_dir_all(&folder).expect("created");
        std::os::unix::fs::symlink(outside.path(), folder.join("link")).ok();
        let output = run(results.path(), &folder, &["--torchao-output"]);
        let told = err(&output);
        assert!(!output.status.success() && told.contains(elsewhere), "{told}");
        assert!(told.contains("--torchao-output=FOLDER"), "{told}");
        let asked = run(results.path(), &folder, &["--torchao-output=asked"]);
        assert!(asked.status.success(), "{}", err(&asked));
        assert!(folder.join("asked/inference").is_dir());
        let victim = here.path().join("folder/of/victim").exists();
        assert!(names(outside.path()).is_empty() && !victim, "{elsewhere}");
    }
}

#[test]
fn files_lie_where_torchaos_runner_has_them() {
    let (results, here) = (profiled_siblings(), tempfile::tempdir().expect("a temporary folder"));
    let folder = here.path().join(FOLDER);
    fs::create_dir_all(folder.join("profiler")).expect("writable");
    fs::write(folder.join("profiler/of_others.json"), "theirs").expect("writable");
    let arguments = ["--torchao-output", "--filter", INT8WO];
    let output = run(results.path(), here.path(), &arguments);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", err(&output));

    let trace = format!("{STEM}_profile.json");
    assert_eq!(names(&folder.join("profiler")), [trace.clone(), "of_others.json".to_owned()]);
    let snapshot = format!("{STEM}_memory_profile.pickle");
    assert_eq!(names(&folder.join("memory_profiler/pickle")), [snapshot]);
    let page = folder.join(format!("memory_profiler/html/{STEM}_memory_profile.html"));
    let text = fs::read_to_string(page).expect("readable");
    assert!(text.contains("src=\"data:image/svg+xml,%3Csvg%20"), "{text}");
    assert!(text.contains("%3Ctitle%3Einference_quick_linear_cpu/int8wo/"), "{text}");
    let [_, _, csv] = &names(&folder)[..] else { panic!("{:?}", names(&folder)) };
    assert_eq!(cell(&folder, csv, "profiler_json_path"), format!("{FOLDER}/profiler/{trace}"));
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let counted = "1 case, 1 trace, 1 memory snapshot, 1 memory page";
    assert_eq!(printed, format!("{FOLDER}/{csv}: {counted}\n"));

    // Again, maybe in the same second: no CSV is replaced.
    assert!(run(results.path(), here.path(), &arguments).status.success());
    let files = names(&folder);
    assert_eq!(files.iter().filter(|it| it.ends_with(".csv")).count(), 2, "{files:?}");
    let theirs = fs::read_to_string(folder.join("profiler/of_others.json")).expect("readable");
    assert_eq!(theirs, "theirs");
}

#[test]
fn cases_of_one_name_lie_in_folders_of_their_ids() {
    let (results, here) = (profiled_siblings(), tempfile::tempdir().expect("a temporary folder"));
    let output = run(results.path(), here.path(), &["--torchao-output=out"]);
    assert!(output.status.success(), "{}", err(&output));
    let shared = format!("several cases have the name {STEM}; each lies in a folder of its id");
    assert!(err(&output).contains(&shared), "{}", err(&output));
    let id = "profiler/inference_quick_linear_cpu/int8wo/bf16-1024x1024x1024";
    let trace = here.path().join("out/inference").join(id).join(format!("{STEM}_profile.json"));
    assert!(fs::read_to_string(trace).expect("readable").contains(INT8WO));
}

#[test]
fn a_file_that_is_gone_is_said_and_its_cell_is_empty() {
    let (results, here) = (profiled_siblings(), tempfile::tempdir().expect("a temporary folder"));
    fs::remove_dir_all(results.path().join("criterion-torch/profiles")).expect("writable");
    let output = run(results.path(), here.path(), &["--torchao-output=out", "--filter", INT8WO]);
    assert!(output.status.success());
    let said = format!("files no longer there: {STEM}_profile.json, ");
    assert!(err(&output).contains(&said), "{}", err(&output));
    let folder = here.path().join("out/inference");
    let [csv] = &names(&folder)[..] else { panic!("{:?}", names(&folder)) };
    assert_eq!(cell(&folder, csv, "profiler_json_path"), "");
}

/// A later profile under another baseline has written to the same place.
#[test]
fn a_file_of_a_later_profile_is_not_copied() {
    let (results, here) = (profiled_siblings(), tempfile::tempdir().expect("a temporary folder"));
    let own = "criterion-torch/profiles/inference_quick_linear_cpu/int8wo/bf16-1024x1024x1024";
    let trace = results.path().join(own).join(format!("{STEM}_profile.json"));
    let text = fs::read_to_string(&trace).expect("readable");
    fs::write(&trace, text.replace("int8wo", "later!")).expect("writable");
    let output = run(results.path(), here.path(), &["--torchao-output=out", "--filter", INT8WO]);
    assert!(output.status.success(), "{}", err(&output));
    let said = format!("files replaced by a later profile of the case: {STEM}_profile.json; ");
    assert!(err(&output).contains(&said), "{}", err(&output));
    let folder = here.path().join("out/inference");
    assert!(!folder.join("profiler").exists(), "the trace is not this record's");
    assert_eq!(names(&folder.join("memory_profiler/pickle")).len(), 1);
    let [_, csv] = &names(&folder)[..] else { panic!("{:?}", names(&folder)) };
    assert_eq!(cell(&folder, csv, "profiler_json_path"), "");
    assert!(cell(&folder, csv, "memory_profile_path").ends_with(".pickle"));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let (results, here) = (profiled_siblings(), tempfile::tempdir().expect("a temporary folder"));
    for (arguments, said) in [
        (&["--torchao-output", "--output", "x.csv"][..], "--torchao-output=DIR"),
        (&["--torchao-output", "--layout", "training"], "omit --layout"),
        (&["--torchao-output", "--columns", "speedup"], "cannot be used with"),
    ] {
        let output = run(results.path(), here.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(err(&output).contains(said), "{}", err(&output));
        assert!(names(here.path()).is_empty());
    }
}
