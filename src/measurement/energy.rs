//! Energy of a step, from a counter that the machine keeps anyway.
//!
//! Counters advance in jumps, every millisecond on a CPU and every 20 to 100 ms on a GPU, so they are
//! read over a window of a second or more, filled with steps back to back.

use plan::{Energy, EnergyPass};

use crate::refusal::Refusal;

/// Energy used so far.
pub trait EnergyCounter {
    /// Joules since any fixed moment. Not called for longer than [`LONGEST_GAP_S`], a counter may
    /// wrap without notice.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn joules(&mut self) -> Result<f64, String>;

    /// The counter, and what it covers and does not.
    fn describe(&self) -> String;
}

/// Seconds within which a counter is read again. The narrowest in use wraps after 2^32 units of
/// 15 µJ, at 500 W every two minutes.
pub const LONGEST_GAP_S: f64 = 30.0;
/// Shorter windows than this are not exact, however they are asked for.
const SHORTEST_WINDOW_S: f64 = 1.0;

/// What passes time: the caller's clock in seconds, and its way of doing nothing for some seconds.
pub struct Time<'a> {
    /// Seconds since any fixed moment.
    pub clock: &'a mut dyn FnMut() -> f64,
    /// Lets the machine idle for so many seconds.
    pub idle: &'a mut dyn FnMut(f64),
}

/// Energy and time between two moments.
struct Window {
    joules: f64,
    seconds: f64,
    iters: u64,
}

/// Reads `counter` over a window of steps back to back; over an idle one of the same length first,
/// when the settings ask for idle power to be subtracted.
///
/// The window is filled with steps whatever becomes of the counter: it is not the only one that reads
/// over them. `step` must be done when it returns: on a device that works beside the host, it has to
/// wait for it.
///
/// Within: the energy, or why the counter gave none.
///
/// # Errors
/// Those of a step.
pub fn measure(
    counter: &mut dyn EnergyCounter,
    settings: EnergyPass,
    mut time: Time<'_>,
    step: &mut dyn FnMut() -> Result<(), Refusal>,
) -> Result<Result<Energy, String>, Refusal> {
    let window_s = settings.window_s.max(SHORTEST_WINDOW_S);
    let idle = settings.subtract_idle.then(|| idle(counter, window_s, &mut time)).transpose();
    let busy = busy(counter, window_s, &mut time, step)?;
    Ok(idle.and_then(|idle| {
        let idle_watts = idle.map(|window| window.joules / window.seconds);
        energy(&busy?, idle_watts, counter.describe())
    }))
}

/// A window in which nothing is done.
fn idle(
    counter: &mut dyn EnergyCounter,
    window_s: f64,
    time: &mut Time<'_>,
) -> Result<Window, String> {
    let (first, start) = (counter.joules()?, (time.clock)());
    let mut left_s = window_s;
    while left_s > 0.0 {
        let nap_s = left_s.min(LONGEST_GAP_S);
        (time.idle)(nap_s);
        left_s -= nap_s;
        counter.joules()?;
    }
    let (last, end) = (counter.joules()?, (time.clock)());
    Ok(Window { joules: last - first, seconds: end - start, iters: 0 })
}

/// A window full of steps.
fn busy(
    counter: &mut dyn EnergyCounter,
    window_s: f64,
    time: &mut Time<'_>,
    step: &mut dyn FnMut() -> Result<(), Refusal>,
) -> Result<Result<Window, String>, Refusal> {
    let mut first = counter.joules();
    let start = (time.clock)();
    let (mut iters, mut now, mut read) = (0, start, start);
    while now - start < window_s {
        step()?;
        iters += 1;
        now = (time.clock)();
        if now - read > LONGEST_GAP_S {
            first = first.and_then(|first| counter.joules().map(|_| first));
            read = now;
        }
    }
    Ok(first.and_then(|first| {
        Ok(Window { joules: counter.joules()? - first, seconds: now - start, iters })
    }))
}

