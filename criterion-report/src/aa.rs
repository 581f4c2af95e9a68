//! `aa`: runs of one revision against each other, and the noise profile that follows.

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Name of the runs that were saved as NAME@1, NAME@2 and so on
    pub name: String,
    /// Accept uncommitted changes or an unknown revision
    #[arg(long)]
    pub allow_dirty: bool,
    /// Print the result, and leave the noise profile as it is
    #[arg(long)]
    pub no_save: bool,
}
