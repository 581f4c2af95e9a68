use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use super::*;
use crate::harness::device_clock::BothClocks;

/// A host and a device in simulated time, in nanoseconds. Writes down what it is asked for.
#[derive(Default)]
pub struct Machine {
    log: RefCell<Vec<&'static str>>,
    /// The host's clock.
    now: Cell<u64>,
    /// When each launch that lies ahead of the device will be done; the device works in order.
    ahead: RefCell<VecDeque<u64>>,
    most_ahead: Cell<usize>,
    free_at: Cell<u64>,
    // A step: launches, the host's time for each, the device's time for each.
    launches: u64,
    launch_ns: u64,
    work_ns: u64,
    /// Cycles per nanosecond, and the same while the device has not yet rested for so long.
    clock: f64,
    slow: Cell<(f64, u64)>,
    fails_at: Option<u64>,
    steps: Cell<u64>,
    dropped: Cell<u64>,
    /// Whether the device can be held.
    gated: bool,
    /// Whether a step waits for the device.
    syncs: bool,
    /// When the device goes on by itself.
    held_until: Cell<u64>,
    released: Cell<bool>,
    /// The host's next step takes so much longer.
    stall_ns: Cell<u64>,
}

pub const PEAK_KHZ: u64 = 2_000_000;
const QUEUE_LENGTH: usize = 1024;

impl Machine {
    pub fn new(launches: u64, launch_ns: u64, work_ns: u64) -> Self {
        Self { launches, launch_ns, work_ns, clock: 2.0, ..Self::default() }
    }

    /// A side whose device can be held, or not.
    pub fn gated(self, gated: bool) -> Self {
        Self { gated, ..self }
    }

    /// A side with steps that wait for the device.
    pub fn syncing(self) -> Self {
        Self { syncs: true, ..self }
    }

    /// Steps that were run.
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Takes the processor from the host during its next step.
    pub fn stall(&self, ns: u64) {
        self.stall_ns.set(ns);
    }

    /// Lets the device work at so many cycles per nanosecond until it has rested for `ns`.
    pub fn slow_down(&self, clock: f64, ns: u64) {
        self.slow.set((clock, ns));
    }

    fn clock(&self) -> f64 {
        let (slow, rest_ns) = self.slow.get();
        if rest_ns > 0 { slow } else { self.clock }
    }

    fn write(&self, what: &'static str) {
        self.log.borrow_mut().push(what);
    }

    fn launch(&self, host_ns: u64, device_ns: u64) {
        let mut ahead = self.ahead.borrow_mut();
        self.now.set(self.now.get() + host_ns);
        if ahead.len() == QUEUE_LENGTH {
            self.now.set(self.now.get().max(ahead[0]));
        }
        while ahead.front().is_some_and(|done| *done <= self.now.get()) {
            ahead.pop_front();
        }
        self.free_at.set(self.free_at.get().max(self.now.get()) + device_ns);
        ahead.push_back(self.free_at.get());
        self.most_ahead.set(self.most_ahead.get().max(ahead.len()));
    }

    fn queue(&self) -> Duration {
        queueing(&mut Handle(self)).expect("nothing fails")
    }

    fn sample(&self, order: &Order, steps: u64) -> DeviceSample {
        sample(&mut Handle(self), order, steps).expect("nothing fails")
    }

    fn hidden(&self) -> Order {
        let queue = self.queue();
        let hiding = Hiding::for_device(&Handle(self), queue, PEAK_KHZ).expect("a known clock");
        Order::open(false, queue).hidden(hiding)
    }
}

pub struct Handle<'a>(pub &'a Machine);
pub struct Output<'a>(&'a Machine);

impl Drop for Output<'_> {
    fn drop(&mut self) {
        self.0.dropped.set(self.0.dropped.get() + 1);
        self.0.write("drop");
    }
}

impl<'a> Device for Handle<'a> {
    type Moment = u64;
    type Output = Output<'a>;

