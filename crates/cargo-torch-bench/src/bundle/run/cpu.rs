//! Features of this processor, by the compiler's names.

/// Whether the processor and the system have a feature; none if that cannot be asked.
pub fn has(feature: &str) -> Option<bool> {
    macro_rules! known {
        ($detected:ident: $($name:tt)*) => {
            match feature {
                $($name => Some(std::arch::$detected!($name)),)*
                _ => None,
            }
        };
    }
    #[cfg(target_arch = "x86_64")]
    return known!(is_x86_feature_detected:
        "fxsr" "sse" "sse2" "sse3" "ssse3" "sse4.1" "sse4.2" "sse4a" "popcnt" "cmpxchg16b" "movbe" "lzcnt" "tbm" "bmi1"
        "bmi2" "adx" "rdrand" "rdseed" "aes" "pclmulqdq" "sha" "sha512" "sm3" "sm4" "xsave" "xsavec" "xsaveopt" "xsaves"
        "f16c" "fma" "avx" "avx2" "avxifma" "avxneconvert" "avxvnni" "avxvnniint8" "avxvnniint16" "gfni" "vaes"
        "vpclmulqdq" "avx512f" "avx512cd" "avx512bw" "avx512dq" "avx512vl" "avx512ifma" "avx512vbmi" "avx512vbmi2"
        "avx512vnni" "avx512bitalg" "avx512vpopcntdq" "avx512vp2intersect" "avx512bf16" "kl" "widekl");
    #[cfg(target_arch = "aarch64")]
    return known!(is_aarch64_feature_detected:
        "neon" "aes" "bf16" "bti" "crc" "dit" "dotprod" "dpb" "dpb2" "f32mm" "f64mm" "fcma" "fhm" "flagm" "fp16"
        "frintts" "i8mm" "jsconv" "lse" "lse2" "mte" "paca" "pacg" "pmull" "rand" "rcpc" "rcpc2" "rdm" "sb" "sha2" "sha3"
        "sm4" "ssbs" "sve" "sve2");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_processor_has_is_found_and_nonsense_cannot_be_asked() {
        let certain = if cfg!(target_arch = "x86_64") { "sse2" } else { "neon" };
        assert_eq!(has(certain), Some(true));
        assert_eq!(has("warp-drive"), None);
    }

    /// The names are the compiler's own, so that no feature of a build is overlooked.
    #[test]
    fn every_feature_of_the_levels_can_be_asked() {
        if !cfg!(target_arch = "x86_64") {
            return;
        }
        for level in ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"] {
            let mut rustc =
                std::process::Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
            rustc.args(["--print", "cfg", "-C", &format!("target-cpu={level}")]);
            let output = rustc.output().expect("rustc runs");
            let text = String::from_utf8(output.stdout).expect("text");
            let names = text.lines().filter_map(|line| line.strip_prefix("target_feature=\""));
            let names: Vec<&str> = names.map(|name| name.trim_end_matches('"')).collect();
            assert!(names.contains(&"sse2"), "{level}: {text}");
            let unknown: Vec<&&str> = names.iter().filter(|name| has(name).is_none()).collect();
            assert!(unknown.is_empty(), "{level}: {unknown:?}");
        }
    }
}
