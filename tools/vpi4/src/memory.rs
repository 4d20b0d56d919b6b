//! RAM, and the caches that the engine does not have.
//!
//! The engine's memory is what the core sees. Devices write to a shadow of it; a line of the shadow reaches the core's
//! memory only when the guest invalidates that line, as on silicon where a cached line hides what DMA wrote. In the
//! other direction a line that a device reads must have been cleaned since the device read it last. That is stricter
//! than silicon (which forgives by eviction) and blind to a store after the clean.
//! Checks begin when the guest turns its data cache on; before that, memory is one.

use board::env::GuestMemory;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeSet;
use std::ptr::NonNull;

/// Cache line of a Cortex-A72, bytes.
pub const LINE: u64 = 64;
/// Bytes of the first bank of every Pi 4 with the default `gpu_mem`.
pub const FIRST_BANK_BYTES: u64 = 0x3b40_0000;

/// What the engine wants memory aligned to.
const PAGE: usize = 4096;

/// A page-aligned block of zeroed memory at a fixed address, for the engine to map.
struct Block {
    start: NonNull<u8>,
    bytes: usize,
    allocated: NonNull<u8>,
    layout: Layout,
}

impl Block {
    fn new(bytes: u64) -> Self {
        // Aligned by hand: asked for a page's alignment, the allocator clears every byte itself instead of leaving the
        // pages to be mapped when they are touched, and a machine would fill two gigabytes.
        let bytes = bytes as usize;
        let layout = Layout::from_size_align(bytes + PAGE, 16).expect("a size that fits an address space");
        // SAFETY: the layout has a size greater than zero.
        let allocated = NonNull::new(unsafe { alloc_zeroed(layout) }).expect("address space for guest RAM");
        // SAFETY: at most PAGE - 1 bytes on, inside the allocation.
        let start = unsafe { allocated.add(allocated.align_offset(PAGE)) };
        Block { start, bytes, allocated, layout }
    }

    fn copy_out(&self, at: u64, out: &mut [u8]) {
        assert!(at as usize + out.len() <= self.bytes);
        // SAFETY: in bounds (checked); single-threaded, and the engine does not run while the host copies.
        unsafe { self.start.as_ptr().add(at as usize).copy_to_nonoverlapping(out.as_mut_ptr(), out.len()) };
    }

    fn copy_in(&self, at: u64, data: &[u8]) {
        assert!(at as usize + data.len() <= self.bytes);
        // SAFETY: as in `copy_out`.
        unsafe { self.start.as_ptr().add(at as usize).copy_from_nonoverlapping(data.as_ptr(), data.len()) };
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout. The machine drops the engine before the memory.
        unsafe { dealloc(self.allocated.as_ptr(), self.layout) };
    }
}

/// One bit for each line.
struct Lines(Vec<u64>);

impl Lines {
    fn new(bytes: u64) -> Self {
        Lines(vec![0; (bytes / LINE).div_ceil(64) as usize])
    }

    fn get(&self, line: u64) -> bool {
        self.0[line as usize / 64] >> (line % 64) & 1 != 0
    }

    fn set(&mut self, line: u64, on: bool) {
        let (word, bit) = (&mut self.0[line as usize / 64], 1 << (line % 64));
        if on {
            *word |= bit;
        } else {
            *word &= !bit;
        }
    }
}

/// Guest RAM of one bank from address 0.
pub struct Ram {
    core: Block,
    shadow: Block,
    bytes: u64,
    /// The shadow holds something newer than the core's memory.
    ahead: Lines,
    /// Cleaned since a device read it last.
    clean: Lines,
    /// Memory's content is in the shadow: the line was cleaned, or written by DMA.
    in_memory: Lines,
    /// Read by a device in the step that runs; they stop being clean when it ends.
    read_now: Vec<u64>,
    checking: bool,
    /// Nothing is ever checked.
    coherent: bool,
    /// No line stopped being clean since all of them were cleaned.
    all_clean: bool,
    /// Lines where the shadow is ahead.
    ahead_count: u64,
    /// First lines that a device read uncleaned, for the report.
    uncleaned: BTreeSet<u64>,
    uncleaned_count: u64,
    /// Lines that reached the core by invalidation.
    pub invalidated: u64,
}

