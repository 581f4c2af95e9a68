//! The instruments that read a device.

use plan::Device;

use super::conditions::{Readings, Unread};
use super::energy::EnergyCounter;
use super::host_readings::HostReadings;
use super::hwmon::{GpuPower, Sockets};
use super::nvml;
use super::rapl::Rapl;
use super::utilization::UtilizationMeter;

/// The clock and temperature readings of `device`.
pub fn readings(device: Device) -> Box<dyn Readings> {
    match device {
        Device::Cpu => Box::new(HostReadings::start()),
        Device::Cuda => match nvml::open(0) {
            Ok(probe) => Box::new(probe),
            Err(reason) => Box::new(Unread(reason)),
        },
        Device::Rocm | Device::Xpu | Device::Mps => {
            Box::new(Unread(format!("no clock of {device} is read by this version")))
        }
    }
}

/// The energy counter of the processor that `device` means.
pub fn energy_counter(device: Device) -> Result<Box<dyn EnergyCounter>, String> {
    match device {
        Device::Cpu => match Rapl::open() {
            Ok(rapl) => Ok(Box::new(rapl)),
            Err(reason) => match Sockets::open()? {
                Some(sockets) => Ok(Box::new(sockets)),
                None => Err(reason),
            },
        },
        Device::Cuda => Ok(Box::new(nvml::open(0)?)),
        Device::Rocm => Ok(Box::new(GpuPower::open()?)),
        Device::Xpu | Device::Mps => {
            Err(format!("no energy counter of {device} is read by this version"))
        }
    }
}

/// The meter of how busy `device` is.
pub fn utilization_meter(device: Device) -> Result<Box<dyn UtilizationMeter>, String> {
    match device {
        Device::Cuda => Ok(Box::new(nvml::open(0)?)),
        Device::Cpu | Device::Rocm | Device::Xpu | Device::Mps => {
            Err(format!("it is read of CUDA devices, and this is {device}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_a_counter_says_so() {
        let reason = energy_counter(Device::Mps).err().unwrap();
        assert_eq!(reason, "no energy counter of mps is read by this version");
        if let Err(reason) = energy_counter(Device::Rocm) {
            assert!(reason.contains("amdgpu"), "{reason}");
        }
        // This machine has one, or a reason.
        match energy_counter(Device::Cpu) {
            Ok(mut counter) => assert!(counter.joules().is_ok()),
            Err(reason) => assert!(reason.contains("/sys/class/powercap"), "{reason}"),
        }
    }

    #[test]
    fn only_cuda_devices_are_asked_how_busy_they_are() {
        for device in [Device::Cpu, Device::Rocm, Device::Xpu, Device::Mps] {
            let reason = utilization_meter(device).err().unwrap();
            assert_eq!(reason, format!("it is read of CUDA devices, and this is {device}"));
        }
    }
}