    fn flush(&mut self) -> Result<(), Refusal> {
        self.0.write("flush");
        self.0.launch(5000, 200_000);
        Ok(())
    }
    fn can_hold(&self) -> Result<(), String> {
        if self.0.gated { Ok(()) } else { Err("no gate".to_owned()) }
    }
    fn hold(&mut self, limit: Duration) -> Result<(), Refusal> {
        self.0.write("hold");
        self.0.launch(5000, limit.as_nanos() as u64);
        self.0.held_until.set(self.0.free_at.get());
        Ok(())
    }
    fn release(&mut self) -> Result<(), Refusal> {
        self.0.write("release");
        let early = self.0.held_until.get().saturating_sub(self.0.now.get());
        self.0.released.set(early > 0);
        self.0.free_at.set(self.0.free_at.get() - early);
        self.0.ahead.borrow_mut().iter_mut().for_each(|done| *done -= early.min(*done));
        Ok(())
    }
    fn was_released(&self) -> bool {
        self.0.released.get()
    }
    fn clock_mhz(&self) -> Option<f64> {
        Some(1e3 * self.0.clock())
    }
    fn rest(&mut self, time: Duration) {
        let ns = time.as_nanos() as u64;
        let (slow, rest_ns) = self.0.slow.get();
        self.0.slow.set((slow, rest_ns.saturating_sub(ns)));
        self.0.now.set(self.0.now.get() + ns);
    }
    fn sleep(&mut self, cycles: u64) -> Result<(), Refusal> {
        self.0.write("sleep");
        self.0.launch(5000, (cycles as f64 / self.0.clock) as u64);
        Ok(())
    }
    fn mark(&mut self) -> Result<u64, Refusal> {
        self.0.write("event");
        self.0.launch(1000, 0);
        Ok(self.0.free_at.get())
    }
    fn step(&mut self) -> Result<Output<'a>, Refusal> {
        self.0.write("step");
        self.0.steps.set(self.0.steps.get() + 1);
        if Some(self.0.steps.get()) == self.0.fails_at {
            return Err(Refusal::Failed("on purpose".to_owned()));
        }
        self.0.now.set(self.0.now.get() + self.0.stall_ns.take());
        if self.0.syncs {
            self.0.now.set(self.0.now.get().max(self.0.free_at.get()));
        }
        for _ in 0..self.0.launches {
            // The work is that of the highest clock.
            let work_ns = self.0.work_ns as f64 * self.0.clock / self.0.clock();
            self.0.launch(self.0.launch_ns, work_ns as u64);
        }
        Ok(Output(self.0))
    }
    fn sync(&mut self) -> Result<(), Refusal> {
        self.0.write("sync");
        self.0.now.set(self.0.now.get().max(self.0.free_at.get()));
        Ok(())
    }
    fn host(&mut self) -> Duration {
        self.0.write("clock");
        Duration::from_nanos(self.0.now.get())
    }
    fn between(&self, start: &u64, stop: &u64) -> Result<Duration, Refusal> {
        Ok(Duration::from_nanos(stop - start))
    }
}

const US: u64 = 1000;

#[test]
fn a_hidden_cold_round_flushes_sleeps_and_only_then_starts() {
    let machine = Machine::new(1, 5 * US, 20 * US);
    let hiding = LaunchHiding::new(Duration::from_micros(5), PEAK_KHZ).unwrap();
    let order = Order::open(true, Duration::from_micros(5)).hidden(Hiding::Sleep(hiding));
    let taken = machine.sample(&order, 2);
    #[rustfmt::skip]
    let round = [
        "flush", "clock", "sleep", "event",
        "clock", "step", "clock", "event", "clock",
        "sync", "clock", "drop",
    ];
    assert_eq!(machine.log.take(), [round, round].concat());
    assert_eq!((taken.steps, taken.device), (2, Duration::from_micros(40)));
    assert_eq!(taken.launches, Launches::Hidden);
}

#[test]
fn a_held_device_is_released_once_all_is_queued() {
    let machine = Machine { gated: true, ..Machine::new(1, 5 * US, 20 * US) };
    let order = machine.hidden();
    machine.log.take();
    let taken = machine.sample(&order, 2);
    #[rustfmt::skip]
    let round = [
        "clock", "hold", "event",
        "clock", "step", "drop", "step", "clock", "event", "clock",
        "release", "sync", "clock", "drop",
    ];
    assert_eq!(machine.log.take(), round);
    assert_eq!((taken.launches, taken.device), (Launches::Hidden, Duration::from_micros(40)));
    assert_eq!(taken.clock_mhz, Some(2000.0));
}