/// Uncleaned lines that are remembered by address.
const MAX_UNCLEANED: usize = 32;

impl Ram {
    /// `bytes` of zeroed RAM from address 0.
    pub fn new(bytes: u64) -> Self {
        Ram {
            core: Block::new(bytes),
            shadow: Block::new(bytes),
            bytes,
            ahead: Lines::new(bytes),
            clean: Lines::new(bytes),
            in_memory: Lines::new(bytes),
            read_now: Vec::new(),
            checking: false,
            coherent: false,
            all_clean: false,
            ahead_count: 0,
            uncleaned: BTreeSet::new(),
            uncleaned_count: 0,
            invalidated: 0,
        }
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The core's memory, for the engine to map. Valid as long as this `Ram`.
    pub fn core_memory(&mut self) -> *mut u8 {
        self.core.start.as_ptr()
    }

    /// Loads bytes before the guest runs. False: outside RAM.
    pub fn load(&mut self, at: u64, data: &[u8]) -> bool {
        let fits = at.checked_add(data.len() as u64).is_some_and(|end| end <= self.bytes);
        if fits {
            self.core.copy_in(at, data);
        }
        fits
    }

    /// Reads what the core sees.
    pub fn core_read(&self, at: u64, out: &mut [u8]) -> bool {
        let fits = at.checked_add(out.len() as u64).is_some_and(|end| end <= self.bytes);
        if fits {
            self.core.copy_out(at, out);
        }
        fits
    }

    /// The guest's data cache is on: from here on its maintenance counts. Off: the core sees memory itself.
    pub fn set_checking(&mut self, on: bool) {
        let on = on && !self.coherent;
        if self.checking && !on {
            self.clean_and_invalidate_all();
        }
        self.checking = on;
    }

    /// Core and devices see one memory from now on.
    pub fn never_check(&mut self) {
        self.coherent = true;
        self.set_checking(false);
    }

    /// A device begins to act. What it reads twice before the guest runs again needs one clean only: no store can lie
    /// between.
    pub fn begin_step(&mut self) {
        self.all_clean &= self.read_now.is_empty();
        for line in self.read_now.drain(..) {
            self.clean.set(line, false);
        }
    }

    /// DC CVAC, CVAU of the line at `address`.
    pub fn clean_line(&mut self, address: u64) {
        if address >= self.bytes {
            return;
        }
        let line = address / LINE;
        self.clean.set(line, true);
        if !self.ahead.get(line) {
            self.copy_to_shadow(line);
        }
    }

    /// Eight bytes as an agent without caches finds them; `None` where nothing was ever brought to memory.
    pub fn memory_word(&self, at: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        if at.checked_add(8).is_none_or(|end| end > self.bytes) {
            return None;
        }
        if self.checking {
            if !self.in_memory.get(at / LINE) {
                return None;
            }
            self.shadow.copy_out(at, &mut bytes);
        } else {
            self.core.copy_out(at, &mut bytes);
        }
        Some(u64::from_le_bytes(bytes))
    }

    /// Whether memory has the `len` bytes at `at` as the cores see them; `None` where nothing was ever brought to memory,
    /// and it has what was loaded there. Without caches it always has.
    pub fn reached_memory(&self, at: u64, len: u64) -> Option<bool> {
        let end = at.checked_add(len).filter(|end| *end <= self.bytes)?;
        if !self.checking {
            return Some(true);
        }
        if !(at / LINE..=(end.max(at + 1) - 1) / LINE).all(|line| self.in_memory.get(line)) {
            return None;
        }
        let (mut seen, mut held) = (vec![0; len as usize], vec![0; len as usize]);
        self.core.copy_out(at, &mut seen);
        self.shadow.copy_out(at, &mut held);
        Some(seen == held)
    }

    fn copy_to_shadow(&mut self, line: u64) {
        let mut bytes = [0; LINE as usize];
        self.core.copy_out(line * LINE, &mut bytes);
        self.shadow.copy_in(line * LINE, &bytes);
        self.in_memory.set(line, true);
    }

    /// RAM after a reset that writes no cache line back: what was cleaned or came by DMA is there as it was then, what
    /// the core alone knew is lost (zero here). If `lost`, nothing is as it was: garbage of `seed` in all those lines. The
    /// first page is the firmware's, which loads its stub and an empty spin table there each time.
    pub fn after_reset(&self, lost: Option<u64>) -> Ram {
        let after = Ram::new(self.bytes);
        let mut garbage = lost.map(board::rng::SplitMix64::new);
        for (word, bits) in self.in_memory.0.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            let lines = (0..64).filter(|bit| bits >> bit & 1 != 0).map(|bit| (word as u64 * 64 + bit) * LINE);
            for at in lines.filter(|at| *at >= 0x1000) {
                let mut bytes = [0; LINE as usize];
                match &mut garbage {
                    None => self.shadow.copy_out(at, &mut bytes),
                    Some(rng) => {
                        bytes.chunks_exact_mut(8).for_each(|c| c.copy_from_slice(&rng.next_u64().to_le_bytes()))
                    }
                }
                after.core.copy_in(at, &bytes);
            }
        }
        after
    }

