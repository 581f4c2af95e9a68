//! `setup`: a whole libtorch of the right version, at `.libtorch`.
//!
//! Done already, it costs a few reads. Interrupted at any moment, it leaves a folder that its name
//! marks as partial; the next setup removes that and starts again. Nothing partial is ever linked.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::cache::{Cache, Entry};
use crate::cargo;
use crate::configuration::Naming;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::flavour::Flavour;
use crate::human;
use crate::python::Python;
use crate::source::{Link, Source};
use crate::wheel;
use crate::workspace::Workspace;
use ::libtorch::lock::{self, LockGuard};
use ::libtorch::{Libtorch, VERSION, partial};

/// The options of `setup`.
#[derive(Debug, PartialEq, Eq, clap::Args)]
pub struct Options {
    /// Without CUDA: about 540 MB to download, 0.8 GB on disk
    #[arg(long)]
    cpu: bool,
    /// With CUDA 13.0, on Linux: about 2.7 GB to download, 4.9 GB on disk
    #[arg(long, conflicts_with = "cpu")]
    cuda: bool,
    /// Also torch 2.11.0, torchao 0.17.0, triton 3.6.0 and numpy for python3, in the cache
    ///
    /// Compiled variants (use_torch_compile), Triton kernels and compare-torchao need it. On Linux about
    /// 2.7 GB to download, 5 GB on disk, 8 GB while it installs, as torch's wheel brings CUDA along; two
    /// minutes on two cores with a fast network.
    #[arg(long)]
    pub python: bool,
}

impl Options {
    /// None: keep what is linked, else what the machine can use.
    pub fn flavour(&self) -> Result<Option<Flavour>> {
        if self.cuda && !cfg!(target_os = "linux") {
            return Err(Error::usage("--cuda: torch has CUDA wheels for Linux only"));
        }
        Ok(if self.cuda { Some(Flavour::Cuda) } else { self.cpu.then_some(Flavour::Cpu) })
    }
}

/// `cargo xtask setup`: provisions, and says in one line what is linked where.
pub fn command(workspace: &Workspace, flavour: Option<Flavour>) -> Result<()> {
    let provision = provision(workspace, flavour)?;
    println!("{}", provision.line());
    provision.settle(workspace)
}

/// Setup before another command: not a word when there was nothing to do. Returns the libtorch.
pub fn ensure(workspace: &Workspace) -> Result<Libtorch> {
    let provision = provision(workspace, None)?;
    if provision.changed {
        eprintln!("{}", provision.line());
    }
    provision.settle(workspace)?;
    Ok(provision.libtorch)
}

/// `cargo xtask flavour`: what `setup` would choose, without a change of anything.
pub fn print_flavour(workspace: &Workspace) -> Result<ExitCode> {
    let linked = match (Source::of_environment(workspace)?, Link::read(workspace)?) {
        (Source::User(chosen), _) => Some(chosen.inspect()?),
        (Source::Link, Link::To(target)) => usable(&target).map(|(libtorch, _)| libtorch),
        (Source::Link, Link::Absent) => None,
    };
    let chosen = linked
        .as_ref()
        .map_or_else(|| by_driver(Driver::find().as_ref()).0, Flavour::from_libtorch);
    println!("{chosen}");
    Ok(ExitCode::SUCCESS)
}

/// The libtorch that cargo will build with.
#[derive(Debug)]
struct Provision {
    libtorch: Libtorch,
    source: Source,
    /// Known for what was provisioned by this tool.
    bytes: Option<u64>,
    changed: bool,
}

impl Provision {
    fn line(&self) -> String {
        let flavour = Flavour::from_libtorch(&self.libtorch);
        let how = match &self.source {
            Source::User(chosen) => chosen.named_by(),
            Source::Link => "linked as .libtorch".to_owned(),
        };
        let size = self.bytes.map(|bytes| format!(", {}", human::bytes(bytes))).unwrap_or_default();
        format!("libtorch {VERSION} ({flavour}) in {}{size}, {how}", self.libtorch.root.display())
    }

    /// Has cargo find the link.
    fn settle(&self, workspace: &Workspace) -> Result<()> {
        match self.source {
            Source::User(_) => Ok(()),
            Source::Link => Naming::new(workspace)?.settle(),
        }
    }
}

fn provision(workspace: &Workspace, flavour: Option<Flavour>) -> Result<Provision> {
    if let Source::User(chosen) = Source::of_environment(workspace)? {
        let (libtorch, source) = (chosen.inspect()?, Source::User(chosen));
        return Ok(Provision { libtorch, source, bytes: None, changed: false });
    }
    let cache = Cache::of_environment()?;
    let link = Link::read(workspace)?;
    sweep_if_free(&cache);

    // Without a wish, what is linked stays: `setup --cpu` on a machine with a driver is remembered by
    // the link itself.
    if let (None, Link::To(target)) = (flavour, &link)
        && let Some((libtorch, bytes)) = usable(target)
    {
        return Ok(Provision { libtorch, source: Source::Link, bytes, changed: false });
    }

    let (flavour, why) = match flavour {
        Some(flavour) => (flavour, "as asked for".to_owned()),
        None => by_driver(Driver::find().as_ref()),
    };
    let entry = provide(&cache, flavour, &why)?;
    let target = cache.place(flavour).join("torch");
    let changed = link != Link::To(target.clone());
    if changed {
        if let Link::To(before) = &link {
            eprintln!("replacing the link .libtorch, which led to {}", before.display());
            // Before the link, so that an interrupted setup does it again.
            cargo::clean(workspace, "torch-sys")?;
        }
        Link::write(workspace, &target)?;
    }
    let Entry { libtorch, manifest } = entry;
    Ok(Provision { libtorch, source: Source::Link, bytes: Some(manifest.bytes), changed })
}