#[test]
fn a_held_device_is_released_when_a_step_fails() {
    let machine = Machine { gated: true, fails_at: Some(11), ..Machine::new(1, 5 * US, 20 * US) };
    let order = machine.hidden();
    let failed = sample(&mut Handle(&machine), &order, 5);
    assert_eq!(failed, Err(Refusal::Failed("on purpose".to_owned())));
    assert_eq!(machine.log.take().last(), Some(&"release"));
}

#[test]
fn a_held_device_waits_for_any_host_and_gives_up_where_the_step_waits_for_it() {
    for launch_us in [5, 50, 500] {
        let machine = Machine { gated: true, ..Machine::new(1, launch_us * US, 2 * US) };
        // The pilot saw a fast host.
        let order = Order::open(false, Duration::from_micros(5)).hidden(Hiding::Gate);
        let taken = machine.sample(&order, 100);
        assert_eq!((taken.launches, taken.device), (Launches::Hidden, Duration::from_micros(200)));
    }
    let machine = Machine { gated: true, syncs: true, ..Machine::new(1, 5 * US, 2 * US) };
    let taken = machine.sample(&machine.hidden(), 100);
    assert_eq!((taken.launches, taken.clock_mhz), (Launches::Late, Some(2000.0)));
}

#[test]
fn a_hidden_hot_sample_is_one_round_of_steps_that_drop_their_outputs() {
    let machine = Machine::new(1, 5 * US, 20 * US);
    let order = machine.hidden();
    machine.log.take();
    machine.sample(&order, 2);
    #[rustfmt::skip]
    let round = [
        "clock", "sleep", "event",
        "clock", "step", "drop", "step", "clock", "event", "clock",
        "sync", "clock", "drop",
    ];
    assert_eq!(machine.log.take(), round);
}

#[test]
fn an_open_round_starts_on_an_idle_device() {
    let machine = Machine::new(1, 5 * US, 20 * US);
    machine.sample(&Order::open(true, Duration::from_micros(5)), 1);
    let log = machine.log.take();
    assert_eq!(log[..4], ["flush", "clock", "sync", "event"]);
    assert!(!log.contains(&"sleep"));
}

#[test]
fn hidden_events_hold_work_where_open_ones_hold_the_host() {
    // The host needs 15 µs for a step of 3 launches, the device 6.
    let machine = Machine::new(3, 5 * US, 2 * US);
    let hidden = machine.hidden();
    let taken = machine.sample(&hidden, 1000);
    assert_eq!(taken.device, Duration::from_micros(6000));
    assert_eq!(taken.launches, Launches::Hidden);
    let open = machine.sample(&Order::open(false, machine.queue()), 1000);
    assert!(open.device > Duration::from_micros(14_000), "{open:?}");
    assert_eq!(open.launches, Launches::Open);

    let mut clocks = BothClocks::default();
    clocks.add(&taken);
    clocks.add(&open);
    let clocks = clocks.clocks().expect("both kinds");
    assert_eq!((clocks.device_ns, clocks.queue_ns), (6000.0, 15_000.0));
    assert!(clocks.host_bound);
    // A round ends when its last step is done.
    assert!((15_000.0..15_500.0).contains(&clocks.host_ns), "{clocks:?}");
}

#[test]
fn a_long_sample_never_fills_the_devices_queue() {
    // Fast launches of slow work: without rounds, thousands would lie ahead.
    for launches in [1, 7, 60] {
        let machine = Machine::new(launches, 2 * US, 50 * US);
        let hidden = machine.hidden();
        let open = Order::open(false, machine.queue());
        for order in [hidden, open] {
            let taken = machine.sample(&order, 2000);
            let work = Duration::from_micros(50 * launches * 2000);
            assert_eq!(taken.steps, 2000);
            // Open rounds also wait for their first launch.
            assert!(taken.device >= work && taken.device < work.mul_f64(1.01), "{taken:?}");
            let queue_ns = taken.queue.as_nanos() as u64;
            assert_eq!(queue_ns, 2 * US * launches * 2000, "the host never waits");
            assert!(machine.most_ahead.get() < QUEUE_LENGTH, "{}", machine.most_ahead.get());
        }
    }
}

#[test]
fn a_device_below_its_peak_clock_sleeps_no_less() {
    let machine = Machine { clock: 0.5, ..Machine::new(1, 5 * US, 2 * US) };
    let taken = machine.sample(&machine.hidden(), 50);
    assert_eq!((taken.launches, taken.device), (Launches::Hidden, Duration::from_micros(100)));
}

