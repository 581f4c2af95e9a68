//! The link flags of libtorch.

/// The libtorch that a package of the build links, by the metadata `LIBTORCH_LIB` and `CUDA` of its build
/// script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    lib: String,
    has_cuda: bool,
}

impl Linked {
    /// Reads what the package with this `links` key printed; `None` unless it is a direct
    /// dependency.
    pub fn by(links: &str) -> Option<Self> {
        Self::read(links, |name| std::env::var(name).ok())
    }

    fn read(links: &str, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let said = |key| variable(&format!("DEP_{}_{key}", links.to_uppercase()));
        let has_cuda = said("CUDA").as_deref() == Some("linked");
        Some(Self { lib: said("LIBTORCH_LIB")?, has_cuda })
    }

    /// The flags that no dependency can give to a program: where libtorch is found at run time, and CUDA,
    /// which no symbol asks for and the linker would drop.
    pub fn link(&self) {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", self.lib);
        if self.has_cuda {
            println!("cargo::rustc-link-arg=-Wl,--no-as-needed,-ltorch_cuda,-ltorch,--as-needed");
        }
    }

    /// Tells dependents the same.
    pub fn hand_on(&self) {
        let cuda = if self.has_cuda { "linked" } else { "absent" };
        println!("cargo::metadata=LIBTORCH_LIB={}", self.lib);
        println!("cargo::metadata=CUDA={cuda}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dependency_links_is_in_its_metadata() {
        let of = |cuda: Option<&str>| {
            Linked::read("criterion_torch", |name| match name {
                "DEP_CRITERION_TORCH_LIBTORCH_LIB" => Some("/opt/libtorch/lib".to_owned()),
                "DEP_CRITERION_TORCH_CUDA" => cuda.map(str::to_owned),
                _ => None,
            })
        };
        let linked = |has_cuda| Some(Linked { lib: "/opt/libtorch/lib".to_owned(), has_cuda });
        assert_eq!(of(Some("linked")), linked(true));
        assert_eq!((of(Some("absent")), of(None)), (linked(false), linked(false)));
        assert_eq!(Linked::read("criterion_torch", |_| None), None);
    }
}
