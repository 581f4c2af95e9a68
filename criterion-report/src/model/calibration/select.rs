//! Which of a report's rows a profile is made of.

use std::collections::{BTreeMap, BTreeSet};

use plan::{Device, Mode};

use super::operation::{Operation, OperationKey};
use super::request::{CalibrationError, Request};
use crate::model::{Report, Row};
use crate::units;

/// The device that the profile is of: the one asked for, else the preset's, else the only one.
pub fn device(report: &Report, request: &Request<'_>) -> Result<Device, CalibrationError> {
    let rows: Vec<&Row> = report
        .entries()
        .map(|entry| entry.row)
        .filter(|row| row.record.case.work.probe().is_some_and(|work| request.has(work.probe)))
        .collect();
    let timed = rows.iter().filter(|row| row.time.is_ok());
    let present: BTreeSet<Device> = timed.map(|row| row.record.case.device).collect();
    let wanted = request.device.or(request.preset.map(|preset| preset.device));
    let device = match wanted {
        Some(device) => device,
        None if present.len() > 1 => {
            let names: Vec<&str> = present.iter().map(|device| device.as_str()).collect();
            return Err(CalibrationError::Devices(names.join(" and ")));
        }
        None => present.first().copied().unwrap_or(Device::Cpu),
    };
    if let Some(preset) = request.preset {
        let measured = if present.contains(&device) { Some(&device) } else { present.first() };
        if let Some(&device) = measured.filter(|device| **device != preset.device) {
            let (preset, of) = (preset.name.clone(), preset.device);
            return Err(CalibrationError::PresetDevice { preset, of, device });
        }
    }
    if present.contains(&device) {
        return Ok(device);
    }
    let reason = rows
        .iter()
        .find_map(|row| Some(format!(" ({}: {})", row.full_id(), row.reason()?)))
        .unwrap_or_default();
    Err(CalibrationError::Nothing {
        read: units::count(report.rows_read(), "recorded case"),
        of: request.device.map(|device| format!(" of {device}")).unwrap_or_default(),
        reason,
    })
}

/// The operations with a time; of several with one key, which are of several configs, the latest.
pub fn latest<'a>(
    report: &'a Report,
    request: &Request<'_>,
    device: Device,
    notes: &mut Vec<String>,
) -> Vec<Operation<'a>> {
    let mut all: Vec<Operation<'_>> = report
        .entries()
        .filter_map(|entry| Operation::of(entry.row))
        .filter(|operation| operation.key.device == device)
        .filter(|operation| request.has(operation.key.probe))
        .collect();
    all.sort_by_key(|operation| operation.row.record.timestamp);
    let mut latest: BTreeMap<OperationKey, Operation<'_>> = BTreeMap::new();
    for operation in all {
        if let Some(earlier) = latest.insert(operation.key, operation) {
            notes.push(twice(
                &operation.key.to_string(),
                operation.row.full_id(),
                earlier.row.full_id(),
            ));
        }
    }
    latest.into_values().collect()
}

/// That one of two measurements of the same thing is left out.
pub fn twice(key: &str, latest: &str, earlier: &str) -> String {
    format!("{key} was measured twice: {latest} is in the profile, {earlier}, earlier, is not")
}

/// That cases of the device were recorded or selected and have no time of that run.
pub fn unmeasured(report: &Report, device: Device) -> Option<String> {
    // `<target>/<config>/<workload>/<device>/…`
    let own = |id: &str| {
        let mut parts = id.split('/');
        parts.next() == Some(Mode::Calibration.as_str()) && parts.nth(2) == Some(device.as_str())
    };
    let cases: Vec<(String, String)> =
        report.unmeasured().into_iter().filter(|(id, _)| own(id)).collect();
    let (id, reason) = cases.first()?;
    let count = units::count(cases.len(), "calibration case");
    Some(format!("{count} without a time of the last run that selected it; {id}: {reason}"))
}

/// A profile is of one machine.
pub fn one_machine(operations: &[Operation<'_>], device: Device) -> Result<(), CalibrationError> {
    let machines: BTreeSet<String> = operations
        .iter()
        .map(|operation| {
            let environment = &operation.row.record.environment;
            let gpu = environment.torch.cuda_device.as_ref().filter(|_| device == Device::Cuda);
            let gpu = gpu.map(|gpu| format!(", {gpu}")).unwrap_or_default();
            format!("{}: {}{gpu}", environment.host.hostname, environment.host.cpu_model)
        })
        .collect();
    if machines.len() > 1 {
        let machines: Vec<String> = machines.into_iter().collect();
        return Err(CalibrationError::Machines(machines.join("; ")));
    }
    Ok(())
}

/// The operation that was measured last.
pub fn newest<'a, 'b>(operations: &'b [Operation<'a>]) -> Option<&'b Operation<'a>> {
    operations.iter().max_by_key(|operation| operation.row.record.timestamp)
}
