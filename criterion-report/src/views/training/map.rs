//! The maps of one model as text: M down, K × N across, a map per recipe, with where it gains and the
//! formula that predicts what was not measured.

use crate::model::gather;
use crate::render::table::{Align, Cell, Line, Paint, render};
use crate::render::units;
use crate::views::training::{Block, Cost, Crossover, Field, Gains, ModelError, RecipeCost};
use crate::views::verdict::of_verdict;
use crate::views::view::{Room, paragraph};

const INDENT: usize = 4;
/// Characters of a column and the gap before it.
const COLUMN: usize = 13;

/// All maps of a block, and why recipes have none.
pub fn maps(block: &Block<'_, '_>, room: Room) -> String {
    let found = Crossover::all(block);
    if found.is_empty() {
        return String::new();
    }
    let text =
        "  crossover: speed-up of forward and backward pass over the baseline run the same way";
    let mut out = format!("{}\n", Paint::Dim.on(text, room.colour));
    for (variant, crossover) in &found {
        match crossover {
            Ok(crossover) => out += &map(variant, crossover, room),
            Err(why) => out += &paragraph(&format!("{variant}: {why}"), 2, Paint::Warn, room),
        }
    }
    if found.iter().any(|(_, crossover)| crossover.is_ok()) {
        let legend = "M down, K×N across; plain: measured; ≈ predicted; + M beyond those measured; ? predicted nearer to 1 \
                      than the model's median error";
        out += &paragraph(legend, 2, Paint::Dim, room);
    }
    out
}

fn map(variant: &str, crossover: &Crossover<'_, '_>, room: Room) -> String {
    let mut out = paragraph(&format!("{variant}: {}", answer(crossover)), 2, Paint::Bold, room);
    let fit = (room.width.saturating_sub(INDENT + COLUMN) / COLUMN).max(1);
    let columns: Vec<usize> = (0..crossover.kns.len()).collect();
    for columns in columns.chunks(fit) {
        out += &part(crossover, columns, room);
    }
    for line in formula(crossover) {
        out += &paragraph(&line, INDENT, Paint::Dim, room);
    }
    out
}

/// Some columns of a map.
fn part(crossover: &Crossover<'_, '_>, columns: &[usize], room: Room) -> String {
    let names = columns.iter().map(|&column| {
        let (k, n) = crossover.kns[column];
        format!("{k}×{n}")
    });
    let names: Vec<String> = ["M".to_owned()].into_iter().chain(names).collect();
    let headings: Vec<(&str, Align)> =
        names.iter().map(|name| (name.as_str(), Align::Right)).collect();
    let lines = crossover.ms.iter().enumerate().map(|(row, m)| {
        let field = |column: &usize| &crossover.fields[row * crossover.kns.len() + column];
        let name = Cell::new(crossover.row_name(*m), Paint::Dim);
        let cells =
            columns.iter().map(|column| cell(field(column), crossover.prediction.speedup_error));
        Line::Cells([name].into_iter().chain(cells).collect())
    });
    render(&headings, &lines.collect::<Vec<_>>(), INDENT, room.width, room.colour)
}

fn cell(field: &Field, error: Option<ModelError>) -> Cell {
    let ratio = |value: f64| units::ratio(value, None);
    if let Some(speedup) = &field.measured {
        return Cell::new(ratio(speedup.ratio), of_verdict(speedup.verdict()));
    }
    let text = format!("≈{}", ratio(field.predicted));
    let error = error.map_or(0.0, |error| error.median);
    if (field.predicted - 1.0).abs() <= error {
        Cell::new(text + "?", Paint::Warn)
    } else {
        Cell::new(text, if field.predicted > 1.0 { Paint::Good } else { Paint::Bad })
    }
}

/// The range in which the recipe gains, in words.
fn answer(crossover: &Crossover<'_, '_>) -> String {
    let columns = 0..crossover.kns.len();
    let gains: Vec<Gains> = columns.clone().map(|column| crossover.gains(column)).collect();
    let beyond = columns.filter_map(|column| {
        let (k, n) = crossover.kns[column];
        Some(format!("M = {} at {k}×{n}", crossover.beyond(column)?))
    });
    let beyond: Vec<String> = beyond.collect();
    let outside = match &beyond[..] {
        [] => String::new(),
        some => format!("; outside of the grid the model predicts gains from {}", some.join(", ")),
    };
    if gains.iter().all(|it| *it == Gains::Nowhere) {
        return format!("no crossover in the grid, it gains nowhere{outside}");
    }
    if gains.iter().all(|it| *it == Gains::Everywhere) {
        return "no crossover in the grid, it gains everywhere".to_owned();
    }
    let words =
        gather(gains.iter().zip(&crossover.kns), |(gains, _)| **gains).into_iter().map(|alike| {
            let places: Vec<String> = alike.iter().map(|(_, (k, n))| format!("{k}×{n}")).collect();
            let places = places.join(", ");
            match alike[0].0 {
                Gains::Everywhere => format!("everywhere at {places}"),
                Gains::Nowhere => format!("nowhere at {places}"),
                Gains::From(m) => format!("from M = {m} at {places}"),
                Gains::UpTo(m) => format!("up to M = {m} at {places}"),
                Gains::Scattered => format!("here and there at {places}"),
            }
        });
    format!("gains {}{outside}", words.collect::<Vec<_>>().join("; "))
}

/// The fitted costs, a line each, with their errors.
fn formula(crossover: &Crossover<'_, '_>) -> Vec<String> {
    let prediction = &crossover.prediction;
    let line =
        |name: &str, cost: &Cost| format!("{name} = {}{}", self::cost(cost), error(cost.error));
    let mut lines = vec![line("baseline", &prediction.baseline)];
    let whole = match &prediction.recipe {
        RecipeCost::Parts { casts, products } => {
            lines.push(line("casts", casts));
            lines.push(line("products", products));
            "(casts + products)"
        }
        RecipeCost::Whole(whole) => {
            lines.push(line("recipe", whole));
            "recipe"
        }
    };
    lines.push(format!("speed-up = baseline / {whole}{}", error(prediction.speedup_error)));
    lines
}

/// `12.30 µs + 6MKN / 210 GFLOP/s + bytes / 14 GB/s`, without the parts that are nothing.
fn cost(cost: &Cost) -> String {
    let rate = |ns: f64, what: &str, unit: &str| {
        (ns > 0.0).then(|| format!("{what} / {} {unit}", units::significant(1.0 / ns, 3)))
    };
    let parts = [
        (cost.fixed_ns > 0.0).then(|| units::time(cost.fixed_ns)),
        rate(cost.ns_per_flop, "6MKN", "GFLOP/s"),
        rate(cost.ns_per_byte, "bytes of MK+NK+MN", "GB/s"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" + ")
}

fn error(of: Option<ModelError>) -> String {
    let percent = |share: f64| match share {
        small if small < 1e-4 => "< 0.01".to_owned(),
        share => units::significant(share * 100.0, 2),
    };
    match of {
        Some(ModelError { median, worst, shapes }) => format!(
            " (left out, {shapes} shapes are off by {} %, at worst {} %)",
            percent(median),
            percent(worst)
        ),
        None => " (too few shapes for an error)".to_owned(),
    }
}
