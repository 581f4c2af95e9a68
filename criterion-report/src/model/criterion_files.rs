//! Criterion's own files, read tolerantly: only the fields needed, unknown ones ignored.
//!
//! ```text
//! <root>/<group>/<function>/<parameter>/<baseline>/benchmark.json   written last
//!                                                 /estimates.json
//!                                                 /sample.json
//! ```
//!
//! Criterion calls these files private; the layout read here is that of 0.8.2. Folder names are
//! sanitised and cut, so a result is known by the `full_id` in `benchmark.json`, never by its path.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plan::LastSample;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::time::{Interval, Time};

/// One result folder.
#[derive(Debug, Clone, PartialEq)]
pub struct CriterionResult {
    /// The estimates.
    pub time: Time,
    /// The last pair of `sample.json`, to be compared with the record's.
    pub last_sample: LastSample,
    /// Median of `sample.json`'s times per iteration, to be compared with the estimated one: the
    /// record vouches for that file only.
    pub sample_median_ns: f64,
}

impl CriterionResult {
    /// Whether the estimates were made from the samples beside them.
    ///
    /// Criterion's median is that of the averages per iteration, in every sampling mode; the
    /// tolerance leaves room for the decimals of the file alone.
    pub fn is_of_its_samples(&self) -> bool {
        (self.time.median_ns / self.sample_median_ns - 1.0).abs() <= 1e-9
    }
}

/// Everything found under criterion's root for one baseline.
#[derive(Debug, Default)]
pub struct CriterionFiles {
    /// Results by `full_id`. A folder left by an older run can claim an id a second time.
    pub results: HashMap<String, Vec<CriterionResult>>,
    /// `full_id`s that were not asked for: other benchmarks of the same package.
    pub foreign: Vec<String>,
    /// Files that could not be used, each with its path.
    pub warnings: Vec<String>,
}

impl CriterionFiles {
    /// Reads the results of `baseline` under `root` whose `full_id` is in `wanted`.
    pub fn read(root: &Path, baseline: &str, wanted: &HashSet<&str>) -> Self {
        let mut found = Self::default();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            if let Err(error) = found.visit(&folder, baseline, wanted, &mut folders) {
                found.warnings.push(format!("{}: {error}", folder.display()));
            }
        }
        found.foreign.sort_unstable();
        found
    }

    /// Reads `folder` if it is a result of the baseline, else queues the folders in it.
    fn visit(
        &mut self,
        folder: &Path,
        baseline: &str,
        wanted: &HashSet<&str>,
        queue: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        if folder.file_name().is_some_and(|name| name == baseline) {
            let path = folder.join("benchmark.json");
            match fs::read(&path) {
                Ok(text) => {
                    self.read_result(folder, &path, &text, wanted);
                    return Ok(());
                }
                // A group or function may itself be called like the baseline.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                queue.push(entry.path());
            }
        }
        Ok(())
    }

    fn read_result(&mut self, folder: &Path, path: &Path, text: &[u8], wanted: &HashSet<&str>) {
        let id = match serde_json::from_slice::<BenchmarkFile>(text) {
            Ok(file) => file.full_id,
            Err(error) => {
                self.warnings.push(format!("{}: {error}", path.display()));
                return;
            }
        };
        if !wanted.contains(id.as_str()) {
            self.foreign.push(id);
            return;
        }
        match read_numbers(folder) {
            Ok(result) => self.results.entry(id).or_default().push(result),
            Err(warning) => self.warnings.push(warning),
        }
    }
}

fn read_numbers(folder: &Path) -> Result<CriterionResult, String> {
    let sample_path = folder.join("sample.json");
    let sample: SampleFile = read_json(&sample_path)?;
    let (Some(&iters), Some(&ns)) = (sample.iters.last(), sample.times.last()) else {
        return Err(format!("{}: no samples", sample_path.display()));
    };
    let averages = sample.averages();
    let sample_median_ns = median(&averages);
    let estimates_path = folder.join("estimates.json");
    let estimates: EstimatesFile = read_json(&estimates_path)?;
    let EstimatesFile { mean, median, std_dev } = estimates;
    let ConfidenceInterval { confidence_level, lower_bound, upper_bound } =
        median.confidence_interval;
    let samples = sample.times.len();
    let quick = samples < Time::FEWEST_SAMPLES;
    if !(median.point_estimate > 0.0 && lower_bound > 0.0 && upper_bound >= lower_bound) {
        return Err(format!(
            "{}: the median {} in [{lower_bound}, {upper_bound}] is not a positive time",
            estimates_path.display(),
            median.point_estimate,
        ));
    }
    Ok(CriterionResult {
        time: Time {
            median_ns: median.point_estimate,
            interval: (!quick).then_some(Interval { low: lower_bound, high: upper_bound }),
            mean_ns: mean.point_estimate,
            std_dev_ns: std_dev.point_estimate,
            fastest_ns: averages[0],
            slowest_ns: averages[averages.len() - 1],
            samples,
            confidence_level,
            quick,
        },
        // Criterion keeps both as floats; they come from whole iterations and whole nanoseconds.
        last_sample: LastSample { iters: iters.round() as u64, ns: ns.round() as u64 },
        sample_median_ns,
    })
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
}

#[derive(Deserialize)]
struct BenchmarkFile {
    full_id: String,
}

#[derive(Deserialize)]
struct SampleFile {
    iters: Vec<f64>,
    times: Vec<f64>,
}

impl SampleFile {
    /// Time of a step in each sample, the fastest first.
    fn averages(&self) -> Vec<f64> {
        let mut averages: Vec<f64> =
            self.times.iter().zip(&self.iters).map(|(ns, iters)| ns / iters).collect();
        averages.sort_unstable_by(f64::total_cmp);
        averages
    }
}

/// The middle of sorted values, of which there is at least one.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    }
}

#[derive(Deserialize)]
struct EstimatesFile {
    mean: Estimate,
    median: Estimate,
    std_dev: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    confidence_interval: ConfidenceInterval,
    point_estimate: f64,
}

#[derive(Deserialize)]
struct ConfidenceInterval {
    confidence_level: f64,
    lower_bound: f64,
    upper_bound: f64,
}
