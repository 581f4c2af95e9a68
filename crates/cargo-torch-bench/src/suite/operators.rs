//! `operators`: the comprehensive operator benchmark, measured and written as `benchmark_results.json`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::RangedU64ValueParser;
use clap::{ArgAction, Args};
use plan::{Device, Operator, without_repetition};

use super::{Config, Suite, device, list, output};
use crate::error::Result;
use crate::workspace::Workspace;

const STEM: &str = "comprehensive";

/// The range of sizes that configs allow.
fn sizes() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(1..=1 << 24)
}

fn runs() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(10..=1_000_000)
}

/// The defaults are those of upstream's script.
#[derive(Debug, PartialEq, Eq, Args)]
pub struct Options {
    /// First dimension of x
    #[arg(long, value_name = "LIST", value_delimiter = ',', action = ArgAction::Set, value_parser = sizes(), default_value = "16,32,64")]
    batch_sizes: Vec<u64>,
    /// Second dimension of x
    #[arg(long, value_name = "LIST", value_delimiter = ',', action = ArgAction::Set, value_parser = sizes(), default_value = "256,512,1024")]
    sequence_lengths: Vec<u64>,
    /// Last dimension of x
    #[arg(long, value_name = "LIST", value_delimiter = ',', action = ArgAction::Set, value_parser = sizes(), default_value = "32,64,128,256")]
    tensor_dimensions: Vec<u64>,
    /// Operations by upstream's names or ours
    ///
    /// Loss is the squared error and cross entropy. Further ones are in
    /// docs/book/src/configs/operators.md.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        action = ArgAction::Set,
        default_value = "LayerNorm,GELU,Swish,Loss",
        value_parser = operators
    )]
    operations: Vec<Operators>,
    /// Device: cpu, cuda, xpu, mps
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = device)]
    device: Device,
    /// Take the mean of N single calls after 10 more, 10 or more, and print it beside the median
    #[arg(long, value_name = "N", value_parser = runs())]
    runs: Option<u64>,
    /// File of the results
    #[arg(long, short, value_name = "FILE", default_value = "benchmark_results.json")]
    pub output: PathBuf,
    /// Print criterion's output, which otherwise goes to bench.log
    #[arg(long)]
    verbose: bool,
}

/// The operators that one word on the command line stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Operators(Vec<Operator>);

/// Upstream's word for both losses.
const LOSS: &str = "Loss";

fn operators(text: &str) -> std::result::Result<Operators, String> {
    let word = text.trim();
    if word == LOSS {
        return Ok(Operators(vec![Operator::MseLoss, Operator::CrossEntropy]));
    }
    let named = Operator::ALL.iter().find(|it| it.upstream() == word || it.as_str() == word);
    named.map(|&operator| Operators(vec![operator])).ok_or_else(|| {
        let words = Operator::ALL.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ");
        format!("use LayerNorm, GELU, Swish, {LOSS}, or one of ours: {words}")
    })
}

pub fn command(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let words = options.reports()?;
    let measured = options.suite().measure(workspace)?;
    Ok(measured.end(&measured.reported(&words)?))
}

impl Options {
    fn suite(&self) -> Suite {
        Suite {
            command: "operators",
            stem: STEM,
            configs: self.configs(),
            verbose: self.verbose,
            arguments: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// The report's command lines afterwards: the file, and the tables.
    pub fn reports(&self) -> Result<Vec<Vec<OsString>>> {
        let mut written =
            ["--format", "json", "--upstream-compat", "--output"].map(OsString::from).to_vec();
        written.push(output(&self.output)?);
        let printed = self.runs.iter().map(|_| "--mean".into()).collect();
        let suite = self.suite();
        Ok(vec![suite.report("operators", written), suite.report("operators", printed)])
    }

    /// The config that is measured.
    pub fn configs(&self) -> Vec<Config> {
        let operators: Vec<&str> =
            self.operations.iter().flat_map(|it| &it.0).map(|it| it.as_str()).collect();
        let latency = self
            .runs
            .map(|calls| format!("latency: {{ calls: {calls}, warm_up: 10 }}\n"))
            .unwrap_or_default();
        let text = format!(
            "# Written by `cargo torch-bench operators`.\nbenchmark_mode: operators\n\
             sampling: {{ target: 0.02, warm_up_s: 0.1, measurement_s: 0.25 }}\nenergy: false\n\
             {latency}operator_params:\n  - operators: {}\n    batch_sizes: {}\n    \
             sequence_lengths: {}\n    tensor_dimensions: {}\n    devices: [{}]\n",
            list(&without_repetition(operators)),
            list(&without_repetition(&self.batch_sizes)),
            list(&without_repetition(&self.sequence_lengths)),
            list(&without_repetition(&self.tensor_dimensions)),
            self.device,
        );
        vec![Config { mode: "operators", text }]
    }
}
