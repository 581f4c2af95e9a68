//! The per-user folder that holds what is provisioned or compiled once, shared by all clones.
//!
//! ```text
//! <cache>/torch-2.11.0-cpu/{torch,nvidia,…}    whole, always: it appears by one rename
//! <cache>/torch-2.11.0-cpu.partial-<random>/   being installed, or left by an interrupted setup
//! <cache>/torchao-0.17.0-python3.11/           torch, torchao and Triton for Python
//! <cache>/setup.lock                           held while installing
//! <cache>/kernels/                             CUDA and Triton kernels, compiled for each GPU
//! <cache>/compiled/<key>/                      models and patterns, compiled by torch.compile: `libtorch::packages`
//! ```

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;

use crate::error::{Error, Result};
use crate::files;
use crate::flavour::Flavour;
use ::libtorch::packages::Store;
use ::libtorch::partial::is_partial;
use ::libtorch::{Libtorch, VERSION, compiled_bound};

#[derive(Debug, PartialEq, Eq)]
pub struct Cache {
    dir: PathBuf,
}

/// One whole entry.
#[derive(Debug)]
pub struct Entry {
    pub libtorch: Libtorch,
    pub manifest: Manifest,
}

impl Cache {
    pub fn of_environment() -> Result<Self> {
        let cache = Self::from_variables(|name| std::env::var_os(name))?;
        // The link in the clone needs a path that means the same everywhere.
        let dir = std::path::absolute(&cache.dir)
            .map_err(|error| Error::io("make an absolute path of", &cache.dir, &error))?;
        Ok(Self { dir })
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let dir = ::libtorch::cache_dir(variable).ok_or_else(|| {
            Error::new("no place for the cache: HOME is not set")
                .remedy("set CRITERION_TORCH_CACHE to a folder with 2 GB of room")
        })?;
        Ok(Self { dir })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn create(&self) -> Result<()> {
        fs::create_dir_all(&self.dir).map_err(|error| {
            Error::io("create the cache folder", &self.dir, &error)
                .remedy("set CRITERION_TORCH_CACHE to a folder that you can write to")
        })
    }

    /// The folder of a flavour once it is whole.
    pub fn place(&self, flavour: Flavour) -> PathBuf {
        self.dir.join(format!("torch-{VERSION}-{flavour}"))
    }

    /// The flavour, if it is there and whole.
    pub fn entry(&self, flavour: Flavour) -> Option<Entry> {
        Entry::open(&self.place(flavour)).filter(|entry| entry.manifest.flavour == flavour)
    }

    /// The folder of torch and torchao for a minor version of Python, once they are whole.
    pub fn environment(&self, python: (u32, u32)) -> PathBuf {
        ::libtorch::environment(&self.dir, python)
    }

    /// Every provisioned libtorch and torchao, of any version.
    pub fn contents(&self) -> Vec<PathBuf> {
        self.folders().into_iter().filter(|path| !is_partial(path)).collect()
    }

    /// Installations in progress, and what interrupted ones left.
    pub fn partials(&self) -> Vec<PathBuf> {
        self.folders().into_iter().filter(|path| is_partial(path)).collect()
    }

    /// Held while something is installed.
    pub fn setup_lock(&self) -> PathBuf {
        self.dir.join("setup.lock")
    }

    /// The packages of torch.compile.
    pub fn compiled(&self) -> Result<Store> {
        let bound = compiled_bound(|name| std::env::var_os(name)).map_err(|why| {
            Error::new(why)
                .remedy("unset CRITERION_TORCH_COMPILED_MB, or set it to a whole number, e.g. 4096")
        })?;
        Ok(Store::new(self.dir.join("compiled"), bound))
    }

    /// CUDA and Triton kernels that were compiled. The library's own.
    pub fn kernels(&self) -> PathBuf {
        self.dir.join("kernels")
    }

    /// Whether a name is that of a libtorch or of a Python's torch, whole or partial.
    pub fn is_provisioned(name: &str) -> bool {
        ["torch-", "torchao-"].iter().any(|kind| name.starts_with(kind))
    }

    fn folders(&self) -> Vec<PathBuf> {
        // One that cannot be read is told by whoever writes to it.
        let all = files::inside(&self.dir).unwrap_or_default();
        all.into_iter().filter(|path| Self::is_provisioned(&files::name(path))).collect()
    }
}

impl Entry {
    /// The folder as an entry of a cache, if it is whole.
    pub fn open(place: &Path) -> Option<Self> {
        let manifest = Manifest::read(place).ok()?;
        let libtorch = Libtorch::inspect(&place.join("torch")).ok()?;
        let whole = Flavour::from_libtorch(&libtorch) == manifest.flavour;
        whole.then_some(Self { libtorch, manifest })
    }
}

/// The file that marks an installation as whole. It is the last thing written into one.
const MANIFEST: &str = "criterion-torch.manifest";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The version that the wheel states, with its build suffix.
    pub version: String,
    pub flavour: Flavour,
    /// On disk. Counting takes a while, so it is done once.
    pub bytes: u64,
}

