//! Users' kernels: device × precision × problem size × implementation.

use super::listing::{Draft, Listing, Place};
use crate::config::{KernelParams, ProblemSize};
use crate::diagnostic::Diagnostic;
use crate::id;
use crate::kernel::size_text::size_text;
use crate::kernel::{KernelFile, KernelWork, digest};
use crate::settings::Profiling;
use crate::words::{Device, Dtype};
use crate::work::Work;

impl Listing for KernelParams {
    type Kernel = ();
    type Size = ProblemSize;
    type Way = KernelFile;

    fn axes(&self) -> (&[()], &[Device], &[Dtype]) {
        (&[()], &self.backends.left, &self.precisions.left)
    }

    fn sizes(&self, _kernel: ()) -> impl Iterator<Item = &ProblemSize> {
        self.problem_sizes.iter()
    }

    fn ways(&self, _kernel: (), _device: Device) -> Vec<KernelFile> {
        self.kernel.files.clone()
    }

    fn draft(&self, place: &Place<'_, Self>, file: &KernelFile) -> Result<Draft, Diagnostic> {
        let (config, kernel) = (place.config, &self.kernel);
        let group = id::group(config.mode, &config.stem, &kernel.name, place.device);
        if group.len() > id::MAX_PART {
            // Criterion would cut it.
            let message =
                format!("`{group}` is longer than a group can be, {} bytes", id::MAX_PART);
            let remedy = "give the kernel a shorter name";
            return Err(Diagnostic::whole_file(&kernel.baseline().path, message, remedy));
        }
        let skips = self.skips.iter().filter(|skip| skip.concerns(place.device, place.dtype));
        let size = size_text(kernel.fields(), place.size);
        Ok(Draft {
            name: None,
            workload: kernel.name.clone(),
            size: id::size(&group, &size),
            size_name: size,
            work: Work::Kernel(KernelWork {
                kernel: kernel.name.clone(),
                implementation: file.implementation.clone(),
                file: file.file.clone(),
                problem_size: place.size.clone(),
                tolerances: self.tolerances.of(place.dtype),
                skip_conditions: skips.map(|skip| skip.condition.clone()).collect(),
                metadata: self.metadata.clone(),
            }),
            profiling: Profiling::default(),
            settings: self.settings.clone(),
            config_hash: digest::with_files(&config.hash, &kernel.hash),
        })
    }
}
