//! What the Rust file of a kernel offers, and whether it fits.

mod function;
mod implementation;
mod problem_size;
mod types;

use std::path::{Path, PathBuf};

use syn::spanned::Spanned;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::kernel::field::Field;
pub(crate) use function::{Arguments, Function};
pub(crate) use implementation::Implementation;

/// A file of Rust that fits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Source {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The fields of its problem size, as they are declared.
    pub(crate) fields: Vec<Field>,
    /// Whether a problem size can be made of nothing.
    pub(crate) has_default: bool,
    /// Line and column of its problem size.
    pub(crate) problem_size_at: (usize, usize),
    /// What is measured.
    pub(crate) form: Form,
}

/// What is measured of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Form {
    /// `impl Kernel for …`
    Implementation(Implementation),
    /// `pub fn run_benchmark`
    Function(Function),
}

impl Source {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// Every reason why it does not fit.
    pub(crate) fn read(path: &Path) -> Result<Self, Diagnostics> {
        let whole_file = |message: String, remedy| Diagnostic::whole_file(path, message, remedy);
        let bytes = std::fs::read(path).map_err(|error| {
            whole_file(format!("cannot be read: {error}"), "make it a file that can be read")
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            whole_file(format!("is not UTF-8 from byte {at} on"), "save it as UTF-8")
        })?;
        let mut reader = Reader { path, errors: Vec::new() };
        let source = match syn::parse_file(&text) {
            Ok(file) => reader.source(&file),
            Err(error) => {
                let message = format!("not valid Rust: {error}");
                reader.error(
                    error.span(),
                    message,
                    "mend the syntax; brackets and quotes come in pairs",
                )
            }
        };
        match source {
            Some(source) if reader.errors.is_empty() => Ok(source),
            _ => Err(Diagnostics(reader.errors)),
        }
    }

    /// Whether its output can be compared with a result of another way.
    pub(crate) fn has_reference(&self) -> bool {
        match &self.form {
            Form::Implementation(form) => form.has_reference,
            Form::Function(form) => form.reference.is_some(),
        }
    }
}

/// A file being read, and what does not fit in it.
struct Reader<'p> {
    path: &'p Path,
    errors: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn source(&mut self, file: &syn::File) -> Option<Source> {
        self.refuse_conditional(&file.attrs);
        let problem_size = self.problem_size(file);
        let form = self.form(file);
        let (problem_size, form) = (problem_size?, form?);
        Some(Source {
            path: self.path.to_owned(),
            fields: problem_size.fields,
            has_default: problem_size.has_default,
            problem_size_at: problem_size.at,
            form,
        })
    }

    fn form(&mut self, file: &syn::File) -> Option<Form> {
        let implementations = implementation::all(file);
        let functions: Vec<_> = functions(file, "run_benchmark").collect();
        match (implementations.as_slice(), functions.as_slice()) {
            ([], []) => self.whole_file(
                "neither `impl Kernel for …` nor `pub fn run_benchmark`".to_owned(),
                "write one of the two; a file that is no kernel has a name that begins with `_`",
            ),
            ([], [function, ..]) => self.function(file, function).map(Form::Function),
            ([_], [function, ..]) if is_visible(&function.vis) => self.error(
                function.sig.ident.span(),
                "`pub fn run_benchmark` beside `impl Kernel for …`".to_owned(),
                "measure one of the two: delete the other, or put it into a file of its own",
            ),
            ([one], _) => self.implementation(file, one).map(Form::Implementation),
            ([_, second, ..], _) => self.error(
                second.self_ty.span(),
                "a second `impl Kernel for …`".to_owned(),
                "put it into a file of its own in the same folder; then the two are compared",
            ),
        }
    }

    /// Reports an attribute by which something is there on some machines only: the file is read on
    /// its own, and what is read is taken to be there.
    fn refuse_conditional(&mut self, attributes: &[syn::Attribute]) {
        for attribute in attributes.iter().filter(|it| it.path().is_ident("cfg")) {
            let message = format!("`{}` decides whether it is there", shown(attribute));
            let remedy = "let it be there always: put the attribute on what differs inside, or refuse \
                          at run time; a bench.yaml's `skip_conditions` skip by machine";
            self.error::<()>(attribute.span(), message, remedy);
        }
    }

    /// Reports a type parameter that is more, or something else, than an `Element`.
    fn refuse_bounds(&mut self, generics: &syn::Generics) {
        let parameters = generics.type_params().map(|it| it.ident.to_string());
        let message =
            format!("`{}` has other bounds than `Element`", parameters.collect::<String>());
        let remedy = "write `T: Element` and nothing else; or do it without the parameter: not generic, \
                      look at `site.dtype`";
        let span = generics.where_clause.as_ref().map_or(generics.span(), Spanned::span);
        self.error::<()>(span, message, remedy);
    }

    /// Reports an error at `span`; `None`, so that a reader can end with it.
    fn error<T>(&mut self, span: proc_macro2::Span, message: String, remedy: &str) -> Option<T> {
        let (line, column) = position(span);
        let whole_file = Diagnostic::whole_file(self.path, message, remedy);
        self.errors.push(Diagnostic { line, column, ..whole_file });
        None
    }

    /// Reports that something is not there; `None`, so that a reader can end with it.
    fn whole_file<T>(&mut self, message: String, remedy: &str) -> Option<T> {
        self.errors.push(Diagnostic::whole_file(self.path, message, remedy));
        None
    }
}

/// Line and column, both counted from 1.
fn position(span: proc_macro2::Span) -> (usize, usize) {
    let start = span.start();
    (start.line, start.column + 1)
}

/// Whether the generated code beside the file's module can name it.
fn is_visible(visibility: &syn::Visibility) -> bool {
    match visibility {
        syn::Visibility::Inherited => false,
        // `pub(self)` and `pub(in self)` are private, in more letters.
        syn::Visibility::Restricted(to) => !to.path.is_ident("self"),
        syn::Visibility::Public(_) => true,
    }
}

/// What is written at `span`, on one line.
fn shown(node: &impl Spanned) -> String {
    let text = node.span().source_text().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The functions of the file that are called `name`: one, unless the file does not compile.
fn functions<'f>(file: &'f syn::File, name: &str) -> impl Iterator<Item = &'f syn::ItemFn> {
    file.items.iter().filter_map(move |item| match item {
        syn::Item::Fn(function) if function.sig.ident == name => Some(function),
        _ => None,
    })
}
