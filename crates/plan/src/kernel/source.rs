//! Files of Rust, read: the form of each kernel's file, and the fields of their one problem size.
//!
//! Only what the generated code has to spell is read here. Whether it fits is the compiler's to say.

use std::path::{Path, PathBuf};

use syn::spanned::Spanned;

use super::field::{Field, FieldType, Scalar};
use crate::diagnostic::{Diagnostic, Diagnostics};

/// The struct whose fields are the keys of a `bench.yaml`'s `problem_size`.
const PROBLEM_SIZE: &str = "ProblemSize";

/// The trait that says what the files of a folder compute.
const TASK: &str = "Task";

/// The function, of [`TASK`] or of a file, that computes the expected output.
pub(crate) const REFERENCE: &str = "reference";

/// The timed function of a file without a type, unless the `bench.yaml` names another.
const RUN: &str = "run_benchmark";

/// The timed function of a type.
const STEP: &str = "run";

/// Longest array that serde reads.
const LONGEST: usize = 32;

pub(crate) struct Source {
    path: PathBuf,
    syntax: syn::File,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EntryPoint {
    /// `impl Kernel for …`
    Implementation {
        ident: String,
        /// Whether there is one type for each precision.
        is_generic: bool,
    },
    /// `pub fn run_benchmark`, or the function that a `bench.yaml` names.
    Function {
        /// The function that is timed.
        run: String,
        /// Whether there is one function for each precision.
        is_generic: bool,
        /// How many arguments each function takes that the file has, by its name.
        arguments: Vec<(String, usize)>,
    },
}

impl EntryPoint {
    /// The function that is timed; `None` for a type, whose `run` is timed.
    pub(crate) fn timed_function(&self) -> Option<&str> {
        match self {
            Self::Implementation { .. } => None,
            Self::Function { run, .. } => Some(run),
        }
    }

    /// How many arguments the function called `name` takes; `None` where the file lacks it.
    pub(crate) fn arguments(&self, name: &str) -> Option<usize> {
        let Self::Function { arguments, .. } = self else { return None };
        arguments.iter().find(|(other, _)| other == name).map(|(_, count)| *count)
    }
}

/// `pub struct ProblemSize`, which one file of a kernel declares and the others import.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProblemSize {
    /// As they are declared.
    pub(crate) fields: Vec<Field>,
    /// Whether a problem size can be made of nothing.
    pub(crate) has_default: bool,
    /// Whether it implements [`TASK`].
    pub(crate) has_task: bool,
    pub(crate) at: (usize, usize),
}

impl Source {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, Diagnostic> {
        let whole_file = |message: String, remedy| Diagnostic::whole_file(path, message, remedy);
        let bytes = std::fs::read(path).map_err(|error| {
            whole_file(format!("cannot be read: {error}"), "make it a file that can be read")
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            whole_file(format!("is not UTF-8 from byte {at} on"), "save it as UTF-8")
        })?;
        let syntax = syn::parse_file(&text).map_err(|error| {
            let message = format!("not valid Rust: {error}");
            let remedy = "fix the syntax: a bracket or a quote may be unclosed";
            located(path, error.span(), message, remedy)
        })?;
        Ok(Self { path: path.to_owned(), syntax })
    }

