//! Which cases are similar.

use crate::case::{Case, Role};
use crate::settings::Threads;
use crate::words::{Allocator, CacheMode, Device, Dtype, Mode};

/// A key that similar cases share. The error of the formula for one predicts the error for the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Likeness {
    device: Device,
    mode: Option<Mode>,
    /// The workload without its size: the group's id without its config.
    workload: Option<String>,
    variant: Option<String>,
    role: Option<Role>,
    threads: Option<u32>,
    settings: Option<(Allocator, CacheMode, Dtype)>,
}

impl Likeness {
    /// From cases that differ in size alone to all cases of the device.
    pub fn all(case: &Case) -> Vec<Self> {
        let workload = case.id.group.split('/').nth(2).map(str::to_owned);
        let threads = match case.settings.threads {
            Threads::Count(count) => count,
            Threads::All => 0,
        };
        let any = Self {
            device: case.device,
            mode: None,
            workload: None,
            variant: None,
            role: None,
            threads: None,
            settings: None,
        };
        let mode = Self { mode: Some(case.mode), ..any.clone() };
        let role = Self { role: Some(case.role), ..mode.clone() };
        let variant = Self { variant: Some(case.id.variant.clone()), ..role.clone() };
        let workload = Self { workload, ..variant.clone() };
        let threads = Self { threads: Some(threads), ..workload.clone() };
        let settings = (case.settings.allocator, case.settings.cache, case.dtype);
        let alike = Self { settings: Some(settings), ..threads.clone() };
        vec![alike, threads, workload, variant, role, mode, any]
    }
}
