//! The cases of a bundle that a scheduler runs, divided so that a shard takes minutes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use plan::flag;

use super::{Options, Scheduler};
use crate::bench_arguments::leaves_results;
use crate::bundle::manifest::{LAUNCHER, Manifest, PLAN};
use crate::bundle::planned::{self, Planned};
use crate::error::{Error, Result};
use crate::files;
use crate::template::{self, one_line};

/// How long a shard is meant to measure. Sites ask for few and not too short jobs, and a lost shard costs what it took.
const SHARD_S: f64 = 300.0;
/// Start and calibration of a shard.
const SETUP_S: f64 = 60.0;
/// A shard is ended when it takes this many times as long as expected: estimates are of another machine.
const PATIENCE: f64 = 3.0;
/// No shard's limit is shorter: a slow file system reads half a gigabyte first.
const LEAST_LIMIT_S: f64 = 600.0;

/// A bundle and its division.
#[derive(Debug)]
pub struct Sweep {
    /// A whole path.
    pub bundle: String,
    pub manifest: Manifest,
    pub cases: usize,
    pub shards: u32,
    pub has_gpu: bool,
    /// The user's words.
    pub words: Vec<String>,
    /// How long a shard should take on average.
    pub mean: Duration,
    /// How long no shard should take.
    pub longest: Duration,
}

impl Sweep {
    pub fn from_options(options: &Options) -> Result<Self> {
        let bundle = options.bundle.canonicalize().map_err(|error| {
            Error::io("read", &options.bundle, &error)
                .remedy("unpack the bundle first: tar -xf BUNDLE.tar.zst")
        })?;
        let manifest = Manifest::read(&bundle)?;
        let words = words(options)?;
        manifest.made_by.iter().try_for_each(|word| one_line(word.as_ref()).map(drop))?;
        let planned = planned::read(&bundle)?;
        if planned.is_empty() {
            return Err(Error::usage(format!("{} plans no case", bundle.display()))
                .remedy("make the bundle with another config or filter"));
        }
        let cuda = manifest.torch.cuda.is_some();
        let modes = modes(&planned);
        let units = modes.values().map(BTreeMap::len).max().unwrap_or(1);
        let shards = options.shards(&modes, units)?;
        Ok(Self {
            has_gpu: cuda && planned.iter().any(Planned::is_on_gpu),
            mean: Duration::from_secs_f64(SETUP_S + total(modes.values()) / f64::from(shards)),
            longest: Duration::from_secs_f64(longest(&modes, shards)),
            cases: planned.len(),
            bundle: one_line(bundle.as_os_str())?,
            manifest,
            shards,
            words,
        })
    }

    /// When a shard is ended, in whole minutes.
    pub fn limit(&self) -> Duration {
        let seconds = (PATIENCE * self.longest.as_secs_f64()).max(LEAST_LIMIT_S);
        Duration::from_secs((seconds / 60.0).ceil() as u64 * 60)
    }

    pub fn limit_minutes(&self) -> u64 {
        self.limit().as_secs() / 60
    }

    /// The name of the bundle's folder.
    pub fn bundle_name(&self) -> String {
        files::name(Path::new(&self.bundle))
    }

    /// A name for jobs: that of the bundle's folder, of the characters that every scheduler takes.
    pub fn name(&self) -> String {
        let name = self.bundle_name().to_lowercase();
        let name = name.replace(|it: char| !it.is_ascii_alphanumeric(), "-");
        let name = name.trim_matches('-');
        format!("torch-bench-{}", &name[..name.len().min(40)]).trim_end_matches('-').to_owned()
    }

    /// The command that runs a shard; `bundle` and `results` are words of a shell, `index` its variable with the shard.
    pub fn shard(&self, bundle: &str, index: &str, results: &str) -> String {
        let words = match &self.words[..] {
            [] => String::new(),
            words => format!(" --{}", template::appended(words)),
        };
        let shard = format!("\"${index}/{}\"", self.shards);
        format!("{bundle}/{LAUNCHER} --shard {shard} --resume --output {results}{words}")
    }

