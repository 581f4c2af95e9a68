//! `calibration`: the profile of a machine, from records or from a file.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::ColorChoice;
use plan::{Device, Mode, PatternFamily};

use crate::read::Report;
use crate::render::json_text::{self, Style};
use crate::render::table::{Align, Cell, Line, NARROWEST, Paint, WIDTH, render, wrap};
use crate::render::units;
use crate::views::calibration::{OperationKind, Preset, PresetPeak, Profile, Request, calibrate};

/// Modes of the cases that a profile is made of.
pub const MODES: &[Mode] = &[Mode::Calibration, Mode::Fusion];

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Name of the machine in the profile [default: the preset's]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = named,
        required_unless_present_any = ["preset", "load", "list_presets"]
    )]
    hardware: Option<String>,
    /// Peaks as the vendor documents them; `auto` finds the GPU's
    ///
    /// --list-presets prints all of them.
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Peak of float32 products, in place of the measured one
    #[arg(long, value_name = "GFLOP/S", value_parser = positive, allow_negative_numbers = true)]
    peak_gflops: Option<f64>,
    /// Memory bandwidth (10⁹ bytes/s), in place of the measured one
    #[arg(long, value_name = "GB/S", value_parser = positive, allow_negative_numbers = true)]
    peak_bandwidth: Option<f64>,
    /// Families of fusion patterns in the profile
    #[arg(long, value_delimiter = ',', value_name = "FAMILIES", default_value = "all")]
    fusion_patterns: Vec<Families>,
    /// Operations in the profile
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "OPERATIONS",
        default_value = "matmul,memory,launch,call"
    )]
    operations: Vec<OperationKind>,
    /// Device to profile; needed if several were measured
    #[arg(long, value_name = "DEVICE")]
    device: Option<Device>,
    /// Print the summary of a stored profile, and read nothing else
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "hardware", "preset", "peak_gflops", "peak_bandwidth", "fusion_patterns", "operations",
            "device", "list_presets",
        ]
    )]
    pub load: Option<PathBuf>,
    /// Print the presets with the source of every figure
    #[arg(
        long,
        conflicts_with_all = [
            "hardware", "preset", "peak_gflops", "peak_bandwidth", "fusion_patterns", "operations",
            "device",
        ]
    )]
    pub list_presets: bool,
    /// When to colour the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

/// Words of `--fusion-patterns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Families {
    Linear,
    Conv,
    Attention,
    All,
    None,
}

impl Families {
    const fn patterns(self) -> &'static [PatternFamily] {
        match self {
            Self::Linear => &[PatternFamily::Linear],
            Self::Conv => &[PatternFamily::Conv],
            Self::Attention => &[PatternFamily::Attention],
            Self::All => PatternFamily::ALL,
            Self::None => &[],
        }
    }
}

impl Options {
    pub fn profile(&self, report: &Report) -> Result<Profile> {
        let preset = match self.preset.as_deref() {
            Some("auto") => {
                let records = report.rows().iter().map(|row| &*row.record);
                Some(Preset::of_gpu(records).map_err(|error| anyhow!(error))?)
            }
            Some(name) => {
                Some(Preset::named(name).map_err(|error| anyhow!("{error}: {}", error.remedy))?)
            }
            None => None,
        };
        let alone = |families: &Families| matches!(families, Families::All | Families::None);
        if let Some(alone) = self.fusion_patterns.iter().find(|it| alone(it))
            && self.fusion_patterns.len() > 1
        {
            let word = if *alone == Families::All { "all" } else { "none" };
            bail!("--fusion-patterns: `{word}` cannot be combined with other families");
        }
        let named = self.hardware.as_ref().or(preset.as_ref().map(|preset| &preset.title));
        let patterns: Vec<PatternFamily> =
            self.fusion_patterns.iter().flat_map(|it| it.patterns()).copied().collect();
        let request = Request {
            hardware: named.map_or("", String::as_str),
            device: self.device,
            peak_gflops: self.peak_gflops,
            peak_bandwidth: self.peak_bandwidth,
            preset: preset.as_ref(),
            operations: &self.operations,
            patterns: &patterns,
        };
        calibrate(report, &request)
    }
}

pub fn json(profile: &Profile) -> Result<String> {
    Ok(json_text::to_string(profile, Style::Python)? + "\n")
}

fn named(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() { Err("the name is empty".to_owned()) } else { Ok(name.to_owned()) }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(peak) if peak > 0.0 && peak.is_finite() => Ok(peak),
        Ok(_) => Err("a peak must be above 0; omit the option to use the measured peak".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub fn presets(width: Option<usize>, colour: bool) -> String {
    let width = width.map_or(WIDTH, |columns| columns.max(NARROWEST));
    let columns = [("", Align::Left), ("", Align::Left), ("", Align::Right), ("", Align::Left)];
    let mut out = String::new();
    for preset in Preset::all() {
        let mut lines = Vec::new();
        let mut add = |what: &str, with: &str, figure: f64, unit: &str, source: &str| {
            let figure = units::significant(figure, 4);
            lines.push(Line::Cells(vec![what.into(), with.into(), figure.into(), unit.into()]));
            let source = wrap(source, width - 4).into_iter();
            lines.extend(
                source.map(|part| Line::Text(Cell::new(format!("    {part}"), Paint::Dim))),
            );
        };
        for PresetPeak { precision, unit, gflops, source } in &preset.peaks {
            add(precision.word(), unit, *gflops, "GFLOP/s", source);
        }
        add("memory", "", preset.bandwidth.gbps, "GB/s", &preset.bandwidth.source);
        let cores = preset.cores.map(|cores| format!(", {cores} cores")).unwrap_or_default();
        out.push_str(&format!("{}: {} ({}{cores})\n", preset.name, preset.title, preset.device));
        out.push_str(&render(&columns, &lines, 2, width, colour));
    }
    out
}
