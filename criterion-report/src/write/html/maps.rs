//! Heatmaps as the page's script reads them.

use serde::Serialize;

use super::strings::{Strings, Text};
use crate::model::{Heatmap, HeatmapKind};

/// A map; the colours of its fields follow from the cases.
#[derive(Debug, Serialize)]
pub struct Map {
    group: Text,
    /// `shapes` or `sweep`.
    kind: &'static str,
    /// Variant, dtype and k of a sweep.
    title: Text,
    rows: Vec<Text>,
    columns: Vec<Text>,
    /// Row by row the place of the case, or null.
    cells: Vec<Option<usize>>,
}

impl Map {
    pub fn of(map: Heatmap, strings: &mut Strings) -> Self {
        let Heatmap { group, kind, rows, columns, cells } = map;
        let (kind, title) = match kind {
            HeatmapKind::Shapes => ("shapes", "dtype and shape × variant".to_owned()),
            HeatmapKind::Sweep { variant, dtype, k } => {
                ("sweep", format!("{variant}, {dtype}, k = {k}"))
            }
        };
        Self {
            group: strings.text(&group),
            kind,
            title: strings.text(&title),
            rows: rows.iter().map(|name| strings.text(name)).collect(),
            columns: columns.iter().map(|name| strings.text(name)).collect(),
            cells,
        }
    }
}
