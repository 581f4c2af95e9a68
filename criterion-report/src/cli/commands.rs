//! Each command, with the options that all of them have.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use plan::estimate::Estimator;
use plan::{CargoPackage, Diagnostics, Library, Mode, Package};

use super::source::{Source, gated, none_of, say};
use super::{GATE_FAILED, UNUSABLE};
use crate::cli::{calibration, compare, kernels, planned, validate};
use crate::compare::{FILE, Profile as NoiseProfile, Side, Thresholds, aa};
use crate::export::{csv, torchao};
use crate::html;
use crate::read::database::Severity;
use crate::read::{Selection, recommendation};
use crate::render::{json_text, units};
use crate::views::calibration::Profile;
use crate::views::compare::{Format, markdown, table};
use crate::views::recommend::{self, Recommendation};
use crate::views::{self, view, written, written::Target};
use crate::{merge, output, visible};

impl Source {
    pub(super) fn plan(&self, options: &planned::Options) -> Result<ExitCode> {
        if self.strict {
            bail!("`plan` reads no results: omit --strict");
        }
        if self.latest {
            bail!("`plan` reads no results: omit --latest");
        }
        let plan = match &options.built[..] {
            [] => expanded(&options.configs),
            built => Ok(read(built)?),
        };
        let plan = match plan {
            Ok(plan) => plan,
            Err(diagnostics) => {
                output::tell(&diagnostics.to_string());
                return Ok(ExitCode::from(UNUSABLE));
            }
        };
        let filter = self.filter.as_ref();
        let mut cases = options.cases(&plan)?;
        let count = cases.len();
        cases.retain(|it| filter.is_none_or(|f| f.is_match(&it.case.full_id())));
        if let (Some(filter), true) = (filter, cases.is_empty()) {
            bail!("--filter {filter} matches none of {}", units::count(count, "planned case"));
        }
        let colour = self.output.is_none() && output::colour_terminal();
        let text = planned::write(&cases, &self.estimator()?, options.format, colour);
        output::put(&text, self.output.as_deref())?;
        Ok(ExitCode::SUCCESS)
    }

    /// The estimator of case times from the records of earlier runs; without records it uses defaults.
    fn estimator(&self) -> Result<Estimator> {
        let (estimator, unread) = Estimator::of_folder(&self.location()?.records)?;
        for it in unread {
            let lines = units::count(it.lines, "line");
            let what = format!("estimates leave out {lines} of {}: {}", it.path.display(), it.why);
            output::tell_line("warning", &what);
        }
        Ok(estimator)
    }

    pub(super) fn validate(&self, options: &validate::Options) -> Result<ExitCode> {
        let of_results = Self { strict: false, ..self.clone() };
        of_results.nothing_of_results("`validate` checks the files that are given", false)?;
        let checked = options.run();
        output::put(&checked.text(), self.output.as_deref())?;
        checked.unreadable.iter().for_each(|why| output::tell_line("error", &why.to_string()));
        let fails = |severity| severity == Severity::Error || self.strict;
        let failed = checked.findings.iter().any(|finding| fails(finding.trap.severity()));
        Ok(if !checked.unreadable.is_empty() {
            ExitCode::from(UNUSABLE)
        } else if failed {
            ExitCode::from(GATE_FAILED)
        } else {
            ExitCode::SUCCESS
        })
    }

