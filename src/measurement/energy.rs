//! Energy of a step, from a counter that the machine keeps anyway.
//!
//! Counters advance in jumps, every millisecond on a CPU and every 20 to 100 ms on a GPU, so they are
//! read over a window of a second or more, filled with steps back to back. The window goes from one
//! jump to another: between two moments of any kind, up to a whole jump would be missing or too much.

use plan::{Energy, EnergyPass};

use crate::refusal::Refusal;

/// Energy used so far.
pub trait EnergyCounter {
    /// Joules since any fixed moment. Not called for longer than [`LONGEST_GAP_S`], a counter may
    /// wrap without notice.
    fn joules(&mut self) -> Result<f64, String>;

    /// The counter, and what it covers and does not.
    fn describe(&self) -> String;
}

/// Seconds within which a counter is read again. The narrowest in use wraps after 2^32 units of
/// 15 µJ, at 500 W every two minutes.
pub const LONGEST_GAP_S: f64 = 30.0;
/// Shorter windows than this are not exact, however they are asked for.
const SHORTEST_WINDOW_S: f64 = 1.0;
/// Longest time between two jumps. Over a batch that takes longer every counter has advanced.
const LONGEST_JUMP_S: f64 = 0.1;
/// A counter that does not advance for so long stands still.
const STANDSTILL_S: f64 = 1.0;
/// Rest between two looks at the counter of an idle machine.
const NAP_S: f64 = 0.005;

/// The caller's clock in seconds, and its sleep.
pub struct Time<'a> {
    /// Seconds since any fixed moment.
    pub clock: &'a mut dyn FnMut() -> f64,
    /// Lets the machine idle for so many seconds.
    pub idle: &'a mut dyn FnMut(f64),
}

/// Runs a batch of steps; how many.
pub type Batch<'a> = dyn FnMut() -> Result<u64, Refusal> + 'a;

/// Reads `counter` over a window of steps back to back; over an idle one of the same length first,
/// when the settings ask for idle power to be subtracted.
///
/// The window is filled with steps whatever becomes of the counter: it is not the only one that reads
/// over them. The steps of a `batch` must be done when it returns: on a device that works beside the
/// host, it has to wait for them. The counter is read between batches, so a batch should be short.
///
/// Within: the energy, or why the counter gave none.
pub fn measure(
    counter: &mut dyn EnergyCounter,
    settings: EnergyPass,
    time: Time<'_>,
    batch: &mut Batch<'_>,
) -> Result<Result<Energy, String>, Refusal> {
    let window_s = settings.window_s.max(SHORTEST_WINDOW_S);
    let Time { clock, idle } = time;
    let mut nap = || {
        idle(NAP_S);
        Ok(0)
    };
    let idle = settings
        .subtract_idle
        .then(|| Watch { counter, clock, batch: &mut nap, iters: 0 }.window(window_s))
        .transpose()?;
    let busy = Watch { counter, clock, batch, iters: 0 }.window(window_s)?;
    Ok(idle.transpose().and_then(|idle| {
        let idle_watts = idle.map(|window| window.joules / window.seconds);
        energy(&busy?, idle_watts, counter.describe())
    }))
}

/// The counter at a moment; the energy, time and steps between two of them.
#[derive(Clone, Copy)]
struct Reading {
    joules: f64,
    seconds: f64,
    iters: u64,
}

/// A counter and the work over which it is read.
struct Watch<'a, 'b> {
    counter: &'a mut dyn EnergyCounter,
    clock: &'a mut dyn FnMut() -> f64,
    batch: &'a mut Batch<'b>,
    /// Steps so far.
    iters: u64,
}

impl Watch<'_, '_> {
    /// A window of so many seconds or a little more.
    fn window(&mut self, window_s: f64) -> Result<Result<Reading, String>, Refusal> {
        let mut start = self.jump()?;
        let from_s = start.as_ref().map_or_else(|_| (self.clock)(), |start| start.seconds);
        let (mut now_s, mut read_s, mut batch_s) = (from_s, from_s, 0.0);
        while now_s - from_s < window_s {
            let before_s = std::mem::replace(&mut now_s, self.work()?);
            batch_s = now_s - before_s;
            if now_s - read_s > LONGEST_GAP_S {
                start = start.and_then(|start| self.counter.joules().map(|_| start));
                read_s = now_s;
            }
        }
        let start = match start {
            Ok(start) => start,
            Err(reason) => return Ok(Err(reason)),
        };
        let end = if batch_s < LONGEST_JUMP_S { self.jump()? } else { self.read(now_s) };
        Ok(end.map(|end| Reading {
            joules: end.joules - start.joules,
            seconds: end.seconds - start.seconds,
            iters: end.iters - start.iters,
        }))
    }

    /// Works until the counter is seen to advance: its reading then, and the moment up to one batch
    /// after it.
    fn jump(&mut self) -> Result<Result<Reading, String>, Refusal> {
        let began_s = (self.clock)();
        let before = match self.counter.joules() {
            Ok(joules) => joules,
            Err(reason) => return Ok(Err(reason)),
        };
        loop {
            let now_s = self.work()?;
            let reading = match self.read(now_s) {
                Ok(reading) => reading,
                Err(reason) => return Ok(Err(reason)),
            };
            if reading.joules > before {
                return Ok(Ok(reading));
            }
            if now_s - began_s >= STANDSTILL_S {
                return Ok(Err(stood_still(now_s - began_s, &self.counter.describe())));
            }
        }
    }

    /// Runs a batch; when it was done.
    fn work(&mut self) -> Result<f64, Refusal> {
        self.iters += (self.batch)()?;
        Ok((self.clock)())
    }

    fn read(&mut self, seconds: f64) -> Result<Reading, String> {
        Ok(Reading { joules: self.counter.joules()?, seconds, iters: self.iters })
    }
}

fn stood_still(seconds: f64, method: &str) -> String {
    format!("the counter stood still for {seconds:.1} s: {method}")
}

fn energy(window: &Reading, idle_watts: Option<f64>, method: String) -> Result<Energy, String> {
    let Reading { joules, seconds, iters } = *window;
    if joules <= 0.0 {
        return Err(stood_still(seconds, &method));
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
#[path = "energy_tests.rs"]
mod tests;
