//! `summary`: what the results say, on one screen.

use anyhow::Result;
use clap::ColorChoice;
use plan::Device;

use crate::model::{Circumstances, Interval};
use crate::read::Report;
use crate::render::json_text;
use crate::render::object::document;
use crate::render::table::{
    Align, Cell, GAP, Line, Paint, clear, glued, labelled, render, table_width,
};
use crate::render::{markdown, table::screen, units};
use crate::views::explain::{Library, Statement, variant};
use crate::views::view::Room;
use crate::views::written::Target;
use crate::views::{Answer, Answers, Beside, Level, Question, Speedups};

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Screen for people, Markdown for a pull request, or JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// When to colour the screen
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// At most 38 lines of 100 columns
    Text,
    /// The same as tables
    Markdown,
    /// Everything, whatever its length
    Json,
}

document! {
    /// The document of `--format json`.
    pub struct Document<'a> = of(report: &'a Report, answers: &'a Answers) {
        /// `criterion-torch/summary`.
        schema: &'static str = "criterion-torch/summary",
        /// 1; counts incompatible changes.
        version: u32 = 1,
        /// The name of the results that were read.
        baseline: &'a str = &report.baseline,
        #[serde(flatten)]
        answers: &'a Answers = answers,
    }
}

/// Lines of the screen; two are left to who calls it.
const LINES: usize = 38;
const INDENT: usize = 2;
/// Note on a speed-up that is not from interleaved runs.
const BY_TIMES: &str = "by times, not in turn";
/// Reasons of unmeasured cases that are said.
const REASONS: usize = 3;

pub fn write(report: &Report, options: &Options, target: Target<'_>) -> Result<String> {
    let answers = Answers::new(report);
    Ok(match options.format {
        Format::Json => json_text::document(&Document::of(report, &answers))?,
        Format::Markdown => in_markdown(report, &answers),
        Format::Text => {
            let room = Room::new(target, options.color);
            screen(&text(report, &answers, room), room.colour)
        }
    })
}

/// A question with its answers.
pub struct Section<'a> {
    pub title: &'static str,
    /// The command that says more.
    command: &'static str,
    /// Heading of the column with the answers.
    pub column: &'static str,
    pub answers: Vec<&'a Answer>,
}

const QUESTIONS: [(Question, &str, &str, &str); 4] = [
    (Question::Recipes, "Which recipe pays?", "show", "fastest"),
    (Question::Fusion, "Does fusing pay?", "fusion", "fuse?"),
    (Question::Operators, "How good are our kernels, against ATen?", "operators", "fastest"),
    (Question::Kernels, "Which kernel of benches/kernels is the fastest?", "kernels", "fastest"),
];

/// The questions that have answers.
pub fn sections(answers: &Answers) -> Vec<Section<'_>> {
    let all = QUESTIONS.into_iter().map(|(question, title, command, column)| {
        let own = answers.answers.iter().filter(|it| it.question == question);
        Section { title, command, column, answers: own.collect() }
    });
    all.filter(|section| !section.answers.is_empty()).collect()
}

/// The speed-up that stands in the column: as called, where that is another one.
fn shown(of: &Answer) -> Option<Speedups> {
    of.as_called.map(|it| it.as_ratio().into()).or(of.speedup)
}

/// The columns of [`cells`].
fn columns(answer: &str) -> [(&str, Align); 4] {
    ["", answer, "speed-up", ""].map(|heading| (heading, Align::Left))
}

/// An answer in words: its subject, the answer, the speed-up, and the details.
fn cells(of: &Answer) -> [String; 4] {
    let speedup = shown(of).map(figure);
    [of.subject.clone(), of.answer.clone(), speedup.unwrap_or_default(), details(of).join("; ")]
}

/// The cells, with the lines that a screen shows below them after the details.
pub fn cells_with_reason(of: &Answer) -> [String; 4] {
    let mut cells = cells(of);
    let [beside, why] = [beside(of), why(of)].map(Option::unwrap_or_default);
    let texts = [std::mem::take(&mut cells[3]), beside, why];
    cells[3] = texts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ");
    cells
}

