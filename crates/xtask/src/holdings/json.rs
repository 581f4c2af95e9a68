//! What the cache holds, for programs. Sizes are bytes on disk, times seconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

use super::Holdings;
use super::compiled::{Compiled, Package};
use super::found::Found;
use crate::json::Json;
use crate::partial;

pub fn show(holdings: &Holdings) -> Json {
    let Holdings { folder, provisioned, partials, kernels, compiled, bound } = holdings;
    Json::object([
        ("folder", Json::Text(folder.display().to_string())),
        ("provisioned", Json::List(provisioned.iter().map(found).collect())),
        ("partial", Json::List(partials.iter().map(installation).collect())),
        (
            "kernels",
            Json::object([
                ("files", Json::List(kernels.files.iter().map(found).collect())),
                ("unfinished", Json::List(kernels.partials.iter().map(found).collect())),
            ]),
        ),
        (
            "compiled",
            Json::object([
                ("bound_bytes", Json::count(*bound)),
                ("packages", list(compiled)),
                ("unfinished", Json::List(compiled.partials.iter().map(found).collect())),
            ]),
        ),
    ])
}

pub fn list(compiled: &Compiled) -> Json {
    Json::List(compiled.packages.iter().map(package).collect())
}

fn package(Package { found: entry, facts }: &Package) -> Json {
    let facts = facts.as_ref().map_or(Json::Null, |facts| {
        Json::object([
            ("mode", Json::Text(facts.mode.clone())),
            ("compiler", Json::Text(facts.compiler.clone())),
            ("seconds", Json::Number(facts.seconds)),
        ])
    });
    with(found(entry), "facts", facts)
}

fn installation(entry: &Found) -> Json {
    with(found(entry), "left_over", Json::Bool(partial::is_leftover(&entry.path)))
}

fn found(found: &Found) -> Json {
    Json::object([
        ("name", Json::Text(found.name())),
        ("bytes", Json::count(found.bytes)),
        ("modified", Json::count(seconds(found.used))),
    ])
}

fn with(object: Json, name: &str, value: Json) -> Json {
    let Json::Object(mut members) = object else { return object };
    members.push((name.to_owned(), value));
    Json::Object(members)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
