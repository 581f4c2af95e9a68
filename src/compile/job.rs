//! A traced step and its package.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use ::libtorch::packages::{FACTS, Facts, Key, PACKAGE, PackageLease, Store};
use ::libtorch::partial;
use plan::Compilation;
use tch::Tensor;
use tempfile::TempDir;

use super::inductor::{self, Request};
use super::input::Input;
use super::key::Ingredients;
use super::options::{self, Options};
use super::toolchain::{self, Compiler};
use crate::native;
use crate::native::trace::{self, Trace};
use crate::refusal::Refusal;
use ::libtorch::Interpreter;

/// A traced step to be compiled. It holds no tensors.
#[derive(Debug)]
pub struct Job {
    trace: Mutex<Trace>,
    inputs: Vec<Input>,
    options: Options,
    key: Key,
    compiler: &'static Compiler,
}

/// A package; it is there as long as this is.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The path for `native::package`.
    pub package: PathBuf,
    /// Facts for the record.
    pub facts: Compilation,
    /// Kernels that a run calls: generated ones by their names, operators as `aten::addmm`; in the order
    /// of their first use.
    pub kernels: Vec<String>,
    /// Notes on what differs from the request.
    pub notes: Vec<String>,
    _keep: Arc<Keep>,
}

/// Until when a package is there.
#[derive(Debug)]
enum Keep {
    Held(#[expect(dead_code, reason = "locked until dropped")] PackageLease),
    Temporary(#[expect(dead_code, reason = "removed when dropped")] TempDir),
}

impl Job {
    /// Runs the step once under the tracer. `inputs` are all tensors that it reads, in the order in
    /// which the package takes them, and its results those that the package makes.
    ///
    /// # Errors
    /// Errors of the step; unsupported, where the graph would not be what the step does, or where packages
    /// are not compiled for the device; skipped, where there is no C++ compiler.
    pub fn new<E: Into<Refusal> + From<native::Error>>(
        inputs: &[&Tensor],
        options: Options,
        step: impl FnOnce() -> Result<Vec<Tensor>, E>,
    ) -> Result<Self, Refusal> {
        options::expressible(options.device)?;
        let compiler = toolchain::compiler()?;
        let described =
            inputs.iter().map(|it| Input::from_tensor(it)).collect::<Result<Vec<_>, _>>()?;
        let trace = trace::trace_all(inputs, step).map_err(|error| of_tracing(error.into()))?;
        if let Some(reason) = trace.untraceable() {
            return Err(Refusal::Unsupported(format!("this step cannot be traced: {reason}")));
        }
        if !trace.constants().is_empty() {
            let constants = trace.constants().join(", ");
            let reason = format!("the step reads tensors that are not its inputs: {constants}");
            return Err(Refusal::Unsupported(reason));
        }
        let key = Ingredients {
            graph: trace.graph(),
            inputs: &described,
            mode: options.mode,
            threads: options.threads,
            compiler,
            target: &toolchain::target(options.place)?,
        }
        .key();
        Ok(Self { trace: Mutex::new(trace), inputs: described, options, key, compiler })
    }

    /// The package's name.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Whether another process or thread is making the package.
    pub fn is_being_compiled(&self) -> bool {
        let store = options::store().ok().flatten();
        store.is_some_and(|store| matches!(store.turn(&self.key, Duration::ZERO), Ok(None)))
    }

    /// Whether the package is in the cache.
    pub fn is_kept(&self) -> bool {
        let store = options::store().ok().flatten();
        store.is_some_and(|store| store.find(&self.key).is_some())
    }

    /// The package: from the cache, else compiled by a child process, for which this waits, as it
    /// does for another process or thread that is compiling the same.
    ///
    /// # Errors
    /// Skipped, with the remedy, where it is not kept and cannot be compiled here; unsupported,
    /// with Inductor's own reason; timeout; failed. A refused compilation is not tried again.
    pub fn compile(&self) -> Result<Compiled, Refusal> {
        let store = options::store()?;
        let ready = || {
            options::python_for(self.options.device)?;
            Ok(Interpreter::compiling())
        };
        let mut compiled = self.compiled(store.as_ref(), ready)?;
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if !compiled.facts.cache_hit {
            made.insert(self.key.clone());
        }
        // A package that this run compiled before measuring was not in the cache.
        compiled.facts.cache_hit = !made.contains(&self.key);
        Ok(compiled)
    }

    pub(super) fn compiled<'p>(
        &self,
        store: Option<&Store>,
        python: impl FnOnce() -> Result<&'p Interpreter, Refusal>,
    ) -> Result<Compiled, Refusal> {
        if let Some(held) = store.and_then(|store| store.find(&self.key)) {
            return Ok(self.found(held));
        }
        let python = python()?;
        let kept = match store {
            Some(store) => self.compile_into(store, python),
            None => Err(Trouble::Cache("HOME is not set".to_owned())),
        };
        match kept {
            Ok(compiled) => Ok(compiled),
            Err(Trouble::Refused(refusal)) => Err(refusal),
            Err(Trouble::Cache(why)) => self.compile_for_now(python, &why),
        }
    }

    fn compile_into(&self, store: &Store, python: &Interpreter) -> Result<Compiled, Trouble> {
        let Some(turn) = store.turn(&self.key, self.options.timeout)? else {
            let refusal = self.no_turn(store);
            self.refuse(&refusal);
            return Err(Trouble::Refused(refusal));
        };
        // Somebody else may have made it, or tried to, while this one waited.
        if let Some(held) = store.find(&self.key) {
            return Ok(self.found(held));
        }
        store.sweep(&self.key, &turn);
        let partial = store.partial(&self.key, &turn)?;
        self.make(partial.path(), &store.probes(), python)?;
        let held = store.keep(&self.key, partial, &turn)?;
        Ok(self.result(held.package.clone(), held.facts.clone(), Keep::Held(held)))
    }

    /// Compiles for this process alone, if nothing can be kept.
    fn compile_for_now(&self, python: &Interpreter, why: &str) -> Result<Compiled, Refusal> {
        let failed = |why: &dyn std::fmt::Display| {
            let folder = std::env::temp_dir();
            Refusal::Failed(format!("cannot compile in {}: {why}", folder.display()))
        };
        let folder = partial::folder_beside(&std::env::temp_dir().join("criterion-torch-compiled"))
            .map_err(|error| failed(&error))?;
        let probes = folder.path().join("probes.json");
        let facts = match self.make(folder.path(), &probes, python) {
            Ok(facts) => facts,
            Err(Trouble::Refused(refusal)) => return Err(refusal),
            Err(Trouble::Cache(why)) => return Err(failed(&why)),
        };
        let package = folder.path().join(PACKAGE);
        let mut compiled = self.result(package, facts, Keep::Temporary(folder));
        compiled.notes.push(format!(
            "the package is not kept: {why}; set CRITERION_TORCH_CACHE to a folder that you can \
             write to"
        ));
        Ok(compiled)
    }

    fn no_turn(&self, store: &Store) -> Refusal {
        Refusal::Timeout(format!(
            "another process has been compiling the same for {} s and still has locked {}; see \
             compile_timeout_s",
            self.options.timeout.as_secs_f64(),
            store.lock(&self.key).display()
        ))
    }

    /// Fills a folder with package and facts, and nothing else, unless that was refused before.
    fn make(&self, folder: &Path, probes: &Path, python: &Interpreter) -> Result<Facts, Trouble> {
        if let Some(before) = self.refusal() {
            return Err(Trouble::Refused(before));
        }
        let made = self.fill(folder, probes, python);
        if let Err(Trouble::Refused(refusal)) = &made {
            self.refuse(refusal);
        }
        made
    }

    fn fill(&self, folder: &Path, probes: &Path, python: &Interpreter) -> Result<Facts, Trouble> {
        let (graph, scratch) = (folder.join("graph.pt"), folder.join("scratch"));
        let package = folder.join(PACKAGE);
        fs::create_dir(&scratch)?;
        self.trace
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .save(&graph)
            .map_err(Refusal::from)?;
        let request = Request {
            graph: &graph,
            inputs: &self.inputs,
            mode: self.options.mode,
            threads: self.options.threads,
            scratch: &scratch,
            probes,
            package: &package,
        };
        let answer = inductor::compile(python, self.compiler, &request, self.options.timeout)?;
        let bytes = fs::read(&package).map_err(|error| {
            Refusal::Failed(format!("Inductor wrote no package: {}: {error}", package.display()))
        })?;
        let torch = ::libtorch::release(&answer.torch);
        let facts = Facts {
            compilation: Compilation {
                mode: self.options.mode,
                options: answer.options,
                compiler: format!("torch {torch}, {}, {}", self.compiler.short(), answer.target),
                seconds: answer.seconds,
                package_bytes: bytes.len() as u64,
                cache_hit: false,
                key: self.key.to_string(),
                cuda_graph: None,
            },
            kernels: answer.kernels,
            checksum: plan::fnv1a(&bytes),
        };
        fs::write(folder.join(FACTS), serde_json::to_vec_pretty(&facts).map_err(io::Error::from)?)?;
        fs::remove_file(&graph)?;
        fs::remove_dir_all(&scratch)?;
        Ok(facts)
    }

    fn found(&self, held: PackageLease) -> Compiled {
        let mut facts = held.facts.clone();
        facts.compilation.cache_hit = true;
        self.result(held.package.clone(), facts, Keep::Held(held))
    }

    fn result(&self, package: PathBuf, facts: Facts, keep: Keep) -> Compiled {
        Compiled {
            package,
            facts: facts.compilation,
            kernels: facts.kernels,
            notes: options::notes(self.options.device, self.options.mode),
            _keep: Arc::new(keep),
        }
    }

    /// Why it was refused before in this process. A limit that was not enough says nothing of a
    /// longer one.
    fn refusal(&self) -> Option<Refusal> {
        let refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
        let (refusal, limit) = refused.get(&self.key)?;
        let is_longer = self.options.timeout > *limit && matches!(refusal, Refusal::Timeout(_));
        (!is_longer).then(|| refusal.clone())
    }

    fn refuse(&self, refusal: &Refusal) {
        let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
        refused.insert(self.key.clone(), (refusal.clone(), self.options.timeout));
    }
}

/// Keys of the packages that this process has compiled.
static MADE: LazyLock<Mutex<HashSet<Key>>> = LazyLock::new(Mutex::default);

/// Why, and under which limit. A step is prepared more than once, and a limit should pass once.
static REFUSED: LazyLock<Mutex<HashMap<Key, (Refusal, Duration)>>> = LazyLock::new(Mutex::default);

enum Trouble {
    Refused(Refusal),
    /// The folder cannot be written: no reason not to compile.
    Cache(String),
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Cache(error.to_string())
    }
}

/// A step that the tracer cannot express has not failed.
fn of_tracing(refusal: Refusal) -> Refusal {
    const UNTRACEABLE: [&str; 2] = ["Unsupported value kind", "unsupported input list type"];
    match refusal {
        Refusal::Failed(text) if UNTRACEABLE.iter().any(|it| text.contains(it)) => {
            Refusal::Unsupported(format!("this step cannot be traced: {text}"))
        }
        other => other,
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
