//! The runner of a bundle: looks whether the host fits, then starts the bench targets one after the other.

mod checksums;
mod cpu;
mod fit;
mod limits;
mod torch;
mod words;

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Parser;

use super::loader::LIBRARY_PATH;
use super::manifest::{self, CACHE, COMPILER, LAUNCHER, Manifest};
use super::planned;
use crate::bench_arguments::{budget_s, leaves_results};
use crate::cargo;
use crate::doctor;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::files;
use crate::gpu_check::{Bench, Subject};
use crate::human;
use crate::output;
use crate::progress_line::{self, shared_file};
use crate::results::HOME;
use crate::template;
use ::libtorch::{child, command};
use limits::CALIBRATION;
use plan::{budget, exit};
use torch::LibtorchChoice;

/// Run the benchmarks of this bundle
///
/// First it looks whether this host fits: glibc, processor, libtorch, driver. What does not is an
/// error with a remedy, and nothing runs. Then it measures the machine's limits that the cases need,
/// if the bundle has the bench target for them, and one bench target after the other.
///
/// Exit codes: 0 fine; 1 a case failed; 2 a wrong command line, or this host does not fit: trying
/// again does not help; 2 also where another run has the folder of results: wait for the process that
/// is named; 75 something was killed, lost or full: try again, with --resume.
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
    /// The longest time for those of the machine's limits that the cases need, without compiling
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = plan::flag::duration)]
    calibration: f64,
    /// Do not measure the machine's limits
    #[arg(long)]
    no_calibration: bool,
    /// Prove everything about this host's GPU, in a bundle that was made with --gpu-check
    ///
    /// Writes gpu-check.md and gpu-check.json to the folder of results.
    #[arg(long, conflicts_with_all = ["shard", "partition", "resume", "check", "no_calibration", "arguments"])]
    gpu_check: bool,
    /// Take about 3 minutes on an H100 instead of 13
    #[arg(long, requires = "gpu_check")]
    quick: bool,
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
  ./torch-bench-run --gpu-check                prove everything about its GPU
  ./torch-bench-run -- --list                  the ids";

