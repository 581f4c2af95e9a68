//! `plan`: what configs expand to, without measuring anything and without libtorch.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Error, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use plan::estimate::{Basis, Estimate, Estimator};
use plan::{
    AskedShard, Case, CompileMode, Device, Dtype, FusionShape, FusionWork, KernelWork, Mode,
    ModelKind, ModelWork, OperatorShape, OperatorWork, Partition, Pattern, Plan, ProbeWork, Recipe,
    Role, SkipCondition, Sparsity, Threads, cost,
};
use serde_json::Value;

use crate::model::gather;
use crate::render::json_text;
use crate::render::object::document;
use crate::render::table::{Align, Cell, Line, Paint, render, screen};
use crate::render::units;

/// How `plan` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table for people.
    Table,
    /// A JSON array with one object per case.
    Json,
}

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Config files
    #[arg(required_unless_present = "built", value_name = "CONFIG")]
    pub configs: Vec<PathBuf>,
    /// The plan that a bench target has in it, as its build script wrote it; `cargo torch-bench bundle` names it
    #[arg(long, value_name = "FILE", conflicts_with = "configs", hide = true)]
    pub built: Vec<PathBuf>,
    /// A table for people, or a JSON array with one object per case
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Only the cases that a bench target runs with this option: part I of N, or `auto` for what a
    /// scheduler's variables say
    #[arg(long, value_name = "I/N", group = "parts")]
    shard: Option<AskedShard>,
    /// All cases, each with the part of N that it is in
    #[arg(long, value_name = "N", group = "parts", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    shards: Option<u32>,
    /// How the parts are chosen: equally long, or by a hash of the id, which edits of a config do
    /// not change
    #[arg(long, default_value = "balanced", requires = "parts", value_parser = partitions())]
    partition: Partition,
}

fn partitions() -> impl TypedValueParser<Value = Partition> {
    let words = PossibleValuesParser::new(Partition::ALL.iter().map(|it| it.as_str()));
    words.try_map(|word| word.parse::<Partition>())
}

/// A case of a plan, and its part where parts are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Placed<'p> {
    pub case: &'p Case,
    shard: Option<u32>,
}

impl Options {
    /// The cases of the parts that are asked for.
    ///
    /// # Errors
    /// When no variable says which part is meant.
    pub fn cases<'p>(&self, plan: &'p Plan) -> Result<Vec<Placed<'p>>> {
        let found = self.shard.map(|asked| asked.find(|name| std::env::var_os(name)));
        let only = found.transpose().map_err(Error::msg)?.map(|found| found.shard);
        let count = only.map(|shard| shard.count).or(self.shards);
        let shards = count.map(|count| plan::shards(plan, count, self.partition));
        let placed = plan.groups.iter().enumerate().flat_map(|(place, group)| {
            let shard = shards.as_ref().map(|shards| shards[place]);
            group.cases.iter().map(move |case| Placed { case, shard })
        });
        let is_asked = |it: &Placed<'_>| only.is_none_or(|only| it.shard == Some(only.index));
        Ok(placed.filter(is_asked).collect())
    }
}

/// A case, and how long it is expected to take.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'c> {
    case: &'c Case,
    shard: Option<u32>,
    estimate: Estimate,
}

