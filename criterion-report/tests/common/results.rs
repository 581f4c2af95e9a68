//! Criterion's folders of a fixture, made from `criterion.txt`, which has a line for each result: the
//! name that it is saved under, the full id, iterations of a sample, nanoseconds of a step in ten samples
//! or in five that repeat, the bounds of the median's interval, mean and standard deviation.
//!
//! `two-siblings` and a few others are folders as criterion leaves them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Samples of each result.
const SAMPLES: usize = 10;

/// Lines of the results of a fixture that is not a folder of criterion's.
fn table(fixture: &Path) -> Option<String> {
    let path = fixture.join("criterion.txt");
    path.is_file().then(|| fs::read_to_string(&path).expect("readable"))
}

/// The fixture itself; where its results are a table, a folder with them and a link to its records.
pub fn folder(fixture: PathBuf) -> PathBuf {
    let Some(table) = table(&fixture) else { return fixture };
    let name = fixture.file_name().expect("a name").to_string_lossy();
    // Another table, or another way to read it, is another folder.
    let version = plan::fnv1a(format!("{table}{}", include_str!("results.rs")));
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let made = parent.join(format!("{name}-{version:016x}"));
    if !made.is_dir() {
        let begun = tempfile::tempdir_in(parent).expect("a temporary folder");
        write(&table, &begun.path().join("criterion"));
        let records = fixture.canonicalize().expect("a folder").join("criterion-torch");
        std::os::unix::fs::symlink(records, begun.path().join("criterion-torch")).expect("linked");
        // Another test may have made it meanwhile.
        if let Err(error) = fs::rename(begun.path(), &made) {
            assert!(made.is_dir(), "{}: {error}", made.display());
        }
    }
    made
}

/// Writes the results of a fixture's table, where it has one, into its copy.
pub fn complete(fixture: &Path, copy: &Path) {
    if let Some(table) = table(fixture) {
        write(&table, &copy.join("criterion"));
    }
}

fn write(table: &str, criterion: &Path) {
    for line in table.lines() {
        result(line, criterion).unwrap_or_else(|| panic!("not a result: {line}"));
    }
}

fn result(line: &str, criterion: &Path) -> Option<()> {
    let mut words = line.split(' ');
    let (baseline, full_id) = (words.next()?, words.next()?);
    let iters: f64 = words.next()?.parse().ok()?;
    let steps: Vec<f64> =
        words.next()?.split(',').map(|it| it.parse().ok()).collect::<Option<_>>()?;
    let numbers: Vec<f64> = words.map(|it| it.parse().ok()).collect::<Option<_>>()?;
    let [low, high, mean, deviation] = numbers[..] else { return None };
    let steps: Vec<f64> = steps.into_iter().cycle().take(SAMPLES).collect();
    let mut sorted = steps.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = statistics::median(&sorted);

    let (group_and_variant, parameter) = full_id.rsplit_once('/')?;
    let (group, variant) = group_and_variant.rsplit_once('/')?;
    let directory = plan::case_id(group, variant, parameter).directory();
    let files = [
        (
            "benchmark.json",
            json!({
                "group_id": group,
                "function_id": variant,
                "value_str": parameter,
                "throughput": null,
                "full_id": full_id,
                "directory_name": directory.to_str()?,
                "title": full_id,
            }),
        ),
        (
            "estimates.json",
            json!({
                "mean": estimate(mean, low, high),
                "median": estimate(median, low, high),
                "median_abs_dev": estimate(deviation, 0.5 * deviation, 1.5 * deviation),
                "slope": null,
                "std_dev": estimate(deviation, 0.5 * deviation, 1.5 * deviation),
            }),
        ),
        (
            "sample.json",
            json!({
                "sampling_mode": "Flat",
                "iters": vec![iters; SAMPLES],
                "times": steps.iter().map(|step| step * iters).collect::<Vec<f64>>(),
            }),
        ),
    ];
    let folder = criterion.join(directory).join(baseline);
    fs::create_dir_all(&folder).expect("created");
    for (name, value) in files {
        fs::write(folder.join(name), value.to_string()).expect("written");
    }
    Some(())
}

fn estimate(value: f64, low: f64, high: f64) -> Value {
    json!({
        "confidence_interval": {
            "confidence_level": 0.95,
            "lower_bound": low,
            "upper_bound": high,
        },
        "point_estimate": value,
        "standard_error": (high - low) / 3.92,
    })
}