/// The launcher says where the bundle is.
const BUNDLE: &str = "TORCH_BENCH_BUNDLE";
/// The launcher's question, to see whether this program can be started.
const PROBE: &str = "--probe";
/// The harness records this in the place of the repository's revision, which is not on this host.
const REVISION: &str = "CRITERION_TORCH_REVISION";
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
    let told = |code| output::check().map(|()| code).map_err(|error| vec![error]);
    let code = run(&Options::parse()).and_then(told).unwrap_or_else(|errors| {
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

/// Reads a command line of a bundle's runner without running it, as the tests of documents do.
///
/// # Errors
/// Help, and mistakes.
pub fn check(words: Vec<OsString>) -> std::result::Result<(), clap::Error> {
    Options::try_parse_from(words).map(drop)
}

/// Errors are of the host and of the command line. How benchmarks end is a code.
fn run(options: &Options) -> std::result::Result<u8, Vec<Error>> {
    let one = |error: Error| vec![error];
    let bundle = Bundle::open().map_err(one)?;
    if options.verify {
        let mut found = checksums::damaged(&bundle.root, &bundle.manifest).map_err(one)?;
        let strangers = checksums::strangers(&bundle.root, &bundle.manifest, &options.output);
        found.extend(strangers.map_err(one)?);
        refuse(found)?;
    }
    let Bundle { root, manifest } = &bundle;
    let torch = torch::choose(root, &manifest.torch, options.libtorch.as_deref());
    let (torch, library_path) = fit::library_path(root, manifest, torch)?;
    let mut host = Host { bundle: &bundle, options, library_path, shared: None };
    if options.gpu_check {
        return host.check_all_of_gpu(torch).map_err(one);
    }
    let total_s = budget_s(&host.words()).map_err(one)?;
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
        println!(
            "this host fits: {cases} cases in {} bench targets, libtorch of {}",
            jobs.len(),
            torch.by
        );
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
        for bench in self.bundle.manifest.benches.iter().filter(|bench| bench.cases > 0) {
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
        // Given twice it would be refused.
        let words = self.words();
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let options = words[..end].iter().filter(|word| *word != "--list");
        list.arg("--list").args(self.flags()).args(options).args(&words[end..]);
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
        let measures = leaves_results(&words);
        if measures {
            self.make_output()?;
        }
        let mut codes = Vec::new();
        if measures && !self.options.no_calibration {
            codes.extend(self.calibrate(jobs)?);
        }
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
            let output = &self.options.output;
            let report = template::path(self.bundle.root.join("bin/criterion-report"));
            let criterion = template::path(output.join("criterion"));
            eprintln!(
                "{LAUNCHER}: results in {}; tables: {report} show --criterion-dir {criterion}",
                output.display()
            );
        }
        Ok(words::worst(codes))
    }

    /// Measures the machine's limits that the cases of these jobs need, on every machine. None where they need none.
    fn calibrate(&self, jobs: &[Job<'_>]) -> Result<Option<u8>> {
        let mut benches = self.bundle.manifest.benches.iter();
        let Some(bench) = benches.find(|it| it.modes.iter().any(|it| it == CALIBRATION)) else {
            eprintln!(
                "{LAUNCHER}: note: the bundle has no bench target with a calibration, so the machine's limits are not measured"
            );
            return Ok(None);
        };
        let planned = planned::read(&self.bundle.root)?;
        let selected = jobs.iter().flat_map(|job| &job.ids).map(String::as_str).collect();
        let limit_s = self.options.calibration;
        let ids = limits::needed(&planned, &selected, limit_s);
        if ids.is_empty() {
            return Ok(None);
        }
        eprintln!(
            "{LAUNCHER}: the machine's limits, by {}: {} cases in {} at most; more with --calibration TIME",
            bench.name,
            ids.len(),
            human::duration(Duration::from_secs_f64(limit_s))
        );
        let mut command = self.command(bench);
        // The cases share the budget of the run; these have one of their own.
        command.env_remove(budget::SHARED);
        command.args(words::options(&self.words())).args(["--budget", &format!("{limit_s}s")]);
        command.args(self.options.resume.then_some("--resume")).arg(limits::filter(&ids));
        let code = self.ended(bench, command)?;
        // By what was measured here before they may take longer than the plan says. That is no reason against the cases.
        Ok(Some(code).filter(|code| *code != exit::UNUSABLE))
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
                self.tell_damage()?;
            }
        }
        if status.code() == Some(words::NOT_LOADED) {
            eprintln!("error: the bench target {} cannot be loaded on this host", bench.name);
            self.tell_damage()?;
        }
        Ok(())
    }

    fn tell_damage(&self) -> Result<()> {
        let Bundle { root, manifest } = self.bundle;
        checksums::damaged(root, manifest)?.iter().for_each(|error| eprint!("{error}"));
        Ok(())
    }

    /// A bench target in its environment.
    fn command(&self, bench: &manifest::Bench) -> Command {
        let mut command = Command::new(self.bundle.root.join(&bench.file));
        // Nothing is asked: a scheduler has no terminal.
        command.arg("--bench").stdin(Stdio::null());
        // Else it would go on, and hold the folder of results against the next try.
        child::end_with_this_process(&mut command);
        command.envs(self.variables());
        command.envs(self.shared.iter().map(|shared| (budget::SHARED, shared.path())));
        command.env(HOME, self.output().join("criterion"));
        command
    }

    /// The variables that the bench targets need in any folder of results.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        let Bundle { root, manifest } = self.bundle;
        let mut variables = vec![(LIBRARY_PATH.into(), self.library_path.clone())];
        let mut add = |name: &str, value: OsString| variables.push((name.into(), value));
        manifest.revision.iter().for_each(|revision| add(REVISION, revision.into()));
        if manifest.compiled.is_some() {
            add("CRITERION_TORCH_CACHE", root.join(CACHE).into());
            add("CXX", root.join(COMPILER).into());
        }
        variables
    }

    /// The whole path of the folder of results.
    fn output(&self) -> PathBuf {
        let output = std::path::absolute(&self.options.output);
        output.unwrap_or_else(|_| self.options.output.clone())
    }

    fn make_output(&self) -> Result<()> {
        files::make_folder(&self.options.output)
            .map_err(|error| error.remedy("name a folder that you can write to: --output DIR"))
    }

    /// All of gpu-check, as a clone does it. Without a GPU each step says that it is skipped.
    fn check_all_of_gpu(&self, torch: LibtorchChoice) -> Result<u8> {
        let Bundle { root, manifest } = self.bundle;
        if !manifest.is_of_gpu_check() {
            return Err(Error::usage("--gpu-check: this bundle lacks the programs of gpu-check")
                .remedy(
                    "make one that has them: cargo torch-bench bundle --gpu-check --output FILE",
                ));
        }
        self.make_output()?;
        let benches = manifest.benches.iter();
        let found = Ok((torch.libtorch, torch.by));
        let subject = Subject {
            root,
            commit: manifest.revision.clone(),
            bench: Ok(Bench {
                root: root.clone(),
                folder: self.output(),
                programs: benches.map(|it| (it.name.clone(), root.join(&it.file))).collect(),
                report: root.join("bin").join(cargo::REPORT),
                variables: self.variables(),
            }),
            examine: &|say| doctor::examine_host(&found, say),
        };
        subject.check(&self.output(), self.options.quick, []).map(u8::from)
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
        if let (Some(filter), None) = (&self.bundle.manifest.filter, plan::flag::filter(&words)) {
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
