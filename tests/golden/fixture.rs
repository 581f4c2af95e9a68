//! Reading fixtures and comparing with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plan::Shape;
use safetensors::{Dtype, SafeTensors};
use tch::{Kind, Tensor};

/// One fixture file.
pub struct Fixture {
    path: PathBuf,
    tensors: BTreeMap<String, Tensor>,
    metadata: BTreeMap<String, String>,
}

impl Fixture {
    /// Every fixture whose file name starts with `prefix`: `count` of them, so that none is missed.
    pub fn all(prefix: &str, count: usize) -> Vec<Self> {
        let folder = std::env::var_os("GOLDEN_DIR").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"),
            PathBuf::from,
        );
        let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix))
            .collect();
        paths.sort();
        assert_eq!(paths.len(), count, "{}: files {prefix}*", folder.display());
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Self {
        let bytes =
            std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let metadata = header.metadata().clone().unwrap_or_default().into_iter().collect();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let tensors = file.iter().map(|(name, view)| {
            let kind = match view.dtype() {
                Dtype::F32 => Kind::Float,
                Dtype::BF16 => Kind::BFloat16,
                Dtype::I8 => Kind::Int8,
                Dtype::I64 => Kind::Int64,
                other => panic!("{}: {name}: {other:?}", path.display()),
            };
            let size: Vec<i64> = view.shape().iter().map(|&size| size as i64).collect();
            (name.to_owned(), Tensor::from_data_size(view.data(), &size, kind))
        });
        Self { tensors: tensors.collect(), metadata, path: path.to_owned() }
    }

    /// The tensor of that name.
    pub fn tensor(&self, name: &str) -> &Tensor {
        self.tensors.get(name).unwrap_or_else(|| panic!("{}: no `{name}`", self.path.display()))
    }

    /// The tensors whose names start with `prefix`, which is cut off.
    pub fn tensors(&self, prefix: &str) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors
            .iter()
            .filter_map(move |(name, tensor)| Some((name.strip_prefix(prefix)?, tensor)))
    }

    /// The metadata string of that name.
    pub fn text(&self, name: &str) -> &str {
        self.metadata.get(name).unwrap_or_else(|| panic!("{}: no `{name}`", self.path.display()))
    }

    /// m, k and n.
    pub fn shape(&self) -> Shape {
        let size = |name| self.text(name).parse().unwrap();
        Shape::new(size("m"), size("k"), size("n"))
    }

    /// Demands that `found` is the tensor `name` to the last bit; trailing dimensions of 1 aside.
    pub fn expect_bits(&self, name: &str, found: &Tensor) {
        let expected = self.tensor(name);
        let what = format!("{}: {name}", self.path.display());
        assert_eq!(found.kind(), expected.kind(), "{what}");
        let different = bits(found).reshape(expected.size()).not_equal_tensor(&bits(expected));
        let different = different.sum(Kind::Int64).int64_value(&[]);
        assert_eq!(different, 0, "{what}: {different} of {} differ", expected.numel());
    }

    /// Demands that `found` is the tensor `name` within `steps` of its dtype's precision, measured
    /// against the largest value of the row: what another order of summation can change.
    pub fn expect_rounding(&self, name: &str, found: &Tensor, steps: f64) {
        let expected = self.tensor(name);
        let what = format!("{}: {name}", self.path.display());
        assert_eq!((found.kind(), found.size()), (expected.kind(), expected.size()), "{what}");
        let epsilon = match expected.kind() {
            Kind::BFloat16 => 2f64.powi(-8),
            Kind::Float => 2f64.powi(-24),
            other => panic!("{what}: {other:?}"),
        };
        let expected = expected.to_kind(Kind::Double);
        let error = (found.to_kind(Kind::Double) - &expected).abs();
        let unit = (expected.abs().amax([-1], true) * epsilon).clamp_min(f64::MIN_POSITIVE);
        let worst = (error / unit).max().double_value(&[]);
        assert!(worst <= steps, "{what}: off by {worst:.2} roundings, {steps} allowed");
    }
}

fn bits(tensor: &Tensor) -> Tensor {
    match tensor.kind() {
        Kind::BFloat16 => tensor.contiguous().view_dtype(Kind::Int16),
        Kind::Float => tensor.contiguous().view_dtype(Kind::Int),
        _ => tensor.shallow_clone(),
    }
}
