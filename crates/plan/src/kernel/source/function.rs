//! `pub fn run_benchmark`, and what may stand beside it.

use syn::spanned::Spanned;

use super::types::{Aliases, are_elements};
use super::{Reader, functions, is_visible, shown};

/// The function form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function {
    /// Whether it is one function per precision.
    pub(crate) is_generic: bool,
    /// What `run_benchmark` takes.
    pub(crate) run: Arguments,
    /// What `reference` takes, if there is one.
    pub(crate) reference: Option<Arguments>,
    /// Whether there is a `flops`.
    pub(crate) has_flops: bool,
    /// What `bytes` takes, if there is one.
    pub(crate) bytes: Option<Arguments>,
}

/// What a function of a file takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arguments {
    /// The problem size.
    Size,
    /// The problem size and what the function is told besides: the site, or the dtype.
    SizeAnd,
}

/// A function as it should be.
struct Signature {
    name: &'static str,
    /// The type of the second argument, if there may be one.
    second: Option<&'static str>,
    may_be_generic: bool,
    returns: Returns,
    whole: &'static str,
}

/// What a function returns.
#[derive(Clone, Copy)]
enum Returns {
    /// `Result<_, Refusal>` of what becomes a tensor.
    Output,
    /// `Result<Tensor, Refusal>`
    Tensor,
    /// `u64`
    Count,
}

impl Returns {
    fn may_be(self, of: &syn::Type, aliases: &Aliases) -> bool {
        match self {
            Self::Output => aliases.may_be_result(of, None),
            Self::Tensor => aliases.may_be_result(of, Some("Tensor")),
            Self::Count => aliases.may_be(of, "u64"),
        }
    }

    /// What to do about another type.
    fn remedy(self, found: &str) -> String {
        match self {
            Self::Count => {
                "return the number itself, a `u64`; delete the function where it is not \
                            known"
                    .to_owned()
            }
            Self::Output if !found.contains("Result") && !found.starts_with("impl ") => {
                format!("return `Result<{found}, Refusal>`, and wrap the value in `Ok(…)`")
            }
            Self::Output => "return `Result<impl IntoTensor, Refusal>`".to_owned(),
            Self::Tensor => "return `Result<Tensor, Refusal>`".to_owned(),
        }
    }
}

/// The type of the first argument.
const SIZE: &str = "&ProblemSize";

const RUN: Signature = Signature {
    name: "run_benchmark",
    second: Some("&Site"),
    may_be_generic: true,
    returns: Returns::Output,
    whole: "pub fn run_benchmark(size: &ProblemSize, site: &Site) -> \
            Result<impl IntoTensor, Refusal>",
};

const REFERENCE: Signature = Signature {
    name: "reference",
    second: Some("&Site"),
    may_be_generic: false,
    returns: Returns::Tensor,
    whole: "pub fn reference(size: &ProblemSize, site: &Site) -> Result<Tensor, Refusal>",
};

const FLOPS: Signature = Signature {
    name: "flops",
    second: None,
    may_be_generic: false,
    returns: Returns::Count,
    whole: "pub fn flops(size: &ProblemSize) -> u64",
};

const BYTES: Signature = Signature {
    name: "bytes",
    second: Some("Dtype"),
    may_be_generic: false,
    returns: Returns::Count,
    whole: "pub fn bytes(size: &ProblemSize, dtype: Dtype) -> u64",
};

impl Reader<'_> {
    pub(super) fn function(&mut self, file: &syn::File, run: &syn::ItemFn) -> Option<Function> {
        let is_generic = run.sig.generics.type_params().next().is_some();
        let aliases = Aliases::of(file);
        let run = self.arguments(run, &RUN, &aliases);
        let reference = self.beside(file, &REFERENCE, &aliases);
        let flops = self.beside(file, &FLOPS, &aliases);
        let bytes = self.beside(file, &BYTES, &aliases);
        Some(Function { is_generic, run: run?, reference, has_flops: flops.is_some(), bytes })
    }

    /// The function beside `run_benchmark`, if there is one that fits.
    fn beside(
        &mut self,
        file: &syn::File,
        wanted: &Signature,
        aliases: &Aliases,
    ) -> Option<Arguments> {
        let function = functions(file, wanted.name).next()?;
        self.arguments(function, wanted, aliases)
    }

    /// What the function takes, if it is as `wanted`.
    fn arguments(
        &mut self,
        function: &syn::ItemFn,
        wanted: &Signature,
        aliases: &Aliases,
    ) -> Option<Arguments> {
        let sig = &function.sig;
        let remedy = format!("write `{}`", wanted.whole);
        if !is_visible(&function.vis) {
            return self.error(
                sig.ident.span(),
                format!("`fn {}` is private", wanted.name),
                &format!("{remedy}, or give it another name"),
            );
        }
        self.refuse_conditional(&function.attrs);
        let generics: Vec<_> = sig.generics.params.iter().filter(|it| !is_lifetime(it)).collect();
        let generics_fit = match generics.as_slice() {
            [] => true,
            [syn::GenericParam::Type(_)] => wanted.may_be_generic,
            _ => false,
        };
        let is_plain = sig.asyncness.is_none() && sig.unsafety.is_none() && sig.abi.is_none();
        let returns = match &sig.output {
            syn::ReturnType::Type(_, of) => Some(&**of),
            syn::ReturnType::Default => None,
        };
        let inputs: Vec<_> = sig.inputs.iter().map(argument_type).collect();
        let arguments = match (inputs.as_slice(), wanted.second) {
            ([Some(size)], _) if size == SIZE => Some(Arguments::Size),
            ([Some(size), Some(second)], Some(wanted)) if size == SIZE && second == wanted => {
                Some(Arguments::SizeAnd)
            }
            _ => None,
        };
        match arguments {
            Some(arguments)
                if generics_fit
                    && is_plain
                    && let Some(of) = returns =>
            {
                if !are_elements(&sig.generics, aliases) {
                    self.refuse_bounds(&sig.generics);
                }
                if !wanted.returns.may_be(of, aliases) {
                    let found = shown(of);
                    let remedy = wanted.returns.remedy(&found);
                    let message = format!("`{}` returns `{found}`", wanted.name);
                    return self.error(of.span(), message, &remedy);
                }
                Some(arguments)
            }
            _ => {
                let message = format!("`{}` cannot be called with this signature", wanted.name);
                self.error(sig.span(), message, &remedy)
            }
        }
    }
}

fn is_lifetime(parameter: &syn::GenericParam) -> bool {
    matches!(parameter, syn::GenericParam::Lifetime(_))
}

/// An argument's type, the last segment of its path alone, with the reference if it is behind one.
fn argument_type(argument: &syn::FnArg) -> Option<String> {
    let syn::FnArg::Typed(argument) = argument else { return None };
    let (prefix, of) = match &*argument.ty {
        syn::Type::Reference(reference) if reference.mutability.is_none() => {
            ("&", &*reference.elem)
        }
        other => ("", other),
    };
    let syn::Type::Path(path) = of else { return None };
    path.path.segments.last().map(|last| format!("{prefix}{}", last.ident))
}
