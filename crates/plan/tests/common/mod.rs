//! From the text of a config to its plan.

use std::path::Path;

use plan::{Config, Diagnostics, ModelParams, Plan, Suite, expand};

pub fn parse(text: &str) -> Result<Config, Diagnostics> {
    Config::parse(Path::new("test.yml"), text)
}

pub fn plan_of(text: &str) -> Plan {
    let config = parse(text).unwrap_or_else(|errors| panic!("{errors}"));
    expand(&[config]).unwrap_or_else(|errors| panic!("{errors}"))
}

pub fn models(config: &Config) -> &[ModelParams] {
    let Suite::Models(suite) = &config.suite else { panic!("a config of models") };
    suite
}
