//! What the board says it is: the revision code (Raspberry Pi documentation, revision codes).

use core::fmt;

/// A new-style revision code, flag bits masked off when shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision(pub u32);

impl Revision {
    const NEW_STYLE: u32 = 1 << 23;
    const FLAGS: u32 = 0xfe00_0000;

    /// The code without warranty, OTP and overvoltage flags.
    pub const fn code(self) -> u32 {
        self.0 & !Self::FLAGS
    }

    /// Memory size in MiB, if the code says.
    pub const fn memory_mib(self) -> Option<u32> {
        if self.0 & Self::NEW_STYLE == 0 {
            return None;
        }
        Some(256 << ((self.0 >> 20) & 7))
    }

    /// True if the code names a BCM2711.
    pub const fn is_bcm2711(self) -> bool {
        self.0 & Self::NEW_STYLE != 0 && (self.0 >> 12) & 15 == 3
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = match (self.0 >> 4) & 0xff {
            0x11 => "Raspberry Pi 4 Model B",
            0x13 => "Raspberry Pi 400",
            0x14 => "Compute Module 4",
            0x15 => "Compute Module 4S",
            _ => "unknown model",
        };
        match self.memory_mib() {
            Some(mib) => write!(f, "{model} rev 1.{}, {} GiB ({:x})", self.0 & 15, mib / 1024, self.code()),
            None => write!(f, "unknown board ({:x})", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_the_documented_codes() {
        let pi = Revision(0x00b0_3115);
        assert_eq!(pi.to_string(), "Raspberry Pi 4 Model B rev 1.5, 2 GiB (b03115)");
        assert!(pi.is_bcm2711());
        assert_eq!(Revision(0x02d0_3114).memory_mib(), Some(8192), "the warranty bit is no size");
        assert_eq!(Revision(0x000e).memory_mib(), None);
    }
}
