//! The catalogue of values: what is known of a case, each value once, with its name, its unit, the
//! better direction, how to read it, and why it is absent. Formats are lists of these.
//!
//! A new value is one [`Field`] at the end of the catalogue, and the probe that fills the record.

mod case;
mod further;
mod measured;
mod unit;
mod value;

use std::borrow::Cow;

use plan::Record;

use super::entry::Entry;
pub use unit::Unit;
pub use value::{Figure, Part, Value};

/// Which values are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Better {
    /// The smaller ones.
    Smaller,
    /// The bigger ones.
    Bigger,
}

impl Better {
    /// `smaller`, `bigger`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Smaller => "smaller",
            Self::Bigger => "bigger",
        }
    }
}

/// A value that a case can have.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Lower case and hyphens: its name in files and on the command line.
    pub name: &'static str,
    /// One line for people.
    pub description: &'static str,
    /// Unit of its numbers.
    pub unit: Unit,
    /// Which values are better; neither unless it is a measure.
    pub better: Option<Better>,
    source: Source,
    columns: Option<&'static [(&'static str, Part)]>,
    measure: Option<&'static str>,
    why: fn(&Entry<'_>) -> Option<String>,
}

/// The place of a value.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// In the record, at this path.
    Record(&'static str, for<'a> fn(&'a Record) -> Option<Value<'a>>),
    /// It follows from the record, criterion's files or a comparison.
    Case(for<'a> fn(&Entry<'a>) -> Option<Value<'a>>),
}

/// Reads a value at a path of the record, e.g. `at!(measures.latency?.p50_ns)`.
macro_rules! at {
    // An accuracy says something only against a reference.
    (accuracy, $($path:tt)+) => {
        super::Source::Record(concat!("accuracy.", stringify!($($path)+)), |record| {
            Some(super::Value::from(&crate::model::row::compared(record)?.$($path)+))
        })
    };
    ($($path:tt)+) => {
        super::Source::Record(stringify!($($path)+), |record| {
            Some(super::Value::from(&record.$($path)+))
        })
    };
}
use at;

impl Field {
    /// A value of the record.
    const fn of(name: &'static str, unit: Unit, description: &'static str, source: Source) -> Self {
        Self {
            name,
            description,
            unit,
            better: None,
            source,
            columns: None,
            measure: None,
            why: |_| None,
        }
    }

    /// A value that follows from what is known of a case.
    const fn derived(
        name: &'static str,
        unit: Unit,
        description: &'static str,
        read: for<'a> fn(&Entry<'a>) -> Option<Value<'a>>,
    ) -> Self {
        Self::of(name, unit, description, Source::Case(read))
    }

    /// A word or a text.
    const fn text(
        name: &'static str,
        description: &'static str,
        read: for<'a> fn(&Entry<'a>) -> Option<Value<'a>>,
    ) -> Self {
        Self::derived(name, Unit::NONE, description, read)
    }

    /// The smaller, the better.
    const fn smaller(self) -> Self {
        Self { better: Some(Better::Smaller), ..self }
    }

    /// The bigger, the better.
    const fn bigger(self) -> Self {
        Self { better: Some(Better::Bigger), ..self }
    }

    /// The columns of CSV, where their names do not follow from its own.
    const fn columns(self, columns: &'static [(&'static str, Part)]) -> Self {
        Self { columns: Some(columns), ..self }
    }

    /// The measure of the record that it follows from, whose reason is its own.
    const fn of_measure(self, measure: &'static str) -> Self {
        Self { measure: Some(measure), ..self }
    }

    /// Why it is absent where the record's `measures.absent` does not say it.
    const fn why(self, why: fn(&Entry<'_>) -> Option<String>) -> Self {
        Self { why, ..self }
    }

    /// All of them: those of torchao's columns, those of our own in their order, the rest.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        LISTS.into_iter().flatten()
    }

    /// Our own columns of CSV behind torchao's, with the part of a value in each.
    pub fn columns_of_csv() -> impl Iterator<Item = (Cow<'static, str>, &'static Self, Part)> {
        let fields = case::FIELDS.iter().chain(measured::FIELDS);
        fields.flat_map(|field| {
            let derived = field.columns.is_none().then(|| {
                let name = format!("{}{}", field.name.replace('-', "_"), field.unit.suffix);
                (name.into(), field, Part::Value)
            });
            let given = field.columns.unwrap_or_default().iter();
            derived.into_iter().chain(given.map(move |&(name, part)| (name.into(), field, part)))
        })
    }

    /// The field of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|field| field.name == name)
    }

    /// The same in a list of constants: a name that there is not is not compiled.
    pub const fn known(name: &str) -> &'static Self {
        let mut list = 0;
        while list < LISTS.len() {
            let mut place = 0;
            while place < LISTS[list].len() {
                if same(LISTS[list][place].name, name) {
                    return &LISTS[list][place];
                }
                place += 1;
            }
            list += 1;
        }
        panic!("no field of the catalogue has this name")
    }

    /// Its value for a case, where there is one.
    pub fn value<'a>(&self, entry: &Entry<'a>) -> Option<Value<'a>> {
        match self.source {
            Source::Record(_, read) => read(&entry.row.record),
            Source::Case(read) => read(entry),
        }
    }

    /// The same as a number with its interval; none of a text.
    pub fn figure(&self, entry: &Entry<'_>) -> Option<Figure> {
        self.value(entry)?.figure()
    }

    /// Why a case lacks it, where something is known.
    pub fn absent(&self, entry: &Entry<'_>) -> Option<String> {
        let measure = match self.source {
            Source::Record(path, _) => {
                path.strip_prefix("measures.").and_then(|path| path.split(['.', '?']).next())
            }
            Source::Case(_) => self.measure,
        };
        let recorded = measure.and_then(|measure| {
            let why = entry.row.record.measures.absent.get(measure)?;
            Some(format!("{}: {why}", measure.trim_end_matches("_ns").replace('_', " ")))
        });
        recorded.or_else(|| (self.why)(entry))
    }

    /// The value in a record alone and its place there, if that holds it.
    pub fn in_record<'a>(&self, record: &'a Record) -> Option<(&'static str, Value<'a>)> {
        match self.source {
            Source::Record(path, read) => Some((path, read(record)?)),
            Source::Case(_) => None,
        }
    }
}

