//! The name under which a cubin is [kept](crate::cache).

use super::compile::{self, Capability, Source};
use super::libraries;
use crate::cache;
use native::refusal::Refusal;

/// The source compiled for the capability, from the disk where it is there.
///
/// # Errors
/// As for [`compile::compile`].
pub fn cubin(source: &Source, capability: Capability) -> Result<Vec<u8>, Refusal> {
    let name = name(source, capability, libraries::nvrtc()?.version);
    let is_cubin = |content: &[u8]| content.starts_with(cache::ELF);
    cache::kept(&name, is_cubin, || compile::compile(source, capability))
}

fn name(source: &Source, capability: Capability, version: (i32, i32)) -> String {
    let (major, minor) = version;
    let options = compile::options(capability).join(" ");
    let key = plan::fnv1a(format!("NVRTC {major}.{minor}\n{options}\n{}", source.with_ptx()));
    format!("{}-{capability}-{key:016x}.cubin", source.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::compile::source;

    const SOURCE: Source = source!("gemlite.cu");
    const HOPPER: Capability = Capability { major: 9, minor: 0 };

    #[test]
    fn the_name_follows_everything_that_decides_the_content() {
        let first = name(&SOURCE, HOPPER, (13, 0));
        assert!(first.starts_with("gemlite.cu-sm_90-") && first.ends_with(".cubin"), "{first}");
        assert_eq!(first, name(&SOURCE, HOPPER, (13, 0)));

        let edited = Source { text: "// another", ..SOURCE };
        let others = [
            name(&edited, HOPPER, (13, 0)),
            name(&SOURCE, Capability { major: 10, minor: 0 }, (13, 0)),
            name(&SOURCE, HOPPER, (13, 1)),
            name(&SOURCE, HOPPER, (12, 0)),
        ];
        assert!(!others.contains(&first));
    }
}
