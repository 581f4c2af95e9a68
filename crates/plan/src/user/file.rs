//! A file of a package that holds a recipe or a model: how configs write it, and the numbers that it takes.

use std::path::{Path, PathBuf};

use syn::spanned::Spanned;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::hash;
use crate::kernel::field::Scalar;
use crate::kernel::source::{Source, scalar, shown};
use crate::library::{Brings, Library};
use crate::words::Spelling;

/// The constant that says how configs write it.
const SPELLING: &str = "SPELLING";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserKind {
    Recipe,
    Model,
}

impl UserKind {
    /// The struct that the file declares.
    pub(crate) const fn struct_name(self) -> &'static str {
        match self {
            Self::Recipe => "Recipe",
            Self::Model => "Model",
        }
    }

    /// The trait that the struct implements.
    pub(crate) const fn trait_name(self) -> &'static str {
        match self {
            Self::Recipe => "Scheme",
            Self::Model => "Architecture",
        }
    }

    /// The kind of files that a library brings.
    pub(crate) const fn brings(self) -> Brings {
        match self {
            Self::Recipe => Brings::Recipes,
            Self::Model => Brings::Models,
        }
    }

    /// The folder of a package.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Recipe => "benches/recipes",
            Self::Model => "benches/models",
        }
    }

    /// The word for it in messages.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::Recipe => "recipe",
            Self::Model => "model type",
        }
    }
}

/// A recipe or model of a package.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UserFile {
    pub(crate) kind: UserKind,
    pub(crate) path: PathBuf,
    /// The Rust path of its module, where it is one of another crate.
    pub(crate) module: Option<String>,
    pub(crate) spelling: Spelling,
    /// The fields of its struct, as the spelling names them in turn.
    pub(crate) fields: Vec<Parameter>,
    pub(crate) hash: String,
}

/// A field of the struct: a number of the spelling.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameter {
    /// Its name in Rust, which may be `r#type`.
    pub(crate) ident: String,
    largest: u64,
}

impl UserFile {
    /// Reads the file at `path`, which may be a library's.
    pub(crate) fn read(
        kind: UserKind,
        path: &Path,
        library: Option<&Library>,
    ) -> Result<Self, Diagnostics> {
        let module = library.map(|library| library.module_of(path)).transpose()?;
        let source = Source::read(path)?;
        let spelling = spelling(&source)?;
        let fields = fields(kind, &source, &spelling)?;
        let (name, of_trait) = (kind.struct_name(), kind.trait_name());
        if !source.implements(of_trait, name) {
            let message = format!("no `impl {of_trait} for {name}`");
            let remedy = format!("implement the trait `{of_trait}` of criterion-torch for it");
            return Err(Diagnostic::whole_file(path, message, &remedy).into());
        }
        let text = std::fs::read(path).map_err(|error| {
            let remedy = "make it a file that can be read";
            Diagnostic::whole_file(path, format!("cannot be read: {error}"), remedy)
        })?;
        let (path, hash) = (path.to_owned(), hash::hex(text));
        Ok(Self { kind, path, module, spelling, fields, hash })
    }

    /// Whether `word` is spelled so, with numbers that its fields can hold.
    pub(crate) fn is_spelled(&self, word: &str) -> bool {
        let numbers = self.spelling.numbers(word);
        numbers
            .is_some_and(|it| it.iter().zip(&self.fields).all(|(it, field)| *it <= field.largest))
    }

    /// The remedy for a word that is near its spelling.
    pub(crate) fn grammar(&self) -> String {
        let limit = |(name, field): (&str, &Parameter)| {
            (field.largest < u64::from(u32::MAX))
                .then(|| format!(", {name} up to {}", field.largest))
        };
        let limits: String = self.spelling.names().zip(&self.fields).filter_map(limit).collect();
        format!("this family is written {}{limits}", self.spelling.as_str())
    }

    pub(crate) fn error(&self, message: String, remedy: &str) -> Diagnostic {
        Diagnostic::whole_file(&self.path, message, remedy)
    }
}

