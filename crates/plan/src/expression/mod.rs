//! Expressions of a `bench.yaml`'s `skip_conditions`: `not cuda.available or device.memory_gb < 16`.
//!
//! A language of comparisons over known facts, which can do nothing but be true or false. It is
//! parsed and its types are checked when the plan is made; it is evaluated when the case runs.

mod fact;
mod lexer;
mod parser;

use std::cmp::Ordering;

use thiserror::Error;

pub use fact::{Fact, FactValue, Kind};

/// Why a text is no expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("column {column}: {message}")]
pub struct ExpressionError {
    /// Its place in the text, in characters counted from 1.
    pub column: usize,
    /// The problem.
    pub message: String,
    /// The remedy.
    pub remedy: String,
}

impl ExpressionError {
    fn new(column: usize, message: String, remedy: String) -> Self {
        Self { column, message, remedy }
    }
}

/// An expression whose types are right, and which is true or false.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    root: Term,
}

#[derive(Debug, Clone, PartialEq)]
enum Term {
    Constant(FactValue),
    /// A fact by its name, and what it has to be.
    Fact(String, Kind),
    Not(Box<Term>),
    /// Parts of which the first that is this decides: true with `or`, false with `and`.
    Joined(Vec<Term>, bool),
    /// With one of [`COMPARISONS`].
    Comparison(Box<Term>, &'static str, Box<Term>),
}

/// `in` looks for the left text in the right one.
const COMPARISONS: &[&str] = &["==", "!=", "<", "<=", ">", ">=", "in"];

/// Whether it asks which of the two is the larger.
fn is_of_order(comparison: &str) -> bool {
    comparison.starts_with(['<', '>'])
}

/// Whether the comparison of two values of one kind holds.
fn holds(left: &FactValue, comparison: &str, right: &FactValue) -> bool {
    let order = match (left, right) {
        (FactValue::Text(part), FactValue::Text(whole)) if comparison == "in" => {
            return whole.contains(part.as_str());
        }
        (FactValue::Number(left), FactValue::Number(right)) => left.partial_cmp(right),
        _ => (left == right).then_some(Ordering::Equal),
    };
    match comparison {
        "==" => order == Some(Ordering::Equal),
        "!=" => order != Some(Ordering::Equal),
        "<" => order == Some(Ordering::Less),
        "<=" => order.is_some_and(Ordering::is_le),
        ">" => order == Some(Ordering::Greater),
        ">=" => order.is_some_and(Ordering::is_ge),
        _ => unreachable!("the types were checked: {left:?} {comparison} {right:?}"),
    }
}

impl Expression {
    /// Parses `text`, in which `fields` are the scalar fields of the problem size, each named
    /// `problem.<field>` there, and what they stand for.
    ///
    /// # Errors
    /// The first place where the text is no expression, or where types do not match.
    pub fn parse(text: &str, fields: &[(String, Kind)]) -> Result<Self, ExpressionError> {
        Ok(Self { root: parser::parse(text, fields)? })
    }

    /// Whether it holds where `fact` gives the value of each fact. `and` and `or` evaluate the left
    /// side first, and the right side only if the left one does not decide.
    ///
    /// # Errors
    /// A fact that has no value here, by its name, and the remedy.
    pub fn holds(&self, fact: &dyn Fn(&str) -> Option<FactValue>) -> Result<bool, String> {
        self.root.holds(fact)
    }
}

impl Term {
    fn holds(&self, fact: &dyn Fn(&str) -> Option<FactValue>) -> Result<bool, String> {
        match self {
            Self::Not(inner) => Ok(!inner.holds(fact)?),
            Self::Joined(parts, decides) => {
                for part in parts {
                    if part.holds(fact)? == *decides {
                        return Ok(*decides);
                    }
                }
                Ok(!decides)
            }
            Self::Comparison(left, comparison, right) => {
                Ok(holds(&left.value(fact)?, comparison, &right.value(fact)?))
            }
            Self::Constant(_) | Self::Fact(..) => match self.value(fact)? {
                FactValue::Flag(flag) => Ok(flag),
                other => unreachable!("the types were checked: {other:?}"),
            },
        }
    }

    fn value(&self, fact: &dyn Fn(&str) -> Option<FactValue>) -> Result<FactValue, String> {
        match self {
            Self::Constant(value) => Ok(value.clone()),
            Self::Fact(name, kind) => match fact(name) {
                Some(value) if value.kind() == *kind => Ok(value),
                Some(value) => Err(format!(
                    "the fact `{name}` should be {}, and is {value:?}",
                    kind.described()
                )),
                None => Err(format!(
                    "the fact `{name}` has no value here; ask first whether it has one, e.g. \
                     `cuda.available and …`"
                )),
            },
            _ => self.holds(fact).map(FactValue::Flag),
        }
    }
}
