//! Cases as fields of a map: shapes by variants, or of one variant m by n at one k.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use plan::{FusionShape, Pass, Shape, Work};

use crate::order::Sorted as _;
use crate::read::Report;
use crate::views::training::{self, Crossover, TrainingResult};

/// The meaning of a map's cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeatmapKind {
    /// A dtype with a shape in every row, a variant in every column.
    Shapes,
    /// One variant: m in every row, n in every column.
    Sweep {
        variant: String,
        dtype: String,
        /// The size that all of them share.
        k: u64,
    },
    /// One recipe of training: m in every row, k × n in every column, with predictions.
    Crossover { variant: String, dtype: String },
}

/// A map of candidates of one group.
#[derive(Debug, Clone, PartialEq)]
pub struct Heatmap {
    pub group: String,
    pub kind: HeatmapKind,
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// Row by row, which of the report's entries stands there; none where the sweep has a hole.
    pub cells: Vec<Option<usize>>,
    /// Row by row the speed-up of a crossover's field: measured where a case stands there, else predicted. Empty
    /// of other maps, whose cases have theirs.
    pub speedups: Vec<f64>,
}

/// A case to be put into a map, with its place among the report's entries.
struct Field<'a> {
    place: usize,
    variant: String,
    parameter: &'a str,
    dtype: &'static str,
    shape: Option<Shape>,
}

impl Heatmap {
    /// All maps of a report's candidates that have at least two rows, and of sweeps two columns;
    /// the groups in the report's order. Unmeasured cases have a cell, too.
    pub fn all(report: &Report) -> Vec<Self> {
        let mut groups: IndexMap<&str, Vec<Field<'_>>> = IndexMap::new();
        for (place, entry) in report.entries().enumerate() {
            if entry.row.is_baseline() {
                continue;
            }
            let case = &entry.row.record.case;
            let field = Field {
                place,
                variant: case.id.variant.clone(),
                parameter: &case.id.parameter,
                dtype: case.dtype.short(),
                shape: shape(&case.work),
            };
            groups.entry(&case.id.group).or_default().push(field);
        }
        let measured = groups.iter().flat_map(|(group, fields)| Self::of_group(group, fields));
        measured.chain(crossovers(report)).collect()
    }

