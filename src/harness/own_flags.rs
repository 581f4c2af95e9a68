//! Flags of ours, which criterion would refuse: they are gone from the process's arguments when criterion reads these.
//! If the arguments cannot be changed, the process starts anew without them, and a variable with its value stands for each.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::ArgMatches;
use plan::flag::{self, Flag, Value};

use super::argv;
use super::flags::EVERY;

/// One of them.
pub struct OwnFlag {
    pub name: &'static str,
    pub variable: &'static str,
}

pub const WAIT: OwnFlag = OwnFlag { name: "wait", variable: "CRITERION_TORCH_WAIT" };
pub const PROFILE: OwnFlag = OwnFlag { name: "profile", variable: "CRITERION_TORCH_PROFILE" };
pub const BUDGET: OwnFlag = OwnFlag { name: "budget", variable: "CRITERION_TORCH_BUDGET" };
pub const SHARD: OwnFlag = OwnFlag { name: "shard", variable: "CRITERION_TORCH_SHARD" };
pub const PARTITION: OwnFlag = OwnFlag { name: "partition", variable: "CRITERION_TORCH_PARTITION" };
pub const RESUME: OwnFlag = OwnFlag { name: "resume", variable: "CRITERION_TORCH_RESUME" };
const ALL: [&OwnFlag; 6] = [&WAIT, &PROFILE, &BUDGET, &SHARD, &PARTITION, &RESUME];

impl OwnFlag {
    /// The one that an argument is, with the value that it gives.
    fn of(argument: &str) -> Option<(&'static Self, Option<&str>)> {
        let (flag, value) = Flag::of(argument)?;
        Some((ALL.into_iter().find(|own| own.name == flag.name)?, value))
    }

    /// Whether its value may be the next word.
    fn has_value_apart(&self) -> bool {
        let flag = flag::FLAGS.iter().find(|it| it.name == self.name);
        flag.and_then(|it| it.value).is_some_and(Value::may_be_apart)
    }

    /// The value that its variable has, if it was given.
    fn hidden(&self) -> Result<Option<String>, String> {
        let Some(value) = std::env::var_os(self.variable) else { return Ok(None) };
        let value = value.into_string();
        value.map(Some).map_err(|_| format!("{} is not UTF-8", self.variable))
    }

    /// Whether it was given; it has no value.
    pub fn is_given(&self, flags: &ArgMatches) -> Result<bool, String> {
        Ok(flags.get_flag(self.name) || self.hidden()?.is_some())
    }

    /// Its value, if it was given: as `flags` has it, or as `parse` reads its variable.
    pub fn value<T: Clone + Send + Sync + 'static>(
        &self,
        flags: &ArgMatches,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        if let Some(value) = flags.get_one::<T>(self.name) {
            return Ok(Some(value.clone()));
        }
        let value = self.hidden()?.map(|text| parse(&text));
        value.transpose().map_err(|error| format!("{}: {error}", self.variable))
    }
}

/// Takes the flags that criterion does not know out of the process's arguments, which it reads itself.
pub fn hide() -> Result<(), String> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (kept, hidden) = split(&arguments);
    let Some((first, _)) = hidden.first() else { return Ok(()) };
    argv::keep(&kept);
    let kept: Vec<OsString> = kept.iter().map(|place| arguments[*place].clone()).collect();
    if std::env::args_os().skip(1).eq(kept.iter().cloned()) {
        return Ok(());
    }
    // It loads libtorch a second time.
    let program = std::env::current_exe()
        .map_err(|error| format!("--{}: this executable has no path: {error}", first.name))?;
    let variables = hidden.iter().map(|(flag, value)| (flag.variable, value));
    let error = Command::new(&program).args(kept).envs(variables).exec();
    Err(format!("--{}: {}: {error}", first.name, program.display()))
}

/// The places of the arguments without our flags, and those flags with their values. Behind `--` there are none.
fn split(arguments: &[OsString]) -> (Vec<usize>, Vec<(&'static OwnFlag, &str)>) {
    let (mut kept, mut own) = (vec![], vec![]);
    let end = arguments.iter().position(|it| it == "--").unwrap_or(arguments.len());
    let mut words = arguments[..end].iter().enumerate();
    while let Some((place, argument)) = words.next() {
        match argument.to_str().and_then(OwnFlag::of) {
            // What is no UTF-8 was refused when the arguments were read.
            Some((flag, None)) if flag.has_value_apart() => {
                let value = words.next().and_then(|(_, it)| it.to_str());
                own.push((flag, value.unwrap_or_default()));
            }
            Some((flag, value)) => own.push((flag, value.unwrap_or(EVERY))),
            None => kept.push(place),
        }
    }
    kept.extend(end..arguments.len());
    (kept, own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criterion_sees_its_own_flags_alone() {
        let split = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let (kept, own) = split(&words);
            let kept: Vec<&str> =
                kept.iter().map(|place| words[*place].to_str().expect("UTF-8")).collect();
            let own = own.iter().map(|(flag, value)| format!("{} {value}", flag.variable));
            (kept.join(" "), own.collect::<Vec<_>>().join(", "))
        };
        for (line, kept, own) in [
            ("--bench int8wo -s main", "--bench int8wo -s main", ""),
            ("--bench --wait sort", "--bench sort", "CRITERION_TORCH_WAIT "),
            ("--profile sort", "sort", "CRITERION_TORCH_PROFILE "),
            (
                "--profile=a=b --wait --profile-time 2",
                "--profile-time 2",
                "CRITERION_TORCH_PROFILE a=b, CRITERION_TORCH_WAIT ",
            ),
            ("--bench --budget 10min sort", "--bench sort", "CRITERION_TORCH_BUDGET 10min"),
            ("--budget=90s sort", "sort", "CRITERION_TORCH_BUDGET 90s"),
            (
                "--shard 3/16 --partition=hash --resume sort",
                "sort",
                "CRITERION_TORCH_SHARD 3/16, CRITERION_TORCH_PARTITION hash, CRITERION_TORCH_RESUME ",
            ),
            ("--bench -- --wait", "--bench -- --wait", ""),
        ] {
            assert_eq!(split(line), (kept.to_owned(), own.to_owned()), "{line}");
        }
    }
}
