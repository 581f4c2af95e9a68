//! `aa`, and the noise profile that `compare` reads.

use std::fs;

use serde_json::Value;

use crate::compare::folder::*;
use crate::kernels::fixture::Fixture;

#[test]
fn one_run_per_side_is_widened_by_what_is_known_of_the_machine() {
    let folder = Folder::new();
    let slower = |_| main_branch(0).takes("reduction", 1_250_000);
    folder.save("main", 0, main_branch).save("pr", 0, slower);
    let text = one_line(&folder.stdout(0, &["compare", "main", "pr"]));
    assert!(text.contains("widened by an assumed floor of ±25 %"), "{text}");
    let of = |folder: &Folder, id: &str| {
        let document = folder.json(&["compare", "main", "pr"]);
        let cases = document["cases"].as_array().expect("cases").clone();
        cases.into_iter().find(|it| it["full_id"].as_str().expect("an id").contains(id)).expect(id)
    };
    let open = of(&folder, "reduction");
    assert_eq!(open["verdict"], "inconclusive");
    assert!(open["reason"].as_str().expect("text").contains("cargo torch-bench bench --repeat 8"));
    // With the runs of one revision it is decided.
    folder.save("quiet", 8, main_branch);
    let table = folder.stdout(0, &["aa", "quiet"]);
    insta::assert_snapshot!("aa", table);
    let text = one_line(&folder.stdout(0, &["compare", "main", "pr"]));
    assert!(text.contains("widened by the case's own noise floor, from 8 runs"), "{text}");
    assert_eq!(of(&folder, "reduction")["verdict"], "regressed");
    assert_eq!(of(&folder, "stencil")["verdict"], "equivalent");
}

