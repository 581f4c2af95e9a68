//! The hash that ids, records and caches tell texts apart by. It is no protection against somebody who
//! wants two texts to have the same one.

/// FNV-1a, 64 bits: stable over platforms and releases, which `std`'s hasher is not.
pub fn fnv1a(bytes: impl AsRef<[u8]>) -> u64 {
    bytes.as_ref().iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// FNV-1a, 128 bits: for files that are found by their name alone.
pub fn fnv1a_128(bytes: impl AsRef<[u8]>) -> u128 {
    bytes.as_ref().iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul((1 << 88) + 0x13b)
    })
}

/// The hash of a text or of bytes as records hold it: 16 hexadecimal digits.
pub(crate) fn hex(bytes: impl AsRef<[u8]>) -> String {
    format!("{:016x}", fnv1a(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hashes_are_the_published_ones() {
        // Test vectors of FNV-1a.
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(fnv1a_128(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv1a_128("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(fnv1a_128("foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }

    #[test]
    fn a_hash_in_records_has_sixteen_digits() {
        assert_eq!(hex("foobar"), "85944171f73967e8");
        assert_eq!(hex("10"), "07f89207b4ba08a4", "also where the first is zero");
    }
}
