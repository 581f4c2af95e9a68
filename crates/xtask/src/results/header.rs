//! Under which circumstances a result was measured: the first lines of its file.

use std::fmt;
use std::path::Path;
use std::process::Command;

use plan::Environment;
use serde::Deserialize;

use cargo_torch_bench::cargo;
use cargo_torch_bench::error::{Error, Result};
use cargo_torch_bench::files;
use plan::git;

/// `# key: value` lines.
#[derive(Debug, PartialEq)]
pub struct Header {
    pub lines: Vec<(String, String)>,
}

impl Header {
    /// The header of a measurement that has just ended here. The machine is as the records in the folder have it, which the
    /// measurement left.
    pub fn new(root: &Path, records: &Path) -> Result<Self> {
        let Measured { environment, .. } = first(records)?;
        Self::from_environment(
            environment,
            git::git(root, &["rev-parse", "HEAD"])?,
            date(&["-u"])?,
            records,
        )
    }

    /// The header of a measurement elsewhere: commit and date, too, are as the records have them.
    pub fn of_records(records: &Path, commit: Option<String>) -> Result<Self> {
        let Measured { timestamp, environment } = first(records)?;
        let commit = environment.git_revision.clone().or(commit).ok_or_else(|| {
            Error::new(format!("no environment.git_revision in {}", records.display()))
                .remedy("a result names its commit: `--commit COMMIT`")
        })?;
        Self::from_environment(
            environment,
            commit,
            date(&["-u", "-d", &format!("@{timestamp}")])?,
            records,
        )
    }

    fn from_environment(
        environment: Environment,
        commit: String,
        date: String,
        records: &Path,
    ) -> Result<Self> {
        let Environment { host, torch, rustc, quiet, .. } = environment;
        let quiet = quiet
            .ok_or_else(|| Error::new(format!("no environment.quiet in {}", records.display())))?;
        let gib = host.memory_bytes as f64 / f64::from(1 << 30);
        let machine = format!("{}, {} CPUs, {gib:.1} GiB, {}", host.cpu_model, host.cpus, host.os);
        let libtorch = format!("{}, {}", torch.libtorch, torch.cpu_capability);
        let quiet = format!(
            "{:.2} of short equal computations took at most 2 % longer than the fastest",
            quiet.score
        );
        let gpu = torch.cuda_device.map(|name| {
            let [cuda, driver] = [torch.cuda, torch.cuda_driver].map(Option::unwrap_or_default);
            ("gpu".to_owned(), format!("{name}, driver {driver}, CUDA {cuda}"))
        });
        let mut lines = vec![
            ("machine".to_owned(), machine),
            ("libtorch".to_owned(), libtorch),
            ("rustc".to_owned(), rustc),
            ("commit".to_owned(), commit),
            ("date".to_owned(), date),
            ("quiet".to_owned(), quiet),
        ];
        lines.extend(gpu);
        Ok(Self { lines })
    }

    /// The commands that made the result, in their order.
    pub fn commands<'c>(&mut self, commands: impl Iterator<Item = &'c str>) {
        self.lines.extend(commands.map(|it| ("command".to_owned(), it.to_owned())));
    }

    /// The header of a file, and the rest of it.
    #[cfg(test)]
    pub fn split(text: &str) -> (Self, &str) {
        let (mut lines, mut rest) = (Vec::new(), text);
        while let Some((line, after)) = rest.split_once('\n')
            && let Some((key, value)) = line.strip_prefix("# ").and_then(|it| it.split_once(": "))
        {
            lines.push((key.to_owned(), value.to_owned()));
            rest = after;
        }
        (Self { lines }, rest.strip_prefix('\n').unwrap_or(rest))
    }

    /// The first line of that key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.lines.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The folder of this machine's results: its GPU, without the maker and the memory, or its processor, and how many there
    /// are.
    pub fn folder(&self) -> Option<String> {
        let mut parts = self.get("machine")?.split(", ");
        let words = match self.get("gpu").and_then(|gpu| gpu.split(',').next()) {
            Some(gpu) => {
                let words = gpu.split([' ', '-']).skip_while(|word| *word == "NVIDIA");
                words.take_while(|word| !word.ends_with("GB")).collect::<Vec<_>>().join(" ")
            }
            None => format!("{} {}", parts.next()?, parts.next()?),
        };
        let words = words.to_lowercase();
        let plain: String =
            words.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { ' ' }).collect();
        Some(plain.split_whitespace().collect::<Vec<_>>().join("-"))
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|(key, value)| writeln!(f, "# {key}: {value}"))?;
        writeln!(f)
    }
}

/// When and where a record was taken.
#[derive(Deserialize)]
struct Measured {
    /// Seconds since 1970.
    timestamp: u64,
    environment: Environment,
}

