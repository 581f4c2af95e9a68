//! A place, as documents hold it.

use plan::{Allocator, CacheMode, Device, Threads};
use serde::Serialize;

use crate::model::Place;

/// A place; null in all its parts where nothing is known.
#[derive(Debug, Default, Serialize)]
pub struct Where<'a> {
    device: Option<Device>,
    processor: Option<&'a str>,
    threads: Option<Threads>,
    allocator: Option<Allocator>,
    cache: Option<CacheMode>,
}

impl<'a> Where<'a> {
    /// Its parts.
    pub fn of(place: &'a Place) -> Self {
        let Place { device, processor, threads, allocator, cache } = place;
        Self {
            device: Some(*device),
            processor: processor.as_deref(),
            threads: Some(*threads),
            allocator: Some(*allocator),
            cache: Some(*cache),
        }
    }
}
