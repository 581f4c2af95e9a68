//! What `--help` prints.

pub const ALL: &str = "\
cargo xtask: provision libtorch, then run the plain cargo command

Usage: cargo xtask <command>

  setup [--cpu | --cuda]   provision libtorch 2.11.0 and link it as .libtorch
        [--python]         torch 2.11.0 for Python, too: compiled variants need it
  bench [ARGUMENTS]        setup, cargo bench ARGUMENTS, then the report
        [--repeat N]       in N launches, to be compared with others
  compare-branches A B     two revisions, built and measured in turn, then compared
  kernels [OPTIONS]        setup, your own kernels in benches/kernels, their report
  test  [ARGUMENTS]        setup, cargo test --workspace ARGUMENTS
  results [NAME]           measure what the documents publish, into docs/results
  compare-torchao CONFIG   our times against torchao 0.17's own, in turn
  flavour                  the libtorch that setup chooses here: cpu or cuda
  python                   the path of the Python that compiles
  cache [clear WHAT]       what is provisioned and compiled here, and be rid of it
  doctor                   what this machine has, and what to do about each gap
  gpu-check [--quick]      everything about a GPU proved on this one, into one page
  help [COMMAND]           more about one command

After any of setup, bench, kernels and test, plain `cargo bench`, `cargo bench -- int8wo`
and `cargo test` work too, with no variable set.

  cargo xtask bench                              the default suite and its report
  cargo xtask bench -- int8wo                    cases whose id contains int8wo
  cargo xtask bench --bench inference -- --list  the ids of one target

Exit codes: 0 fine; 1 something is missing or failed; 2 a wrong command line;
bench, kernels and test end with the code of the first command that failed.
";

pub const SETUP: &str = "\
cargo xtask setup [--cpu | --cuda] [--python]: provision libtorch 2.11.0

Takes torch's wheel from the Python package index with python3's pip, once per
user, and links it into this clone as .libtorch. Done already, it does nothing.
It may be interrupted, or run twice at once: nothing half-installed is linked.
Where .libtorch led elsewhere before, the next build compiles tch's C++ again.

  (neither)  what .libtorch leads to, if that is a whole libtorch 2.11.0; else
             cuda if an NVIDIA driver is found, cpu if not
  --cpu      without CUDA: about 540 MB to download, 0.8 GB on disk
  --cuda     with CUDA 13.0: about 2.7 GB to download, 4.9 GB on disk
  --python   also torch 2.11.0, torchao 0.17.0, triton 3.6.0 and numpy for python3,
             in the cache: what compiled variants (use_torch_compile), Triton
             kernels and compare-torchao need. On Linux about 2.7 GB to download,
             5 GB on disk, 8 GB while it installs, as torch's wheel brings CUDA
             along; two minutes on two cores with a fast network

Variables:
  LIBTORCH               a libtorch 2.11.0 of your own: none is provisioned
  CRITERION_TORCH_CACHE  where it goes; else $XDG_CACHE_HOME/criterion-torch,
                         else ~/.cache/criterion-torch
  CRITERION_TORCH_PYTHON a Python of your own that compiles: it has torch 2.11.0,
                         and triton 3.6.0 on Linux; --python is not needed then
  PIP_INDEX_URL, PIP_PROXY and the rest of pip's configuration are heeded
";

pub const BENCH: &str = "\
cargo xtask bench [ARGUMENTS]: setup, cargo bench ARGUMENTS, then the report

ARGUMENTS go to `cargo bench` as they are, and after `--` to criterion:

  cargo xtask bench                            the default suite
  cargo xtask bench -- int8wo                  cases whose id contains int8wo
  cargo xtask bench -- --save-baseline main    keep the results under a name
  BENCH_CONFIG=my.yml cargo xtask bench        other configs than configs/

