//! Products with weights of 4 or 8 bits on tensor cores (`gemlite.py`), for several rows.

use std::cell::OnceCell;

use tch::{Device, Kind, TchError, Tensor};

use super::compile::{Constant, Specification, Type};
use super::kernel::{Forms, Kernel, Launch};
use crate::cuda::{Argument, Capability};
use native::refusal::Refusal;

/// The sizes of the blocks that a program computes, `m` by `n`, walking along k in steps of up to `k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tile {
    m: i64,
    n: i64,
    k: i64,
    warps: u32,
    stages: u32,
    /// 4 bits: Σ x comes from a kernel of its own.
    has_sums: bool,
}

const fn tile(m: i64, n: i64, k: i64, warps: u32, stages: u32, has_sums: bool) -> Tile {
    Tile { m, n, k, warps, stages, has_sums }
}

/// Tiles for weights of 4 bits, the largest first: of a hundred tried on an H100 the fastest for some number of rows.
const FOUR_BITS: [Tile; 4] = [
    tile(128, 64, 64, 4, 4, true),
    tile(64, 64, 64, 4, 4, false),
    tile(32, 64, 64, 4, 4, false),
    tile(16, 64, 64, 4, 4, false),
];
/// Tiles for weights of 8 bits, likewise. Triton 3.6 computes 128x128x64 and 256x128x64 wrongly there, with 8 warps.
const EIGHT_BITS: [Tile; 4] = [
    tile(128, 128, 32, 8, 4, false),
    tile(64, 64, 64, 4, 4, false),
    tile(32, 64, 128, 4, 4, false),
    tile(16, 64, 128, 4, 4, false),
];
/// Programs that keep a GPU busy, an H100's multiprocessors: fewer are cut into smaller tiles.
const ENOUGH: i64 = 132;
/// Blocks of W whose programs follow each other for the same rows of x.
const BAND: i64 = 8;
/// Numbers that a program of `group_sums` adds up.
const SUMMED: i64 = 4096;

/// The numbers of a product: what its kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// bfloat16 or float16.
    pub kind: Kind,
    pub n: i64,
    pub k: i64,
    /// Weights that share a scale and a zero point, with 4 bits; none with 8.
    pub group: Option<i64>,
}

/// Tensors of a product, whose sizes and dtypes the caller has checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operands<'t> {
    pub x: &'t Tensor,
    pub packed: &'t Tensor,
    pub scale: &'t Tensor,
    pub zero: Option<&'t Tensor>,
    pub out: &'t Tensor,
}

/// The kernels of a format on a device, each compiled when its tile is first needed.
#[derive(Debug)]
pub(crate) struct Products {
    format: Format,
    device: usize,
    kernels: [OnceCell<Result<Vec<Kernel>, Refusal>>; 4],
}

impl Format {
    fn tiles(self) -> [Tile; 4] {
        if self.group.is_some() { FOUR_BITS } else { EIGHT_BITS }
    }

    /// The place of the largest tile of which there are enough for `m` rows.
    fn tile(self, m: i64) -> usize {
        let programs = |it: &Tile| blocks(m, it.m) * blocks(self.n, it.n);
        let tiles = self.tiles();
        tiles.iter().position(|it| programs(it) >= ENOUGH).unwrap_or(tiles.len() - 1)
    }

    /// The kernels to compile for a tile, each with its forms, in the order of [`Self::launches`].
    fn specifications(self, tile: usize, capability: Capability) -> Vec<(Specification, Forms)> {
        let Self { kind, n, k, group } = self;
        let Tile { m: rows, n: columns, k: step, mut warps, stages, has_sums } = self.tiles()[tile];
        if has_sums && capability < (Capability { major: 9, minor: 0 }) {
            // Both operands are in registers there.
            warps *= 2;
        }
        // The largest part of a step that divides every group.
        let of_group = group.unwrap_or(k);
        let step = std::iter::successors(Some(step), |it| Some(it / 2))
            .find(|it| of_group % it == 0)
            .unwrap_or(1);
        let mut parameters = vec![
            ("x", Type::Pointer(kind)),
            ("packed", Type::Pointer(if group.is_some() { Kind::Int } else { Kind::Int8 })),
            ("scale", Type::Pointer(kind)),
            ("y", Type::Pointer(kind)),
            ("m", Type::Int),
            ("n", Type::Int),
            ("k", Type::Int),
        ];
        let mut constants: Vec<_> =
            [("GROUP", of_group), ("M", rows), ("N", columns), ("K", step), ("BAND", BAND)]
                .map(|(name, value)| (name, Constant::Integer(value)))
                .into();
        let optional = [("zero", kind, group.is_some()), ("sums", Kind::Float, has_sums)];
        for (name, kind, is_there) in optional {
            match is_there {
                true => parameters.push((name, Type::Pointer(kind))),
                false => constants.push((name, Constant::Absent)),
            }
        }
        let product = Specification {
            file: "gemlite.py",
            kernel: "gemlite_gemm",
            parameters,
            aligned: vec!["x", "packed", "y", "n", "k"],
            constants,
            warps,
            stages: Some(stages),
        };
        let sums = Specification {
            file: "gemlite.py",
            kernel: "group_sums",
            parameters: vec![
                ("x", Type::Pointer(kind)),
                ("sums", Type::Pointer(Kind::Float)),
                ("groups", Type::Long),
            ],
            aligned: vec!["x"],
            constants: vec![
                ("GROUP", Constant::Integer(of_group)),
                ("ROWS", Constant::Integer(SUMMED / of_group)),
            ],
            warps: 4,
            stages: None,
        };
        let mut all = vec![(product, Forms::for_columns(n))];
        if has_sums {
            all.insert(0, (sums, Forms::Both));
        }
        all
    }

