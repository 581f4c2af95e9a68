//! `compare`: two sides, the rule, the thresholds, the noise floor and the gates; and `aa`, which measures
//! that floor.

mod gate;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ColorChoice;

use crate::cli::source::none_of;
use crate::compare::{
    Comparison, FILE, Floors, Hosts, Policy, Profile, Remarks, Rule, Settings, Side, SideFacts,
    SideLabels, Thresholds, compare, threshold, with_times,
};
use crate::read::{Location, Lockstep, Selection};
use crate::render::units;
use crate::views::compare::Format;
use crate::visible;
pub use gate::Gate;

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Baseline name, folder or exported file to compare with
    a: String,
    /// The same, of the changed code
    b: String,
    /// Rule that decides what is a difference
    #[arg(long, value_enum, default_value = "default")]
    policy: Policy,
    /// Exit with 1 if any of these is found
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    fail_on: Vec<Gate>,
    /// YAML file of thresholds by measure and case
    ///
    /// Keys `latency`, `memory`, `accuracy` and `energy`, and `rules`, a list of the same with a
    /// `filter`, a regular expression on the id. The last rule that matches a case and names a
    /// measure decides. The options below override the file's general values, not its rules.
    #[arg(long, value_name = "FILE")]
    thresholds: Option<PathBuf>,
    /// Least relative change of a time [default: 0.1, or as `compare-branches` was asked]
    #[arg(long, value_name = "SHARE", value_parser = threshold, allow_negative_numbers = true)]
    latency_threshold: Option<f64>,
    /// Least relative change of peak memory [default: 0.05]
    #[arg(long, value_name = "SHARE", value_parser = threshold, allow_negative_numbers = true)]
    memory_threshold: Option<f64>,
    /// Least change of a relative error [default: 0.001]
    #[arg(long, value_name = "ERROR", value_parser = threshold, allow_negative_numbers = true)]
    accuracy_threshold: Option<f64>,
    /// Least relative change of an energy [default: 0.1]
    #[arg(long, value_name = "SHARE", value_parser = threshold, allow_negative_numbers = true)]
    energy_threshold: Option<f64>,
    /// Noise profile of `aa` [default: noise.json beside the records]
    #[arg(long, value_name = "FILE")]
    noise: Option<PathBuf>,
    /// Compare results of two machines, with a caution on each case
    #[arg(long)]
    across_hosts: bool,
    /// Show equivalent cases, too; without it they are counted
    #[arg(long)]
    pub all: bool,
    /// Show the cautions of all cases, not only of changed ones
    #[arg(long)]
    pub details: bool,
    /// Table for people, Markdown for a pull request, all as JSON, or a page
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// When to colour the table
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    pub color: ColorChoice,
}

impl Options {
    /// Compares both sides; what reading them has to say, and the gates that failed, each with its
    /// cases.
    pub fn run(
        &self,
        location: &Location,
        of_folder: &str,
        selection: Selection<'_>,
    ) -> Result<(Comparison, Remarks, Vec<String>)> {
        if self.a == self.b {
            bail!(
                "A and B are both `{}`: name two different results, first the one to compare with",
                self.a
            );
        }
        let lockstep = Lockstep::read(location, [&self.a, &self.b])?;
        let thresholds = self.limits(lockstep.as_ref())?;
        let profile = self.profile(location)?;
        let mut remarks = Remarks::default();
        let read = |index: usize, name: &str| {
            let of_runs = || Side::read(name, location, of_folder, selection);
            let Some(document) = &lockstep else { return of_runs() };
            // Benchmarks without our plug-in leave no records.
            let (records, remarks) = match Side::is_baseline(name, location)? {
                true => of_runs().map(|(side, remarks)| (Some(side), remarks))?,
                false => (None, Remarks::default()),
            };
            if records.as_ref().is_some_and(Side::has_times) {
                bail!(
                    "`{name}` was measured in lock-step, and again later: remove {} to compare \
                     the later runs",
                    Lockstep::file(location, [&self.a, &self.b]).display()
                );
            }
            Ok((with_times(records, name, index, document, selection), remarks))
        };
        let (a, b) = rayon::join(|| read(0, &self.a), || read(1, &self.b));
        let mut side = |read: Result<(Side, Remarks)>| -> Result<Side> {
            let (side, said) = read?;
            remarks.extend(said);
            Ok(side)
        };
        let (a, b) = (side(a)?, side(b)?);
        let settings = Settings {
            policy: self.policy,
            thresholds: &thresholds,
            floors: Floors::Profile(profile.as_ref()),
            hosts: if self.across_hosts { Hosts::Across } else { Hosts::Refused },
            words: SideLabels::SIDES,
            lockstep: lockstep.as_ref(),
        };
        let comparison = compare(&a, &b, settings)?;
        if comparison.cases.is_empty() {
            let unreadable = visible::list(&remarks.unreadable);
            match selection.filter {
                Some(filter) => {
                    bail!("--filter {filter} matches no case of either side{unreadable}")
                }
                None => bail!("neither side has a case{unreadable}"),
            }
        }
        remarks.warnings.extend(of_one_measurement(&comparison));
        remarks.warnings.extend(of_other_variables(&comparison));
        if selection.filter.is_none() {
            remarks.warnings.extend(self.idle_rules(&comparison));
        }
        let failed: Vec<String> =
            self.fail_on.iter().filter_map(|gate| gate.failed(Some(&comparison), &b)).collect();
        if failed.is_empty()
            && self.fail_on.iter().any(|gate| gate.compares())
            && !comparison.compares()
        {
            let nothing = "--fail-on: no gate was checked, because no case could be compared; the \
                           output says why";
            remarks.unreadable.push(nothing.to_owned());
        }
        Ok((comparison, remarks, failed))
    }

