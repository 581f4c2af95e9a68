//! `plan`: what configs expand to, without measuring anything and without libtorch.

use plan::{Case, FusionWork, KernelWork, ModelWork, OperatorWork, ProbeWork, cost};

use crate::model::gather;
use crate::object::object;
use crate::units;
use crate::write::{Align, Cell, Line, Paint, render, screen};

/// How `plan` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table for people.
    Table,
    /// A JSON array with one object per case.
    Json,
}

pub fn write(cases: &[&Case], format: Format, colour: bool) -> String {
    match format {
        Format::Table => table(cases, colour),
        Format::Json => json(cases),
    }
}

/// A case in JSON, with its work among what all have.
struct Planned<'a>(&'a Case);
struct Model<'a>(&'a ModelWork);
struct Fusion<'a>(&'a FusionWork);
struct Operator<'a>(&'a OperatorWork);
struct Probe<'a>(&'a ProbeWork);
struct Kernel<'a>(&'a KernelWork);

// The names are part of the command's contract.
object! {
    Planned<'_> => |it| [case = it.0;] {
        "full_id": case.full_id(),
        "target": plan::mode_of(&case.id.group),
        "config": case.config,
        "names": case.names,
        "variant": case.id.variant,
        "role": case.role,
        "mode": case.mode,
        _: case.work.model().map(Model),
        _: case.work.fusion().map(Fusion),
        _: case.work.operator().map(Operator),
        _: case.work.probe().map(Probe),
        _: case.work.kernel().map(Kernel),
        "dtype": case.dtype,
        "device": case.device,
        "shape_names": case.shape_names,
        "threads": case.settings.threads,
        "flops": cost::flops(case),
        "memory_bytes": memory_bytes(case),
        "seconds": seconds(case),
    }

    Model<'_> => |it| [work = it.0;] {
        "model": work.model,
        "recipe": work.variant.recipe,
        "sparsity": work.variant.sparsity,
        "compile": work.variant.compile,
        "packed": work.variant.packed,
        "preallocated": work.variant.preallocated,
        "legacy": work.variant.legacy(),
        "m": work.shape.m,
        "k": work.shape.k,
        "n": work.shape.n,
    }

    Fusion<'_> => |it| {
        "pattern": it.0.pattern,
        "compile": it.0.compile,
        "size": it.0.size,
    }

    Operator<'_> => |it| {
        "operator": it.0.operator,
        "compile": it.0.compile,
        "size": it.0.size,
    }

    Probe<'_> => |it| {
        "probe": it.0.probe,
        "size": it.0.size,
    }

    Kernel<'_> => |it| {
        "kernel": it.0.kernel,
        "file": it.0.file,
        "problem_size": it.0.problem_size,
        "uses_torch": it.0.uses_torch,
        "skip_conditions": it.0.skip_conditions,
    }
}

fn json(cases: &[&Case]) -> String {
    let planned: Vec<Planned<'_>> = cases.iter().map(|case| Planned(case)).collect();
    let mut text = serde_json::to_string_pretty(&planned)
        .expect("strings, numbers and lists of them always serialise");
    text.push('\n');
    text
}

/// Ids by group, then what the whole costs.
fn table(cases: &[&Case], colour: bool) -> String {
    let mut columns = vec![
        ("", Align::Left),
        ("shape name", Align::Left),
        ("GFLOP", Align::Right),
        ("memory", Align::Right),
        ("time", Align::Right),
    ];
    if cases.iter().any(|case| legacy(case).is_some()) {
        columns.push(("legacy", Align::Left));
    }
    let groups = gather(cases.iter().copied(), |case| &case.id.group);
    let mut out = String::new();
    for members in &groups {
        let group = &members[0].id.group;
        let heading = format!("{group}  ({})", units::count(members.len(), "case"));
        out.push_str(&format!("{}\n", Paint::Bold.on(&heading, colour)));
        let lines: Vec<Line> = members.iter().map(|&case| line(case, columns.len())).collect();
        out.push_str(&render(&columns, &lines, 2, usize::MAX, colour));
        out.push('\n');
    }
    out.push_str(&totals(cases, groups.len()));
    screen(&out, colour)
}

fn line(case: &Case, columns: usize) -> Line {
    let last = legacy(case).map_or_else(String::new, |last| format!("torchao {last}"));
    let mut cells = vec![
        format!("{}/{}", case.id.variant, case.id.parameter).into(),
        Cell::new(case.shape_names.join(", "), Paint::Dim),
        match cost::flops(case) {
            Some(flops) => units::significant(flops as f64 / 1e9, 3).into(),
            None => unknown(),
        },
        memory_bytes(case).map_or_else(unknown, |bytes| units::bytes(bytes).into()),
        seconds(case).map_or_else(unknown, |seconds| units::duration(seconds).into()),
        Cell::new(last, Paint::Dim),
    ];
    cells.truncate(columns);
    Line::Cells(cells)
}

/// The last version of torchao that had what the case runs, where upstream has removed it.
fn legacy(case: &Case) -> Option<&'static str> {
    case.work.model().and_then(|work| work.variant.legacy())
}

/// Bytes that a case takes; unknown of a kernel and of a package's model, which show when they run.
fn memory_bytes(case: &Case) -> Option<u64> {
    case.work.has_known_cost().then(|| cost::memory_bytes(case))
}

/// Seconds that a case takes to measure; unknown of a kernel and of a package's model.
fn seconds(case: &Case) -> Option<f64> {
    case.work.has_known_cost().then(|| cost::seconds(case))
}

fn unknown() -> Cell {
    Cell::new("-".to_owned(), Paint::Dim)
}

fn totals(cases: &[&Case], groups: usize) -> String {
    let counted =
        format!("{} in {}", units::count(cases.len(), "case"), units::count(groups, "group"));
    let unknown = cases.iter().filter(|case| !case.work.has_known_cost()).count();
    let are_kernels = cases.iter().any(|case| case.work.kernel().is_some());
    let what = if are_kernels { "kernels" } else { "your models" };
    if unknown > 0 && unknown == cases.len() {
        return format!("{counted}; the time of {what} is known only when they run\n");
    }
    let seconds: f64 = cases.iter().filter_map(|&case| seconds(case)).sum();
    let memory = cases.iter().filter_map(|&case| memory_bytes(case)).max().unwrap_or(0);
    let compiled = cases.iter().filter(|case| case.work.compile().is_some()).count();
    let (compiled, apart) = match compiled {
        0 => (String::new(), ""),
        count => (format!(", {count} of them compiled"), " once compiled"),
    };
    let but = match (unknown, are_kernels) {
        (0, _) => "",
        (_, true) => ", without the kernels",
        (_, false) => ", without your models",
    };
    format!(
        "{counted}{compiled}; about {} to measure{apart}, at most {} of memory at a time \
         (estimates{but})\n",
        units::duration(seconds),
        units::bytes(memory),
    )
}
