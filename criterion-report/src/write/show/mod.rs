//! `show`: the report as a table for people.

mod chosen;
mod compiled;
mod details;
pub(super) mod footer;
pub(super) mod footnotes;
pub(super) mod group;
pub(super) mod header;

use clap::ColorChoice;
use rayon::prelude::*;

use super::choice::{self, Choice};
use super::table::ABSENT;
use super::view::Room;
use super::{Target, screen};
use crate::model::{Entry, Report, gather};
pub use chosen::Sorting;

/// What `show` can be told.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// When to colour; `auto` colours on a terminal unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Below each table: latency, throughput, weights, accuracy, memory, counters, energy, clock,
    /// kernels
    ///
    /// `p50` to `max` are single calls, each timed by itself, and `calls` is their number. `GFLOP/s`
    /// counts matrix products alone of a model and all operations of the others, `GB/s` the bytes of
    /// an operator's or a probe's operands, both over the median time. `quantized` are linear layers, `stored`
    /// the bytes of their weights with scales and zero points, `density` the share of a sparse
    /// weight that pruning left. Errors are against the high-precision reference, `relative error`
    /// in Euclidean norm; below `gate dB` a case fails. A compiled case has a gate `against eager`, too.
    /// An operator has to pass further `gates` on
    /// special inputs: the largest error of the `worst` is 1 where it just passes. `outputs` are tensors that are allocated
    /// before the first step. Counts are means per step over all threads: `of
    /// time` is the share of a step that page faults take, `waits` gave the CPU away, `preempted`
    /// had it taken away. MHz and °C are `median [lowest, highest]` of
    /// readings between criterion's samples, `retaken` counts samples taken again because the
    /// processor was throttled, `steal` is CPU time that the hypervisor gave to others. A value that
    /// is absent is `–`, with its reason below the tables.
    #[arg(long)]
    pub details: bool,
    /// Show these values instead, in this order; `--columns help` lists them
    ///
    /// Where the table is wider than the terminal, intervals give way, then the last columns, which
    /// are named.
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "details")]
    pub columns: Vec<Choice>,
    /// Sort the cases inside each group by a value, e.g. `latency` or `speedup:desc`
    ///
    /// Cases of one dtype and shape stay together; those without a value come last.
    #[arg(long, value_name = "COLUMN[:desc]")]
    pub sort: Option<Sorting>,
}

/// Columns that text keeps to where ids and names let it, unless a terminal says otherwise.
pub(crate) const WIDTH: usize = 100;
/// Narrower than this, text is no easier to read than lines that the terminal breaks.
pub(crate) const NARROWEST: usize = 60;

pub fn write(report: &Report, options: &Options, target: Target) -> String {
    let Room { width, colour, .. } = Room::of(target, options.color);
    let columns = choice::fields(&options.columns).unwrap_or_default();
    let mut out = header::header(report, width, colour);
    let table = |mut group: Vec<Entry<'_>>| {
        if let Some(sorting) = options.sort {
            sorting.sort(&mut group);
        }
        if columns.is_empty() {
            group::table(&group, options.details, width, colour)
        } else {
            chosen::table(&group, &columns, width, colour)
        }
    };
    let tables: Vec<String> = groups(report).into_par_iter().map(table).collect();
    for table in tables {
        out.push('\n');
        out.push_str(&table);
    }
    out.push('\n');
    out.push_str(&footer::footer(report, width, colour));
    out.push_str(&footer::more(report));
    screen(&out, colour)
}

/// Entries of one criterion group, in the order in which groups and cases first appear.
fn groups(report: &Report) -> Vec<Vec<Entry<'_>>> {
    gather(report.entries(), |entry| &entry.row.record.case.id.group)
}

/// Entries of one dtype and shape.
fn parameters<'a>(entries: impl IntoIterator<Item = Entry<'a>>) -> Vec<Vec<Entry<'a>>> {
    gather(entries, |entry| &entry.row.record.case.id.parameter)
}