    /// Rules of --thresholds that no case is touched by: a filter with a slip would be of no effect.
    fn idle_rules(&self, comparison: &Comparison) -> Vec<String> {
        let Some(file) = &self.thresholds else { return Vec::new() };
        let idle =
            |rule: &&Rule| !comparison.cases.iter().any(|it| rule.filter.is_match(&it.full_id));
        let idle = comparison.thresholds.rules.iter().filter(idle);
        idle.map(|rule| {
            let (file, filter) = (file.display(), &rule.filter);
            format!("--thresholds {file}: the filter `{filter}` matches no case of either side")
        })
        .collect()
    }

    fn limits(&self, lockstep: Option<&Lockstep>) -> Result<Thresholds> {
        let given = [
            ("--thresholds", self.thresholds.is_some()),
            ("--latency-threshold", self.latency_threshold.is_some()),
            ("--memory-threshold", self.memory_threshold.is_some()),
            ("--accuracy-threshold", self.accuracy_threshold.is_some()),
            ("--energy-threshold", self.energy_threshold.is_some()),
        ];
        if self.policy == Policy::Hud {
            none_of(&given, "--policy hud has its own thresholds")?;
        }
        let mut thresholds = match &self.thresholds {
            Some(file) => Thresholds::read(file).context("--thresholds")?,
            None => {
                let mut thresholds = Thresholds::default();
                // Blocks were taken until they decided by this one.
                thresholds.limits.set(lockstep.map(|it| it.threshold), None, None, None);
                thresholds
            }
        };
        thresholds.limits.set(
            self.latency_threshold,
            self.memory_threshold,
            self.accuracy_threshold,
            self.energy_threshold,
        );
        Ok(thresholds)
    }

    fn profile(&self, location: &Location) -> Result<Option<Profile>> {
        let Some(file) = &self.noise else {
            return Profile::read(&location.records.join(FILE));
        };
        let profile = Profile::read(file).context("--noise")?;
        if profile.is_none() {
            bail!("--noise {}: there is no such file", file.display());
        }
        Ok(profile)
    }
}

/// Says with which environment variables each side was measured, if not with the same.
fn of_other_variables(comparison: &Comparison) -> Option<String> {
    let (a, b) = (&comparison.a, &comparison.b);
    let said = |side: &SideFacts| {
        let set: Vec<&str> =
            side.variables.iter().map(|it| if it.is_empty() { "none" } else { it }).collect();
        format!("{} with {}", side.name, set.join(" and with "))
    };
    let both_known = !a.variables.is_empty() && !b.variables.is_empty();
    (both_known && a.variables != b.variables)
        .then(|| format!("measured with other environment variables: {}, {}", said(a), said(b)))
}

/// Says that nothing was changed and measured again between the sides.
fn of_one_measurement(comparison: &Comparison) -> Option<String> {
    (comparison.same > 0).then(|| {
        format!(
            "A and B hold the same measurement of {}: until the next run, criterion keeps results \
             saved under a name as `new`, too",
            units::count(comparison.same, "case")
        )
    })
}

/// `aa`: runs of one revision against each other, and the noise profile that follows.
#[derive(Debug, Clone, clap::Args)]
pub struct AaOptions {
    /// Name of the runs that were saved as NAME@1, NAME@2 and so on
    pub name: String,
    /// Accept uncommitted changes or an unknown revision
    #[arg(long)]
    pub allow_dirty: bool,
    /// Print the result, and leave the noise profile as it is
    #[arg(long)]
    pub no_save: bool,
}
