//! A step's memory in the format of `torch.cuda.memory._snapshot()`, which torch's visualizer reads.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::native::memory::MemoryEvent;

/// The first made-up address for blocks allocated before the step, whose addresses are not known. Real addresses are
/// far higher.
const FIRST_ADDRESS: u64 = 4096;

/// The snapshot dictionary. A CPU's allocator does not divide segments, so each block is its own segment, allocated and
/// released with the block.
pub fn snapshot(constant: &[(&str, u64)], events: &[MemoryEvent], began: Duration) -> Value {
    let trace: Vec<Value> = events.iter().flat_map(|event| entries(event, began)).collect();
    let mut address = FIRST_ADDRESS;
    let mut segments: Vec<Value> = vec![];
    for (name, bytes) in constant.iter().filter(|(_, bytes)| *bytes > 0) {
        segments.push(segment(address, *bytes, &frames(&[*name])));
        address += bytes;
    }
    let blocks = live_at_the_end(events);
    segments.extend(blocks.into_iter().map(|(address, event)| {
        segment(address, event.bytes.unsigned_abs(), &frames(&event.operations))
    }));
    json!({ "segments": segments, "device_traces": [trace] })
}

fn live_at_the_end(events: &[MemoryEvent]) -> BTreeMap<u64, &MemoryEvent> {
    let mut live = BTreeMap::new();
    for event in events {
        if event.bytes > 0 {
            live.insert(event.address, event);
        } else {
            live.remove(&event.address);
        }
    }
    live
}

fn segment(address: u64, bytes: u64, frames: &Value) -> Value {
    json!({
        "device": 0,
        "address": address,
        "total_size": bytes,
        "allocated_size": bytes,
        "active_size": bytes,
        "requested_size": bytes,
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": [0, 0],
        "is_expandable": false,
        "frames": frames,
        "blocks": [{
            "address": address,
            "size": bytes,
            "requested_size": bytes,
            "state": "active_allocated",
            "frames": frames,
        }],
    })
}

fn entries(event: &MemoryEvent, began: Duration) -> Vec<Value> {
    let actions: &[&str] = if event.bytes > 0 {
        &["segment_alloc", "alloc"]
    } else {
        &["free_requested", "free_completed", "segment_free"]
    };
    let time = began + Duration::from_nanos(event.time_ns);
    let entry = |action| {
        json!({
            "action": action,
            "addr": event.address,
            "size": event.bytes.unsigned_abs(),
            "stream": 0,
            "time_us": time.as_micros() as u64,
            "frames": frames(&event.operations),
        })
    };
    actions.iter().map(entry).collect()
}

/// The innermost frame first, as in torch's snapshots. Operations have no file and line.
fn frames(operations: &[impl AsRef<str>]) -> Value {
    let frame = |name: &str| json!({ "name": name, "filename": "operation", "line": 0 });
    operations.iter().rev().map(|name| frame(name.as_ref())).collect()
}
