//! Samples in which a GPU's clock was held down are taken again after a rest: each sample's own clock says so, because a
//! driver reports limits also of a device that runs at full speed. A clock that stays low through the rests is what the
//! device keeps up; it is measured from then on, and the record names the regime.
//!
//! In the sustained regime, which a config asks for, the device works until its clock has settled, and no sample is taken
//! again: a rest would let it recover.

use std::time::Duration;

use plan::{Range, Regime, cost};

use crate::measurement::conditions::range;
use crate::refusal::Refusal;

/// A clock below this share of another was held down. On an H100 the clock of short batches wavers by up to 5 % around that
/// of long ones, of which the driver says nothing and their times show nothing.
pub const SLOW: f64 = 0.93;
/// A smaller fall that counts too, of long work or where the driver says that power is limited.
const LIMITED: f64 = 0.97;
/// Slow samples in a row that are taken again. A clock that stays low through the rests (0.35 s) will stay so.
const SLOW_IN_A_ROW: u32 = 3;
/// Samples of one case that are taken again at most: a clock that goes up and down for ever is measured as it is.
const MOST_DISCARDED: u64 = 10;
/// The first rest; each one after it is twice as long.
const FIRST_REST: Duration = Duration::from_millis(50);
/// A clock has settled if it was not slow in any batch of so many seconds.
const SETTLED_S: f64 = 2.0;

/// The clocks of one case's samples, in MHz.
#[derive(Debug, Clone, PartialEq)]
pub struct Throttling {
    regime: Regime,
    /// The clock that a sample is expected to have.
    usual_mhz: f64,
    /// The highest of any sample.
    highest_mhz: f64,
    in_a_row: u32,
    /// Samples that were taken again.
    pub discarded: u64,
}

impl Throttling {
    /// A case in this regime, before its first sample.
    pub fn new(regime: Regime) -> Self {
        Self { regime, usual_mhz: 0.0, highest_mhz: 0.0, in_a_row: 0, discarded: 0 }
    }

    /// How long the device rests before a sample of this clock is taken again; `None` if the sample counts.
    pub fn rest(&mut self, mhz: f64) -> Option<Duration> {
        self.highest_mhz = self.highest_mhz.max(mhz);
        let is_slow = mhz < SLOW * self.usual_mhz;
        let may_rest = self.regime == Regime::Burst
            && self.in_a_row < SLOW_IN_A_ROW
            && self.discarded < MOST_DISCARDED;
        if is_slow && may_rest {
            let rest = FIRST_REST * (1 << self.in_a_row);
            self.in_a_row += 1;
            self.discarded += 1;
            return Some(rest);
        }
        self.usual_mhz = if is_slow { mhz } else { mhz.max(self.usual_mhz) };
        self.in_a_row = 0;
        None
    }

    /// The regime of samples whose clock was `counted`: the one that was asked for, and sustained also where the clock
    /// came down while power was limited.
    pub fn regime(&self, counted: Option<Range>, power_was_limited: bool) -> Option<Regime> {
        let came_down = counted?.median < LIMITED * self.highest_mhz;
        Some(if came_down && power_was_limited { Regime::Sustained } else { self.regime })
    }
}

