//! Under which circumstances the cases were measured: every set of them, in full.

use plan::{Environment, HostFacts, TorchFacts};

use super::template::escape;
use crate::model::Circumstances;
use crate::read::Report;
use crate::render::units;

type Facts = Vec<(&'static str, String)>;

pub fn blocks(report: &Report) -> String {
    let several = report.circumstances.len() > 1;
    let blocks = report.circumstances.iter().enumerate();
    blocks.map(|(index, of)| block(of, several.then_some(index + 1))).collect()
}

fn block(of: &Circumstances, number: Option<usize>) -> String {
    let rows = units::count(of.rows, "case");
    let title = match number {
        Some(number) => format!("Circumstances {number}: {rows}"),
        None => rows,
    };
    let parts = [("Machine", machine(of)), ("Library", library(of)), ("Measuring", measuring(of))];
    let lists = parts.map(|(name, facts)| {
        let items: String = facts
            .iter()
            .map(|(label, text)| format!("<dt>{label}</dt><dd>{}</dd>\n", escape(text)))
            .collect();
        format!("<div><h4>{name}</h4>\n<dl>\n{items}</dl></div>\n")
    });
    let (title, facts) = (escape(&title), lists.concat());
    let facts = format!("<div class=\"facts\">\n{facts}</div>\n");
    let content = match number {
        Some(2..) => format!("<details><summary>{title}</summary>\n{facts}</details>\n"),
        _ => format!("<h3>{title}</h3>\n{facts}"),
    };
    format!("<article class=\"circumstances\">\n{content}</article>\n")
}

fn machine(of: &Circumstances) -> Facts {
    let HostFacts {
        hostname,
        os,
        os_release,
        arch,
        cpu_model,
        cpus,
        memory_bytes,
        affinity,
        numa_nodes,
        // `governors` below has all of several.
        governor: _,
        turbo,
        huge_pages,
        page_fault_ns,
        caches,
    } = &of.environment.host;
    let caches: Vec<String> = caches
        .iter()
        .map(|cache| {
            let shared = units::count(cache.cpus as usize, "CPU");
            format!("L{} {} ({shared})", cache.level, units::bytes(cache.bytes))
        })
        .collect();
    let system = [Some(os), os_release.as_ref(), arch.as_ref()];
    let system: Vec<&str> = system.into_iter().flatten().map(String::as_str).collect();
    let mut facts = vec![
        ("processor", format!("{cpu_model}, {}", units::count(*cpus as usize, "CPU"))),
        ("memory", units::bytes(*memory_bytes)),
        ("host", hostname.clone()),
        ("system", system.join(", ")),
    ];
    facts.extend(joined("GPU", &of.cuda_devices));
    facts.extend((!caches.is_empty()).then(|| ("caches", caches.join(", "))));
    facts.extend(affinity.clone().map(|cpus| ("may run on", format!("CPUs {cpus}"))));
    facts.extend(numa_nodes.map(|nodes| ("NUMA nodes", nodes.to_string())));
    facts.extend(joined("governor", &of.governors));
    facts.extend(turbo.map(|on| ("turbo", on_off(on))));
    facts.extend(huge_pages.clone().map(|pages| ("huge pages", pages)));
    facts.extend(page_fault_ns.map(|ns| ("page fault", units::time(ns))));
    facts
}

fn library(of: &Circumstances) -> Facts {
    let TorchFacts {
        libtorch,
        tch,
        cpu_capability,
        mkl,
        onednn,
        // These vary from case to case, so that all are said.
        threads: _,
        cuda_device: _,
        interop_threads,
        float32_matmul_precision,
        tf32,
        cuda,
        cuda_devices: _,
        cuda_driver,
    } = &of.environment.torch;
    let mut facts = vec![
        ("libtorch", format!("{libtorch}, tch {tch}")),
        ("instructions", cpu_capability.clone()),
    ];
    facts.extend(mkl.clone().map(|version| ("MKL", version)));
    facts.extend(onednn.clone().map(|version| ("oneDNN", version)));
    facts.extend(cuda.clone().map(|version| ("CUDA", version)));
    facts.extend(cuda_driver.clone().map(|version| ("driver", version)));
    facts.extend(joined("threads", &of.threads));
    facts.extend(interop_threads.map(|threads| ("inter-op threads", threads.to_string())));
    facts.extend(joined("allocator", &of.allocators));
    facts.push(("float32 matmul", float32_matmul_precision.clone()));
    facts.extend(tf32.map(|on| ("TF32", on_off(on))));
    facts
}

fn measuring(of: &Circumstances) -> Facts {
    let Environment { git_branch, rustc, .. } = &*of.environment;
    let mut facts = vec![("measured", units::period(of.first, of.last))];
    let git = of.environment.git();
    let branch = git_branch.as_ref().map(|branch| format!(" on {branch}")).unwrap_or_default();
    facts.extend((git != "none").then(|| ("git", git + &branch)));
    facts.push(("compiler", rustc.clone()));
    facts.extend(of.quiet.map(|quiet| ("quiet score", quiet.to_string())));
    facts.extend(of.load.map(|load| ("load", load.to_string())));
    let variables = of.environment.set_variables();
    facts.extend((!variables.is_empty()).then_some(("variables", variables)));
    facts
}

fn joined<T: ToString>(
    label: &'static str,
    values: &std::collections::BTreeSet<T>,
) -> Option<(&'static str, String)> {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    (!values.is_empty()).then(|| (label, values.join(" or ")))
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}
