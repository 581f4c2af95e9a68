//! The catalogue of traps: each with what happens upstream and the remedy.

/// A trap, the JSON pointer of its place, and what stands there.
pub type Found = (Trap, String, String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something is shown otherwise than it was meant.
    Warning,
    /// Something is lost, or taken for something else.
    Error,
}

/// The traps: how bad it is, the name in messages and in code, what happens upstream, and the remedy.
macro_rules! traps {
    ($($severity:ident $code:literal $trap:ident: $upstream:literal, $remedy:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each says itself what happens")]
        pub enum Trap {
            $($trap),*
        }

        impl Trap {
            /// Its name in messages, how bad it is, what happens upstream, and what to do.
            pub const fn entry(self) -> (&'static str, Severity, &'static str, &'static str) {
                match self {
                    $(Self::$trap => ($code, Severity::$severity, $upstream, $remedy)),*
                }
            }
        }
    };
}

traps! {
    Error "file-name" FileName:
        "the uploader skips it", "name it *.json, even with JSON lines";
    Error "same-name" SameName:
        "the upload is stored under the job and this name: the later one overwrites the other",
        "give each file of a job a name of its own";
    Warning "folder" Folder:
        "the uploader reads one folder and none below it", "put all files of a job into one folder";
    Error "byte-order-mark" ByteOrderMark:
        "Python's reader of JSON refuses it: a list is skipped as a whole, of lines the first, \
         with a warning in the log of the job",
        "write UTF-8 without a byte-order mark";
    Error "not-finite" NotFinite:
        "Python writes and reads it, but it is not JSON: the database may refuse the whole file",
        "leave the record out; put `failure_type` into benchmark.extra_info of another";
    Error "no-record" NoRecord:
        "nothing is uploaded, and the job succeeds", "write at least one record";
    Error "not-a-record" NotARecord:
        "it is skipped with a warning in the log of the job; a number ends the upload",
        "write an object for each record";
    Error "unknown-key" UnknownKey:
        "the table has no such column: depending on the server the key or the whole file is lost",
        "put it into an extra_info";
    Error "wrong-type" WrongType:
        "a file is inserted at once: one value of a wrong type loses all of it",
        "write the type that the schema says (`criterion-report schema pytorch-oss-benchmark-v3`)";
    Warning "null" Null:
        "the column's default takes its place: 0, or an empty text, list or map",
        "leave the key out, or write a value";
    Warning "converted" Converted:
        "the server converts it to the type of the column",
        "write the type that the schema says (`criterion-report schema pytorch-oss-benchmark-v3`)";
    Error "no-metric" NoMetric:
        "the record is skipped with a warning in the log of the job",
        "write a `metric` with a name and values";
    Error "no-name" NoName:
        "queries want it: the record is in the database and on no dashboard",
        "name metric, benchmark and model";
    Error "no-values" NoValues:
        "the mean of no values is NaN",
        "write at least one number into metric.benchmark_values, or leave the record out";
    Error "float32" Float32:
        "the column has 32 bits: the value becomes infinite", "choose a larger unit";
    Warning "rounded-integer" RoundedInteger:
        "the column has 32 bits, which hold whole numbers up to 2^24: the value is rounded",
        "choose a larger unit, MB for bytes";
    Warning "two-decimals" TwoDecimals:
        "dashboards cut values to two decimals: more than 1 % of it is lost",
        "choose a smaller unit, us for ms, percent for a fraction";
    Warning "not-positive" NotPositive:
        "geometric means take its logarithm, and a time of 0 is the fastest of all",
        "leave the record out, or write a ratio instead of a difference";
    Error "failed-with-value" FailedWithValue:
        "the value of a case that failed is drawn like a measured one",
        "leave the metric out, and write one that counts the failure (FAILURE_REPORT)";
    Warning "nested-value" NestedValue:
        "the column is a map of strings: its text in the file is stored, and no query looks into it",
        "write it as a string of JSON";
    Warning "not-a-string" NotAString:
        "the column is a map of strings: its text in the file is stored",
        "write it as a string";
    Warning "empty-runners" EmptyRunners:
        "the uploader fills `runners` in only where the key is absent: the machine is lost",
        "leave the key out, or fill it";
    Warning "empty-dependencies" EmptyDependencies:
        "the uploader fills `dependencies` in only where the key is absent",
        "leave the key out, or fill it with torch's version at least";
    Error "no-job" NoJob:
        "it replaces the upload's own: the record belongs to no repository, and a file of such \
         records is not uploaded",
        "leave the key out";
    Error "no-device" NoDevice:
        "without a device, in runners or in benchmark.extra_info, dashboards leave the record out \
         or take it for one of a CPU",
        "write benchmark.extra_info.device and .arch";
    Warning "no-use-compile" NoUseCompile:
        "without `use_compile` torchao's dashboard takes false, without `compile` that of language \
         models true",
        "write both into benchmark.extra_info";
    Error "milliseconds" Milliseconds:
        "timestamps are seconds: the record lies tens of thousands of years ahead",
        "leave `timestamp` to the uploader, or divide it by 1000";
    Error "same-series" SameSeries:
        "dashboards draw them as one series",
        "say what differs in model.name, benchmark.dtype, benchmark.mode or model.backend";
}

impl Trap {
    pub const fn severity(self) -> Severity {
        self.entry().1
    }
}
