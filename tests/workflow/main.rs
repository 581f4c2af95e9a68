//! The workflow that users get: what it says, and every step that runs something, run.
#![cfg(target_os = "linux")]

mod events;
mod file;
mod github;
mod measuring;
mod promises;
mod repository;
mod rows;
mod runner;
mod scripts;