    fn of_group(group: &str, fields: &[Field<'_>]) -> Vec<Self> {
        let mut maps: Vec<Self> = sweeps(group, fields);
        maps.extend(shapes(group, fields));
        maps
    }
}

/// `[m, k] × [k, n]`, of what has such a shape.
fn shape(work: &Work) -> Option<Shape> {
    match work {
        Work::Model(work) => Some(work.shape),
        Work::Fusion(work) => match work.size {
            FusionShape::Linear { m, k, n } => Some(Shape { m, k, n }),
            FusionShape::Conv { .. } | FusionShape::Attention { .. } => None,
        },
        Work::Operator(_) | Work::Probe(_) | Work::Kernel(_) => None,
    }
}

/// Parameters by variants, both in the order in which they appear.
fn shapes(group: &str, fields: &[Field<'_>]) -> Option<Heatmap> {
    let mut rows: Vec<String> = Vec::new();
    let mut columns: Vec<String> = Vec::new();
    let mut places: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for field in fields {
        let row = index(&mut rows, field.parameter);
        let column = index(&mut columns, &field.variant);
        places.insert((row, column), field.place);
    }
    (rows.len() > 1).then(|| {
        let cells = cells(rows.len(), columns.len(), |at| places.get(&at).copied());
        let (group, kind, speedups) = (group.to_owned(), HeatmapKind::Shapes, Vec::new());
        Heatmap { group, kind, rows, columns, cells, speedups }
    })
}

/// By m and n the place of a case.
type Slice = BTreeMap<(u64, u64), usize>;

/// One map for each variant, dtype and k at which both m and n vary; m and n ascend.
fn sweeps(group: &str, fields: &[Field<'_>]) -> Vec<Heatmap> {
    let mut slices: BTreeMap<(u64, &str, usize), Slice> = BTreeMap::new();
    let mut variants: Vec<String> = Vec::new();
    for field in fields {
        let Some(Shape { m, k, n }) = field.shape else { continue };
        let variant = index(&mut variants, &field.variant);
        slices.entry((k, field.dtype, variant)).or_default().insert((m, n), field.place);
    }
    let maps = slices.into_iter().filter_map(|((k, dtype, variant), places)| {
        let ms: Vec<u64> = distinct(places.keys().map(|&(m, _)| m));
        let ns: Vec<u64> = distinct(places.keys().map(|&(_, n)| n));
        (ms.len() > 1 && ns.len() > 1).then(|| Heatmap {
            group: group.to_owned(),
            kind: HeatmapKind::Sweep {
                variant: variants[variant].clone(),
                dtype: dtype.to_owned(),
                k,
            },
            rows: ms.iter().map(u64::to_string).collect(),
            columns: ns.iter().map(u64::to_string).collect(),
            cells: cells(ms.len(), ns.len(), |(row, column)| {
                places.get(&(ms[row], ns[column])).copied()
            }),
            speedups: Vec::new(),
        })
    });
    maps.collect()
}

/// The maps of training that show from which shapes on a recipe gains.
fn crossovers(report: &Report) -> Vec<Heatmap> {
    let results = TrainingResult::all(report);
    let blocks = TrainingResult::blocks(&results);
    let maps = blocks.iter().flat_map(|block| Crossover::all(block)).filter_map(|(variant, it)| {
        let it = it.ok()?;
        let part = it.of.part(Pass::ForwardBackward)?;
        let dtype = it.of.key.dtype.short().to_owned();
        Some(Heatmap {
            group: part.row.record.case.id.group.clone(),
            kind: HeatmapKind::Crossover { variant, dtype },
            rows: it.ms.iter().map(|m| it.row_name(*m)).collect(),
            columns: it.kns.iter().map(|(k, n)| format!("{k}×{n}")).collect(),
            cells: it.fields.iter().map(|field| field.place).collect(),
            speedups: it.fields.iter().map(training::Field::speedup).collect(),
        })
    });
    maps.collect()
}

/// The place of a name, which is appended if it is new.
fn index(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

fn distinct(values: impl Iterator<Item = u64>) -> Vec<u64> {
    values.sorted_set().into_iter().collect()
}

fn cells(
    rows: usize,
    columns: usize,
    at: impl Fn((usize, usize)) -> Option<usize>,
) -> Vec<Option<usize>> {
    (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(
        place: usize,
        variant: &str,
        parameter: &'static str,
        mkn: [u64; 3],
    ) -> Field<'static> {
        let [m, k, n] = mkn;
        let shape = Some(Shape { m, k, n });
        Field { place, variant: variant.to_owned(), parameter, dtype: "bf16", shape }
    }

    #[test]
    fn a_sweep_is_a_map_at_each_k_with_holes_where_it_has_some() {
        let fields = [
            field(1, "int8wo", "a", [64, 256, 128]),
            field(2, "int8wo", "b", [64, 256, 32]),
            field(3, "int8wo", "c", [16, 256, 32]),
            // Alone at its k: no map.
            field(4, "int8wo", "d", [16, 512, 32]),
        ];
        let [sweep, shapes] = &Heatmap::of_group("g", &fields)[..] else { panic!("two maps") };
        let HeatmapKind::Sweep { variant, dtype, k } = &sweep.kind else { panic!("a sweep") };
        assert_eq!((variant.as_str(), dtype.as_str(), *k), ("int8wo", "bf16", 256));
        assert_eq!(
            (&sweep.rows[..], &sweep.columns[..]),
            (&["16".to_owned(), "64".to_owned()][..], &["32".to_owned(), "128".to_owned()][..],)
        );
        assert_eq!(sweep.cells, [Some(3), None, Some(2), Some(1)]);
        assert_eq!(shapes.rows, ["a", "b", "c", "d"]);
        assert_eq!(shapes.cells, [Some(1), Some(2), Some(3), Some(4)]);
    }

    #[test]
    fn shapes_by_variants_keep_their_order() {
        let fields = [
            field(1, "int8wo", "z", [1, 1, 1]),
            field(2, "float8", "z", [1, 1, 1]),
            field(3, "float8", "a", [2, 2, 2]),
        ];
        let [map] = &Heatmap::of_group("g", &fields)[..] else { panic!("one map") };
        assert_eq!(map.kind, HeatmapKind::Shapes);
        assert_eq!(map.rows, ["z", "a"]);
        assert_eq!(map.columns, ["int8wo", "float8"]);
        assert_eq!(map.cells, [Some(1), Some(2), None, Some(3)]);
    }

    #[test]
    fn one_shape_is_no_map() {
        assert_eq!(Heatmap::of_group("g", &[field(1, "a", "x", [1, 1, 1])]), []);
    }
}
