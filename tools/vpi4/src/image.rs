//! Loading kernel8.img the way the Pi's firmware does.

use std::fmt;

/// Default load address of a 64-bit kernel (Raspberry Pi documentation).
pub const LOAD_ADDRESS: u64 = 0x20_0000;

/// An image with an arm64 header.
#[derive(Clone, Debug)]
pub struct Image {
    /// File content.
    pub bytes: Vec<u8>,
    /// Bytes it takes in memory.
    pub memory_bytes: u64,
}

/// Why a file is no image that can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// No arm64 Image header at the start.
    NoHeader,
    /// The header asks for a place relative to the start of memory that we do not serve.
    TextOffset(u64),
    /// image_size is smaller than the file.
    Size(u64),
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::NoHeader => write!(f, "no arm64 Image header: is it kernel8.img?"),
            ImageError::TextOffset(offset) => write!(f, "text_offset {offset:#x} is not 0"),
            ImageError::Size(size) => write!(f, "image_size {size} is smaller than the file"),
        }
    }
}

impl std::error::Error for ImageError {}

impl Image {
    /// Checks the header (Linux Documentation/arch/arm64/booting.rst).
    pub fn parse(bytes: Vec<u8>) -> Result<Self, ImageError> {
        if bytes.get(56..60) != Some(b"ARM\x64") || bytes.len() < 64 {
            return Err(ImageError::NoHeader);
        }
        let quad = |at: usize| bytes[at..at + 8].iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
        let (text_offset, memory_bytes) = (quad(8), quad(16));
        if text_offset != 0 {
            return Err(ImageError::TextOffset(text_offset));
        }
        if memory_bytes < bytes.len() as u64 {
            return Err(ImageError::Size(memory_bytes));
        }
        Ok(Image { bytes, memory_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_files_are_refused() {
        assert_eq!(Image::parse(b"hello".to_vec()).unwrap_err(), ImageError::NoHeader);
        let mut bytes = vec![0; 4096];
        bytes[56..60].copy_from_slice(b"ARM\x64");
        assert_eq!(Image::parse(bytes.clone()).unwrap_err(), ImageError::Size(0));
        bytes[16..24].copy_from_slice(&0x10000u64.to_le_bytes());
        assert_eq!(Image::parse(bytes.clone()).unwrap().memory_bytes, 0x10000);
        bytes[8] = 1;
        assert_eq!(Image::parse(bytes).unwrap_err(), ImageError::TextOffset(1));
    }
}