/// Every field; a name stands in one of them.
const LISTS: [&[Field]; 4] = [case::TORCHAO, case::FIELDS, measured::FIELDS, further::FIELDS];

/// A place in a record as people write it: `measures.latency.p50_ns`.
pub(super) fn path(read: &str) -> String {
    read.replace(".as_ref()", "").replace(['?', ' ', '\n'], "")
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut place = 0;
    while place < one.len() && place < other.len() && one[place] == other[place] {
        place += 1;
    }
    place == one.len() && place == other.len()
}

/// A value under the name that a format has for it.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The foreign name.
    pub name: &'static str,
    /// The value.
    pub field: &'static Field,
    /// Which part of it.
    pub part: Part,
    /// How many of the field's unit are one of the format's: 10⁶ for nanoseconds in milliseconds.
    pub scale: f64,
}

impl Column {
    /// A field as it is, under another name.
    pub const fn new(name: &'static str, field: &str) -> Self {
        Self { name, field: Field::known(field), part: Part::Value, scale: 1.0 }
    }

    /// The same, one for `scale` of the field's unit.
    pub const fn per(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    /// A bound of it.
    pub const fn part(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// Its value for a case.
    pub fn value<'a>(&self, entry: &Entry<'a>) -> Option<Value<'a>> {
        self.field.value(entry)?.part(self.part).map(|value| value.per(self.scale))
    }
}

/// What programs compare: the fields with a direction, in the order in which files have them. `latency`
/// and `throughput` are what Bencher calls so by itself, in its units.
pub const MEASURES: [&Field; 23] = [
    Field::known("latency"),
    Field::known("latency-p50"),
    Field::known("latency-p90"),
    Field::known("latency-p99"),
    Field::known("latency-max"),
    Field::known("first-call"),
    Field::known("throughput"),
    Field::known("speedup"),
    Field::known("speedup-over-unquantized"),
    Field::known("speedup-over-eager"),
    Field::known("gflops"),
    Field::known("bandwidth"),
    Field::known("peak-memory"),
    Field::known("step-memory"),
    Field::known("weights-memory"),
    Field::known("bits-per-weight"),
    Field::known("energy"),
    Field::known("page-faults"),
    Field::known("sqnr"),
    Field::known("relative-error"),
    Field::known("max-abs-error"),
    Field::known("compile-time"),
    Field::known("package-size"),
];
