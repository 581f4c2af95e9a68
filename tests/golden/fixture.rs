//! Reading fixtures.
#![allow(dead_code, reason = "each test program uses its own part")]

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use plan::Shape;
use tch::Tensor;

/// One fixture file.
pub struct Fixture {
    path: PathBuf,
    tensors: BTreeMap<String, Tensor>,
    metadata: BTreeMap<String, String>,
}

impl Fixture {
    /// Whether the fixtures are not our own, but those of `GOLDEN_DIR`, which may lack some.
    pub fn elsewhere() -> bool {
        std::env::var_os("GOLDEN_DIR").is_some()
    }

    /// Every fixture.
    pub fn every() -> Vec<Self> {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let folder = std::env::var_os("GOLDEN_DIR").map_or(own, PathBuf::from);
        let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
            .collect();
        paths.sort();
        assert!(!paths.is_empty(), "{}: no fixtures", folder.display());
        paths.iter().map(|path| Self::read(path)).collect()
    }

    /// Every fixture of that kind: `linear`, `model`, `float8_training` or `block_training`.
    pub fn all(kind: &str) -> Vec<Self> {
        let mut fixtures = Self::every();
        for fixture in &fixtures {
            let known = ["linear", "model", "float8_training", "block_training"]
                .contains(&fixture.text("kind"));
            assert!(known, "{fixture}: unknown kind `{}`", fixture.text("kind"));
        }
        fixtures.retain(|fixture| fixture.text("kind") == kind);
        fixtures
    }

    fn read(path: &Path) -> Self {
        let bytes =
            std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // tch reads the tensors, and not the header before them: its length, then JSON.
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header: serde_json::Value = serde_json::from_slice(&bytes[8..][..length]).unwrap();
        let metadata = serde_json::from_value(header["__metadata__"].clone()).unwrap();
        let tensors = Tensor::read_safetensors(path).unwrap().into_iter().collect();
        Self { tensors, metadata, path: path.to_owned() }
    }

    /// Whether there is a tensor of that name, or its digest.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name) || self.digest(name).is_some()
    }

    /// The digest of a tensor that is only compared bit for bit; `digest.py` says how it is made.
    pub fn digest(&self, name: &str) -> Option<&str> {
        self.find_text(&format!("digest.{name}"))
    }

    /// The tensor of that name.
    pub fn tensor(&self, name: &str) -> &Tensor {
        self.tensors.get(name).unwrap_or_else(|| panic!("{self}: no `{name}`"))
    }

    /// The tensors whose names start with `prefix`, which is cut off.
    pub fn tensors(&self, prefix: &str) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors
            .iter()
            .filter_map(move |(name, tensor)| Some((name.strip_prefix(prefix)?, tensor)))
    }

    /// The metadata string of that name, if there is one.
    pub fn find_text(&self, name: &str) -> Option<&str> {
        self.metadata.get(name).map(String::as_str)
    }

    /// The metadata string of that name.
    pub fn text(&self, name: &str) -> &str {
        self.find_text(name).unwrap_or_else(|| panic!("{self}: no `{name}`"))
    }

    /// m, k and n.
    pub fn shape(&self) -> Shape {
        let size = |name| self.text(name).parse().unwrap();
        Shape::new(size("m"), size("k"), size("n"))
    }
}

impl fmt::Display for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}