/// The first record in the folders of baselines.
fn first(records: &Path) -> Result<Measured> {
    for folder in files::inside(records)?.into_iter().filter(|path| path.is_dir()) {
        let mut files = files::inside(&folder)?;
        files.retain(|it| it.extension().is_some_and(|extension| extension == "jsonl"));
        for file in files {
            let text = files::read(&file)?;
            if let Ok(first) = serde_json::from_str(text.lines().next().unwrap_or_default()) {
                return Ok(first);
            }
        }
    }
    Err(Error::new(format!("nothing was measured: no record in {}", records.display())))
}

/// To the minute; of now, unless the arguments say otherwise.
fn date(arguments: &[&str]) -> Result<String> {
    let mut date = Command::new("date");
    let output = date.args(arguments).arg("+%Y-%m-%d %H:%M UTC").output();
    let output = output.map_err(|error| cargo::not_run(&date, &error))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_machine_is_as_the_records_have_it() {
        let root = std::env::temp_dir().join(format!("xtask-header-{}", std::process::id()));
        fs::create_dir_all(root.join("new")).expect("a folder");
        fs::create_dir_all(root.join("runs")).expect("a folder");
        let clone = Path::new(env!("CARGO_MANIFEST_DIR"));
        let nothing = Header::new(clone, &root).expect_err("no record");
        assert!(nothing.what().starts_with("nothing was measured"), "{nothing}");
        let record = |quiet: &str| -> Result<Header> {
            let host = r#"{"hostname":"h","cpu_model":"A","cpus":2,"memory_bytes":3221225472,"os":"linux 6"}"#;
            let torch = r#"{"libtorch":"2.11.0","tch":"0.24.0","cpu_capability":"AVX2","threads":1,"float32_matmul_precision":"highest"}"#;
            let line = format!(
                r#"{{"timestamp":90061,"environment":{{"host":{host},"torch":{torch},"allocator":"a","rustc":"r","quiet":{quiet}}}}}"#
            );
            fs::write(root.join("new/inference.jsonl"), line + "\n").expect("a record");
            let mut header = Header::new(clone, &root)?;
            header.commands(["a", "b"].into_iter());
            Ok(header)
        };
        let header = record(r#"{"score":0.875}"#).expect("all is there").to_string();
        let lines: Vec<&str> = header.lines().collect();
        assert_eq!(
            lines[..2],
            ["# machine: A, 2 CPUs, 3.0 GiB, linux 6", "# libtorch: 2.11.0, AVX2"]
        );
        assert!(lines[3].starts_with("# commit: ") && lines[3].len() == 50, "{header}");
        assert!(lines[5].starts_with("# quiet: 0.88 of"), "{header}");
        assert_eq!(lines[6..], ["# command: a", "# command: b", ""]);
        let elsewhere = Header::of_records(&root, None).expect_err("no revision");
        assert!(elsewhere.what().starts_with("no environment.git_revision in "), "{elsewhere}");
        let line = fs::read_to_string(root.join("new/inference.jsonl")).expect("written above");
        let more = r#""git_revision":"0123456789ab","rustc":"#;
        fs::write(root.join("new/inference.jsonl"), line.replace("\"rustc\":", more))
            .expect("written");
        let elsewhere = Header::of_records(&root, None).expect("all is there");
        let known = [elsewhere.get("commit"), elsewhere.get("date")];
        assert_eq!(known, [Some("0123456789ab"), Some("1970-01-02 01:01 UTC")]);
        let unmeasured = record("null").expect_err("a run that did not measure");
        assert!(unmeasured.what().starts_with("no environment.quiet in "), "{unmeasured}");
        fs::remove_dir_all(&root).expect("removed");
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let line = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let lines = vec![
            line("machine", "AMD EPYC 9B14 96-Core, 2 CPUs, 23.5 GiB, linux"),
            line("command", "A=b cargo bench -- '/x: y/'"),
        ];
        let header = Header { lines };
        let text = format!("{header}a table\n# not: a header\n");
        let (read, body) = Header::split(&text);
        assert_eq!(read, header);
        assert_eq!(body, "a table\n# not: a header\n");
        assert_eq!(read.folder().as_deref(), Some("amd-epyc-9b14-96-core-2-cpus"));
        assert_eq!(read.get("commit"), None);
        assert_eq!(Header::split("a table\n").1, "a table\n");
        let folder = |gpu: &str| {
            let lines = vec![line("machine", "Xeon, 16 CPUs"), line("gpu", gpu)];
            Header { lines }.folder()
        };
        assert_eq!(folder("NVIDIA H100 80GB HBM3, driver 580").as_deref(), Some("h100"));
        assert_eq!(folder("NVIDIA A100-SXM4-80GB, driver 1").as_deref(), Some("a100-sxm4"));
        assert_eq!(folder("NVIDIA GeForce RTX 4090, d").as_deref(), Some("geforce-rtx-4090"));
    }
}
