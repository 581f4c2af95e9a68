//! How long criterion-report takes for thousands of cases, and how much memory, beside critcmp.
//!
//! ```text
//! cargo bench -p criterion-report --bench ten_thousand [-- --cases N --rounds N --keep DIR]
//! ```
//!
//! Every format is written from one generated folder; `merge` puts the same cases together from shards of a
//! hundred each, whose folder is removed before each round. critcmp, where it is on PATH, reads the same
//! one, and compares its two baselines. Rounds are interleaved, so that a busy moment meets all of
//! them. The fastest and the median round are shown: the fastest is what the program takes, the
//! median what it took here.

#[path = "../tests/common/many.rs"]
mod many;
#[path = "../tests/common/shards.rs"]
mod shards;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use nix::sys::resource::{UsageWho, getrusage};

/// Time and memory of criterion-report on many cases, beside critcmp
#[derive(Debug, Parser)]
struct Arguments {
    /// Cases to generate, each under two baselines
    #[arg(long, default_value_t = 10_000)]
    cases: usize,
    /// Times that every command is run
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Generate here and leave it there; one that is there already is taken as it is
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Only commands whose name contains this
    #[arg(long, value_name = "PART", default_value = "")]
    only: String,
    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
    /// Run this command and say what it took; the benchmark calls itself so, because the system
    /// says the peak memory of all of a process's children only
    #[arg(long, hide = true, num_args = 1.., allow_hyphen_values = true)]
    measure: Vec<String>,
}

const REPORT: &str = env!("CARGO_BIN_EXE_criterion-report");

/// The formats that are written, in order; critcmp's come behind.
const FORMATS: &[(&str, &[&str])] = &[
    ("show", &["show"]),
    ("csv", &["csv"]),
    ("csv, v-final", &["csv", "--layout", "v-final"]),
    ("dashboard", &["dashboard"]),
    ("dashboard, jsonl", &["dashboard", "--jsonl"]),
    ("dashboard, torchao-compat", &["dashboard", "--torchao-compat"]),
    ("fusion", &["fusion"]),
    ("fusion, json", &["fusion", "--format", "json"]),
    ("operators", &["operators"]),
    ("operators, json", &["operators", "--format", "json"]),
    ("export json", &["export", "json"]),
    ("export jsonl", &["export", "jsonl"]),
    ("export critcmp", &["export", "critcmp"]),
    ("export markdown", &["export", "markdown"]),
    ("export bmf", &["export", "bmf"]),
    ("export github, smaller", &["export", "github-action-benchmark", "--better", "smaller"]),
    ("export github, bigger", &["export", "github-action-benchmark", "--better", "bigger"]),
];

/// Cases of a shard.
const OF_A_SHARD: usize = 100;

struct Subject {
    name: String,
    command: Vec<String>,
    /// Removed before the command runs.
    writes: Option<PathBuf>,
    took: Vec<(Duration, u64)>,
}

fn main() {
    let arguments = Arguments::parse();
    if !arguments.measure.is_empty() {
        return measure(&arguments.measure);
    }
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let folder = arguments.keep.as_deref().unwrap_or(temporary.path());
    let criterion = folder.join("criterion");
    if !criterion.is_dir() {
        many::write(folder, arguments.cases);
    }
    let mut subjects = subjects(&criterion, temporary.path());
    if "merge".contains(&arguments.only) || arguments.only.contains("merge") {
        subjects.push(merge(folder, temporary.path()));
    }
    subjects.retain(|subject| subject.name.contains(&arguments.only));
    for _ in 0..arguments.rounds {
        for subject in &mut subjects {
            if let Some(folder) = subject.writes.as_ref().filter(|folder| folder.exists()) {
                std::fs::remove_dir_all(folder).expect("removed");
            }
            subject.took.push(ask(&subject.command));
        }
    }
    print(&subjects);
}

