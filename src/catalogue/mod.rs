//! The catalogue: every kernel that ships with the library, described once. Each kind of work has its
//! list, an exhaustive match on the plan's words: [`Shipped::operation`](crate::kernel::Shipped).

mod operator;
pub mod pattern;
mod probe;

pub use operator::{bits, passed};
