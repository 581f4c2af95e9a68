//! `summary.md`, for people: it has to fit the comment of a pull request, 65 536 characters, so that
//! tables are cut at a number of lines, which they say.

mod advice;
pub mod judged;
mod leaderboard;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Document, Git, by_kernel, latest, outcomes};
use crate::model::machine;
use crate::order::{Order as _, Sorted as _};
use crate::read::Report;
use crate::render::markdown::{and_more, code, or_absent, plain, reason, short, table};
use crate::render::table::{Align, Cell};
use crate::render::units;
use crate::views::answer::unjudged;
use crate::views::kernels::{KernelResult, Trend};
use crate::views::view::{Column, left, markdown_rows, right};
use crate::views::written::earlier;
use crate::visible;
use leaderboard::precision;

const LINES: usize = 30;

pub fn summary(document: &Document<'_>) -> String {
    let Document { report, results, regressions, trends } = *document;
    let mut sections = vec![
        ("Environment", environment(report, results)),
        ("Summary", totals(results)),
        ("Performance Leaderboard", leaderboard::section(results)),
        ("Resource Usage", resources(results)),
        ("Key Findings", advice::findings(results)),
        ("Recommendations", advice::recommendations(report, results)),
    ];
    sections.extend(regressions.map(|it| ("Regressions", it.section())));
    sections.extend(trends.map(|trends| ("Trends", self::trends(trends))));
    let mut out = "# Kernel benchmarks\n".to_owned();
    for (title, text) in sections {
        out.push_str(&format!("\n## {title}\n\n{}\n", text.trim_end()));
    }
    visible::lines(&out).into_owned()
}

