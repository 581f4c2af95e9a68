//! A recommendation as tables: a line per layer with its group's recipe, then what all layers take.

use plan::recommendation::{Objective, Phase};
use statistics::{Interval, Ratio, verdict};

use super::document::{Document, Factor, Group, Layers, PhaseTotal, RECOMMENDED, Total};
use super::{Format, Options};
use crate::render::table::{ABSENT, Cell, Line, Paint, screen};
use crate::render::{json_text, markdown, units};
use crate::views::verdict::of_verdict;
use crate::views::view::{Column, Layout, Room, left, markdown_rows, paragraph, right};
use crate::views::written::Target;

pub fn write(
    document: &Document<'_>,
    options: &Options,
    target: Target<'_>,
) -> anyhow::Result<String> {
    Ok(match options.format {
        Format::Json => json_text::document(document)?,
        Format::Markdown => in_markdown(document),
        Format::Table => {
            let room = Room::new(target, options.color);
            screen(&tables(document, room), room.colour)
        }
    })
}

/// A layer of a group; the group's own values stand beside its first one.
struct LayerLine<'a> {
    layers: &'a Layers<'a>,
    group: Option<&'a Group<'a>>,
}

impl LayerLine<'_> {
    fn cell(&self, cell: impl FnOnce(&Group<'_>) -> Cell) -> Cell {
        self.group.map(cell).unwrap_or_default()
    }
}

fn layer_lines<'a>(document: &'a Document<'_>) -> Vec<LayerLine<'a>> {
    let lines = document.groups.iter().flat_map(|group| {
        let layers = group.layers.iter().enumerate();
        layers
            .map(move |(place, layers)| LayerLine { layers, group: (place == 0).then_some(group) })
    });
    lines.collect()
}

/// The name without what comes before the number of the block.
fn short(fqn: &str) -> &str {
    fqn.rsplit_once("*.").map_or(fqn, |(_, name)| name)
}

fn layer_columns<'a>() -> [Column<LayerLine<'a>>; 8] {
    [
        left("layer", |it: &LayerLine<'a>| short(it.layers.fqn).into()),
        right("[n, k] × count", |it: &LayerLine<'a>| {
            let Layers { n, k, count, .. } = it.layers;
            format!("[{n}, {k}] × {count}").into()
        }),
        left("recipe", |it: &LayerLine<'a>| it.cell(|group| group.chosen.recipe.as_str().into())),
        left("speed-up [95%]", |it: &LayerLine<'a>| it.cell(|it| factor(&it.chosen.speedup))),
        right("bits", |it: &LayerLine<'a>| {
            it.cell(|group| units::significant(group.chosen.bits_per_weight, 3).into())
        }),
        right("SQNR", |it: &LayerLine<'a>| it.cell(|group| decibels(group.chosen.sqnr_db))),
        right("share", |it: &LayerLine<'a>| {
            it.cell(|group| units::percent(group.time_share).into())
        }),
        left("", |it: &LayerLine<'a>| {
            it.cell(|group| match group.decided {
                true => "decided".into(),
                false => Cell::new("undecided", Paint::Warn),
            })
        }),
    ]
}

/// All layers in one phase, or in all of them.
struct TotalLine<'a> {
    total: &'a Total,
    phase: Option<&'a PhaseTotal>,
}

impl TotalLine<'_> {
    fn cell(&self, cell: impl FnOnce(&Total) -> Cell) -> Cell {
        if self.phase.is_none() { cell(self.total) } else { Cell::default() }
    }

    fn of_phase(&self, cell: impl FnOnce(&PhaseTotal) -> Cell) -> Cell {
        self.phase.map(cell).unwrap_or_default()
    }
}

fn total_lines<'a>(document: &'a Document<'_>) -> Vec<TotalLine<'a>> {
    let lines = document.totals.iter().flat_map(|total| {
        let phases = total.phases.iter().map(Some);
        [None].into_iter().chain(phases).map(move |phase| TotalLine { total, phase })
    });
    lines.collect()
}

fn total_columns<'a>() -> [Column<TotalLine<'a>>; 8] {
    [
        left("all layers", |it: &TotalLine<'a>| {
            let is_chosen = it.total.name == RECOMMENDED;
            let paint = if is_chosen { Paint::Bold } else { Paint::Plain };
            it.cell(|total| Cell::new(total.name.as_str(), paint))
        }),
        left("phase", |it: &TotalLine<'a>| it.of_phase(|phase| phase.phase.as_str().into())),
        right("a request", |it: &TotalLine<'a>| {
            units::time(it.phase.map_or(it.total.ns, |phase| phase.ns)).into()
        }),
        right("a token", |it: &TotalLine<'a>| {
            it.of_phase(|phase| units::time(phase.ns_per_token).into())
        }),
        right("tokens/s", |it: &TotalLine<'a>| {
            it.of_phase(|phase| units::significant(phase.tokens_per_s, 3).into())
        }),
        left("speed-up [95%]", |it: &TotalLine<'a>| it.cell(|total| factor(&total.speedup))),
        right("weights", |it: &TotalLine<'a>| {
            it.cell(|total| units::bytes(total.weight_bytes).into())
        }),
        right("SQNR", |it: &TotalLine<'a>| it.cell(|total| decibels(total.sqnr_db))),
    ]
}

