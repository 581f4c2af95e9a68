//! A recommendation as tables: a line per layer with its group's recipe, then what all layers take.

use anyhow::Result;
use plan::recommendation::{Objective, Phase};
use statistics::{Interval, Ratio, verdict};

use super::document::{Block, Document, Factor, Group, RECOMMENDED};
use super::{Format, Options};
use crate::model::{gather, once};
use crate::render::table::Align::{Left, Right};
use crate::render::table::{ABSENT, Align, Cell, Line, Paint, render, screen};
use crate::render::{json_text, markdown, units};
use crate::views::verdict::of_verdict;
use crate::views::view::{Room, paragraph};
use crate::views::written::Target;

const SPEEDUP: (&str, Align) = ("speed-up [95%]", Left);
const LAYERS: [(&str, Align); 8] = [
    ("layer", Left),
    ("[n, k] × count", Right),
    ("recipe", Left),
    SPEEDUP,
    ("bits", Right),
    ("SQNR", Right),
    ("share", Right),
    ("", Left),
];
const TOTALS: [(&str, Align); 9] = [
    ("all layers", Left),
    ("phase", Left),
    ("a request", Right),
    ("a token", Right),
    ("tokens/s", Right),
    SPEEDUP,
    ("weights", Right),
    ("SQNR", Right),
    ("energy", Right),
];

const BLOCKS: [(&str, Align); 7] = [
    ("one block in", Left),
    ("sequences", Right),
    ("unquantized", Right),
    ("not linear", Right),
    ("predicted [95%]", Left),
    ("measured [95%]", Left),
    ("", Left),
];

/// Columns and rows.
pub type Table = (&'static [(&'static str, Align)], Vec<Vec<Cell>>);

/// The layers, the totals, whose last column is left out where no energy was measured, and the blocks that were measured.
pub fn tables(document: &Document<'_>) -> [Table; 3] {
    let has_energy = document.totals.iter().any(|total| total.joules.is_some());
    let columns = &TOTALS[..TOTALS.len() - usize::from(!has_energy)];
    let blocks = document.blocks.iter().filter_map(block).collect();
    [(&LAYERS, layers(document)), (columns, totals(document)), (&BLOCKS, blocks)]
}

pub fn title(Document { model, family, device, dtype, way, .. }: &Document<'_>) -> String {
    format!("{model} ({family}) on {device} in {}, run {}", dtype.plain(), way.words())
}

pub fn write(document: &Document<'_>, options: &Options, target: Target<'_>) -> Result<String> {
    let tables = tables(document).into_iter().filter(|(_, rows)| !rows.is_empty());
    let title = title(document);
    let mut out = String::new();
    match options.format {
        Format::Json => Ok(json_text::document(document)?),
        Format::Markdown => {
            let [title, question] = [title, question(document)].map(|it| markdown::plain(&it));
            out += &format!("## {title}\n\n{question}\n\n");
            for (columns, rows) in tables {
                let texts = |row: Vec<Cell>| row.into_iter().map(|cell| cell.text).collect();
                let rows: Vec<Vec<String>> = rows.into_iter().map(texts).collect();
                out += &(markdown::table(columns, &rows) + "\n");
            }
            let remarks = remarks(document).into_iter();
            out.extend(remarks.map(|it| format!("- {}\n", markdown::plain(&it))));
            Ok(out)
        }
        Format::Table => {
            let room = Room::new(target, options.color);
            out += &room.bold(&title);
            out += &(paragraph(&question(document), 2, Paint::Dim, room) + "\n");
            for (columns, rows) in tables {
                let lines: Vec<Line> = rows.into_iter().map(Line::Cells).collect();
                out += &(render(columns, &lines, 4, room.width, room.colour) + "\n");
            }
            out.extend(remarks(document).iter().map(|it| paragraph(it, 2, Paint::Plain, room)));
            Ok(screen(&out, room.colour))
        }
    }
}

/// Beside the first layer of a group stands what is common to all of them.
fn layers(document: &Document<'_>) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for group in &document.groups {
        let chosen = &group.chosen;
        let mut common = vec![
            chosen.recipe.as_str().into(),
            factor(&chosen.speedup),
            units::significant(chosen.bits_per_weight, 3).into(),
            decibels(chosen.sqnr_db),
            units::percent(group.time_share).into(),
            match group.decided {
                true => "decided".into(),
                false => Cell::new("undecided", Paint::Warn),
            },
        ];
        for layers in group.layers {
            // Without what comes before the number of the block.
            let name = layers.fqn.rsplit_once("*.").map_or(&*layers.fqn, |(_, name)| name);
            let size = format!("[{}, {}] × {}", layers.n, layers.k, layers.count);
            let row = [name.into(), size.into()].into_iter().chain(std::mem::take(&mut common));
            rows.push(row.collect());
        }
    }
    rows
}

