//! Configs of `benchmark_mode: kernels`: where the kernels are.

use std::path::{Path, PathBuf};

use super::node::Node;
use super::own_keys::{self, Own};
use super::top;
use crate::settings::Settings;

/// What a config of kernels says; what each kernel is, its own folder says.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelSuite {
    /// Folders that are searched for kernels.
    pub roots: Vec<PathBuf>,
    /// How each is measured, unless its `bench.yaml` says otherwise.
    pub settings: Settings,
}

/// The key of the folders.
pub(super) const KEY: &str = "kernel_paths";

/// Reads the whole document, which lies in `folder`.
pub(super) fn read(node: &Node<'_>, folder: &Path) -> Option<KernelSuite> {
    let fields = top(node, &[KEY], KEY, &[])?;
    let mut own = Own::default();
    own_keys::apply(&fields, &mut own);
    let paths = fields.items(KEY, Node::string)?.unwrap_or_default();
    let roots = paths.into_iter().map(|path| folder.join(path)).collect();
    Some(KernelSuite { roots, settings: own.settings })
}
