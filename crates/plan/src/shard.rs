//! Part i of n of a plan: how it is asked for, and how a scheduler's variables name it. Which cases are in it is
//! decided by [`crate::assignment`].

use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::words::closed::closed_set;

/// The most parts: more than a plan can have cases.
const MOST: u32 = 1_000_000;

/// One of several parts of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shard {
    /// Which one, from 1.
    pub index: u32,
    /// How many there are.
    pub count: u32,
}

impl Shard {
    fn new(index: u32, count: u32) -> Result<Self, String> {
        if !(1..=MOST).contains(&count) {
            return Err(format!("there are 1 to {MOST} shards, not {count}"));
        }
        if !(1..=count).contains(&index) {
            return Err(format!("there is no shard {index} of {count}; they count from 1"));
        }
        Ok(Self { index, count })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(index, count)| {
            Some((index.parse::<u32>().ok()?, count.parse::<u32>().ok()?))
        });
        let (index, count) = numbers.ok_or("give a part of all, such as 3/16")?;
        Self::new(index, count)
    }
}

closed_set! {
    /// How the parts of a plan are chosen.
    Partition, "partition" {
        /// Parts that are expected to take equally long.
        Balanced = "balanced",
        /// By a hash of the id, so that what is added to a config or removed moves nothing else.
        Hash = "hash",
    }
}

/// The part of its bench target's plan that a run had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunShard {
    /// Which part, from 1.
    pub index: u32,
    /// How many parts there are.
    pub count: u32,
    /// How the parts were chosen.
    pub partition: Partition,
    /// Source of the index: `flag`, or the name of the scheduler's variable.
    pub from: String,
}

/// The value of `--shard`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedShard {
    /// `3/16`
    Given(Shard),
    /// `auto`, or `auto/16`: a scheduler's variables say which one, and how many unless that is given.
    Auto {
        /// How many, if it is given.
        count: Option<u32>,
    },
}

impl FromStr for AskedShard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let remedy = "give a part of all, such as 3/16; `auto`, for the variables of a scheduler; or `auto/16`";
        match text.split_once('/') {
            None if text == AUTO => Ok(Self::Auto { count: None }),
            Some((AUTO, count)) => {
                let count = count.parse().map_err(|_| remedy.to_owned())?;
                Shard::new(1, count).map(|shard| Self::Auto { count: Some(shard.count) })
            }
            Some(_) if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/') => {
                text.parse().map(Self::Given)
            }
            _ => Err(remedy.to_owned()),
        }
    }
}

const AUTO: &str = "auto";

/// A shard and the source of its index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundShard {
    /// The shard.
    pub shard: Shard,
    /// `flag`, or the name of the variable.
    pub from: &'static str,
    /// Variables of other schedulers that are set, too, and were not used.
    pub unused: Vec<&'static str>,
}

impl AskedShard {
    /// The shard that is meant; `read` gives the value of a variable.
    ///
    /// # Errors
    /// When no scheduler has set its variables, or they contradict themselves or the count that is given.
    pub fn find(self, read: impl Fn(&str) -> Option<OsString>) -> Result<FoundShard, String> {
        let given = match self {
            Self::Given(shard) => {
                return Ok(FoundShard { shard, from: "flag", unused: Vec::new() });
            }
            Self::Auto { count } => count,
        };
        let mut set = SCHEDULERS.iter().filter(|it| read(it.index).is_some());
        let Some(used) = set.next() else {
            let names = SCHEDULERS.iter().map(|it| it.index).collect::<Vec<_>>().join(", ");
            return Err(format!(
                "no scheduler says which shard this is: none of {names} is set; give it, such as --shard 1/4"
            ));
        };
        let unused = set.map(|it| it.index).collect();
        Ok(FoundShard { shard: used.shard(given, &read)?, from: used.index, unused })
    }
}

/// The variables by which a scheduler tells a job which of several it is.
struct Scheduler {
    index: &'static str,
    first: First,
    /// How many there are; Kubernetes does not say.
    count: Option<&'static str>,
    /// The distance of two indices, where users may choose it.
    step: Option<&'static str>,
}

/// The index of the first job.
enum First {
    Is(u32),
    In(&'static str),
}

/// In the order in which they are asked.
const SCHEDULERS: &[Scheduler] = &[
    Scheduler {
        index: "SLURM_ARRAY_TASK_ID",
        first: First::In("SLURM_ARRAY_TASK_MIN"),
        count: Some("SLURM_ARRAY_TASK_COUNT"),
        step: Some("SLURM_ARRAY_TASK_STEP"),
    },
    Scheduler { index: "JOB_COMPLETION_INDEX", first: First::Is(0), count: None, step: None },
    Scheduler {
        index: "CI_NODE_INDEX",
        first: First::Is(1),
        count: Some("CI_NODE_TOTAL"),
        step: None,
    },
    Scheduler {
        index: "SKYPILOT_JOB_RANK",
        first: First::Is(0),
        count: Some("SKYPILOT_NUM_JOBS"),
        step: None,
    },
];

impl Scheduler {
    /// The shard by these variables, and by the count that is given.
    fn shard(
        &self,
        given: Option<u32>,
        read: &impl Fn(&str) -> Option<OsString>,
    ) -> Result<Shard, String> {
        let index = needed(self.index, read)?;
        if let Some(step) = self.step
            && number(step, read)?.is_some_and(|step| step != 1)
        {
            return Err(format!(
                "{step} is not 1, so {} counts no shards; submit an array without a step, such as 1-16",
                self.index
            ));
        }
        let first = match self.first {
            First::Is(first) => first,
            First::In(variable) => needed(variable, read)?,
        };
        let said = self.count.map(|variable| Ok::<_, String>((variable, number(variable, read)?)));
        let count = match (given, said.transpose()?) {
            (Some(given), Some((variable, Some(said)))) if given != said => {
                return Err(format!(
                    "{variable} is {said} and --shard says {given}, so {} may count other parts; name the \
                     shard, such as --shard 1/{given}",
                    self.index
                ));
            }
            (Some(count), _) | (None, Some((_, Some(count)))) => count,
            (None, Some((variable, None))) => {
                return Err(format!(
                    "{} is set and {variable} is not; say how many shards there are, such as --shard auto/16",
                    self.index
                ));
            }
            (None, None) => {
                return Err(format!(
                    "{} comes without a total; say how many shards there are, such as --shard auto/16",
                    self.index
                ));
            }
        };
        let place = index.checked_sub(first).and_then(|place| place.checked_add(1));
        let shard = place.map(|place| Shard::new(place, count));
        shard.and_then(Result::ok).ok_or_else(|| {
            format!(
                "{} is {index}, which is none of {count} from {first} on; submit them without gaps, or name \
                 the shard, such as --shard 1/{count}",
                self.index
            )
        })
    }
}

fn needed(variable: &str, read: &impl Fn(&str) -> Option<OsString>) -> Result<u32, String> {
    number(variable, read)?
        .ok_or_else(|| format!("{variable} is not set; name the shard, such as --shard 1/4"))
}

/// The number that a variable holds, if it is set.
fn number(variable: &str, read: &impl Fn(&str) -> Option<OsString>) -> Result<Option<u32>, String> {
    let Some(value) = read(variable) else { return Ok(None) };
    match value.to_str().and_then(|text| text.trim().parse().ok()) {
        Some(number) => Ok(Some(number)),
        None => Err(format!(
            "{variable} is `{}`, which is no whole number from 0 on; name the shard, such as --shard 1/4",
            value.display()
        )),
    }
}

#[cfg(test)]
#[path = "shard_tests.rs"]
mod tests;