fn environment(report: &Report, results: &[KernelResult<'_>]) -> String {
    let Some(record) = latest(results) else {
        return "No case left a record.".to_owned();
    };
    let environment = &record.environment;
    let (host, torch) = (&environment.host, &environment.torch);
    let git = Git::of(environment).map(|git| {
        let dirty = if git.dirty { " with uncommitted changes" } else { "" };
        format!("{}{dirty}", short(git.commit))
    });
    let torchs = results.iter().filter_map(|result| Some(&result.record()?.environment.torch));
    let gpu = torchs.clone().find_map(|torch| torch.cuda_device.clone());
    let driver = torchs.clone().find_map(|torch| torch.cuda_driver.clone());
    let cuda = match (&torch.cuda, gpu) {
        (None, _) => "none in this libtorch".to_owned(),
        (Some(version), None) => format!("{version}; no case ran on a device"),
        (Some(version), Some(gpu)) => {
            let driver = driver.map(|driver| format!(", driver {driver}")).unwrap_or_default();
            format!("{version}, {gpu}{driver}")
        }
    };
    let quiet = environment.quiet.as_ref().map(|quiet| {
        let load = quiet.load_1m.map(|load| format!(", load {load:.2}")).unwrap_or_default();
        format!("{:.2} of 1{load}", quiet.score)
    });
    let rows = [
        ("Commit", or_absent(git)),
        ("Measured", format!("{} UTC", units::minute(record.timestamp))),
        ("Machine", plain(&machine(record))),
        ("OS", plain(&host.os)),
        ("Governor", or_absent(host.governor.as_deref().map(plain))),
        ("Quiet", or_absent(quiet)),
        ("libtorch", plain(&format!("{}, {}", torch.libtorch, torch.cpu_capability))),
        ("Rust", plain(environment.rustc.trim_start_matches("rustc "))),
        ("CUDA", plain(&cuda)),
    ];
    let rows = rows.map(|(what, value)| vec![what.to_owned(), value]);
    let mut out = table(&[("", Align::Left), ("", Align::Left)], &rows);
    let others = report.circumstances.len().saturating_sub(1);
    if others > 0 {
        out.push_str(&format!(
            "\nThis is of the latest result; others are of {} more. Each result has its own in \
             `summary.json`.\n",
            units::count(others, "environment"),
        ));
    }
    if let Some(note) = earlier(report) {
        out.push_str(&format!("\n{note}.\n"));
    }
    out
}

/// Lines of reasons.
const REASONS: usize = 15;

fn totals(results: &[KernelResult<'_>]) -> String {
    let mut counts: Vec<(&str, usize)> = outcomes(results).into_iter().collect();
    // Measured cases come first.
    counts.order_by_key(|(status, _)| *status != "measured");
    let counts: Vec<String> =
        counts.iter().map(|(status, cases)| format!("{cases} {status}")).collect();
    let mut out = format!(
        "{}, {}: {}.\n",
        units::count(by_kernel(results).len(), "kernel"),
        units::count(results.len(), "case"),
        counts.join(", "),
    );
    let mut reasons: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for result in results.iter().filter(|result| result.measured().is_none()) {
        let why = reason(&of_any_precision(result));
        reasons.entry((&*result.point.status, why)).or_default().push(result.full_id);
    }
    let more = reasons.len().saturating_sub(REASONS);
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    // Defects come first, and of these the ones that concern most cases.
    reasons.order_by_key(|((status, _), ids)| {
        let fails = ["failed", "timeout", "oom", "missing"].contains(status);
        (!fails, Reverse(ids.len()))
    });
    let rows: Vec<Vec<String>> = reasons
        .into_iter()
        .take(REASONS)
        .map(|((status, why), ids)| {
            let case = format!("{}{}", code(ids[0]), and_more(ids.len() - 1));
            vec![status.to_owned(), case, why]
        })
        .collect();
    let columns = [("Not measured", Align::Left), ("Case", Align::Left), ("Why", Align::Left)];
    if !rows.is_empty() {
        out.push('\n');
        out.push_str(&table(&columns, &rows));
    }
    if more > 0 {
        out.push_str(&format!("\n{} in `summary.json`.\n", units::count(more, "further reason")));
    }
    for it in unjudged(results.iter().filter_map(|it| Some(it.entry?.row))).iter().take(REASONS) {
        out.push_str(&format!("\n{}.\n", reason(&it.to_string())));
    }
    out
}

/// The reason without the precision in front of it, `cpu: …` for `cpu, bf16: …`, so that the
/// precisions of one implementation share a line.
fn of_any_precision(result: &KernelResult<'_>) -> String {
    let reason = result.point.reason.as_deref().unwrap_or_default();
    let without = result.precision.and_then(|precision| {
        reason.strip_prefix(&format!("{}, {}: ", result.backend, precision.precision()))
    });
    match without {
        Some(rest) => format!("{}: {rest}", result.backend),
        None => reason.to_owned(),
    }
}

/// The figures of resources of a case.
fn columns<'a>() -> [Column<KernelResult<'a>>; 7] {
    [
        left("Case", |it| {
            let parameter = it.case.map_or("", |case| &case.id.parameter);
            code(&format!("{}/{}/{parameter}", it.kernel, it.implementation)).into()
        }),
        left("Backend", |it| it.backend.into()),
        left("Precision", |it| precision(it).into()),
        right("Peak (MiB)", |it| mib(it.peak_bytes())),
        right("of it the step (MiB)", |it| {
            mib(it.point.memory.map(|memory| memory.step.peak_bytes))
        }),
        right("Energy (J)", |it| {
            or_absent(it.point.joules.map(|it| units::significant(it, 3))).into()
        }),
        right("Power (W)", |it| {
            let energy = it.measured().and_then(|record| record.measures.energy.as_ref());
            or_absent(energy.map(|energy| units::significant(energy.watts, 3))).into()
        }),
    ]
}

fn mib(bytes: Option<u64>) -> Cell {
    or_absent(bytes.map(|it| units::significant(it as f64 / f64::from(1 << 20), 4))).into()
}

fn resources(results: &[KernelResult<'_>]) -> String {
    let mut measured: Vec<&KernelResult<'_>> =
        results.iter().filter(|result| result.measured().is_some()).collect();
    if measured.is_empty() {
        return "No case was measured.".to_owned();
    }
    // The largest first; a stable sort keeps the order of the cases besides.
    measured.order_by_key(|result| Reverse(result.peak_bytes()));
    let mut out = markdown_rows(&columns(), measured.iter().copied().take(LINES));
    if measured.len() > LINES {
        let more = units::count(measured.len() - LINES, "further case");
        out.push_str(&format!("\n{more} in `kernels/`.\n"));
    }
    for (measure, what) in [("memory", "memory"), ("energy", "energy")] {
        let reasons: BTreeSet<&String> = measured
            .iter()
            .filter_map(|result| result.measured()?.measures.absent.get(measure))
            .sorted_set();
        for reason in reasons {
            out.push_str(&format!("\nNo {what}: {}\n", plain(reason)));
        }
    }
    out
}

/// Runs in a line.
const RUNS: usize = 24;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

fn trends(trends: &[Trend]) -> String {
    if trends.is_empty() {
        return "No case of now has a time in an earlier run on this machine.".to_owned();
    }
    let columns: [Column<Trend>; 7] = [
        left("Case", |it| code(&it.full_id).into()),
        right("Runs", |it| it.medians.len().to_string().into()),
        right("First", |it| units::time(it.first()).into()),
        right("Best", |it| units::time(it.best()).into()),
        right("Last", |it| units::time(it.last()).into()),
        right("Last over first", |it| units::reduction(-it.change()).into()),
        left("Medians", |it| {
            let medians: Vec<f64> = it.medians.iter().map(|(_, ns)| *ns).collect();
            sparkline(&medians[medians.len().saturating_sub(RUNS)..]).into()
        }),
    ];
    let mut furthest: Vec<&Trend> = trends.iter().collect();
    furthest.order_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
    let mut out =
        "Criterion's medians, those furthest from their first run on top; from the lowest \
                   to the highest of each line.\n\n"
            .to_owned();
    out.push_str(&markdown_rows(&columns, furthest.into_iter().take(LINES)));
    if trends.len() > LINES {
        out.push_str(&format!("\n{} not shown.\n", units::count(trends.len() - LINES, "case")));
    }
    out
}

/// The lowest value is the lowest bar; equal ones are all the lowest.
fn sparkline(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let bar = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        BARS[(share * (BARS.len() - 1) as f64).round() as usize]
    };
    values.iter().map(|&value| bar(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_go_from_the_lowest_to_the_highest() {
        assert_eq!(sparkline(&[1.0, 8.0, 4.5]), "▁█▅");
        assert_eq!(sparkline(&[3.0, 3.0]), "▁▁");
    }
}
