//! Content of the HTTP server's files: a function of the offset, cheap to make and easy to check.

use std::sync::OnceLock;

use crate::rng::SplitMix64;

/// Length of the pattern: the largest prime below 2^16, so that no power of two hides a shift.
const PERIOD: usize = 65_521;

fn pattern() -> &'static [u8] {
    static PATTERN: OnceLock<Vec<u8>> = OnceLock::new();
    PATTERN.get_or_init(|| {
        let mut generator = SplitMix64::new(0x6762);
        (0..PERIOD).map(|_| generator.next_u64() as u8).collect()
    })
}

/// The byte at `offset` of every file.
pub fn body_byte(offset: u64) -> u8 {
    pattern()[(offset % PERIOD as u64) as usize]
}

/// Fills `out` with the file from `offset` on.
pub fn fill_body(offset: u64, mut out: &mut [u8]) {
    let mut place = (offset % PERIOD as u64) as usize;
    while !out.is_empty() {
        let run = out.len().min(PERIOD - place);
        let (now, later) = out.split_at_mut(run);
        now.copy_from_slice(&pattern()[place..place + run]);
        out = later;
        place = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filling_agrees_with_single_bytes() {
        for offset in [0, 1, 65_000, 65_520, 65_521, 1 << 40] {
            let mut out = vec![0; 70_000];
            fill_body(offset, &mut out);
            assert!(out.iter().enumerate().all(|(at, byte)| *byte == body_byte(offset + at as u64)));
        }
    }
}
