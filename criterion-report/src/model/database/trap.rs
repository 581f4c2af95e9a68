//! The catalogue of traps: each with what happens upstream and the remedy.

/// A trap, the JSON pointer of its place, and what stands there.
pub type Found = (Trap, String, String);

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something is shown otherwise than it was meant.
    Warning,
    /// Something is lost, or taken for something else.
    Error,
}

/// What can happen to a file in silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trap {
    /// Not `*.json`.
    FileName,
    /// Two files of one name.
    SameName,
    /// Files of several folders.
    Folder,
    /// A byte-order mark.
    ByteOrderMark,
    /// A NaN or infinity.
    NotFinite,
    /// Nothing in it.
    NoRecord,
    /// A record that is none.
    NotARecord,
    /// A key that the table has no column for.
    UnknownKey,
    /// A value of a type that its column does not take.
    WrongType,
    /// No metric.
    NoMetric,
    /// A metric, benchmark or model without a name.
    NoName,
    /// No values.
    NoValues,
    /// Beyond 32 bits.
    Float32,
    /// A whole number that 32 bits round.
    RoundedInteger,
    /// Less than three digits are left of it.
    TwoDecimals,
    /// Zero or less.
    NotPositive,
    /// A failure with a number.
    FailedWithValue,
    /// A map's value that is an object or a list.
    NestedValue,
    /// A map's value that is no string.
    NotAString,
    /// `runners: []`.
    EmptyRunners,
    /// `dependencies: {}`.
    EmptyDependencies,
    /// A repository, workflow or job that is none.
    NoJob,
    /// No device.
    NoDevice,
    /// `use_compile` or `compile` absent.
    NoUseCompile,
    /// A timestamp in milliseconds.
    Milliseconds,
    /// Two records of one series.
    SameSeries,
}

impl Trap {
    /// Its name in messages.
    pub const fn code(self) -> &'static str {
        self.entry().0
    }

    /// How bad it is.
    pub const fn severity(self) -> Severity {
        self.entry().1
    }

    /// What happens upstream.
    pub const fn upstream(self) -> &'static str {
        self.entry().2
    }

    /// What to do.
    pub const fn remedy(self) -> &'static str {
        self.entry().3
    }

    const fn entry(self) -> (&'static str, Severity, &'static str, &'static str) {
        use Severity::{Error, Warning};
        match self {
            Self::FileName => (
                "file-name",
                Error,
                "the uploader passes it over",
                "name it *.json, JSON lines too",
            ),
            Self::SameName => (
                "same-name",
                Error,
                "the upload is stored under the job and this name: the later one overwrites the \
                 other",
                "give each file of a job a name of its own",
            ),
            Self::Folder => (
                "folder",
                Warning,
                "the uploader reads one folder and none below it",
                "put all files of a job into one folder",
            ),
            Self::ByteOrderMark => (
                "byte-order-mark",
                Error,
                "Python's reader of JSON refuses it: a list is skipped as a whole, of lines the \
                 first, with a warning in the log of the job",
                "write UTF-8 without a byte-order mark",
            ),
            Self::NotFinite => (
                "not-finite",
                Error,
                "Python writes and reads it, but it is no JSON: the database may refuse the whole \
                 file",
                "leave the record out; put `failure_type` into benchmark.extra_info of another",
            ),
            Self::NoRecord => (
                "no-record",
                Error,
                "nothing is uploaded, and the job succeeds",
                "write at least one record",
            ),
            Self::NotARecord => (
                "not-a-record",
                Error,
                "it is skipped with a warning in the log of the job; a number ends the upload",
                "write an object for each record",
            ),
            Self::UnknownKey => (
                "unknown-key",
                Error,
                "the table has no such column: depending on the server the key or the whole file is \
                 lost",
                "put it into an extra_info",
            ),
            Self::WrongType => (
                "wrong-type",
                Error,
                "a file is inserted at once: one value of a wrong type loses all of it",
                "write the type that the schema says (`criterion-report schema \
                 pytorch-oss-benchmark-v3`)",
            ),
            Self::NoMetric => (
                "no-metric",
                Error,
                "the record is skipped with a warning in the log of the job",
                "write a `metric` with a name and values",
            ),
            Self::NoName => (
                "no-name",
                Error,
                "queries want it: the record is in the database and on no dashboard",
                "name metric, benchmark and model",
            ),
            Self::NoValues => (
                "no-values",
                Error,
                "the mean of no values is no number",
                "write at least one number into metric.benchmark_values, or leave the record out",
            ),
            Self::Float32 => (
                "float32",
                Error,
                "the column has 32 bits: the value becomes infinite",
                "choose a larger unit",
            ),
            Self::RoundedInteger => (
                "rounded-integer",
                Warning,
                "the column has 32 bits, which hold whole numbers up to 2^24: the value is rounded",
                "choose a larger unit, MB for bytes",
            ),
            Self::TwoDecimals => (
                "two-decimals",
                Warning,
                "dashboards cut values to two decimals: more than 1 % of it is lost",
                "choose a smaller unit, us for ms, percent for a fraction",
            ),
            Self::NotPositive => (
                "not-positive",
                Warning,
                "geometric means take its logarithm, and a time of 0 is the fastest of all",
                "leave the record out, or write a ratio instead of a difference",
            ),
            Self::FailedWithValue => (
                "failed-with-value",
                Error,
                "the value of a case that failed is drawn like a measured one",
                "leave the metric out, and write one that counts the failure (FAILURE_REPORT)",
            ),
            Self::NestedValue => (
                "nested-value",
                Error,
                "the column is a map of strings, and a file is inserted at once: all of it is lost",
                "write it as a string of JSON",
            ),
            Self::NotAString => (
                "not-a-string",
                Warning,
                "the column is a map of strings: it is converted as the server likes",
                "write it as a string",
            ),
            Self::EmptyRunners => (
                "empty-runners",
                Warning,
                "the uploader fills `runners` in only where the key is absent: the machine is lost",
                "leave the key out, or fill it",
            ),
            Self::EmptyDependencies => (
                "empty-dependencies",
                Warning,
                "the uploader fills `dependencies` in only where the key is absent",
                "leave the key out, or fill it with torch's version at least",
            ),
            Self::NoJob => (
                "no-job",
                Error,
                "it takes the place of the upload's own: the record is nobody's, and a file of such \
                 records is not uploaded",
                "leave the key out",
            ),
            Self::NoDevice => (
                "no-device",
                Error,
                "without a device, in runners or in benchmark.extra_info, dashboards leave the record \
                 out or take it for one of a CPU",
                "write benchmark.extra_info.device and .arch",
            ),
            Self::NoUseCompile => (
                "no-use-compile",
                Warning,
                "without `use_compile` torchao's dashboard takes false, without `compile` that of \
                 language models true",
                "write both into benchmark.extra_info",
            ),
            Self::Milliseconds => (
                "milliseconds",
                Error,
                "timestamps are seconds: the record lies tens of thousands of years ahead",
                "leave `timestamp` to the uploader, or divide it by 1000",
            ),
            Self::SameSeries => (
                "same-series",
                Error,
                "dashboards draw them as one series",
                "say what differs in model.name, benchmark.dtype, benchmark.mode or model.backend",
            ),
        }
    }
}