/// The libtorch that a link leads to, if it will do: an entry of a cache, or one linked by hand.
fn usable(target: &Path) -> Option<(Libtorch, Option<u64>)> {
    let place = target.parent()?;
    if let Some(Entry { libtorch, manifest }) = Entry::open(place)
        && libtorch.root == target
    {
        return Some((libtorch, Some(manifest.bytes)));
    }
    let in_a_cache = place.file_name()?.to_string_lossy().starts_with("torch-");
    if in_a_cache { None } else { Some((Libtorch::inspect(target).ok()?, None)) }
}

fn by_driver(driver: Option<&Driver>) -> (Flavour, String) {
    let why = match driver {
        Some(driver) => format!("NVIDIA driver found: {}", driver.evidence.display()),
        None => "no NVIDIA driver found".to_owned(),
    };
    (Flavour::for_machine(driver), why)
}

fn provide(cache: &Cache, flavour: Flavour, why: &str) -> Result<Entry> {
    if let Some(entry) = cache.entry(flavour) {
        return Ok(entry);
    }
    let python = Python::find().map_err(use_your_own)?;
    let what = format!(
        "libtorch {VERSION} ({flavour}, {why}) from the Python package index: {}",
        flavour.download()
    );
    let fault = "is damaged, installing it again";
    let there = || Ok(cache.entry(flavour));
    install(cache, &cache.place(flavour), &what, fault, there, |into| {
        wheel::install(&python, flavour, into).map_err(use_your_own)
    })
}

/// Installs what is not `there` into `place`, and says so; `fault` is told of a place that is taken.
pub fn install<T>(
    cache: &Cache,
    place: &Path,
    what: &str,
    fault: &str,
    there: impl Fn() -> Result<Option<T>>,
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<T> {
    let turn = turn(cache)?;
    // Another setup may have done it while this one waited.
    if let Some(found) = there()? {
        return Ok(found);
    }
    sweep(cache, &turn);
    let shown = place.display();
    if place.exists() {
        eprintln!("{shown} {fault}");
        partial::remove(place).map_err(|error| Error::io("remove", place, &error))?;
    }
    eprintln!("installing {what}, once for all clones, in {shown}");
    // It goes when it is dropped, unless it was moved into place.
    let partial = partial::folder_beside(place)
        .map_err(|error| Error::io("create a folder beside", place, &error))?;
    fill(partial.path())?;
    match partial::move_to(partial, place) {
        Err(error)
            if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) =>
        {
            eprintln!("another setup finished first, using its installation");
        }
        moved => {
            moved.map_err(|error| Error::io("move the installation to", place, &error))?;
        }
    }
    // Read again rather than believed: what is used is what is there.
    there()?.ok_or_else(|| {
        Error::new(format!("{shown} is incomplete after the installation"))
            .remedy("remove it and run this again")
    })
}

fn use_your_own(error: Error) -> Error {
    error.remedy(format!("or use a libtorch {VERSION} that you have: export LIBTORCH=/path/to/it"))
}

/// The right to install; waits, and says so, while another setup has it.
fn turn(cache: &Cache) -> Result<LockGuard> {
    cache.create()?;
    let path = cache.setup_lock();
    let turn = LockGuard::attempt(&path).and_then(|turn| match turn {
        Some(turn) => Ok(Some(turn)),
        None => {
            eprintln!("another setup is running, waiting for it …");
            LockGuard::wait(&path, Duration::MAX)
        }
    });
    let turn = turn.map_err(|error| Error::io("lock", &path, &error))?;
    turn.ok_or_else(|| Error::new(format!("another setup still uses {}", path.display())))
}

/// Removes what killed setups left, unless an installation is running.
fn sweep_if_free(cache: &Cache) {
    if !cache.partials().is_empty()
        && let Ok(Some(turn)) = LockGuard::attempt(&cache.setup_lock())
    {
        sweep(cache, &turn);
    }
}

/// The holder of the lock alone knows that nobody is installing, so that all partial folders were left behind. A failure
/// is no reason to stop: the orphaned pip of a killed setup may still be writing there for a moment,
/// and the next setup tries again.
fn sweep(cache: &Cache, turn: &LockGuard) {
    let left = |path: &PathBuf| turn.is_exclusive() || lock::is_old(path);
    for leftover in cache.partials().into_iter().filter(left) {
        match fs::remove_dir_all(&leftover) {
            Ok(()) => eprintln!("removed {}, left by an interrupted setup", leftover.display()),
            Err(error) => {
                eprintln!("warning: {}", Error::io("remove", &leftover, &error).what());
            }
        }
    }
}
