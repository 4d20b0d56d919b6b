//! What an exception leaves behind, and how to name it.

use core::fmt;

/// Registers at the moment of an exception, as `vectors.s` stores them (offsets are fixed there).
#[repr(C)]
#[derive(Clone, Debug)]
pub struct ExceptionFrame {
    /// x0 to x30.
    pub x: [u64; 31],
    /// Where execution goes on: ELR_EL1.
    pub elr: u64,
    /// Saved program state: SPSR_EL1.
    pub spsr: u64,
    /// Syndrome: ESR_EL1. Holds an old value for an interrupt.
    pub esr: u64,
    /// Faulting address: FAR_EL1, where the class has one.
    pub far: u64,
    /// Stack pointer of the interrupted program: SP_EL0.
    pub sp: u64,
    /// Which of the 16 vectors was taken.
    pub vector: u64,
    reserved: u64,
}

/// ESR class of a data abort taken without a change of exception level.
const EC_DATA_ABORT_SAME_EL: u64 = 0x25;

impl ExceptionFrame {
    /// Exception class, ESR_EL1 bits 31:26.
    pub const fn class(&self) -> u64 {
        (self.esr >> 26) & 0x3f
    }

    /// True for a data abort of our own code, the one fault that a probe of an address expects.
    pub const fn is_data_abort(&self) -> bool {
        self.vector == 0 && self.class() == EC_DATA_ABORT_SAME_EL
    }

    /// True for an SError: an asynchronous bus error, another way in which absent hardware answers.
    pub const fn is_serror(&self) -> bool {
        self.vector == 3
    }

    /// Plain words for what happened.
    pub const fn describe(&self) -> &'static str {
        match self.vector {
            2 => "FIQ (none is routed here)",
            3 => "SError (asynchronous bus error)",
            4..=7 => "exception inside an exception handler",
            8..=15 => "exception from a lower level (none is used)",
            _ => match self.class() {
                0x00 => "undefined instruction",
                0x07 => "FP or SIMD access trapped",
                0x0e => "illegal execution state",
                0x15 => "SVC",
                0x18 => "trapped system register access",
                0x21 => "instruction abort",
                0x22 => "misaligned program counter",
                0x25 => "data abort",
                0x26 => "misaligned stack pointer",
                0x2c => "trapped FP exception",
                0x2f => "SError",
                0x3c => "BRK",
                _ => "synchronous exception",
            },
        }
    }

    /// Walks the frame records (x29 chain) of the interrupted program: return addresses, newest
    /// first, at most `out.len()`. `readable(address)` says whether 16 bytes may be read there;
    /// `read(address)` reads 8. Stops at the first record that is not further up the stack.
    pub fn back_trace(&self, out: &mut [u64], readable: impl Fn(u64) -> bool, read: impl Fn(u64) -> u64) -> usize {
        let mut fp = self.x[29];
        let mut n = 0;
        while n < out.len() && fp != 0 && fp.is_multiple_of(16) && readable(fp) {
            out[n] = read(fp + 8);
            n += 1;
            let next = read(fp);
            if next <= fp {
                break;
            }
            fp = next;
        }
        n
    }
}

impl fmt::Display for ExceptionFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (vector {}, class {:#04x})", self.describe(), self.vector, self.class())?;
        writeln!(f, "  pc {:#018x}  esr {:#010x}  far {:#018x}", self.elr, self.esr, self.far)?;
        writeln!(f, "  sp {:#018x}  spsr {:#010x}", self.sp, self.spsr)?;
        for (row, regs) in self.x.chunks(4).enumerate() {
            for (column, value) in regs.iter().enumerate() {
                write!(f, "  x{:<2} {:#018x}", row * 4 + column, value)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(esr: u64, vector: u64) -> ExceptionFrame {
        ExceptionFrame { x: [0; 31], elr: 0, spsr: 0, esr, far: 0, sp: 0, vector, reserved: 0 }
    }

    #[test]
    fn layout_is_the_one_vectors_s_stores() {
        assert_eq!(core::mem::offset_of!(ExceptionFrame, elr), 248);
        assert_eq!(core::mem::offset_of!(ExceptionFrame, esr), 264);
        assert_eq!(core::mem::offset_of!(ExceptionFrame, far), 272);
        assert_eq!(core::mem::offset_of!(ExceptionFrame, vector), 288);
        assert_eq!(size_of::<ExceptionFrame>(), 304);
    }

    #[test]
    fn names_the_class() {
        assert!(frame(0x9600_0045, 0).is_data_abort());
        assert_eq!(frame(0x9600_0045, 0).describe(), "data abort");
        assert_eq!(frame(0xf200_0077, 0).describe(), "BRK");
        assert!(!frame(0x9600_0045, 4).is_data_abort(), "a fault inside a handler is no probe");
        assert!(frame(0, 3).is_serror());
    }

    #[test]
    fn back_trace_follows_frame_records_and_stops_at_a_loop() {
        let memory = [32u64, 0xa, 0, 0, 64, 0xb, 0, 0, 32, 0xc]; // records at 0, 32 and 64 bytes
        let mut f = frame(0, 0);
        f.x[29] = 0x1000;
        let read = |a: u64| memory[(a as usize - 0x1000) / 8] + if a.is_multiple_of(16) { 0x1000 } else { 0 };
        let mut out = [0; 8];
        let n = f.back_trace(&mut out, |a| (0x1000..0x1000 + 72).contains(&a), read);
        assert_eq!(&out[..n], &[0xa, 0xb, 0xc], "the last record points down and ends the walk");
    }
}
