//! The workflow that measures, bench.yml, as it stands in the repository.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_yaml::Value;

/// A workflow, with the keys that ours use; any other is an error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    pub name: String,
    pub on: Triggers,
    pub permissions: BTreeMap<String, String>,
    pub concurrency: Concurrency,
    pub defaults: Value,
    pub jobs: BTreeMap<String, Job>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triggers {
    pub push: Branches,
    pub pull_request: Branches,
    pub schedule: Vec<Cron>,
    pub workflow_dispatch: Dispatch,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branches {
    pub branches: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cron {
    pub cron: String,
}

/// One job, or a list of them.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
pub enum Needs {
    #[default]
    None,
    One(String),
    Several(Vec<String>),
}

impl Needs {
    pub fn jobs(&self) -> Vec<&str> {
        match self {
            Self::None => Vec::new(),
            Self::One(job) => vec![job],
            Self::Several(jobs) => jobs.iter().map(String::as_str).collect(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dispatch {
    pub inputs: BTreeMap<String, Input>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    pub description: String,
    /// Text where it is left out.
    pub r#type: Option<String>,
    pub default: Value,
}

impl Input {
    /// The default of an input that is text.
    pub fn default_text(&self) -> &str {
        self.default.as_str().unwrap_or_else(|| panic!("{self:?}"))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Concurrency {
    pub group: String,
    pub cancel_in_progress: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Job {
    pub runs_on: String,
    #[serde(default)]
    pub needs: Needs,
    pub r#if: Option<String>,
    #[serde(default)]
    pub permissions: BTreeMap<String, String>,
    pub timeout_minutes: Option<u32>,
    pub strategy: Option<Strategy>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub outputs: BTreeMap<String, String>,
    pub steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Strategy {
    pub fail_fast: bool,
    pub matrix: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub name: Option<String>,
    pub id: Option<String>,
    pub r#if: Option<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub run: Option<String>,
    pub uses: Option<String>,
    #[serde(default)]
    pub with: BTreeMap<String, Value>,
}

impl Workflow {
    /// The one that measures.
    pub fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows/bench.yml");
        let text = std::fs::read_to_string(&path).expect("the workflow is in the repository");
        serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The steps of all jobs.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.jobs.values().flat_map(|job| &job.steps)
    }

    /// The step of that name, whichever job has it.
    pub fn step(&self, name: &str) -> &Step {
        let found = self.steps().find(|step| step.name.as_deref() == Some(name));
        found.unwrap_or_else(|| panic!("no step is called {name}"))
    }
}

impl Step {
    /// Its name, or what it uses.
    pub fn title(&self) -> &str {
        let title = self.name.as_deref().or(self.uses.as_deref());
        title.unwrap_or_else(|| panic!("a step without a name: {self:?}"))
    }

    /// The action that it uses, whichever version of it.
    pub fn action(&self) -> Option<&str> {
        self.uses.as_deref().and_then(|action| action.split('@').next())
    }

    /// An input of an action, as text.
    pub fn input(&self, name: &str) -> String {
        match self.with.get(name) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => serde_yaml::to_string(other).expect("it was YAML").trim().to_owned(),
        }
    }
}