    pub(super) fn calibration(&self, options: &calibration::Options) -> Result<ExitCode> {
        let colour = view::is_coloured(options.color, output::colour_terminal());
        if options.list_presets {
            self.nothing_of_results("--list-presets prints the presets", false)?;
            let width = self.output.as_ref().map_or_else(output::terminal_width, |_| None);
            output::put(&calibration::presets(width, colour), self.output.as_deref())?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(file) = &options.load {
            self.nothing_of_results("--load prints a profile", true)?;
            let profile = Profile::load(file)?;
            let width = output::terminal_width();
            output::put(&views::calibration::text::write(&profile, width, colour), None)?;
            return Ok(ExitCode::SUCCESS);
        }
        let report = self.report(Some(calibration::MODES), &[], true)?;
        say(&report.unreadable, &report.warnings);
        let profile = options.profile(&report)?;
        if let Some(file) = &self.output {
            output::put(&calibration::json(&profile)?, Some(file))?;
            if output::is_standard(file) {
                return Ok(self.end(&report));
            }
        }
        let width = output::terminal_width();
        output::put(&views::calibration::text::write(&profile, width, colour), None)?;
        Ok(self.end(&report))
    }

    pub(super) fn recommend(&self, options: &recommend::Options) -> Result<ExitCode> {
        let asked = [
            ("--from", self.from.is_some()),
            ("--filter", self.filter.is_some()),
            ("--latest", self.latest),
        ];
        none_of(&asked, "`recommend` weighs all cases of the question among the records")?;
        if self.output.as_deref().is_some_and(output::is_standard) {
            bail!("`recommend` writes a folder: name it with --output DIR, or omit --output");
        }
        let request = recommendation::read(&self.location()?.records)?;
        let report = self.report(Some(&[Mode::Inference]), &[], true)?;
        say(&report.unreadable, &report.warnings);
        let found = Recommendation::new(&report, &request, options)?;
        let document = recommend::Document::of(&found);
        let target = Target {
            colour_terminal: output::colour_terminal(),
            width: output::terminal_width(),
            file: None,
        };
        output::put(&recommend::text::write(&document, options, target)?, None)?;
        if let Some(folder) = &self.output {
            let written = [
                ("recommendation.json", json_text::document(&document)?),
                ("recommendation.py", recommend::python(&found)?),
                ("recommendation.yml", recommend::config(&found)),
                ("recommendation_llmcompressor.yml", recommend::llm_compressor(&found)?),
                ("recommendation_modelopt.py", recommend::modelopt(&found)?),
                ("recommendation.html", html::recommendation::page(&document)?),
            ];
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            for (name, text) in written {
                output::put(&text, Some(&folder.join(name)))?;
            }
            output::tell_line("note", &format!("the files are in {}", folder.display()));
        }
        Ok(self.end(&report))
    }

    pub(super) fn torchao_output(&self, options: &csv::Options) -> Result<ExitCode> {
        if self.output.is_some() {
            bail!("--torchao-output writes folders: name another one with --torchao-output=DIR");
        }
        let mut report = self.report(Some(torchao::MODES), &[], true)?;
        say(&report.unreadable, &report.warnings);
        written::earlier(&report).iter().for_each(|note| output::tell_line("note", note));
        let folder = options.torchao_output.as_ref().and_then(Option::as_deref);
        let written = torchao::write(&mut report, options, folder, now()?)?;
        written.notes.iter().for_each(|note| output::tell_line("note", note));
        let lines: String = written.lines.iter().map(|line| format!("{line}\n")).collect();
        output::put(&visible::lines(&lines), None)?;
        Ok(self.end(&report))
    }

    pub(super) fn kernels(&self, options: &kernels::Options) -> Result<ExitCode> {
        if self.output.is_some() && !options.judged {
            bail!("`kernels` writes a folder: use --output-dir instead of --output");
        }
        options.check()?;
        let report = self.report(Some(kernels::MODES), kernels::BESIDE, false)?;
        say(&report.unreadable, &report.warnings);
        written::earlier(&report).iter().for_each(|note| output::tell_line("note", note));
        let filter = self.filter.as_ref();
        let selection = Selection { modes: Some(kernels::MODES), filter, ..Selection::default() };
        let file = self.output.as_deref();
        let (failed, remarks) = options.run(&report, &self.location()?, selection, file)?;
        say(&remarks.unreadable, &remarks.warnings);
        let read = report.unreadable.is_empty() && remarks.unreadable.is_empty();
        let (ended, end) = (gated(read, &failed), self.end(&report));
        Ok(ended.unwrap_or(end))
    }

    pub(super) fn compare(&self, options: &compare::Options) -> Result<ExitCode> {
        if self.strict {
            bail!("--strict does not apply to `compare`: use --fail-on");
        }
        if self.from.is_some() {
            bail!("--from does not apply to `compare`: name the exported file as A or B");
        }
        let filter = self.filter.as_ref();
        let selection = Selection { filter, latest: self.latest, ..Selection::default() };
        let (comparison, remarks, failed) =
            options.run(&self.location()?, &self.baseline, selection)?;
        say(&remarks.unreadable, &remarks.warnings);
        let file = self.output.as_deref();
        let look = views::compare::Look {
            all: options.all,
            details: options.details,
            colour: view::is_coloured(options.color, file.is_none() && output::colour_terminal()),
            width: file.map_or_else(output::terminal_width, |_| None),
        };
        let is_terminal = look.width.is_some();
        output::stream(file, |out| match options.format {
            Format::Table => Ok(out.write_all(table::write(&comparison, look).as_bytes())?),
            Format::Markdown => {
                Ok(out.write_all(markdown::write(&comparison, look.details).as_bytes())?)
            }
            Format::Json => views::compare::json(&comparison, out),
            Format::Html => html::comparison::write(&comparison, is_terminal, out),
        })?;
        Ok(gated(remarks.unreadable.is_empty(), &failed).unwrap_or(ExitCode::SUCCESS))
    }

    pub(super) fn merge(&self, options: &merge::Options) -> Result<ExitCode> {
        let asked = [
            ("--strict", self.strict),
            ("--latest", self.latest),
            ("--criterion-dir", self.criterion_dir.is_some()),
            ("--from", self.from.is_some()),
        ];
        none_of(&asked, "`merge` reads the folders that it is given")?;
        let Some(output) = self.output.as_ref().filter(|it| !output::is_standard(it)) else {
            bail!("`merge` writes a folder: name it with --output DIR");
        };
        let merged = options.run(&self.baseline, self.filter.as_ref(), output)?;
        say(&merged.unreadable, &merged.warnings);
        output::put(&merged.text, None)?;
        let incomplete: Vec<String> =
            merged.incomplete.iter().map(|text| text.trim_end().to_owned()).collect();
        Ok(gated(merged.unreadable.is_empty(), &incomplete).unwrap_or(ExitCode::SUCCESS))
    }

    pub(super) fn aa(&self, options: &compare::AaOptions) -> Result<ExitCode> {
        if self.strict {
            bail!("--strict does not apply to `aa`, which compares runs with each other: omit it");
        }
        if self.from.is_some() {
            bail!("--from does not apply to `aa`: give the name of several runs");
        }
        if self.output.as_deref().is_some_and(output::is_standard) {
            bail!("`aa` adds to a profile: name a file with --output, or omit it");
        }
        let filter = self.filter.as_ref();
        let selection = Selection { filter, latest: self.latest, ..Selection::default() };
        let location = self.location()?;
        let (side, remarks) = Side::read(&options.name, &location, &self.baseline, selection)?;
        let file = self.output.clone().unwrap_or_else(|| location.records.join(FILE));
        let known = NoiseProfile::read(&file)?.unwrap_or_default();
        let now = units::rfc3339(now()?);
        let aa = aa(&side, known, &now, &Thresholds::default(), options.allow_dirty)?;
        if !options.no_save {
            output::put(&aa.profile.json()?, Some(&file))?;
        }
        say(&remarks.unreadable, &remarks.warnings);
        let colour = output::colour_terminal();
        output::put(&views::aa::write(&aa, output::terminal_width(), colour), None)?;
        if !options.no_save {
            output::tell_line("note", &format!("the noise profile is {}", file.display()));
        }
        let readable = remarks.unreadable.is_empty();
        Ok(if readable { ExitCode::SUCCESS } else { ExitCode::from(UNUSABLE) })
    }
}

/// Seconds since the Unix epoch.
fn now() -> Result<u64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Ok(now.context("the system clock is set before 1970")?.as_secs())
}

