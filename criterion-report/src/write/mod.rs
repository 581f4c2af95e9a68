//! Writers: a report in, a stream out. One file each; the list below is the only other place that a
//! new format touches, and the compiler asks for the match arm.

pub mod aa;
pub mod calibration;
mod choice;
pub mod compare;
pub mod csv;
pub mod dashboard;
pub mod export;
mod failures;
pub mod fusion;
pub mod html;
mod in_order;
pub mod kernels;
mod markdown;
pub mod operators;
pub(crate) mod python_json;
pub mod show;
mod table;
mod verdict;
mod view;

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use plan::Mode;

use crate::model::Report;
use crate::units;

use in_order::{in_order, joined};
pub(crate) use table::{Align, Cell, Line, Paint, render, screen, table_width, wrap};
pub(crate) use view::is_coloured;

/// Every format that a report can be written in; its name is the subcommand.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Writer {
    /// Print the results as a table: time, speed-up and memory per case, each with its interval
    ///
    /// Cases are grouped as criterion groups them, a baseline and its candidates under each dtype
    /// and shape. `time` is the median over criterion's samples with its bootstrap interval.
    /// `speed-up` is the baseline's time over the candidate's with its interval, from blocks in
    /// which both ran in turn; it is not the quotient of the two times beside it, which are of two
    /// moments. It is green or red where the interval excludes 1 and the ratio is at least 1 % from
    /// it, yellow where the interval leaves open whether there is such a difference. `weights` is the
    /// storage of the model as it runs with the change against the baseline, `step` the peak of one
    /// step's own allocations, in the same unit; `bits` is what the linear layers store per weight,
    /// scales and zero points included (`step`, then `bits`, are left out where the table is wider
    /// than the terminal; `--details` has both); `SQNR` is the output's signal-to-quantization-noise ratio
    /// in dB against a high-precision reference (∞: equal). Compiled cases are in a second table, too:
    /// their speed-up over the same case run eagerly, that over the unquantized model compiled in the
    /// same mode, how long compiling took (`kept`: in an earlier run) and the bytes of the package.
    /// Where the two cases were not partners, their speed-up is the quotient of those that both have
    /// over the baseline. The `quiet` score above the tables is the
    /// share of short computations that nothing else slowed down when the run began; 1 is a quiet
    /// machine.
    ///
    /// A case without a number says why in its place. A time is shown only where criterion's
    /// estimate on disk is of the same measurement as the record; otherwise it is `stale`. What
    /// qualifies a number stands below its table.
    Show(show::Options),

    /// Write one CSV line per case, torchao's columns first
    ///
    /// The first 21 columns are those of torchao's microbenchmarks, in their order; columns with
    /// intervals, memory, accuracy, circumstances, latency, throughput, counters, energy, clocks
    /// and the stored weights follow. Times are medians in milliseconds; speed-ups come from pairs, not from these times.
    /// An empty cell means that there is no value; unmeasured cases are lines too, with their
    /// outcome and reason. `--layout v-final` has the columns that torchao had last instead.
    Csv(csv::Options),

    /// Write records of the PyTorch OSS benchmark database (schema v3)
    ///
    /// One JSON list in which each record is one metric of one case, ready for
    /// `upload-benchmark-results`. Times are given in ms under the names that dashboards know and
    /// in µs besides, because dashboards cut values to two decimals; speed-ups come from pairs, not
    /// from these times. Latency, throughput, first call and energy are metrics where they were
    /// measured. Cases that failed or are unsupported are records with `failure_type` in
    /// `benchmark.extra_info`, never zeros; skipped cases are not results of this machine and are
    /// counted on stderr.
    ///
    /// The uploader takes only files named *.json, from the top of one folder, and two files of
    /// the same name in one job overwrite each other.
    Dashboard(dashboard::Options),

    /// Print what fusing gains, per pattern, and whether to fuse on this device
    ///
    /// Of the records only those of `cargo bench --bench fusion` are read. `time` is the median over
    /// criterion's samples, `GFLOP/s` upstream's count of operations over it. `speed-up` is the
    /// unfused operations' time over the variant's with its interval, from blocks in which both ran
    /// in turn; it is not the quotient of the two times, which are of two moments. `benefit` is
    /// strong from 1.5, moderate from 1.1, minimal from 0.95 and slower below, if the whole interval
    /// lies there, and else inconclusive.
    ///
    /// The columns headed `formula` are computed, not measured: `bytes` is the traffic of all
    /// operations of the variant, each operand read once and each result written once; `upstream` is
    /// what branes-ai/graphs calls memory_reduction. Those headed `measured` are what a step was
    /// seen to allocate: at its `peak`, the output included, and in `total`. The line of `unfused`
    /// has bytes, the others have the change against it. What a terminal has no room for is left out,
    /// and named at the end: `total`, `upstream`, `GFLOP/s`, `bytes`, `peak`, in this order.
    ///
    /// Below the tables stands the strategy: `fuse` where a variant gains in some case (its whole
    /// interval is at least 1.1) and loses in none (each is at least 0.95); `fuse conditionally`
    /// where it gains in some and loses in others, or may; `avoid` where it loses (the whole interval
    /// is below 0.95) and gains nowhere; `indifferent` where it neither gains nor loses; else
    /// `inconclusive`. A pattern has the advice of its best variant among those that run fewer
    /// operations than `unfused` with the product of the same library. What another library's product
    /// is worth, as `mkldnn` has it in float32, stands below as a question of its own; it and what
    /// does not fuse is `faster`, `slower` or `depends` in the place of `fuse`, `avoid` and
    /// `fuse conditionally`.
    Fusion(fusion::Options),

    /// Print how fast each implementation of an operator is, against ATen and against the machine
    ///
    /// Of the records only those of `cargo bench --bench operators` are read, and those of
    /// `--bench calibration` for the bandwidth of the machine. `time` is the median over criterion's
    /// samples with its interval. `speed-up` is the time of `aten` over the implementation's with its
    /// interval, from blocks in which both ran in turn; behind it ▲ is faster, ▼ slower, = the same
    /// to ±1 %, ? left open by the interval. `GB/s` are the bytes that have to move, each input once
    /// and the output once, over the time, whatever the implementation really moves.
    ///
    /// `of limit` is the part of what the machine can do: the time of `stream`, a pass over the same
    /// memory on the same threads that computes nothing, over the implementation's, from the pairs
    /// that both have with `aten`. Without a `stream` beside it the limit is the bandwidth that
    /// `cargo bench --bench calibration` found, on as many threads, in the cache that holds all
    /// tensors or in memory; a footnote says so. Nothing is cut off at 100 %. `peak MiB` is the peak
    /// of memory with everything that the case has alive. `gate` is the largest error over all
    /// special inputs, 1 being the most that passes. `fastest` is whose interval lies above all
    /// others'; where several meet it is a `tie`; `stream` takes no part. What a terminal has no room
    /// for is left out, and named at the end: `gate`, `peak MiB`, the interval of the time, `GB/s`, in
    /// this order.
    ///
    /// Below the tables stands a line per implementation: the geometric mean of its speed-ups, the
    /// lowest and the highest, how many are ▲ ▼ = ?, in how many of its cases there is one, and the
    /// same of its shares of the limit. `--by` says the same at every batch size, sequence length or
    /// dimension instead; what has no room there are `high`, then `low`.
    ///
    /// `--format json` is the array of the comprehensive operator benchmark, our own fields behind
    /// its ten. Of these `time_ms` is the median; `memory_mb` is `peak MiB`, in MiB as upstream's;
    /// `inference_speed` are calls per second; `throughput_gbps` is `GB/s`; `gpu_efficiency` is
    /// `of limit` in percent, with `efficiency_source` beside it, on any device. Cases that were not
    /// measured are in it, with null for figures, `outcome` and `reason`.
    Operators(operators::Options),

    /// Write one page with charts and a table of all cases, to be opened in a browser
    ///
    /// The file holds everything, its own script and style included, and loads nothing from
    /// anywhere: it can be opened from a disk, attached to a mail or kept with a build. It has
    /// speed-ups with their intervals, heatmaps of speed-ups by variant and shape and, where m and n
    /// vary, by m and n at each k, speed-up against accuracy with the Pareto front, a roofline, memory,
    /// the latency of single calls, and a table of all cases, measured or not, with what qualifies
    /// each number and the circumstances of every run. One filter acts on all of them. It is dark or
    /// light as the system is, can be used by keyboard and printed.
    ///
    /// Roofs are the best products and bandwidths that `cargo bench --bench calibration` recorded
    /// under the same baseline on the same machine, dtype and threads; without these, cases are
    /// shown under no roof.
    #[command(after_help = "Example: criterion-report --filter int8 html --output report.html")]
    Html(html::Options),

    /// Write the results in a format that programs exchange
    ///
    /// Other formats are commands of their own: `csv`; `dashboard` (PyTorch OSS benchmark database);
    /// `fusion --format json`; `operators --format json`; `calibration` (a machine's profile);
    /// `kernels` (a folder of JSON and Markdown); `plan --format json`.
    #[command(subcommand)]
    Export(export::Format),
}

