//! Rooflines as the page's script reads them.

use serde::Serialize;

use super::figures::Figure;
use crate::model::{Row, fingerprint};
use crate::render::object::document;
use crate::render::units;
use crate::views::calibration::{Limit, Roofline, RooflineSet};
use crate::visible;

/// A chart that cases share: a device of a machine and a number of threads.
#[derive(Serialize)]
pub struct Chart {
    /// `cpu, 2 threads: AMD EPYC 7763, 2 CPUs, 8 GiB`.
    label: String,
    roofs: Vec<Roof>,
    notes: Vec<String>,
}

document! {
    /// A roof with its figures and what there is to read about them.
    struct Roof = new(roof: &Roofline) {
        dtype: &'static str = roof.dtype.short(),
        peak: Figure = Figure(roof.peak_gflops.value),
        bandwidth: Option<Figure> =
            roof.bandwidth_gbps.as_ref().map(|limit| Figure(limit.value)),
        ridge: Option<Figure> = roof.ridge_flop_per_byte.map(Figure),
        text: String = text(roof),
    }
}

impl Chart {
    /// The index of a row's chart among `charts`, to which it is added if it is new.
    pub fn find_or_add(row: &Row, roofline_sets: &[RooflineSet], charts: &mut Vec<Self>) -> usize {
        let record = &row.record;
        let threads = record.environment.torch.threads;
        let label = format!(
            "{}, {}: {}",
            record.case.device,
            units::count(threads as usize, "thread"),
            fingerprint(record)
        );
        let label = visible::line(&label).into_owned();
        if let Some(index) = charts.iter().position(|known| known.label == label) {
            return index;
        }
        let roofline_set = roofline_sets.iter().find(|roofline_set| roofline_set.is_of(row));
        let roofs = roofline_set.map(|roofline_set| roofline_set.on(threads)).unwrap_or_default();
        let notes =
            roofline_set.map(|roofline_set| roofline_set.notes.as_slice()).unwrap_or_default();
        let notes = notes.iter().map(|note| visible::lines(note).into_owned()).collect();
        let roofs = roofs.into_iter().map(Roof::new).collect();
        charts.push(Self { label, roofs, notes });
        charts.len() - 1
    }
}

fn text(roof: &Roofline) -> String {
    let measured = |limit: &Limit| match &limit.measured {
        Some(best) => format!(" ({})", best.operation),
        None => String::new(),
    };
    let number = |value: f64| units::grouped(&units::significant(value, 4));
    let mut text = format!(
        "{}, {}: {} GFLOP/s{}",
        roof.dtype.short(),
        units::count(roof.threads as usize, "thread"),
        number(roof.peak_gflops.value),
        measured(&roof.peak_gflops),
    );
    if let (Some(limit), Some(ridge)) = (&roof.bandwidth_gbps, roof.ridge_flop_per_byte) {
        text.push_str(&format!(
            "; memory {} GB/s{}; ridge at {} FLOP/B",
            number(limit.value),
            measured(limit),
            units::significant(ridge, 3),
        ));
    } else {
        text.push_str("; no bandwidth of memory was measured on so many threads");
    }
    visible::lines(&text).into_owned()
}