/// Writes the cases with the times that `estimator` expects.
pub fn write(cases: &[Placed<'_>], estimator: &Estimator, format: Format, colour: bool) -> String {
    let expected = cases.iter().map(|it| Expected {
        case: it.case,
        shard: it.shard,
        estimate: estimator.estimate(it.case),
    });
    let cases: Vec<Expected<'_>> = expected.collect();
    match format {
        Format::Table => table(&cases, colour),
        Format::Json => json(&cases),
    }
}

// The names are part of the command's contract.
document! {
    /// A case in JSON, with its work among what all have.
    struct Planned<'a> = of(it: &Expected<'a>) [case = it.case; estimate = it.estimate;] {
        full_id: String = case.full_id(),
        target: &'a str = plan::mode_of(&case.id.group),
        config: &'a str = &case.config,
        names: &'a [String] = &case.names,
        variant: &'a str = &case.id.variant,
        role: Role = case.role,
        mode: Mode = case.mode,
        #[serde(flatten)]
        model: Option<Model<'a>> = case.work.model().map(Model::of),
        #[serde(flatten)]
        fusion: Option<Fusion> = case.work.fusion().map(Fusion::of),
        #[serde(flatten)]
        operator: Option<Operator> = case.work.operator().map(Operator::of),
        #[serde(flatten)]
        probe: Option<Probe> = case.work.probe().map(Probe::of),
        #[serde(flatten)]
        kernel: Option<Kernel<'a>> = case.work.kernel().map(Kernel::of),
        dtype: Dtype = case.dtype,
        device: Device = case.device,
        shape_names: &'a [String] = &case.shape_names,
        threads: Threads = case.settings.threads,
        flops: Option<u64> = cost::flops(case),
        memory_bytes: Option<u64> = memory_bytes(case),
        seconds: f64 = estimate.seconds(),
        seconds_at_least: f64 = estimate.least_s,
        seconds_from: &'static str = estimate.basis.as_str(),
        #[serde(skip_serializing_if = "Option::is_none")]
        shard: Option<u32> = it.shard,
    }

    struct Model<'a> = of(work: &'a ModelWork) {
        model: &'a ModelKind = &work.model,
        recipe: Recipe = work.variant.recipe,
        sparsity: Option<Sparsity> = work.variant.sparsity,
        compile: Option<CompileMode> = work.variant.compile,
        packed: bool = work.variant.packed,
        preallocated: bool = work.variant.preallocated,
        graph: bool = work.variant.graph,
        legacy: Option<&'static str> = work.variant.legacy(),
        m: u64 = work.shape.m,
        k: u64 = work.shape.k,
        n: u64 = work.shape.n,
    }

    struct Fusion = of(work: &FusionWork) {
        pattern: Pattern = work.pattern,
        compile: Option<CompileMode> = work.compile,
        size: FusionShape = work.size,
    }

    struct Operator = of(work: &OperatorWork) {
        operator: plan::Operator = work.operator,
        compile: Option<CompileMode> = work.compile,
        size: OperatorShape = work.size,
    }

    struct Probe = of(work: &ProbeWork) {
        probe: plan::Probe = work.probe,
        size: u64 = work.size,
    }

    struct Kernel<'a> = of(work: &'a KernelWork) {
        kernel: &'a str = &work.kernel,
        file: &'a str = &work.file,
        problem_size: &'a BTreeMap<String, Value> = &work.problem_size,
        uses_torch: bool = work.uses_torch,
        skip_conditions: &'a [SkipCondition] = &work.skip_conditions,
    }
}

