//! `aa`: runs of one revision against each other, and the noise profile that follows.

/// What `aa` can be told.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The runs: those saved as `NAME@1`, `NAME@2` and so on
    pub name: String,
    /// Take runs of sources with uncommitted changes, or of no known revision
    #[arg(long)]
    pub allow_dirty: bool,
    /// Print only: leave the noise profile as it is
    #[arg(long)]
    pub no_save: bool,
}