/// What a writer may know of where its text goes.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub colour_terminal: bool,
    /// Columns of the terminal, if the output is one.
    pub width: Option<usize>,
    /// The file to be written, if not standard output.
    pub file: Option<&'a Path>,
}

/// What a writer has to say about its output that is not part of it.
pub type Notes = Vec<String>;

impl Writer {
    /// The modes of the cases that it writes, if not of all.
    pub const fn modes(&self) -> Option<&'static [Mode]> {
        match self {
            Self::Show(_) | Self::Csv(_) | Self::Dashboard(_) | Self::Html(_) | Self::Export(_) => {
                None
            }
            Self::Fusion(_) => Some(&[Mode::Fusion]),
            Self::Operators(_) => Some(&[Mode::Operators]),
        }
    }

    /// The modes whose cases it derives something from without writing them.
    pub const fn beside(&self) -> &'static [Mode] {
        match self {
            Self::Show(_)
            | Self::Csv(_)
            | Self::Dashboard(_)
            | Self::Fusion(_)
            | Self::Html(_)
            | Self::Export(_) => &[],
            Self::Operators(_) => &[Mode::Calibration],
        }
    }

    /// Whether the text itself holds the report's warnings and remarks; otherwise they go to
    /// standard error.
    pub const fn says_warnings(&self) -> bool {
        match self {
            Self::Show(_) | Self::Html(_) => true,
            Self::Csv(_) | Self::Dashboard(_) | Self::Export(_) => false,
            Self::Fusion(options) => options.format.is_for_people(),
            Self::Operators(options) => options.format.is_for_people(),
        }
    }

    /// What there is to choose from, if that is all that was asked.
    pub fn help(&self) -> Option<String> {
        let columns = match self {
            Self::Show(options) => &options.columns,
            Self::Csv(options) => &options.columns,
            _ => return None,
        };
        choice::fields(columns).is_none().then(choice::help)
    }

    pub fn write(&self, report: &Report, target: Target<'_>, out: &mut dyn Write) -> Result<Notes> {
        let mut notes = match self {
            Self::Show(options) => print(out, &show::write(report, options, target))?,
            Self::Csv(options) => csv::write(report, options, out)?,
            Self::Dashboard(options) => dashboard::write(report, options, target, out)?,
            Self::Fusion(options) => print(out, &fusion::write(report, options, target)?)?,
            Self::Operators(options) => operators::write(report, options, target, out)?,
            Self::Html(options) => html::write(report, options, target, out)?,
            Self::Export(format) => export::write(report, format, target, out)?,
        };
        if !self.says_warnings() {
            notes.extend(earlier(report));
        }
        Ok(notes)
    }
}

/// What is small enough to be made whole first, and says everything itself.
pub(crate) fn print(out: &mut dyn Write, text: &str) -> Result<Notes> {
    out.write_all(text.as_bytes())?;
    Ok(Notes::new())
}

/// Says that results of others are not shown.
pub(crate) fn foreign(report: &Report) -> Option<String> {
    let (example, results) =
        (report.foreign.first()?, units::count(report.foreign.len(), "result"));
    Some(format!("{results} in criterion's folder without a record not shown, e.g. {example}"))
}

/// Says that rows of earlier runs are among those shown, and what leaves them out.
pub(crate) fn earlier(report: &Report) -> Option<String> {
    let rows = units::count(report.entries().count(), "row");
    match report.earlier {
        0 => None,
        1 => Some(format!(
            "1 of {rows} is of an earlier run than the latest; `--latest` leaves it out"
        )),
        several => Some(format!(
            "{several} of {rows} are of earlier runs than the latest; `--latest` leaves them out"
        )),
    }
}