/// Runs batches, which give the clock of their samples where it is known, until it has settled, or for
/// [`cost::HEAT_UP_S`].
pub fn heat_up(
    batch: &mut dyn FnMut() -> Result<Vec<f64>, Refusal>,
    wall: &dyn Fn() -> f64,
) -> Result<(), Refusal> {
    let start = wall();
    let mut seen: Vec<(f64, f64)> = Vec::new();
    loop {
        let clocks = batch()?;
        let now = wall();
        seen.extend(clocks.into_iter().map(|mhz| (now, mhz)));
        seen.retain(|(at, _)| now - at <= SETTLED_S);
        let last = range(seen.iter().map(|(_, mhz)| *mhz).collect());
        let is_steady = last.is_some_and(|it| it.min >= LIMITED * it.max);
        if now - start >= cost::HEAT_UP_S || now - start >= SETTLED_S && is_steady {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The rests in milliseconds before samples of these clocks; 0 where one counts.
    fn rests(throttling: &mut Throttling, clocks: &[f64]) -> Vec<u128> {
        let rests = clocks.iter().map(|mhz| throttling.rest(*mhz));
        rests.map(|it| it.map_or(0, |rest| rest.as_millis())).collect()
    }

    fn steady(median: f64) -> Option<Range> {
        Some(Range { min: median, median, max: median })
    }

    #[test]
    fn a_slow_sample_is_taken_again_after_a_rest_and_one_that_wavers_is_not() {
        let mut throttling = Throttling::new(Regime::Burst);
        let clocks = [1965.0, 1980.0, 1860.0, 1830.0, 1755.0, 1980.0, 1755.0];
        assert_eq!(rests(&mut throttling, &clocks), [0, 0, 0, 50, 100, 0, 50]);
        assert_eq!(throttling.discarded, 3);
        assert_eq!(throttling.regime(steady(1980.0), true), Some(Regime::Burst));
    }

    #[test]
    fn a_clock_that_rests_do_not_raise_is_measured_and_named() {
        let mut throttling = Throttling::new(Regime::Burst);
        let mut clocks = vec![1980.0];
        clocks.extend([1410.0; 9]);
        assert_eq!(rests(&mut throttling, &clocks), [0, 50, 100, 200, 0, 0, 0, 0, 0, 0]);
        assert_eq!(throttling.regime(steady(1410.0), true), Some(Regime::Sustained));
        assert_eq!(throttling.regime(steady(1410.0), false), Some(Regime::Burst), "not by power");
        assert_eq!(throttling.regime(None, true), None);
        // A lower clock still is an event.
        assert_eq!(rests(&mut throttling, &[1200.0, 1410.0]), [50, 0]);
    }

    #[test]
    fn a_clock_that_never_rests_is_measured_at_last() {
        let mut throttling = Throttling::new(Regime::Burst);
        for _ in 0..20 {
            rests(&mut throttling, &[1980.0, 1410.0, 1410.0, 1410.0, 1410.0]);
        }
        assert_eq!(throttling.discarded, MOST_DISCARDED);
        assert_eq!(rests(&mut throttling, &[1980.0, 1410.0]), [0, 0]);
    }

    #[test]
    fn in_the_sustained_regime_no_sample_is_taken_again() {
        let mut throttling = Throttling::new(Regime::Sustained);
        assert_eq!(rests(&mut throttling, &[1980.0, 1410.0, 1980.0, 1200.0]), [0; 4]);
        assert_eq!(throttling.regime(steady(1980.0), false), Some(Regime::Sustained), "asked for");
    }

    /// Seconds for which a device works whose clock is a function of them, in batches of 0.1 s.
    fn heated_for(mhz: &dyn Fn(f64) -> Option<f64>) -> f64 {
        let now = Cell::new(0.0);
        let mut batch = || {
            now.set(now.get() + 0.1);
            Ok(mhz(now.get()).into_iter().collect())
        };
        heat_up(&mut batch, &|| now.get()).expect("no batch fails");
        now.get()
    }

    #[test]
    fn a_device_works_until_its_clock_has_settled_or_for_ten_seconds() {
        let steady = heated_for(&|_| Some(1980.0));
        assert!((2.0..2.2).contains(&steady), "{steady}");
        let fell = heated_for(&|s| Some(if s < 1.0 { 1980.0 } else { 1410.0 }));
        assert!((3.0..3.3).contains(&fell), "{fell}");
        for never in [heated_for(&|s| Some(1980.0 - 40.0 * s)), heated_for(&|_| None)] {
            assert!((10.0..10.2).contains(&never), "{never}");
        }
        let failed = heat_up(&mut || Err(Refusal::Failed("on purpose".to_owned())), &|| 0.0);
        assert_eq!(failed, Err(Refusal::Failed("on purpose".to_owned())));
    }
}
