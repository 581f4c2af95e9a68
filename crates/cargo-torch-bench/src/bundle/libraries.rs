//! The parts of libtorch that programs need: the libraries that they name, and those that these name in turn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use super::elf::Elf;
use super::version::Version;
use crate::error::{Error, Result};
use crate::files;
use ::libtorch::Libtorch;

/// The folder of libtorch's parts in a bundle. Below it they lie as they do beside each other on this machine, as they
/// find each other by relative paths.
pub const FOLDER: &str = "lib";

/// libtorch opens these by name while it runs, where it uses CUDA.
const OPENED_FOR_CUDA: [&str; 2] = ["libtorch_cuda_linalg.so", "libcaffe2_nvrtc.so"];

/// The libraries that programs need.
#[derive(Debug, Default, Clone)]
pub struct Needs {
    /// libtorch's files, by their places in the bundle.
    pub libtorch: BTreeMap<String, LibraryFile>,
    /// Names of libraries that are not libtorch's.
    pub host: BTreeSet<String>,
    /// Versions of symbols of all of them.
    versions: BTreeSet<String>,
}

/// A file of libtorch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LibraryFile {
    File(PathBuf),
    /// A link to a file in the same folder.
    Link(String),
}

impl Needs {
    /// The oldest glibc that has everything.
    pub fn glibc(&self) -> Option<Version> {
        Version::newest(&self.versions, "GLIBC_")
    }

    /// Walks from the programs through libtorch's libraries; without a libtorch, over the programs alone.
    pub fn new(programs: &[PathBuf], libtorch: Option<&Libtorch>) -> Result<Self> {
        let site = libtorch.map(SitePackages::from_libtorch).transpose()?;
        let mut needs = Self::default();
        let mut queue: VecDeque<PathBuf> = programs.iter().cloned().collect();
        if let (Some(site), Some(Libtorch { has_cuda: true, .. })) = (&site, libtorch) {
            for name in OPENED_FOR_CUDA {
                site.take(&site.lib.join(name), &mut needs, &mut queue)?;
            }
        }
        while let Some(file) = queue.pop_front() {
            let Some(elf) = Elf::read(&file)? else { continue };
            needs.versions.extend(elf.versions);
            for name in elf.needed {
                let found = site.as_ref().and_then(|site| site.find(&name, &file, &elf.run_path));
                match (found, &site) {
                    (Some(path), Some(site)) => site.take(&path, &mut needs, &mut queue)?,
                    _ => drop(needs.host.insert(name)),
                }
            }
        }
        Ok(needs)
    }
}

/// The folder that libtorch and its companions lie in: Python's packages, for a wheel's.
struct SitePackages {
    base: PathBuf,
    lib: PathBuf,
    has_cuda: bool,
}

impl SitePackages {
    fn from_libtorch(libtorch: &Libtorch) -> Result<Self> {
        let root = &libtorch.root;
        let root = root.canonicalize().map_err(|error| Error::io("resolve", root, &error))?;
        let base = root.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Self { base, lib: root.join("lib"), has_cuda: libtorch.has_cuda })
    }

    /// The path of a library of this name, as the loader would look for it.
    fn find(&self, name: &str, needed_by: &Path, run_path: &[String]) -> Option<PathBuf> {
        let origin = needed_by.parent().unwrap_or(Path::new("/")).display().to_string();
        let expand = |it: &String| it.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
        let folders = run_path.iter().map(|folder| PathBuf::from(expand(folder)));
        let inside =
            |folder: PathBuf| folder.canonicalize().ok().filter(|it| it.starts_with(&self.base));
        let mut paths = folders.filter_map(inside).chain([self.lib.clone()]);
        paths.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()))
    }

    /// Takes a file into the bundle, and has it walked through.
    fn take(&self, path: &Path, needs: &mut Needs, queue: &mut VecDeque<PathBuf>) -> Result<()> {
        let place = self.place(path)?;
        if needs.libtorch.contains_key(&place) {
            return Ok(());
        }
        let real = path.canonicalize().map_err(|error| Error::io("resolve", path, &error))?;
        if real.parent() == path.parent() && real != path {
            needs.libtorch.insert(place, LibraryFile::Link(files::name(&real)));
            return self.take(&real, needs, queue);
        }
        needs.libtorch.insert(place, LibraryFile::File(real));
        queue.push_back(path.to_owned());
        // CUDA's libraries open their companions by name.
        if self.has_cuda && path.parent() != Some(self.lib.as_path()) {
            for beside in files::inside(path.parent().expect("a file lies in a folder"))? {
                if files::name(&beside).contains(".so") && beside.is_file() {
                    self.take(&beside, needs, queue)?;
                }
            }
        }
        Ok(())
    }

    fn place(&self, path: &Path) -> Result<String> {
        let inside = path.strip_prefix(&self.base).ok().and_then(Path::to_str);
        inside.map(|inside| format!("{FOLDER}/{inside}")).ok_or_else(|| {
            let base = self.base.display();
            Error::new(format!("{} is not a UTF-8 path below {base}", path.display()))
        })
    }
}

