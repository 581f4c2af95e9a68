//! Recognizes the types in a file by the last segments of their paths, as far as that goes without a
//! compiler. The compiler decides the rest.

use std::collections::BTreeSet;

/// Names that a file gives to types of its own choice.
pub(super) struct Aliases(BTreeSet<String>);

impl Aliases {
    pub(super) fn of(file: &syn::File) -> Self {
        let mut names = BTreeSet::new();
        for item in &file.items {
            match item {
                syn::Item::Type(item) => {
                    names.insert(item.ident.to_string());
                }
                syn::Item::Use(item) => imports(&item.tree, &mut names),
                _ => {}
            }
        }
        Self(names)
    }

    /// Whether `of` may be the type called `name`.
    pub(super) fn may_be(&self, of: &syn::Type, name: &str) -> bool {
        match of {
            syn::Type::Paren(inner) => self.may_be(&inner.elem, name),
            syn::Type::Group(inner) => self.may_be(&inner.elem, name),
            syn::Type::Macro(_) => true,
            syn::Type::Path(path) => self.path_may_be(&path.path, name),
            _ => false,
        }
    }

    /// Whether `path` may lead to what is called `name`.
    pub(super) fn path_may_be(&self, path: &syn::Path, name: &str) -> bool {
        let Some(last) = path.segments.last() else { return false };
        self.is_alias(last) || (last.ident == name && last.arguments.is_none())
    }

    /// Whether `of` may be a `Result<…, Refusal>`, of the type called `value` if one is wanted.
    pub(super) fn may_be_result(&self, of: &syn::Type, value: Option<&str>) -> bool {
        let syn::Type::Path(path) = of else { return matches!(of, syn::Type::Macro(_)) };
        let Some(last) = path.path.segments.last() else { return false };
        if self.is_alias(last) {
            return true;
        }
        let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return false };
        let arguments: Vec<_> = arguments.args.iter().collect();
        match arguments.as_slice() {
            [syn::GenericArgument::Type(ok), syn::GenericArgument::Type(error)] => {
                last.ident == RESULT
                    && value.is_none_or(|value| self.may_be(ok, value))
                    && self.may_be(error, "Refusal")
            }
            _ => false,
        }
    }

    fn is_alias(&self, segment: &syn::PathSegment) -> bool {
        self.0.contains(&segment.ident.to_string())
    }
}

/// A name under which many modules export an alias of their own.
pub(super) const RESULT: &str = "Result";

/// The names that `tree` imports things by that are called otherwise where they come from.
fn imports(tree: &syn::UseTree, names: &mut BTreeSet<String>) {
    match tree {
        syn::UseTree::Path(path) => imports(&path.tree, names),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| imports(tree, names)),
        syn::UseTree::Rename(rename) => {
            names.insert(rename.rename.to_string());
        }
        syn::UseTree::Name(name) if name.ident == RESULT => {
            names.insert(RESULT.to_owned());
        }
        syn::UseTree::Name(_) | syn::UseTree::Glob(_) => {}
    }
}

/// Whether all that is asked of the type parameters is to be an `Element`, which is what each
/// precision's type is.
pub(super) fn are_elements(generics: &syn::Generics, aliases: &Aliases) -> bool {
    let fits = |bound: &syn::TypeParamBound| match bound {
        syn::TypeParamBound::Lifetime(_) => true,
        syn::TypeParamBound::Trait(of) => {
            let is_plain = matches!(of.modifier, syn::TraitBoundModifier::None);
            is_plain && aliases.path_may_be(&of.path, "Element")
        }
        _ => false,
    };
    let is_parameter = |of: &syn::Type| match of {
        syn::Type::Path(path) => {
            generics.type_params().any(|parameter| path.path.is_ident(&parameter.ident))
        }
        _ => false,
    };
    let inline = generics.type_params().all(|parameter| parameter.bounds.iter().all(fits));
    let mut predicates = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    inline
        && predicates.all(|predicate| match predicate {
            syn::WherePredicate::Type(of) => {
                is_parameter(&of.bounded_ty) && of.bounds.iter().all(fits)
            }
            syn::WherePredicate::Lifetime(_) => true,
            _ => false,
        })
}