/// The plan of the configs, with what the crates bring that their package depends on.
fn expanded(configs: &[PathBuf]) -> Result<plan::Plan, Diagnostics> {
    let libraries = configs.first().map_or(Ok(Vec::new()), |config| libraries(config))?;
    let built = Package { folder: Path::new("."), libraries: &libraries };
    let configs = plan::read(configs, built)?;
    configs.iter().for_each(notes);
    plan::expand(&configs)
}

/// The plans in files that build scripts wrote, in one.
fn read(built: &[PathBuf]) -> Result<plan::Plan> {
    let mut groups = Vec::new();
    for path in built {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let plan = plan::Plan::from_json(text.as_bytes())
            .with_context(|| format!("{} is not a plan of this version", path.display()))?;
        groups.extend(plan.groups);
    }
    Ok(plan::Plan { groups })
}

/// Prints notes: which selected words no kernel lists, and which found files are not kernels.
fn notes(config: &plan::Config) {
    let plan::Suite::Kernels(suite) = &config.suite else { return };
    for text in suite.unlisted() {
        output::tell_line("warning", &format!("no kernel matches a selection: {text}"));
    }
    for file in &suite.passed_over {
        let text = format!("{} is not a kernel: it does not name `ProblemSize`", file.display());
        output::tell_line("note", &text);
    }
}

/// The crates that bring something to the package in which a config lies. Where cargo cannot say which those are, a note
/// says so.
fn libraries(config: &Path) -> Result<Vec<Library>, Diagnostics> {
    let whole = std::path::absolute(config).unwrap_or_default();
    let package = whole.ancestors().skip(1).find(|folder| folder.join("Cargo.toml").is_file());
    let Some(package) = package else { return Ok(Vec::new()) };
    CargoPackage::ask(package).and_then(|package| package.libraries()).unwrap_or_else(|why| {
        output::tell_line("note", &format!("kernels of other crates are left out: {why}"));
        Ok(Vec::new())
    })
}
