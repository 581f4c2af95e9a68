//! The published results: each result's name, its files, and the commands that make them.

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// A result that can be measured again.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: &'static str,
    /// How long it takes on two cores, without what it has to build.
    pub minutes: u32,
    /// Too long for a run of all entries.
    pub only_by_name: bool,
    /// Run first, with results of their own.
    pub runs: &'static [&'static str],
    pub files: &'static [File],
}

/// A file, and the command that prints it.
#[derive(Debug, PartialEq, Eq)]
pub struct File {
    pub name: &'static str,
    pub command: &'static str,
}

impl File {
    /// Whether the command prints a page, of which the file is a picture.
    pub fn is_picture(&self) -> bool {
        self.name.ends_with(".png")
    }
}

/// Leaves a record of the machine, for commands that leave none.
const MACHINE: &str = "cargo bench --bench calibration -- '/copy/.*8KiB'";

pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "summary",
        minutes: 2,
        only_by_name: false,
        runs: &["cargo xtask bench"],
        files: &[
            File { name: "summary.txt", command: "cargo criterion-report summary" },
            File { name: "report.png", command: "cargo criterion-report html" },
        ],
    },
    Entry {
        name: "summary-noisy",
        minutes: 5,
        only_by_name: true,
        runs: &["yes > /dev/null & one=$!; yes > /dev/null & two=$!; cargo xtask bench; code=$?; \
                 kill $one $two; exit $code"],
        files: &[File { name: "summary-noisy.txt", command: "cargo criterion-report summary" }],
    },
    Entry {
        name: "inference",
        minutes: 1,
        only_by_name: false,
        runs: &["cargo bench --bench inference"],
        files: &[
            File { name: "inference.txt", command: "cargo criterion-report show" },
            File {
                name: "inference-excerpt.txt",
                command: "cargo criterion-report show --filter '/linear/cpu/([^-]+|int4wo-64-hqq|\
                          gemlitewo-4-64|uintx-4-64[+]packed)/bf16-(1x|64x)'",
            },
        ],
    },
    Entry {
        name: "fusion",
        minutes: 5,
        only_by_name: false,
        runs: &["BENCH_CONFIG=configs/suites/fusion-cpu.yml cargo bench --bench fusion"],
        files: &[
            File { name: "fusion.txt", command: "cargo criterion-report fusion" },
            File {
                name: "fusion-excerpt.txt",
                command: "cargo criterion-report fusion --filter \
                          '(linear_bias/cpu/.*/f32-512x|full_attention/cpu/.*/f32-4x256x64$)'",
            },
        ],
    },
    Entry {
        name: "calibration",
        minutes: 2,
        only_by_name: false,
        runs: &["cargo bench --bench fusion", "cargo bench --bench calibration"],
        files: &[File {
            name: "calibration.txt",
            command: "cargo criterion-report calibration --hardware 'this machine'",
        }],
    },
    Entry {
        name: "operators",
        minutes: 4,
        only_by_name: false,
        runs: &["BENCH_CONFIG=configs/suites/operators-cpu.yml cargo bench --bench operators -- \
                 '/(gelu|silu|layer_norm|softmax|add_layer_norm)/'"],
        files: &[
            File { name: "operators.txt", command: "cargo criterion-report operators" },
            File {
                name: "operators-excerpt.txt",
                command: "cargo criterion-report operators --filter \
                          '(/gelu/.*/f32|/layer_norm/.*/bf16)-32x512x768$'",
            },
        ],
    },
    Entry {
        name: "compiled",
        minutes: 2,
        only_by_name: false,
        runs: &[
            "cargo xtask setup --python",
            "BENCH_CONFIG=configs/suites/compile-cpu.yml cargo bench --bench inference",
        ],
        files: &[
            File { name: "compiled.txt", command: "cargo criterion-report show" },
            File {
                name: "compiled-excerpt.txt",
                command: "cargo criterion-report show --columns latency,speedup",
            },
        ],
    },
    Entry {
        name: "compiled-torchao",
        minutes: 2,
        only_by_name: false,
        runs: &[MACHINE],
        files: &[File {
            name: "compiled-torchao.txt",
            command: r"cargo xtask compare-torchao configs/suites/compile-cpu.yml --filter '\+'",
        }],
    },
    Entry {
        name: "self-test",
        minutes: 3,
        only_by_name: false,
        runs: &[MACHINE],
        files: &[File { name: "self-test.txt", command: "cargo bench --bench self_test" }],
    },
    Entry {
        name: "repeat",
        minutes: 10,
        only_by_name: true,
        runs: &[MACHINE],
        files: &[File { name: "repeat.txt", command: "cargo bench --bench self_test -- repeat" }],
    },
    Entry {
        name: "slurm",
        minutes: 3,
        only_by_name: true,
        runs: &[MACHINE],
        files: &[File { name: "slurm.txt", command: "docs/results/slurm/measure" }],
    },
    Entry {
        name: "gpu-recipes",
        minutes: 1,
        only_by_name: true,
        runs: &["BENCH_CONFIG=configs/suites/h100.yml cargo bench --bench inference"],
        files: &[File { name: "gpu-recipes.txt", command: "cargo criterion-report show" }],
    },
    Entry {
        name: "gpu-compiled",
        minutes: 2,
        only_by_name: true,
        runs: &["BENCH_CONFIG=configs/suites/h100c.yml cargo bench --bench inference -- \
                 '/bf16-1x4096x4096$'"],
        files: &[File { name: "gpu-compiled.txt", command: "cargo criterion-report show" }],
    },
    Entry {
        name: "gpu-summary",
        minutes: 2,
        only_by_name: true,
        runs: &[
            "BENCH_CONFIG=configs/suites/h100.yml cargo bench --bench inference",
            "BENCH_CONFIG=configs/suites/h100c.yml cargo bench --bench inference -- \
             '/bf16-1x4096x4096$'",
        ],
        files: &[File { name: "gpu-summary.txt", command: "cargo criterion-report summary" }],
    },
    // In passing, ten samples each: what runs on the GPU, within which accuracy.
    Entry {
        name: "gpu-coverage",
        minutes: 2,
        only_by_name: true,
        runs: &[
            "BENCH_CONFIG=configs/suites/gpu-check/recipes.yml cargo bench --bench inference",
            "BENCH_CONFIG=configs/suites/gpu-check/fusion.yml cargo bench --bench fusion",
            "BENCH_CONFIG=configs/suites/gpu-check/limits.yml cargo bench --bench calibration",
        ],
        files: &[
            File {
                name: "gpu-coverage.txt",
                command: "cargo criterion-report show --filter '^inference/'",
            },
            File { name: "gpu-fusion.txt", command: "cargo criterion-report fusion" },
            File {
                name: "gpu-calibration.txt",
                command: "cargo criterion-report calibration --device cuda --hardware 'this GPU'",
            },
        ],
    },
    Entry {
        name: "compare-planted",
        minutes: 175,
        only_by_name: true,
        runs: &["docs/results/lockstep/measure"],
        files: &[File {
            name: "compare-planted.txt",
            command: "python3 docs/results/lockstep/table.py target/lockstep",
        }],
    },
    Entry {
        name: "recommend",
        minutes: 45,
        only_by_name: true,
        runs: &["docs/results/recommend/measure"],
        files: &[File {
            name: "recommend.txt",
            command: "python3 docs/results/recommend/table.py target/recommend",
        }],
    },
];

