//! The libtorch that the benchmarks get: the bundle's, or one of the host.

use std::path::{Path, PathBuf};

use plan::results::variable;

use super::super::manifest::Torch;
use crate::ask::first_line;
use crate::error::{Error, Result};
use crate::template::quoted;
use ::libtorch::{COMPILER_PYTHON, Libtorch};

/// It, and who chose it.
#[derive(Debug, PartialEq, Eq)]
pub struct LibtorchChoice {
    pub libtorch: Libtorch,
    pub by: String,
}

/// Prints the folder of Python's torch without importing it, which takes seconds.
const FIND: &str = "import importlib.util as u; s = u.find_spec('torch'); \
    print(s.submodule_search_locations[0] if s and s.submodule_search_locations else '')";

/// The one that is `named`; else the bundle's; else that of LIBTORCH; else that of Python.
pub fn choose(bundle: &Path, torch: &Torch, named: Option<&Path>) -> Result<LibtorchChoice> {
    if let Some(root) = named {
        return fitting(torch, root, "--libtorch");
    }
    if let Some(folder) = &torch.folder {
        let (root, has_cuda) = (bundle.join(folder), torch.cuda.is_some());
        let libtorch = Libtorch { root, version: torch.version.clone(), has_cuda };
        return Ok(LibtorchChoice { libtorch, by: "the bundle".to_owned() });
    }
    if let Some(root) = variable("LIBTORCH") {
        return fitting(torch, Path::new(&root), "LIBTORCH");
    }
    let python = PathBuf::from(variable(COMPILER_PYTHON).unwrap_or_else(|| "python3".into()));
    let none = |why: String| {
        let release = &torch.release;
        let requirement = quoted(&format!("torch=={release}"));
        Error::new(format!("the bundle has no libtorch, and this host has none: {why}"))
            .remedy(format!("name a libtorch {release}: --libtorch DIR"))
            .remedy(format!("install it: pip install {requirement}"))
            .remedy("make the bundle without --without-libtorch")
    };
    let shown = python.display();
    match first_line(&python, ["-c", FIND]) {
        Err(why) => Err(none(format!("{shown}: {why}"))),
        Ok(root) if root.is_empty() => Err(none(format!("{shown} has no torch"))),
        Ok(root) => fitting(torch, Path::new(&root), &format!("{shown}'s torch")),
    }
}

/// A libtorch of the host, if the benchmarks can use it.
fn fitting(torch: &Torch, root: &Path, by: &str) -> Result<LibtorchChoice> {
    let release = &torch.release;
    let requirement = quoted(&format!("torch=={release}"));
    let other = |what: String| {
        Error::new(format!("{by}: {what}"))
            .remedy(format!("name the folder of a libtorch {release}: --libtorch DIR"))
            .remedy(format!("install it: pip install {requirement}"))
    };
    // LD_LIBRARY_PATH takes whole paths.
    let root =
        root.canonicalize().map_err(|error| other(format!("{}: {error}", root.display())))?;
    let found = Libtorch::of_programs(&root).map_err(other)?;
    if let (Some(cuda), false) = (&torch.cuda, found.has_cuda) {
        return Err(other(format!(
            "the libtorch in {} is without CUDA, and the benchmarks were built with CUDA {cuda}",
            root.display()
        )));
    }
    Ok(LibtorchChoice { libtorch: found, by: format!("{by} ({})", root.display()) })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::super::manifest::tests::manifest;
    use super::*;

    fn libtorch(version: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("lib")).expect("made");
        fs::write(folder.path().join(::libtorch::cpu_library()), "elf").expect("written");
        fs::write(folder.path().join("build-version"), version).expect("written");
        folder
    }

    #[test]
    fn another_version_is_refused_and_headers_are_not_needed() {
        let (bundle, mut torch) = (Path::new("/bundle"), manifest().torch);
        let chosen = choose(bundle, &torch, None).expect("the bundle has one");
        assert_eq!(chosen.libtorch.lib(), Path::new("/bundle/lib/torch/lib"));
        assert_eq!((&*chosen.by, chosen.libtorch.has_cuda), ("the bundle", false));
        let right = libtorch("2.11.0+cpu");
        let root = right.path().canonicalize().expect("it is there");
        let chosen = choose(bundle, &torch, Some(right.path())).expect("it fits");
        assert_eq!(chosen.libtorch.lib(), root.join("lib"));
        assert!(chosen.by.starts_with("--libtorch (/"), "{chosen:?}");

        torch.cuda = Some("13.0".to_owned());
        let error = choose(bundle, &torch, Some(right.path())).expect_err("it has no CUDA");
        assert!(
            error.what().contains("without CUDA, and the benchmarks were built with CUDA 13.0")
        );
        let other = libtorch("2.10.0");
        let empty = tempfile::tempdir().expect("a temporary folder");
        for (root, what) in [
            (other.path(), "wanted 2.11.0, found 2.10.0"),
            (empty.path(), "no libtorch version found"),
            (Path::new("/nowhere"), "/nowhere: No such file"),
        ] {
            let error = choose(bundle, &torch, Some(root)).expect_err(what);
            assert!(
                error.what().starts_with("--libtorch: ") && error.what().contains(what),
                "{error}"
            );
            assert!(error.to_string().contains("pip install torch==2.11.0"), "{error}");
        }
    }
}
