//! How many times faster a case is than another of its group, also where the two were never
//! partners: from what each of them gains over the baseline of both.

use plan::CaseId;
use statistics::{Ratio, Verdict};

use super::caution;
use super::row::Row;
use super::speedup::{NoSpeedup, Speedup, VarianceComponents};
use super::time::Interval;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// The other case's time over this one's.
    pub ratio: f64,
    pub interval: Interval,
    pub confidence_level: f64,
    pub source: GainSource,
    /// The ratio as callers see it, if the device works beside the host.
    pub as_called: Option<(f64, Interval)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GainSource {
    /// Both ran in turn.
    Pairs { blocks: usize, levels: VarianceComponents },
    /// Each ran in turn with the baseline of their group, at moments of its own.
    Quotient,
}

impl GainSource {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pairs { .. } => "pairs",
            Self::Quotient => "quotient",
        }
    }
}

impl From<&Speedup> for Gain {
    fn from(speedup: &Speedup) -> Self {
        let Speedup { ratio, interval, confidence_level, blocks, levels, as_called, .. } = *speedup;
        Self {
            ratio,
            interval,
            confidence_level,
            source: GainSource::Pairs { blocks, levels },
            as_called: as_called.map(|it| (it.ratio, it.interval)),
        }
    }
}

impl Gain {
    pub fn verdict(&self) -> Verdict {
        statistics::verdict(&self.interval.to_ratio(self.ratio))
    }

    /// As callers have it: where the host waits for the device anyway, it is the same.
    pub fn as_called(self) -> Self {
        let (ratio, interval) = self.as_called.unwrap_or((self.ratio, self.interval));
        Self { ratio, interval, ..self }
    }

    /// The gain of a row's case over the case of `other`, both compared in pairs with the `baseline`
    /// of their group.
    pub fn over(other: &Row, baseline: &CaseId, row: &Row) -> Result<Self, NoSpeedup> {
        let variant = || other.record.case.variant();
        let own = Speedup::over(Some(baseline), row)?;
        let divisor = Speedup::over(Some(baseline), other)
            .map_err(|why| NoSpeedup::NoQuotient { variant: variant(), why: why.to_string() })?;
        if let Some(what) = caution::apart(&other.record, &row.record) {
            return Err(NoSpeedup::Apart { variant: variant(), what });
        }
        if own.confidence_level != divisor.confidence_level {
            let what = "the level of its interval";
            return Err(NoSpeedup::Apart { variant: variant(), what });
        }
        let quotient = |own: &Ratio, divisor: &Ratio| {
            let Ratio { ratio, low, high } = statistics::quotient(own, divisor);
            (ratio, Interval { low, high })
        };
        let (ratio, interval) = quotient(&own.as_ratio(), &divisor.as_ratio());
        let called = own.as_called.zip(divisor.as_called);
        Ok(Self {
            ratio,
            interval,
            confidence_level: own.confidence_level,
            source: GainSource::Quotient,
            as_called: called.map(|(own, other)| quotient(&own.as_ratio(), &other.as_ratio())),
        })
    }
}

#[cfg(test)]
mod tests {
    use plan::Record;

    use super::*;

    fn over(other: &Record, baseline: &CaseId, record: &Record) -> Result<Gain, NoSpeedup> {
        let row = |record: &Record| Row::join(Box::new(record.clone()).into());
        Gain::over(&row(other), baseline, &row(record))
    }

    /// The records of a group in which every candidate was the partner of the baseline, and of no
    /// other.
    fn records() -> Vec<Record> {
        let lines = "tests/fixtures/compiled-modes/criterion-torch/new/inference.jsonl";
        let lines = std::fs::read_to_string(lines).expect("readable");
        lines.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
    }

    fn named(records: &[Record], variant: &str) -> Record {
        let own = |record: &&Record| record.case.id.variant == variant;
        records.iter().find(own).expect("a case of the fixture").clone()
    }

    fn sides() -> (Record, CaseId, Record) {
        let records = records();
        let baseline = named(&records, "baseline").case.id;
        (named(&records, "baseline+compile"), baseline, named(&records, "int8wo+compile"))
    }

    #[test]
    fn it_is_the_quotient_of_what_both_gain() {
        let (other, baseline, record) = sides();
        let gain = over(&other, &baseline, &record).expect("both have a pair");
        let (own, divisor) = (&record.pairs[0], &other.pairs[0]);
        assert!((gain.ratio / (own.speedup / divisor.speedup) - 1.0).abs() < 1e-12);
        assert_eq!((gain.source, gain.confidence_level), (GainSource::Quotient, 0.95));
        // Wider than either, narrower than the extremes.
        assert!(gain.interval.low < own.low / divisor.speedup);
        assert!(gain.interval.high > own.high / divisor.speedup);
        assert!(gain.interval.low > own.low / divisor.high);
        assert!(gain.interval.high < own.high / divisor.low);
        assert_eq!(gain.verdict(), Verdict::Faster);
    }

    #[test]
    fn without_a_pair_on_either_side_there_is_none() {
        let (mut other, baseline, record) = sides();
        other.pairs.clear();
        other.no_pair = Some("the device was lost".to_owned());
        let why = over(&other, &baseline, &record).unwrap_err().to_string();
        let expected = "`baseline+compile`, which it is compared with, has no speed-up itself: the \
                        device was lost";
        assert_eq!(why, expected);
        let (other, baseline, mut record) = sides();
        record.pairs.clear();
        let why = over(&other, &baseline, &record).unwrap_err().to_string();
        assert!(why.starts_with("it was not measured in pairs with `baseline`"), "{why}");
    }

    #[test]
    fn pairs_of_two_places_make_no_quotient() {
        let (mut other, baseline, record) = sides();
        other.environment_mut().torch.threads = 2;
        let why = over(&other, &baseline, &record).unwrap_err().to_string();
        let expected = "it and `baseline+compile` differ in threads: measure both again together";
        assert_eq!(why, expected);
        let (mut other, baseline, record) = sides();
        other.pairs[0].confidence_level = 0.9;
        assert!(over(&other, &baseline, &record).is_err());
        // Code that changed meanwhile is said, and no reason.
        let (mut other, baseline, record) = sides();
        other.environment_mut().git_revision = Some("0000000".to_owned());
        assert!(over(&other, &baseline, &record).is_ok());
    }
}
