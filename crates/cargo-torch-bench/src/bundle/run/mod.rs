//! The runner of a bundle: looks whether the host fits, then starts the bench targets one after the other.

mod checksums;
mod cpu;
mod fit;
mod torch;
mod words;

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;

use super::loader::LIBRARY_PATH;
use super::manifest::{self, CACHE, COMPILER, LAUNCHER, Manifest};
use super::planned;
use crate::bench_arguments::{budget_s, leaves_results};
use crate::cargo;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::files;
use crate::progress_line::{self, shared_file};
use crate::results::HOME;
use ::libtorch::command;
use plan::{budget, exit};

/// Run the benchmarks of this bundle
///
/// First it looks whether this host fits: glibc, processor, libtorch, driver. What does not is an
/// error with a remedy, and nothing runs. Then it measures the machine's limits, if the bundle has
/// the bench target for them, and every other bench target after the other.
///
/// Exit codes: 0 fine; 1 a case failed; 2 a wrong command line, or this host does not fit: trying
/// again does not help; 75 something was killed, lost or full: try again, with --resume.
#[derive(Debug, Parser)]
#[command(name = LAUNCHER, version, max_term_width = 100)]
#[command(after_long_help = EXAMPLES)]
struct Options {
    /// Run part I of N, as 3/16; `auto` asks the scheduler's variables, `auto/16` for I alone
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,
    /// How cases are divided into shards
    ///
    /// balanced: by their estimated times. hash: by their ids, so that a case keeps its shard when
    /// others come and go.
    #[arg(long, value_name = "HOW", value_parser = ["balanced", "hash"])]
    partition: Option<String>,
    /// Keep what was measured already, and measure the rest
    #[arg(long)]
    resume: bool,
    /// The folder of results
    #[arg(long, value_name = "DIR", default_value = "torch-bench-results")]
    output: PathBuf,
    /// A libtorch of this host, in the place of the bundle's
    ///
    /// It is a folder with `lib` in it, such as that of Python's package torch. A bundle without
    /// libtorch also takes that of LIBTORCH, or of python3, by itself.
    #[arg(long, value_name = "DIR")]
    libtorch: Option<PathBuf>,
    /// Check the contents of all files first
    #[arg(long)]
    verify: bool,
    /// Only look whether this host fits
    #[arg(long)]
    check: bool,
    /// Do not measure the machine's limits
    #[arg(long)]
    no_calibration: bool,
    /// A filter and options of the bench targets, as after `cargo bench --`
    #[arg(last = true, value_name = "FILTER")]
    arguments: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  ./torch-bench-run                            everything
  ./torch-bench-run --shard 3/16               part 3 of 16
  ./torch-bench-run --shard auto -- int8wo     the scheduler's part of the cases with int8wo
  ./torch-bench-run --check                    does this host fit?
  ./torch-bench-run -- --list                  the ids";

/// The launcher says where the bundle is.
const BUNDLE: &str = "TORCH_BENCH_BUNDLE";
/// What the launcher asks, to see whether this program can be started.
const PROBE: &str = "--probe";
/// The harness records this in the place of the repository's revision, which is not on this host.
const REVISION: &str = "CRITERION_TORCH_REVISION";
/// The mode that measures the machine's limits.
const CALIBRATION: &str = "calibration";

/// Whether this process was started as a bundle's runner.
pub fn is_called() -> bool {
    let name = env::args_os().next();
    name.is_some_and(|name| Path::new(&name).file_name() == Some(OsStr::new(LAUNCHER)))
}

pub fn main() -> ExitCode {
    if env::args_os().nth(1).is_some_and(|word| word == PROBE) {
        return ExitCode::SUCCESS;
    }
    command::called(command::INSTALLED);
    let code = run(&Options::parse()).unwrap_or_else(|errors| {
        errors.iter().for_each(|error| eprint!("{error}"));
        exit::UNUSABLE
    });
    ExitCode::from(code)
}

/// All options.
#[cfg(test)]
pub fn command_line() -> clap::Command {
    <Options as clap::CommandFactory>::command()
}

/// Reads a command line without running it.
pub fn check(words: Vec<OsString>) -> std::result::Result<(), clap::Error> {
    Options::try_parse_from(words).map(drop)
}

/// Errors are of the host and of the command line. How benchmarks end is a code.
fn run(options: &Options) -> std::result::Result<u8, Vec<Error>> {
    let one = |error: Error| vec![error];
    let bundle = Bundle::open().map_err(one)?;
    if options.verify {
        refuse(checksums::damaged(&bundle.root).map_err(one)?)?;
    }
    let Bundle { root, manifest } = &bundle;
    let torch = torch::choose(root, &manifest.torch, options.libtorch.as_deref());
    let by = torch.as_ref().map(|torch| torch.by.clone()).unwrap_or_default();
    let library_path = fit::library_path(root, manifest, torch)?;
    let mut host = Host { bundle: &bundle, options, library_path, shared: None };
    let total_s = budget_s(&[vec!["--".into()], host.words()].concat()).map_err(one)?;
    host.shared = total_s.map(|_| shared_file()).transpose().map_err(one)?;
    let jobs = match host.jobs().map_err(one)? {
        Ok(jobs) => jobs,
        Err(code) => return Ok(code),
    };
    if let (Some(total_s), Some(shared)) = (total_s, &host.shared) {
        progress_line::check(shared.path(), total_s).map_err(one)?;
    }
    host.check_gpu(&jobs)?;
    if options.check {
        let cases: usize = jobs.iter().map(|job| job.ids.len()).sum();
        println!("this host fits: {cases} cases in {} bench targets, libtorch of {by}", jobs.len());
        return Ok(0);
    }
    host.run(&jobs).map_err(one)
}

fn refuse(errors: Vec<Error>) -> std::result::Result<(), Vec<Error>> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// A bundle that was unpacked.
#[derive(Debug)]
struct Bundle {
    root: PathBuf,
    manifest: Manifest,
}

impl Bundle {
    fn open() -> Result<Self> {
        let root = env::var_os(BUNDLE).map(PathBuf::from).ok_or_else(|| {
            Error::usage(format!("{BUNDLE} is not set")).remedy(format!(
                "start the bundle's {LAUNCHER}, which lies beside {}",
                manifest::FILE
            ))
        })?;
        Ok(Self { manifest: Manifest::read(&root)?, root })
    }
}

/// A bench target and the ids that it would measure.
#[derive(Debug)]
struct Job<'b> {
    bench: &'b manifest::Bench,
    ids: Vec<String>,
}