    /// DC IVAC of the line at `address`.
    pub fn invalidate_line(&mut self, address: u64) {
        if address >= self.bytes {
            return;
        }
        let line = address / LINE;
        self.invalidated += 1;
        if self.ahead.get(line) {
            self.ahead.set(line, false);
            self.ahead_count -= 1;
            let mut bytes = [0; LINE as usize];
            self.shadow.copy_out(line * LINE, &mut bytes);
            self.core.copy_in(line * LINE, &bytes);
        }
    }

    /// DC by set and way: guests walk the whole cache with it, thousands of instructions in a row, so the first does
    /// the work for all of them.
    pub fn clean_and_invalidate_all(&mut self) {
        for word in 0..self.ahead.0.len() {
            if self.ahead_count == 0 {
                break;
            }
            while self.ahead.0[word] != 0 {
                self.invalidate_line((word as u64 * 64 + u64::from(self.ahead.0[word].trailing_zeros())) * LINE);
            }
        }
        if !self.all_clean {
            self.clean.0.fill(!0);
            self.all_clean = true;
        }
    }

    /// Lines that a device read though they were not cleaned: how many, and the first addresses.
    pub fn uncleaned(&self) -> (u64, Vec<u64>) {
        (self.uncleaned_count, self.uncleaned.iter().map(|line| line * LINE).collect())
    }

    fn range(&self, pa: u64, len: usize) -> Option<std::ops::RangeInclusive<u64>> {
        let end = pa.checked_add(len as u64)?;
        if len == 0 || end > self.bytes || pa < 0x1000 {
            return None;
        }
        Some(pa / LINE..=(end - 1) / LINE)
    }
}

impl GuestMemory for Ram {
    fn read(&mut self, pa: u64, out: &mut [u8]) -> bool {
        let Some(lines) = self.range(pa, out.len()) else { return false };
        // The device sees memory: the core's where it was written back (or never differs), the shadow where DMA
        // wrote last.
        self.core.copy_out(pa, out);
        if self.checking {
            for line in lines {
                if self.ahead.get(line) {
                    let from = pa.max(line * LINE);
                    let to = (pa + out.len() as u64).min((line + 1) * LINE);
                    self.shadow.copy_out(from, &mut out[(from - pa) as usize..(to - pa) as usize]);
                } else if self.clean.get(line) {
                    self.read_now.push(line);
                } else {
                    self.uncleaned_count += 1;
                    if self.uncleaned.len() < MAX_UNCLEANED {
                        self.uncleaned.insert(line);
                    }
                }
            }
        }
        true
    }