impl Manifest {
    pub fn write(&self, place: &Path) -> Result<()> {
        let Self { version, flavour, bytes } = self;
        let path = place.join(MANIFEST);
        fs::write(&path, format!("version={version}\nflavour={flavour}\nbytes={bytes}\n"))
            .map_err(|error| Error::io("write", &path, &error))
    }

    pub fn read(place: &Path) -> Result<Self> {
        let path = place.join(MANIFEST);
        Self::parse(&files::read(&path)?)
            .ok_or_else(|| Error::new(format!("{} is not a manifest", path.display())))
    }

    fn parse(text: &str) -> Option<Self> {
        let value =
            |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        Some(Self {
            version: value("version")?.to_owned(),
            flavour: Flavour::from_str(value("flavour")?, false).ok()?,
            bytes: value("bytes")?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(variables: &[(&str, &str)]) -> Result<Cache> {
        Cache::from_variables(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_nearest_variable_decides() {
        let home = ("HOME", "/home/me");
        let xdg = ("XDG_CACHE_HOME", "/big");
        let own = ("CRITERION_TORCH_CACHE", "/own");
        for (variables, dir) in [
            (vec![home, xdg, own], "/own"),
            (vec![home, xdg], "/big/criterion-torch"),
            (vec![home, ("XDG_CACHE_HOME", "")], "/home/me/.cache/criterion-torch"),
        ] {
            assert_eq!(cache(&variables), Ok(Cache { dir: dir.into() }));
        }
        let error = cache(&[]).expect_err("there is no place");
        assert!(error.to_string().contains("set CRITERION_TORCH_CACHE"), "{error}");
    }

    #[test]
    fn version_and_flavour_name_the_place() {
        let cache = Cache { dir: "/own".into() };
        assert_eq!(cache.place(Flavour::Cpu), Path::new("/own/torch-2.11.0-cpu"));
        assert_eq!(cache.place(Flavour::Cuda), Path::new("/own/torch-2.11.0-cuda"));
    }

    #[test]
    fn a_cache_that_is_not_there_holds_nothing() {
        let cache = Cache { dir: "/nowhere/at/all".into() };
        assert!(cache.partials().is_empty());
        assert!(cache.contents().is_empty());
        assert!(cache.entry(Flavour::Cpu).is_none());
    }

    #[test]
    fn what_is_written_is_read() {
        let place = std::env::temp_dir().join(format!("xtask-manifest-{}", std::process::id()));
        fs::create_dir_all(&place).expect("make a scratch folder");
        assert!(Manifest::read(&place).is_err());
        for flavour in [Flavour::Cpu, Flavour::Cuda] {
            let manifest = Manifest { version: "2.11.0+cu130".into(), flavour, bytes: 731_000_000 };
            manifest.write(&place).expect("write the manifest");
            assert_eq!(Manifest::read(&place), Ok(manifest));
        }
        fs::remove_dir_all(&place).expect("remove the scratch folder");
    }

    #[test]
    fn a_cut_off_manifest_is_none() {
        let whole = "version=2.11.0\nflavour=cpu\nbytes=1\n";
        assert!(Manifest::parse(whole).is_some());
        for cut in ["", "version=2.11.0\n", "version=2.11.0\nflavour=cpu\nbytes=", "flavour=rocm"] {
            assert_eq!(Manifest::parse(cut), None, "{cut:?}");
        }
    }
}
