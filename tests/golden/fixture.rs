//! Reading fixtures and comparing with them.

use std::collections::BTreeMap;
use std::fmt;
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
    /// Whether the fixtures are not our own, but those of `GOLDEN_DIR`, which may lack some.
    pub fn elsewhere() -> bool {
        std::env::var_os("GOLDEN_DIR").is_some()
    }

    /// Every fixture of that kind: `linear`, `model` or `float8_training`.
    pub fn all(kind: &str) -> Vec<Self> {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let folder = std::env::var_os("GOLDEN_DIR").map_or(own, PathBuf::from);
        let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
            .collect();
        paths.sort();
        assert!(!paths.is_empty(), "{}: no fixtures", folder.display());
        let mut fixtures: Vec<Self> = paths.iter().map(|path| Self::read(path)).collect();
        for fixture in &fixtures {
            let known = ["linear", "model", "float8_training"].contains(&fixture.text("kind"));
            assert!(known, "{fixture}: unknown kind `{}`", fixture.text("kind"));
        }
        fixtures.retain(|fixture| fixture.text("kind") == kind);
        fixtures
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
                Dtype::U8 => Kind::Uint8,
                Dtype::I8 => Kind::Int8,
                Dtype::I32 => Kind::Int,
                Dtype::I64 => Kind::Int64,
                other => panic!("{}: {name}: {other:?}", path.display()),
            };
            let size: Vec<i64> = view.shape().iter().map(|&size| size as i64).collect();
            (name.to_owned(), Tensor::from_data_size(view.data(), &size, kind))
        });
        Self { tensors: tensors.collect(), metadata, path: path.to_owned() }
    }

    /// Whether there is a tensor of that name.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
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

    /// The metadata string of that name.
    pub fn text(&self, name: &str) -> &str {
        self.metadata.get(name).unwrap_or_else(|| panic!("{self}: no `{name}`"))
    }

    /// m, k and n.
    pub fn shape(&self) -> Shape {
        let size = |name| self.text(name).parse().unwrap();
        Shape::new(size("m"), size("k"), size("n"))
    }

    /// Demands that `found` is the tensor `name` to the last bit; trailing dimensions of 1 aside,
    /// and NaN is NaN, whatever its bits.
    pub fn expect_bits(&self, name: &str, found: &Tensor) {
        let expected = self.tensor(name);
        let what = format!("{self}: {name}");
        let (found_bits, expected_bits) = (bits(found), bits(expected));
        assert_eq!(found_bits.kind(), expected_bits.kind(), "{what}: {:?}", found.kind());
        assert_eq!(found.numel(), expected.numel(), "{what}: {:?}", found.size());
        let found = found.reshape(expected.size());
        let different = found_bits.reshape(expected.size()).not_equal_tensor(&expected_bits);
        let nan = match found.kind() {
            Kind::Float8e4m3fn => {
                let nan = |bits: &Tensor| bits.bitwise_and(0x7f).eq(0x7f);
                nan(&found_bits.reshape(expected.size())).logical_and(&nan(&expected_bits))
            }
            _ => found.isnan().logical_and(&expected.isnan()),
        };
        let different = different.logical_and(&nan.logical_not()).sum(Kind::Int64).int64_value(&[]);
        assert_eq!(different, 0, "{what}: {different} of {} differ", expected.numel());
    }

    /// The norm of the difference between `found` and the tensor `name`.
    pub fn distance(&self, name: &str, found: &Tensor) -> f64 {
        let expected = self.tensor(name).to_kind(Kind::Double);
        (found.to_kind(Kind::Double) - expected).norm().double_value(&[])
    }

    /// Demands that `found` is the tensor `name` within `steps` of its dtype's precision, measured
    /// against the largest value of the row: what another order of summation can change. What is
    /// not finite has to be the same.
    pub fn expect_rounding(&self, name: &str, found: &Tensor, steps: f64) {
        let expected = self.tensor(name);
        let what = format!("{self}: {name}");
        assert_eq!((found.kind(), found.size()), (expected.kind(), expected.size()), "{what}");
        let epsilon = match expected.kind() {
            Kind::BFloat16 => 2f64.powi(-8),
            Kind::Float => 2f64.powi(-24),
            other => panic!("{what}: {other:?}"),
        };
        let (found, expected) = (found.to_kind(Kind::Double), expected.to_kind(Kind::Double));
        let finite = expected.isfinite();
        assert!(finite.equal(&found.isfinite()), "{what}: NaN or infinite elsewhere");
        let zero = expected.zeros_like();
        let (found, expected) =
            (found.where_self(&finite, &zero), expected.where_self(&finite, &zero));
        let error = (found - &expected).abs();
        let unit = (expected.abs().amax([-1], true) * epsilon).clamp_min(f64::MIN_POSITIVE);
        let worst = (error / unit).max().double_value(&[]);
        assert!(worst <= steps, "{what}: off by {worst:.2} roundings, {steps} allowed");
    }
}

impl fmt::Display for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

/// The bits of numbers as integers, which alone tell −0 from 0.
fn bits(tensor: &Tensor) -> Tensor {
    match tensor.kind() {
        Kind::BFloat16 | Kind::Half => tensor.contiguous().view_dtype(Kind::Int16),
        Kind::Float => tensor.contiguous().view_dtype(Kind::Int),
        Kind::Float8e4m3fn => tensor.contiguous().view_dtype(Kind::Uint8),
        _ => tensor.shallow_clone(),
    }
}
