//! Explanations on a terminal: what explains a case first, then its figures.

use super::words;
use crate::render::table::{Align, Cell, Line, Paint, fit, labelled, render};
use crate::views::explain::Explanation;
use crate::views::view::{Room, paragraph};

/// Width in columns of a bar of 100 %.
const BAR: f64 = 12.0;
/// Width in columns of the labels.
const INDENT: usize = 10;

pub fn page(all: &[Explanation], untimed: usize, room: Room) -> String {
    let (detailed, others) = words::apart(all);
    let mut blocks: Vec<String> = detailed.into_iter().map(|it| case(it, room)).collect();
    blocks.extend((!others.is_empty()).then(|| lines(&others, room)));
    let limits = words::calibrations(all).into_iter();
    let limits: String =
        limits.map(|it| labelled("limits", &it, room.width, room.colour)).collect();
    blocks.extend((!limits.is_empty()).then_some(limits));
    blocks.extend(words::without_time(untimed).map(|text| paragraph(&text, 0, Paint::Dim, room)));
    blocks.join("\n")
}

fn case(of: &Explanation, room: Room) -> String {
    let said = |facts: Vec<(&str, String)>| -> String {
        facts.iter().map(|(label, text)| labelled(label, text, room.width, room.colour)).collect()
    };
    let mut out = Paint::Dim.on(&of.full_id, room.colour) + "\n";
    out += &paragraph(&words::headline(of), 0, Paint::Bold, room);
    out += &said(words::facts(of));
    if !of.emulated {
        out += &parts(of, room);
    }
    if let Some(difference) = &of.difference {
        out += &labelled("against", &words::versus(difference), room.width, room.colour);
        out += &changes(words::changes(difference), room);
    }
    out + &said(words::notes(of))
}

fn parts(of: &Explanation, room: Room) -> String {
    let columns = [
        ("share", Align::Right),
        ("time", Align::Right),
        ("", Align::Left),
        ("part", Align::Left),
        ("operation", Align::Left),
    ];
    let line = |(share, [percent, time, kind, operation]): (f64, [String; 4])| {
        let bar = "█".repeat((BAR * share).round() as usize);
        Line::Cells([percent, time, bar, kind, operation].map(Cell::from).into())
    };
    let mut lines: Vec<Line> = words::parts(of).into_iter().map(line).collect();
    fit(&columns, &mut lines, INDENT, room.terminal, &[2]);
    render(&columns, &lines, INDENT, room.width, room.colour)
}

fn changes(of: Vec<[String; 5]>, room: Room) -> String {
    let line = |cells: [String; 5]| Line::Cells(cells.map(Cell::from).into());
    let mut lines: Vec<Line> = of.into_iter().map(line).collect();
    fit(&words::CHANGES, &mut lines, INDENT, room.terminal, &[3]);
    render(&words::CHANGES, &lines, INDENT, room.width, room.colour)
}

/// One line per case without a profile, and the commands that profile them.
fn lines(of: &[&Explanation], room: Room) -> String {
    let line = |it: &&Explanation| Line::Cells(words::other(it).map(Cell::from).into());
    let table: Vec<Line> = of.iter().map(line).collect();
    let out = render(&words::OTHERS, &table, 0, room.width, room.colour);
    out + &labelled("profile", &words::commands(of).join(", "), room.width, room.colour)
}