fn spelling(source: &Source) -> Result<Spelling, Diagnostic> {
    let declared = source.items().iter().find_map(|item| match item {
        syn::Item::Const(item) if item.ident == SPELLING => Some(item),
        _ => None,
    });
    let Some(declared) = declared else {
        let message = format!("no `pub const {SPELLING}: &str`");
        let remedy = "say how configs write it, e.g. `pub const SPELLING: &str = \"ternary-<group>\";`; \
                      begin the name of a file that is a helper with `_`";
        return Err(Diagnostic::whole_file(source.path(), message, remedy));
    };
    if matches!(declared.vis, syn::Visibility::Inherited) {
        let message = format!("`{SPELLING}` is private");
        return Err(source.error(declared.ident.span(), message, "write `pub const SPELLING`"));
    }
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &*declared.expr else {
        let message = format!("`{SPELLING}` is `{}`", shown(&*declared.expr));
        let remedy = "write the text itself: the build script reads it, and does not run it";
        return Err(source.error(declared.expr.span(), message, remedy));
    };
    Spelling::read(&text.value())
        .map_err(|(message, remedy)| source.error(text.span(), message, remedy))
}

fn fields(
    kind: UserKind,
    source: &Source,
    spelling: &Spelling,
) -> Result<Vec<Parameter>, Diagnostics> {
    let name = kind.struct_name();
    let Some(item) = source.declared(name) else {
        let message = format!("no `pub struct {name}`");
        let remedy = format!(
            "declare it, with the numbers of the spelling as its fields; without any, `pub struct {name};`"
        );
        return Err(Diagnostic::whole_file(source.path(), message, &remedy).into());
    };
    if let (syn::Fields::Unnamed(unnamed), true) = (&item.fields, !item.fields.is_empty()) {
        let message = format!("`{name}`'s fields have no names");
        let remedy = "give each the name that it has in the spelling";
        return Err(source.error(unnamed.span(), message, remedy).into());
    }
    let (mut declared, mut errors) = (Vec::new(), Vec::new());
    for field in &item.fields {
        let Some(ident) = field.ident.as_ref().map(ToString::to_string) else { continue };
        let name = ident.strip_prefix("r#").unwrap_or(&ident).to_owned();
        match parameter(source, field, ident, spelling.names().any(|it| it == name), spelling) {
            Ok(parameter) => declared.push((name, parameter)),
            Err(error) => errors.push(error),
        }
    }
    let mut fields = Vec::new();
    for number in spelling.names() {
        match declared.iter().find(|(name, _)| name == number) {
            Some((_, parameter)) => fields.push(parameter.clone()),
            None if errors.is_empty() => {
                let message = format!("`{name}` has no field `{number}`");
                let remedy = format!(
                    "the spelling `{}` has it: add `pub {number}: u64`, or take it out",
                    spelling.as_str()
                );
                errors.push(source.error(item.ident.span(), message, &remedy));
            }
            None => {}
        }
    }
    if errors.is_empty() { Ok(fields) } else { Err(Diagnostics(errors)) }
}

fn parameter(
    source: &Source,
    field: &syn::Field,
    ident: String,
    is_spelled: bool,
    spelling: &Spelling,
) -> Result<Parameter, Diagnostic> {
    let (at, name) = (field.span(), ident.trim_start_matches("r#"));
    if !is_spelled {
        let message =
            format!("the spelling `{}` does not have the field `{name}`", spelling.as_str());
        let remedy = format!("write `<{name}>` into it, or make the field a constant");
        return Err(source.error(at, message, &remedy));
    }
    let Some(Scalar::Integer(_, _, largest)) = scalar(&field.ty) else {
        let message = format!("`{name}` has the type `{}`", shown(&field.ty));
        let integers = Scalar::ALL.iter().filter(|it| matches!(it, Scalar::Integer(..)));
        let integers: Vec<&str> = integers.map(|it| it.as_str()).collect();
        let remedy = format!("use one of {}", integers.join(", "));
        return Err(source.error(field.ty.span(), message, &remedy));
    };
    if matches!(field.vis, syn::Visibility::Inherited) {
        let remedy = format!("write `pub {name}`: generated code sets it");
        return Err(source.error(at, format!("the field `{name}` is private"), &remedy));
    }
    Ok(Parameter { ident, largest: u64::try_from(largest).unwrap_or(u64::MAX) })
}
