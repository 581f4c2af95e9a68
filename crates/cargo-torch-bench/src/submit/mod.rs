//! `submit`: the files by which a scheduler runs the shards of a bundle and merges them.

mod github;
mod kubernetes;
mod skypilot;
mod slurm;
mod sweep;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cargo;
use crate::error::{Error, Result};
use crate::files;
use crate::human;
use crate::name::word;
use crate::template;
use sweep::Sweep;

/// The options of `submit`.
#[derive(Debug, PartialEq, Eq, clap::Args)]
pub struct Options {
    /// The scheduler that runs the shards
    #[arg(long, value_name = "SCHEDULER", value_enum)]
    to: Scheduler,
    /// The bundle, unpacked
    #[arg(long, value_name = "DIR")]
    bundle: PathBuf,
    /// The folder of the files; with SLURM also of logs and results
    #[arg(long, value_name = "DIR", default_value = "torch-bench-sweep")]
    output: PathBuf,
    /// How many shards; else by the plan, about five minutes each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    shards: Option<u32>,
    /// How many shards run at the same time; else as many as there is room for
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    at_once: Option<u32>,
    /// CPUs of a shard; without it a shard has its host alone, as times ask for
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Option<u32>,
    /// SkyPilot: the kind of GPU, if the plan has cases on one; else H100
    #[arg(long, value_name = "KIND")]
    gpu: Option<String>,
    /// Kubernetes: the volume claim that has the bundle and takes the results
    #[arg(long, value_name = "NAME", required_if_eq("to", "kubernetes"))]
    claim: Option<String>,
    /// Kubernetes: an image with a glibc as new as the bundle's; else debian:stable-slim
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// SkyPilot: the bucket that takes the results, such as s3://my-bucket
    #[arg(long, value_name = "URL", required_if_eq("to", "skypilot"))]
    bucket: Option<String>,
    /// GitHub: the label of the runners; else ubuntu-latest
    #[arg(long, value_name = "LABEL")]
    runner: Option<String>,
    /// Submit it, too, by the scheduler's own program
    #[arg(long)]
    run: bool,
    /// A filter and options of the bench targets, as after `cargo bench --`
    #[arg(last = true, value_name = "FILTER")]
    arguments: Vec<OsString>,
}

impl Options {
    /// Refuses what the scheduler would not get.
    fn check(&self) -> Result<()> {
        use Scheduler::{Github, Kubernetes, Skypilot, Slurm};
        let given: [(&str, bool, &[Scheduler]); 7] = [
            ("--at-once", self.at_once.is_some(), &[Slurm, Kubernetes, Github]),
            ("--cpus", self.cpus.is_some(), &[Slurm, Kubernetes, Skypilot]),
            ("--claim", self.claim.is_some(), &[Kubernetes]),
            ("--image", self.image.is_some(), &[Kubernetes]),
            ("--bucket", self.bucket.is_some(), &[Skypilot]),
            ("--gpu", self.gpu.is_some(), &[Skypilot]),
            ("--runner", self.runner.is_some(), &[Github]),
        ];
        match given.iter().find(|(_, is_given, of)| *is_given && !of.contains(&self.to)) {
            None => Ok(()),
            Some((option, _, of)) => {
                let names: Vec<String> = of.iter().map(|it| word(*it)).collect();
                Err(Error::usage(format!("--to {} has no {option}", word(self.to)))
                    .remedy(format!("leave it out; it is for {}", names.join(" and "))))
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scheduler {
    Slurm,
    Kubernetes,
    Github,
    Skypilot,
}

/// The files for a scheduler, and how they are used.
#[derive(Debug)]
struct Submission {
    /// Names in the folder, what each is for, and their texts.
    files: Vec<(&'static str, &'static str, String)>,
    /// Commands for a shell in the folder, in this order: what `--run` does, then what the user does afterwards.
    submit: Vec<String>,
    then: Vec<String>,
}

pub fn command(options: &Options) -> Result<ExitCode> {
    options.check()?;
    let sweep = Sweep::from_options(options)?;
    let output = &options.output;
    template::one_line(output.as_os_str())?;
    refuse_results(output)?;
    files::make_folder(output)?;
    let output = output.canonicalize().map_err(|error| Error::io("read", output, &error))?;
    let submission = match options.to {
        Scheduler::Slurm => slurm::submission(&sweep, options, &output)?,
        Scheduler::Kubernetes => kubernetes::submission(&sweep, options)?,
        Scheduler::Github => github::submission(&sweep, options)?,
        Scheduler::Skypilot => skypilot::submission(&sweep, options)?,
    };
    for (name, _, text) in &submission.files {
        files::write(&output.join(name), text)?;
    }
    tell(options, &sweep, &submission);
    if options.run { run(&output, &submission.submit) } else { Ok(ExitCode::SUCCESS) }
}

/// Results of another sweep would be continued and merged.
fn refuse_results(output: &Path) -> Result<()> {
    let results = output.join(slurm::RESULTS);
    if !results.exists() {
        return Ok(());
    }
    Err(Error::usage(format!("{} has results already", results.display()))
        .remedy("name another folder: --output DIR")
        .remedy(format!("or remove them: rm -r {}", template::path(&results))))
}

/// Refuses a name that a scheduler, or YAML 1.1, could take for something else.
fn refuse_unless_name(option: &str, value: &str, marks: &str, kind: &str) -> Result<()> {
    let is_word = ["yes", "no", "on", "off", "y", "n"].contains(&&*value.to_lowercase());
    let is_plain = |it: char| it.is_ascii_alphanumeric() || marks.contains(it);
    let has_letter = value.chars().any(|it| it.is_ascii_alphabetic());
    let begins = value.starts_with(|it: char| it.is_ascii_alphanumeric());
    if begins && has_letter && !is_word && value.chars().all(is_plain) {
        return Ok(());
    }
    Err(Error::usage(format!("{option} '{value}' is no name that {kind}"))
        .remedy(format!("it begins with a letter or digit, and has letters, digits and {marks}")))
}

fn tell(options: &Options, sweep: &Sweep, submission: &Submission) {
    let output = options.output.display();
    let at_once = options.at_once.map(|it| format!(", {it} at a time")).unwrap_or_default();
    println!(
        "{} cases in {} shards{at_once}: about {} each, none over {}; ended after {}",
        sweep.cases,
        sweep.shards,
        human::duration(sweep.mean),
        human::duration(sweep.longest),
        human::duration(sweep.limit()),
    );
    for (name, what, _) in &submission.files {
        println!("  {output}/{name:<16} {what}");
    }
    if !options.run {
        println!("submit    cd {}", template::path(&options.output));
        submission.submit.iter().for_each(|line| println!("          {line}"));
    }
    for (index, line) in submission.then.iter().enumerate() {
        println!("{:<9} {line}", if index == 0 { "then" } else { "" });
    }
}

/// Submits by a shell in the folder, so that what runs is what is printed.
fn run(output: &Path, lines: &[String]) -> Result<ExitCode> {
    let mut shell = Command::new("sh");
    shell.arg("-euc").arg(lines.join("\n")).current_dir(output);
    let status = shell.status().map_err(|error| cargo::not_run(&shell, &error))?;
    if status.success() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Error::failed(format!("it was not submitted ({status})"), cargo::code(status))
        .remedy("the scheduler's program has to be on the PATH; the lines above say what was run")
        .remedy("leave out --run, and submit the files yourself"))
}