fn text(report: &Report, answers: &Answers, room: Room) -> String {
    let Room { width, colour, .. } = room;
    let block = |label: &str, lines: Vec<String>| -> String {
        lines.iter().map(|text| labelled(label, text, width, colour)).collect()
    };
    let head: String = circumstances(report, answers)
        .iter()
        .map(|(label, text)| labelled(label, text, width, colour))
        .collect();
    let mut tail = block("machine", machine(answers)) + &block("not run", unmeasured(answers));
    tail.push_str(&block("judge", unjudged(answers)));
    let asked = sections(answers);
    let lengths: Vec<usize> = asked.iter().map(|it| it.answers.len()).collect();
    let mut most = lengths.iter().sum();
    loop {
        let tables = asked.iter().zip(shares(&lengths, most));
        let tables: String = tables.map(|(section, share)| in_text(section, share, room)).collect();
        let out = format!("{head}{tables}\n{tail}");
        if out.lines().count() <= LINES || most <= asked.len() {
            return out;
        }
        most -= 1;
    }
}

/// A question with so many of its answers.
fn in_text(of: &Section<'_>, share: usize, room: Room) -> String {
    let table = table(of.column, &of.answers[..share], room);
    let mut out = format!("\n{}{table}", room.bold(of.title));
    if share < of.answers.len() {
        let more = format!("  … {} more: `{}`", of.answers.len() - share, of.command);
        out.push_str(&format!("{}\n", Paint::Dim.on(&more, room.colour)));
    }
    out
}

/// How many of so many lines each list gets, the longest giving way first.
fn shares(lengths: &[usize], room: usize) -> Vec<usize> {
    let mut shares = lengths.to_vec();
    while shares.iter().sum::<usize>() > room {
        let Some(longest) = shares.iter_mut().max() else { break };
        if *longest <= 1 {
            break;
        }
        *longest -= 1;
    }
    shares
}

fn table(column: &str, answers: &[&Answer], Room { width, colour, .. }: Room) -> String {
    let columns = columns(column);
    let line = |of: &&Answer| {
        let paint = match of.pays {
            Some(true) => Paint::Good,
            Some(false) => Paint::Bad,
            None => Paint::Plain,
        };
        let mut cells = cells(of).map(Cell::from);
        cells[1].paint = paint;
        Line::Cells(cells.to_vec())
    };
    let below = |of: &&Answer| {
        let texts = [beside(of).map(Cell::from), why(of).map(|it| Cell::new(it, Paint::Dim))];
        texts.into_iter().flatten().map(|it| Line::Spanning(Cell::default(), it))
    };
    let lines = answers.iter().flat_map(|of| [line(of)].into_iter().chain(below(of)));
    let lines: Vec<Line> = lines.collect();
    let narrow = wrapped(&columns, &lines, width);
    render(&columns, &narrow, INDENT, width, colour)
}

/// These lines; a last cell that is too wide goes below its line.
fn wrapped(columns: &[(&str, Align)], lines: &[Line], width: usize) -> Vec<Line> {
    let last = columns.len() - 1;
    let mut without = lines.to_vec();
    clear(last, &mut without);
    let room = width.saturating_sub(table_width(columns, &without, INDENT) + GAP);
    let placed = lines.iter().zip(without).flat_map(|(line, without)| match line {
        Line::Cells(cells) if cells[last].text.chars().count() > room => {
            vec![without, Line::Spanning(Cell::default(), cells[last].clone())]
        }
        _ => vec![line.clone()],
    });
    placed.collect()
}

