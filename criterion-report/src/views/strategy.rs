//! The advice for each device, with its evidence.

use crate::model::{ExecutionContext, Interval, once};
use crate::render::table::{Paint, glued, wrap};
use crate::render::units;
use crate::views::{Advice, OverControl, PatternAdvice, Point, VariantAdvice, verdict};

/// Characters that the evidence needs to stand beside an advice; with fewer it stands below.
const EVIDENCE: usize = 50;

/// One part per place: a line per pattern, below it one per variant.
pub fn strategy(advice: &[PatternAdvice], width: usize, colour: bool) -> String {
    let part = |place: &ExecutionContext| {
        let title = Paint::Bold.on(&format!("strategy on {place}"), colour);
        let own = advice.iter().filter(|advice| advice.place == *place);
        own.fold(title + "\n", |out, advice| out + &pattern(advice, width, colour))
    };
    let places = once(advice.iter().map(|advice| &advice.place));
    places.into_iter().map(part).collect::<Vec<_>>().join("\n")
}

fn pattern(advice: &PatternAdvice, width: usize, colour: bool) -> String {
    let word = verdict::of_advice(advice.advice).on(advice.advice.word(), colour);
    let measured = advice.variants.iter().any(|variant| variant.cases_with_speedup > 0);
    let by = match advice.best {
        Some(best) => format!("best: `{best}`"),
        None if measured => "none that only fuses measured in pairs".to_owned(),
        None => "nothing measured in pairs".to_owned(),
    };
    let mut out = format!("  {}\n    fuse?             {word} ({by})\n", advice.pattern);
    if let Some((other, variant)) = advice.other_product_advice.zip(advice.other_product_variant) {
        let word = verdict::of_advice(other).on(other.word(), colour);
        out.push_str(&format!("    another product?  {word} (best: `{variant}`, by oneDNN)\n"));
    }
    if !measured {
        return out;
    }
    let names = advice.variants.iter().map(|it| it.name().len()).max().unwrap_or(0);
    let words = advice.variants.iter().map(|it| it.advice.word().len()).max().unwrap_or(0);
    let beside = 4 + names + 2 + words + 2;
    let below = width < beside + EVIDENCE;
    let (indent, words) = if below { (6, 0) } else { (beside, words) };
    for variant in &advice.variants {
        let word = format!("{:words$}", variant.advice.word());
        let word = verdict::of_advice(variant.advice).on(&word, colour);
        out.push_str(&format!("    {:names$}  {word}", variant.name()));
        for (line, part) in wrap(&evidence(variant), width - indent).iter().enumerate() {
            if line == 0 && !below {
                out.push_str(&format!("  {part}"));
            } else {
                out.push_str(&format!("\n{:indent$}{part}", ""));
            }
        }
        out.push('\n');
    }
    out
}

/// `3 of 4 cases: 0.71× [0.70, 0.72] (f32 4x256x64) to …; fuse at …; not at …`
fn evidence(of: &VariantAdvice) -> String {
    let mut parts = vec![match (&of.lowest, &of.highest) {
        (Some(lowest), Some(highest)) if of.cases_with_speedup > 1 => {
            format!("{}: {} to {}", cases(of), ratio(lowest), ratio(highest))
        }
        (Some(only), _) => format!("{}: {}", cases(of), ratio(only)),
        (None, _) => format!("none of {} has a measured speed-up", units::count(of.cases, "case")),
    }];
    let mut say = |what: &str, points: &[Point]| {
        let names: Vec<String> = points.iter().map(|point| glued(&point.to_string())).collect();
        if !names.is_empty() {
            parts.push(format!("{what} {}", names.join(", ")));
        }
    };
    match of.advice {
        Advice::Conditional => {
            say("fuse at", &of.gaining);
            say("not at", &of.losing);
            say("open at", &of.undecided);
        }
        Advice::Depends => {
            say("faster at", &of.gaining);
            say("slower at", &of.losing);
            say("open at", &of.undecided);
        }
        Advice::Inconclusive => {
            say("slower at", &of.losing);
            say("open at", &of.undecided);
        }
        _ => {}
    }
    match of.fuses {
        Some(true) => {}
        Some(false) => {
            parts.push("no fusion: it runs no fewer operations than `unfused`".to_owned());
        }
        None => parts.push("what is fused is the compiler's choice".to_owned()),
    }
    match of.same_product {
        _ if of.compile.is_some() => {}
        Some(true) => {}
        Some(false) => parts.push("by another library's product than `unfused`".to_owned()),
        None if of.cases_with_speedup == 0 => {}
        None => parts.push("whose product it runs is not recorded".to_owned()),
    }
    let over: Vec<String> = of.over_control.iter().map(over_control).collect();
    if !over.is_empty() {
        parts.push(format!("by fusing, derived over `mkldnn-unfused`: {}", over.join(", ")));
    }
    parts.join("; ")
}

/// `0.970× to 1.064× (f32 128x512x512)`
fn over_control(over: &OverControl) -> String {
    let Interval { low, high } = over.interval;
    glued(&format!("{low:.3}× to {high:.3}× ({} {})", over.dtype.short(), over.size))
}

/// How many of its cases are evidence.
fn cases(of: &VariantAdvice) -> String {
    match of.cases_with_speedup {
        measured if measured == of.cases => units::count(measured, "case"),
        measured => format!("{measured} of {}", units::count(of.cases, "case")),
    }
}

fn ratio(point: &Point) -> String {
    let speedup = units::ratio(point.ratio, Some(point.interval));
    glued(&format!("{speedup} ({point})"))
}
