//! The judge of systems other than Linux: there is none.

use std::process::ExitCode;

use plan::{Case, Judged, Outcome, Plan, Work};

use super::store::Store;

/// The part that this process has: there is no other.
pub enum Role {
    /// Never.
    Judge(ExitCode),
    /// It measures.
    Harness(Option<Client>),
}

/// The words of a judge.
pub enum Answer {
    /// Its findings.
    Judged(Judged),
    /// Why there are none.
    Unjudged(String),
}

/// There is none.
#[derive(Debug)]
pub enum Client {}

impl Client {
    /// Never called.
    pub fn ask(&self, _: &Case, _: f64) -> Result<Answer, String> {
        match *self {}
    }

    /// Never called.
    pub fn ends(&self) -> Result<(), String> {
        match *self {}
    }
}

/// Nobody has judged.
pub fn failure(_: &Judged) -> Option<Outcome> {
    None
}

/// Why a case is not judged.
pub fn unjudged(case: &Case) -> Option<&'static str> {
    match case.work {
        Work::Kernel(_) => Some("a judge needs Linux"),
        _ => Some("it is no kernel of one's own"),
    }
}

/// Starts nothing.
pub fn start(_: &Plan, _: Store, _: impl Fn(&str) -> bool) -> Result<Role, String> {
    Ok(Role::Harness(None))
}