With --repeat N, before `--`, it is built once and measured in N launches, each a
process of its own, as no interval of one launch knows how far the next would be off:

  cargo xtask bench --repeat 8 -- --save-baseline main int8wo

  - Kept as main@1 to main@8; without --save-baseline as base@1 to base@8. A side of
    `cargo criterion-report compare main pr` is all launches of a name, and
    `cargo criterion-report aa main` says how far they are apart among themselves.
  - Earlier launches under that name are removed first, with a FILTER also of cases
    that it leaves out: a name is one set of launches. Choose another to keep both.
  - It takes N times as long as one: 8 launches of the default suites an hour and more.
    stderr says how much is left. A launch that fails ends it with its exit code, and
    what was measured is kept; so it is after Ctrl-C. Failed cases are kept as such,
    the launches go on, and the exit code is 1.
  - No report follows. Not with --test, --list, --profile-time, --no-run, or the other
    options on baselines. Sources that change meanwhile are found out, and end it.

The report (`cargo criterion-report show`) follows when the run came to its end,
failed cases and all: not after --list, --test, --no-run, --help or
--profile-time, nor when nothing could be run.
See also: cargo bench --help; cargo bench --bench inference -- --help
";

pub const COMPARE_BRANCHES: &str = "\
cargo xtask compare-branches A B [OPTIONS] [-- FILTER and criterion's options]

Is B slower than A? Both are built, then measured in turn, A B B A and so on, in
launches of their own, then compared: cargo criterion-report compare A B.

  A, B            branches, tags, commits: whatever git knows here, nothing is fetched.
                  A dot is this checkout with what is not committed
  --launches N    of each (8): fewer than 7 cannot be significant among 50 cases
  --bench TARGET  only this bench target; may be repeated
  --fail-on LIST  of regression, accuracy, missing, inconclusive: exit code 1 for these

  cargo xtask compare-branches main . -- int8wo/bf16-1x4096
  cargo xtask compare-branches v0.1 main --bench inference --fail-on regression
  cargo xtask compare-branches main main --launches 10     A/A: how noisy is it here?
  cargo xtask compare-branches --clean                     remove all worktrees

It takes 16 times as long as one `cargo bench` with that filter, and a build for each
commit that is new here, of everything for the first: for the default suites, two hours and
more; for a dozen small cases, some minutes. So filter. stderr says how much is left;
stdout has the comparison alone.

Commits are checked out and built in target/compare/<commit>, which is kept for the
next time, some 2 GB each. A new one takes its dependencies over from the one that was
built last, so that only this project's own crates are compiled. The dot is built where it lies: leave its sources alone
until the end; changes are found out, and end the comparison. Launches are kept as A@1,
B@1, B@2 and so on in this clone's target/criterion, under the names of the revisions
(feature/x as feature-x), and replace earlier ones of these names. Both sides use this
toolchain and this clone's libtorch. A relative path in BENCH_CONFIG is each side's own
file. Failed cases are kept as such; any other failure ends the comparison, and so does
Ctrl-C: launches until then are kept, and the next comparison replaces them. One at a
time: a second one is told who measures, and ends.
Exit codes: that of the comparison: 0 fine, 1 what --fail-on names was found, 2 a
mistake, or somebody else measures here; or that of the cargo command that failed, which is named with its folder.
";

pub const KERNELS: &str = "\
cargo xtask kernels [OPTIONS] [FILTER]: setup, your own kernels, their report

Every kernel under benches/kernels is found, built, checked against its reference
and measured; one file is enough for one, and nothing is registered. Then the
report is written: reports/summary.md for people, summary.json, env.json,
kernel_manifest.json and kernels/<name>.json for programs.

  FILTER                 only cases whose id matches this regular expression:
                         kernels/default/<kernel>/<device>/<implementation>/…

What wins over every bench.yaml; not given, each kernel's own words stay. Of the
precisions and backends that a bench.yaml lists, these keep the named ones:
  --iters N              timed iterations (10 or more)
  --warmup N             iterations before them
  --precision LIST       of fp64, fp32, bf16, fp16, fp8: really run in each
  --backends LIST        of cpu, cuda: really run there, or a written skip
  --seed N               of the inputs

