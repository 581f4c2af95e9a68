use super::*;

fn host(hostname: &str) -> Host {
    Host { machine: String::new(), hostname: hostname.to_owned() }
}

#[test]
fn every_machine_has_a_folder_of_its_own_in_the_results() {
    let mut known = HashSet::new();
    let hosts = ["node-1", "node-1", "../..", "a/b", "a_b", ""];
    let names = hosts.map(|name| slug(&host(name), &mut known));
    assert_eq!(names, ["node-1", "node-1~2", "_", "a_b", "a_b~2", "host"]);
}
