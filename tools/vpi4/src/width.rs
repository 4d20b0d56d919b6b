//! Width and alignment of device accesses as the program made them.
//!
//! The engine splits a 64-bit or unaligned access into aligned words before anybody sees it; silicon faults on an
//! unaligned one and passes a 64-bit one to a 32-bit register block. So the loads and stores of the block that accesses a device
//! are decoded, and the one that reaches the address is judged. Encodings: Arm ARM, C4.1.

use board::env::Finding;
use std::collections::HashSet;

/// Longest block that is looked at, instructions.
const MAX_WORDS: usize = 64;

/// Accesses that were judged, and what was wrong with them.
#[derive(Debug, Default)]
pub struct Width {
    judged: HashSet<(u64, u64)>,
    findings: Vec<Finding>,
}

impl Width {
    /// False when the block at `pc` was judged for `address` before.
    pub fn is_new(&mut self, pc: u64, address: u64) -> bool {
        self.judged.insert((pc, address))
    }

    /// Judges the access to the word at `address` by a block of `words` at `pc`; `register` reads a general register, 31
    /// the stack pointer.
    pub fn judge(&mut self, at_ns: u64, pc: u64, address: u64, words: &[u32], register: impl Fn(u8) -> u64) {
        let reaching = |access: &(u64, u64, u64)| (access.1..access.1 + access.2).contains(&address);
        let all = words.iter().take(MAX_WORDS).enumerate();
        let accesses =
            all.filter_map(|(index, word)| decode(*word, &register).map(|a| (pc + 4 * index as u64, a.0, a.1)));
        let mut wrong = None;
        for (at, start, bytes) in accesses.filter(reaching) {
            if bytes == 4 && start.is_multiple_of(4) {
                return;
            }
            wrong = wrong.or(Some((at, start, bytes)));
        }
        if let Some((at, start, bytes)) = wrong {
            let text = format!("access of {bytes} bytes to device address {start:#x} by the instruction at {at:#x}");
            self.findings.push(Finding { at_ns, device: "width", text });
        }
    }

    /// What was wrong.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

fn signed(value: u32, bits: u32) -> u64 {
    (i64::from(value << (32 - bits)) << 32 >> (64 - bits)) as u64
}

/// Address and length of what a load or store of general registers accesses.
fn decode(word: u32, register: &impl Fn(u8) -> u64) -> Option<(u64, u64)> {
    let base = || register((word >> 5 & 31) as u8);
    let size = word >> 30;
    let vector = word >> 26 & 1 != 0;
    if vector {
        return None; // the firmware has no vector code near devices, and the engine would show it as odd accesses
    }
    if word >> 24 & 0x3f == 0x08 {
        return Some((base(), 1 << size)); // exclusive, acquire, release
    }
    match (word >> 27 & 7, word >> 24 & 3) {
        (0b111, 0b01) => Some((base().wrapping_add(u64::from(word >> 10 & 0xfff) << size), 1 << size)),
        (0b111, 0b00) if word >> 21 & 1 == 0 => {
            let offset = signed(word >> 12 & 0x1ff, 9);
            let post = word >> 10 & 3 == 1;
            Some((if post { base() } else { base().wrapping_add(offset) }, 1 << size))
        }
        (0b111, 0b00) if word >> 10 & 3 == 2 => {
            let index = register((word >> 16 & 31) as u8);
            let extended = match word >> 13 & 7 {
                2 => index & 0xffff_ffff,
                6 => index as u32 as i32 as u64,
                _ => index,
            };
            let shift = if word >> 12 & 1 != 0 { size } else { 0 };
            Some((base().wrapping_add(extended << shift), 1 << size))
        }
        (0b101, _) if size != 3 => {
            let each = if size == 2 { 8 } else { 4 };
            let offset = signed(word >> 15 & 0x7f, 7).wrapping_mul(each);
            let post = word >> 23 & 7 == 1;
            Some((if post { base() } else { base().wrapping_add(offset) }, 2 * each))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_decoded() {
        let register = |number: u8| 0x1000 * u64::from(number);
        for (word, expected, text) in [
            (0xb940_0841, (0x2008, 4), "ldr w1, [x2, #8]"),
            (0xf900_0441, (0x2008, 8), "str x1, [x2, #8]"),
            (0xb85f_c041, (0x1ffc, 4), "ldur w1, [x2, #-4]"),
            (0xb840_4441, (0x2000, 4), "ldr w1, [x2], #4"),
            (0xb863_6841, (0x5000, 4), "ldr w1, [x2, x3]"),
            (0xb863_5841, (0x2000 + 0x3000 * 4, 4), "ldr w1, [x2, w3, uxtw #2]"),
            (0x2940_8c41, (0x2004, 8), "ldp w1, w3, [x2, #4]"),
            (0xa97f_0c41, (0x1ff0, 16), "ldp x1, x3, [x2, #-16]"),
            (0x7940_0441, (0x2002, 2), "ldrh w1, [x2, #2]"),
            (0x889f_fc41, (0x2000, 4), "stlr w1, [x2]"),
        ] {
            assert_eq!(decode(word, &register), Some(expected), "{text}");
        }
        assert_eq!(decode(0xd503_201f, &register), None, "nop");
        assert_eq!(decode(0x9100_0441, &register), None, "add x1, x2, #1");
    }

    #[test]
    fn a_right_access_beside_a_wrong_one_to_other_places_is_right() {
        let mut width = Width::default();
        let words = [0xa940_0fe1, 0xb940_0841]; // ldp x1, x3, [sp]; ldr w1, [x2, #8]
        width.judge(0, 0x80000, 0xfe20_0008, &words, |number| if number == 2 { 0xfe20_0000 } else { 0x9000 });
        assert_eq!(width.findings(), []);
        width.judge(0, 0x80000, 0xfe20_0000, &[0xf940_0041], |_| 0xfe20_0000); // ldr x1, [x2]
        assert_eq!(width.findings().len(), 1);
    }
}
