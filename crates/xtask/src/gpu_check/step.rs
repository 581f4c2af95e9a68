//! The steps, in the order in which they are taken.

/// Something to be proved about a GPU.
#[derive(Debug)]
pub struct Step {
    pub name: &'static str,
    /// This is known once the step has passed.
    pub proves: &'static str,
    pub work: Work,
    /// The part that `--quick` takes.
    pub quick: Quick,
    /// Roughly how long it takes on a GPU, of either kind; a step is killed after ten times that.
    pub seconds: [u32; 2],
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

#[derive(Debug, Clone, Copy)]
pub enum Quick {
    Whole,
    /// Cases that match this instead.
    Filter(&'static str),
    LeftOut,
}

impl Step {
    /// The work of a run of either kind, or none.
    pub fn work(&self, quick: bool) -> Option<Work> {
        match (quick, self.quick, self.work) {
            (false, ..) | (_, Quick::Whole, _) => Some(self.work),
            (_, Quick::Filter(filter), Work::Cases { target, .. }) => {
                Some(Work::Cases { target, filter })
            }
            (_, Quick::Filter(_) | Quick::LeftOut, _) => None,
        }
    }

    pub fn seconds(&self, quick: bool) -> u32 {
        self.seconds[usize::from(quick)]
    }
}

/// The bench targets of the steps.
pub const TARGETS: [&str; 6] =
    ["self_test", "operators", "kernels", "inference", "fusion", "calibration"];

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

pub const STEPS: &[Step] = &[
    Step {
        name: "doctor",
        proves: "the machine has what building and CUDA take",
        work: Work::Doctor,
        quick: Quick::Whole,
        seconds: [2, 2],
    },
    check("device", "events hold the time of a kernel whose length the clock tells", 3),
    check("launches", "the host's launches are hidden, by either clock", 3),
    check("flush", "cold cases start with nothing of theirs in the L2 cache", 3),
    check(
        "device-memory",
        "the counters hold the bytes that a step allocates, by the driver too",
        3,
    ),
    Step {
        name: "operators",
        proves: "our CUDA and Triton kernels of operators give what float64 gives",
        work: Work::Cases { target: "operators", filter: "^operators/operators/" },
        quick: Quick::Filter("^operators/operators/.*/bf16-4x128x1000$"),
        seconds: [90, 15],
    },
    Step {
        name: "kernels",
        proves: "the example kernels in CUDA give what their references give",
        work: Work::Cases { target: "kernels", filter: "^kernels/own-kernels/" },
        quick: Quick::Whole,
        seconds: [15, 15],
    },
    sanitizer("memcheck", "our kernels touch no memory but their own"),
    sanitizer("racecheck", "threads of our kernels do not race for shared memory"),
    Step {
        name: "recipes",
        proves: "every recipe that the GPU supports is within its accuracy limit at 1, 17 and 512 rows",
        work: Work::Cases { target: "inference", filter: "^inference/recipes/" },
        quick: Quick::Filter("^inference/recipes/.*/bf16-17x"),
        seconds: [90, 20],
    },
    Step {
        name: "fusion",
        proves: "every pattern gives in every variant what float64 gives",
        work: Work::Cases { target: "fusion", filter: "^fusion/fusion/" },
        quick: Quick::Filter("^fusion/fusion/.*/f16-"),
        seconds: [60, 15],
    },
    check("fused", "fused variants run the kernels that they promise, by name", 10),
    Step {
        name: "compiled",
        proves: "what Inductor compiles runs from its package and agrees with eager",
        work: Work::Cases { target: "inference", filter: "^inference/compiled/" },
        quick: Quick::LeftOut,
        seconds: [90, 0],
    },
    Step {
        quick: Quick::LeftOut,
        seconds: [15, 0],
        ..check("energy", "windows of 1 s and of 10 s give one power", 15)
    },
    check("board", "NVML reads the board that CUDA uses", 5),
    check("device-copy", "our kernels come near to a copy of as many bytes", 10),
    Step {
        name: "limits",
        proves: "bandwidth and products are what the vendor's figures make likely",
        work: Work::Vendor,
        quick: Quick::Whole,
        seconds: [20, 20],
    },
    check("fault", "an illegal access is seen, and ends with its process", 5),
    Step {
        name: "culprit",
        proves: "a case that breaks CUDA is named, and the cases behind it are skipped, not failed",
        work: Work::Culprit,
        quick: Quick::Whole,
        seconds: [5, 5],
    },
    check("device-oom", "memory that runs out is told as such, and the device works on", 3),
];

const fn check(name: &'static str, proves: &'static str, seconds: u32) -> Step {
    Step { name, proves, work: Work::Check(name), quick: Quick::Whole, seconds: [seconds, seconds] }
}

const fn sanitizer(tool: &'static str, proves: &'static str) -> Step {
    Step {
        name: tool,
        proves,
        work: Work::Sanitizer { tool },
        quick: Quick::LeftOut,
        seconds: [90, 0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_takes_ten_minutes_and_a_quick_one_two() {
        let together = |quick| STEPS.iter().map(|step| step.seconds(quick)).sum::<u32>();
        assert!(together(false) <= 630, "{}", together(false));
        assert!(together(true) <= 150, "{}", together(true));
        for step in STEPS {
            assert_eq!(step.work(true).is_none(), step.seconds(true) == 0, "{}", step.name);
        }
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