/// The other figures that matter for a decision.
fn details(of: &Answer) -> Vec<String> {
    if let Some(why) = &of.open {
        return vec![why.clone()];
    }
    let decibels = |db: f64| format!("{db:.0} dB");
    let mut details = Vec::new();
    let undecided = shown(of).filter(Speedups::is_undecided);
    let more_time = |it| format!("{}: `--budget 5min` gives it more time", bounds(it));
    details.extend(undecided.map(more_time));
    let on_device = of.speedup.filter(|_| of.as_called.is_some());
    details.extend(on_device.map(|it| format!("{} on the device", units::ratio(it.ratio, None))));
    details.extend(of.by_times.then(|| BY_TIMES.to_owned()));
    let over = of.over.as_ref();
    match of.question {
        Question::Kernels => {
            let variant = Some(&of.variant).filter(|it| **it != of.answer);
            details.extend(against(variant, over));
        }
        Question::Recipes if of.answer != of.variant => {
            details.push(format!("closest: {}", of.variant));
        }
        Question::Recipes => {
            let weights = of.weights_reduction.filter(|share| share.abs() >= 0.005);
            let weights = weights.map(|share| format!("weights {:+.0} %", -100.0 * share));
            details.extend(weights.map(|text| text.replace('-', "−")));
            details.extend(of.sqnr_db.map(decibels));
            let named = |it: &Level| match it.sqnr_db {
                Some(db) => glued(&format!("{} ({})", it.variant, decibels(db))),
                None => it.variant.clone(),
            };
            let level: Vec<String> = of.level.iter().map(named).collect();
            details.extend((!level.is_empty()).then(|| format!("level: {}", level.join(", "))));
        }
        Question::Fusion => {
            let other = of.other_product.as_ref();
            match other {
                Some(other) if other.variant == of.variant => {
                    details.push(format!("{} takes oneDNN's product", of.variant));
                }
                _ => details.push(of.variant.clone()),
            }
            let other = other.filter(|other| other.variant != of.variant);
            if let Some(factors) = other.and_then(|other| other.speedup) {
                details.push(glued(&format!("oneDNN's product {}", speedup(factors))));
            }
        }
        Question::Operators => {
            let percent = |share: f64| format!("{:.0} %", 100.0 * share);
            let variant =
                Some(&of.variant).filter(|it| of.pays.is_none() && !of.answer.contains(*it));
            details.extend(against(variant, over));
            if let Some((own, aten)) = of.share_of_limit.zip(of.aten_share_of_limit) {
                let text = format!("{} of the limit, ATen {}", percent(own), percent(aten));
                details.push(text);
            }
        }
    }
    details
}

/// The other side of a speed-up: `over aten`, or between two that no answer names, `rust against aten`.
fn against(variant: Option<&String>, over: Option<&String>) -> Option<String> {
    let over = over?;
    Some(variant.map_or(format!("over {over}"), |variant| format!("{variant} against {over}")))
}

/// How the best recipe stands beside the fastest unquantized model, if that is not the baseline.
fn beside(of: &Answer) -> Option<String> {
    let recipe = of.recipe.as_ref().map(|Beside { variant, speedup, .. }| {
        format!("not quantized; the best recipe is {variant}: {}", said(*speedup))
    });
    let over = of.unquantized.as_ref().map(|it| {
        let apart = if it.by_times { format!(", {BY_TIMES}") } else { String::new() };
        format!("{} over unquantized {}{apart}", said(it.speedup), it.variant)
    });
    recipe.or(over)
}

/// The bounds of an interval that is too wide for a figure.
fn bounds(of: Speedups) -> String {
    let [low, high] = [of.low, of.high].map(|it| units::ratio(it, None));
    format!("between {low} and {high}")
}

/// A speed-up in a sentence.
fn said(of: Speedups) -> String {
    if of.is_undecided() { bounds(of) } else { speedup(of) }
}

/// The speed-up, if its interval leaves it a meaning.
fn figure(of: Speedups) -> String {
    if of.is_undecided() { "undecided".to_owned() } else { speedup(of) }
}

/// A short form of the statement that explains an answer, because operations have long names. `None` if the answer
/// already shows the share of the limit.
fn why(of: &Answer) -> Option<String> {
    let says_limit = of.share_of_limit.is_some();
    let gain = |share: f64, ratio: f64| {
        let verb = if ratio < 1.0 { "costs" } else { "saves" };
        format!("{verb} {:.0} % of the time", 100.0 * share)
    };
    match &of.why.as_ref()?.statement {
        Statement::MemoryBound { .. } | Statement::ComputeBound { .. } if says_limit => None,
        Statement::OtherLibrary { library: Library::Onednn, share, ratio, .. } => {
            Some(format!("oneDNN's product {}", gain(*share, *ratio)))
        }
        Statement::OtherLibrary { operation, share, ratio, .. } => {
            Some(format!("its product ({operation}) {}", gain(*share, *ratio)))
        }
        Statement::OtherDispatch { share, ratio, other, .. } => {
            let (gain, other) = (gain(*share, *ratio), variant(other));
            Some(format!("another implementation of attention than in `{other}` {gain}"))
        }
        other => Some(other.to_string()),
    }
}

