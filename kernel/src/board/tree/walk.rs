//! Whether a tree can be walked to its end (Devicetree Specification 0.4, chapter 5.4).

use core::ffi::CStr;

const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;
const END: u32 = 9;
/// Where the header says the structure block begins.
const STRUCTURE_OFFSET: usize = 8;
/// Where it says the strings block begins.
const STRINGS_OFFSET: usize = 12;
/// Where it says how long the strings block is.
const STRINGS_BYTES: usize = 32;

/// True if every token of `blob` has its place and what it points at is there. The header is valid.
///
/// Names may be spelt in any way. This is for trees whose check ended early at a name: what lies behind it has not
/// been looked at, and an unchecked tree makes `dtoolkit` panic.
pub(super) fn is_whole(blob: &[u8]) -> bool {
    walk(blob).is_some()
}

fn walk(blob: &[u8]) -> Option<()> {
    let word = |at: usize| Some(u32::from_be_bytes(*blob.get(at..)?.first_chunk()?));
    let offset = |at: usize| word(at).map(|word| word as usize);
    let strings = blob.get(offset(STRINGS_OFFSET)?..)?.get(..offset(STRINGS_BYTES)?)?;
    let mut at = offset(STRUCTURE_OFFSET)?;
    let mut depth = 0u32;
    let mut properties_may_come = false;
    loop {
        let token = word(at)?;
        at += 4;
        match token {
            BEGIN_NODE => {
                depth += 1;
                properties_may_come = true;
                at = (at + text(blob.get(at..)?)?.len() + 1).next_multiple_of(4);
            }
            PROPERTY if properties_may_come => {
                let (bytes, name) = (offset(at)?, offset(at + 4)?);
                text(strings.get(name..)?)?;
                blob.get(at + 8..)?.get(..bytes)?;
                at = (at + 8 + bytes).next_multiple_of(4);
            }
            END_NODE if depth > 0 => {
                depth -= 1;
                properties_may_come = false;
                if depth == 0 {
                    return (word(at)? == END).then_some(());
                }
            }
            NOP => {}
            _ => return None,
        }
    }
}

/// The text at the start of `bytes`, up to its NUL.
fn text(bytes: &[u8]) -> Option<&str> {
    CStr::from_bytes_until_nul(bytes).ok()?.to_str().ok()
}
