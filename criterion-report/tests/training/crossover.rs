//! The map: the planted costs are found, and with them from where on a recipe gains.

use criterion_report::cli::writer::Writer;
use criterion_report::html;
use criterion_report::model::gather;
use criterion_report::views::training::{
    Crossover, Gains, NoCrossover, RecipeCost, TrainingResult,
};
use insta::assert_snapshot;
use plan::Shape;
use serde_json::Value;

use crate::common::write;
use crate::training::fixture::{Fixture, truth};
use crate::training::{GRID, MAP, ONE};

/// The results of a recipe at all shapes.
fn results_of<'r, 'a>(
    results: &'r [TrainingResult<'a>],
    variant: &str,
) -> Vec<&'r TrainingResult<'a>> {
    let blocks = gather(results, |it| it.variant());
    blocks.into_iter().find(|block| block[0].variant() == variant).expect("a recipe")
}

#[test]
fn the_planted_costs_and_the_crossover_are_found() {
    let report = Fixture::of_training("grid", GRID).training_report("");
    let results = TrainingResult::all(&report);
    let crossover =
        Crossover::from_results(&results_of(&results, "float8-tensorwise")).expect("a map");
    let RecipeCost::Parts { casts, products } = crossover.prediction.recipe else {
        panic!("both were measured")
    };
    // Times are whole nanoseconds.
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-3;
    assert!(near(casts.fixed_ns, 30_000.0) && near(casts.ns_per_byte, 2.0), "{casts:?}");
    assert!(near(products.ns_per_flop, 1.0 / 200.0), "{products:?}");
    assert!(near(crossover.prediction.baseline.ns_per_flop, 1.0 / 100.0));
    assert!(crossover.prediction.speedup_error.expect("an error").worst < 1e-3);
    for field in &crossover.fields {
        assert!(near(field.predicted, truth(field.shape)), "{field:?}");
        assert_eq!(field.is_outside, field.shape.m > 4096, "{field:?}");
    }
    // Measured fields are those of the config.
    assert_eq!(crossover.fields.iter().filter(|it| it.measured.is_some()).count(), 7);
    // Where the truth crosses 1, the map does: at 1024×1024 between 64 and 1024.
    let place = |kn| crossover.kns.iter().position(|it| *it == kn).expect("a column");
    let first = (6..).map(|power| 1 << power).find(|&m| truth(Shape { m, k: 1024, n: 1024 }) > 1.0);
    let Gains::From(m) = crossover.gains(place((1024, 1024))) else { panic!("a crossover") };
    assert_eq!(Some(m), first);
    assert!(m > 64 && m < 1024, "{m}");
    // At the smallest width it never does.
    assert!(truth(Shape { m: 1 << 20, k: 256, n: 256 }) < 1.0);
    assert_eq!(crossover.gains(place((256, 256))), Gains::Nowhere);
    assert_eq!(crossover.beyond(place((256, 256))), None);
}

#[test]
fn the_maps_are_written() {
    let report = Fixture::of_training("grid", GRID).training_report("");
    assert_snapshot!("map", write(&MAP, &report));
}

#[test]
fn a_grid_without_a_crossover_says_so() {
    let shapes =
        "        shapes: [[64, 256, 256], [128, 256, 256], [256, 128, 256], [512, 256, 128]]";
    let (head, _) = GRID.split_once("        shapes:\n").expect("shapes");
    let slow = Fixture::of_training("grid", &format!("{head}{shapes}\n"));
    let text = write(&MAP, &slow.training_report(""));
    assert!(text.contains("no crossover in the grid, it gains nowhere"), "{text}");
    let fast = Fixture::of_training(
        "grid",
        &GRID.replace("256, 256", "2048, 2048").replace("[64,", "[512,"),
    );
    let text = write(&MAP, &fast.training_report(""));
    assert!(text.contains("no crossover in the grid, it gains everywhere"), "{text}");
}

#[test]
fn without_casts_or_products_the_whole_is_fitted() {
    let report = Fixture::of_training("grid", GRID).without("linear-casts/").training_report("");
    let results = TrainingResult::all(&report);
    let crossover =
        Crossover::from_results(&results_of(&results, "float8-tensorwise")).expect("a map");
    assert!(matches!(crossover.prediction.recipe, RecipeCost::Whole(_)));
    let worst = crossover.fields.iter().map(|it| (it.predicted / truth(it.shape) - 1.0).abs());
    assert!(worst.fold(0.0, f64::max) < 1e-3);
}

#[test]
fn few_shapes_and_emulated_recipes_have_no_map() {
    let report = Fixture::of_training("train", ONE).training_report("");
    let results = TrainingResult::all(&report);
    let few = Crossover::from_results(&results_of(&results, "float8-tensorwise")).map(|_| ());
    assert_eq!(few, Err(NoCrossover::FewShapes { found: 1, needed: 4 }));
    let emulated =
        Crossover::from_results(&results_of(&results, "float8-rowwise+emulated")).map(|_| ());
    assert_eq!(emulated, Err(NoCrossover::Emulated));
    let text = write(&MAP, &report);
    assert!(text.contains("measured at 1 of the 4 shapes"), "{text}");
}

#[test]
fn the_page_has_the_maps() {
    let options = html::Options { title: "Training".to_owned() };
    let text =
        write(&Writer::Html(options), &Fixture::of_training("grid", GRID).training_report(""));
    let (_, data) = text.split_once("id=\"data\">").expect("the data");
    let data: Value =
        serde_json::from_str(data.split_once("</script>").expect("its end").0).expect("JSON");
    let maps = data["maps"].as_array().expect("maps");
    let of_kind = |map: &&Value| map["kind"] == "crossover";
    // Only the recipe that is not emulated has this map.
    let [map] = maps.iter().filter(of_kind).collect::<Vec<_>>()[..] else { panic!("one map") };
    let list = |name: &str| map[name].as_array().expect("a list").clone();
    assert_eq!(list("cells").len(), list("rows").len() * list("columns").len());
    assert_eq!(list("cells").len(), list("speedups").len());
    assert_eq!(list("cells").iter().filter(|cell| !cell.is_null()).count(), 7);
    let name = |place: &Value| data["texts"][place.as_u64().expect("a place") as usize].clone();
    assert_eq!(list("rows").last().map(name), Some("16384+".into()));
    // In other maps a field's speed-up is its case's.
    assert!(maps.iter().any(|map| map["kind"] == "shapes" && map["speedups"].is_null()));
}
