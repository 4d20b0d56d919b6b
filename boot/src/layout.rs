//! Where the linker script put things, as addresses of the running image.

/// A half-open address range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u64,
    /// First byte after the range.
    pub end: u64,
}

impl Span {
    /// Bytes in the range.
    pub const fn bytes(self) -> u64 {
        self.end - self.start
    }

    /// True if `length` bytes from `address` lie inside.
    pub const fn holds(self, address: u64, length: u64) -> bool {
        address >= self.start && address <= self.end && length <= self.end - address
    }

    /// True if the two ranges share a byte.
    pub const fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }
}

/// The parts of the running image.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Header and code.
    pub text: Span,
    /// Constants and relocation entries.
    pub rodata: Span,
    /// Initialised and zeroed data.
    pub data: Span,
    /// Stack of the program (SP_EL0), without its guard page.
    pub stack: Span,
    /// Stack of exceptions (SP_EL1), without its guard page.
    pub exception_stack: Span,
    /// Stack of the secondary core's program, without its guard page.
    pub secondary_stack: Span,
    /// Stack of its exceptions, without its guard page.
    pub secondary_exception_stack: Span,
    /// DMA buffers and heap: memory that start-up does not clear.
    pub uninit: Span,
    /// All of it.
    pub image: Span,
}

/// Layout of the image that runs. Valid from the first Rust instruction on.
#[cfg(target_os = "none")]
pub fn layout() -> Layout {
    unsafe extern "C" {
        static _start: u8;
        static __text_end: u8;
        static __rodata_end: u8;
        static __stack_guard: u8;
        static __stack_bottom: u8;
        static __stack_top: u8;
        static __exc_stack_bottom: u8;
        static __exc_stack_top: u8;
        static __secondary_stack_bottom: u8;
        static __secondary_stack_top: u8;
        static __secondary_exc_stack_bottom: u8;
        static __secondary_exc_stack_top: u8;
        static __image_end: u8;
    }
    let at = |symbol: *const u8| symbol as u64;
    let span = |start, end| Span { start: at(start), end: at(end) };
    Layout {
        text: span(&raw const _start, &raw const __text_end),
        rodata: span(&raw const __text_end, &raw const __rodata_end),
        data: span(&raw const __rodata_end, &raw const __stack_guard),
        stack: span(&raw const __stack_bottom, &raw const __stack_top),
        exception_stack: span(&raw const __exc_stack_bottom, &raw const __exc_stack_top),
        secondary_stack: span(&raw const __secondary_stack_bottom, &raw const __secondary_stack_top),
        secondary_exception_stack: span(&raw const __secondary_exc_stack_bottom, &raw const __secondary_exc_stack_top),
        uninit: span(&raw const __secondary_exc_stack_top, &raw const __image_end),
        image: span(&raw const _start, &raw const __image_end),
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn spans() {
        let span = Span { start: 0x1000, end: 0x3000 };
        assert!(span.holds(0x2ff0, 16) && !span.holds(0x2ff1, 16) && !span.holds(0xfff, 1));
        assert!(!span.holds(u64::MAX, 2), "no wrap-around");
        assert!(
            span.overlaps(Span { start: 0x2fff, end: 0x4000 }) && !span.overlaps(Span { start: 0x3000, end: 0x4000 })
        );
    }
}