    /// `named` is the function that the `bench.yaml` names. A file without that function is read as
    /// if none were named.
    pub(crate) fn form(&self, named: Option<&str>) -> Result<EntryPoint, Diagnostic> {
        let implementations: Vec<_> = self.implementations().collect();
        let run = self.timed_function(named);
        match (implementations.as_slice(), run) {
            ([], None) => Err(Diagnostic::whole_file(
                &self.path,
                "neither `impl Kernel for …` nor `pub fn run_benchmark`".to_owned(),
                "write one of the two; begin the name of a file that is not a kernel with `_`",
            )),
            ([], Some(run)) => {
                let arity = |it: &syn::ItemFn| (it.sig.ident.to_string(), it.sig.inputs.len());
                Ok(EntryPoint::Function {
                    run: run.sig.ident.to_string(),
                    is_generic: run.sig.generics.type_params().next().is_some(),
                    arguments: self.functions().map(arity).collect(),
                })
            }
            ([_], Some(run)) if !matches!(run.vis, syn::Visibility::Inherited) => Err(self.error(
                run.sig.ident.span(),
                format!("`pub fn {}` beside `impl Kernel for …`", run.sig.ident),
                "measure one of the two: delete the other, or put it into a file of its own",
            )),
            ([one], _) => self.implementation(one),
            ([_, second, ..], _) => Err(self.error(
                second.self_ty.span(),
                "a second `impl Kernel for …`".to_owned(),
                "put it into a file of its own in the same folder; then the two are compared",
            )),
        }
    }

    /// Whether the code that is timed names `tch` or `Tensor`, or calls one of tch's fallible methods,
    /// which all begin with `f_`.
    pub(crate) fn uses_torch(&self, form: &EntryPoint) -> bool {
        let text = match form {
            EntryPoint::Function { run, .. } => {
                self.functions().find(|it| it.sig.ident == *run).map(|it| shown(&*it.block))
            }
            EntryPoint::Implementation { .. } => {
                let steps = self.implementations().find_map(|item| method(item, STEP));
                steps.map(|step| shown(&step.block))
            }
        };
        let is_torchs = |word: &str| ["tch", "Tensor"].contains(&word) || word.starts_with("f_");
        let text = text.unwrap_or_default();
        text.split(|char: char| !(char.is_alphanumeric() || char == '_')).any(is_torchs)
    }

    fn timed_function(&self, named: Option<&str>) -> Option<&syn::ItemFn> {
        let called = |name: &str| self.functions().find(|function| function.sig.ident == name);
        named.and_then(called).or_else(|| called(RUN))
    }

    fn implementations(&self) -> impl Iterator<Item = &syn::ItemImpl> {
        self.syntax.items.iter().filter_map(|item| match item {
            syn::Item::Impl(item) if implements(item, "Kernel") => Some(item),
            _ => None,
        })
    }

    pub(crate) fn items(&self) -> &[syn::Item] {
        &self.syntax.items
    }

    fn functions(&self) -> impl Iterator<Item = &syn::ItemFn> {
        self.syntax.items.iter().filter_map(|item| match item {
            syn::Item::Fn(function) => Some(function),
            _ => None,
        })
    }

    fn implementation(&self, item: &syn::ItemImpl) -> Result<EntryPoint, Diagnostic> {
        let Some((ident, is_generic)) = kernel_type(item) else {
            let message = format!("`impl Kernel for {}`", shown(&*item.self_ty));
            let remedy = "implement it for a type of this file: `impl Kernel for Name`, or \
                          `impl<T: Element> Kernel for Name<T>`";
            return Err(self.error(item.self_ty.span(), message, remedy));
        };
        Ok(EntryPoint::Implementation { ident: ident.to_string(), is_generic })
    }

