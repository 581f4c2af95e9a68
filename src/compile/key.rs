//! The name of a package: a hash of all that decides what is in it.

use std::fmt;

use plan::CompileMode;

use super::entry::FORMAT;
use super::inductor::PROGRAM;
use super::input::Input;
use super::toolchain::Compiler;

/// All that decides what is in a package.
#[derive(Debug)]
pub(super) struct Ingredients<'i> {
    pub graph: &'i str,
    pub inputs: &'i [Input],
    pub mode: CompileMode,
    pub threads: u64,
    pub compiler: &'i Compiler,
    /// As the toolchain describes it.
    pub target: &'i str,
}

/// 128 bits, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key(String);

impl Key {
    pub fn of(ingredients: &Ingredients<'_>) -> Self {
        let Ingredients { graph, inputs, mode, threads, compiler, target } = ingredients;
        let inputs = inputs.iter().map(|it| format!("{it:?}"));
        let rest = [
            FORMAT.to_string(),
            PROGRAM.to_owned(),
            ::libtorch::VERSION.to_owned(),
            (*graph).to_owned(),
            mode.as_str().to_owned(),
            threads.to_string(),
            compiler.version.clone(),
            (*target).to_owned(),
        ];
        let mut bytes = Vec::new();
        for part in rest.into_iter().chain(inputs) {
            // With its length, so that no text can move from one part to the next.
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part.into_bytes());
        }
        Self(format!("{:032x}", plan::fnv1a_128(bytes)))
    }

    /// A name that a key has.
    pub fn parse(name: &str) -> Option<Self> {
        let is_key =
            name.len() == 32 && name.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
        is_key.then(|| Self(name.to_owned()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
