//! What core 1 leaves to be told when it fails: it must not touch the console, which core 0 may be using.

use core::cell::UnsafeCell;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicUsize, Ordering};

const BYTES: usize = 400;

struct Note {
    text: UnsafeCell<[u8; BYTES]>,
    /// Bytes in it, plus one; 0: none yet.
    ready: AtomicUsize,
}

// SAFETY: written by core 1 alone, once, before `ready` is stored (Release); read after `ready` was seen (Acquire).
unsafe impl Sync for Note {}

static NOTE: Note = Note { text: UnsafeCell::new([0; BYTES]), ready: AtomicUsize::new(0) };

struct Cut<'a> {
    text: &'a mut [u8; BYTES],
    used: usize,
}

impl Write for Cut<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Line by line is core 0's business: control characters would break its own line.
        for byte in text.bytes().map(|b| if b.is_ascii_graphic() { b } else { b' ' }) {
            if self.used < BYTES {
                self.text[self.used] = byte;
                self.used += 1;
            }
        }
        Ok(())
    }
}

/// Leaves the note. Only the first counts.
///
/// # Safety
/// On core 1 only.
pub unsafe fn leave(what: fmt::Arguments<'_>) {
    if NOTE.ready.load(Ordering::Relaxed) != 0 {
        return;
    }
    // SAFETY: one core (caller), and nobody reads before `ready`.
    let mut cut = Cut { text: unsafe { &mut *NOTE.text.get() }, used: 0 };
    let _ = cut.write_fmt(what);
    let used = cut.used;
    NOTE.ready.store(used + 1, Ordering::Release);
}

/// The note, if there is one.
pub fn read() -> Option<&'static str> {
    let used = NOTE.ready.load(Ordering::Acquire).checked_sub(1)?;
    // SAFETY: complete since `ready` was stored, and never written again.
    let text = unsafe { &*NOTE.text.get() };
    core::str::from_utf8(&text[..used]).ok()
}
