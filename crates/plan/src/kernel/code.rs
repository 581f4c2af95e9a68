//! Rust source that turns the kernels' files into modules and builds what they measure.
//!
//! It names everything by `generated::…`, the library's part of it, which the bench target imports.
//! The files of a kernel are modules of one module, where they find the baseline as `super::kernel`.

use std::fmt::Write as _;

use super::Kernel;
use super::files::KernelFile;
use super::source::{EntryPoint, REFERENCE};
use crate::diagnostic::{Diagnostic, Diagnostics};

/// Files of one folder share their helpers, each as a module of its own.
const SHARED: &str =
    "#[allow(clippy::duplicate_mod, reason = \"files of one folder share their helpers\")]";

/// The functions of a file without a type, with their signatures. rustc shows the line that one does
/// not fit into, up to 140 characters of it, and so the signature.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    (
        "run",
        "run_benchmark",
        "fn(&ProblemSize, &KernelContext) -> Result<impl IntoTensor, Refusal>",
    ),
    ("flops", "flops", "fn(&ProblemSize) -> u64"),
    ("bytes", "bytes", "fn(&ProblemSize, Dtype) -> u64"),
];

/// The signature of the function that computes what all files of a folder should, where no task does.
const COMPUTES: &str = "fn(&ProblemSize, &KernelContext) -> Result<Tensor, Refusal>";

/// The modules, and the function that prepares a case of any. Two files of one name are an error, as cases
/// name their files.
pub(crate) fn source<'k>(
    kernels: impl IntoIterator<Item = &'k Kernel>,
) -> Result<String, Diagnostics> {
    let kernels = distinct(kernels)?;
    let (mut text, mut entries) = ("\n".to_owned(), String::new());
    for (index, kernel) in kernels.iter().enumerate() {
        if kernel.baseline().module.is_none() {
            text += &module(index, kernel);
        }
        text += &problem(index, kernel);
        for (place, file) in kernel.files.iter().enumerate() {
            text += &make(index, place, file);
            let (name, made) = (&file.file, format!("make_{index}_{place}"));
            let entry =
                format_args!("    generated::Entry {{ file: {name:?}, kernel: {made} }},\n");
            add(&mut entries, entry);
        }
    }
    add(&mut text, format_args!("const KERNELS: &[generated::Entry] = &[\n{entries}];\n\n"));
    Ok(text
        + "fn prepare(\n    case: &generated::Case,\n\
        ) -> Result<Box<dyn generated::Workload>, generated::Refusal> {\n    \
        generated::prepare(KERNELS, case)\n}\n")
}

/// Each kernel once, also where several configs find it.
fn distinct<'k>(
    kernels: impl IntoIterator<Item = &'k Kernel>,
) -> Result<Vec<&'k Kernel>, Diagnostics> {
    let mut kept: Vec<&'k Kernel> = Vec::new();
    for kernel in kernels {
        let first = kernel.baseline();
        let Some(other) = kept.iter().find(|it| it.baseline().file == first.file) else {
            kept.push(kernel);
            continue;
        };
        let other = &other.baseline().path;
        if first.path != *other {
            let message = format!("{} has the same name inside its package", other.display());
            let remedy = "measure the two packages one after the other";
            return Err(Diagnostic::whole_file(&first.path, message, remedy).into());
        }
    }
    Ok(kept)
}

/// The module of a kernel's file.
fn name(place: usize) -> String {
    if place == 0 { "kernel".to_owned() } else { format!("file_{place}") }
}

/// The Rust path of a file's module, which may be one of another crate.
fn path(index: usize, place: usize, file: &KernelFile) -> String {
    file.module.clone().unwrap_or_else(|| format!("kernel_{index}::{}", name(place)))
}

fn module(index: usize, kernel: &Kernel) -> String {
    let mut text = format!("{SHARED}\nmod kernel_{index} {{\n");
    for (place, file) in kernel.files.iter().enumerate() {
        let path = file.path.to_str().expect("the search refuses other paths");
        let module = name(place);
        add(&mut text, format_args!("    #[path = {path:?}]\n    pub mod {module};\n"));
    }
    text + "}\n\n"
}

