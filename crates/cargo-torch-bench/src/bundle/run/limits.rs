//! Which of the machine's limits a run measures: those that its cases are held against, as far as time permits.

use std::collections::{BTreeMap, BTreeSet};

use super::super::planned::Planned;

/// The mode of the cases that measure limits.
pub const CALIBRATION: &str = "calibration";

/// Cases of calibration that differ only in their variant, which are measured together.
#[derive(Debug, Default)]
struct Unit<'p> {
    ids: Vec<&'p str>,
    bytes: u64,
    least_s: f64,
}

/// The ids of the limits that the selected cases need and that are not selected themselves: those of their devices and
/// dtypes. Each limit is measured at its largest size first, as peaks and memory are there, then at smaller ones while
/// `limit_s` holds the least time of all.
pub fn needed<'p>(planned: &'p [Planned], selected: &BTreeSet<&str>, limit_s: f64) -> Vec<&'p str> {
    let is_selected = |it: &&Planned| selected.contains(it.full_id.as_str());
    let cases = || planned.iter().filter(is_selected).filter(|it| it.target != CALIBRATION);
    let devices: BTreeSet<&str> = cases().map(|it| it.device.as_str()).collect();
    let products: BTreeSet<_> = cases().map(|it| (it.device.as_str(), &it.dtype)).collect();
    let compiles = cases().any(|it| it.compile.is_some());
    let is_needed = |it: &&Planned| match it.probe.as_deref().unwrap_or_default() {
        _ if it.target != CALIBRATION || is_selected(it) => false,
        "compiled_call" => compiles && devices.contains(it.device.as_str()),
        probe if probe.starts_with("matmul") => products.contains(&(it.device.as_str(), &it.dtype)),
        _ => devices.contains(it.device.as_str()),
    };
    let mut units: BTreeMap<(&str, &str), Unit<'p>> = BTreeMap::new();
    for case in planned.iter().filter(is_needed) {
        let unit = units.entry(case.unit()).or_default();
        unit.ids.push(&case.full_id);
        unit.bytes = unit.bytes.max(case.memory_bytes.unwrap_or_default());
        unit.least_s += case.seconds_at_least;
    }
    // A limit: a group in a dtype, with the sizes of its units.
    let mut limits: BTreeMap<(&str, &str), Vec<Unit<'p>>> = BTreeMap::new();
    for ((group, parameter), unit) in units {
        let dtype = parameter.split('-').next().unwrap_or_default();
        limits.entry((group, dtype)).or_default().push(unit);
    }
    for sizes in limits.values_mut() {
        sizes.sort_by_key(|unit| unit.bytes);
    }
    let (mut ids, mut left_s) = (Vec::new(), limit_s);
    while limits.values().any(|sizes| !sizes.is_empty()) {
        for unit in limits.values_mut().filter_map(Vec::pop) {
            if unit.least_s <= left_s {
                left_s -= unit.least_s;
                ids.extend(unit.ids);
            }
        }
    }
    ids
}

/// A regular expression that matches these ids and no others.
pub fn filter(ids: &[&str]) -> String {
    let escaped: Vec<String> =
        ids.iter().map(|id| id.replace('.', "\\.").replace('+', "\\+")).collect();
    format!("^(?:{})$", escaped.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(id: &str, probe: Option<&str>, bytes: u64) -> Planned {
        let target = id.split('/').next().expect("a mode").to_owned();
        let dtype = id.rsplit('/').next().and_then(|it| it.split('-').next()).map(str::to_owned);
        Planned {
            full_id: id.to_owned(),
            target,
            device: if id.contains("/cuda/") { "cuda" } else { "cpu" }.to_owned(),
            dtype,
            probe: probe.map(str::to_owned),
            compile: id.contains("+compile").then(|| "default".into()),
            memory_bytes: Some(bytes),
            seconds: 9.0,
            seconds_at_least: 2.0,
        }
    }

    fn plan() -> Vec<Planned> {
        vec![
            case("calibration/c/matmul/cuda/1-thread/bf16-8", Some("matmul"), 8),
            case("calibration/c/matmul/cuda/1-thread/f32-8", Some("matmul"), 8),
            case("calibration/c/copy/cuda/1-thread/f32-1", Some("copy"), 1),
            case("calibration/c/copy/cuda/1-thread/f32-9", Some("copy"), 9),
            case("calibration/c/copy/cuda/all-threads/f32-9", Some("copy"), 9),
            case("calibration/c/copy/cpu/1-thread/f32-9", Some("copy"), 9),
            case("calibration/c/compiled_call/cuda/1-thread/f32-default", Some("compiled_call"), 0),
            case("inference/a/linear/cuda/baseline/bf16-1x2x3", None, 0),
            case("inference/a/linear/cuda/int8wo+compile/bf16-1x2x3", None, 0),
        ]
    }

    #[test]
    fn only_limits_of_the_selected_devices_and_dtypes_are_needed() {
        let plan = plan();
        let needed = |selected: &[usize], limit_s: f64| -> Vec<usize> {
            let ids = selected.iter().map(|at| plan[*at].full_id.as_str()).collect();
            let ids = needed(&plan, &ids, limit_s);
            ids.iter().map(|id| plan.iter().position(|it| it.full_id == *id).unwrap()).collect()
        };
        assert_eq!(needed(&[7], 30.0), [3, 4, 0, 2]);
        // The largest sizes come first, and a unit is not divided.
        assert_eq!(needed(&[7], 6.0), [3, 4, 0]);
        assert_eq!(needed(&[7], 3.0), [0]);
        assert_eq!(needed(&[8], 30.0), [6, 3, 4, 0, 2]);
        // A limit that the filter names is measured anyway, and needs no other.
        assert_eq!(needed(&[7, 0, 3, 4], 30.0), [2]);
        assert_eq!(needed(&[5], 30.0), [0; 0]);
    }

    #[test]
    fn a_filter_matches_ids_by_the_letter() {
        assert_eq!(filter(&["a/b+c", "d-1.5"]), r"^(?:a/b\+c|d-1\.5)$");
    }
}
