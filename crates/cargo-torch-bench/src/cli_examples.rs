//! The end of each command's help: examples, variables, and where to read more.

pub const EXAMPLES: &str = "\
Examples:
  cargo xtask bench                              a tour, and what pays here
  cargo xtask bench -- int8wo                    cases whose id contains int8wo
  cargo xtask bench --bench inference -- --list  the ids of one target

Read more: docs/book/src/start.md";

pub const NEW: &str = "\
Examples:
  cargo xtask new
  cargo xtask new --path ../criterion-torch    a checkout of criterion-torch

Read more: docs/book/src/plugin.md";

pub const SETUP: &str = "\
Example:
  cargo xtask setup --python

Variables:
  LIBTORCH                a libtorch 2.11.0 of your own: none is provisioned
  CRITERION_TORCH_CACHE   where it goes; else $XDG_CACHE_HOME/criterion-torch, else
                          ~/.cache/criterion-torch
  CRITERION_TORCH_PYTHON  a Python of your own that compiles: it has torch 2.11.0, and triton 3.6.0
                          on Linux; --python is not needed then
pip's configuration applies, such as PIP_INDEX_URL and PIP_PROXY.

Read more: docs/book/src/start.md";

pub const BENCH: &str = "\
Examples:
  cargo xtask bench                            a tour of 90 seconds
  cargo xtask bench --full                     all default suites
  cargo xtask bench -- int8wo                  cases whose id contains int8wo
  cargo xtask bench -- --save-baseline main    keep the results under a name
  BENCH_CONFIG=my.yml cargo xtask bench        other configs than configs/
  cargo xtask bench --repeat 8 -- --save-baseline main int8wo

See also: cargo bench --help; cargo bench --bench inference -- --help
Read more: docs/book/src/start.md";

pub const BUNDLE: &str = "\
Examples:
  cargo xtask bundle --output sweep.tar.zst
  cargo xtask bundle --output sweep.tar.zst --config my.yml -- int8wo
  cargo xtask bundle --output v4.tar.zst --bench inference --target-cpu x86-64-v4
  cargo xtask bundle --output gpu.tar.zst --gpu-check --without-libtorch

On a host: tar -xf sweep.tar.zst && sweep/torch-bench-run --shard 3/16
Read more: docs/book/src/scale/bundle.md";

pub const SUBMIT: &str = "\
Examples:
  cargo xtask submit --to slurm --bundle sweep --at-once 8 --run
  cargo xtask submit --to kubernetes --bundle sweep --claim shared
  cargo xtask submit --to github --bundle sweep --shards 16 -- int8wo
  cargo xtask submit --to skypilot --bundle sweep --bucket s3://my-bucket --cpus 16

Read more: docs/book/src/scale/submit.md";

pub const COMPARE_BRANCHES_USAGE: &str = "\
cargo xtask compare-branches [OPTIONS] <A> <B> [-- FILTER]
       cargo xtask compare-branches --clean";

pub const COMPARE_BRANCHES: &str = "\
Examples:
  cargo xtask compare-branches main . -- int8wo/bf16-1x4096
  cargo xtask compare-branches v0.1 main --bench inference --fail-on regression
  cargo xtask compare-branches main main --same        A/A: how noisy is it here?
  cargo xtask compare-branches --clean                 remove all worktrees

Read more: docs/book/src/branches.md";

pub const KERNELS: &str = "\
Examples:
  cargo xtask kernels                                  all, with their own settings
  cargo xtask kernels --iters 30 --precision fp32,fp16 poisson
  cargo xtask kernels --save-baseline main             on main, and on a branch
  cargo xtask kernels --compare-to main --fail-on regression
  cargo bench-quick                                    10 iterations after 2
  cargo bench-full                                     30 iterations after 3

Read more: docs/book/src/kernels.md";

pub const JUDGE: &str = "\
Examples:
  cargo xtask judge submissions/mine --task benches/kernels/reduction

Read more: docs/book/src/method/judge.md";

pub const CALIBRATE: &str = "\
Examples:
  cargo xtask calibrate --hardware my-server --output my-server.json
  cargo xtask calibrate --quick --only linear,conv --hardware my-server
  cargo xtask calibrate --device cuda --hardware h100

Read more: docs/book/src/reports/calibration.md";

pub const OPERATORS: &str = "\
Examples:
  cargo xtask operators
  cargo xtask operators --batch-sizes 32 --sequence-lengths 512 --tensor-dimensions 768
  cargo xtask operators --operations LayerNorm,softmax --device cuda --output my.json
  cargo xtask operators --runs 100

Read more: docs/book/src/reports/operators.md";

pub const RECOMMEND: &str = "\
Examples:
  cargo xtask recommend Qwen2.5-0.5B/config.json
  cargo xtask recommend config.json --plan             layers, products and time
  cargo xtask recommend config.json --phase prefill:512,decode:1x1000 --batch 1,8
  cargo xtask recommend layers.yml --objective memory:400MiB --recipes int8wo,int4wo-64

Read more: docs/book/src/recommend.md";

pub const CACHE: &str = "\
Examples:
  cargo xtask cache                            what there is, and how large
  cargo xtask cache clear compiled --older-than 30

Variables:
  CRITERION_TORCH_CACHE        the folder; else $XDG_CACHE_HOME/criterion-torch, else
                               ~/.cache/criterion-torch
  CRITERION_TORCH_COMPILED_MB  the bound of all packages together, in MiB (4096): beyond it, the
                               packages that were used longest ago are removed

Read more: docs/book/src/configs/compiled.md";

pub const DOCTOR: &str = "\
Example:
  cargo xtask doctor

Each line is marked:
  ok        there
  warning   works without, though less well; the line below says what to do
  missing   needed; the line below says what to do
  skipped   not looked at, with the reason

A program that is asked and does not answer within 20 s is killed, and the line says so;
CRITERION_TORCH_ASK_S is another limit, in seconds.

Read more: docs/book/src/start.md";

pub const FLAVOUR: &str = "\
Example:
  cargo xtask flavour

Read more: docs/book/src/start.md";

pub const PYTHON: &str = "\
Example:
  cargo xtask python

Read more: docs/book/src/configs/compiled.md";
