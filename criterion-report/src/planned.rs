//! `plan`: what configs expand to, without measuring anything and without libtorch.

use std::collections::BTreeMap;

use plan::{Case, FusionWork, ModelWork, OperatorWork, ProbeWork, Shape, Variant, Work, cost};
use serde::Serialize;

use crate::model::gather;
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

/// A case in JSON. The names are part of the command's contract.
#[derive(Serialize)]
struct Planned<'a> {
    full_id: String,
    target: &'a str,
    config: &'a str,
    names: &'a [String],
    variant: &'a str,
    role: plan::Role,
    mode: plan::Mode,
    #[serde(flatten)]
    work: PlannedWork,
    dtype: plan::Dtype,
    device: plan::Device,
    shape_names: &'a [String],
    threads: plan::Threads,
    flops: Option<u64>,
    memory_bytes: Option<u64>,
    seconds: Option<f64>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PlannedWork {
    Model {
        model: plan::ModelKind,
        recipe: plan::Recipe,
        sparsity: Option<plan::Sparsity>,
        compile: Option<plan::CompileMode>,
        packed: bool,
        preallocated: bool,
        m: u64,
        k: u64,
        n: u64,
    },
    Fusion {
        pattern: plan::Pattern,
        compile: Option<plan::CompileMode>,
        size: plan::FusionShape,
    },
    Operator {
        operator: plan::Operator,
        compile: Option<plan::CompileMode>,
        size: plan::OperatorShape,
    },
    Probe {
        probe: plan::Probe,
        size: u64,
    },
    Kernel {
        kernel: String,
        file: String,
        problem_size: BTreeMap<String, serde_json::Value>,
    },
}

impl From<&Work> for PlannedWork {
    fn from(work: &Work) -> Self {
        match *work {
            Work::Model(ModelWork { model, variant, shape: Shape { m, k, n } }) => {
                let Variant { recipe, sparsity, compile, packed, preallocated } = variant;
                Self::Model { model, recipe, sparsity, compile, packed, preallocated, m, k, n }
            }
            Work::Fusion(FusionWork { pattern, compile, size, .. }) => {
                Self::Fusion { pattern, compile, size }
            }
            Work::Operator(OperatorWork { operator, compile, size, .. }) => {
                Self::Operator { operator, compile, size }
            }
            Work::Probe(ProbeWork { probe, size, .. }) => Self::Probe { probe, size },
            Work::Kernel(ref work) => Self::Kernel {
                kernel: work.kernel.clone(),
                file: work.file.clone(),
                problem_size: work.problem_size.clone(),
            },
        }
    }
}

impl<'a> From<&'a Case> for Planned<'a> {
    fn from(case: &'a Case) -> Self {
        Self {
            full_id: case.full_id(),
            target: plan::target_of(&case.id.group),
            config: &case.config,
            names: &case.names,
            variant: &case.id.variant,
            role: case.role,
            mode: case.mode,
            work: (&case.work).into(),
            dtype: case.dtype,
            device: case.device,
            shape_names: &case.shape_names,
            threads: case.settings.threads,
            flops: cost::flops(case),
            memory_bytes: memory_bytes(case),
            seconds: seconds(case),
        }
    }
}

fn json(cases: &[&Case]) -> String {
    let planned: Vec<Planned<'_>> = cases.iter().map(|&case| case.into()).collect();
    let mut text = serde_json::to_string_pretty(&planned)
        .expect("strings, numbers and lists of them always serialise");
    text.push('\n');
    text
}

/// Ids by group, then what the whole costs.
fn table(cases: &[&Case], colour: bool) -> String {
    let columns = [
        ("", Align::Left),
        ("shape name", Align::Left),
        ("GFLOP", Align::Right),
        ("memory", Align::Right),
        ("time", Align::Right),
    ];
    let groups = gather(cases.iter().copied(), |case| &case.id.group);
    let mut out = String::new();
    for members in &groups {
        let group = &members[0].id.group;
        let heading = format!("{group}  ({})", units::count(members.len(), "case"));
        out.push_str(&format!("{}\n", Paint::Bold.on(&heading, colour)));
        let lines: Vec<Line> = members.iter().map(|&case| line(case)).collect();
        out.push_str(&render(&columns, &lines, 2, usize::MAX, colour));
        out.push('\n');
    }
    out.push_str(&totals(cases, groups.len()));
    screen(&out, colour)
}

fn line(case: &Case) -> Line {
    Line::Cells(vec![
        format!("{}/{}", case.id.variant, case.id.parameter).into(),
        Cell::new(case.shape_names.join(", "), Paint::Dim),
        match cost::flops(case) {
            Some(flops) => units::significant(flops as f64 / 1e9, 3).into(),
            None => unknown(),
        },
        memory_bytes(case).map_or_else(unknown, |bytes| units::bytes(bytes).into()),
        seconds(case).map_or_else(unknown, |seconds| units::duration(seconds).into()),
    ])
}

/// Bytes that a case takes; unknown of a kernel, which shows when it runs.
fn memory_bytes(case: &Case) -> Option<u64> {
    case.work.kernel().is_none().then(|| cost::memory_bytes(case))
}

/// Seconds that a case takes to measure; unknown of a kernel.
fn seconds(case: &Case) -> Option<f64> {
    case.work.kernel().is_none().then(|| cost::seconds(case))
}

fn unknown() -> Cell {
    Cell::new("-".to_owned(), Paint::Dim)
}

fn totals(cases: &[&Case], groups: usize) -> String {
    let counted =
        format!("{} in {}", units::count(cases.len(), "case"), units::count(groups, "group"));
    let kernels = cases.iter().filter(|case| case.work.kernel().is_some()).count();
    if kernels > 0 && kernels == cases.len() {
        return format!("{counted}; the time of kernels is known only when they run\n");
    }
    let seconds: f64 = cases.iter().filter_map(|&case| seconds(case)).sum();
    let memory = cases.iter().filter_map(|&case| memory_bytes(case)).max().unwrap_or(0);
    let compiled = cases.iter().filter(|case| case.work.compile().is_some()).count();
    let (compiled, apart) = match compiled {
        0 => (String::new(), ""),
        count => (format!(", {count} of them compiled"), " once compiled"),
    };
    let but = if kernels > 0 { ", without the kernels" } else { "" };
    format!(
        "{counted}{compiled}; about {} to measure{apart}, at most {} of memory at a time \
         (estimates{but})\n",
        units::duration(seconds),
        units::bytes(memory),
    )
}
