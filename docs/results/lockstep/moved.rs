
/// Moves the functions behind it, and is never called.
#[inline(never)]
fn moved(text: &[u8; 64]) -> u32 {
    text.iter().map(|it| u32::from(*it).rotate_left(5) ^ 0x5bd1_e995).fold(7, u32::wrapping_add)
}

/// Keeps it in the program.
#[used]
static MOVED: fn(&[u8; 64]) -> u32 = moved;
