//! What fusing is worth on the machine.

use std::collections::BTreeMap;

use plan::Dtype;
use serde_json::Value;

use super::{ABSENT, WIDTH, heading, text};
use crate::model::Interval;
use crate::model::calibration::{FusionCalibration, Profile};
use crate::units;
use crate::write::table::{Align, Cell, Line, Paint, render};
use crate::write::verdict;

/// One line per pattern, variant, dtype and shape.
pub fn table(profile: &Profile, colour: bool) -> String {
    if profile.fusion_profiles.is_empty() {
        return String::new();
    }
    let mut patterns: BTreeMap<String, Vec<&FusionCalibration>> = BTreeMap::new();
    for fusion in profile.fusion_profiles.values() {
        patterns.entry(title(fusion)).or_default().push(fusion);
    }
    let columns = [
        ("", Align::Left),
        ("", Align::Left),
        ("speed-up", Align::Left),
        ("bytes*", Align::Right),
        ("verdict", Align::Left),
    ];
    let mut lines = Vec::new();
    for (title, mut fusions) in patterns {
        lines.push(Line::Text(format!("  {title}").into()));
        fusions.sort_by_key(|fusion| {
            let variant = text(&fusion.extra_params, "variant").unwrap_or_default();
            (variant.to_owned(), fusion.input_shape.clone())
        });
        lines.extend(fusions.into_iter().map(line));
    }
    let count = profile.fusion_profiles.len();
    let mut out = heading(&format!("Fusion Pattern Performance ({count} total):"), colour);
    out.push_str(&render(&columns, &lines, 4, WIDTH, colour));
    out.push_str("  * change of the bytes read and written, by formula; not measured\n");
    out
}

/// `Linear_Bias (matmul, add), cpu, 2 threads`
fn title(fusion: &FusionCalibration) -> String {
    let params = &fusion.extra_params;
    let mut title = format!("{} ({})", fusion.fusion_pattern, fusion.operators.join(", "));
    title.extend(text(params, "device").map(|device| format!(", {device}")));
    let threads = params.get("threads").and_then(Value::as_u64);
    title.extend(threads.map(|it| format!(", {}", units::count(it as usize, "thread"))));
    title
}

fn line(fusion: &FusionCalibration) -> Line {
    let params = &fusion.extra_params;
    let bound = |name: &str| params.get(name).and_then(Value::as_f64);
    let interval = bound("speedup_low").zip(bound("speedup_high"));
    let interval = interval.map(|(low, high)| Interval { low, high });
    let shape: Vec<String> = fusion.input_shape.iter().map(u64::to_string).collect();
    let shape = text(params, "shape").map_or_else(|| shape.join("x"), str::to_owned);
    let dtype = text(params, "dtype").and_then(|dtype| dtype.parse::<Dtype>().ok());
    let dtype = dtype.map(|dtype| format!("{} ", dtype.short())).unwrap_or_default();
    let reduction = fusion.memory_reduction.map(units::reduction);
    let verdict = match text(params, "verdict") {
        Some(verdict) => verdict,
        None if interval.is_none() => "no interval",
        None => ABSENT,
    };
    let (word, paint) = direction(fusion.speedup_factor, interval);
    let speedup = format!("{}{word}", units::ratio(fusion.speedup_factor, interval));
    Line::Cells(vec![
        text(params, "variant").unwrap_or("fused").into(),
        format!("{dtype}{shape}").into(),
        Cell::new(speedup, paint),
        reduction.unwrap_or_else(|| ABSENT.to_owned()).into(),
        verdict.into(),
    ])
}

/// Faster or slower, where the interval excludes the other; without an interval, as it was found,
/// unless that looks like neither.
fn direction(ratio: f64, interval: Option<Interval>) -> (&'static str, Paint) {
    let Some(Interval { low, high }) = interval else {
        let word = match units::ratio(ratio, None).as_str() {
            "1.00×" => "",
            _ if ratio > 1.0 => " faster",
            _ => " slower",
        };
        return (word, Paint::Plain);
    };
    match (low > 1.0, high < 1.0) {
        (true, _) => (" faster", Paint::Good),
        (_, true) => (" slower", Paint::Bad),
        _ => ("", Paint::Plain),
    }
}

/// Whether to fuse, at each place.
pub fn strategy(profile: &Profile, colour: bool) -> String {
    if profile.fusion_strategy.is_empty() {
        return String::new();
    }
    let mut out = heading("Fusion Strategy:", colour);
    let mut places: Vec<&str> = Vec::new();
    for advice in &profile.fusion_strategy {
        if !places.contains(&advice.place.as_str()) {
            places.push(&advice.place);
        }
    }
    for place in places {
        let own = profile.fusion_strategy.iter().filter(|advice| advice.place == place);
        let lines: Vec<Line> = own
            .map(|advice| {
                let with = advice.variant.as_ref().map(|variant| format!(" (`{variant}`)"));
                let with = with.unwrap_or_default();
                let paint = verdict::of_advice_word(&advice.advice);
                let said = format!("{}{with}: {}", advice.advice, advice.evidence);
                Line::Spanning(advice.fusion_pattern.clone().into(), Cell::new(said, paint))
            })
            .collect();
        out.push_str(&format!("  {place}\n"));
        out.push_str(&render(&[("", Align::Left); 2], &lines, 4, WIDTH, colour));
    }
    out
}
