//! Samples of a device that slows itself down are thrown away and taken again.

use std::time::Duration;

use crate::measurement::gpu::{Gpu, GpuProbe};
use crate::refusal::Refusal;

/// Tells whether a device has slowed itself down.
pub trait ThrottleProbe {
    /// A sample begins.
    fn begin(&mut self);

    /// Whether the device has slowed itself down since.
    ///
    /// # Errors
    /// Why it cannot be told.
    fn throttled(&mut self) -> Result<bool, String>;
}

impl<G: Gpu> ThrottleProbe for GpuProbe<G> {
    fn begin(&mut self) {
        self.watch();
    }

    fn throttled(&mut self) -> Result<bool, String> {
        self.slowed_since()
    }
}

/// Samples of one case that may be thrown away. A device that is still too hot or too hungry after
/// the rests in between (6 s altogether) will stay so, and from then on its samples count.
pub const MOST_DISCARDED: u64 = 10;
/// The first rest; each one after it is twice as long, up to the longest.
const FIRST_REST: Duration = Duration::from_millis(50);
const LONGEST_REST: Duration = Duration::from_secs(1);

/// What has become of the samples of one case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Samples that were thrown away.
    pub discarded: u64,
    /// Throttled samples that count all the same, because [`MOST_DISCARDED`] were thrown away.
    pub accepted: u64,
    /// Why it could not be told of some sample whether the device was throttled; it counts.
    pub untold: Option<String>,
}

impl Throttling {
    /// Takes a sample, and again while the device was throttled during it, resting in between. The
    /// rests grow with every sample of the case that was thrown away. Without a probe (the host has
    /// none) the first sample counts.
    ///
    /// # Errors
    /// Those of the sample.
    pub fn sample<T>(
        &mut self,
        mut probe: Option<&mut dyn ThrottleProbe>,
        rest: &mut dyn FnMut(Duration),
        sample: &mut dyn FnMut() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        loop {
            if let Some(probe) = probe.as_mut() {
                probe.begin();
            }
            let taken = sample()?;
            let Some(probe) = probe.as_mut() else { return Ok(taken) };
            match probe.throttled() {
                Ok(false) => return Ok(taken),
                Ok(true) if self.discarded < MOST_DISCARDED => {
                    rest(self.next_rest());
                    self.discarded += 1;
                }
                Ok(true) => {
                    self.accepted += 1;
                    return Ok(taken);
                }
                Err(reason) => {
                    self.untold = Some(reason);
                    return Ok(taken);
                }
            }
        }
    }

    fn next_rest(&self) -> Duration {
        let doublings = u32::try_from(self.discarded).unwrap_or(u32::MAX).min(16);
        (FIRST_REST * (1 << doublings)).min(LONGEST_REST)
    }

    /// What a reader of the case's numbers should know; `None` when nothing was throttled, or all
    /// such samples could be replaced.
    pub fn note(&self) -> Option<String> {
        match self {
            Self { accepted, discarded, .. } if *accepted > 0 => Some(format!(
                "the device was throttled in {accepted} samples that count: {discarded} had been \
                 thrown away before, and it did not recover"
            )),
            Self { untold: Some(reason), .. } => Some(format!(
                "not known of every sample whether the device was throttled: {reason}"
            )),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers in turn; the last answer for ever.
    struct Fake(Vec<Result<bool, String>>, u64);

    impl ThrottleProbe for Fake {
        fn begin(&mut self) {
            self.1 += 1;
        }

        fn throttled(&mut self) -> Result<bool, String> {
            if self.0.len() > 1 { self.0.remove(0) } else { self.0[0].clone() }
        }
    }

    /// The sample that counts, by its number, and the rests in milliseconds.
    fn run(throttling: &mut Throttling, probe: Option<&mut Fake>) -> (u64, Vec<u128>) {
        let (mut taken, mut rests) = (0, vec![]);
        let probe = probe.map(|probe| probe as &mut dyn ThrottleProbe);
        let mut sample = || {
            taken += 1;
            Ok(taken)
        };
        let counts = throttling
            .sample(probe, &mut |rest| rests.push(rest.as_millis()), &mut sample)
            .expect("no sample fails");
        (counts, rests)
    }

    #[test]
    fn a_throttled_sample_is_taken_again_after_a_rest() {
        let mut throttling = Throttling::default();
        let mut probe = Fake(vec![Ok(true), Ok(true), Ok(false)], 0);
        assert_eq!(run(&mut throttling, Some(&mut probe)), (3, vec![50, 100]));
        assert_eq!(probe.1, 3, "every sample is watched from its own beginning");
        assert_eq!(throttling, Throttling { discarded: 2, ..Throttling::default() });
        assert_eq!(throttling.note(), None);
        assert_eq!(run(&mut throttling, Some(&mut probe)), (1, vec![]));
    }

    #[test]
    fn a_device_that_stays_throttled_is_measured_at_last_and_it_is_said() {
        let mut throttling = Throttling::default();
        let mut probe = Fake(vec![Ok(true)], 0);
        let (counts, rests) = run(&mut throttling, Some(&mut probe));
        assert_eq!(counts, MOST_DISCARDED + 1);
        assert_eq!(rests, [50, 100, 200, 400, 800, 1000, 1000, 1000, 1000, 1000]);
        // Patience is the case's and not the sample's.
        assert_eq!(run(&mut throttling, Some(&mut probe)), (1, vec![]));
        assert_eq!((throttling.discarded, throttling.accepted), (MOST_DISCARDED, 2));
        let note = throttling.note().expect("something to say");
        assert!(note.contains("throttled in 2 samples that count: 10 had been"), "{note}");
    }

    #[test]
    fn without_a_probe_the_first_sample_counts() {
        let mut throttling = Throttling::default();
        assert_eq!(run(&mut throttling, None), (1, vec![]));
        assert_eq!(throttling, Throttling::default());
    }

    #[test]
    fn a_probe_that_cannot_tell_is_noted() {
        let mut throttling = Throttling::default();
        let mut probe = Fake(vec![Err("GPU is lost".to_owned())], 0);
        assert_eq!(run(&mut throttling, Some(&mut probe)), (1, vec![]));
        assert!(throttling.note().is_some_and(|note| note.ends_with("GPU is lost")));
    }

    #[test]
    fn a_sample_that_fails_ends_it() {
        let failed = Throttling::default().sample(
            Some(&mut Fake(vec![Ok(true)], 0)),
            &mut |_| panic!("nothing to rest for"),
            &mut || Err::<(), _>(Refusal::Failed("on purpose".to_owned())),
        );
        assert_eq!(failed, Err(Refusal::Failed("on purpose".to_owned())));
    }
}