/// The function that states the problem at the size that is given.
fn problem(index: usize, kernel: &Kernel) -> String {
    let baseline = kernel.baseline();
    let module = path(index, 0, baseline);
    let struct_name = format!("{module}::ProblemSize");
    let fields = kernel.fields();
    let given = if fields.is_empty() { "_given" } else { "given" };
    let mut text = format!(
        "fn problem_{index}(\n    {given}: &generated::Fields,\n\
         ) -> Result<generated::Problem<{struct_name}>, generated::Refusal> {{\n"
    );
    if kernel.size.has_default && !fields.is_empty() {
        add(&mut text, format_args!("    let mut size = <{struct_name} as Default>::default();\n"));
        for field in fields {
            let (ident, name) = (&field.ident, &field.name);
            let read = format_args!(
                "    if let Some(value) = generated::read(given, {name:?})? {{\n        \
                 size.{ident} = value;\n    }}\n"
            );
            add(&mut text, read);
        }
    } else {
        add(&mut text, format_args!("    let size = {struct_name} {{\n"));
        for field in fields {
            let (ident, name) = (&field.ident, &field.name);
            let read = format_args!("        {ident}: generated::required(given, {name:?})?,\n");
            add(&mut text, read);
        }
        text += "    };\n";
    }
    text += "    let shown = generated::Fields::from([\n";
    for field in fields {
        let (ident, name) = (&field.ident, &field.name);
        let shown =
            format_args!("        ({name:?}.to_owned(), generated::show(&size.{ident})),\n");
        add(&mut text, shown);
    }
    text += "    ]);\n";
    let made = if kernel.size.has_task {
        "of_task(size, shown))".to_owned()
    } else {
        let path = format!("{module}::{REFERENCE}");
        // It may do without its second argument.
        let reference = match baseline.form.arguments(REFERENCE) {
            Some(1) => format!("Some(|size, _| {path}(size))"),
            Some(_) => format!("Some({path})"),
            None => "None".to_owned(),
        };
        format!(
            "without_task(\n        size,\n        shown,\n        {reference}, // {COMPUTES}\n    ))"
        )
    };
    text + "    Ok(generated::Problem::" + &made + "\n}\n\n"
}

fn make(index: usize, place: usize, file: &KernelFile) -> String {
    let module = path(index, place, file);
    let (mut body, is_generic) = match &file.form {
        EntryPoint::Implementation { ident, is_generic, .. } => {
            let generics = if *is_generic { "<T>" } else { "" };
            let kernel = format!("generated::kernel::<{module}::{ident}{generics}>");
            (format!("    Ok({kernel}(problem, context))\n"), *is_generic)
        }
        EntryPoint::Function { is_generic, .. } => {
            (function(&module, &file.form, *is_generic), *is_generic)
        }
    };
    if is_generic {
        body = format!("    generated::in_precision!(context, T => {{\n{body}    }})\n");
    }
    format!(
        "fn make_{index}_{place}(\n    given: &generated::Fields,\n    context: &generated::KernelContext,\n\
         ) -> Result<generated::UserKernel, generated::Refusal> {{\n    \
         let problem = problem_{index}(given)?;\n{body}}}\n\n"
    )
}

/// The call that takes a file's functions.
fn function(module: &str, form: &EntryPoint, is_generic: bool) -> String {
    let mut text = "    let parts = generated::Function {\n".to_owned();
    for (part, name, signature) in FUNCTIONS {
        let name = if *part == "run" { form.timed_function().unwrap_or(name) } else { name };
        let generics = if *part == "run" && is_generic { "::<T>" } else { "" };
        let path = format!("{module}::{name}{generics}");
        // All but `flops` may do without their second argument.
        let value = match form.arguments(name) {
            Some(1) if *part != "flops" => format!("|size, _| {path}(size)"),
            Some(_) => path,
            None => "None".to_owned(),
        };
        let value =
            if *part == "run" || value == "None" { value } else { format!("Some({value})") };
        add(&mut text, format_args!("        {part}: {value}, // {signature}\n"));
    }
    text + "    };\n    generated::function(problem, context, parts)\n"
}

pub(crate) fn add(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("writing to a string does not fail");
}
