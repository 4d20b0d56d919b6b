//! What every register block checks alike: the width of an access, and how a complaint is filed.

use crate::env::Finding;

/// Files a complaint of `device`.
pub(crate) fn blame(device: &'static str, at_ns: u64, findings: &mut Vec<Finding>, text: String) {
    findings.push(Finding { at_ns, device, text });
}

/// Complains unless the access is one aligned 32-bit word.
pub(crate) fn check_word(
    device: &'static str,
    at_ns: u64,
    what: &str,
    offset: u32,
    size: u8,
    findings: &mut Vec<Finding>,
) {
    if size != 4 || !offset.is_multiple_of(4) {
        blame(device, at_ns, findings, format!("{what} of {size} bytes at {offset:#x}"));
    }
}

/// Complains about an offset the block does not have, or cannot be accessed this way.
pub(crate) fn unknown(device: &'static str, at_ns: u64, what: &str, offset: u32, findings: &mut Vec<Finding>) {
    blame(device, at_ns, findings, format!("{what} at unknown offset {offset:#x}"));
}
