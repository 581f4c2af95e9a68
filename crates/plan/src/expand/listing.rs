//! What an entry of a config expands to: each kernel at each size, in each dtype, on each device, in each
//! of its ways is a case. The first way is the baseline.

use super::Expansion;
use crate::case::{Case, Role};
use crate::config::{Config, EntryOf, Listed};
use crate::diagnostic::Diagnostic;
use crate::id;
use crate::settings::{Profiling, Settings};
use crate::words::{CompileMode, Device, Dtype};
use crate::work::Work;

/// An entry of any config.
pub(super) trait Listing {
    type Kernel: Copy;
    type Size;
    type Way;

    fn axes(&self) -> (&[Self::Kernel], &[Device], &[Dtype]);

    fn sizes(&self, kernel: Self::Kernel) -> impl Iterator<Item = &Self::Size>;

    fn ways(&self, kernel: Self::Kernel, device: Device) -> Vec<Self::Way>;

    /// # Errors
    /// Why there can be no such case.
    fn draft(&self, place: &Place<'_, Self>, way: &Self::Way) -> Result<Draft, Diagnostic>;
}

/// What siblings have in common.
pub(super) struct Place<'a, L: Listing + ?Sized> {
    pub(super) config: &'a Config,
    pub(super) kernel: L::Kernel,
    pub(super) device: Device,
    pub(super) dtype: Dtype,
    pub(super) size: &'a L::Size,
}

/// What an entry knows of a case.
pub(super) struct Draft {
    pub(super) name: Option<String>,
    /// What the case's id says of the kernel.
    pub(super) workload: String,
    pub(super) size_name: String,
    /// What the case's id says of the size.
    pub(super) size: String,
    pub(super) work: Work,
    pub(super) profiling: Profiling,
    pub(super) settings: Settings,
    pub(super) config_hash: String,
}

pub(super) trait Expand {
    /// The cases, equal ones included, without making any.
    fn count(&self) -> usize;

    fn expand(&self, expansion: &mut Expansion, config: &Config);
}

impl<L: Listing> Expand for L {
    fn count(&self) -> usize {
        let (kernels, devices, dtypes) = self.axes();
        let cases = kernels.iter().map(|&kernel| {
            let ways: usize = devices.iter().map(|&device| self.ways(kernel, device).len()).sum();
            self.sizes(kernel).count().saturating_mul(dtypes.len()).saturating_mul(ways)
        });
        cases.fold(0, usize::saturating_add)
    }

    fn expand(&self, expansion: &mut Expansion, config: &Config) {
        let (kernels, devices, dtypes) = self.axes();
        for &kernel in kernels {
            for &device in devices {
                let ways = self.ways(kernel, device);
                for &dtype in dtypes {
                    for size in self.sizes(kernel) {
                        let place = Place { config, kernel, device, dtype, size };
                        for (index, way) in ways.iter().enumerate() {
                            let role = if index == 0 { Role::Baseline } else { Role::Candidate };
                            match self.draft(&place, way) {
                                Ok(draft) => expansion.add(config, case(&place, draft, role)),
                                Err(error) => expansion.complain(error),
                            }
                        }
                    }
                }
            }
        }
    }
}

fn case<L: Listing>(place: &Place<'_, L>, draft: Draft, role: Role) -> Case {
    let Place { config, device, dtype, .. } = *place;
    let group = id::group(config.mode, &config.stem, &draft.workload, device);
    let parameter = id::parameter(dtype, &draft.size);
    Case {
        id: id::case_id(&group, &draft.work.variant(), &parameter),
        config: config.stem.clone(),
        config_hash: draft.config_hash,
        names: draft.name.into_iter().collect(),
        role,
        mode: config.mode,
        work: draft.work,
        dtype,
        device,
        shape_names: vec![draft.size_name],
        profiling: draft.profiling,
        settings: draft.settings,
    }
}

/// Operators, patterns and probes. Behind a way that can be compiled follow a compiler's versions of it.
impl<K: Listed> Listing for EntryOf<K> {
    type Kernel = K;
    type Size = (String, K::Size);
    type Way = (K::Way, Option<CompileMode>);

    fn axes(&self) -> (&[K], &[Device], &[Dtype]) {
        (&self.kernels, &self.devices, &self.dtypes)
    }

    fn sizes(&self, kernel: K) -> impl Iterator<Item = &Self::Size> {
        self.sizes.iter().filter(move |(_, size)| kernel.takes(size))
    }

    fn ways(&self, kernel: K, device: Device) -> Vec<Self::Way> {
        let with_compiled = |way| {
            let modes = if K::is_compiled(way) { self.compile.as_slice() } else { &[] };
            let modes = std::iter::once(None).chain(modes.iter().copied().map(Some));
            modes.map(move |mode| (way, mode))
        };
        kernel.ways(self.ways.as_deref(), device).into_iter().flat_map(with_compiled).collect()
    }

    fn draft(&self, place: &Place<'_, Self>, way: &Self::Way) -> Result<Draft, Diagnostic> {
        let (kernel, (size_name, size)) = (place.kernel, place.size);
        let (way, compile) = *way;
        Ok(Draft {
            name: self.name.clone(),
            workload: kernel.to_string(),
            size_name: size_name.clone(),
            size: kernel.size_text(size),
            work: kernel.work(size, way, compile, place.device),
            profiling: Profiling::default(),
            settings: K::settings(way, &self.settings),
            config_hash: place.config.hash.clone(),
        })
    }
}