fn totals(document: &Document<'_>) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for total in &document.totals {
        let energy = total.joules.map(|it| format!("{} J", units::significant(it, 4)).into());
        let paint = if total.name == RECOMMENDED { Paint::Bold } else { Paint::Plain };
        let mut row = vec![
            Cell::new(total.name.as_str(), paint),
            Cell::default(),
            units::time(total.ns).into(),
            Cell::default(),
            Cell::default(),
            factor(&total.speedup),
            units::bytes(total.weight_bytes).into(),
            decibels(total.sqnr_db),
        ];
        row.extend(energy);
        rows.push(row);
        rows.extend(total.phases.iter().map(|phase| {
            let tokens = units::significant(phase.tokens_per_s, 3);
            let times = [phase.ns, phase.ns_per_token].map(|ns| units::time(ns).into());
            let [request, token] = times;
            let name = phase.phase.as_str().into();
            vec![Cell::default(), name, request, token, units::grouped(&tokens).into()]
        }));
    }
    rows
}

/// A line of a block that was measured.
fn block(block: &Block<'_>) -> Option<Vec<Cell>> {
    Some(vec![
        block.phase.name.as_str().into(),
        units::grouped(&block.phase.batch.to_string()).into(),
        units::time(block.baseline_ns?).into(),
        units::percent(block.other_share?).into(),
        factor(block.predicted.as_ref()?),
        factor(block.measured.as_ref()?),
        match block.differs? {
            true => Cell::new("differs", Paint::Warn),
            false => "as predicted".into(),
        },
    ])
}

/// Why the blocks were not measured, and why they gain other than predicted.
fn of_blocks<'d>(document: &'d Document<'_>) -> impl Iterator<Item = String> + 'd {
    let lacking = document.blocks.iter().filter_map(|it| Some((it.not_measured?, &it.phase.name)));
    let lacking = gather(lacking, |(why, _)| *why).into_iter().map(|all| {
        let phases = once(all.iter().map(|(_, phase)| phase.as_str())).join(", ");
        format!("one block in {phases}: not measured: {}", all[0].0)
    });
    let is_converted = |it: &&Group<'_>| it.chosen.recipe.starts_with("baseline+");
    let converted = match document.groups.iter().any(|it| is_converted(&it)) {
        true => ", conversions between dtypes among it",
        false => "",
    };
    let differing = document.blocks.iter().filter(|it| it.differs == Some(true));
    let differing = differing.filter_map(move |it| {
        let sequences = units::count(usize::try_from(it.phase.batch).ok()?, "sequence");
        let excess_ns = it.excess_ns?;
        let (than, steps) = if excess_ns > 0.0 { ("more", converted) } else { ("less", "") };
        let rest = match it.other_share? > 0.0 {
            true => "",
            false => "; unquantized, the layers take longer one by one than the whole block",
        };
        Some(format!(
            "one block in {} ({sequences}): the measured speed-up differs from the predicted one by more than \
             their intervals: the recommended layers take {} {than} in the block than one by one{steps}{rest}",
            it.phase.name,
            units::time(excess_ns.abs()),
        ))
    });
    lacking.chain(differing)
}

/// A speed-up with its interval.
pub fn factor(&Factor { ratio, low, high }: &Factor) -> Cell {
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

/// The objective, and the request whose time counts.
pub fn question(document: &Document<'_>) -> String {
    let objective = match document.objective {
        Objective::Fastest => "the fastest".to_owned(),
        Objective::Smallest { within } => {
            format!("the smallest within {} of the least time", units::percent(within))
        }
        Objective::Memory { bytes } => {
            format!("the fastest with at most {} of weights", units::bytes(bytes))
        }
    };
    let phase = |Phase { name, tokens, batch, passes }: &Phase| {
        format!("{name} {passes} × {batch} × {tokens}")
    };
    let phases: Vec<String> = document.phases.iter().map(phase).collect();
    format!("{objective}; a request (passes × sequences × tokens): {}", phases.join(", "))
}

/// All that qualifies the decision, then the numbers. A recipe that several groups have not has the reason of the first one.
pub fn remarks(document: &Document<'_>) -> Vec<String> {
    let groups = || document.groups.iter();
    let undecided = groups().filter(|group| !group.decided).map(|group| {
        format!(
            "{}: undecided between `{}` and `{}`; a larger --budget of `cargo torch-bench \
             recommend` narrows the intervals",
            group.group,
            group.chosen.recipe,
            group.rivals.join("`, `")
        )
    });
    let ours = groups().filter(|it| it.ours).map(|it| (it.chosen.recipe.as_str(), it.group));
    let ours = gather(ours, |(recipe, _)| *recipe).into_iter().map(|all| {
        let groups: Vec<&str> = all.iter().map(|(_, group)| *group).collect();
        let (recipe, groups) = (all[0].0, groups.join(", "));
        format!("{groups}: `{recipe}` is ours: torchao 0.17 has none that computes the same here")
    });
    let refused = groups().flat_map(|group| group.refused.iter().map(|it| (it, group.group)));
    let refused = gather(refused, |((recipe, _), _)| *recipe).into_iter().map(|all| {
        let groups: Vec<&str> = all.iter().map(|(_, group)| *group).collect();
        let (recipe, why) = all[0].0;
        format!("{}: not `{recipe}`: {why}", groups.join(", "))
    });
    let random = units::time(document.random_ns);
    let random = format!("recipes chosen at random take {random} on average");
    let notes = document.notes.iter().cloned();
    let remarks = undecided.chain(ours).chain(refused).chain(of_blocks(document));
    remarks.chain([random]).chain(notes).collect()
}
