//! Under which circumstances the numbers were measured.

use std::collections::BTreeSet;

use crate::model::{Circumstances, Speedup};
use crate::read::Report;
use crate::render::table::{Paint, hanging, labelled};
use crate::render::units;

/// Circumstances of the numbers, without which they say nothing. Machine and library are said again
/// only where they are others than those just said.
pub fn header(report: &Report, width: usize, colour: bool) -> String {
    let mut out = String::new();
    let several = report.circumstances.len() > 1;
    let mut said = Vec::new();
    for (index, circumstances) in report.circumstances.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let facts = facts(circumstances, &report.baseline, several);
        for (label, text) in facts.iter().filter(|fact| !said.contains(*fact)) {
            out.push_str(&labelled(label, text, width, colour));
        }
        said = facts;
        said.retain(|(label, _)| ["machine", "libtorch"].contains(label));
    }
    let beside = machines(report).into_iter().chain(runs(report)).chain(intervals(report));
    for (label, text) in beside {
        out.push_str(&labelled(label, &text, width, colour));
    }
    for line in report.run_warnings.iter().flat_map(|it| hanging("warning   ", it, width)) {
        out.push_str(&format!("{}\n", Paint::Warn.on(&line, colour)));
    }
    out
}

/// The environment variables that steer the libraries, where some were set.
pub fn variables(report: &Report, width: usize, colour: bool) -> String {
    let set: BTreeSet<String> =
        report.circumstances.iter().map(|it| it.environment.set_variables()).collect();
    let set = set.iter().filter(|it| !it.is_empty());
    set.map(|it| labelled("variables", it, width, colour)).collect()
}

/// The meaning of a speed-up's interval; `None` if there is none.
fn intervals(report: &Report) -> Option<(&'static str, String)> {
    let speedups = report.entries().filter_map(|entry| entry.speedup());
    let (covering, older): (Vec<&Speedup>, Vec<&Speedup>) =
        speedups.partition(|speedup| speedup.covers_runs());
    let covered = match covering.iter().any(|speedup| speedup.runs.is_some()) {
        true => "of times and speed-ups: where the mean of very many runs lies",
        false => "of speed-ups: where another run on this machine finds them",
    };
    let outside =
        "of one build only; another run may well lie outside (measured by an older version)";
    let text = match (covering.len(), older.len()) {
        (0, 0) => return None,
        (0, _) => format!("of speed-ups: {outside}"),
        (_, 0) => covered.to_owned(),
        (_, older) => format!("{covered}; of {older}, {outside}"),
    };
    Some(("intervals", text))
}

/// The machines by the numbers that stand beside the cases, where there are several.
fn machines(report: &Report) -> Option<(&'static str, String)> {
    let machines = report.machines.several().map(|(number, machine)| {
        format!("{number}: {} ({})", machine.name, units::count(machine.rows, "case"))
    });
    let machines: Vec<String> = machines.collect();
    (!machines.is_empty()).then(|| {
        let text = format!("{}; times of two machines do not compare", machines.join("; "));
        ("machines", text)
    })
}

/// The runs, where several are shown as one.
fn runs(report: &Report) -> Option<(&'static str, String)> {
    let names = match &report.run_names[..] {
        [] => return None,
        [only] => format!("1: {only}"),
        [first, .., last] => format!(
            "{}: {first} to {last}; times and speed-ups are of all, other values of the last that \
             measured the case",
            report.run_names.len()
        ),
    };
    Some(("runs", names))
}

fn facts(of: &Circumstances, baseline: &str, several: bool) -> Vec<(&'static str, String)> {
    let (host, torch) = (&of.environment.host, &of.environment.torch);
    let join = |items: Vec<String>| items.join(" or ");
    let threads = join(of.threads.iter().map(u32::to_string).collect());
    let plural = if threads == "1" { "" } else { "s" };
    let mut machine = format!(
        "{}, {}, {}, {}, {}",
        host.cpu_model,
        units::count(host.cpus as usize, "CPU"),
        units::bytes(host.memory_bytes),
        host.os,
        host.hostname,
    );
    for device in &of.cuda_devices {
        machine.push_str(&format!(", {device}"));
    }
    let cuda = torch.cuda.as_ref().map(|cuda| format!(", CUDA {cuda}")).unwrap_or_default();
    let library = format!(
        "{}{cuda}, {}, {threads} thread{plural}, allocator {}, float32 matmul {}",
        torch.libtorch,
        torch.cpu_capability,
        join(of.allocators.iter().cloned().collect()),
        torch.float32_matmul_precision,
    );
    let git = of.environment.git();
    let rows = if several { format!(", {}", units::count(of.rows, "case")) } else { String::new() };
    // `rustc 1.95.0 (59807616e 2026-04-14)`, or the version alone.
    let rustc = of.environment.rustc.trim_start_matches("rustc ");
    let rustc = rustc.split_once(' ').map_or(rustc, |(version, _)| version);
    let run = format!(
        "{}, baseline {baseline}, git {git}, rustc {rustc}{rows}",
        units::period(of.first, of.last)
    );
    let mut facts = vec![("machine", machine), ("libtorch", library)];
    facts.extend(quiet(of).map(|quiet| ("quiet", quiet)));
    facts.push(("measured", run));
    facts
}

/// `score 0.98, load 0.12, governor performance`, as far as known.
fn quiet(of: &Circumstances) -> Option<String> {
    let governors: Vec<&str> = of.governors.iter().map(String::as_str).collect();
    let governor = (!governors.is_empty()).then(|| format!("governor {}", governors.join(" or ")));
    let (score, load) =
        (of.quiet.map(|it| format!("score {it}")), of.load.map(|it| format!("load {it}")));
    let facts: Vec<String> = [score, load, governor].into_iter().flatten().collect();
    (!facts.is_empty()).then(|| facts.join(", "))
}
