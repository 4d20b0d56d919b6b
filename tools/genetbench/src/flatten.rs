//! ELF to arm64 Image, with the checks that keep a bad link from becoming a dead board.

use object::elf::{PT_LOAD, R_AARCH64_RELATIVE, RelocationType};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Object, ObjectSection};
use std::fmt;

/// Magic at offset 56 of an arm64 Image (Linux Documentation/arch/arm64/booting.rst).
const MAGIC: u32 = 0x644d_5241;
const HEADER_BYTES: usize = 64;
/// Image header flags: little endian, 4 KiB pages, any 2 MiB-aligned place.
const FLAGS: u64 = 0xa;

/// A flat image.
#[derive(Debug)]
pub struct Flat {
    /// What goes into kernel8.img.
    pub bytes: Vec<u8>,
    /// Bytes the image takes in memory, with .bss, stacks and buffers.
    pub memory_bytes: u64,
    /// Relocations that boot.s will apply.
    pub relocations: usize,
}

/// Why an ELF file cannot become an image.
#[derive(Debug)]
pub enum FlattenError {
    /// Not an ELF file that can be read.
    NotElf(String),
    /// No loadable segment at address 0.
    NotLinkedAtZero,
    /// The first bytes are not an arm64 Image header, or a field of it is wrong.
    Header(&'static str),
    /// A relocation that the start-up code does not apply; its ELF type.
    Relocation(u32),
    /// A segment is writable and executable.
    WritableCode(u64),
}

impl fmt::Display for FlattenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotElf(why) => write!(f, "not an AArch64 ELF file ({why})"),
            Self::NotLinkedAtZero => write!(f, "no code at address 0: was it linked with boot/link/pi4.ld?"),
            Self::Header(what) => write!(f, "bad arm64 Image header: {what}"),
            Self::Relocation(kind) => write!(f, "relocation type {kind} cannot be applied at start-up"),
            Self::WritableCode(address) => write!(f, "the segment at {address:#x} is writable and executable"),
        }
    }
}

impl std::error::Error for FlattenError {}

/// Lays the loadable segments out as they lie in memory, from address 0 to the last file byte.
pub fn flatten(elf: &[u8]) -> Result<Flat, FlattenError> {
    let file = ElfFile64::<object::Endianness>::parse(elf).map_err(|e| FlattenError::NotElf(e.to_string()))?;
    let endian = file.endian();
    let mut bytes = Vec::new();
    let mut memory_bytes = 0;
    for header in file.elf_program_headers() {
        if header.p_type(endian) != PT_LOAD {
            continue;
        }
        let (start, in_file) = (header.p_vaddr(endian) as usize, header.p_filesz(endian) as usize);
        if header.p_flags(endian).0 & 3 == 3 {
            return Err(FlattenError::WritableCode(start as u64));
        }
        memory_bytes = memory_bytes.max(header.p_vaddr(endian) + header.p_memsz(endian));
        if in_file > 0 {
            let data =
                header.data(endian, elf).map_err(|()| FlattenError::NotElf("segment outside the file".into()))?;
            bytes.resize(bytes.len().max(start + in_file), 0);
            bytes[start..start + in_file].copy_from_slice(data);
        }
    }
    check_header(&bytes, memory_bytes)?;
    Ok(Flat { relocations: relocations(&file)?, bytes, memory_bytes })
}

fn check_header(bytes: &[u8], memory_bytes: u64) -> Result<(), FlattenError> {
    let header = bytes.get(..HEADER_BYTES).ok_or(FlattenError::NotLinkedAtZero)?;
    let quad = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    if header[56..60] != MAGIC.to_le_bytes() {
        return Err(FlattenError::Header("no magic"));
    }
    if quad(8) != 0 {
        return Err(FlattenError::Header("text_offset is not 0"));
    }
    if quad(16) < memory_bytes {
        return Err(FlattenError::Header("image_size is smaller than the image in memory"));
    }
    if quad(24) != FLAGS {
        return Err(FlattenError::Header("flags"));
    }
    Ok(())
}

fn relocations(file: &ElfFile64<object::Endianness>) -> Result<usize, FlattenError> {
    let Some(section) = file.section_by_name(".rela.dyn") else { return Ok(0) };
    let data = section.data().map_err(|e| FlattenError::NotElf(e.to_string()))?;
    let mut count = 0;
    for entry in data.chunks_exact(24) {
        let info = u64::from_le_bytes(entry[8..16].try_into().expect("eight bytes"));
        match RelocationType(info as u32) {
            R_AARCH64_RELATIVE => count += 1,
            RelocationType(kind) => return Err(FlattenError::Relocation(kind)),
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[16..24].copy_from_slice(&4096u64.to_le_bytes());
        bytes[24..32].copy_from_slice(&FLAGS.to_le_bytes());
        bytes[56..60].copy_from_slice(&MAGIC.to_le_bytes());
        bytes
    }

    #[test]
    fn header_fields_are_checked() {
        assert!(check_header(&header(), 4096).is_ok());
        assert!(
            matches!(check_header(&header(), 4097), Err(FlattenError::Header(what)) if what.contains("image_size"))
        );
        assert!(matches!(check_header(&header()[..63], 1), Err(FlattenError::NotLinkedAtZero)));
        for (at, what) in [(8, "text_offset"), (24, "flags"), (56, "magic")] {
            let mut bytes = header();
            bytes[at] ^= 1;
            assert!(matches!(check_header(&bytes, 1), Err(FlattenError::Header(w)) if w.contains(what)), "{what}");
        }
    }

    #[test]
    fn other_files_are_refused() {
        assert!(matches!(flatten(b"#!/bin/sh\n"), Err(FlattenError::NotElf(_))));
    }
}
