//! What a device model may touch besides its own state: guest memory and the list of complaints.
//!
//! Owns the two seams between models and whoever runs them: [`GuestMemory`], memory as a DMA master sees it, and
//! [`Finding`], a record of something that only faulty firmware does. Does not own time: every call that needs it
//! carries `now` in nanoseconds since reset.

/// Memory as a bus master sees it. Addresses are physical.
pub trait GuestMemory {
    /// Copies `out.len()` bytes from `pa` on; false when any of them is not memory that a device may read.
    fn read(&mut self, pa: u64, out: &mut [u8]) -> bool;
    /// Copies `data` to `pa` and up; false (and nothing written) when any byte is not memory that a device may write.
    fn write(&mut self, pa: u64, data: &[u8]) -> bool;
}

/// Something that correct firmware does not do: an unknown register, a wrong access width, DMA to nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// When, in nanoseconds since reset.
    pub at_ns: u64,
    /// Which model noticed.
    pub device: &'static str,
    /// What happened, with register names and values.
    pub text: String,
}

/// What a model is given for the length of one call.
pub struct Env<'a> {
    /// Memory for DMA.
    pub mem: &'a mut dyn GuestMemory,
    /// Where complaints go.
    pub findings: &'a mut Vec<Finding>,
}

impl Env<'_> {
    /// Files a complaint.
    pub fn blame(&mut self, at_ns: u64, device: &'static str, text: String) {
        self.findings.push(Finding { at_ns, device, text });
    }
}

/// A plain block of memory at a base address: enough of a guest for tests of a driver or of one model.
pub struct FlatMemory {
    base: u64,
    bytes: Vec<u8>,
}

impl FlatMemory {
    /// `len` zero bytes at physical address `base`.
    pub fn new(base: u64, len: usize) -> Self {
        FlatMemory { base, bytes: vec![0; len] }
    }

    /// The bytes, from `base` on.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, writable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn span(&self, pa: u64, len: usize) -> Option<core::ops::Range<usize>> {
        let start = usize::try_from(pa.checked_sub(self.base)?).ok()?;
        let end = start.checked_add(len)?;
        (end <= self.bytes.len()).then_some(start..end)
    }
}

impl GuestMemory for FlatMemory {
    fn read(&mut self, pa: u64, out: &mut [u8]) -> bool {
        let Some(span) = self.span(pa, out.len()) else { return false };
        out.copy_from_slice(&self.bytes[span]);
        true
    }

    fn write(&mut self, pa: u64, data: &[u8]) -> bool {
        let Some(span) = self.span(pa, data.len()) else { return false };
        self.bytes[span].copy_from_slice(data);
        true
    }
}
