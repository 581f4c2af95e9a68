//! `bench`: setup, then the plain cargo command, once or in several runs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ::libtorch::Libtorch;
use plan::flag;
use plan::results::variable;

use crate::bench_arguments::{BenchArguments, leaves_results, split};
use crate::cargo::{self, BENCH_CONFIG};
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::files;
use crate::name::word;
use crate::progress_line;
use crate::results;
use crate::runs;
use crate::setup;
use crate::side::Side;
use crate::workspace::Workspace;

/// Configs of the tour, of every kind of work some cases, in a folder for each device; relative to the root.
const TOUR: &str = "configs/suites/tour";
/// The benchmarks of `cargo bench` and the report, at once: cargo compiles them side by side.
const BENCHES_AND_REPORT: [&str; 5] = ["--profile", "bench", "--benches", "--bin", cargo::REPORT];

/// A device that has a tour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TourDevice {
    /// The host's processor
    Cpu,
    /// A GPU of NVIDIA's
    Cuda,
}

impl TourDevice {
    /// The fastest one that this libtorch reaches here.
    fn best(libtorch: &Libtorch) -> Self {
        if libtorch.has_cuda && Driver::find().is_some() { Self::Cuda } else { Self::Cpu }
    }
}

/// How much is measured, and what is written from the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// The device whose tour is measured; the best of this machine if absent.
    pub device: Option<TourDevice>,
    /// The default suites, not the tour.
    pub full: bool,
    /// Criterion's words, too.
    pub verbose: bool,
    /// Whether to write folders in the layout of torchao's runner: `Some(None)` uses those of the configs,
    /// `Some(Some(folder))` this one.
    pub torchao_output: Option<Option<PathBuf>>,
}

pub fn command(
    workspace: &Workspace,
    repeat: Option<u64>,
    extent: &Extent,
    arguments: &[OsString],
) -> Result<ExitCode> {
    match repeat {
        None => once(workspace, extent, arguments),
        Some(runs) => repeated(workspace, runs, arguments),
    }
}

/// Measures, then says what the results say. The environment goes on unchanged: LIBTORCH is the user's own
/// or, from .cargo/config.toml, the very value that cargo would set again.
fn once(workspace: &Workspace, extent: &Extent, arguments: &[OsString]) -> Result<ExitCode> {
    cargo::require_report(workspace.root())?;
    let (of_cargo, of_criterion) = split(arguments);
    // A budget only limits the time of the tour; it does not select anything else.
    let is_tour = arguments.is_empty() || of_cargo.is_empty() && is_budget_alone(of_criterion);
    if let Some(device) = extent.device.filter(|_| !is_tour) {
        let what = format!("--device {}: it chooses the tour, and this is none", word(device));
        return Err(Error::usage(what).remedy("leave out --device, or the other arguments"));
    }
    let libtorch = setup::ensure(workspace)?;
    let (root, results) = (workspace.root(), cargo::results(workspace)?);
    let device = extent.device.unwrap_or_else(|| TourDevice::best(&libtorch));
    let configs = if extent.full || !is_tour { None } else { tour(root, device)? };
    if configs.is_some() && extent.device.is_none() && device == TourDevice::Cuda {
        eprintln!("the tour is of the GPU; that of the CPU: --device cpu");
    }
    let cargo = |command: &str, words: &[OsString]| {
        let mut cargo = cargo::at_home(cargo::in_folder(root), &results.criterion);
        cargo.envs(configs.iter().map(|configs| (BENCH_CONFIG, configs)));
        cargo.arg(command).args(words);
        cargo
    };
    let bench = |words: &[OsString]| cargo("bench", words);
    if !leaves_results(arguments) {
        if extent.torchao_output.is_some() {
            let what = format!("{TORCHAO_OUTPUT}: this measures nothing, or keeps nothing");
            return Err(Error::usage(what).remedy(format!("leave out {TORCHAO_OUTPUT}")));
        }
        return Ok(cargo::exit_code(cargo::status(bench(arguments))?));
    }
    let (built, program) = if of_cargo.is_empty() && cargo::has_report(root) {
        let built = cargo::announced(cargo("build", &BENCHES_AND_REPORT.map(OsString::from)))?;
        (built.status, cargo::built_report(&built.stdout))
    } else {
        let build = [of_cargo, &["--no-run".into()]].concat();
        (cargo::status(bench(&build))?, None)
    };
    if !built.success() {
        return Ok(cargo::exit_code(built));
    }
    let log = results.records.join("bench.log");
    let status =
        progress_line::measure(bench, arguments, (!extent.verbose).then_some(log.as_path()))?;
    if !status.success() && status.code() != Some(cargo::CASES_FAILED) {
        // Nothing ran, or not to its end; a report of last week's numbers would be worse than none.
        eprintln!(
            "cargo bench failed ({status}), so there is no report; the results until then: cargo \
             criterion-report show"
        );
        return Ok(cargo::exit_code(status));
    }
    let report = |words: &[OsString]| {
        let program = program.as_ref().map(Command::new);
        let report = program.unwrap_or_else(|| cargo::report(root));
        let mut report = cargo::at_home(report, &results.criterion);
        report.current_dir(root);
        report.args(words);
        cargo::status(report)
    };
    let page = results.records.join("report.html");
    let reported = report(&["summary", "--latest"].map(OsString::from))?;
    let [html, latest, output] = ["html", "--latest", "--output"].map(OsString::from);
    let drawn = report(&[html, latest, output, page.clone().into()])?;
    if drawn.success() {
        let program = program.as_ref().map_or("cargo criterion-report".into(), |program| {
            short(program, root).display().to_string()
        });
        let all = format!("all tables: {program} show{}", results.option(root));
        println!("report    {}; {all}", short(&page, root).display());
    }
    let folders = match &extent.torchao_output {
        Some(folder) => Some(report(&torchao_output(folder.as_deref(), arguments)?)?),
        None => None,
    };
    let all = [status, reported, drawn].into_iter().chain(folders);
    let mut failed = all.filter(|status| !status.success());
    Ok(cargo::exit_code(failed.next().unwrap_or(status)))
}