#[test]
fn a_sleep_that_ends_too_early_makes_the_sample_late() {
    let machine = Machine::new(1, 100 * US, 10 * US);
    // The pilot saw a host ten times as fast.
    let hiding = LaunchHiding::new(Duration::from_micros(10), PEAK_KHZ).unwrap();
    let order = Order::open(false, Duration::from_micros(10)).hidden(Hiding::Sleep(hiding));
    let taken = machine.sample(&order, 100);
    assert_eq!(taken.launches, Launches::Late);
    assert!(taken.device > Duration::from_micros(100 * 10), "{taken:?}");
    // A single step that takes longer to queue than the longest sleep cannot be hidden either.
    let slow = Machine::new(10, 5_000 * US, US);
    let order = slow.hidden();
    assert_eq!(order.steps_at_most(), 1);
    assert_eq!(slow.sample(&order, 2).launches, Launches::Late);
}

#[test]
fn what_is_called_hidden_holds_work_alone_however_slow_the_host_has_become() {
    // CUDA rates the device lower than it runs; NVML knows.
    let peak_khz = peak_khz(3 * PEAK_KHZ / 4, Ok(PEAK_KHZ as f64 / 1e3));
    let hiding = LaunchHiding::new(Duration::from_micros(10), peak_khz).unwrap();
    let order = Order::open(false, Duration::from_micros(10)).hidden(Hiding::Sleep(hiding));
    let mut seen = vec![];
    for launch_us in 10..40 {
        let machine = Machine::new(1, launch_us * US, 2 * US);
        let taken = machine.sample(&order, 100);
        if taken.launches == Launches::Hidden {
            assert_eq!(taken.device, Duration::from_micros(200), "{launch_us} µs a launch");
        }
        seen.push(taken.launches);
    }
    // The margin is used up at 15 µs a launch, but for the fixed part of the sleep.
    assert!(seen[..5].iter().all(|launches| *launches == Launches::Hidden), "{seen:?}");
    assert!(seen[6..].iter().all(|launches| *launches == Launches::Late), "{seen:?}");
}

#[test]
fn the_highest_clock_is_the_higher_of_the_rated_one_and_nvmls() {
    assert_eq!(peak_khz(1_695_000, Ok(2100.0)), 2_100_000);
    assert_eq!(peak_khz(1_980_000, Ok(1500.0)), 1_980_000);
    assert_eq!(peak_khz(1_695_000, Err("no NVML".to_owned())), 1_695_000);
    assert_eq!(peak_khz(0, Ok(2100.0)), 2_100_000, "CUDA does not tell");
}

#[test]
fn sleeps_are_as_long_as_queueing_and_a_margin_but_bounded() {
    let hiding = LaunchHiding::new(Duration::from_micros(10), PEAK_KHZ).unwrap();
    // 1.5 · 100 · 10 µs + 50 µs, at 2 cycles per nanosecond.
    let sleep = hiding.sleep_before(100);
    assert_eq!(sleep, Sleep { cycles: 3_100_000, at_least: Duration::from_micros(1550) });
    assert_eq!(hiding.sleep_before(1_000_000).at_least, Duration::from_millis(20));
    // 10 µs are at most 10 launches, of which 1000 may lie ahead.
    assert_eq!(Order::open(false, Duration::from_micros(10)).steps_at_most(), 100);
    assert_eq!(Order::open(true, Duration::from_micros(10)).steps_at_most(), 1);
    assert_eq!(Order::open(false, Duration::ZERO).steps_at_most(), 1000);
    assert_eq!(Order::open(false, Duration::from_secs(1)).steps_at_most(), 1);
    let reason = LaunchHiding::new(Duration::from_micros(10), 0).unwrap_err();
    assert!(reason.contains("does not tell the peak clock"), "{reason}");
}

#[test]
fn a_step_that_fails_ends_the_sample() {
    let machine = Machine { fails_at: Some(3), ..Machine::new(1, 5 * US, 2 * US) };
    let order = Order::open(false, Duration::from_micros(5));
    let failed = sample(&mut Handle(&machine), &order, 10);
    assert_eq!(failed, Err(Refusal::Failed("on purpose".to_owned())));
    assert_eq!((machine.steps.get(), machine.dropped.get()), (3, 2));
    let nothing = sample(&mut Handle(&machine), &order, 0);
    assert_eq!(nothing.map(|taken| taken.steps), Ok(0));
}
