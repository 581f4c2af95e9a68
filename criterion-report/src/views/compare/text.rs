//! Words that the formats share.

use crate::compare::{
    Compared, Comparison, Finding, FloorSource, LOCKSTEP, Measure, Policy, SideFacts, Verdict,
};
use crate::render::table::ABSENT;
use crate::render::{units, words};
use crate::visible;

pub fn value(measure: Measure, value: Option<f64>) -> String {
    let Some(value) = value else { return ABSENT.to_owned() };
    match measure {
        Measure::Time => units::time(value),
        Measure::Memory => units::bytes(value.round() as u64),
        Measure::Accuracy => units::error(value),
        Measure::Energy => format!("{} J", units::significant(value, 3)),
        Measure::Speedup => units::ratio(value, None),
        Measure::Outcome => ABSENT.to_owned(),
    }
}

/// `1.12× [1.08, 1.16]`; nothing without a ratio.
pub fn ratio(finding: &Finding) -> String {
    finding.ratio.map_or_else(String::new, |ratio| units::ratio(ratio, finding.interval()))
}

/// `2 regressed, 1 improved, 47 equivalent`, the worst first; those that do not occur are left out.
pub fn counts(comparison: &Comparison) -> String {
    let counted = Verdict::ALL.iter().map(|it| (it, comparison.count(*it)));
    let counts: Vec<String> = counted
        .filter(|(_, count)| *count > 0)
        .map(|(verdict, count)| format!("{count} {}", verdict.word()))
        .collect();
    counts.join(", ")
}

/// The name with its runs and revisions: `main` (8 runs, 1f0c2ab34d56).
pub fn side(side: &SideFacts) -> String {
    let runs = match side.runs.as_slice() {
        [run] if run == LOCKSTEP => LOCKSTEP.to_owned(),
        [_] => "1 run".to_owned(),
        several => format!("{} runs", several.len()),
    };
    let text = match side.revisions.as_slice() {
        [] => format!("`{}` ({runs})", side.name),
        revisions => format!("`{}` ({runs}, {})", side.name, revisions.join(" and ")),
    };
    visible::line(&text).into_owned()
}

/// The cautions of a case that are shown. On a noisy machine nearly every case has some; of what does
/// not differ, or is left open, they decide nothing that its reason does not say.
pub fn cautions(case: &Compared, details: bool) -> &[String] {
    let differs = matches!(case.verdict, Verdict::Regressed | Verdict::Improved);
    if details || differs { &case.cautions } else { &[] }
}

/// How many of these cases have cautions that are not shown.
pub fn hidden_cautions<'a>(
    cases: impl Iterator<Item = &'a Compared>,
    details: bool,
) -> Option<String> {
    let hidden = |case: &&Compared| cautions(case, details).len() < case.cautions.len();
    let hidden = cases.filter(hidden).count();
    let cases = units::count(hidden, "other case");
    (hidden > 0).then(|| format!("{cases} with cautions on the measurement (--details shows them)"))
}

/// Says that the sides were measured on different machines.
pub fn hosts(comparison: &Comparison) -> Option<String> {
    let [a, b] = [&comparison.a.hosts, &comparison.b.hosts];
    let differ = a != b && !a.is_empty() && !b.is_empty();
    differ.then(|| format!("caution: of two machines: {} against {}", a.join(", "), b.join(", ")))
}

pub fn rule(comparison: &Comparison) -> String {
    let limits = comparison.thresholds.limits;
    let policy = words::of_flag(comparison.policy);
    let time = units::percent(limits.latency);
    let rules = match comparison.thresholds.rules.len() {
        0 => String::new(),
        several => format!(", and {} by case", units::count(several, "rule")),
    };
    match comparison.policy {
        Policy::Default => format!(
            "policy {policy}: time {time}, memory {}, accuracy {}, energy {}{rules}",
            units::percent(limits.memory),
            units::error(limits.accuracy),
            units::percent(limits.energy),
        ),
        Policy::Within => format!(
            "policy {policy}: time {time}, accuracy {}{rules}; the noise within runs, and between \
             those of a side",
            units::error(limits.accuracy),
        ),
        Policy::Hud => format!("policy {policy}: no statistics"),
        Policy::Quasim => format!(
            "policy {policy}: time {time}, accuracy {}{rules}; no statistics",
            units::error(limits.accuracy),
        ),
    }
}

/// The noise floors that widened the intervals of sides with one run.
pub fn floors(comparison: &Comparison) -> Vec<String> {
    let sources = comparison.floors.iter();
    sources
        .filter_map(|(source, cases)| {
            let cases = units::count(*cases, "case");
            Some(match source {
                FloorSource::Case { runs } => format!(
                    "{cases} with one run on a side: widened by the case's own noise floor, from \
                     {runs} runs of one revision"
                ),
                FloorSource::Pooled { cases: known } => format!(
                    "{cases} with one run on a side and not in the noise profile: widened by the \
                     pooled floor of its {known} cases"
                ),
                FloorSource::Assumed => format!(
                    "{cases} with one run on a side and no noise profile of this machine: widened \
                     by an assumed floor of ±25 %; `criterion-report aa` measures it"
                ),
                FloorSource::Ignored => return None,
            })
        })
        .collect()
}