const TORCHAO_OUTPUT: &str = "--torchao-output";

/// The arguments of the report that writes torchao's folders, limited to the bench targets that ran.
pub fn torchao_output(folder: Option<&Path>, arguments: &[OsString]) -> Result<Vec<OsString>> {
    let option = match folder {
        None => OsString::from(TORCHAO_OUTPUT),
        Some(folder) => {
            let folder =
                std::path::absolute(folder).map_err(|error| Error::io("find", folder, &error))?;
            [OsStr::new(TORCHAO_OUTPUT), folder.as_os_str()].join(OsStr::new("="))
        }
    };
    let mut words: Vec<OsString> = vec!["csv".into(), "--latest".into(), option];
    let modes =
        targets(split(arguments).0).into_iter().filter(|name| TORCHAOS_MODES.contains(&&**name));
    let modes: Vec<String> = modes.collect();
    if !modes.is_empty() {
        words.extend(["--filter".into(), format!("^({})/", modes.join("|")).into()]);
    }
    Ok(words)
}

/// The bench targets that measure a mode of torchao; each is named like its mode.
const TORCHAOS_MODES: [&str; 2] = ["inference", "training"];

/// The bench targets that cargo's arguments name.
fn targets(of_cargo: &[OsString]) -> Vec<String> {
    let mut words = of_cargo.iter().map(|word| word.to_string_lossy());
    let mut targets = Vec::new();
    while let Some(word) = words.next() {
        let name = if word == "--bench" { words.next() } else { None };
        let joined = word.strip_prefix("--bench=").map(str::to_owned);
        targets.extend(name.map(|name| name.into_owned()).or(joined));
    }
    targets
}

/// Seconds of a total budget.
pub fn budget_s(budget: &str) -> Result<f64> {
    flag::duration(budget).map_err(|why| wrong_budget(budget, "it is no time").remedy(why))
}

fn wrong_budget(budget: &str, why: &str) -> Error {
    Error::usage(format!("--budget {budget}: {why}"))
}

/// Adds a budget to criterion's arguments.
pub fn with_budget(arguments: &[OsString], budget: Option<&str>) -> Result<Vec<OsString>> {
    let Some(budget) = budget else { return Ok(arguments.to_vec()) };
    budget_s(budget)?;
    let (of_cargo, of_criterion) = split(arguments);
    if flag::value(of_criterion, "budget").is_some() {
        return Err(wrong_budget(budget, "it is given twice").remedy("give it once"));
    }
    let own = ["--", "--budget", budget].map(OsString::from);
    Ok([of_cargo, &own, of_criterion].concat())
}

/// Whether a budget is criterion's only option.
fn is_budget_alone(of_criterion: &[OsString]) -> bool {
    flag::words(of_criterion).map(|it| it.is("budget")).eq([true])
}

