//! The report model and its writers.
