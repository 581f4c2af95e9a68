//! Recipes and models that a bench target brings: generated code lists them, and its `main` registers them.

use std::sync::OnceLock;

use plan::{Spelling, UserWord};

use crate::refusal::Refusal;

/// A recipe or a model of a package: how configs write it, and what makes one of the numbers in its word.
#[derive(Debug)]
pub struct UserDefinition<T: ?Sized + 'static> {
    /// The constant of its file.
    pub spelling: &'static str,
    /// Makes it; as many numbers as the spelling has.
    pub make: fn(&[u64]) -> Result<Box<T>, Refusal>,
}

/// The user recipes or user models of this process.
#[derive(Debug)]
pub(crate) struct Registry<T: ?Sized + 'static> {
    what: &'static str,
    entries: OnceLock<&'static [UserDefinition<T>]>,
}

impl<T: ?Sized + 'static> Registry<T> {
    pub(crate) const fn new(what: &'static str) -> Self {
        Self { what, entries: OnceLock::new() }
    }

    /// Has them known from now on. A process has one list: that of its bench target.
    pub(crate) fn set(&self, entries: &'static [UserDefinition<T>]) {
        self.entries.get_or_init(|| entries);
    }

    /// The recipe or model of a word.
    pub(crate) fn make(&self, word: UserWord) -> Result<Box<T>, Refusal> {
        for UserDefinition { spelling, make } in self.entries.get().copied().unwrap_or_default() {
            let spelling = Spelling::parse(spelling);
            if let Some(numbers) = spelling.and_then(|it| it.numbers(word.as_str())) {
                return make(&numbers);
            }
        }
        Err(Refusal::Failed(format!(
            "{} `{word}` is known only to the bench target of the package that has its file",
            self.what
        )))
    }
}

/// The number at `place` of a word, as the type of its field.
pub fn number<N: TryFrom<u64>>(numbers: &[u64], place: usize) -> Result<N, Refusal> {
    let number = numbers.get(place).copied();
    number.and_then(|number| N::try_from(number).ok()).ok_or_else(|| {
        Refusal::Failed(format!(
            "the field of number {place} of {numbers:?} cannot hold it; rebuild"
        ))
    })
}
