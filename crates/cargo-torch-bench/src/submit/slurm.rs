//! SLURM: an array of shards, and a job that merges them when all have ended.

use std::path::Path;

use super::sweep::{Sweep, one_line};
use super::{Options, Submission};
use crate::error::{Error, Result};
use crate::files;
use crate::template::{filled, quoted};
use plan::exit::RETRY;

/// The shards' results, in the folder of the scripts.
pub const RESULTS: &str = "results";
const LOGS: &str = "logs";

pub fn submission(sweep: &Sweep, options: &Options, output: &Path) -> Result<Submission> {
    files::make_folder(&output.join(LOGS))?;
    let (folder, bundle) = (one_line(output.as_os_str())?, &sweep.bundle);
    // sbatch reads what stands between quotes, and knows no other escape there.
    if let Some(path) = [&folder, bundle].into_iter().find(|path| path.contains('"')) {
        return Err(Error::usage(format!("sbatch cannot read the folder {path}"))
            .remedy("use a path without quotation marks"));
    }
    let at_once = options.at_once.map(|most| format!("%{most}")).unwrap_or_default();
    let mut resources =
        options.cpus.map_or("--exclusive".to_owned(), |cpus| format!("--cpus-per-task={cpus}"));
    if sweep.has_gpu {
        resources.push_str("\n#SBATCH --gres=gpu:1");
    }
    let (bundle, retry) = (quoted(bundle), RETRY.to_string());
    let name = sweep.name();
    let shard = sweep.shard(&bundle, "shard", "\"results/$shard\"");
    let limit = sweep.limit_minutes();
    let script = filled(
        include_str!("slurm-shards.sh"),
        &[
            ("NAME", &name),
            ("FOLDER", &folder),
            ("ARRAY", &format!("1-{}{at_once}", sweep.shards)),
            ("RESOURCES", &resources),
            ("LIMIT", &limit),
            ("RUN", &shard),
            ("RETRY", &retry),
        ],
    );
    let merge = filled(
        include_str!("slurm-merge.sh"),
        &[
            ("NAME", &name),
            ("FOLDER", &folder),
            ("MERGE", &sweep.merge(&bundle, "results/*/", "merged")),
        ],
    );
    Ok(Submission {
        files: vec![
            ("shards.sbatch", "an array of shards", script),
            ("merge.sbatch", "puts results/ together into merged/", merge),
        ],
        submit: vec![
            "shards=$(sbatch --parsable shards.sbatch)".to_owned(),
            "sbatch --dependency=\"afterany:$shards\" merge.sbatch".to_owned(),
        ],
        then: vec![
            "squeue --me".to_owned(),
            format!("cat {}", quoted(&format!("{folder}/logs/merge.log"))),
            sweep.summary(&bundle, &quoted(&format!("{folder}/merged"))),
        ],
    })
}
