//! The machines that rows were measured on, as far as times can be compared between them.

use std::collections::{BTreeMap, BTreeSet};

use super::place::machine;
use super::row::Row;

/// The machines of a report's rows, in the order of their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machines(Vec<Machine>);

/// A machine, and how many rows it measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Processor, CPUs and memory, and the GPU where a row ran on one.
    pub name: String,
    /// Rows that it measured.
    pub rows: usize,
}

/// Processor, CPUs and memory, and the GPU of a row that ran on one.
type Host = (String, Option<String>);

fn host(row: &Row) -> Host {
    (machine(&row.record), row.record.environment.torch.cuda_device.clone())
}

impl Machines {
    /// The machines of these rows. Where there are several, each row is given the number of its own, from 1.
    pub(crate) fn number(rows: &mut [&mut Row]) -> Self {
        let mut gpus: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (machine, gpu) in rows.iter().map(|row| host(row)) {
            gpus.entry(machine).or_default().extend(gpu);
        }
        // A row without a GPU belongs to the only GPU of such hosts: it is the same machine.
        let name = |(machine, gpu): Host| {
            let known = &gpus[&machine];
            let only = known.first().filter(|_| known.len() == 1).cloned();
            match gpu.or(only) {
                Some(gpu) => format!("{machine}, {gpu}"),
                None => machine,
            }
        };
        let names: Vec<String> = rows.iter().map(|row| name(host(row))).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        names.iter().for_each(|name| *counts.entry(name.as_str()).or_default() += 1);
        if counts.len() > 1 {
            for (row, name) in rows.iter_mut().zip(&names) {
                row.machine =
                    counts.keys().position(|known| *known == name.as_str()).map(|it| it + 1);
            }
        }
        let machine = |(name, rows): (&str, usize)| Machine { name: name.to_owned(), rows };
        Self(counts.into_iter().map(machine).collect())
    }

    /// Each with its number; nothing unless there are several.
    pub fn several(&self) -> impl Iterator<Item = (usize, &Machine)> {
        let all = if self.0.len() > 1 { &self.0[..] } else { &[] };
        (1..).zip(all)
    }

    /// The machine with a number.
    pub fn get(&self, number: usize) -> Option<&Machine> {
        self.0.get(number.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use plan::Record;

    use super::*;

    /// Rows of these processors and GPUs.
    fn rows(hosts: &[(&str, Option<&str>)]) -> Vec<Row> {
        let lines = "tests/fixtures/two-siblings/criterion-torch/new/inference.jsonl";
        let lines = std::fs::read_to_string(lines).expect("readable");
        let record: Record =
            serde_json::from_str(lines.lines().next().expect("a line")).expect("a record");
        let row = |(processor, gpu): &(&str, Option<&str>)| {
            let mut record = record.clone();
            let environment = record.environment_mut();
            environment.host.cpu_model = (*processor).to_owned();
            (environment.host.cpus, environment.host.memory_bytes) = (2, 8 << 30);
            environment.torch.cuda_device = gpu.map(str::to_owned);
            Row::new(Box::new(record))
        };
        hosts.iter().map(row).collect()
    }

    fn numbered(hosts: &[(&str, Option<&str>)]) -> (Vec<Option<usize>>, Vec<String>) {
        let mut rows = rows(hosts);
        let machines = Machines::number(&mut rows.iter_mut().collect::<Vec<_>>());
        let said = machines.several();
        let said = said.map(|(number, it)| format!("{number}: {}, {}", it.name, it.rows)).collect();
        (rows.iter().map(|row| row.machine).collect(), said)
    }

    #[test]
    fn one_machine_needs_no_number() {
        let none = (vec![None, None], Vec::<String>::new());
        assert_eq!(numbered(&[("A", None), ("A", None)]), none);
        assert_eq!(numbered(&[("A", None), ("A", Some("H100"))]), none, "its GPU is a part of it");
    }

    #[test]
    fn several_are_numbered_by_their_names() {
        let (numbers, said) = numbered(&[("B", None), ("A", None), ("B", None)]);
        assert_eq!(numbers, [Some(2), Some(1), Some(2)]);
        assert_eq!(said, ["1: A, 2 CPUs, 8 GiB, 1", "2: B, 2 CPUs, 8 GiB, 2"]);
    }

    #[test]
    fn two_gpus_of_equal_hosts_are_two_machines() {
        let (numbers, said) = numbered(&[("A", Some("H100")), ("A", Some("A100"))]);
        assert_eq!(numbers, [Some(2), Some(1)]);
        assert_eq!(said[0], "1: A, 2 CPUs, 8 GiB, A100, 1");
    }
}
