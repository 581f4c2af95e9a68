use criterion_torch::native::cuda;

use crate::gpu::board::{Board, MIB, judge, settings};

#[test]
fn each_device_alone_and_all_in_reversed_order() {
    assert_eq!(settings(None, 1), ["0"]);
    assert_eq!(settings(None, 3), ["0", "1", "2", "2,1,0"]);
    assert_eq!(settings(Some("3, GPU-a"), 2), ["3", "GPU-a", "GPU-a,3"]);
    // CUDA stops at the first that is none.
    assert_eq!(settings(Some("1,-1,0"), 1), ["1"]);
}

fn boards(used: [i64; 2]) -> Vec<Board> {
    let board = |index: usize| Board {
        name: format!("GPU {index}"),
        bus: format!("00000000:0{index}:00.0"),
        used: used[index] * MIB,
        is_sliced: false,
    };
    (0..2).map(board).collect()
}

fn device(name: &str) -> cuda::Device {
    cuda::Device {
        name: name.to_owned(),
        free_bytes: 0,
        total_bytes: 0,
        capability: (9, 0),
        driver_cuda: String::new(),
        pci_bus: "0000:01:00.0".to_owned(),
        clock_khz: 0,
        l2_bytes: 0,
    }
}

#[test]
fn memory_on_another_board_shows() {
    let fails = |after, name, state: Result<String, String>| {
        let before = boards([10, 20]);
        judge("it", &device(name), 1, [&before, &boards(after)], &state).is_failure()
    };
    let state = || Ok("GPU 1 at 0000:01:00.0".to_owned());
    assert!(!fails([10, 534], "GPU 1", state()));
    assert!(fails([522, 20], "GPU 1", state()), "another board");
    assert!(fails([300, 534], "GPU 1", state()), "another board as well");
    assert!(fails([10, 534], "GPU 0", state()), "another name");
    assert!(fails([10, 534], "GPU 1", Ok("GPU 0".to_owned())), "the harness reads another one");
    let elsewhere = Ok("GPU 1 at 0000:41:00.0".to_owned());
    assert!(fails([10, 534], "GPU 1", elsewhere), "the harness reads one at another place");
    assert!(fails([10, 534], "GPU 1", Err("no NVML".to_owned())));
    assert!(fails([10, 534], "GPU 1", Ok(String::new())));
}

#[test]
fn a_board_in_slices_is_skipped() {
    let mut before = boards([10, 20]);
    before[1].is_sliced = true;
    let found = judge("it", &device("GPU 1"), 1, [&before, &boards([10, 20])], &Err(String::new()));
    let line = found.line("board", crate::check::Format::Text);
    assert!(line.starts_with("  skipped  it: MIG is on"), "{line}");
}
