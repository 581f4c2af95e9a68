//! Facts about the libtorch that is loaded: circumstances without which a number means nothing.

use std::mem::MaybeUninit;

use crate::sys as shim;

use super::error::{Error, check, take_string};

/// libtorch's description of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// Such as `2.11.0`; of the loaded library, not of the headers.
    pub torch_version: String,
    /// The instruction set that ATen's kernels were chosen for: `DEFAULT`, `AVX2`, `AVX512`, …
    pub cpu_capability: String,
    /// How libtorch was built; several lines.
    pub configuration: String,
    /// Threading layers and the environment variables that govern them; several lines.
    pub parallelism: String,
    /// Threads inside one operator.
    pub threads: usize,
    /// Threads between operators.
    pub interop_threads: usize,
}

/// Asks libtorch for its facts. The threads are those in force now, on this thread.
pub fn facts() -> Result<Runtime, Error> {
    let mut facts = MaybeUninit::<shim::RuntimeFacts>::uninit();
    // SAFETY: `facts` is writable.
    check(unsafe { shim::ctn_runtime_facts(facts.as_mut_ptr()) })?;
    // SAFETY: written whenever the status is fine.
    let facts = unsafe { facts.assume_init() };
    let shim::RuntimeFacts {
        torch_version,
        cpu_capability,
        configuration,
        parallelism,
        threads,
        interop_threads,
    } = facts;
    // SAFETY: the strings are handed over with the struct, and each is taken once.
    let text = |string| unsafe { take_string(string) };
    let count = |name, threads: i32| {
        usize::try_from(threads)
            .map_err(|_| Error::Torch(format!("libtorch reports {threads} {name} threads")))
    };
    Ok(Runtime {
        torch_version: text(torch_version),
        cpu_capability: text(cpu_capability),
        configuration: text(configuration),
        parallelism: text(parallelism),
        threads: count("intra-op", threads)?,
        interop_threads: count("inter-op", interop_threads)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_those_of_this_libtorch() {
        let facts = facts().expect("always answers");
        println!("{facts:#?}");
        assert!(facts.torch_version.starts_with("2.11."), "{}", facts.torch_version);
        assert!(facts.configuration.contains("PyTorch built with"), "{}", facts.configuration);
        assert!(facts.configuration.contains(&facts.cpu_capability), "{}", facts.cpu_capability);
        assert!(facts.parallelism.contains("at::get_num_threads()"), "{}", facts.parallelism);
        assert!(facts.threads >= 1);
        assert!(facts.interop_threads >= 1);
    }
}