fn factor(&Factor { ratio, low, high }: &Factor) -> Cell {
    // The unquantized layers, over themselves.
    if low == high {
        return ABSENT.into();
    }
    let paint = of_verdict(verdict(&Ratio { ratio, low, high }));
    Cell::new(units::ratio(ratio, Some(Interval { low, high })), paint)
}

fn decibels(db: Option<f64>) -> Cell {
    db.map_or_else(|| ABSENT.to_owned(), units::decibels).into()
}

fn tables(document: &Document<'_>, room: Room) -> String {
    let mut out = room.bold(&title(document));
    out += &paragraph(&question(document), 2, Paint::Dim, room);
    out.push('\n');
    out += &table(layer_columns(), &layer_lines(document), room);
    out.push('\n');
    out += &table(total_columns(), &total_lines(document), room);
    out.push('\n');
    for remark in remarks(document) {
        out += &paragraph(&remark, 2, Paint::Plain, room);
    }
    out
}

fn table<T, const N: usize>(columns: [Column<T>; N], rows: &[T], room: Room) -> String {
    let layout = Layout::of(columns);
    let rows: Vec<&T> = rows.iter().collect();
    let lines = |footnotes: &mut _| -> Vec<Line> {
        rows.iter().map(|row| layout.line(row, Vec::new(), footnotes)).collect()
    };
    layout.table(&rows, lines, room).text
}

fn in_markdown(document: &Document<'_>) -> String {
    let remarks = remarks(document).into_iter().map(|it| format!("- {}\n", markdown::plain(&it)));
    format!(
        "## {}\n\n{}\n\n{}\n{}\n{}",
        markdown::plain(&title(document)),
        markdown::plain(&question(document)),
        markdown_rows(&layer_columns(), &layer_lines(document)),
        markdown_rows(&total_columns(), &total_lines(document)),
        remarks.collect::<String>()
    )
}

fn title(document: &Document<'_>) -> String {
    let Document { model, family, device, dtype, way, .. } = document;
    format!("{model} ({family}) on {device} in {}, run {}", dtype.plain(), way.words())
}

/// What was wanted, and of what.
fn question(document: &Document<'_>) -> String {
    let objective = match document.objective {
        Objective::Fastest => "the fastest".to_owned(),
        Objective::Smallest { within } => {
            format!("the smallest within {} of the least time", units::percent(within))
        }
        Objective::Memory { bytes } => {
            format!("the fastest with at most {} of weights", units::bytes(bytes))
        }
    };
    let phase = |it: &Phase| {
        let Phase { name, tokens, batch, passes } = it;
        let passes = units::count(usize::try_from(*passes).unwrap_or(usize::MAX), "pass");
        format!("{name}: {passes} of {batch} × {tokens}")
    };
    let phases: Vec<String> = document.phases.iter().map(phase).collect();
    format!("{objective}; a request (sequences × tokens): {}", phases.join(", "))
}

/// What is undecided, which recipes are ours or could not be chosen, and what the numbers do not say.
fn remarks(document: &Document<'_>) -> Vec<String> {
    let undecided = document.groups.iter().filter(|group| !group.decided).map(|group| {
        let rivals: Vec<String> = group.rivals.iter().map(|it| format!("`{it}`")).collect();
        format!(
            "{}: undecided between `{}` and {}; a larger --budget of `cargo torch-bench recommend` narrows the intervals",
            group.group,
            group.chosen.recipe,
            rivals.join(", ")
        )
    });
    let ours = document.groups.iter().filter(|group| group.ours).map(|group| {
        format!(
            "{}: `{}` is ours: torchao 0.17 has no configuration that computes the same here",
            group.group, group.chosen.recipe
        )
    });
    let refused = document.groups.iter().flat_map(|group| {
        let of = |it: &super::document::Refused<'_>| {
            format!("{}: not `{}`: {}", group.group, it.recipe, it.reason)
        };
        group.refused.iter().map(of)
    });
    undecided.chain(ours).chain(refused).chain(document.notes.iter().cloned()).collect()
}
