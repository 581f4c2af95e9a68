//! Where a repository keeps the results of earlier runs.

/// The folder of earlier `summary.json` files, relative to the root of the workspace.
pub const HISTORY: &str = "benchmarks/history";

/// The git references of a branch, the remote one first: CI commits results there, and a local branch may be behind it.
pub fn branch_references(branch: &str) -> [String; 2] {
    [format!("refs/remotes/origin/{branch}"), format!("refs/heads/{branch}")]
}
