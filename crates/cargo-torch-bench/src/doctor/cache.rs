//! The cache: what it holds, and whether there is room for more.

use std::path::Path;

use super::{Check, Mark};
use crate::ask::ask;
use crate::cache::Cache;
use crate::error::Result;
use crate::files;
use crate::flavour::Flavour;
use crate::human;
use ::libtorch::lock;

/// `wanted` is what setup would install, or None if there is nothing to install.
pub fn check(cache: Result<Cache>, wanted: Option<Flavour>) -> Vec<Check> {
    let cache = match cache {
        Ok(cache) => cache,
        Err(error) => return vec![Check::of_error(Mark::Warning, "cache", &error, "")],
    };
    let mut checks = vec![contents(&cache)];
    checks.extend(leftovers(&cache));
    checks.extend(wanted.map(|flavour| room(cache.dir(), free(cache.dir()), flavour)));
    checks
}

fn contents(cache: &Cache) -> Check {
    let whole: Vec<String> = cache.contents().iter().map(|path| shown(path)).collect();
    let held = if whole.is_empty() { "empty".to_owned() } else { whole.join(", ") };
    Check::ok("cache", format!("{}: {held}", cache.dir().display()))
}

fn leftovers(cache: &Cache) -> Option<Check> {
    let mut leftovers = cache.partials();
    leftovers.retain(|path| lock::is_left_over(&cache.setup_lock(), path));
    (!leftovers.is_empty()).then(|| {
        let names: Vec<String> = leftovers.iter().map(|path| shown(path)).collect();
        Check::warning(
            "cache",
            format!("left by an interrupted setup: {}", names.join(", ")),
            "cargo xtask setup, which removes it",
        )
    })
}

fn room(dir: &Path, free: Option<u64>, flavour: Flavour) -> Check {
    let needed = flavour.room();
    match free {
        None => Check::skipped("room", format!("df cannot tell for {}", dir.display())),
        Some(bytes) if bytes < needed => Check::warning(
            "room",
            format!("{} free, but setup needs {}", human::bytes(bytes), human::bytes(needed)),
            "set CRITERION_TORCH_CACHE to a folder with more room",
        ),
        Some(bytes) => Check::ok("room", format!("{} free for libtorch", human::bytes(bytes))),
    }
}

/// "torch-2.11.0-cpu 731 MB".
fn shown(path: &Path) -> String {
    let weight = files::on_disk(path).map_or_else(|error| format!("({error})"), human::bytes);
    format!("{} {weight}", files::name(path))
}

/// The cache itself may not exist yet, so its nearest folder that does is asked for.
fn free(dir: &Path) -> Option<u64> {
    let there = dir.ancestors().find(|folder| folder.exists())?;
    let output = ask("df", [Path::new("-Pk"), there]).ok()?;
    parse_free(&String::from_utf8_lossy(&output.stdout))
}

fn parse_free(text: &str) -> Option<u64> {
    Some(text.lines().nth(1)?.split_whitespace().nth(3)?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fourth_column_of_df_is_the_room() {
        let text = "Filesystem     1024-blocks     Used Available Capacity Mounted on\n\
            /dev/vda         263174212 14680064  81788928      16% /\n";
        assert_eq!(parse_free(text), Some(81_788_928 * 1024));
        assert_eq!(parse_free(""), None);
    }

    #[test]
    fn too_little_room_is_told() {
        let dir = Path::new("/cache");
        for (free, flavour, mark) in [
            (None, Flavour::Cpu, Mark::Skipped),
            (Some(1_000_000_000), Flavour::Cpu, Mark::Warning),
            (Some(3_000_000_000), Flavour::Cpu, Mark::Ok),
            (Some(3_000_000_000), Flavour::Cuda, Mark::Warning),
        ] {
            assert_eq!(room(dir, free, flavour).mark, mark, "{free:?} {flavour}");
        }
    }
}
