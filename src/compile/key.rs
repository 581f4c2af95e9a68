//! The name of a package: a hash of all that decides what is in it.

use ::libtorch::packages::{FORMAT, Key};
use plan::CompileMode;

use super::inductor::PROGRAM;
use super::input::Input;
use super::toolchain::Compiler;

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

impl Ingredients<'_> {
    pub fn key(&self) -> Key {
        let Ingredients { graph, inputs, mode, threads, compiler, target } = self;
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
        Key::from_parts(rest.into_iter().chain(inputs))
    }
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
