//! Rust source that turns the kernels' files into modules and builds what they measure.
//!
//! It names everything by `generated::…`, the library's part of it, which the bench target imports.

use std::fmt::Write as _;

use super::Kernel;
use super::source::{Arguments, Form, Function, Source};
use crate::diagnostic::{Diagnostic, Diagnostics};

/// Files of one folder share their helpers, each as a module of its own.
const SHARED: &str =
    "#[allow(clippy::duplicate_mod, reason = \"files of one folder share their helpers\")]";

/// What is generated of a file.
struct File<'k> {
    index: usize,
    source: &'k Source,
    /// Its name, as in `KernelWork.file`.
    name: &'k str,
    /// The file whose problem and reference are those of this one, too; itself, of a baseline.
    baseline: usize,
    baseline_name: &'k str,
}

/// The modules, and the function that prepares a case of any.
///
/// # Errors
/// Two files of one name, by which a case names its file.
pub(crate) fn source<'k>(
    kernels: impl IntoIterator<Item = &'k Kernel>,
) -> Result<String, Diagnostics> {
    let files = files(kernels)?;
    let mut text = files.iter().map(module).collect::<String>();
    text += "\nconst KERNELS: &[generated::Entry] = &[\n";
    for File { index, name, baseline_name, .. } in &files {
        add(
            &mut text,
            format_args!(
                "    generated::Entry {{ file: {name:?}, baseline: {baseline_name:?}, \
                 build: build_{index} }},\n"
            ),
        );
    }
    Ok(text
        + "];\n\n\
        fn prepare(\n    case: &generated::Case,\n\
        ) -> Result<Box<dyn generated::Workload>, generated::Refusal> {\n    \
        generated::prepare(KERNELS, case)\n}\n")
}

/// Each file once, also where several configs find it.
fn files<'k>(kernels: impl IntoIterator<Item = &'k Kernel>) -> Result<Vec<File<'k>>, Diagnostics> {
    let mut files: Vec<File<'k>> = Vec::new();
    for kernel in kernels {
        let first = kernel.baseline();
        if let Some(other) = files.iter().find(|file| file.name == first.file) {
            let (path, other) = (&first.source.path, &other.source.path);
            if path != other {
                let message = format!("{} is called the same inside its package", other.display());
                let remedy = "measure the two packages one after the other";
                return Err(Diagnostic::whole_file(path, message, remedy).into());
            }
            continue;
        }
        let (baseline, baseline_name) = (files.len(), first.file.as_str());
        for file in &kernel.files {
            let (source, name) = (&file.source, file.file.as_str());
            files.push(File { index: files.len(), source, name, baseline, baseline_name });
        }
    }
    Ok(files)
}

/// The module of a file and the functions that go with it.
fn module(file: &File<'_>) -> String {
    let index = file.index;
    let path = file.source.path.to_str().expect("the search refuses other paths");
    let mut text = format!("\n{SHARED}\n#[path = {path:?}]\nmod kernel_{index};\n\n");
    let given = if file.source.fields.is_empty() { "_given" } else { "given" };
    add(
        &mut text,
        format_args!(
            "fn size_{index}(\n    {given}: &generated::Fields,\n\
             ) -> Result<kernel_{index}::ProblemSize, generated::Refusal> {{\n{}}}\n\n",
            size(file)
        ),
    );
    text + &shown(file) + &build(file)
}

/// The body that makes a problem size of what is given. A candidate's is given whole.
fn size(file: &File<'_>) -> String {
    let Source { fields, has_default, .. } = file.source;
    let of = format!("kernel_{}::ProblemSize", file.index);
    if *has_default && file.baseline == file.index && !fields.is_empty() {
        let mut text = format!("    let mut size = <{of} as Default>::default();\n");
        for field in fields {
            let (ident, name) = (&field.ident, &field.name);
            add(
                &mut text,
                format_args!(
                    "    if let Some(value) = generated::read(given, {name:?})? {{\n        \
                     size.{ident} = value;\n    }}\n"
                ),
            );
        }
        return text + "    Ok(size)\n";
    }
    let mut text = format!("    Ok({of} {{\n");
    for field in fields {
        let (ident, name) = (&field.ident, &field.name);
        let line = format_args!("        {ident}: generated::required(given, {name:?})?,\n");
        add(&mut text, line);
    }
    text + "    })\n"
}

/// The function that shows a problem size.
fn shown(file: &File<'_>) -> String {
    let index = file.index;
    let fields = &file.source.fields;
    let size = if fields.is_empty() { "_size" } else { "size" };
    let mut text = format!(
        "fn shown_{index}({size}: &kernel_{index}::ProblemSize) -> generated::Fields {{\n    \
         generated::Fields::from([\n"
    );
    for field in fields {
        let (ident, name) = (&field.ident, &field.name);
        let line = format_args!("        ({name:?}.to_owned(), generated::show(&size.{ident})),\n");
        add(&mut text, line);
    }
    text + "    ])\n}\n\n"
}

/// The function that builds the kernel. A candidate solves the baseline's problem, with its defaults.
fn build(file: &File<'_>) -> String {
    let (index, baseline) = (file.index, file.baseline);
    let size = if index == baseline {
        format!("size_{index}(given)?")
    } else {
        format!("size_{index}(&shown_{baseline}(&size_{baseline}(given)?))?")
    };
    let sizes = format!("    let size = {size};\n    let shown = shown_{index}(&size);\n");
    let body = match &file.source.form {
        Form::Implementation(form) if form.is_generic => in_precision(&format!(
            "        generated::built::<kernel_{index}::{}<T>>(size, shown, site)\n",
            form.ident
        )),
        Form::Implementation(form) => {
            format!("    generated::built::<kernel_{index}::{}>(size, shown, site)\n", form.ident)
        }
        Form::Function(form) if form.is_generic => in_precision(&function(index, form, "::<T>")),
        Form::Function(form) => function(index, form, ""),
    };
    format!(
        "fn build_{index}(\n    given: &generated::Fields,\n    site: &generated::Site,\n\
         ) -> Result<generated::Built, generated::Refusal> {{\n{sizes}{body}}}\n"
    )
}

/// `body`, in which `T` is the type of the case's precision.
fn in_precision(body: &str) -> String {
    format!("    generated::in_precision!(site, T => {{\n{body}    }})\n")
}

/// The call that takes a file's functions; `of` is what `run_benchmark` is generic over.
fn function(index: usize, form: &Function, of: &str) -> String {
    let named = |name: &str, arguments: Arguments, of: &str| match arguments {
        Arguments::SizeAnd => format!("kernel_{index}::{name}{of}"),
        Arguments::Size => format!("|size, _| kernel_{index}::{name}{of}(size)"),
    };
    let optional = |name: &str, arguments: Option<Arguments>| match arguments {
        Some(arguments) => format!("Some({})", named(name, arguments, "")),
        None => "None".to_owned(),
    };
    let flops =
        if form.has_flops { format!("Some(kernel_{index}::flops)") } else { "None".to_owned() };
    format!(
        "    let parts = generated::Function {{\n        run: {},\n        reference: {},\n        \
         flops: {flops},\n        bytes: {},\n    }};\n    \
         generated::function(size, shown, site, parts)\n",
        named("run_benchmark", form.run, of),
        optional("reference", form.reference),
        optional("bytes", form.bytes),
    )
}

fn add(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("writing to a string does not fail");
}
