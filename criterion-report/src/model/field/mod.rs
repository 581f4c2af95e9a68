//! The catalogue of values: what is known of a case, each value once, with its name, its unit, the
//! better direction, how to read it, and why it is absent. Formats are lists of these.
//!
//! A new value is one [`Field`] at the end of the catalogue, and the probe that fills the record.

mod case;
mod measured;
mod not_in_csv;
mod profile;
mod unit;
mod value;

use plan::{Range, Record};

use super::comparison::Entry;
use super::row::compared;
pub use unit::Unit;
use unit::{
    BYTES, CELSIUS, DECIBELS, ERROR, JOULES, NONE, NS, SECONDS, SHARE, TIMES, counted, unit,
};
pub use value::{Figure, Value, ValuePart};

/// The direction of better values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Better {
    /// The smaller ones.
    Smaller,
    /// The bigger ones.
    Bigger,
}

impl Better {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Smaller => "smaller",
            Self::Bigger => "bigger",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Lower case and hyphens: its name in files and on the command line.
    pub name: &'static str,
    /// One line for people.
    pub description: &'static str,
    pub unit: Unit,
    /// The direction of better values; `None` unless it is a measure.
    pub better: Option<Better>,
    source: Source,
    measure: Option<&'static str>,
    why: fn(&Entry<'_>) -> Option<String>,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    /// In the record, at this path.
    Record(&'static str, for<'a> fn(&'a Record) -> Option<Value<'a>>),
    /// It follows from the record, criterion's files or a comparison.
    Case(for<'a> fn(&Entry<'a>) -> Option<Value<'a>>),
}

/// Rows of the catalogue: which values are better, if any are; name, unit and description; and in
/// parentheses the value, which is a path in the record as plan's types have it
/// (`measures.latency?.p50_ns`), or follows from what is known of a case (`|entry| …`).
macro_rules! fields {
    ($(#[$doc:meta])* $list:ident: $(
        $($better:ident)? $name:literal, $unit:expr, $description:literal, ($($value:tt)+)
        $($addition:ident ($($argument:tt)+))?;
    )*) => {
        $(#[$doc])*
        pub(super) const $list: &[Field] = &[$(
            $($better)? (
                field($name, $unit, $description, at!($($value)+))
                    $(.$addition($($argument)+))?
            ),
        )*];
    };
}

macro_rules! at {
    (|$entry:ident| $read:expr) => {
        Source::Case(|$entry| $read)
    };
    (@ $name:expr, |$record:ident| $read:expr) => {
        Source::Record($name, |$record| Some(Value::from(&$read)))
    };
    // An accuracy says something only against a reference.
    (accuracy.$($path:tt)+) => {
        at!(@ concat!("accuracy.", stringify!($($path)+)), |record| compared(record)?.$($path)+)
    };
    ($part:ident?.$($path:tt)+) => {
        at!(
            @ concat!(stringify!($part), ".", stringify!($($path)+)),
            |record| record.$part.as_ref()?.$($path)+
        )
    };
    ($part:ident.$group:ident?.$($path:tt)+) => {
        at!(
            @ concat!(stringify!($part), ".", stringify!($group), ".", stringify!($($path)+)),
            |record| record.$part.$group.as_ref()?.$($path)+
        )
    };
    ($($path:tt)+) => {
        at!(@ stringify!($($path)+), |record| record.$($path)+)
    };
}
use {at, fields};

const fn field(name: &'static str, unit: Unit, description: &'static str, source: Source) -> Field {
    Field { name, description, unit, better: None, source, measure: None, why: |_| None }
}

const fn smaller(field: Field) -> Field {
    Field { better: Some(Better::Smaller), ..field }
}

const fn bigger(field: Field) -> Field {
    Field { better: Some(Better::Bigger), ..field }
}

impl Field {
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

    /// The columns of CSV behind torchao's, in their order.
    pub fn columns() -> impl Iterator<Item = &'static Self> {
        case::FIELDS.iter().chain(measured::FIELDS)
    }

    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|field| field.name == name)
    }

    /// [`Self::named`] for constants: an unknown name fails to compile.
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

