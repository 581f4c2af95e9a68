//! One implementation of an operator at one size.

use plan::{Implementation, OperatorWork};

use super::bandwidth::Bandwidths;
use super::efficiency::{Efficiency, EfficiencySource, NoEfficiency};
use super::siblings::Siblings;
use super::standing::Standing;
use crate::model::caution::{Caution, are_of_different_runs, differences};
use crate::model::comparison::Entry;
use crate::model::report::Report;
use crate::model::row::Row;
use crate::model::speedup::{NoSpeedup, Speedup};
use crate::model::view::Key;

#[derive(Debug, Clone)]
pub struct OperatorResult<'a> {
    pub key: Key<OperatorWork>,
    /// The case as it went, measured or not, with all that it is compared with.
    pub entry: Entry<'a>,
    pub row: &'a Row,
    /// How many times faster than `aten` it is, from interleaved pairs; none of `aten` itself.
    pub speedup: Option<Result<Speedup, NoSpeedup>>,
    /// The part of the machine's limit that it reaches.
    pub efficiency: Result<Efficiency, NoEfficiency>,
    /// Whether it is the fastest of its siblings, shown or not.
    pub standing: Option<Standing>,
    pub cautions: Vec<Caution>,
}

impl<'a> OperatorResult<'a> {
    /// The results among a report's entries, in their order, measured or not.
    pub fn all(report: &'a Report) -> Vec<Self> {
        let siblings = Siblings::of(report.rows());
        let bandwidths = Bandwidths::of(report.rows());
        report.entries().filter_map(|entry| Self::of(&entry, &siblings, &bandwidths)).collect()
    }

    fn of(entry: &Entry<'a>, siblings: &Siblings<'a>, bandwidths: &Bandwidths) -> Option<Self> {
        let row = entry.row;
        let work = *row.record.case.work.operator()?;
        let efficiency = Efficiency::of(row, siblings, bandwidths);
        let mut cautions = entry.cautions();
        if let Ok(efficiency) = &efficiency {
            let stream = siblings.by(row, Implementation::Stream);
            cautions.extend(of_limit(efficiency, row, stream).into_iter().map(Caution::from));
        }
        Some(Self {
            key: Key::of(work, &row.record),
            entry: *entry,
            row,
            speedup: entry.comparison.map(|comparison| comparison.speedup.clone()),
            efficiency,
            standing: Standing::of(siblings.family(row)).get(row.full_id()).copied(),
            cautions,
        })
    }

    /// The implementation in full: `aten+compile`.
    pub fn variant(&self) -> String {
        self.row.record.case.variant()
    }

    /// Bytes that one step has to move, whoever computes it.
    pub fn bytes(&self) -> Option<u64> {
        plan::cost::moved_bytes(&self.row.record.case)
    }

    /// Elements of x per second at the median time.
    pub fn elements_per_s(&self) -> Option<f64> {
        self.row.steps_per_s().map(|steps| steps * self.key.work.size.elements() as f64)
    }
}

fn of_limit(efficiency: &Efficiency, row: &Row, stream: Option<&Row>) -> Vec<String> {
    let of_stream = |row: &Row, stream: &Row| {
        let run = are_of_different_runs(stream, row)
            .then(|| "`stream`, its limit, is of another run".to_owned());
        let differing = differences(&stream.record, &row.record).map(|(what, [limit, own])| {
            format!("`stream`, its limit, differs in {what}: {limit} against {own}")
        });
        run.into_iter().chain(differing)
    };
    match &efficiency.source {
        EfficiencySource::Itself => Vec::new(),
        EfficiencySource::Pairs => {
            stream.map(|stream| of_stream(row, stream).collect()).unwrap_or_default()
        }
        EfficiencySource::Times => {
            let text = "its share of the limit is the quotient of two times of two moments: it or \
                        `stream` has no pair with `aten`";
            let others = stream.map(|stream| of_stream(row, stream).collect::<Vec<_>>());
            std::iter::once(text.to_owned()).chain(others.unwrap_or_default()).collect()
        }
        EfficiencySource::Calibration(ceiling) if ceiling.certain => {
            vec![format!("its limit is the calibrated bandwidth of {}", level(&ceiling.level))]
        }
        EfficiencySource::Calibration(_) => vec![
            "its limit is the calibrated bandwidth of memory; its tensors may lie in caches in \
             part, whose limit is higher"
                .to_owned(),
        ],
    }
}

fn level(name: &str) -> String {
    if name == "memory" { name.to_owned() } else { format!("{name}, in which its tensors lie") }
}
