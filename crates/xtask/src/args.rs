//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::age;
use crate::compare_branches;
use crate::error::{Error, Result};
use crate::flavour::Flavour;
use crate::gpu_check;
use crate::help;
use crate::holdings::{Clear, Format, Request};
use crate::kernels::Options;
use crate::published;
use crate::repeat::Repeat;

#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    Setup {
        /// None: keep what is linked, else what the machine can use.
        flavour: Option<Flavour>,
        /// Torch for Python, too.
        python: bool,
    },
    /// The arguments go to `cargo bench` as they are.
    Bench {
        arguments: Vec<OsString>,
    },
    /// The same in several launches.
    Repeat(Repeat),
    CompareBranches(compare_branches::Request),
    Kernels(Options),
    /// The arguments go to `cargo test` as they are.
    Test {
        /// Whether the tests run that are ignored otherwise, and no others.
        exhaustive: bool,
        arguments: Vec<OsString>,
    },
    Results(published::Request),
    CompareTorchao(Comparison),
    Flavour,
    Python,
    Cache(Request),
    Doctor,
    GpuCheck(gpu_check::Request),
    Help(&'static str),
}

/// What to compare, and with whose torchao.
#[derive(Debug, PartialEq, Eq)]
pub struct Comparison {
    pub config: PathBuf,
    /// A regular expression on the ids.
    pub filter: Option<OsString>,
    /// None: that of SELF_TEST_PYTHON, else one that is provisioned.
    pub python: Option<PathBuf>,
}

pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Command> {
    let Some(command) = arguments.next() else {
        return Err(usage("a command is missing"));
    };
    let rest: Vec<OsString> = arguments.collect();
    match command.to_string_lossy().as_ref() {
        "setup" => setup(&rest),
        "doctor" => alone("doctor", &rest, Command::Doctor, help::DOCTOR),
        "gpu-check" if asks_for_help(&rest) => Ok(Command::Help(help::GPU_CHECK)),
        "gpu-check" => gpu_check::Request::parse(&rest).map(Command::GpuCheck),
        "flavour" => alone("flavour", &rest, Command::Flavour, help::FLAVOUR),
        "python" => alone("python", &rest, Command::Python, help::PYTHON),
        // After `--` the word belongs to criterion or libtest.
        "bench" if asks_for_help(&rest) => Ok(Command::Help(help::BENCH)),
        "bench" => Ok(match Repeat::parse(&rest)? {
            Some(repeat) => Command::Repeat(repeat),
            None => Command::Bench { arguments: rest },
        }),
        "compare-branches" if asks_for_help(&rest) => Ok(Command::Help(help::COMPARE_BRANCHES)),
        "compare-branches" => compare_branches::Request::parse(&rest).map(Command::CompareBranches),
        "kernels" if asks_for_help(&rest) => Ok(Command::Help(help::KERNELS)),
        "kernels" => Options::parse(rest.into_iter()).map(Command::Kernels),
        "test" if asks_for_help(&rest) => Ok(Command::Help(help::TEST)),
        "test" => Ok(test(rest)),
        "results" if asks_for_help(&rest) => Ok(Command::Help(help::RESULTS)),
        "results" => published::Request::parse(&rest).map(Command::Results),
        "compare-torchao" if asks_for_help(&rest) => Ok(Command::Help(help::COMPARE_TORCHAO)),
        "compare-torchao" => comparison(rest.into_iter()).map(Command::CompareTorchao),
        "cache" if asks_for_help(&rest) => Ok(Command::Help(help::CACHE)),
        "cache" => cache(rest.into_iter()).map(Command::Cache),
        "help" | "--help" | "-h" => {
            Ok(Command::Help(match rest.first().and_then(|w| w.to_str()) {
                Some("setup") => help::SETUP,
                Some("bench") => help::BENCH,
                Some("compare-branches") => help::COMPARE_BRANCHES,
                Some("kernels") => help::KERNELS,
                Some("test") => help::TEST,
                Some("results") => help::RESULTS,
                Some("compare-torchao") => help::COMPARE_TORCHAO,
                Some("flavour") => help::FLAVOUR,
                Some("python") => help::PYTHON,
                Some("cache") => help::CACHE,
                Some("doctor") => help::DOCTOR,
                Some("gpu-check") => help::GPU_CHECK,
                _ => help::ALL,
            }))
        }
        other => Err(usage(&format!("unknown command \"{other}\""))),
    }
}