/// Reads a name on the command line.
pub fn parser() -> impl TypedValueParser<Value = &'static Entry> {
    PossibleValuesParser::new(ENTRIES.iter().map(|entry| entry.name)).map(|name| {
        let named = ENTRIES.iter().find(|entry| entry.name == name);
        named.expect("clap accepts the names of entries alone")
    })
}

/// The entries that are asked for; without any, those that are not too long.
pub fn chosen(named: &[&'static Entry]) -> Vec<&'static Entry> {
    match named {
        [] => ENTRIES.iter().filter(|entry| !entry.only_by_name).collect(),
        named => named.to_vec(),
    }
}

/// All entries, for `--list`.
pub fn list() -> String {
    let mut text = String::new();
    for Entry { name, minutes, only_by_name, files, .. } in ENTRIES {
        let files: Vec<&str> = files.iter().map(|file| file.name).collect();
        let note = if *only_by_name { ", only by name" } else { "" };
        text += &format!("{name:<17} {minutes:>2} min{note:<14}  {}\n", files.join(", "));
    }
    let together: u32 = ENTRIES.iter().filter(|it| !it.only_by_name).map(|it| it.minutes).sum();
    text + &format!("without a name: {together} min, and what has to be built\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::RESULTS;
    use super::super::header::Header;
    use super::*;
    use crate::skip;
    use cargo_torch_bench::files;
    use plan::git;

    #[test]
    fn all_of_them_together_take_less_than_half_an_hour() {
        let together = chosen(&[]);
        assert!(together.iter().map(|entry| entry.minutes).sum::<u32>() < 30);
        assert!(together.len() < ENTRIES.len());
        assert!(list().ends_with("without a name: 21 min, and what has to be built\n"));
    }

    #[test]
    fn names_are_unique() {
        let files = ENTRIES.iter().flat_map(|entry| entry.files).map(|file| file.name);
        let mut names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).chain(files).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    fn of_file(name: &str) -> Option<&'static Entry> {
        ENTRIES.iter().find(|entry| entry.files.iter().any(|file| file.name == name))
    }

    /// Each comes from a command that still exists, and from a commit that is in the history.
    #[test]
    fn every_stored_file_can_be_made_again() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let shallow = git::git(&root, &["rev-parse", "--is-shallow-repository"]).expect("git");
        let shown = git::git(&root, &["ls-files", RESULTS, "docs/images"]).expect("git");
        let files = shown.lines().filter(|path| path.ends_with(".txt"));
        let mut count = 0;
        for path in files {
            let stored = files::read(&root.join(path)).expect("readable");
            let (header, body) = Header::split(&stored);
            let name = path.rsplit('/').next().expect("it has a name");
            let known = |file: &str| file.replace(".png", ".txt") == name;
            let picture = name.replace(".txt", ".png");
            let entry = of_file(name).or_else(|| of_file(&picture));
            let entry = entry.unwrap_or_else(|| panic!("{path}: no entry makes it"));
            for key in ["machine", "libtorch", "rustc", "commit", "date", "quiet", "command"] {
                assert!(header.get(key).is_some(), "{path}: no {key}");
            }
            let file = entry.files.iter().find(|file| known(file.name)).expect("found above");
            let commands: Vec<&str> =
                header.lines.iter().filter(|(key, _)| key == "command").map(|it| &*it.1).collect();
            let now: Vec<&str> = entry.runs.iter().copied().chain([file.command]).collect();
            assert_eq!(commands, now, "{path}: other commands make it now");
            assert!(!body.contains("-dirty"), "{path}: of a commit and changes");
            let commit = header.get("commit").unwrap_or_default();
            if shallow == "true" {
                skip::tool("a shallow clone does not have the commits of results");
            } else {
                let found = git::ask(&root, &["cat-file", "-e", &format!("{commit}^{{commit}}")]);
                assert!(found.expect("git").is_some(), "{path}: there is no commit {commit}");
            }
            count += 1;
        }
        assert!(count > 3, "{count} files");
    }
}
