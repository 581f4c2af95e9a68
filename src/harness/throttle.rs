//! Samples of a device that slows itself down are thrown away and taken again. The power limit is an
//! event of this kind only until the device has stayed at it through all rests of one case: from then
//! on it is a condition of the run, under which samples count.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::measurement::gpu::{SlowDown, ThrottleProbe};
use crate::refusal::Refusal;

/// Samples of one case that may be thrown away. A device that is still too hot or too hungry after
/// the rests in between (6 s altogether) will stay so, and from then on its samples count.
pub const MOST_DISCARDED: u64 = 10;
/// The first rest; each one after it is twice as long, up to the longest.
const FIRST_REST: Duration = Duration::from_millis(50);
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Whether the device of a run works at its power limit for as long as it has work: found by the first
/// case whose rests do not help, and known to all later ones.
#[derive(Debug, Default)]
pub struct PowerCap(AtomicBool);

/// The state of this process, which is one run.
pub static POWER_CAP: PowerCap = PowerCap(AtomicBool::new(false));

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Throttling {
    pub discarded: u64,
    /// The samples among them that were taken at the power limit.
    for_power: u64,
    /// Throttled samples that count all the same, because [`MOST_DISCARDED`] were thrown away.
    pub accepted: u64,
    /// Whether samples count that were taken at the power limit, a condition of the run.
    pub capped: bool,
    /// Why it could not be told of some sample whether the device was throttled; it counts.
    pub untold: Option<String>,
}

