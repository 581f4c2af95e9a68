//! The options of `bundle`, and what they ask for.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::manifest::GPU_CHECK;
use super::target_cpu;
use crate::configuration;
use crate::error::{Error, Result};
use crate::gpu_check::{CONFIGS, TARGETS};
use crate::workspace::Workspace;

/// The options of `bundle`.
#[derive(Debug, PartialEq, Eq, clap::Args)]
pub struct Options {
    /// The bundle: NAME.tar.zst, or NAME.tar for hosts without zstd
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// A bench target; may be given several times
    #[arg(long = "bench", value_name = "NAME")]
    pub benches: Vec<String>,
    /// A config, in the place of the default suites; may be given several times
    #[arg(long = "config", value_name = "FILE")]
    pub configs: Vec<PathBuf>,
    /// The package of the bench targets; may be given several times
    #[arg(long = "package", short, value_name = "NAME")]
    pub packages: Vec<String>,
    /// Build with this profile of cargo's
    #[arg(long, value_name = "NAME", default_value = PROFILE)]
    pub profile: String,
    /// Build for this processor, as `rustc --print target-cpus` names it
    ///
    /// x86-64-v3 has AVX2, x86-64-v4 has AVX-512. libtorch chooses its own instructions on the host.
    #[arg(long, value_name = "CPU")]
    pub target_cpu: Option<String>,
    /// Leave libtorch out: each host has a torch 2.11.0 of its own
    #[arg(long)]
    pub without_libtorch: bool,
    /// Add the compiled packages of this machine's cache
    ///
    /// A host finds them if its processor is the same.
    #[arg(long)]
    pub compiled: bool,
    /// Take the bench targets and configs of gpu-check: `torch-bench-run --gpu-check` does all of it
    #[arg(long, conflicts_with_all = ["benches", "configs", "packages", "compiled", "filters"])]
    pub gpu_check: bool,
    /// The cases to plan for, a regular expression on ids; all are built
    #[arg(last = true, value_name = "FILTER")]
    filters: Vec<String>,
}

/// Cargo's profile of benchmarks.
const PROFILE: &str = "bench";

impl Options {
    pub fn flags(&self, workspace: &Workspace) -> Result<target_cpu::Flags> {
        let Some(cpu) = &self.target_cpu else { return Ok(target_cpu::Flags::default()) };
        target_cpu::check(cpu)?;
        let configuration = configuration::documents(workspace.root())?;
        target_cpu::Flags::new(cpu, &target_cpu::host()?, &configuration)
    }

    /// The names of the bench targets; none for all.
    pub fn targets(&self) -> Vec<String> {
        if self.gpu_check { TARGETS.map(str::to_owned).into() } else { self.benches.clone() }
    }

    /// The value of BENCH_CONFIG. Build scripts run in folders of their own, so it has whole paths.
    pub fn bench_config(&self, root: &Path) -> Result<Option<OsString>> {
        let configs = match self.gpu_check {
            true => CONFIGS.iter().map(|config| root.join(config)).collect(),
            false => self.whole_configs()?,
        };
        if configs.is_empty() {
            return Ok(None);
        }
        let joined = env::join_paths(configs);
        joined.map(Some).map_err(|error| Error::usage(format!("--config: {error}")))
    }

    fn whole_configs(&self) -> Result<Vec<PathBuf>> {
        let whole = self.configs.iter().map(|config| {
            let path = config.canonicalize();
            path.map_err(|error| {
                Error::io("read", config, &error).remedy("--config FILE is a config")
            })
        });
        whole.collect()
    }

    /// The words of this command line but the output's name, for a copy of the workspace.
    pub fn words(&self, root: &Path) -> Result<Vec<String>> {
        let mut words = Vec::new();
        let mut add = |name: &str, value: &str| words.extend([name.to_owned(), value.to_owned()]);
        self.benches.iter().for_each(|bench| add("--bench", bench));
        self.packages.iter().for_each(|package| add("--package", package));
        for whole in &self.whole_configs()? {
            let inside = whole.strip_prefix(root).unwrap_or(whole);
            add("--config", &inside.to_string_lossy());
        }
        if self.profile != PROFILE {
            add("--profile", &self.profile);
        }
        self.target_cpu.iter().for_each(|cpu| add("--target-cpu", cpu));
        let flags = [
            (GPU_CHECK, self.gpu_check),
            ("--without-libtorch", self.without_libtorch),
            ("--compiled", self.compiled),
        ];
        words
            .extend(flags.into_iter().filter(|(_, given)| *given).map(|(name, _)| name.to_owned()));
        if let Some(filter) = self.filter()? {
            words.extend(["--".to_owned(), filter.to_owned()]);
        }
        Ok(words)
    }

    /// The one filter: clap, whose options override each other here, would take the last of many.
    pub fn filter(&self) -> Result<Option<&str>> {
        match self.filters.as_slice() {
            [] => Ok(None),
            [filter] => Ok(Some(filter)),
            [_, second, ..] => Err(Error::usage(format!("unexpected argument '{second}'"))
                .remedy("give one regular expression: -- 'first|second'")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    #[command(args_override_self = true)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn there_is_one_filter() {
        let filter = |words: &[&str]| {
            let line =
                ["bundle", "--output", "a.tar", "--"].into_iter().chain(words.iter().copied());
            let options = Parser::try_parse_from(line).map(|Line { options }| options);
            let options = options.expect("options of bundle");
            options.filter().map(|filter| filter.map(str::to_owned)).map_err(|it| it.exit_code())
        };
        assert_eq!(filter(&[]), Ok(None));
        assert_eq!(filter(&["int8wo"]), Ok(Some("int8wo".to_owned())));
        assert_eq!(filter(&["int8wo", "-x"]), Err(2));
    }

    #[test]
    fn a_copy_of_the_workspace_can_make_the_same() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let root = root.path().canonicalize().expect("it is there");
        std::fs::create_dir(root.join("configs")).expect("made");
        let config = root.join("configs/my.yml");
        std::fs::write(&config, "").expect("written");
        let words = |line: &[&str]| {
            let line = ["bundle", "--output", "a.tar"].iter().chain(line);
            let Line { options } = Parser::try_parse_from(line).expect("options of bundle");
            options.words(&root).expect("readable").join(" ")
        };
        assert_eq!(words(&["--profile", "bench"]), "");
        let config = config.to_str().expect("UTF-8");
        assert_eq!(
            words(&["--compiled", "--config", config, "--bench", "fusion", "--", "a b"]),
            "--bench fusion --config configs/my.yml --compiled -- a b"
        );
        assert_eq!(words(&["--gpu-check"]), "--gpu-check");
        assert_eq!(
            words(&["--target-cpu", "x86-64-v3", "--profile", "dev", "--package", "p"]),
            "--package p --profile dev --target-cpu x86-64-v3"
        );
    }
}
