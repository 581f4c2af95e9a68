//! `calibrate`: the machine's limits and what fusing gains on it, measured and written as one profile.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, Args, ValueEnum};
use plan::{Device, without_repetition};

use super::{Config, Suite, device, list, output};
use crate::error::Result;
use crate::name::word;
use crate::workspace::Workspace;

const STEM: &str = "calibrate";

#[derive(Debug, PartialEq, Eq, Args)]
pub struct Options {
    /// Name of the machine in the profile
    #[arg(long, value_name = "NAME", value_parser = hardware)]
    hardware: String,
    /// File of the profile
    #[arg(long, short, value_name = "FILE", default_value = "calibration.json")]
    pub output: PathBuf,
    /// Fewer sizes, and less time for each
    #[arg(long)]
    quick: bool,
    /// Device to calibrate: cpu, cuda, xpu, mps
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = device)]
    device: Device,
    /// Families of fusion patterns
    #[arg(
        long,
        visible_alias = "fusion-patterns",
        value_name = "FAMILIES",
        value_delimiter = ',',
        action = ArgAction::Set,
        default_value = "all"
    )]
    only: Vec<Family>,
    /// Operations to measure [default: all that the device has]
    ///
    /// Peaks and efficiencies come from matmul and memory.
    #[arg(long, value_name = "OPERATIONS", value_delimiter = ',', action = ArgAction::Set)]
    operations: Vec<Operation>,
    /// Peak of float32 products, in place of the measured one
    #[arg(long, value_name = "GFLOP/S", value_parser = peak, allow_negative_numbers = true)]
    peak_gflops: Option<String>,
    /// Memory bandwidth (10⁹ bytes/s), in place of the measured one
    #[arg(long, value_name = "GB/S", value_parser = peak, allow_negative_numbers = true)]
    peak_bandwidth: Option<String>,
    /// Print criterion's output, which otherwise goes to bench.log
    #[arg(long)]
    verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Family {
    Linear,
    Conv,
    Attention,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Operation {
    /// Matrix products.
    Matmul,
    /// STREAM's operations.
    Memory,
    /// The cost of launching a kernel; not on the CPU.
    Launch,
    /// The cost of calling an operation.
    Call,
}

/// Checked here already, because the report would refuse it only after everything is measured.
fn hardware(text: &str) -> std::result::Result<String, &'static str> {
    if text.trim().is_empty() { Err("the name is empty") } else { Ok(text.to_owned()) }
}

fn peak(text: &str) -> std::result::Result<String, &'static str> {
    match text.parse::<f64>() {
        Ok(peak) if peak > 0.0 && peak.is_finite() => Ok(text.to_owned()),
        _ => Err("a peak is a number above 0; without the option it is measured"),
    }
}

pub fn command(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let words = options.reports()?;
    let measured = options.suite().measure(workspace)?;
    Ok(measured.end(&measured.reported(&words)?))
}

fn words_of<T: ValueEnum>(values: &[T]) -> Vec<String> {
    values.iter().cloned().map(word).collect()
}

impl Options {
    /// Requests of the command line that nothing can measure or report.
    pub fn check(&self) -> std::result::Result<(), &'static str> {
        if self.only.len() > 1 && self.only.contains(&Family::All) {
            return Err("--only: `all` is every family, so it stands alone");
        }
        if self.device == Device::Cpu && self.operations.contains(&Operation::Launch) {
            return Err(
                "--operations: the CPU starts no kernels, so it has no `launch`; leave it \
                        out, or name another device with --device",
            );
        }
        Ok(())
    }

    fn suite(&self) -> Suite {
        Suite {
            command: "calibrate",
            stem: STEM,
            configs: self.configs(),
            verbose: self.verbose,
            arguments: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// The report's command lines afterwards.
    pub fn reports(&self) -> Result<Vec<Vec<OsString>>> {
        let mut words: Vec<OsString> = Vec::new();
        let mut put = |name: &str, value: OsString| words.extend([name.into(), value]);
        put("--hardware", self.hardware.clone().into());
        put("--device", self.device.to_string().into());
        put(
            "--fusion-patterns",
            words_of(&without_repetition(self.only.iter().copied())).join(",").into(),
        );
        put("--operations", words_of(&self.operations()).join(",").into());
        let peaks =
            [("--peak-gflops", &self.peak_gflops), ("--peak-bandwidth", &self.peak_bandwidth)];
        for (name, peak) in peaks {
            peak.iter().for_each(|peak| put(name, peak.into()));
        }
        put("--output", output(&self.output)?);
        Ok(vec![self.suite().report("calibration", words)])
    }

    fn operations(&self) -> Vec<Operation> {
        let is_there = |it: &Operation| *it != Operation::Launch || self.device != Device::Cpu;
        match self.operations.is_empty() {
            true => Operation::value_variants().iter().copied().filter(is_there).collect(),
            false => without_repetition(self.operations.iter().copied()),
        }
    }

    /// The configs of what is measured.
    pub fn configs(&self) -> Vec<Config> {
        let (fusion, calibration) = (self.fusion(), self.calibration());
        vec![
            Config { mode: "calibration", text: calibration },
            Config { mode: "fusion", text: fusion },
        ]
    }

    fn sizes(&self) -> &'static str {
        if self.quick { "quick" } else { "full" }
    }

    fn head(&self, mode: &str, threads: &str) -> String {
        // On other devices the host's threads only launch the work.
        let threads = if self.device == Device::Cpu { threads } else { "1" };
        let sampling = if self.quick { "target: 0.02, warm_up_s: 0.1" } else { "target: 0.02" };
        format!(
            "# Written by `cargo torch-bench calibrate`.\nbenchmark_mode: {mode}\n\
             threads: {threads}\nsampling: {{ {sampling} }}\nenergy: false\n"
        )
    }

    fn calibration(&self) -> String {
        let (sizes, device) = (self.sizes(), self.device);
        let products = if device == Device::Cpu { "[matmul, matmul_onednn]" } else { "[matmul]" };
        let streams = if self.quick { "[copy, triad]" } else { "[stream]" };
        let mut text = self.head("calibration", "[1, all]") + "calibration_params:\n";
        for operation in self.operations() {
            let entry = match operation {
                Operation::Matmul => format!("probes: {products}, sizes: {sizes}"),
                Operation::Memory => format!("probes: {streams}, sizes: {sizes}"),
                Operation::Launch => "probes: [launch], threads: 1".to_owned(),
                Operation::Call => "probes: [call], threads: 1".to_owned(),
            };
            text.push_str(&format!("  - {{ {entry}, devices: [{device}] }}\n"));
        }
        text
    }

    fn fusion(&self) -> String {
        let sampling = if self.quick { ", sampling: { measurement_s: 0.25 }" } else { "" };
        let patterns = list(&words_of(&without_repetition(self.only.iter().copied())));
        let (sizes, device) = (self.sizes(), self.device);
        let head = self.head("fusion", "all");
        format!(
            "{head}fusion_params:\n  - {{ patterns: {patterns}, sizes: {sizes}, devices: \
             [{device}]{sampling} }}\n"
        )
    }
}