    /// The problem size that this file declares for all of its folder.
    pub(crate) fn problem_size(&self) -> Result<ProblemSize, Diagnostics> {
        let Some(item) = self.declared(PROBLEM_SIZE) else {
            let message = format!("no `pub struct {PROBLEM_SIZE}`");
            let remedy = "declare it in this very file, with the keys of `problem_size` as its \
                          fields; without any, `pub struct ProblemSize;`";
            return Err(Diagnostic::whole_file(&self.path, message, remedy).into());
        };
        if let syn::Fields::Unnamed(unnamed) = &item.fields {
            let message = format!("`{PROBLEM_SIZE}`'s fields have no names");
            let remedy = "give each a name, by which a bench.yaml sets it";
            return Err(self.error(unnamed.span(), message, remedy).into());
        }
        let (mut fields, mut errors) = (Vec::new(), Vec::new());
        for field in &item.fields {
            match self.field(field) {
                Ok(field) => fields.extend(field),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(Diagnostics(errors));
        }
        let has_default = derives_default(&item.attrs) || self.implements("Default", PROBLEM_SIZE);
        let has_task = self.implements(TASK, PROBLEM_SIZE);
        Ok(ProblemSize { fields, has_default, has_task, at: position(item.ident.span()) })
    }

    /// A second problem size in a folder, where there is one already.
    pub(crate) fn second_size(&self) -> Option<Diagnostic> {
        let item = self.declared(PROBLEM_SIZE)?;
        let message = format!("`{PROBLEM_SIZE}` is declared a second time");
        let remedy = "the files of one folder solve one problem, that of kernel.rs: write \
                      `use super::kernel::ProblemSize;` instead";
        Some(self.error(item.ident.span(), message, remedy))
    }

    /// Whether it has a reference: a method of [`TASK`] or a function beside the one that is timed.
    pub(crate) fn has_reference(&self, form: &EntryPoint) -> bool {
        let task = self.implementation_of(TASK, PROBLEM_SIZE);
        let is_method = task.is_some_and(|task| method(task, REFERENCE).is_some());
        is_method || form.arguments(REFERENCE).is_some()
    }

    /// A task or a reference that its folder, or its file, has elsewhere.
    pub(crate) fn second_task(&self, form: &EntryPoint, is_baseline: bool) -> Option<Diagnostic> {
        let task = self.implementation_of(TASK, PROBLEM_SIZE);
        let task = task.map(|it| (it.self_ty.span(), "`impl Task for ProblemSize`"));
        let mut functions = self.functions().filter(|_| form.timed_function().is_some());
        let function = functions.find(|it| it.sig.ident == REFERENCE);
        let function = function.map(|it| (it.sig.ident.span(), "`fn reference`"));
        let (span, what) = if is_baseline { task.and(function) } else { task.or(function) }?;
        let remedy = "all files of a folder have the inputs and the reference of kernel.rs, those of its \
                      `impl Task` if it has one: move it there, or delete it";
        Some(self.error(span, format!("{what} is not read"), remedy))
    }

    /// The struct called `name`.
    pub(crate) fn declared(&self, name: &str) -> Option<&syn::ItemStruct> {
        self.syntax.items.iter().find_map(|item| match item {
            syn::Item::Struct(item) if item.ident == name => Some(item),
            _ => None,
        })
    }

    fn field(&self, field: &syn::Field) -> Result<Option<Field>, Diagnostic> {
        let Some(ident) = field.ident.as_ref().map(ToString::to_string) else { return Ok(None) };
        let name = ident.strip_prefix("r#").unwrap_or(&ident).to_owned();
        match field_type(&field.ty) {
            Some(kind) => Ok(Some(Field { ident, name, kind })),
            None => {
                let message = format!("`{name}` has the type `{}`", shown(&field.ty));
                let scalars: Vec<&str> = Scalar::ALL.iter().map(|it| it.as_str()).collect();
                let remedy = format!(
                    "use one of {}, or `Vec<T>` or `[T; N]` of these, N a number up to {LONGEST}",
                    scalars.join(", ")
                );
                Err(self.error(field.ty.span(), message, &remedy))
            }
        }
    }

    /// Whether it has `impl <of_trait> for <name>`.
    pub(crate) fn implements(&self, of_trait: &str, name: &str) -> bool {
        self.implementation_of(of_trait, name).is_some()
    }

    fn implementation_of(&self, of_trait: &str, name: &str) -> Option<&syn::ItemImpl> {
        self.syntax.items.iter().find_map(|item| match item {
            syn::Item::Impl(item) => {
                let is_it = matches!(&*item.self_ty,
                    syn::Type::Path(path) if path.path.is_ident(name));
                (is_it && implements(item, of_trait)).then_some(item)
            }
            _ => None,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn error(
        &self,
        span: proc_macro2::Span,
        message: String,
        remedy: &str,
    ) -> Diagnostic {
        located(&self.path, span, message, remedy)
    }
}

fn located(path: &Path, span: proc_macro2::Span, message: String, remedy: &str) -> Diagnostic {
    let (line, column) = position(span);
    Diagnostic { line, column, ..Diagnostic::whole_file(path, message, remedy) }
}

/// Line and column, both counted from 1.
fn position(span: proc_macro2::Span) -> (usize, usize) {
    let start = span.start();
    (start.line, start.column + 1)
}

/// The source text of `node`, on one line.
pub(crate) fn shown(node: &impl Spanned) -> String {
    let text = node.span().source_text().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn implements(item: &syn::ItemImpl, name: &str) -> bool {
    let last = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
    last.is_some_and(|last| last.ident == name)
}

fn method<'f>(item: &'f syn::ItemImpl, name: &str) -> Option<&'f syn::ImplItemFn> {
    item.items.iter().find_map(|item| match item {
        syn::ImplItem::Fn(function) if function.sig.ident == name => Some(function),
        _ => None,
    })
}

/// The type's name, and whether it has the implementation's one parameter; `None` for another type.
fn kernel_type(item: &syn::ItemImpl) -> Option<(&syn::Ident, bool)> {
    let syn::Type::Path(syn::TypePath { qself: None, path }) = &*item.self_ty else { return None };
    let segment = path.segments.first().filter(|_| path.segments.len() == 1)?;
    let parameters: Vec<_> = item.generics.params.iter().collect();
    match (parameters.as_slice(), &segment.arguments) {
        ([], syn::PathArguments::None) => Some((&segment.ident, false)),
        ([syn::GenericParam::Type(parameter)], syn::PathArguments::AngleBracketed(given)) => {
            let is_parameter = |argument: &syn::GenericArgument| {
                matches!(argument, syn::GenericArgument::Type(syn::Type::Path(argument))
                    if argument.path.is_ident(&parameter.ident))
            };
            let fits = given.args.len() == 1 && given.args.iter().all(is_parameter);
            fits.then_some((&segment.ident, true))
        }
        _ => None,
    }
}

fn field_type(kind: &syn::Type) -> Option<FieldType> {
    match kind {
        syn::Type::Array(array) => {
            let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(length), .. }) = &array.len else {
                return None;
            };
            let length = length.base10_parse().ok().filter(|length| *length <= LONGEST)?;
            Some(FieldType::List { of: scalar(&array.elem)?, length: Some(length) })
        }
        syn::Type::Path(syn::TypePath { qself: None, path }) => {
            let last = path.segments.last()?;
            let syn::PathArguments::AngleBracketed(items) = &last.arguments else {
                return scalar(kind).map(FieldType::Scalar);
            };
            match items.args.first()? {
                syn::GenericArgument::Type(item) if last.ident == "Vec" => {
                    Some(FieldType::List { of: scalar(item)?, length: None })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

pub(crate) fn scalar(kind: &syn::Type) -> Option<Scalar> {
    let syn::Type::Path(syn::TypePath { qself: None, path }) = kind else { return None };
    let last = path.segments.last().filter(|last| last.arguments.is_none())?;
    Scalar::ALL.iter().copied().find(|scalar| last.ident == scalar.as_str())
}

fn derives_default(attributes: &[syn::Attribute]) -> bool {
    let mut found = false;
    for attribute in attributes.iter().filter(|it| it.path().is_ident("derive")) {
        // A list that does not parse is rustc's to report.
        let parsed = attribute.parse_nested_meta(|meta| {
            found |= meta.path.segments.last().is_some_and(|last| last.ident == "Default");
            Ok(())
        });
        found &= parsed.is_ok();
    }
    found
}
