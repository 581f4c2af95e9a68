//! The noise profile: how far runs of one revision lie apart, on this machine, case by case.
//!
//! ```text
//! <records>/noise.json   {"schema": "criterion-torch/noise", "version": 1, "hosts": {…}}
//! ```
//!
//! A σ is the standard deviation of ln(median of a run) between runs. A case's σ comes from a few
//! runs and may be small by chance: no case counts as quieter than the median one, and the interval
//! is Student's with the runs' degrees of freedom. A case that the profile does not know has the
//! pooled one: the 90 % quantile of the σ of all cases that it does know. Half of all cases are
//! noisier than the median one, and nothing says that the unknown one is not among them. Neither is
//! moved by a few wild cases, as a mean would be.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use statistics::quantile;

use super::finding::Measure;
use crate::read::file;
use crate::render::json_text;
use crate::render::units;

pub const SCHEMA: &str = "criterion-torch/noise";
pub const VERSION: u32 = 1;
pub const FILE: &str = "noise.json";

/// σ where no profile says anything: the interval of a ratio of two runs is then ±25 % at 95 %,
/// ln 1.25 / (1.96 · √2). Twice to five times what quiet machines show; shared ones were seen there.
pub const ASSUMED: f64 = 0.0805;

/// The quantile of the cases' σ that is taken for a case that is not among them.
const POOLED: f64 = 0.9;
/// And below which none is taken to be.
const TYPICAL: f64 = 0.5;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    schema: String,
    version: u32,
    /// By fingerprint of the machine.
    pub hosts: BTreeMap<String, HostNoise>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostNoise {
    /// When it was computed, RFC 3339 in UTC.
    pub date: String,
    /// Revisions that the cases are of, each once.
    pub revisions: BTreeSet<String>,
    /// σ for cases that are not among these.
    pub pooled: Sigmas,
    /// σ that no case is taken to be below.
    pub typical: Sigmas,
    /// By full id.
    pub cases: BTreeMap<String, CaseNoise>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseNoise {
    /// Runs that timed it.
    #[serde(rename = "launches")]
    pub runs: usize,
    /// Runs with an energy, where these are not as many.
    #[serde(rename = "energy_launches", default, skip_serializing_if = "Option::is_none")]
    pub energy_runs: Option<usize>,
    #[serde(flatten)]
    pub sigmas: Sigmas,
}

impl CaseNoise {
    fn runs_of(&self, measure: Measure) -> usize {
        match measure {
            Measure::Energy => self.energy_runs.unwrap_or(self.runs),
            _ => self.runs,
        }
    }

    fn too_few(&self) -> Option<String> {
        let counts = [("launches", Some(self.runs)), ("energy_launches", self.energy_runs)];
        let (key, few) = counts.into_iter().find(|(_, count)| count.is_some_and(|it| it < 2))?;
        Some(format!("{key} is {}, and one run shows no spread", few.unwrap_or_default()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Sigmas {
    /// σ of ln(median time).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// σ of ln(energy).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<f64>,
}

impl Sigmas {
    fn impossible(&self) -> Option<String> {
        let known = [("time", self.time), ("energy", self.energy)];
        let known = known.into_iter().filter_map(|(key, sigma)| Some((key, sigma?)));
        let mut wrong = known.filter(|(_, sigma)| !(sigma.is_finite() && *sigma >= 0.0));
        wrong.next().map(|(key, sigma)| {
            format!(
                "{key} is {sigma}, which is not a standard \
                                                 deviation"
            )
        })
    }

    fn for_measure(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Time => self.time,
            Measure::Energy => self.energy,
            _ => None,
        }
    }
}

/// `aa` reads the file, too: it keeps the cases of earlier runs.
const ANEW: &str = "delete it and create it again with `criterion-report aa NAME`";

impl Default for Profile {
    fn default() -> Self {
        Self { schema: SCHEMA.to_owned(), version: VERSION, hosts: BTreeMap::new() }
    }
}

impl Profile {
    /// Reads a file; none where there is none.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let unusable = |why: String| file::unusable(path, format!("{why}; {ANEW}"));
        let text = match file::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(file::unusable(path, cause)),
        };
        let foreign = |cause: serde_json::Error| {
            unusable(format!("not a noise profile of `criterion-report aa`: {cause}"))
        };
        #[derive(Deserialize)]
        struct Stamp {
            schema: String,
            version: u32,
        }
        let Stamp { schema, version } = serde_json::from_slice(&text).map_err(foreign)?;
        if schema != SCHEMA || version != VERSION {
            return Err(unusable(format!(
                "schema `{schema}`, version {version}, but this criterion-report reads `{SCHEMA}`, \
                 version {VERSION}"
            )));
        }
        let profile: Self = serde_json::from_slice(&text).map_err(foreign)?;
        match profile.impossible() {
            Some(reason) => Err(unusable(reason)),
            None => Ok(Some(profile)),
        }
    }

    /// The first impossible value, with its key.
    fn impossible(&self) -> Option<String> {
        self.hosts.iter().find_map(|(host, noise)| {
            let of_case = |(id, case): (&String, &CaseNoise)| {
                let why = case.sigmas.impossible().or_else(|| case.too_few())?;
                Some(format!("cases.{id}.{why}"))
            };
            let of_all = |key, sigmas: Sigmas| Some(format!("{key}.{}", sigmas.impossible()?));
            let why = of_all("pooled", noise.pooled)
                .or_else(|| of_all("typical", noise.typical))
                .or_else(|| noise.cases.iter().find_map(of_case))?;
            Some(format!("of `{host}`, {why}"))
        })
    }

    /// Adds what was found of a machine. Cases that were measured again are replaced; others stay.
    pub fn add(&mut self, host: &str, found: HostNoise) {
        let mut cases = BTreeMap::new();
        let mut revisions = found.revisions;
        if let Some(known) = self.hosts.remove(host) {
            cases = known.cases;
            revisions.extend(known.revisions);
        }
        cases.extend(found.cases);
        self.hosts.insert(host.to_owned(), HostNoise::new(&found.date, revisions, cases));
    }

    pub fn json(&self) -> serde_json::Result<String> {
        json_text::document(self)
    }
}

impl HostNoise {
    pub fn new(
        date: &str,
        revisions: BTreeSet<String>,
        cases: BTreeMap<String, CaseNoise>,
    ) -> Self {
        let at = |q: f64| {
            let of = |measure: Measure| {
                let mut sigmas: Vec<f64> =
                    cases.values().filter_map(|case| case.sigmas.for_measure(measure)).collect();
                sigmas.sort_unstable_by(f64::total_cmp);
                (!sigmas.is_empty()).then(|| quantile(&sigmas, q))
            };
            Sigmas { time: of(Measure::Time), energy: of(Measure::Energy) }
        };
        Self { date: date.to_owned(), revisions, pooled: at(POOLED), typical: at(TYPICAL), cases }
    }
}

/// The noise between runs, which one run per side does not show, and its source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseFloor {
    pub floor: statistics::Floor,
    pub source: FloorSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FloorSource {
    /// This case, on this machine.
    Case { runs: usize },
    /// Other cases on this machine.
    Pooled { cases: usize },
    /// Nothing is known of this machine.
    Assumed,
    /// Differences between runs are ignored.
    Ignored,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Floors<'a> {
    /// The noise profile, if there is one, else [`ASSUMED`].
    Profile(Option<&'a Profile>),
    /// None: the interval is of the noise within the runs alone.
    Ignored,
}

impl Floors<'_> {
    pub fn noise_floor(&self, host: Option<&str>, full_id: &str, measure: Measure) -> NoiseFloor {
        let floor = |sigma: f64, freedom: f64, source| NoiseFloor {
            floor: statistics::Floor { sigma, freedom },
            source,
        };
        let certain = f64::INFINITY;
        let Self::Profile(profile) = self else {
            return floor(0.0, certain, FloorSource::Ignored);
        };
        let noise = profile.zip(host).and_then(|(profile, host)| profile.hosts.get(host));
        let Some(noise) = noise else { return floor(ASSUMED, certain, FloorSource::Assumed) };
        let case = noise.cases.get(full_id);
        if let Some((case, sigma)) = case.and_then(|it| Some((it, it.sigmas.for_measure(measure)?)))
        {
            let runs = case.runs_of(measure);
            let sigma = sigma.max(noise.typical.for_measure(measure).unwrap_or(0.0));
            return floor(sigma, (runs - 1) as f64, FloorSource::Case { runs });
        }
        match noise.pooled.for_measure(measure) {
            Some(sigma) => {
                let known =
                    noise.cases.values().filter(|it| it.sigmas.for_measure(measure).is_some());
                floor(sigma, certain, FloorSource::Pooled { cases: known.count() })
            }
            None => floor(ASSUMED, certain, FloorSource::Assumed),
        }
    }
}

impl NoiseFloor {
    pub fn or_larger(self, other: Self) -> Self {
        if other.floor.sigma > self.floor.sigma { other } else { self }
    }

    /// Half of the width that it gives the interval of a ratio of two runs, at 95 %.
    fn half_width(&self) -> f64 {
        (1.96 * f64::sqrt(2.0) * self.floor.sigma).exp_m1()
    }

    /// `runs of it differ by ±3.1 % (as 8 of one revision showed)`.
    pub fn text(&self) -> String {
        let width = units::percent(self.half_width());
        match self.source {
            FloorSource::Case { runs } => {
                format!("runs of it differ by ±{width} (as {runs} of one revision showed)")
            }
            FloorSource::Pooled { cases } => {
                let cases = units::count(cases, "other case");
                format!("runs differ by ±{width} (as {cases} on this machine showed)")
            }
            FloorSource::Assumed => format!(
                "runs are assumed to differ by ±{width} (`criterion-report aa` measures it)"
            ),
            FloorSource::Ignored => "differences between runs are ignored".to_owned(),
        }
    }
}
