//! `impl Kernel for …`

use syn::spanned::Spanned;

use super::types::{Aliases, are_elements};
use super::{Reader, is_visible, problem_size, shown};

/// The trait form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Implementation {
    /// The type's name.
    pub(crate) ident: String,
    /// Whether it is one type per precision.
    pub(crate) is_generic: bool,
    /// Whether it says what its output should be.
    pub(crate) has_reference: bool,
}

/// What an implementation cannot do without.
const REQUIRED: &[(&str, &str)] = &[
    ("ProblemSize", "type ProblemSize = ProblemSize;"),
    ("prepare", "fn prepare(size: &ProblemSize, site: &Site) -> Result<Self, Refusal>"),
    ("run", "fn run(&mut self) -> Result<(), Refusal>"),
    ("output", "fn output(&self) -> Result<Tensor, Refusal>"),
];

/// Every implementation of a trait called `Kernel`.
pub(super) fn all(file: &syn::File) -> Vec<&syn::ItemImpl> {
    let is_kernel = |item: &syn::ItemImpl| {
        item.trait_
            .as_ref()
            .is_some_and(|(_, of, _)| of.segments.last().is_some_and(|last| last.ident == "Kernel"))
    };
    let items = file.items.iter().filter_map(|item| match item {
        syn::Item::Impl(item) => Some(item),
        _ => None,
    });
    items.filter(|item| is_kernel(item)).collect()
}

impl Reader<'_> {
    pub(super) fn implementation(
        &mut self,
        file: &syn::File,
        item: &syn::ItemImpl,
    ) -> Option<Implementation> {
        self.refuse_missing(item);
        self.refuse_conditional(&item.attrs);
        let aliases = Aliases::of(file);
        if !are_elements(&item.generics, &aliases) {
            self.refuse_bounds(&item.generics);
        }
        self.refuse_other_problem_size(item, &aliases);
        let Some((ident, is_generic)) = kernel_type(item) else {
            let message = format!("`impl Kernel for {}`", shown(&*item.self_ty));
            let remedy = "implement it for a type of this file: `impl Kernel for Name`, or \
                          `impl<T: Element> Kernel for Name<T>`";
            return self.error(item.self_ty.span(), message, remedy);
        };
        match visibility(file, ident) {
            None => self.error(
                item.self_ty.span(),
                format!("`{ident}` is not declared at the top of this file"),
                "declare it there, as `pub struct`",
            ),
            Some(visibility) => {
                if !is_visible(visibility) {
                    self.private(ident.span(), &ident.to_string(), &format!("pub struct {ident}"));
                }
                let has_reference = names(item).any(|name| name == "reference");
                Some(Implementation { ident: ident.to_string(), is_generic, has_reference })
            }
        }
    }

    /// What is generated makes the file's own.
    fn refuse_other_problem_size(&mut self, item: &syn::ItemImpl, aliases: &Aliases) {
        let types = item.items.iter().filter_map(|item| match item {
            syn::ImplItem::Type(of) if of.ident == problem_size::NAME => Some(&of.ty),
            _ => None,
        });
        for of in types.filter(|of| !aliases.may_be(of, problem_size::NAME)) {
            let message = format!("the implementation's `ProblemSize` is `{}`", shown(of));
            let remedy = "write `type ProblemSize = ProblemSize;`, the struct of this file";
            self.error::<()>(of.span(), message, remedy);
        }
    }

    fn refuse_missing(&mut self, item: &syn::ItemImpl) {
        for (name, signature) in REQUIRED {
            if !names(item).any(|it| it == name) {
                let message = format!("`impl Kernel` has no `{name}`");
                let remedy = format!("add `{signature}`");
                self.error::<()>(item.self_ty.span(), message, &remedy);
            }
        }
    }
}

/// The type's name, and whether it has the implementation's one parameter; `None` of any other.
fn kernel_type(item: &syn::ItemImpl) -> Option<(&syn::Ident, bool)> {
    let syn::Type::Path(syn::TypePath { qself: None, path }) = &*item.self_ty else { return None };
    let segment = path.segments.first().filter(|_| path.segments.len() == 1)?;
    let parameters: Vec<_> = item.generics.params.iter().collect();
    match (parameters.as_slice(), &segment.arguments) {
        ([], syn::PathArguments::None) => Some((&segment.ident, false)),
        ([syn::GenericParam::Type(parameter)], syn::PathArguments::AngleBracketed(of)) => {
            let arguments: Vec<_> = of.args.iter().collect();
            let [syn::GenericArgument::Type(syn::Type::Path(argument))] = arguments.as_slice()
            else {
                return None;
            };
            argument.path.is_ident(&parameter.ident).then_some((&segment.ident, true))
        }
        _ => None,
    }
}

/// How visible the type called `ident` is, if the file has it.
fn visibility<'f>(file: &'f syn::File, ident: &syn::Ident) -> Option<&'f syn::Visibility> {
    file.items.iter().find_map(|item| match item {
        syn::Item::Struct(item) if item.ident == *ident => Some(&item.vis),
        syn::Item::Enum(item) if item.ident == *ident => Some(&item.vis),
        _ => None,
    })
}

/// The names of what the implementation has.
fn names(item: &syn::ItemImpl) -> impl Iterator<Item = &syn::Ident> {
    item.items.iter().filter_map(|item| match item {
        syn::ImplItem::Fn(function) => Some(&function.sig.ident),
        syn::ImplItem::Type(of) => Some(&of.ident),
        _ => None,
    })
}