/// A command that takes no arguments.
fn alone(name: &str, rest: &[OsString], command: Command, help: &'static str) -> Result<Command> {
    match rest.first() {
        None => Ok(command),
        Some(word) if is_help(word) => Ok(Command::Help(help)),
        Some(word) => Err(unknown(name, word)),
    }
}

fn setup(arguments: &[OsString]) -> Result<Command> {
    let (mut flavour, mut python) = (None, false);
    for word in arguments {
        if is_help(word) {
            return Ok(Command::Help(help::SETUP));
        }
        if word == "--python" {
            python = true;
            continue;
        }
        let asked = Flavour::ALL
            .into_iter()
            .find(|known| word.to_str().and_then(|w| w.strip_prefix("--")) == Some(known.as_str()))
            .ok_or_else(|| unknown("setup", word))?;
        if flavour.is_some_and(|before| before != asked) {
            return Err(usage("setup takes --cpu or --cuda, not both"));
        }
        flavour = Some(asked);
    }
    if flavour == Some(Flavour::Cuda) && !cfg!(target_os = "linux") {
        return Err(usage("--cuda: torch has CUDA wheels for Linux only"));
    }
    Ok(Command::Setup { flavour, python })
}

fn test(mut arguments: Vec<OsString>) -> Command {
    let own = arguments.iter().take_while(|word| *word != "--");
    let at = own.enumerate().find(|(_, word)| *word == "--exhaustive").map(|(at, _)| at);
    let exhaustive = at.map(|at| arguments.remove(at)).is_some();
    Command::Test { exhaustive, arguments }
}

fn comparison(mut arguments: impl Iterator<Item = OsString>) -> Result<Comparison> {
    let (mut config, mut filter, mut python) = (None, None, None);
    while let Some(word) = arguments.next() {
        let text = word.to_string_lossy();
        let mut value = || {
            arguments.next().ok_or_else(|| usage(&format!("compare-torchao: {text} needs a value")))
        };
        match text.as_ref() {
            "--filter" => filter = Some(value()?),
            "--python" => python = Some(value()?.into()),
            flag if flag.starts_with('-') => return Err(unknown("compare-torchao", &word)),
            _ if config.is_some() => return Err(usage("compare-torchao takes one config")),
            _ => config = Some(PathBuf::from(word)),
        }
    }
    let config = config.ok_or_else(|| usage("compare-torchao needs a config"))?;
    Ok(Comparison { config, filter, python })
}