impl Throttling {
    /// Takes a sample, and again while the device was throttled during it, resting in between. The
    /// rests grow with every sample of the case that was thrown away. Without a probe (the host has
    /// none) the first sample counts. `cap` is the run's.
    pub fn sample<T>(
        &mut self,
        mut probe: Option<&mut dyn ThrottleProbe>,
        cap: &PowerCap,
        rest: &mut dyn FnMut(Duration),
        sample: &mut dyn FnMut() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        loop {
            if let Some(probe) = probe.as_mut() {
                probe.watch();
            }
            let taken = sample()?;
            let Some(probe) = probe.as_mut() else { return Ok(taken) };
            match probe.slowed_since() {
                Ok(None) => return Ok(taken),
                Ok(Some(SlowDown::PowerCap))
                    if self.for_power >= MOST_DISCARDED || cap.0.load(Ordering::Relaxed) =>
                {
                    cap.0.store(true, Ordering::Relaxed);
                    self.capped = true;
                    return Ok(taken);
                }
                Ok(Some(cause)) if self.discarded < MOST_DISCARDED => {
                    rest(self.next_rest());
                    self.discarded += 1;
                    self.for_power += u64::from(cause == SlowDown::PowerCap);
                }
                Ok(Some(_)) => {
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

    /// A note for readers of the case's numbers: none when nothing was throttled, or all
    /// such samples could be replaced.
    pub fn notes(&self) -> Vec<String> {
        let Self { discarded, accepted, capped, untold, for_power: _ } = self;
        let accepted = (*accepted > 0).then(|| {
            format!(
                "the device was throttled in {accepted} samples that count: {discarded} had been \
                 thrown away before, and it did not recover"
            )
        });
        // Without figures, reports say it once for all cases.
        let capped = capped.then(|| {
            "the device works at its power limit, which rests did not change: a condition of this \
             run, so samples taken at the limit count"
                .to_owned()
        });
        let untold = untold.as_ref().map(|reason| {
            format!("not every sample says whether the device was throttled: {reason}")
        });
        [accepted, capped, untold].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers in turn; the last answer for ever.
    struct Fake(Vec<Result<Option<SlowDown>, String>>, u64);

    impl ThrottleProbe for Fake {
        fn watch(&mut self) {
            self.1 += 1;
        }

        fn slowed_since(&mut self) -> Result<Option<SlowDown>, String> {
            if self.0.len() > 1 { self.0.remove(0) } else { self.0[0].clone() }
        }
    }

    const HOT: Result<Option<SlowDown>, String> = Ok(Some(SlowDown::Other));
    const CAPPED: Result<Option<SlowDown>, String> = Ok(Some(SlowDown::PowerCap));

    /// The sample that counts, by its number, and the rests in milliseconds.
    fn run(throttling: &mut Throttling, probe: Option<&mut Fake>) -> (u64, Vec<u128>) {
        under(&PowerCap::default(), throttling, probe)
    }

    /// The same in a run that may know of its device's power limit.
    fn under(
        cap: &PowerCap,
        throttling: &mut Throttling,
        probe: Option<&mut Fake>,
    ) -> (u64, Vec<u128>) {
        let (mut taken, mut rests) = (0, vec![]);
        let probe = probe.map(|probe| probe as &mut dyn ThrottleProbe);
        let mut sample = || {
            taken += 1;
            Ok(taken)
        };
        let counts = throttling
            .sample(probe, cap, &mut |rest| rests.push(rest.as_millis()), &mut sample)
            .expect("no sample fails");
        (counts, rests)
    }

    #[test]
    fn a_throttled_sample_is_taken_again_after_a_rest() {
        let mut throttling = Throttling::default();
        let mut probe = Fake(vec![HOT, CAPPED, Ok(None)], 0);
        assert_eq!(run(&mut throttling, Some(&mut probe)), (3, vec![50, 100]));
        assert_eq!(probe.1, 3, "every sample is watched from its own beginning");
        let expected = Throttling { discarded: 2, for_power: 1, ..Throttling::default() };
        assert_eq!(throttling, expected);
        assert_eq!(throttling.notes(), [""; 0]);
        assert_eq!(run(&mut throttling, Some(&mut probe)), (1, vec![]));
    }

    #[test]
    fn a_device_that_stays_throttled_is_measured_at_last_and_it_is_said() {
        let mut throttling = Throttling::default();
        let mut probe = Fake(vec![HOT], 0);
        let (counts, rests) = run(&mut throttling, Some(&mut probe));
        assert_eq!(counts, MOST_DISCARDED + 1);
        assert_eq!(rests, [50, 100, 200, 400, 800, 1000, 1000, 1000, 1000, 1000]);
        // Patience is the case's and not the sample's.
        assert_eq!(run(&mut throttling, Some(&mut probe)), (1, vec![]));
        assert_eq!((throttling.discarded, throttling.accepted), (MOST_DISCARDED, 2));
        let notes = throttling.notes();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("throttled in 2 samples that count: 10 had been"), "{notes:?}");
    }

    #[test]
    fn a_lasting_power_cap_costs_the_run_its_rests_once() {
        let cap = PowerCap::default();
        let mut first = Throttling::default();
        let (counts, rests) = under(&cap, &mut first, Some(&mut Fake(vec![CAPPED], 0)));
        assert_eq!((counts, rests.len() as u64), (MOST_DISCARDED + 1, MOST_DISCARDED));
        assert_eq!((first.discarded, first.accepted, first.capped), (MOST_DISCARDED, 0, true));
        // The next case.
        let mut second = Throttling::default();
        let mut probe = Fake(vec![CAPPED, CAPPED, HOT, Ok(None)], 0);
        assert_eq!(under(&cap, &mut second, Some(&mut probe)), (1, vec![]));
        assert_eq!(under(&cap, &mut second, Some(&mut probe)), (1, vec![]));
        assert_eq!(second.notes(), first.notes(), "one line for all");
        assert!(second.notes()[0].contains("at its power limit"), "{:?}", second.notes());
        // Heat is an event in any case.
        assert_eq!(under(&cap, &mut second, Some(&mut probe)), (2, vec![50]));
        assert_eq!((second.discarded, second.accepted), (1, 0));
    }

    #[test]
    fn patience_that_heat_has_used_up_says_nothing_of_the_power_cap() {
        let (cap, mut throttling) = (PowerCap::default(), Throttling::default());
        let mut answers = vec![HOT; MOST_DISCARDED as usize];
        answers.push(CAPPED);
        assert_eq!(under(&cap, &mut throttling, Some(&mut Fake(answers, 0))).0, 11);
        assert_eq!((throttling.accepted, throttling.capped), (1, false));
        let mut next = Throttling::default();
        let mut probe = Fake(vec![CAPPED, Ok(None)], 0);
        assert_eq!(under(&cap, &mut next, Some(&mut probe)), (2, vec![50]));
    }

    #[test]
    fn a_power_cap_that_a_rest_lifts_is_no_condition() {
        let cap = PowerCap::default();
        for _ in 0..MOST_DISCARDED {
            let mut throttling = Throttling::default();
            let mut probe = Fake(vec![CAPPED, Ok(None)], 0);
            assert_eq!(under(&cap, &mut throttling, Some(&mut probe)), (2, vec![50]));
            assert_eq!(throttling.notes(), [""; 0]);
        }
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
        assert!(throttling.notes().iter().any(|note| note.ends_with("GPU is lost")));
    }

    #[test]
    fn a_sample_that_fails_ends_it() {
        let failed = Throttling::default().sample(
            Some(&mut Fake(vec![HOT], 0)),
            &PowerCap::default(),
            &mut |_| panic!("nothing to rest for"),
            &mut || Err::<(), _>(Refusal::Failed("on purpose".to_owned())),
        );
        assert_eq!(failed, Err(Refusal::Failed("on purpose".to_owned())));
    }
}