/// The bundle on this host.
#[derive(Debug)]
struct Host<'b> {
    bundle: &'b Bundle,
    options: &'b Options,
    library_path: OsString,
    /// By which the bench targets share a total budget, if there is one.
    shared: Option<tempfile::NamedTempFile>,
}

impl Host<'_> {
    /// The bench targets with cases. A shard without any leaves word of that, so it has all of them. A code, where one
    /// refuses the command line.
    fn jobs(&self) -> Result<std::result::Result<Vec<Job<'_>>, u8>> {
        let mut jobs = Vec::new();
        for bench in &self.bundle.manifest.benches {
            match self.ids(bench)? {
                Ok(ids) => jobs.push(Job { bench, ids }),
                Err(code) => return Ok(Err(code)),
            }
        }
        if jobs.iter().all(|job| job.ids.is_empty()) && self.options.shard.is_none() {
            let words = self.words().join(OsStr::new(" "));
            return Err(Error::usage(format!("`{}` selects no case", words.display()))
                .remedy(format!("see all of them: ./{LAUNCHER} -- --list")));
        }
        jobs.retain(|job| !job.ids.is_empty() || self.options.shard.is_some());
        Ok(Ok(jobs))
    }

    /// The ids that a bench target lists.
    fn ids(&self, bench: &manifest::Bench) -> Result<std::result::Result<Vec<String>, u8>> {
        let mut list = self.command(bench);
        list.arg("--list").args(self.flags()).args(self.words());
        let output = list.output().map_err(|error| cargo::not_run(&list, &error))?;
        if !output.status.success() {
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            self.explain(bench, output.status)?;
            return Ok(Err(words::code(output.status)));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let ids = text.lines().filter_map(|line| line.strip_suffix(": benchmark"));
        Ok(Ok(ids.map(str::to_owned).collect()))
    }

    /// How many of the ids are of a case on a GPU, by the plan.
    fn of_a_gpu(&self, jobs: &[Job<'_>]) -> Result<usize> {
        let planned = planned::read(&self.bundle.root)?;
        let on_gpu = planned.iter().filter(|it| it.is_on_gpu()).map(|it| it.full_id.as_str());
        let on_gpu: BTreeSet<&str> = on_gpu.collect();
        let ids = jobs.iter().flat_map(|job| &job.ids);
        Ok(ids.filter(|id| on_gpu.contains(id.as_str())).count())
    }

    /// Refuses a host without the driver. A bundle without CUDA skips its cases of a GPU, as `cargo bench` does, unless
    /// nothing else was asked for.
    fn check_gpu(&self, jobs: &[Job<'_>]) -> std::result::Result<(), Vec<Error>> {
        let of_a_gpu = self.of_a_gpu(jobs).map_err(|error| vec![error])?;
        let all: usize = jobs.iter().map(|job| job.ids.len()).sum();
        let cuda = self.bundle.manifest.torch.cuda.as_deref();
        let has_others = of_a_gpu < all || self.options.shard.is_some();
        if cuda.is_none() && of_a_gpu > 0 && has_others {
            eprintln!(
                "note: cases on a GPU are skipped, as the bundle's libtorch is without CUDA: {of_a_gpu} of {all}"
            );
            return Ok(());
        }
        refuse(fit::driver(cuda, of_a_gpu, Driver::find().as_ref()).into_iter().collect())
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<u8> {
        let words = self.words();
        let measures = leaves_results(&[vec!["--".into()], words.clone()].concat());
        if measures {
            files::make_folder(&self.options.output).map_err(|error| {
                error.remedy("name a folder that you can write to: --output DIR")
            })?;
        }
        let mut codes = Vec::new();
        let calibrates = measures && !self.options.no_calibration;
        let calibrated = if calibrates { self.calibrate(&mut codes)? } else { None };
        let jobs: Vec<&Job<'_>> = jobs
            .iter()
            .filter(|job| {
                calibrated != Some(job.bench.name.as_str()) || job.bench.modes != [CALIBRATION]
            })
            .collect();
        for (index, job) in jobs.iter().enumerate() {
            if measures {
                let place = format!("[{}/{}]", index + 1, jobs.len());
                eprintln!("{LAUNCHER}: {place} {}: {} cases", job.bench.name, job.ids.len());
            }
            let mut command = self.command(job.bench);
            command.args(self.flags()).args(&words);
            codes.push(self.ended(job.bench, command)?);
        }
        if measures {
            let output = self.options.output.display();
            eprintln!(
                "{LAUNCHER}: results in {output}; tables: bin/criterion-report show --criterion-dir {output}/criterion"
            );
        }
        Ok(words::worst(codes))
    }

    /// Measures the machine's limits, all of them on every machine; returns the bench target that has them.
    fn calibrate(&self, codes: &mut Vec<u8>) -> Result<Option<&str>> {
        let mut benches = self.bundle.manifest.benches.iter();
        let Some(bench) = benches.find(|it| it.modes.iter().any(|it| it == CALIBRATION)) else {
            eprintln!(
                "{LAUNCHER}: note: the bundle has no bench target with a calibration, so the machine's limits are not measured"
            );
            return Ok(None);
        };
        eprintln!("{LAUNCHER}: the machine's limits, by {}", bench.name);
        let mut command = self.command(bench);
        command.args(words::options(&self.words())).arg(format!("^{CALIBRATION}/"));
        codes.push(self.ended(bench, command)?);
        Ok(Some(&bench.name))
    }

    /// Runs a bench target to its end.
    fn ended(&self, bench: &manifest::Bench, mut command: Command) -> Result<u8> {
        let status = command.status().map_err(|error| cargo::not_run(&command, &error))?;
        self.explain(bench, status)?;
        Ok(words::code(status))
    }

    /// Says what may be behind a crash: damaged files, whose contents are looked at only now.
    fn explain(&self, bench: &manifest::Bench, status: std::process::ExitStatus) -> Result<()> {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            eprintln!("error: the bench target {} was ended by {status}", bench.name);
            if words::is_fault(signal) || signal == libc::SIGBUS {
                checksums::damaged(&self.bundle.root)?.iter().for_each(|error| eprint!("{error}"));
            }
        }
        Ok(())
    }

    /// A bench target in its environment.
    fn command(&self, bench: &manifest::Bench) -> Command {
        let Bundle { root, manifest } = self.bundle;
        let mut command = Command::new(root.join(&bench.file));
        // Nothing is asked: a scheduler has no terminal.
        command.arg("--bench").stdin(Stdio::null());
        command.env(LIBRARY_PATH, &self.library_path);
        command.envs(self.shared.iter().map(|shared| (budget::SHARED, shared.path())));
        let output = std::path::absolute(&self.options.output);
        let output = output.unwrap_or_else(|_| self.options.output.clone());
        command.env(HOME, output.join("criterion"));
        command.envs(manifest.revision.iter().map(|revision| (REVISION, revision)));
        if manifest.compiled.is_some() {
            command.env("CRITERION_TORCH_CACHE", root.join(CACHE)).env("CXX", root.join(COMPILER));
        }
        command
    }

    /// Our own options of a bench target.
    fn flags(&self) -> Vec<OsString> {
        let Options { shard, partition, resume, .. } = self.options;
        let mut flags = Vec::new();
        for (name, value) in [("--shard", shard), ("--partition", partition)] {
            flags.extend(value.iter().flat_map(|value| [name.into(), OsString::from(value)]));
        }
        flags.extend(resume.then(|| OsString::from("--resume")));
        flags
    }

    /// The user's words, with the bundle's filter if they have none.
    fn words(&self) -> Vec<OsString> {
        let mut words = self.options.arguments.clone();
        let text: Vec<String> = words.iter().map(|it| it.to_string_lossy().into_owned()).collect();
        if let (Some(filter), None) = (&self.bundle.manifest.filter, plan::flag::filter(&text)) {
            words.retain(|word| word != "--");
            words.extend([OsString::from("--"), OsString::from(filter)]);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::manifest::tests::manifest;
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn the_bundles_filter_holds_until_another_is_given() {
        let words = |filter: Option<&str>, line: &str| {
            let mut manifest = manifest();
            manifest.filter = filter.map(str::to_owned);
            let bundle = Bundle { root: "/b".into(), manifest };
            let line = ["run", "--shard", "3/16", "--resume", "--"]
                .into_iter()
                .chain(line.split_whitespace());
            let options = Options::try_parse_from(line).expect("it is fine");
            let library_path = OsString::new();
            let host = Host { bundle: &bundle, options: &options, library_path, shared: None };
            assert_eq!(host.flags(), ["--shard", "3/16", "--resume"]);
            host.words().join(OsStr::new(" ")).into_string().expect("text")
        };
        assert_eq!(words(None, "--quick"), "--quick");
        assert_eq!(words(Some("^a"), "--quick"), "--quick -- ^a");
        assert_eq!(words(Some("^a"), "--quick b"), "--quick b");
        assert_eq!(words(Some("^a"), "-- b"), "-- b");
        assert_eq!(words(None, "--list"), "--list");
    }
}