    fn write(&mut self, pa: u64, data: &[u8]) -> bool {
        let Some(lines) = self.range(pa, data.len()) else { return false };
        if !self.checking {
            self.core.copy_in(pa, data);
            lines.for_each(|line| self.copy_to_shadow(line));
            return true;
        }
        for line in lines {
            if !self.ahead.get(line) {
                // A partly written line keeps the rest of what memory holds.
                self.copy_to_shadow(line);
                self.ahead.set(line, true);
                self.ahead_count += 1;
            }
        }
        self.shadow.copy_in(pa, data);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(ram: &Ram, at: u64) -> u8 {
        let mut byte = [0];
        assert!(ram.core_read(at, &mut byte));
        byte[0]
    }

    #[test]
    fn dma_is_hidden_until_the_line_is_invalidated() {
        let mut ram = Ram::new(0x10000);
        ram.set_checking(true);
        assert!(ram.write(0x2000, &[7; 100]));
        assert_eq!((core(&ram, 0x2000), core(&ram, 0x2040)), (0, 0));
        ram.invalidate_line(0x2010);
        assert_eq!((core(&ram, 0x2000), core(&ram, 0x2040)), (7, 0), "one line only");
        ram.clean_and_invalidate_all();
        assert_eq!(core(&ram, 0x2063), 7);
        assert_eq!(core(&ram, 0x2064), 0, "the rest of the line is what memory held");
    }

    #[test]
    fn a_reset_keeps_what_was_cleaned_as_it_was_then() {
        let mut ram = Ram::new(0x10000);
        ram.set_checking(true);
        for (at, byte) in [(0x2000, 1), (0x3000, 2), (0x4000, 3)] {
            ram.core.copy_in(at, &[byte]);
        }
        ram.clean_line(0x2000);
        ram.clean_line(0x3000);
        ram.core.copy_in(0x3000, &[9]);
        let after = ram.after_reset(None);
        assert_eq!([core(&after, 0x2000), core(&after, 0x3000), core(&after, 0x4000)], [1, 2, 0]);
        let lost = ram.after_reset(Some(7));
        let mut bytes = [0; 64];
        assert!(lost.core_read(0x2000, &mut bytes) && bytes[0] != 1 && bytes.iter().any(|&b| b != 0));
    }

    #[test]
    fn an_agent_without_caches_sees_what_was_cleaned() {
        let mut ram = Ram::new(0x10000);
        ram.set_checking(true);
        ram.core.copy_in(0xe0, &7u64.to_le_bytes());
        assert_eq!(ram.memory_word(0xe0), None, "stored only");
        ram.clean_line(0xe0);
        ram.core.copy_in(0xe0, &9u64.to_le_bytes());
        assert_eq!((ram.memory_word(0xe0), ram.memory_word(0xfffc)), (Some(7), None));
        assert_eq!([0xe0, 0xe8, 0x100].map(|at| ram.reached_memory(at, 8)), [Some(false), Some(true), None]);
        for lost in [None, Some(5)] {
            assert_eq!(ram.after_reset(lost).memory_word(0xe0), Some(0), "the firmware's own page after a reset");
        }
    }

    #[test]
    fn without_caches_memory_is_one() {
        let mut ram = Ram::new(0x10000);
        assert!(ram.write(0x2000, &[7]));
        assert_eq!(core(&ram, 0x2000), 7);
        assert_eq!(ram.uncleaned().0, 0);
    }

    #[test]
    fn a_device_read_wants_a_clean_since_the_last_one() {
        let mut ram = Ram::new(0x10000);
        ram.set_checking(true);
        let mut out = [0; 65];
        ram.clean_line(0x3000);
        assert!(ram.read(0x3000, &mut out[..64]));
        assert!(ram.read(0x3000, &mut out[..64]));
        assert_eq!(ram.uncleaned().0, 0, "twice in one step");
        ram.begin_step();
        assert!(ram.read(0x3000, &mut out));
        assert_eq!(ram.uncleaned(), (2, vec![0x3000, 0x3040]), "both lines, one cleaned too long ago");
    }

    #[test]
    fn not_everything_is_ram() {
        let mut ram = Ram::new(0x10000);
        assert!(!ram.write(0xfff0, &[0; 17]) && !ram.write(u64::MAX, &[0; 2]));
        assert!(!ram.write(0xd8, &[0; 8]), "the firmware's page with the spin table");
    }
}