/// The configs of a device's tour, unless the user names others or the package has none.
fn tour(root: &Path, device: TourDevice) -> Result<Option<OsString>> {
    let folder = root.join(TOUR).join(word(device));
    if variable(BENCH_CONFIG).is_some() || !folder.is_dir() {
        return Ok(None);
    }
    let joined = env::join_paths(files::inside(&folder)?);
    joined.map(Some).map_err(|error| Error::new(format!("{}: {error}", folder.display())))
}

/// As seen from the root, if it lies there.
fn short<'p>(path: &'p Path, root: &Path) -> &'p Path {
    path.strip_prefix(root).unwrap_or(path)
}

/// The baseline that criterion saves if none is named.
const DEFAULT_NAME: &str = "base";

/// The arguments of each run, and the name under which all are kept, with their numbers.
fn named(arguments: &[OsString]) -> Result<(BenchArguments, String)> {
    let (cargo, criterion) = split(arguments);
    let (arguments, name) = BenchArguments::parse(cargo, criterion)?;
    Ok((arguments, name.unwrap_or_else(|| DEFAULT_NAME.to_owned())))
}

/// Provisions, builds, measures, and says what can be done with it.
fn repeated(workspace: &Workspace, runs: u64, arguments: &[OsString]) -> Result<ExitCode> {
    let (arguments, name) = named(arguments)?;
    let root = workspace.root();
    let results = cargo::results(workspace)?;
    let claim = results.lock()?;
    setup::ensure(workspace)?;
    let (folder, home) = (root.to_path_buf(), results.criterion.clone());
    let side = Side { name: name.clone(), folder, home };
    let failed = runs::measure(&side, runs, &arguments, &results, &claim)?;
    let (first, last) = (results::kept_as(&name, 1), results::kept_as(&name, runs));
    let option = results.option(root);
    eprintln!(
        "kept as {first} to {last}\n  \
         how far they are apart among themselves: cargo criterion-report aa {name}{option}\n  \
         beside runs of another name:         \
         cargo criterion-report compare OTHER {name}{option}"
    );
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torchaos_folders_are_of_the_targets_that_ran() {
        for (line, folder, expected) in [
            ("", None, "csv --latest --torchao-output"),
            ("--bench inference", None, "csv --latest --torchao-output --filter ^(inference)/"),
            (
                "--bench=inference --bench training -p x",
                Some("/out"),
                "csv --latest --torchao-output=/out --filter ^(inference|training)/",
            ),
            ("--bench torch", Some("/out"), "csv --latest --torchao-output=/out"),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let found = torchao_output(folder.map(Path::new), &words).expect(line);
            assert_eq!(found.join(OsStr::new(" ")), expected, "{line}");
        }
    }

    #[test]
    fn a_budget_goes_to_criterion_and_keeps_the_tour() {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        for (line, passed, is_tour) in [
            ("", "-- --budget 10min", true),
            ("--bench fusion -- int8wo", "--bench fusion -- --budget 10min int8wo", false),
            ("-- int8wo", "-- --budget 10min int8wo", false),
        ] {
            let with = with_budget(&words(line), Some("10min")).expect(line);
            assert_eq!(with.join(OsStr::new(" ")), passed, "{line}");
            let (of_cargo, of_criterion) = split(&with);
            assert_eq!(of_cargo.is_empty() && is_budget_alone(of_criterion), is_tour, "{line}");
        }
        assert!(is_budget_alone(&words("--budget=10min")));
        assert!(!is_budget_alone(&words("--list x")));
        let twice = with_budget(&words("-- --budget 5min"), Some("10min")).unwrap_err();
        assert_eq!((twice.what(), twice.exit_code()), ("--budget 10min: it is given twice", 2));
        assert!(with_budget(&[], Some("10")).unwrap_err().remedies()[0].contains("90s, 10min"));
    }

    #[test]
    fn runs_are_kept_under_a_name() {
        for (line, name, run) in [
            ("", "base", "bench -- --save-baseline base@1"),
            ("--bench x", "base", "bench --bench x -- --save-baseline base@1"),
            (
                "--bench x -- -s pr int8wo --repeat",
                "pr",
                "bench --bench x -- --save-baseline pr@1 int8wo --repeat",
            ),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let (arguments, found) = named(&words).expect(line);
            let words = arguments.run(&results::kept_as(&found, 1)).join(OsStr::new(" "));
            assert_eq!((found.as_str(), words), (name, run.into()), "{line}");
        }
    }
}
