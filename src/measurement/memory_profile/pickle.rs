//! Writes a value as a Python pickle, protocol 2, with the opcodes that torch's own snapshots use, because torch's
//! visualizer reads no others.

use serde_json::{Number, Value};

/// Python's batch size. The visualizer appends a whole batch as arguments of one call, so a larger one could fail.
const BATCH: usize = 1000;

/// The pickle of a value.
pub fn dump(value: &Value) -> Vec<u8> {
    let mut bytes = vec![0x80, 2];
    put(&mut bytes, value);
    bytes.push(b'.');
    bytes
}

fn put(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => bytes.push(b'N'),
        Value::Bool(truth) => bytes.push(if *truth { 0x88 } else { 0x89 }),
        Value::Number(number) => put_number(bytes, number),
        Value::String(text) => put_text(bytes, text),
        Value::Array(items) => {
            bytes.push(b']');
            for batch in items.chunks(BATCH) {
                bytes.push(b'(');
                batch.iter().for_each(|item| put(bytes, item));
                bytes.push(b'e');
            }
        }
        Value::Object(entries) => {
            bytes.extend(b"}(");
            for (key, value) in entries {
                put_text(bytes, key);
                put(bytes, value);
            }
            bytes.push(b'u');
        }
    }
}

fn put_number(bytes: &mut Vec<u8>, number: &Number) {
    match number.as_u64() {
        Some(small @ 0..=0xff) => bytes.extend([b'K', small as u8]),
        Some(short @ 0x100..=0xffff) => {
            bytes.push(b'M');
            bytes.extend((short as u16).to_le_bytes());
        }
        Some(long) => {
            // The highest bit is the sign. The visualizer reads eight bytes as a number and more as a BigInt.
            let length = if i64::try_from(long).is_ok() { 8 } else { 9 };
            bytes.extend([0x8a, length]);
            bytes.extend(&u128::from(long).to_le_bytes()[..length as usize]);
        }
        None => {
            bytes.push(b'G');
            bytes.extend(number.as_f64().unwrap_or(f64::NAN).to_be_bytes());
        }
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let length = u32::try_from(text.len()).expect("a name is shorter than 4 GiB");
    bytes.push(b'X');
    bytes.extend(length.to_le_bytes());
    bytes.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_opcodes() {
        assert_eq!(dump(&json!(null)), b"\x80\x02N.");
        assert_eq!(dump(&json!([true, false])), b"\x80\x02](\x88\x89e.");
        assert_eq!(dump(&json!([])), b"\x80\x02].");
        assert_eq!(dump(&json!({"a": 7})), b"\x80\x02}(X\x01\0\0\0aK\x07u.");
        assert_eq!(dump(&json!(258)), b"\x80\x02M\x02\x01.");
        assert_eq!(dump(&json!(65_536)), b"\x80\x02\x8a\x08\0\0\x01\0\0\0\0\0.");
        assert_eq!(dump(&json!(1.0)), b"\x80\x02G\x3f\xf0\0\0\0\0\0\0.");
        let batches = dump(&json!(vec![0; BATCH + 1]));
        assert_eq!(batches.iter().filter(|byte| **byte == b'e').count(), 2);
    }
}