fn json(cases: &[Expected<'_>]) -> String {
    let planned: Vec<Planned<'_>> = cases.iter().map(Planned::of).collect();
    json_text::document(&planned).expect("strings, numbers and lists of them always serialise")
}

/// Ids by group, then what the whole costs.
fn table(cases: &[Expected<'_>], colour: bool) -> String {
    let mut columns = vec![
        ("", Align::Left),
        ("shape name", Align::Left),
        ("GFLOP", Align::Right),
        ("memory", Align::Right),
        ("time", Align::Right),
    ];
    let has_shards = cases.iter().any(|it| it.shard.is_some());
    if has_shards {
        columns.push(("shard", Align::Right));
    }
    if cases.iter().any(|it| legacy(it.case).is_some()) {
        columns.push(("legacy", Align::Left));
    }
    let groups = gather(cases.iter(), |it| &it.case.id.group);
    let mut out = String::new();
    for members in &groups {
        let group = &members[0].case.id.group;
        let heading = format!("{group}  ({})", units::count(members.len(), "case"));
        out.push_str(&format!("{}\n", Paint::Bold.on(&heading, colour)));
        let lines: Vec<Line> = members.iter().map(|&case| line(case, columns.len())).collect();
        out.push_str(&render(&columns, &lines, 2, usize::MAX, colour));
        out.push('\n');
    }
    out.push_str(&totals(cases, groups.len()));
    if has_shards {
        out.push_str(&shards(cases));
    }
    screen(&out, colour)
}

fn line(&Expected { case, shard, estimate }: &Expected<'_>, columns: usize) -> Line {
    let last = legacy(case).map_or_else(String::new, |last| format!("torchao {last}"));
    let mut cells = vec![
        format!("{}/{}", case.id.variant, case.id.parameter).into(),
        Cell::new(case.shape_names.join(", "), Paint::Dim),
        match cost::flops(case) {
            Some(flops) => units::significant(flops as f64 / 1e9, 3).into(),
            None => unknown(),
        },
        memory_bytes(case).map_or_else(unknown, |bytes| units::bytes(bytes).into()),
        units::duration(estimate.seconds()).into(),
    ];
    cells.extend(shard.map(|shard| Cell::from(shard.to_string())));
    cells.push(Cell::new(last, Paint::Dim));
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

fn unknown() -> Cell {
    Cell::new("-".to_owned(), Paint::Dim)
}

fn totals(cases: &[Expected<'_>], groups: usize) -> String {
    if cases.is_empty() {
        return "0 cases in 0 groups\n".to_owned();
    }
    let counted =
        format!("{} in {}", units::count(cases.len(), "case"), units::count(groups, "group"));
    let seconds: f64 = cases.iter().map(|it| it.estimate.seconds()).sum();
    let memory = cases.iter().filter_map(|it| memory_bytes(it.case)).max().unwrap_or(0);
    let compiled = cases.iter().filter(|it| it.case.work.compile().is_some()).count();
    let (compiled, apart) = match compiled {
        0 => (String::new(), ""),
        count => (format!(", {count} of them compiled"), " once compiled"),
    };
    let unknown = cases.iter().filter(|it| !it.case.work.has_known_cost()).count();
    let but = match cases.iter().any(|it| it.case.work.kernel().is_some()) {
        _ if unknown == 0 => "",
        true => ", without the kernels",
        false => ", without your models",
    };
    let memory = match unknown == cases.len() {
        true => String::new(),
        false => format!(", at most {} of memory at a time{but}", units::bytes(memory)),
    };
    format!(
        "{counted}{compiled}; about {} to measure{apart}{memory}\nestimated {}\n",
        units::duration(seconds),
        sources(cases),
    )
}

/// How many parts have a case, and how long they are expected to take.
fn shards(cases: &[Expected<'_>]) -> String {
    let mut seconds: BTreeMap<u32, f64> = BTreeMap::new();
    for it in cases {
        *seconds.entry(it.shard.unwrap_or_default()).or_default() += it.estimate.seconds();
    }
    let least = seconds.values().copied().fold(f64::INFINITY, f64::min);
    let most = seconds.values().copied().fold(0.0, f64::max);
    format!(
        "{} with cases, each about {} to {}\n",
        units::count(seconds.len(), "shard"),
        units::duration(least),
        units::duration(most),
    )
}

/// The sources of the times, the best first.
fn sources(cases: &[Expected<'_>]) -> String {
    let of = |basis: Basis| cases.iter().filter(|it| it.estimate.basis == basis).count();
    let words = |basis: Basis| match basis {
        Basis::SameCase => "from earlier runs of the same cases",
        Basis::SimilarCases => "from earlier runs of similar cases",
        Basis::Calibration => "from this machine's calibration",
        Basis::Defaults => {
            "from defaults: a first run, or `cargo bench --bench calibration`, tells more"
        }
    };
    let used: Vec<Basis> = Basis::ALL.iter().copied().filter(|&basis| of(basis) > 0).collect();
    match used[..] {
        [basis] => words(basis).to_owned(),
        _ => {
            let parts = used.iter().map(|&basis| format!("{} {}", of(basis), words(basis)));
            parts.collect::<Vec<_>>().join(", ")
        }
    }
}