#[test]
fn a_noise_profile_is_versioned_and_kept_whole() {
    let folder = Folder::new();
    folder.save("quiet", 3, main_branch);
    folder.stdout(0, &["aa", "quiet", "--no-save"]);
    let file = folder.path("criterion-torch/noise.json");
    assert!(!file.exists(), "--no-save");
    folder.stdout(0, &["aa", "quiet", "--filter", "gemv"]);
    folder.stdout(0, &["aa", "quiet", "--filter", "scan"]);
    let text = fs::read_to_string(&file).expect("written");
    let profile: Value = serde_json::from_str(&text).expect("JSON");
    let hosts = profile["hosts"].as_object().expect("hosts");
    let cases = hosts.values().next().expect("a host")["cases"].as_object().expect("cases");
    assert_eq!(cases.len(), 2, "earlier cases stay");
    for (text, says) in [
        (text.replace("\"version\": 1", "\"version\": 2"), "reads `criterion-torch/noise`"),
        (
            text.replace("\"launches\": 3", "\"launches\": 1"),
            "of `AMD EPYC 7763 64-Core Processor, 2 CPUs, 8 GiB`, cases.kernels/default/gemv/cpu/kernel/f32-4096.launches is 1, and one run shows no spread",
        ),
        (text.replace("\"time\": ", "\"time\": -"), "which is not a standard deviation"),
        (text.replace("\"time\": ", "\"time\": NaN, \"x\": "), "not a noise profile"),
        (text.replace("\"time\": ", "\"time\": 1e999, \"x\": "), "number out of range"),
        ("{".to_owned(), "not a noise profile"),
    ] {
        fs::write(&file, text).expect("written");
        for args in [&["compare", "quiet@1", "quiet@2"][..], &["aa", "quiet"]] {
            let said = folder.stderr(2, args);
            assert!(said.contains("noise.json") && said.contains(says), "{said}");
            // `aa` keeps what it does not measure, and so reads it, too.
            assert!(said.contains("delete it and create it again with"), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
    let said = folder.stderr(2, &["compare", "quiet@1", "quiet@2", "--noise", "none.json"]);
    assert!(said.contains("--noise none.json: there is no such file"), "{said}");
}

#[test]
fn aa_takes_runs_of_one_clean_revision_and_machine() {
    let revision = |revision: &'static str| {
        move |fixture: Fixture| {
            fixture.edit("kernels/", |it| {
                it.record.environment_mut().git_revision = Some(revision.to_owned());
            })
        }
    };
    let (dirty, other) = (revision("1f0c2ab34d56-dirty"), revision("0a1b2c3d4e5f"));
    let folder = Folder::new();
    folder
        .save("alone", 1, main_branch)
        .save("dirty", 3, |run| dirty(main_branch(run)))
        .save("mixed", 3, |run| if run == 2 { other(main_branch(run)) } else { main_branch(run) })
        .save("moved", 3, |run| {
            main_branch(run).edit("scan", |it| {
                it.record.environment_mut().host.cpus = if run == 3 { 64 } else { 2 };
            })
        });
    let said = folder.stderr(0, &["compare", "mixed", "dirty"]);
    assert!(said.contains("the runs of `mixed` are of 2 revisions"), "{said}");
    folder.stdout(0, &["export", "json", "--baseline", "alone@1", "--output", "alone.json"]);
    for (name, says) in [
        ("alone", "`alone` has one run, which shows no spread: measure several"),
        ("dirty@2", "`dirty@2` is one run, which shows no spread: use `dirty`, which names all of"),
        ("alone.json", "`alone.json` is a file or a folder, and so one run"),
        ("dirty", "are of 1f0c2ab34d56-dirty: uncommitted changes may differ"),
        ("mixed", "are of 2 revisions (0a1b2c3d4e5f, 1f0c2ab34d56)"),
        ("moved", "runs are of two machines: `kernels/default/scan"),
    ] {
        let said = folder.stderr(2, &["aa", name]);
        assert!(said.contains(says), "{name}: {said}");
    }
    folder.stdout(0, &["aa", "dirty", "--allow-dirty", "--no-save"]);
}

#[test]
fn another_aa_widens_by_what_both_show() {
    let folder = Folder::new();
    // All cases of the first are noisy; the second has one, and it is quiet.
    let noisy = |run| clean(main_branch(run)).edit("kernels/", |it| wobble(it, run, 1_000_000));
    folder.save("noisy", 6, noisy);
    let few = |run| {
        let mut fixture = main_branch(run);
        fixture.cases.retain(|it| it.record.full_id.contains("scan"));
        fixture
    };
    let differs = |run: u64| few(run).takes("scan", 1_000_000 + 120_000 * (run % 2));
    folder.save("few", 4, differs);
    folder.stdout(0, &["aa", "noisy"]);
    let kept = folder.stdout(0, &["aa", "few", "--no-save"]);
    // The profile is the machine's: nine cases, of which this is one.
    assert!(kept.contains("over 9 cases"), "{kept}");
    let file = fs::read_to_string(folder.path("criterion-torch/noise.json")).expect("written");
    assert!(!file.contains("\"launches\": 4"), "--no-save");
    assert_eq!(folder.stdout(0, &["aa", "few"]), kept, "what is printed is of what is saved");
}

#[test]
fn an_energy_s_deviation_is_of_the_runs_that_have_one() {
    let folder = Folder::new();
    let some = |run: u64| {
        main_branch(run).edit("scan", |it| match &mut it.record.measures.energy {
            energy if run < 3 => *energy = None,
            energy => energy.as_mut().expect("measured").joules *= 1.0 + 0.1 * run as f64,
        })
    };
    folder.save("quiet", 5, some);
    folder.stdout(0, &["aa", "quiet"]);
    let text = fs::read_to_string(folder.path("criterion-torch/noise.json")).expect("written");
    let profile: Value = serde_json::from_str(&text).expect("JSON");
    let hosts = profile["hosts"].as_object().expect("hosts");
    let cases = &hosts.values().next().expect("a host")["cases"];
    let scan = &cases["kernels/default/scan/cpu/kernel/f32-4096"];
    assert_eq!((&scan["launches"], &scan["energy_launches"]), (&5.into(), &3.into()));
    assert!(scan["energy"].as_f64().is_some_and(|sigma| sigma > 0.0), "{scan}");
    // One number says what all runs have.
    assert_eq!(cases["kernels/default/gemv/cpu/kernel/f32-4096"].get("energy_launches"), None);
}