/// The folder of libtorch in a bundle.
pub fn root(libtorch: &Libtorch) -> Result<String> {
    let root = libtorch.root.canonicalize();
    let root = root.map_err(|error| Error::io("resolve", &libtorch.root, &error))?;
    Ok(format!("{FOLDER}/{}", files::name(&root)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::elf::tests::library;
    use super::*;

    /// A site of a wheel's form: `torch/lib` needs a library of `nvidia/cu13/lib`.
    fn site(folder: &Path) -> Libtorch {
        let (torch, cuda) = (folder.join("site/torch/lib"), folder.join("site/nvidia/cu13/lib"));
        let companions = format!("-L{}", cuda.display());
        let run_path = "-Wl,-rpath,$ORIGIN/../../nvidia/cu13/lib:$ORIGIN";
        library(&cuda, "libcudart.so.13", &["-Wl,-soname,libcudart.so.13"]);
        library(&cuda, "libnvrtc-builtins.so", &[]);
        library(&torch, "libc10.so", &[]);
        let needs = [&*companions, "-l:libcudart.so.13", "-lc10", "-lm", run_path];
        library(&torch, "libtorch_cpu.so", &needs);
        library(&torch, "libtorch_python.so", &[]);
        library(&torch, "libtorch_cuda_linalg.so", &[]);
        library(&torch, "libcaffe2_nvrtc.so", &[]);
        symlink("libtorch_cpu.so", torch.join("libtorch.so")).expect("linked");
        let linked = folder.join(".libtorch");
        symlink(folder.join("site/torch"), &linked).expect("linked");
        Libtorch { root: linked, version: "2.11.0+cpu".to_owned(), has_cuda: false }
    }

    #[test]
    fn only_what_is_needed_is_taken_and_keeps_its_place() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = folder.path().canonicalize().expect("it is there");
        let mut libtorch = site(&folder);
        let lib = libtorch.root.join("lib");
        let rpath = format!("-Wl,-rpath,{}", lib.display());
        let search = format!("-L{}", lib.display());
        let program = library(&folder, "program", &[&search, "-ltorch", &rpath]);
        // The linker writes the name of the library that the link leads to only if that has a soname.
        let needs =
            Needs::new(std::slice::from_ref(&program), Some(&libtorch)).expect("all is there");
        let places: Vec<&str> = needs.libtorch.keys().map(String::as_str).collect();
        let expected = [
            "lib/nvidia/cu13/lib/libcudart.so.13",
            "lib/torch/lib/libc10.so",
            "lib/torch/lib/libtorch.so",
            "lib/torch/lib/libtorch_cpu.so",
        ];
        assert_eq!(places, expected);
        let link = LibraryFile::Link("libtorch_cpu.so".to_owned());
        assert_eq!(needs.libtorch["lib/torch/lib/libtorch.so"], link);
        assert!(needs.host.contains("libc.so.6"), "{needs:?}");
        assert!(!needs.host.contains("libc10.so"), "{needs:?}");
        assert!(needs.glibc().is_some(), "{needs:?}");
        assert_eq!(root(&libtorch), Ok("lib/torch".to_owned()));

        let alone = Needs::new(std::slice::from_ref(&program), None).expect("it is there");
        assert!(alone.libtorch.is_empty() && alone.host.contains("libtorch.so"), "{alone:?}");

        libtorch.has_cuda = true;
        let needs = Needs::new(&[program], Some(&libtorch)).expect("all is there");
        for place in [
            "lib/nvidia/cu13/lib/libnvrtc-builtins.so",
            "lib/torch/lib/libtorch_cuda_linalg.so",
            "lib/torch/lib/libcaffe2_nvrtc.so",
        ] {
            assert!(needs.libtorch.contains_key(place), "{place}: {needs:?}");
        }
        assert!(!needs.libtorch.contains_key("lib/torch/lib/libtorch_python.so"), "{needs:?}");
        fs::remove_file(folder.join("site/torch/lib/libcaffe2_nvrtc.so")).expect("it was there");
        let error = Needs::new(&[], Some(&libtorch)).expect_err("it is incomplete");
        assert!(error.what().contains("libcaffe2_nvrtc.so"), "{error}");
    }
}
