//! Who is faster than whom.

use super::text::{ABSENT, or_absent, plain, table};
use crate::model::kernels::{Contest, KernelResult, contests};
use crate::units;
use crate::write::Align;

/// Lines per problem, as upstream has.
const TOP: usize = 10;
/// Lines of all problems.
const LINES: usize = 50;

const RULE: &str = "Ranked by the median of single calls (p50) among the cases of one kernel at one \
                    problem size on one machine; unlike problems are not ranked against each other. \
                    `step` is criterion's median with its interval; `speed-up` is over the kernel's \
                    `kernel.rs`, from runs in turn, with its interval. Where the calls are too \
                    few (p90 takes 50, p99 500), there is `–`.\n";

const COLUMNS: &[(&str, Align)] = &[
    ("#", Align::Right),
    ("Implementation", Align::Left),
    ("Backend", Align::Left),
    ("Precision", Align::Left),
    ("p50 (ms)", Align::Right),
    ("p90 (ms)", Align::Right),
    ("p99 (ms)", Align::Right),
    ("Throughput (ops/s)", Align::Right),
    ("step", Align::Right),
    ("speed-up", Align::Right),
];

pub fn section(results: &[KernelResult<'_>]) -> String {
    let contests = contests(results);
    if contests.is_empty() {
        return "No case was measured.".to_owned();
    }
    let mut out = RULE.to_owned();
    let mut room = LINES;
    let mut left_out = 0;
    for contest in &contests {
        let shown = contest.ranked.len().min(TOP).min(room);
        room -= shown;
        left_out += contest.ranked.len() - shown;
        if shown > 0 {
            out.push_str(&format!("\n**{}**{}\n\n", contest.kernel, problem(contest)));
            out.push_str(&table(COLUMNS, &rows(contest, shown)));
        }
    }
    if left_out > 0 {
        let cases = units::count(left_out, "further measured case");
        out.push_str(&format!("\n{cases} in `kernels/`.\n"));
    }
    out
}

fn problem(contest: &Contest<'_, '_>) -> String {
    match units::fields(&contest.problem_size).as_str() {
        "" => String::new(),
        fields => format!(", {}", plain(fields)),
    }
}

fn rows(contest: &Contest<'_, '_>, shown: usize) -> Vec<Vec<String>> {
    let config = |result: &KernelResult<'_>| result.case.map(|case| case.config.clone());
    let several = contest.ranked.iter().any(|it| config(it) != config(contest.ranked[0]));
    let ranked = contest.ranked.iter().take(shown).enumerate();
    ranked.map(|(place, result)| row(place + 1, result, several)).collect()
}

fn row(place: usize, result: &KernelResult<'_>, with_config: bool) -> Vec<String> {
    let latency = result.latency();
    let ms = |ns: Option<f64>| or_absent(ns.map(|ns| units::significant(ns / 1e6, 4)));
    let config = result.case.filter(|_| with_config).map(|case| format!(" ({})", case.config));
    let time = result.time().map(|time| units::time_with_interval(time.median_ns, time.interval));
    let speedup =
        result.speedup().map(|speedup| units::ratio(speedup.ratio, Some(speedup.interval)));
    vec![
        latency.map_or_else(|| ABSENT.to_owned(), |_| place.to_string()),
        format!("{}{}", result.implementation, config.unwrap_or_default()),
        result.backend.to_owned(),
        precision(result),
        ms(latency.map(|latency| latency.p50_ns)),
        ms(latency.and_then(|latency| latency.p90_ns)),
        ms(latency.and_then(|latency| latency.p99_ns)),
        or_absent(latency.map(|latency| units::significant(1e9 / latency.mean_ns, 4))),
        or_absent(time),
        or_absent(speedup),
    ]
}

/// The word of the `bench.yaml`.
pub fn precision(result: &KernelResult<'_>) -> String {
    or_absent(result.precision.map(|precision| precision.precision().to_owned()))
}
