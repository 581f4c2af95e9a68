//! A recipe at a shape with the parts of a training step that were measured of it.

use plan::{Mode, ModelWork, Pass, Recipe};

use super::additivity::Additivity;
use crate::model::Entry;
use crate::model::Figure;
use crate::model::Row;
use crate::model::Speedup;
use crate::model::fingerprint;
use crate::model::{Interval, Time};
use crate::model::{Key, gather};
use crate::read::Report;

#[derive(Debug, Clone)]
pub struct TrainingResult<'a> {
    /// The work without its pass.
    pub key: Key<ModelWork>,
    pub config: &'a str,
    /// Each with its place among the report's entries; never empty.
    parts: Vec<(usize, Entry<'a>)>,
}

impl<'a> TrainingResult<'a> {
    /// The parts of all training cases that are shown, in the order in which their recipes and shapes first
    /// appear. The parts of a result are of one machine: their times are added and compared.
    pub fn all(report: &'a Report) -> Vec<Self> {
        let entries = report.entries().enumerate();
        let training = entries.filter(|(_, entry)| entry.row.record.case.mode == Mode::Training);
        let keyed = training.filter_map(|(place, entry)| {
            let record = &entry.row.record;
            let work = ModelWork { pass: None, ..*record.case.work.model()? };
            Some((Key::of(work, record), (place, entry)))
        });
        let blocks = gather(keyed, |(key, (_, entry))| {
            let Key { work, dtype, place } = key;
            let (variant, model) = (work.variant.to_string(), work.model.to_string());
            let config = entry.row.record.case.config.clone();
            let at = (place.to_string(), fingerprint(&entry.row.record));
            (config, model, work.shape.to_string(), variant, *dtype, at)
        });
        let of = |block: Vec<(Key<ModelWork>, (usize, Entry<'a>))>| {
            let (key, (_, entry)) = block.first()?;
            let (key, config) = (key.clone(), &*entry.row.record.case.config);
            Some(Self { key, config, parts: block.into_iter().map(|(_, part)| part).collect() })
        };
        blocks.into_iter().filter_map(of).collect()
    }

    /// Results of one model of one config, in one dtype at one place on one machine.
    pub fn blocks(results: &[Self]) -> Vec<Vec<&Self>> {
        gather(results, |it| {
            let Key { work, dtype, place } = &it.key;
            (it.config, work.model.to_string(), *dtype, place.to_string(), it.machine())
        })
    }

    /// The machine of its parts.
    pub fn machine(&self) -> String {
        fingerprint(&self.parts[0].1.row.record)
    }

    /// The parts that were selected, measured or not.
    pub fn parts(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.parts.iter().map(|(_, entry)| entry)
    }

    pub fn part(&self, pass: Pass) -> Option<&Entry<'a>> {
        self.parts().find(|entry| entry.row.pass() == Some(pass))
    }

    /// The place of a part among the report's entries.
    pub fn place(&self, pass: Pass) -> Option<usize> {
        let found = self.parts.iter().find(|(_, entry)| entry.row.pass() == Some(pass));
        found.map(|(place, _)| *place)
    }

    /// What its parts are named by: `float8-tensorwise+compile`.
    pub fn variant(&self) -> String {
        self.key.work.variant.to_string()
    }

    pub fn is_baseline(&self) -> bool {
        self.parts[0].1.row.is_baseline()
    }

    /// Whether it is the model without a recipe, compiled or not.
    pub fn is_unquantized(&self) -> bool {
        self.key.work.variant.recipe == Recipe::Baseline
    }

    pub const fn is_emulated(&self) -> bool {
        self.key.work.variant.emulated
    }

    pub fn time(&self, pass: Pass) -> Option<&'a Time> {
        self.part(pass)?.row.time.as_ref().ok()
    }

    /// The speed-up of a part over the same part of the baseline, from pairs.
    pub fn speedup(&self, pass: Pass) -> Option<&'a Speedup> {
        self.part(pass)?.speedup()
    }

    /// The time of the casts as a share of the baseline's forward and backward pass, with which they were
    /// measured in turn: what the products have to save.
    pub fn casts_share(&self) -> Option<Figure> {
        let Speedup { ratio, interval, .. } = self.speedup(Pass::Casts)?;
        let interval = Interval { low: 1.0 / interval.high, high: 1.0 / interval.low };
        Some(Figure { value: 1.0 / ratio, interval: Some(interval) })
    }

    /// Bytes of activations that the forward pass keeps for the backward pass, the input among them.
    pub fn saved_bytes(&self) -> Option<u64> {
        self.parts().find_map(|entry| entry.row.record.measures.memory?.saved_bytes)
    }

    /// Decibels of a tensor: of the forward and backward pass where it is known there, else of the first part
    /// that computes it.
    pub fn sqnr_db(&self, of: fn(&Row) -> Option<f64>) -> Option<f64> {
        let whole = self.part(Pass::ForwardBackward).into_iter();
        whole.chain(self.parts()).find_map(|entry| of(entry.row))
    }

    /// Whether the forward and the backward pass take as long as both together.
    pub fn additivity(&self) -> Option<Additivity> {
        let time = |pass: Pass| self.time(pass);
        Additivity::of(time(Pass::Forward)?, time(Pass::Backward)?, time(Pass::ForwardBackward)?)
    }

    /// The rows of the parts, for what concerns all of them.
    pub fn rows(&self) -> impl Iterator<Item = &'a Row> {
        self.parts.iter().map(|(_, entry)| entry.row)
    }
}
