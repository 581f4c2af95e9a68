//! How much of the time a GPU and its memory were at work, from samples that its driver keeps.
//!
//! A sample is a share of the sample period that ends at its time stamp. A period takes from a sixth
//! of a second to a whole one, depending on the product (NVML's reference, `nvmlUtilization_t`); which,
//! the driver does not say. So a sample counts only if the longest period before its stamp lies within
//! the steps.

use std::time::{SystemTime, UNIX_EPOCH};

use plan::{EnergyPass, Range, Utilization};

use super::conditions::range;

/// The longest sample period that NVML documents, in microseconds.
const LONGEST_PERIOD_US: u64 = 1_000_000;
/// A window of two periods has a whole one in it, wherever they begin.
const SHORTEST_WINDOW_S: f64 = 2.0 * LONGEST_PERIOD_US as f64 / 1e6;

/// A share of one sample period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The period's end, in microseconds since the epoch.
    pub at_us: u64,
    /// Percent of the period.
    pub percent: u32,
}

/// A driver's samples.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Samples {
    /// Time in which a kernel ran.
    pub sm: Vec<Sample>,
    /// Time in which the device's memory was read or written.
    pub memory: Vec<Sample>,
}

/// A driver that samples how busy its device is.
pub trait UtilizationMeter {
    /// The samples that it still holds of those that end after `since_us`, in microseconds since the
    /// epoch.
    fn samples(&self, since_us: u64) -> Result<Samples, String>;

    /// Source and meaning of the samples.
    fn method(&self) -> String;
}

/// When steps ran back to back, by the system's clock, which the driver stamps its samples with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    from_us: Option<u64>,
    until_us: u64,
}

impl Span {
    /// Steps run from now on, if they do not already.
    pub fn begin(&mut self) {
        self.from_us.get_or_insert_with(now_us);
    }

    /// Until now the device had steps to do.
    pub fn extend(&mut self) {
        self.until_us = now_us();
    }
}

#[cfg(test)]
impl Span {
    /// A span of which a test sets both ends, in microseconds since the epoch.
    pub const fn between(from_us: u64, until_us: u64) -> Self {
        Self { from_us: Some(from_us), until_us }
    }
}

/// Microseconds since the epoch; 0 before it.
fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

/// Sums up the samples of which the whole period lies within `span`. They are read once, at its end:
/// of a span longer than what the driver holds, only the last part is in it.
pub fn summarize(
    meter: &dyn UtilizationMeter,
    settings: EnergyPass,
    span: Span,
) -> Result<Utilization, String> {
    if settings.window_s < SHORTEST_WINDOW_S {
        return Err(format!(
            "`energy.window_s` is {}; a sample period of NVML takes up to {} s, so only a window of \
             {SHORTEST_WINDOW_S} s or more is certain to hold a whole one",
            settings.window_s,
            LONGEST_PERIOD_US / 1_000_000
        ));
    }
    let from_us = span.from_us.ok_or("no step ran")?;
    let whole_from_us = from_us + LONGEST_PERIOD_US;
    // The driver leaves out samples with this very stamp.
    let Samples { sm, memory } = meter.samples(whole_from_us - 1)?;
    let whole = |what: &str, samples: &[Sample]| {
        let within = |sample: &&Sample| (whole_from_us..=span.until_us).contains(&sample.at_us);
        let within = samples.iter().filter(within).map(|sample| share(sample.percent));
        let shares: Vec<f64> = within.collect::<Result<_, _>>()?;
        let count = shares.len() as u64;
        let none = || {
            format!(
                "none of NVML's {} samples of the {what} has its whole period within the steps; \
                 a longer `energy.window_s` may have one",
                samples.len()
            )
        };
        Ok::<(Range, u64), String>((range(shares).ok_or_else(none)?, count))
    };
    let (sm, sm_samples) = whole("multiprocessors", &sm)?;
    let (memory, memory_samples) = whole("memory", &memory)?;
    Ok(Utilization {
        sm,
        memory,
        window_s: (span.until_us - from_us) as f64 / 1e6,
        samples: sm_samples.min(memory_samples),
        method: meter.method(),
    })
}

