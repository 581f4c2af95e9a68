//! `pub struct ProblemSize`: the keys of a `bench.yaml`'s `problem_size`.

use syn::spanned::Spanned;

use super::{Reader, is_visible, position, shown};
use crate::kernel::field::{Field, FieldType, Scalar};

/// The struct's name.
pub(super) const NAME: &str = "ProblemSize";

/// Longest array that serde reads.
const LONGEST: usize = 32;

/// The struct.
pub(super) struct ProblemSize {
    pub(super) fields: Vec<Field>,
    pub(super) has_default: bool,
    pub(super) at: (usize, usize),
}

impl Reader<'_> {
    pub(super) fn problem_size(&mut self, file: &syn::File) -> Option<ProblemSize> {
        let named = file.items.iter().find_map(|item| match item {
            syn::Item::Struct(item) if item.ident == NAME => Some(item),
            _ => None,
        });
        let Some(item) = named else {
            if let Some(span) = imported(file) {
                let message = format!("`{NAME}` comes from elsewhere");
                let remedy = "declare `pub struct ProblemSize` in this very file: its fields are read \
                              from here";
                return self.error(span, message, remedy);
            }
            return self.whole_file(
                format!("no `pub struct {NAME}`"),
                "add one, with the keys of `problem_size` as its fields; without any, \
                 `pub struct ProblemSize;`",
            );
        };
        self.refuse_conditional(&item.attrs);
        if !is_visible(&item.vis) {
            self.private(item.ident.span(), NAME, "pub struct ProblemSize");
        }
        if !item.generics.params.is_empty() {
            let remedy = "write its fields with their types";
            return self.error(item.generics.span(), format!("`{NAME}` is generic"), remedy);
        }
        let has_default = derives_default(&item.attrs) || implements_default(file);
        let at = position(item.ident.span());
        Some(ProblemSize { fields: self.fields(&item.fields)?, has_default, at })
    }

    fn fields(&mut self, fields: &syn::Fields) -> Option<Vec<Field>> {
        if let syn::Fields::Unnamed(unnamed) = fields {
            let remedy = "give each a name, by which a bench.yaml sets it";
            return self.error(unnamed.span(), format!("`{NAME}`'s fields have no names"), remedy);
        }
        // All are read before any error ends this, so that each error is reported.
        let read: Vec<Option<Field>> = fields.iter().map(|field| self.field(field)).collect();
        read.into_iter().collect()
    }

    fn field(&mut self, field: &syn::Field) -> Option<Field> {
        let ident = field.ident.as_ref()?;
        self.refuse_conditional(&field.attrs);
        let spelled = ident.to_string();
        let name = spelled.strip_prefix("r#").unwrap_or(&spelled).to_owned();
        if !is_visible(&field.vis) {
            self.private(ident.span(), &name, &format!("pub {spelled}"));
        }
        let Some(kind) = field_type(&field.ty) else {
            let message = format!("`{name}` has the type `{}`", shown(&field.ty));
            let scalars: Vec<&str> = Scalar::ALL.iter().map(|scalar| scalar.as_str()).collect();
            let remedy = format!(
                "use one of {}, or `Vec<T>` or `[T; N]` of these, N a number up to {LONGEST}",
                scalars.join(", ")
            );
            return self.error(field.ty.span(), message, &remedy);
        };
        Some(Field { ident: spelled, name, kind })
    }

    /// Reports that the generated code cannot name it.
    pub(super) fn private(&mut self, span: proc_macro2::Span, name: &str, remedy: &str) {
        self.error::<()>(span, format!("`{name}` is private"), &format!("write `{remedy}`"));
    }
}

/// The place from which the file gets a `ProblemSize` that it does not declare as a struct.
fn imported(file: &syn::File) -> Option<proc_macro2::Span> {
    file.items.iter().find_map(|item| match item {
        syn::Item::Use(item) => imported_by(&item.tree),
        syn::Item::Type(item) if item.ident == NAME => Some(item.ident.span()),
        _ => None,
    })
}

fn imported_by(tree: &syn::UseTree) -> Option<proc_macro2::Span> {
    match tree {
        syn::UseTree::Path(path) => imported_by(&path.tree),
        syn::UseTree::Group(group) => group.items.iter().find_map(imported_by),
        syn::UseTree::Name(name) if name.ident == NAME => Some(name.ident.span()),
        syn::UseTree::Rename(rename) if rename.rename == NAME => Some(rename.rename.span()),
        syn::UseTree::Name(_) | syn::UseTree::Rename(_) | syn::UseTree::Glob(_) => None,
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
        syn::Type::Path(path) => {
            let last = path.path.segments.last()?;
            match &last.arguments {
                syn::PathArguments::None => scalar(kind).map(FieldType::Scalar),
                syn::PathArguments::AngleBracketed(of) if last.ident == "Vec" => {
                    match of.args.first()? {
                        syn::GenericArgument::Type(of) if path.qself.is_none() => {
                            Some(FieldType::List { of: scalar(of)?, length: None })
                        }
                        _ => None,
                    }
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn scalar(kind: &syn::Type) -> Option<Scalar> {
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

fn implements_default(file: &syn::File) -> bool {
    file.items.iter().any(|item| match item {
        syn::Item::Impl(syn::ItemImpl { trait_: Some((_, of, _)), self_ty, .. }) => {
            let is_of = of.segments.last().is_some_and(|last| last.ident == "Default");
            is_of && matches!(&**self_ty, syn::Type::Path(path) if path.path.is_ident(NAME))
        }
        _ => false,
    })
}