fn subjects(criterion: &Path, temporary: &Path) -> Vec<Subject> {
    let text = |path: &Path| path.to_str().expect("a path of text").to_owned();
    let subject = |name: &str, program: &str, arguments: &[&str]| Subject {
        name: name.to_owned(),
        command: [&[program], arguments].concat().into_iter().map(str::to_owned).collect(),
        writes: None,
        took: Vec::new(),
    };
    let from = ["--criterion-dir", &text(criterion)];
    let mut subjects: Vec<Subject> = FORMATS
        .iter()
        .map(|(name, format)| subject(name, REPORT, &[format, &from[..]].concat()))
        .collect();
    let kernels = text(&temporary.join("kernels"));
    let arguments = [&["kernels", "--output-dir", &kernels], &from[..]].concat();
    subjects.push(subject("kernels", REPORT, &arguments));
    let history = text(&temporary.join("history"));
    let arguments = [&["export", "otava", "--history", &history], &from[..]].concat();
    subjects.push(subject("export otava", REPORT, &arguments));
    subjects.push(subject("nothing but --help", REPORT, &["--help"]));
    if critcmp_is_there() {
        let target = text(criterion.parent().expect("a parent"));
        let both = ["--target-dir", &target, "new", "base"];
        subjects.push(subject("critcmp new base", "critcmp", &both));
        subjects.push(subject("critcmp new", "critcmp", &["--target-dir", &target, "new"]));
    } else {
        println!("critcmp is not on PATH: `cargo install critcmp` to see it beside");
    }
    subjects
}

/// Merges all cases from shards.
fn merge(folder: &Path, temporary: &Path) -> Subject {
    let (shards, merged) = (temporary.join("shards"), temporary.join("merged"));
    let count = shards::split(folder, &shards, OF_A_SHARD);
    let text = |path: PathBuf| path.to_str().expect("a path of text").to_owned();
    let folders = (1..=count).map(|shard| text(shards.join(shard.to_string())));
    let options = [
        "--plan".to_owned(),
        text(shards.join("plan.json")),
        "--output".to_owned(),
        text(merged.clone()),
        // The generated cases are of several configs of one name.
        "--mixed".to_owned(),
    ];
    let command = [REPORT.to_owned(), "merge".to_owned()].into_iter().chain(folders).chain(options);
    Subject {
        name: format!("merge of {count} shards"),
        command: command.collect(),
        writes: Some(merged),
        took: Vec::new(),
    }
}

fn critcmp_is_there() -> bool {
    let version = Command::new("critcmp").arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Wall time and peak bytes of a command, run by another process of this program.
fn ask(command: &[String]) -> (Duration, u64) {
    let own = std::env::current_exe().expect("a program");
    let output = Command::new(own)
        .arg("--measure")
        .args(command)
        .stderr(Stdio::inherit())
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("two numbers");
    let mut numbers = text.split_whitespace().map(|word| word.parse::<u64>().expect("a number"));
    let mut next = || numbers.next().expect("two numbers");
    (Duration::from_nanos(next()), next())
}

fn measure(command: &[String]) {
    let started = Instant::now();
    let status = Command::new(&command[0])
        .args(&command[1..])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("it starts");
    let wall = started.elapsed().as_nanos();
    assert!(status.success(), "{command:?}: {status}");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("of this process");
    // Linux counts in KiB.
    println!("{wall} {}", usage.max_rss() * 1024);
}

fn print(subjects: &[Subject]) {
    let fastest = |subject: &Subject| subject.took.iter().map(|it| it.0).min();
    let critcmp = subjects.iter().find(|it| it.name == "critcmp new").and_then(fastest);
    println!("{:<28}{:>12}{:>12}{:>12}{:>14}", "", "fastest", "median", "peak", "of critcmp");
    for subject in subjects {
        let mut took = subject.took.clone();
        took.sort_unstable();
        let (Some(fastest), Some(peak)) = (took.first(), took.iter().map(|it| it.1).max()) else {
            continue;
        };
        let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
        let of_critcmp = critcmp.map_or_else(String::new, |critcmp| {
            format!("{:.2}×", fastest.0.as_secs_f64() / critcmp.as_secs_f64())
        });
        println!(
            "{:<28}{:>12}{:>12}{:>12}{:>14}",
            subject.name,
            seconds(fastest.0),
            seconds(took[took.len() / 2].0),
            format!("{} MiB", peak >> 20),
            of_critcmp,
        );
    }
}