/// Percent as a share.
fn share(percent: u32) -> Result<f64, String> {
    if percent > 100 {
        return Err(format!("NVML gave a utilization of {percent} %"));
    }
    Ok(f64::from(percent) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives all its samples, whenever they end.
    struct Fake(Result<Samples, String>);

    impl UtilizationMeter for Fake {
        fn samples(&self, _: u64) -> Result<Samples, String> {
            self.0.clone()
        }

        fn method(&self) -> String {
            "a fake".to_owned()
        }
    }

    fn samples(of: &[(u64, u32)]) -> Vec<Sample> {
        of.iter().map(|&(at_us, percent)| Sample { at_us, percent }).collect()
    }

    fn found(sm: &[(u64, u32)], memory: &[(u64, u32)]) -> Result<Utilization, String> {
        let meter = Fake(Ok(Samples { sm: samples(sm), memory: samples(memory) }));
        summarize(&meter, asked(2.0), SPAN)
    }

    fn asked(window_s: f64) -> EnergyPass {
        EnergyPass { window_s, ..EnergyPass::default() }
    }

    const SPAN: Span = Span::between(10_000_000, 12_500_000);

    #[test]
    fn a_sample_counts_if_the_longest_period_before_it_is_full_of_steps() {
        // At the bounds, and a microsecond beside them.
        let sm = [
            (9_000_000, 1),
            (10_999_999, 2),
            (11_000_000, 90),
            (11_700_000, 100),
            (12_500_000, 97),
            (12_500_001, 3),
        ];
        let found = found(&sm, &[(10_500_000, 0), (11_500_000, 40), (12_000_000, 60)]);
        let expected = Utilization {
            sm: Range { min: 0.9, median: 0.97, max: 1.0 },
            memory: Range { min: 0.4, median: 0.5, max: 0.6 },
            window_s: 2.5,
            samples: 2,
            method: "a fake".to_owned(),
        };
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn too_short_a_window_gives_no_number_but_the_key() {
        let meter = Fake(Ok(Samples {
            sm: samples(&[(11_500_000, 99)]),
            memory: samples(&[(11_500_000, 50)]),
        }));
        assert!(summarize(&meter, asked(2.0), SPAN).is_ok());
        let reason = summarize(&meter, asked(1.99), SPAN).unwrap_err();
        assert!(reason.starts_with("`energy.window_s` is 1.99; "), "{reason}");
        assert!(reason.contains("only a window of 2 s or more"), "{reason}");
        // The default's.
        let reason = summarize(&meter, EnergyPass::default(), SPAN).unwrap_err();
        assert!(reason.starts_with("`energy.window_s` is 1; "), "{reason}");
    }

    #[test]
    fn without_a_whole_period_of_either_there_is_no_number() {
        let inside = (11_500_000, 50);
        let outside = [(10_500_000, 70), (12_600_000, 80)];
        let reason = found(&outside, &[inside]).unwrap_err();
        assert!(reason.starts_with("none of NVML's 2 samples of the multiprocessors"), "{reason}");
        let reason = found(&[inside], &[]).unwrap_err();
        assert!(reason.starts_with("none of NVML's 0 samples of the memory"), "{reason}");
        assert!(reason.contains("`energy.window_s`"), "{reason}");
    }

    #[test]
    fn more_than_all_of_the_time_is_refused_where_it_would_count() {
        let inside = (11_500_000, 50);
        let reason = found(&[inside, (12_000_000, 101)], &[inside]).unwrap_err();
        assert_eq!(reason, "NVML gave a utilization of 101 %");
        assert!(found(&[inside, (12_600_000, 101)], &[inside]).is_ok());
    }

    #[test]
    fn a_drivers_reason_is_passed_on() {
        let meter = Fake(Err("not supported".to_owned()));
        assert_eq!(summarize(&meter, asked(2.0), SPAN), Err("not supported".to_owned()));
        assert_eq!(summarize(&meter, asked(2.0), Span::default()), Err("no step ran".to_owned()));
    }

    #[test]
    fn a_span_goes_from_its_first_step_to_the_last_time_that_it_was_extended() {
        let before = now_us();
        let mut span = Span::default();
        span.begin();
        let from_us = span.from_us;
        span.extend();
        span.begin();
        assert_eq!(span.from_us, from_us);
        assert!(from_us >= Some(before) && Some(span.until_us) >= from_us);
    }
}
