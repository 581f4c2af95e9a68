//! The comparison with torchao (benches/self_test/torchao.rs), apart from its clock: the order of
//! its batches, its table, what it says to the Python process, and what that one answers.

#[path = "../../benches/self_test/torchao"]
mod torchao {
    pub mod peer;
    pub mod rounds;
    pub mod table;
}

mod cases;
mod peer;
#[path = "../common/program.rs"]
mod program;
mod real;
mod rounds;
#[path = "../common/skip.rs"]
mod skip;
mod table;