fn cache(mut arguments: impl Iterator<Item = OsString>) -> Result<Request> {
    let (mut words, mut format, mut older_than) = (Vec::new(), None, None);
    while let Some(word) = arguments.next() {
        let text = word.to_string_lossy().into_owned();
        let mut value = || {
            let value = arguments.next().map(|value| value.to_string_lossy().into_owned());
            value.ok_or_else(|| usage(&format!("cache: {text} needs a value")))
        };
        match text.as_str() {
            "--format" => format = Some(table_or_json(&value()?)?),
            "--older-than" => older_than = Some(age::days(whole_days(&value()?)?)),
            flag if flag.starts_with('-') => return Err(unknown("cache", &word)),
            _ => words.push(text),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match (&words[..], format, older_than) {
        ([], format, None) => Ok(Request::Show(format.unwrap_or(Format::Table))),
        (["list"], format, None) => Ok(Request::List(format.unwrap_or(Format::Table))),
        (["clear", what], None, older_than) => {
            let what = match *what {
                "compiled" => Clear::Compiled,
                "kernels" => Clear::Kernels,
                "all" => Clear::All,
                other => {
                    return Err(usage(&format!(
                        "cache clear takes compiled, kernels or all, not \"{other}\""
                    )));
                }
            };
            Ok(Request::Clear { what, older_than })
        }
        (["clear"], ..) => Err(usage("cache clear needs to know what: compiled, kernels or all")),
        (["clear", _], Some(_), _) => Err(usage("cache clear takes no --format")),
        ([] | ["list"], _, Some(_)) => Err(usage("--older-than is for cache clear")),
        ([first, ..], ..) => Err(unknown("cache", &OsString::from(first))),
    }
}

fn table_or_json(value: &str) -> Result<Format> {
    match value {
        "table" => Ok(Format::Table),
        "json" => Ok(Format::Json),
        _ => Err(usage(&format!("cache: --format is table or json, not \"{value}\""))),
    }
}

fn whole_days(value: &str) -> Result<u64> {
    value
        .parse()
        .map_err(|_| usage(&format!("cache: --older-than is a number of days, not \"{value}\"")))
}

fn asks_for_help(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|word| *word != "--").any(is_help)
}

fn is_help(word: &OsString) -> bool {
    word == "--help" || word == "-h"
}

fn unknown(command: &str, word: &OsString) -> Error {
    usage(&format!("{command} does not know \"{}\"", word.display()))
}

fn usage(what: &str) -> Error {
    Error::usage(what).remedy(
        "the commands are setup, bench, compare-branches, kernels, test, results, compare-torchao, \
         flavour, python, cache and doctor: cargo xtask --help",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_arguments::BenchArguments;

    fn parsed(line: &str) -> Result<Command> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn every_command_is_understood() {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect();
        for (line, command) in [
            ("setup", Command::Setup { flavour: None, python: false }),
            ("setup --cpu", Command::Setup { flavour: Some(Flavour::Cpu), python: false }),
            ("setup --cpu --cpu", Command::Setup { flavour: Some(Flavour::Cpu), python: false }),
            ("setup --python", Command::Setup { flavour: None, python: true }),
            ("setup --python --cpu", Command::Setup { flavour: Some(Flavour::Cpu), python: true }),
            ("bench", Command::Bench { arguments: vec![] }),
            (
                "bench --bench inference -- int8wo --help",
                Command::Bench { arguments: words("--bench inference -- int8wo --help") },
            ),
            (
                "bench --repeat 3 -- int8wo",
                Command::Repeat(Repeat {
                    launches: 3,
                    name: "base".to_owned(),
                    arguments: BenchArguments { cargo: vec![], criterion: words("int8wo") },
                }),
            ),
            ("bench --repeat 3 --help", Command::Help(help::BENCH)),
            (
                "compare-branches --clean",
                Command::CompareBranches(compare_branches::Request::Clean),
            ),
            ("compare-branches a b -h", Command::Help(help::COMPARE_BRANCHES)),
            ("help compare-branches", Command::Help(help::COMPARE_BRANCHES)),
            (
                "test expand -- --nocapture",
                Command::Test { exhaustive: false, arguments: words("expand -- --nocapture") },
            ),
            (
                "test exp_is --exhaustive -- --test-threads 1",
                Command::Test { exhaustive: true, arguments: words("exp_is -- --test-threads 1") },
            ),
            (
                "test -- --exhaustive",
                Command::Test { exhaustive: false, arguments: words("-- --exhaustive") },
            ),
            (
                "compare-torchao my.yml --filter int8wo --python /opt/python",
                Command::CompareTorchao(Comparison {
                    config: "my.yml".into(),
                    filter: Some("int8wo".into()),
                    python: Some("/opt/python".into()),
                }),
            ),
            (
                "compare-torchao my.yml",
                Command::CompareTorchao(Comparison {
                    config: "my.yml".into(),
                    filter: None,
                    python: None,
                }),
            ),
            ("results", Command::Results(published::Request::Measure(vec![]))),
            ("results --list", Command::Results(published::Request::List)),
            ("results --docs", Command::Results(published::Request::Documents)),
            (
                "results repeat",
                Command::Results(published::Request::Measure(vec!["repeat".to_owned()])),
            ),
            ("results --help", Command::Help(help::RESULTS)),
            ("help results", Command::Help(help::RESULTS)),
            ("compare-torchao --help", Command::Help(help::COMPARE_TORCHAO)),
            ("help compare-torchao", Command::Help(help::COMPARE_TORCHAO)),
            ("cache", Command::Cache(Request::Show(Format::Table))),
            ("cache --format json", Command::Cache(Request::Show(Format::Json))),
            ("cache list --format table", Command::Cache(Request::List(Format::Table))),
            (
                "cache clear compiled",
                Command::Cache(Request::Clear { what: Clear::Compiled, older_than: None }),
            ),
            (
                "cache clear --older-than 3 all",
                Command::Cache(Request::Clear { what: Clear::All, older_than: Some(age::days(3)) }),
            ),
            ("kernels -v", Command::Kernels(Options { verbose: true, ..Options::default() })),
            ("kernels --iters 3 -h", Command::Help(help::KERNELS)),
            ("help kernels", Command::Help(help::KERNELS)),
            ("flavour", Command::Flavour),
            ("flavour -h", Command::Help(help::FLAVOUR)),
            ("python", Command::Python),
            ("python --help", Command::Help(help::PYTHON)),
            ("help cache", Command::Help(help::CACHE)),
            ("doctor", Command::Doctor),
            ("--help", Command::Help(help::ALL)),
            ("help bench", Command::Help(help::BENCH)),
            ("bench --help", Command::Help(help::BENCH)),
            ("setup -h", Command::Help(help::SETUP)),
        ] {
            assert_eq!(parsed(line), Ok(command), "{line}");
        }
    }

    #[test]
    fn anything_else_is_a_usage_error() {
        for (line, what) in [
            ("", "a command is missing"),
            ("instal", "unknown command \"instal\""),
            ("bench --repeat 0", "--repeat is a number of launches, 1 or more, not \"0\""),
            ("compare-branches a", "compare-branches takes two revisions, not 1"),
            ("setup --rocm", "setup does not know \"--rocm\""),
            ("setup cpu", "setup does not know \"cpu\""),
            ("compare-torchao", "compare-torchao needs a config"),
            ("compare-torchao a.yml b.yml", "compare-torchao takes one config"),
            ("compare-torchao --filter", "compare-torchao: --filter needs a value"),
            ("compare-torchao --json x", "compare-torchao does not know \"--json\""),
            ("cache clear", "cache clear needs to know what: compiled, kernels or all"),
            ("cache clear torch", "cache clear takes compiled, kernels or all, not \"torch\""),
            (
                "cache clear all --older-than -1",
                "cache: --older-than is a number of days, not \"-1\"",
            ),
            ("cache clear all --older-than", "cache: --older-than needs a value"),
            ("cache clear all --format json", "cache clear takes no --format"),
            ("cache --older-than 3", "--older-than is for cache clear"),
            ("cache list --format csv", "cache: --format is table or json, not \"csv\""),
            ("cache show", "cache does not know \"show\""),
            ("kernels --iters", "--iters needs a value"),
            ("results speed", "there is no result \"speed\""),
            ("results --docs repeat", "results: --docs stands alone"),
            ("results --fast", "results does not know \"--fast\""),
            ("flavour --cpu", "flavour does not know \"--cpu\""),
            ("python -c", "python does not know \"-c\""),
            ("doctor --fix", "doctor does not know \"--fix\""),
        ] {
            let error = parsed(line).expect_err(line);
            assert_eq!((error.what(), error.exit_code()), (what, 2));
        }
    }
}