    /// The launches for these tensors, and what lies between them.
    fn launches(
        self,
        tile: usize,
        operands: &Operands,
    ) -> Result<(Vec<Launch>, Option<Tensor>), TchError> {
        let Operands { x, packed, scale, zero, out } = *operands;
        let m = x.size2()?.0;
        let Tile { m: rows, n: columns, has_sums, .. } = self.tiles()[tile];
        let groups = m * (self.k / self.group.unwrap_or(self.k));
        let sums =
            has_sums.then(|| Tensor::f_empty([groups], (Kind::Float, x.device()))).transpose()?;
        let mut launches = Vec::new();
        if let Some(sums) = &sums {
            let arguments =
                vec![Argument::pointer(x), Argument::pointer(sums), Argument::Long(groups)];
            let each = SUMMED / self.group.unwrap_or(SUMMED);
            launches.push(Launch { programs: blocks(groups, each), arguments });
        }
        let mut arguments: Vec<_> = [x, packed, scale, out].map(Argument::pointer).into();
        for size in [m, self.n, self.k] {
            let size = i32::try_from(size)
                .map_err(|_| TchError::Shape(format!("{size} is more than the kernel takes")))?;
            arguments.push(Argument::Int(size));
        }
        arguments.extend([zero, sums.as_ref()].into_iter().flatten().map(Argument::pointer));
        let programs = blocks(m, rows).saturating_mul(blocks(self.n, columns));
        launches.push(Launch { programs, arguments });
        Ok((launches, sums))
    }
}

impl Products {
    pub fn new(format: Format, device: usize) -> Self {
        Self { format, device, kernels: Default::default() }
    }

    /// Queues y = x · Wᵀ on libtorch's current stream.
    ///
    /// # Errors
    /// Skipped without a Python that has Triton; unsupported for groups that are no power of two;
    /// what the compiler and the driver say.
    pub fn multiply(&self, operands: &Operands) -> Result<(), Refusal> {
        let m = operands.x.size2()?.0;
        let tile = self.format.tile(m);
        let kernels = self.kernels[tile].get_or_init(|| self.load(tile)).as_ref();
        let kernels = kernels.map_err(Clone::clone)?;
        let (launches, _sums) = self.format.launches(tile, operands)?;
        for (kernel, launch) in kernels.iter().zip(&launches) {
            // SAFETY: the kernels read and write what the sizes say: those of the tensors, as the
            // caller has checked, and of `sums`. Freed after, it is used again in the stream's order.
            unsafe { kernel.launch(launch) }?;
        }
        Ok(())
    }

    /// The names in records of what runs for `m` rows.
    pub fn kernels(&self, m: i64) -> &'static [&'static str] {
        match self.format.tiles()[self.format.tile(m)].has_sums {
            true => &["criterion_torch::group_sums_triton", "criterion_torch::gemlite_gemm_triton"],
            false => &["criterion_torch::gemlite_gemm_triton"],
        }
    }

    fn load(&self, tile: usize) -> Result<Vec<Kernel>, Refusal> {
        if let Some(group) = self.format.group.filter(|it| it.count_ones() != 1 || *it > SUMMED) {
            let text = format!(
                "groups of {group}, but the Triton kernel takes powers of two up to {SUMMED}"
            );
            return Err(Refusal::Unsupported(text));
        }
        let capability = Capability::for_device(self.device, "gemlite.py")?;
        let load = |(it, forms): &(_, _)| Kernel::new(it, *forms, Device::Cuda(self.device));
        self.format.specifications(tile, capability).iter().map(load).collect()
    }
}

fn blocks(size: i64, each: i64) -> i64 {
    size / each + i64::from(size % each != 0)
}

#[cfg(test)]
#[path = "gemlite_tests.rs"]
pub(super) mod tests;
