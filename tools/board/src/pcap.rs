//! Captures: classic pcap with nanosecond times, Ethernet link type.
//!
//! Virtual time is written as seconds since the epoch, so a capture starts in 1970. Frames carry no FCS.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// Magic number of a little-endian pcap file with nanosecond times.
const MAGIC: u32 = 0xA1B2_3C4D;
const LINK_TYPE_ETHERNET: u32 = 1;
const SNAP_LENGTH: u32 = 65_535;

struct Sink {
    out: Box<dyn Write>,
    error: Option<io::Error>,
}

/// A capture being written; clones write to the same file.
#[derive(Clone)]
pub struct Capture {
    sink: Rc<RefCell<Sink>>,
}

impl Capture {
    /// Starts a capture with its file header.
    ///
    /// # Errors
    /// When the header cannot be written.
    pub fn new(mut out: Box<dyn Write>) -> io::Result<Self> {
        let mut header = Vec::with_capacity(24);
        header.extend_from_slice(&MAGIC.to_le_bytes());
        header.extend_from_slice(&2u16.to_le_bytes());
        header.extend_from_slice(&4u16.to_le_bytes());
        header.extend_from_slice(&[0; 8]);
        header.extend_from_slice(&SNAP_LENGTH.to_le_bytes());
        header.extend_from_slice(&LINK_TYPE_ETHERNET.to_le_bytes());
        out.write_all(&header)?;
        Ok(Capture { sink: Rc::new(RefCell::new(Sink { out, error: None })) })
    }

    /// Adds a frame. The first error is kept for [`Capture::finish`] and ends the capture.
    pub fn frame(&self, at_ns: u64, frame: &[u8]) {
        let mut sink = self.sink.borrow_mut();
        if sink.error.is_some() {
            return;
        }
        let kept = &frame[..frame.len().min(SNAP_LENGTH as usize)];
        let words =
            [(at_ns / 1_000_000_000) as u32, (at_ns % 1_000_000_000) as u32, kept.len() as u32, frame.len() as u32];
        let mut header = [0; 16];
        for (place, word) in header.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let written = sink.out.write_all(&header).and_then(|()| sink.out.write_all(kept));
        sink.error = written.err();
    }

    /// Flushes.
    ///
    /// # Errors
    /// The first error of the capture.
    pub fn finish(&self) -> io::Result<()> {
        let mut sink = self.sink.borrow_mut();
        match sink.error.take() {
            Some(error) => Err(error),
            None => sink.out.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sink that can be looked at.
    #[derive(Clone, Default)]
    struct Shared(Rc<RefCell<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(data);
            Ok(data.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn header_and_record_layout() {
        let shared = Shared::default();
        let capture = Capture::new(Box::new(shared.clone())).expect("header");
        capture.frame(3_000_000_007, &[0xAB; 60]);
        capture.finish().expect("flush");
        let bytes = shared.0.borrow();
        assert_eq!(bytes.len(), 24 + 16 + 60);
        assert_eq!(bytes[..4], [0x4D, 0x3C, 0xB2, 0xA1]);
        assert_eq!(bytes[24..40], [3, 0, 0, 0, 7, 0, 0, 0, 60, 0, 0, 0, 60, 0, 0, 0]);
    }
}