fn energy(window: &Window, idle_watts: Option<f64>, method: String) -> Result<Energy, String> {
    let Window { joules, seconds, iters } = *window;
    if joules <= 0.0 {
        return Err(format!("the counter stood still for {seconds:.1} s of work: {method}"));
    }
    let idle_joules = idle_watts.unwrap_or(0.0) * seconds;
    Ok(Energy {
        joules: (joules - idle_joules) / iters as f64,
        watts: joules / seconds,
        idle_watts,
        idle_subtracted: idle_watts.is_some(),
        window_s: seconds,
        iters,
        method,
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A machine that takes `idle_watts`, and `step_joules` more for a step of `step_s`.
    #[derive(Default)]
    struct Machine {
        seconds: Cell<f64>,
        joules: Cell<f64>,
        reads: Cell<u64>,
        longest_gap_s: Cell<f64>,
        read_at: Cell<f64>,
    }

    const IDLE_WATTS: f64 = 10.0;
    const STEP_S: f64 = 0.25;
    const STEP_JOULES: f64 = 5.0;

    impl Machine {
        fn pass(&self, seconds: f64) {
            self.seconds.set(self.seconds.get() + seconds);
            self.joules.set(self.joules.get() + IDLE_WATTS * seconds);
        }

        fn step(&self) {
            self.pass(STEP_S);
            self.joules.set(self.joules.get() + STEP_JOULES);
        }

        fn measure(&self, settings: EnergyPass) -> Result<Result<Energy, String>, Refusal> {
            let time =
                Time { clock: &mut || self.seconds.get(), idle: &mut |seconds| self.pass(seconds) };
            let mut step = || {
                self.step();
                Ok(())
            };
            measure(&mut Meter(self), settings, time, &mut step)
        }
    }

    struct Meter<'a>(&'a Machine);

    impl EnergyCounter for Meter<'_> {
        fn joules(&mut self) -> Result<f64, String> {
            let Machine { seconds, joules, reads, longest_gap_s, read_at } = self.0;
            longest_gap_s.set(longest_gap_s.get().max(seconds.get() - read_at.get()));
            read_at.set(seconds.get());
            reads.set(reads.get() + 1);
            Ok(joules.get())
        }

        fn describe(&self) -> String {
            "a meter".to_owned()
        }
    }

    #[test]
    fn a_window_is_filled_with_steps() {
        let settings = EnergyPass { window_s: 2.0, ..EnergyPass::default() };
        let energy = Machine::default().measure(settings).unwrap().unwrap();
        let expected = Energy {
            joules: STEP_JOULES + IDLE_WATTS * STEP_S,
            watts: 30.0,
            idle_watts: None,
            idle_subtracted: false,
            window_s: 2.0,
            iters: 8,
            method: "a meter".to_owned(),
        };
        assert_eq!(energy, expected);
    }

    #[test]
    fn a_window_is_at_least_a_second() {
        let settings = EnergyPass { window_s: 0.1, ..EnergyPass::default() };
        let energy = Machine::default().measure(settings).unwrap().unwrap();
        assert_eq!((energy.window_s, energy.iters), (1.0, 4));
    }

    #[test]
    fn idle_power_is_subtracted_when_asked() {
        let settings = EnergyPass { subtract_idle: true, ..EnergyPass::default() };
        let energy = Machine::default().measure(settings).unwrap().unwrap();
        assert_eq!((energy.joules, energy.watts), (STEP_JOULES, 30.0));
        assert_eq!((energy.idle_watts, energy.idle_subtracted), (Some(IDLE_WATTS), true));
    }

    #[test]
    fn long_windows_are_read_before_the_counter_wraps() {
        let machine = Machine::default();
        let settings = EnergyPass { enabled: true, window_s: 100.0, subtract_idle: true };
        machine.measure(settings).unwrap().unwrap();
        assert!(machine.longest_gap_s.get() <= LONGEST_GAP_S + STEP_S);
        assert!(machine.reads.get() >= 8, "{}", machine.reads.get());
    }

    struct Broken(Result<f64, String>);

    impl EnergyCounter for Broken {
        fn joules(&mut self) -> Result<f64, String> {
            self.0.clone()
        }

        fn describe(&self) -> String {
            "a broken meter".to_owned()
        }
    }

    #[test]
    fn a_counter_that_fails_or_stands_still_gives_a_reason() {
        let mut seconds = 0.0;
        for (joules, reason) in [
            (Err("gone".to_owned()), "gone"),
            (Ok(7.0), "the counter stood still for 1.0 s of work: a broken meter"),
        ] {
            let mut clock = || {
                seconds += 0.5;
                seconds
            };
            let mut steps = 0;
            let mut step = || {
                steps += 1;
                Ok(())
            };
            let time = Time { clock: &mut clock, idle: &mut |_| () };
            let settings = EnergyPass { subtract_idle: true, ..EnergyPass::default() };
            let found = measure(&mut Broken(joules), settings, time, &mut step);
            assert_eq!((found, steps), (Ok(Err(reason.to_owned())), 2), "the window is full");
        }
    }

    /// Fails at one reading and works again.
    struct Shaky {
        reads: u64,
        fails_at: u64,
    }

    impl EnergyCounter for Shaky {
        fn joules(&mut self) -> Result<f64, String> {
            self.reads += 1;
            let fails = self.reads == self.fails_at;
            if fails { Err("lost for a moment".to_owned()) } else { Ok(self.reads as f64) }
        }

        fn describe(&self) -> String {
            "a shaky meter".to_owned()
        }
    }

    #[test]
    fn one_reading_that_fails_takes_the_energy_and_not_the_window() {
        // At the start, in the middle, at the end, and after that.
        for (fails_at, is_there) in [(1, false), (3, false), (5, false), (6, true)] {
            let (mut now_s, mut steps) = (0.0, 0);
            let settings = EnergyPass { window_s: 100.0, ..EnergyPass::default() };
            let mut clock = || {
                now_s += 1.0;
                now_s
            };
            let time = Time { clock: &mut clock, idle: &mut |_| () };
            let mut step = || {
                steps += 1;
                Ok(())
            };
            let mut counter = Shaky { reads: 0, fails_at };
            let found = measure(&mut counter, settings, time, &mut step).expect("no step fails");
            assert_eq!((found.is_ok(), steps), (is_there, 100), "{fails_at}: {found:?}");
        }
    }

    #[test]
    fn an_error_of_a_step_is_the_cases() {
        let error = Refusal::Failed("broken".to_owned());
        let time = Time { clock: &mut || 0.0, idle: &mut |_| () };
        let mut counter = Broken(Ok(1.0));
        let found = measure(&mut counter, EnergyPass::default(), time, &mut || Err(error.clone()));
        assert_eq!(found, Err(error.clone()));
    }
}
