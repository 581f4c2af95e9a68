//! Selects the rows of a report that a profile is made of.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow, bail};
use plan::{Device, Mode};

use super::operation::{Operation, OperationKey};
use super::request::{OperationKind, Request};
use crate::model::Row;
use crate::order::{Order as _, Sorted as _};
use crate::read::Report;
use crate::render::{units, words};

/// The device that the profile is of: the one asked for, else the preset's, else the only one.
pub fn device(report: &Report, request: &Request<'_>) -> Result<Device> {
    let rows: Vec<&Row> = report
        .entries()
        .map(|entry| entry.row)
        .filter(|row| row.record.case.work.probe().is_some_and(|work| request.has(work.probe)))
        .collect();
    let timed = rows.iter().filter(|row| row.time.is_ok());
    let present: BTreeSet<Device> = timed.map(|row| row.record.case.device).sorted_set();
    let wanted = request.device.or(request.preset.map(|preset| preset.device));
    let device = match wanted {
        Some(device) => device,
        None if present.len() > 1 => {
            let names: Vec<&str> = present.iter().map(|device| device.as_str()).collect();
            let names = names.join(" and ");
            bail!("there are calibrations of {names}: choose one with --device");
        }
        None => present.first().copied().unwrap_or(Device::Cpu),
    };
    if let Some(preset) = request.preset {
        let measured = if present.contains(&device) { Some(&device) } else { present.first() };
        if let Some(&device) = measured.filter(|device| **device != preset.device) {
            bail!(
                "preset `{}` is for {}, but the calibration is of {device}: omit --preset",
                preset.name,
                preset.device
            );
        }
    }
    if present.contains(&device) {
        return Ok(device);
    }
    Err(nothing(report, request, &rows))
}

/// The error that nothing matches the request, with what exists instead. `rows` match it on any
/// device.
fn nothing(report: &Report, request: &Request<'_>, rows: &[&Row]) -> anyhow::Error {
    let kinds: BTreeSet<OperationKind> = request.operations.iter().copied().sorted_set();
    let on = request.device.map(|device| format!(" on {device}")).unwrap_or_default();
    let there: Vec<(OperationKind, Device)> = report
        .entries()
        .filter(|entry| entry.row.time.is_ok())
        .filter_map(|entry| {
            let case = &entry.row.record.case;
            Some((OperationKind::for_probe(case.work.probe()?.probe), case.device))
        })
        .collect();
    let others = match there.len() {
        0 => "no operation that was recorded has one".to_owned(),
        1 => "1 other has one".to_owned(),
        count => format!("{count} others have one"),
    };
    let known: BTreeSet<(Device, OperationKind)> =
        there.iter().map(|(kind, device)| (*device, *kind)).sorted_set();
    let known: Vec<String> = known
        .iter()
        .map(|(device, kind)| format!("{} on {device}", words::of_flag(*kind)))
        .collect();
    let (of, remedy) = match known.is_empty() {
        true => (String::new(), "measure first with `cargo bench --bench calibration`"),
        false => (
            format!(" ({})", known.join(", ")),
            "ask for these with --operations and --device, or measure with `cargo bench --bench \
             calibration`",
        ),
    };
    let reason =
        rows.iter().find_map(|row| Some(format!(" ({}: {})", row.full_id(), row.reason()?)));
    // `matmul, memory, launch, call`
    let asked = kinds.into_iter().map(words::of_flag).collect::<Vec<_>>().join(", ");
    let reason = reason.unwrap_or_default();
    anyhow!("no calibration of {asked}{on} with a time: {others}{of}; {remedy}{reason}")
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
        .filter_map(|entry| Operation::from_row(entry.row))
        .filter(|operation| operation.key.device == device)
        .filter(|operation| request.has(operation.key.probe))
        .collect();
    all.order_by_key(|operation| operation.row.recency());
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

/// Says that one of two measurements of the same thing is left out.
pub fn twice(key: &str, latest: &str, earlier: &str) -> String {
    format!("{key} was measured twice: {latest} is in the profile, {earlier}, earlier, is not")
}

/// Says that cases of the device were recorded or selected and have no time of that run.
pub fn unmeasured(report: &Report, device: Device) -> Option<String> {
    // `<mode>/<config>/<workload>/<device>/…`
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

/// A profile is of one machine: operations and fusions alike.
pub fn one_machine(rows: &[&Row], device: Device) -> Result<()> {
    let machines: BTreeSet<String> = rows
        .iter()
        .map(|row| {
            let environment = &row.record.environment;
            let gpu = environment.torch.cuda_device.as_ref().filter(|_| device == Device::Cuda);
            let gpu = gpu.map(|gpu| format!(", {gpu}")).unwrap_or_default();
            format!("{}: {}{gpu}", environment.host.hostname, environment.host.cpu_model)
        })
        .collect();
    if machines.len() > 1 {
        let machines = machines.into_iter().collect::<Vec<_>>().join("; ");
        bail!(
            "the calibrations and fusions are of several machines ({machines}): choose one \
             machine with --latest, --filter, --fusion-patterns none or --criterion-dir"
        );
    }
    Ok(())
}

pub fn newest<'a, 'b>(operations: &'b [Operation<'a>]) -> Option<&'b Operation<'a>> {
    operations.iter().max_by_key(|operation| operation.row.recency())
}
