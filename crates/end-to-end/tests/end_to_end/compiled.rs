//! Compiled variants: from `use_torch_compile: true` to records and to upstream's columns.

use serde_json::Value;

use crate::workspace::TestWorkspace;

const COMPILED: [&str; 2] = ["baseline+compile", "int8wo+compile"];

fn id(variant: &str) -> String {
    format!("inference/inductor/linear/cpu/{variant}/bf16-8x64x32")
}

/// With a compiler they are measured like any other; without one they are skipped with the remedy,
/// and the eager ones are measured all the same.
#[test]
#[ignore = "long: Inductor compiles, a quarter of a minute each time"]
fn compiled_variants_stand_beside_eager_ones() {
    let workspace = TestWorkspace::new().with_path("CRITERION_TORCH_CACHE", "cache");
    workspace.bench("inference", &["^inference/inductor/"]);
    let first = by_variant(&workspace);
    assert_eq!(first.len(), 4);
    for variant in ["baseline", "int8wo"] {
        assert_eq!(find_record(&first, variant)["outcome"]["status"], "measured");
        assert_eq!(find_record(&first, variant).get("compilation"), None);
    }
    if find_record(&first, COMPILED[0])["outcome"]["status"] == "skipped" {
        for variant in COMPILED {
            let reason =
                find_record(&first, variant)["outcome"]["reason"].as_str().expect("a reason");
            assert!(reason.contains("cargo xtask setup --python"), "{reason}");
        }
        crate::skip::tool(&find_record(&first, COMPILED[0])["outcome"]);
        return;
    }
    for variant in COMPILED {
        let record = find_record(&first, variant);
        assert_eq!(record["outcome"]["status"], "measured", "{record}");
        let facts = &record["compilation"];
        assert_eq!((&facts["mode"], &facts["cache_hit"]), (&"default".into(), &false.into()));
        assert!(facts["seconds"].as_f64() > Some(0.0), "{facts}");
        assert!(facts["package_bytes"].as_u64() > Some(10_000), "{facts}");
        let eager = &record["accuracy"]["eager"];
        assert!(eager["min_sqnr_db"].as_f64() > Some(20.0), "{eager}");
        assert_eq!(record["pairs"].as_array().map(Vec::len), Some(1), "{record}");
        // The weight is an input of the package, not a part of it.
        assert_eq!(
            record["measures"]["memory"]["weights_bytes"],
            find_record(&first, variant.trim_end_matches("+compile"))["measures"]["memory"]["weights_bytes"]
        );
    }

    // Again: nothing is compiled, and nobody has to be there who could.
    let workspace = workspace.with_value("CRITERION_TORCH_PYTHON", "/nowhere/python");
    workspace.bench("inference", &["^inference/inductor/.*compile"]);
    for variant in COMPILED {
        let again = by_variant(&workspace);
        let record = find_record(&again, variant);
        assert_eq!(record["outcome"]["status"], "measured", "{record}");
        assert_eq!(record["compilation"]["cache_hit"], true);
        for what in ["key", "seconds", "package_bytes"] {
            assert_eq!(
                record["compilation"][what],
                find_record(&first, variant)["compilation"][what]
            );
        }
    }
}

fn by_variant(workspace: &TestWorkspace) -> Vec<Value> {
    workspace.records("new", "inference")
}

#[track_caller]
fn find_record<'r>(records: &'r [Value], variant: &str) -> &'r Value {
    let found = records.iter().find(|record| record["full_id"] == id(variant));
    found.unwrap_or_else(|| panic!("no record of {variant}"))
}
