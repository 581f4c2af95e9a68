//! The device's own clock: events on torch's current stream.

use std::time::Duration;

use plan::Device;

use super::clock::{Clock, HostClock};
use crate::native::event::Event;
use crate::workload::Refusal;

/// CUDA events: what the device spends between two points of its stream. Where the host queues
/// more slowly than the device works, its gaps lie between them too.
#[derive(Debug)]
pub struct EventClock {
    device: usize,
}

impl Clock for EventClock {
    type Moment = Event;

    fn now(&mut self) -> Result<Event, Refusal> {
        let mut event = Event::new(self.device)?;
        event.record()?;
        Ok(event)
    }

    fn between(&mut self, start: Event, end: Event) -> Result<Duration, Refusal> {
        end.synchronize()?;
        Ok(Duration::from_secs_f64(start.elapsed_ns(&end)? / 1e9))
    }
}

/// The clock of a case's device.
#[derive(Debug)]
pub enum CaseClock {
    /// CPU.
    Host(HostClock),
    /// CUDA.
    Events(EventClock),
}

impl CaseClock {
    /// The clock of `device`; devices without one never get past the preflight.
    ///
    /// # Errors
    /// For a device that has no clock here.
    pub fn of(device: Device) -> Result<Self, Refusal> {
        match device {
            Device::Cpu => Ok(Self::Host(HostClock)),
            Device::Cuda => Ok(Self::Events(EventClock { device: 0 })),
            Device::Xpu | Device::Mps => {
                Err(Refusal::Unsupported(format!("no clock for the device `{device}`")))
            }
        }
    }
}
