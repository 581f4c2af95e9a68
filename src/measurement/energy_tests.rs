use std::cell::Cell;

use super::*;

/// A machine that takes `idle_watts`, and `step_joules` more for a step of `step_s`. Its counter
/// jumps every `jump_s`, from `phase_s` on.
struct Machine {
    step_s: f64,
    jump_s: f64,
    phase_s: f64,
    seconds: Cell<f64>,
    joules: Cell<f64>,
    shown: Cell<f64>,
    steps: Cell<u64>,
    reads: Cell<u64>,
    longest_gap_s: Cell<f64>,
    read_at: Cell<f64>,
}

const IDLE_WATTS: f64 = 10.0;
const STEP_S: f64 = 0.25;
const STEP_JOULES: f64 = 5.0;

impl Default for Machine {
    fn default() -> Self {
        let zero = || Cell::new(0.0);
        Self {
            step_s: STEP_S,
            jump_s: 1.0 / 1024.0,
            phase_s: 0.0,
            seconds: zero(),
            joules: zero(),
            shown: zero(),
            steps: Cell::new(0),
            reads: Cell::new(0),
            longest_gap_s: zero(),
            read_at: zero(),
        }
    }
}

impl Machine {
    fn pass(&self, seconds: f64, work_joules: f64) {
        let (from_s, before) = (self.seconds.get(), self.joules.get());
        let until_s = from_s + seconds;
        let joules = IDLE_WATTS * seconds + work_joules;
        let jumps = ((until_s - self.phase_s) / self.jump_s).floor();
        let jump_s = self.phase_s + jumps * self.jump_s;
        if jump_s > from_s {
            self.shown.set(before + joules * (jump_s - from_s) / seconds);
        }
        self.seconds.set(until_s);
        self.joules.set(before + joules);
    }

    fn measure(&self, settings: EnergyPass) -> Result<Result<Energy, String>, Refusal> {
        let time = Time {
            clock: &mut || self.seconds.get(),
            idle: &mut |seconds| self.pass(seconds, 0.0),
        };
        let mut step = || {
            self.pass(self.step_s, STEP_JOULES);
            self.steps.set(self.steps.get() + 1);
            Ok(1)
        };
        measure(&mut Meter(self), settings, time, &mut step)
    }
}

struct Meter<'a>(&'a Machine);

impl EnergyCounter for Meter<'_> {
    fn joules(&mut self) -> Result<f64, String> {
        let Machine { seconds, shown, reads, longest_gap_s, read_at, .. } = self.0;
        longest_gap_s.set(longest_gap_s.get().max(seconds.get() - read_at.get()));
        read_at.set(seconds.get());
        reads.set(reads.get() + 1);
        Ok(shown.get())
    }

    fn describe(&self) -> String {
        "a meter".to_owned()
    }
}

fn is_within(share: f64, found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < share
}

#[test]
fn a_window_goes_from_one_jump_of_the_counter_to_another() {
    let step_s = 0.004;
    for hundredths in 0..10 {
        let phase_s = f64::from(hundredths) / 100.0;
        let machine = Machine { step_s, jump_s: 0.1, phase_s, ..Machine::default() };
        let energy = machine.measure(EnergyPass::default()).unwrap().unwrap();
        // Each jump is seen up to a step late.
        let joules = STEP_JOULES + IDLE_WATTS * step_s;
        assert!(is_within(step_s, energy.joules, joules), "{phase_s}: {energy:?}");
        assert!(is_within(step_s, energy.watts, joules / step_s), "{phase_s}: {energy:?}");
        assert!((energy.window_s - 1.1).abs() < 2.0 * step_s, "{phase_s}: {energy:?}");
        let idle = EnergyPass { subtract_idle: true, ..EnergyPass::default() };
        let energy = machine.measure(idle).unwrap().unwrap();
        let idle_watts = energy.idle_watts.unwrap();
        assert!(is_within(NAP_S, idle_watts, IDLE_WATTS), "{phase_s}: {energy:?}");
    }
}

#[test]
fn over_long_steps_every_counter_has_advanced() {
    let machine = Machine { jump_s: LONGEST_JUMP_S, ..Machine::default() };
    let energy = machine.measure(EnergyPass::default()).unwrap().unwrap();
    assert_eq!((energy.window_s, energy.iters), (1.0, 4));
    assert_eq!(machine.steps.get(), 5, "one to see the counter advance");
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
    assert!(energy.idle_subtracted);
    assert!(is_within(NAP_S, energy.idle_watts.unwrap(), IDLE_WATTS), "{energy:?}");
    assert!(is_within(NAP_S, energy.watts, 30.0), "{energy:?}");
    assert!(is_within(NAP_S, energy.joules, STEP_JOULES), "{energy:?}");
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
        (Ok(7.0), "the counter stood still for 1.0 s: a broken meter"),
    ] {
        let mut clock = || {
            seconds += 0.5;
            seconds
        };
        let mut steps = 0;
        let mut step = || {
            steps += 1;
            Ok(1)
        };
        let time = Time { clock: &mut clock, idle: &mut |_| () };
        let settings = EnergyPass { subtract_idle: true, ..EnergyPass::default() };
        let found = measure(&mut Broken(joules), settings, time, &mut step);
        assert_eq!(found, Ok(Err(reason.to_owned())));
        assert!(steps >= 2, "the window is full");
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
    // Before and at the first jump, in the middle, at the end, and after that.
    for (fails_at, is_there) in [(1, false), (2, false), (4, false), (6, false), (7, true)] {
        let (mut now_s, mut steps) = (0.0, 0);
        let settings = EnergyPass { window_s: 100.0, ..EnergyPass::default() };
        let mut clock = || {
            now_s += 1.0;
            now_s
        };
        let time = Time { clock: &mut clock, idle: &mut |_| () };
        let mut step = || {
            steps += 1;
            Ok(1)
        };
        let mut counter = Shaky { reads: 0, fails_at };
        let found = measure(&mut counter, settings, time, &mut step).expect("no step fails");
        assert_eq!(found.is_ok(), is_there, "{fails_at}: {found:?}");
        assert!(steps >= 100, "{fails_at}: {steps}");
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
