//! The steps, in the order in which they are taken.

/// Something to be proved about a GPU.
#[derive(Debug)]
pub struct Step {
    pub name: &'static str,
    /// This is known once the step has passed.
    pub proves: &'static str,
    pub work: Work,
    /// `--quick` takes the cases that match this, if not all.
    quick_filter: Option<&'static str>,
    /// Roughly how long it takes on a GPU, and with `--quick`, which leaves out what takes none. A step
    /// is killed after ten times that.
    seconds: [u32; 2],
}

/// The way in which a step is taken.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    Doctor,
    /// A check of the bench target `self_test`.
    Check(&'static str),
    /// Cases of a bench target, selected by a regular expression on their ids.
    Cases {
        target: &'static str,
        filter: &'static str,
    },
    /// Cases as above, once each, in the hands of a tool of compute-sanitizer.
    Sanitizer {
        tool: &'static str,
    },
    /// The target `calibration`, held against the vendor's figures.
    Vendor,
    /// A kernel that breaks CUDA for its process, and one behind it.
    Culprit,
}

impl Step {
    /// The work of a run of either kind, or none.
    pub fn work(&self, quick: bool) -> Option<Work> {
        match (self.work, self.quick_filter) {
            _ if self.seconds(quick) == 0 => None,
            (Work::Cases { target, .. }, Some(filter)) if quick => {
                Some(Work::Cases { target, filter })
            }
            (work, _) => Some(work),
        }
    }

    pub fn seconds(&self, quick: bool) -> u32 {
        self.seconds[usize::from(quick)]
    }
}

/// The bench target that has the checks.
pub const SELF_TEST: &str = "self_test";

/// The bench targets of the steps.
pub const TARGETS: [&str; 6] =
    [SELF_TEST, "operators", "kernels", "inference", "fusion", "calibration"];

/// Configs of the bench targets, in the clone.
pub const CONFIGS: [&str; 7] = [
    "configs/suites/gpu-check/recipes.yml",
    "configs/suites/gpu-check/compiled.yml",
    "configs/suites/gpu-check/operators.yml",
    "configs/suites/gpu-check/fusion.yml",
    "configs/suites/gpu-check/own-kernels.yml",
    "configs/suites/gpu-check/fault.yml",
    "configs/suites/gpu-check/limits.yml",
];

/// Cases whose kernels are ours: what compute-sanitizer looks at.
pub const OURS: [(&str, &str); 3] = [
    ("operators", "^operators/operators/.*/(cuda|triton|stream)/"),
    ("inference", "^inference/recipes/.*/gemlitewo-"),
    ("kernels", "^kernels/own-kernels/"),
];

/// The seconds of the long ones are those of an H100.
pub const STEPS: &[Step] = &[
    step("doctor", "the machine has everything that the other steps need", Work::Doctor, [2, 2]),
    check("device", "events hold the time of a kernel whose length the clock tells", 3),
    check("launches", "the host's launches are hidden, by either clock", 3),
    check("flush", "cold cases start with nothing of theirs in the L2 cache", 3),
    check(
        "device-memory",
        "the counters hold the bytes that a step allocates, by the driver too",
        3,
    ),
    Step {
        quick_filter: Some("^operators/operators/.*/bf16-4x128x1000$"),
        ..step(
            "operators",
            "our CUDA and Triton kernels of operators give what float64 gives",
            Work::Cases { target: "operators", filter: "^operators/operators/" },
            [310, 45],
        )
    },
    step(
        "kernels",
        "the example kernels in CUDA give what their references give",
        Work::Cases { target: "kernels", filter: "^kernels/own-kernels/" },
        [39, 39],
    ),
    sanitizer("memcheck", "our kernels touch no memory but their own"),
    sanitizer("racecheck", "threads of our kernels do not race for shared memory"),
    Step {
        quick_filter: Some("^inference/recipes/.*/bf16-17x"),
        ..step(
            "recipes",
            "every recipe that the GPU supports is within its accuracy limit at 1, 17 and 512 rows, at 17 in a CUDA \
             graph, too",
            Work::Cases { target: "inference", filter: "^inference/recipes/" },
            [45, 30],
        )
    },
    Step {
        quick_filter: Some("^fusion/fusion/.*/f16-"),
        ..step(
            "fusion",
            "every pattern gives in every variant what float64 gives",
            Work::Cases { target: "fusion", filter: "^fusion/fusion/" },
            [27, 15],
        )
    },
    check("fused", "fused variants run the kernels that they promise, by name", 10),
    step(
        "compiled",
        "what Inductor compiles runs from its package and agrees with eager",
        Work::Cases { target: "inference", filter: "^inference/compiled/" },
        [108, 0],
    ),
    step("energy", "windows of 1 s and of 10 s give one power", Work::Check("energy"), [15, 0]),
    check("board", "NVML reads the board that CUDA uses", 5),
    check("device-copy", "our kernels come near to a copy of as many bytes", 10),
    step(
        "limits",
        "bandwidth and products are what the vendor's figures make likely",
        Work::Vendor,
        [27, 27],
    ),
    check("fault", "an illegal access is seen, and ends with its process", 5),
    step(
        "culprit",
        "a case that breaks CUDA is named, and the cases behind it are skipped, not failed",
        Work::Culprit,
        [5, 5],
    ),
    check("device-oom", "memory that runs out is told as such, and the device works on", 3),
];

const fn step(name: &'static str, proves: &'static str, work: Work, seconds: [u32; 2]) -> Step {
    Step { name, proves, work, quick_filter: None, seconds }
}

const fn check(name: &'static str, proves: &'static str, seconds: u32) -> Step {
    step(name, proves, Work::Check(name), [seconds, seconds])
}

const fn sanitizer(tool: &'static str, proves: &'static str) -> Step {
    step(tool, proves, Work::Sanitizer { tool }, [113, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_takes_a_quarter_of_an_hour_and_a_quick_one_four_minutes() {
        let together = |quick| STEPS.iter().map(|step| step.seconds(quick)).sum::<u32>();
        assert!(together(false) <= 900, "{}", together(false));
        assert!(together(true) <= 240, "{}", together(true));
        for step in STEPS {
            assert_eq!(step.work(true).is_none(), step.seconds(true) == 0, "{}", step.name);
        }
        let left_out = STEPS.iter().filter(|step| step.work(true).is_none()).map(|step| step.name);
        assert_eq!(left_out.collect::<Vec<_>>(), ["memcheck", "racecheck", "compiled", "energy"]);
    }

    #[test]
    fn the_document_has_every_step() {
        let document = include_str!("../../../../docs/GPU.md");
        let rows =
            STEPS.iter().map(|Step { name, proves, .. }| format!("| `{name}` | {proves} |\n"));
        assert!(document.contains(&rows.collect::<String>()), "the table of docs/GPU.md differs");
    }

    #[test]
    fn every_config_is_there() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for config in CONFIGS {
            assert!(root.join(config).exists(), "{config}");
        }
    }
}