    pub fn value<'a>(&self, entry: &Entry<'a>) -> Option<Value<'a>> {
        match self.source {
            Source::Record(_, read) => read(&entry.row.record),
            Source::Case(read) => read(entry),
        }
    }

    /// The value as a number with its interval; none for a text.
    pub fn figure(&self, entry: &Entry<'_>) -> Option<Figure> {
        self.value(entry)?.figure()
    }

    /// A value of it for people, with its interval if that is wanted.
    pub fn text(&self, value: Value<'_>, interval: bool) -> String {
        match value {
            Value::Figure(Figure { value, interval: bounds }) => {
                self.unit.text(value, bounds.filter(|_| interval))
            }
            Value::Count(count) if self.unit.symbol.is_empty() => count.to_string(),
            Value::Count(count) => self.unit.text(count as f64, None),
            Value::Range(Range { min, median, max }) => {
                let [min, max] = [min, max].map(|it| self.unit.text(it, None));
                format!("{} [{min}, {max}]", self.unit.text(median, None))
            }
            Value::Flag(flag) => if flag { "yes" } else { "no" }.to_owned(),
            Value::Text(text) => text.into_owned(),
            Value::List(items) => items.join(", "),
            Value::Named(values) => {
                let named = |(name, value): (&String, &u64)| {
                    format!("{name} {}", self.unit.text(*value as f64, None))
                };
                values.iter().map(named).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// Why a case lacks it, where something is known.
    pub fn absent(&self, entry: &Entry<'_>) -> Option<String> {
        let measure = match self.source {
            Source::Record(path, _) => {
                path.strip_prefix("measures.").and_then(|path| path.split(['.', '?', ' ']).next())
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
const LISTS: [&[Field]; 5] =
    [case::TORCHAO, profile::FILES, case::FIELDS, measured::FIELDS, not_in_csv::FIELDS];

/// A place in a record as people write it: `measures.latency.p50_ns`.
pub(crate) fn path(read: &str) -> String {
    read.replace(".as_ref()", "").replace(['?', ' '], "")
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
    pub name: &'static str,
    pub field: &'static Field,
    pub part: ValuePart,
    /// How many of the field's unit are one of the format's: 10⁶ for nanoseconds in milliseconds.
    pub scale: f64,
}

impl Column {
    /// A field as it is, under another name.
    pub const fn new(name: &'static str, field: &str) -> Self {
        Self { name, field: Field::known(field), part: ValuePart::Value, scale: 1.0 }
    }

    /// The column in a unit that is `scale` of the field's unit.
    pub const fn per(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    pub const fn part(self, part: ValuePart) -> Self {
        Self { part, ..self }
    }

    pub fn value<'a>(&self, entry: &Entry<'a>) -> Option<Value<'a>> {
        self.field.value(entry)?.part(self.part).map(|value| value.per(self.scale))
    }
}

/// The fields that programs compare: those with a direction, in the order of the files. `latency`
/// and `throughput` are Bencher's own names, in its units.
pub const MEASURES: [&Field; 35] = [
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
    Field::known("saved-memory"),
    Field::known("bits-per-weight"),
    Field::known("energy"),
    Field::known("page-faults"),
    Field::known("cycles"),
    Field::known("instructions"),
    Field::known("cache-misses"),
    Field::known("tlb-misses"),
    Field::known("gpu-cycles"),
    Field::known("dram-bytes"),
    Field::known("l2-hit-rate"),
    Field::known("sqnr"),
    Field::known("output-sqnr"),
    Field::known("grad-input-sqnr"),
    Field::known("grad-weight-sqnr"),
    Field::known("relative-error"),
    Field::known("max-abs-error"),
    Field::known("compile-time"),
    Field::known("package-size"),
    Field::known("judged-time"),
];

/// A value of the catalogue for an entry, if there is one and has it: `column!(entry, "latency")`, or a
/// part of it in another unit, `column!(entry, "latency", Low / 1e6)`.
macro_rules! column {
    (@ $entry:expr, $field:literal, $part:ident, $scale:expr) => {{
        const COLUMN: $crate::model::Column = $crate::model::Column::new($field, $field)
            .part($crate::model::ValuePart::$part)
            .per($scale);
        $entry.as_ref().and_then(|entry| COLUMN.value(entry))
    }};
    ($entry:expr, $field:literal) => {
        $crate::model::column!(@ $entry, $field, Value, 1.0)
    };
    ($entry:expr, $field:literal / $scale:expr) => {
        $crate::model::column!(@ $entry, $field, Value, $scale)
    };
    ($entry:expr, $field:literal, $part:ident) => {
        $crate::model::column!(@ $entry, $field, $part, 1.0)
    };
    ($entry:expr, $field:literal, $part:ident / $scale:expr) => {
        $crate::model::column!(@ $entry, $field, $part, $scale)
    };
}

pub(crate) use column;
