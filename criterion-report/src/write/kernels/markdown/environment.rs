//! The machine and the sources of a run.

use crate::model::kernels::KernelResult;
use crate::model::{Report, machine};
use crate::units;
use crate::write::kernels::env::{Git, latest};
use crate::write::markdown::{or_absent, plain, short, table};
use crate::write::{Align, earlier};

pub fn section(report: &Report, results: &[KernelResult<'_>]) -> String {
    let Some(record) = latest(results) else {
        return "No case left a record.".to_owned();
    };
    let environment = &record.environment;
    let (host, torch) = (&environment.host, &environment.torch);
    let git = Git::of(environment).map(|git| {
        let dirty = if git.dirty { " with uncommitted changes" } else { "" };
        format!("{}{dirty}", short(git.commit))
    });
    let torchs = results.iter().filter_map(|result| Some(&result.record()?.environment.torch));
    let gpu = torchs.clone().find_map(|torch| torch.cuda_device.clone());
    let driver = torchs.clone().find_map(|torch| torch.cuda_driver.clone());
    let cuda = match (&torch.cuda, gpu) {
        (None, _) => "none in this libtorch".to_owned(),
        (Some(version), None) => format!("{version}; no case ran on a device"),
        (Some(version), Some(gpu)) => {
            let driver = driver.map(|driver| format!(", driver {driver}")).unwrap_or_default();
            format!("{version}, {gpu}{driver}")
        }
    };
    let quiet = environment.quiet.as_ref().map(|quiet| {
        let load = quiet.load_1m.map(|load| format!(", load {load:.2}")).unwrap_or_default();
        format!("{:.2} of 1{load}", quiet.score)
    });
    let rows = [
        ("Commit", or_absent(git)),
        ("Measured", format!("{} UTC", units::minute(record.timestamp))),
        ("Machine", plain(&machine(record))),
        ("OS", plain(&host.os)),
        ("Governor", or_absent(host.governor.as_deref().map(plain))),
        ("Quiet", or_absent(quiet)),
        ("libtorch", plain(&format!("{}, {}", torch.libtorch, torch.cpu_capability))),
        ("Rust", plain(environment.rustc.trim_start_matches("rustc "))),
        ("CUDA", plain(&cuda)),
    ];
    let rows = rows.map(|(what, value)| vec![what.to_owned(), value]);
    let mut out = table(&[("", Align::Left), ("", Align::Left)], &rows);
    let others = report.circumstances.len().saturating_sub(1);
    if others > 0 {
        out.push_str(&format!(
            "\nThis is of the latest result; others are of {} more. Each result has its own in \
             `summary.json`.\n",
            units::count(others, "environment"),
        ));
    }
    if let Some(note) = earlier(report) {
        out.push_str(&format!("\n{note}.\n"));
    }
    out
}