    /// The command that puts the folders of all shards together.
    pub fn merge(&self, bundle: &str, folders: &str, merged: &str) -> String {
        let mut options = Vec::new();
        if let Some((filter, _)) = flag::filter(&self.words) {
            options.extend(["--filter".to_owned(), filter.to_owned()]);
        }
        options.extend(self.saved_as());
        let options = template::appended(&options);
        format!(
            "{bundle}/bin/criterion-report merge {folders} --plan {bundle}/{PLAN} --output {merged}{options}"
        )
    }

    /// The options by which a report finds what a shard has saved.
    fn saved_as(&self) -> Vec<String> {
        match flag::value(&self.words, "save-baseline") {
            None | Some("") => Vec::new(),
            Some(name) => vec!["--baseline".to_owned(), name.to_owned()],
        }
    }

    /// The command that shows what was merged.
    pub fn summary(&self, bundle: &str, merged: &str) -> String {
        let options = template::appended(&self.saved_as());
        format!("{bundle}/bin/criterion-report summary --criterion-dir {merged}/criterion{options}")
    }
}

impl Options {
    fn shards(&self, modes: &Modes<'_>, units: usize) -> Result<u32> {
        let most = self.to.most();
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        if let Some(shards) = self.shards {
            return if shards <= most {
                Ok(shards)
            } else {
                Err(Error::usage(format!("--shards {shards}: at most {most} are possible there")))
            };
        }
        let wanted = (total(modes.values()) / SHARD_S).ceil().clamp(1.0, f64::from(most));
        // A float of a small whole number.
        Ok((wanted as u32).min(units))
    }
}

impl Scheduler {
    /// The most shards: the jobs of a matrix of GitHub's; elements of an array, by SLURM's default `MaxArraySize`; else
    /// a bound against slips.
    const fn most(self) -> u32 {
        match self {
            Self::Github => 256,
            Self::Slurm => 1000,
            Self::Kubernetes | Self::Skypilot => 10_000,
        }
    }
}

/// Seconds of every unit, by mode: each mode is divided by itself.
type Modes<'p> = BTreeMap<&'p str, Units<'p>>;
type Units<'p> = BTreeMap<(&'p str, &'p str), f64>;

fn modes(planned: &[Planned]) -> Modes<'_> {
    let mut modes = Modes::new();
    for it in planned {
        *modes.entry(&it.target).or_default().entry(it.unit()).or_default() += it.seconds;
    }
    modes
}

fn total<'u, 'p: 'u>(modes: impl IntoIterator<Item = &'u Units<'p>>) -> f64 {
    modes.into_iter().flat_map(BTreeMap::values).sum()
}

/// A bound of the longest shard: the longest unit goes where there is least, so that no shard exceeds the mean by more
/// than one of them.
fn longest(modes: &Modes<'_>, shards: u32) -> f64 {
    let of_mode = |units: &Units<'_>| {
        total([units]) / f64::from(shards) + units.values().copied().fold(0.0, f64::max)
    };
    SETUP_S + modes.values().map(of_mode).sum::<f64>()
}

/// The words, which have to leave results that a merge can select.
fn words(options: &Options) -> Result<Vec<String>> {
    let refused = |what: &str, remedy: &str| Err(Error::usage(what).remedy(remedy));
    if !leaves_results(&options.arguments) {
        return refused(
            "these options leave no results to merge",
            "leave out --list, --test and the like",
        );
    }
    let words = options.arguments.iter().map(|word| one_line(word)).collect::<Result<Vec<_>>>()?;
    if flag::filter(&words).is_some_and(|(_, exact)| exact) {
        return refused("--exact is about one case", "give a regular expression: -- '^ID$'");
    }
    Ok(words)
}
