//! A line of a file of records: a record, one of an older version, or why it is neither.

use plan::Record;
use serde::Deserialize;

use super::valid;

pub enum Line {
    Record(Box<Record>),
    /// One that an earlier version wrote.
    Older(Stamp),
}

/// The fields that records of every version have.
#[derive(Deserialize)]
pub struct Stamp {
    pub version: u32,
    pub full_id: String,
    pub run_id: String,
}

pub struct Unusable {
    /// In words, with the remedy. The other lines are no worse for it.
    pub why: String,
    /// The case and the run, if both can be read.
    pub begun: Option<(String, String)>,
}

impl From<String> for Unusable {
    fn from(why: String) -> Self {
        Self { why, begun: None }
    }
}

/// The record of a line, or why there is none, with the remedy.
pub fn parse(line: &[u8]) -> Result<Line, Unusable> {
    match Record::from_json(line) {
        Ok(mut record) if record.version == Record::VERSION => {
            // Most records have one pair, and were given room for four.
            record.pairs.shrink_to_fit();
            valid::check(&record).map_err(|what| {
                let why = format!(
                    "invalid record skipped: {what}; measure its case again with `cargo bench`"
                );
                let Record { full_id, run_id, .. } = &record;
                Unusable { why, begun: Some((full_id.clone(), run_id.clone())) }
            })?;
            Ok(Line::Record(Box::new(record)))
        }
        // Another version may fail in any field: say the version, not the field.
        outcome => {
            let unusable = |error| no_record(line, &error);
            let stamp = serde_json::from_slice::<Stamp>(line).map_err(unusable)?;
            match outcome {
                Err(error) if stamp.version == Record::VERSION => Err(unusable(error)),
                _ if stamp.version < Record::VERSION => Ok(Line::Older(stamp)),
                _ => Err(format!(
                    "record version {}, but this criterion-report reads version {}: a newer \
                     criterion-torch wrote it; use the criterion-report of that version",
                    stamp.version,
                    Record::VERSION
                )
                .into()),
            }
        }
    }
}

fn no_record(line: &[u8], error: &serde_json::Error) -> Unusable {
    if error.is_eof() {
        // A process that ends while it writes leaves half a line; later runs write on after it.
        let why = "incomplete record skipped; measure its case again".to_owned();
        return Unusable { why, begun: Record::begun(line) };
    }
    let why = if error.is_data() {
        // A branch with a further recipe or model leaves words that this build does not know.
        format!(
            "unknown record skipped: {error}; read it with the criterion-report of the branch \
             that wrote it"
        )
    } else {
        format!(
            "not a record: {error}; delete the line and measure its case again with `cargo bench`"
        )
    };
    Unusable { why, begun: Record::begun(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(line: &str) -> Option<(String, String)> {
        parse(line.as_bytes()).err().expect("no record").begun
    }

    #[test]
    fn a_byte_that_is_not_utf_8_hides_neither_case_nor_run_before_it() {
        let line = b"{\"version\":2,\"full_id\":\"a/b\",\"run_id\":\"r1\",\"case\":\"\xff\"}";
        let found = parse(line).err().expect("no record");
        assert!(found.why.starts_with("not a record: invalid unicode"), "{}", found.why);
        let expected = ("a/b".to_owned(), "r1".to_owned());
        assert_eq!(found.begun, Some(expected));
    }

    #[test]
    fn of_a_record_that_cannot_be_used_case_and_run_are_known_if_they_are_there() {
        let begun = Some(("a/b".to_owned(), "r1".to_owned()));
        let whole = r#"{"version":2,"full_id":"a/b","run_id":"r1","timestamp":1,"case":{"id":"#;
        let known = whole.find(",\"timestamp").expect("it is there");
        for end in 1..whole.len() {
            let expected = begun.clone().filter(|_| end >= known);
            assert_eq!(cut(&whole[..end]), expected, "{}", &whole[..end]);
        }
        // Nor does another mistake behind them take them away.
        assert_eq!(cut(r#"{"version":2,"full_id":"a/b","run_id":"r1"}"#), begun);
        assert_eq!(cut(r#"{"full_id":3,"run_id":"r1","case":["#), None);
    }
}