The report:
  --output-dir DIR       where it goes (reports)
  --compare-to WHAT      a baseline's name, the folder of an earlier report or an
                         exported file; adds regressions.md: slower by 10 %, less
                         accurate by 1e-3, improved, new, missing. Other thresholds,
                         without measuring again: cargo criterion-report kernels --help
  --fail-on LIST         of failure and, compared with something, of regression,
                         accuracy, missing: exit code 1 for these
  --history DIR          earlier summaries, for trends: benchmarks/history
  --save-baseline NAME   keep the results under this name
  -v, --verbose          print first what was found, and what it expands to

  cargo xtask kernels                                  all, as they say themselves
  cargo xtask kernels --iters 30 --precision fp32,fp16 poisson
  cargo xtask kernels --save-baseline main             on main, and on a branch
  cargo xtask kernels --compare-to main --fail-on regression
  cargo bench-quick                                    10 iterations after 2
  cargo bench-full                                     30 iterations after 3

Of an option given twice the last one counts, so aliases take options, too.
Options that override are added to copies of configs/kernels/*.yml. BENCH_CONFIG
names other configs instead, and then what they say holds.
Exit codes: 0 fine; 1 a case failed or the run died (the report is written), or what
--fail-on names was found; 2 a mistake on the command line, in a config, a bench.yaml or a
kernel's file, with its place; nothing was measured then.
";

pub const TEST: &str = "\
cargo xtask test [--exhaustive] [ARGUMENTS]: setup, cargo test --workspace ARGUMENTS

ARGUMENTS go to `cargo test` as they are, and after `--` to the test harness:

  cargo xtask test                             every test of the workspace
  cargo xtask test expand -- --nocapture       tests whose name contains expand
  cargo xtask test --exhaustive                the tests that are ignored otherwise
  cargo xtask test --exhaustive exp_is         one of them

The exhaustive tests try every float32, and every compiled variant: minutes each, one of
them an hour. They are optimized, and need what `cargo xtask setup --python` brings.
A test that cannot run on this machine says so, and is listed at the end.

See also: cargo test --help
";

pub const RESULTS: &str = "\
cargo xtask results [NAME]...: measure what the documents publish

Each result is measured by the commands that its files name, with results of its own
in target/results, and written to docs/results/<machine>: first `# key: value` lines
with machine, commit, date, how quiet it was and the commands, then what the last
command printed. The picture of a page needs chromium. Then the documents are brought
up to date.

  cargo xtask results               all that do not take too long, about 20 minutes
  cargo xtask results operators     one of them
  cargo xtask results --list        names, how long each takes, files
  cargo xtask results --docs        nothing is measured; stored results go into documents

In a document, what stands between `<!-- result: <machine>/<file> -->` and
`<!-- end -->` is the file. A test holds all documents to that.
What is not committed is refused, apart from documents: a result names its commit.
Run it on a quiet machine.
";

pub const COMPARE_TORCHAO: &str = "\
cargo xtask compare-torchao CONFIG [--filter REGEX] [--python PATH]

Our times against torchao 0.17.0's own: the same recipe, model, shape, dtype,
threads and allocator, in turn, in one run. An eager case is compared with eager
torchao, a compiled one with torch.compile of torchao's model in the same mode;
neither compiles while it is timed. Prints a table of both times and of ours over
torchao's with its 95 % interval; what one of the two does not run stands below it
with the reason.

  --filter REGEX  only cases whose id matches
  --python PATH   a Python that has torch 2.11.0 and torchao 0.17.0; else that of
                  SELF_TEST_PYTHON; else that of cargo xtask setup --python, which
                  is provisioned if it is not there yet: about 2.7 GB to download
                  on Linux, 5 GB on disk

  cargo xtask compare-torchao configs/suites/recipes-cpu.yml
  cargo xtask compare-torchao configs/suites/recipes-cpu.yml --filter '/int8wo/.*-1x'
  cargo xtask compare-torchao configs/suites/compile-cpu.yml --filter '\\+'

Each pair takes batches of 30 ms until its interval is as narrow as the config's
`sampling.target` asks (1 % by default), or `sampling.measurement_s` (4) is over;
if its ratio is above 1.05 then but the interval is not, for up to three times as
long. Run it on a quiet machine.
Exit codes: 0 fine; 1 a ratio is above 1.05, or a case failed.
";

pub const FLAVOUR: &str = "\
cargo xtask flavour: the libtorch that setup chooses here, cpu or cuda

That of LIBTORCH; else of the libtorch that .libtorch leads to; else cuda if an
NVIDIA driver is found, cpu if not. Nothing is provisioned or linked: a CI job asks
for it before it restores what was built, which serves one of the two alone.
";

pub const PYTHON: &str = "\
cargo xtask python: the path of the Python that compiles

That of CRITERION_TORCH_PYTHON; else the one of cargo xtask setup --python; else
python3 of the PATH. It compiles variants with use_torch_compile and Triton
kernels; cargo xtask doctor says whether it has what that takes.
";

pub const CACHE: &str = "\
cargo xtask cache: what is provisioned and compiled here, and be rid of it

  cargo xtask cache                      its folder, what it holds, how much
  cargo xtask cache list                 each compiled package: key, mode, size,
                                         how long it took, when it was used last
  cargo xtask cache clear WHAT           remove what was compiled:
                compiled                 packages of torch.compile
                kernels                  CUDA and Triton kernels
                all                      both
    --older-than DAYS                    only what was not used (kernels: made) in
                                         so many days

The first two take --format table or json (sizes in bytes on disk, times in seconds
since 1970). What is cleared is compiled again when it is needed. What a process is
using or making stays. A libtorch or Python's torch goes with rm -r, and comes back with
cargo xtask setup; links to it in other clones lead nowhere until then.

Variables:
  CRITERION_TORCH_CACHE        the folder; else $XDG_CACHE_HOME/criterion-torch,
                               else ~/.cache/criterion-torch
  CRITERION_TORCH_COMPILED_MB  what all packages may weigh together, in MiB (4096):
                               beyond it those go that were used longest ago
";

pub const DOCTOR: &str = "\
cargo xtask doctor: what this machine has, and what to do about each gap

Looks at the toolchain, python, libtorch, CUDA, the processor, what torch.compile
takes and the cache, changes nothing, and ends with 0 if all that is needed is
there, else with 1. Each line is marked

  ok        there
  warning   works without, though less well; the line below says what to do
  missing   needed; the line below says what to do
  skipped   not looked at, with the reason

A program that it asks and that does not answer within 20 s is killed, and the line
says so; CRITERION_TORCH_ASK_S is another limit, in seconds.
";

pub const GPU_CHECK: &str = "\
cargo xtask gpu-check [--output DIR] [--quick]: everything about a GPU, proved on this one

Takes one step after the other, whatever becomes of those before: the doctor; clocks,
events, hidden launches, cache flush and memory counters; every CUDA and Triton kernel,
recipe, pattern and compiled variant against float64; the same kernels in the hands of
compute-sanitizer, if it is installed; power and board by NVML; bandwidth and products
against the vendor's figures; an illegal access and memory that runs out, on purpose.

  --output DIR  where gpu-check.md and gpu-check.json go; else target/gpu-check
  --quick       about 2 minutes on a GPU instead of 10, both after building

The page says for each step what was expected and what was found; the file has every
record and log besides. Both go without names of host and user and without folders of
this machine, so that they can be attached to a bug report as they are. Without a GPU
every step but the doctor's is skipped, with its reason.
Nothing else should run on the GPU meanwhile.
Exit codes: 0 no step failed; 1 one did; 2 a wrong command line.
";