/// `8.56× [7.08, 10.36]`, or of several `1.11× to 2.22×`.
fn speedup(of: Speedups) -> String {
    match of.cases {
        1 if of.low == of.high => units::ratio(of.ratio, None),
        1 => units::ratio(of.ratio, Some(Interval { low: of.low, high: of.high })),
        cases => {
            format!("{} to {} ({cases})", units::ratio(of.low, None), units::ratio(of.high, None))
        }
    }
}

fn circumstances(report: &Report, answers: &Answers) -> Vec<(&'static str, String)> {
    let Some(of) = report.circumstances.first() else { return Vec::new() };
    let mut facts = vec![("on", machine_name(of))];
    if report.circumstances.len() > 1 {
        let others = units::count(report.circumstances.len() - 1, "other");
        facts[0].1.push_str(&format!("; {others}: `criterion-report show` has them"));
    }
    let quiet = match &answers.disturbances[..] {
        [] => "quiet".to_owned(),
        some => format!("not quiet ({}): `show` says more", some.join(", ")),
    };
    facts.push(("measured", format!("{}; {quiet}", units::period(of.first, of.last))));
    facts
}

fn machine_name(of: &Circumstances) -> String {
    let (host, torch) = (&of.environment.host, &of.environment.torch);
    let mut parts = vec![
        host.cpu_model.clone(),
        units::count(host.cpus as usize, "CPU"),
        units::bytes(host.memory_bytes),
    ];
    parts.extend(of.cuda_devices.iter().cloned());
    parts.push(format!("libtorch {} {}", torch.libtorch, torch.cpu_capability));
    parts.join(", ")
}

/// Peaks, bandwidth and ridge points.
pub fn machine(answers: &Answers) -> Vec<String> {
    let mut parts: Vec<String> = answers
        .limits
        .iter()
        .map(|it| {
            let rate = |value| units::significant(value, 3);
            // The host's threads do not matter for the work of a device.
            let threads = units::count(it.threads as usize, "thread");
            let on = if it.device == Device::Cpu.as_str() {
                format!(", {threads}")
            } else {
                String::new()
            };
            let peak = match it.peak_gflops {
                tera if tera >= 1e4 => format!("{} TFLOP/s", rate(tera / 1e3)),
                giga => format!("{} GFLOP/s", rate(giga)),
            };
            let mut text = format!("{}, {}{on}: {peak}", it.device, it.dtype);
            if it.reached_by.is_some() {
                text.push_str(" (by a case, the probes reached less)");
            }
            if let Some((bandwidth, ridge)) = it.bandwidth_gbps.zip(it.ridge_flop_per_byte) {
                text.push_str(&format!(
                    ", memory {} GB/s, ridge point {} FLOP/B",
                    rate(bandwidth),
                    rate(ridge)
                ));
            }
            text
        })
        .collect();
    parts.extend(answers.call_ns.map(|ns| format!("a call takes {}", units::time(ns))));
    parts
}

/// The commonest reasons, and how many cases have others.
fn unmeasured(answers: &Answers) -> Vec<String> {
    let mut lines: Vec<String> = answers
        .unmeasured
        .iter()
        .take(REASONS)
        .map(|it| format!("{} {}: {}", it.cases, it.status, it.reason))
        .collect();
    let rest: usize = answers.unmeasured.iter().skip(REASONS).map(|it| it.cases).sum();
    if rest > 0 {
        lines.push(format!("{rest} others: `criterion-report show`"));
    }
    lines
}

/// The commonest reasons why kernels are not judged.
fn unjudged(answers: &Answers) -> Vec<String> {
    answers.unjudged.iter().take(REASONS).map(ToString::to_string).collect()
}

fn in_markdown(report: &Report, answers: &Answers) -> String {
    let mut out = String::new();
    for (_, text) in circumstances(report, answers) {
        out.push_str(&format!("{}  \n", markdown::plain(&text)));
    }
    for Section { title, column, answers, .. } in sections(answers) {
        let bold = |of: &&Answer| {
            let mut cells = cells_with_reason(of);
            if of.pays == Some(true) {
                cells[1] = format!("**{}**", cells[1]);
            }
            cells.to_vec()
        };
        let rows: Vec<Vec<String>> = answers.iter().map(bold).collect();
        out.push_str(&format!("\n### {title}\n\n{}", markdown::table(&columns(column), &rows)));
    }
    let rest = [machine(answers), unmeasured(answers), unjudged(answers)];
    for text in rest.into_iter().flatten() {
        out.push_str(&format!("\n- {}", markdown::plain(&text)));
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}
