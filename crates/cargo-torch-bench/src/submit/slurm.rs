//! SLURM: an array of shards, and a job that merges them when all have ended.

use std::path::Path;

use super::sweep::Sweep;
use super::{Options, Submission};
use crate::error::Result;
use crate::files;
use crate::template::{filled, one_line, path};
use plan::exit::RETRY;

/// The shards' results, in the folder of the scripts.
pub const RESULTS: &str = "results";
const LOGS: &str = "logs";

pub fn submission(sweep: &Sweep, options: &Options, output: &Path) -> Result<Submission> {
    files::make_folder(&output.join(LOGS))?;
    let (folder, bundle) = (one_line(output.as_os_str())?, &sweep.bundle);
    // In sbatch's own lines, a backslash takes its meaning from the next character, also between quotes.
    let chdir = ["\\", "\"", "'", "#"]
        .iter()
        .fold(folder.clone(), |text, it| text.replace(it, &format!("\\{it}")));
    let at_once = options.at_once.map(|most| format!("%{most}")).unwrap_or_default();
    let mut resources =
        options.cpus.map_or("--exclusive".to_owned(), |cpus| format!("--cpus-per-task={cpus}"));
    if sweep.has_gpu {
        resources.push_str("\n#SBATCH --gres=gpu:1");
    }
    let (bundle, retry) = (path(bundle), RETRY.to_string());
    let name = sweep.name();
    let shard = sweep.shard(&bundle, "shard", "\"results/$shard\"");
    let limit = sweep.limit_minutes().to_string();
    let script = filled(
        include_str!("slurm-shards.sh"),
        &[
            ("NAME", &name),
            ("FOLDER", &chdir),
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
            ("FOLDER", &chdir),
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
            format!("cat {}", path(format!("{folder}/logs/merge.log"))),
            sweep.summary(&bundle, &path(format!("{folder}/merged"))),
        ],
    })
}
