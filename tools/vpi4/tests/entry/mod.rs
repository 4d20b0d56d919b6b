//! Code that an earlier stage might have run before our image: it leaves junk where nobody promises anything.

#![allow(dead_code, reason = "each test binary uses a part")]

/// A system register: op0, op1, CRn, CRm, op2 (Arm ARM, A64 system register encodings).
pub type Register = (u32, u32, u32, u32, u32);

pub const SCTLR_EL2: Register = (3, 4, 1, 0, 0);
pub const HCR_EL2: Register = (3, 4, 1, 1, 0);
pub const MDCR_EL2: Register = (3, 4, 1, 1, 1);
pub const CPTR_EL2: Register = (3, 4, 1, 1, 2);
pub const HSTR_EL2: Register = (3, 4, 1, 1, 3);
pub const VTTBR_EL2: Register = (3, 4, 2, 1, 0);
pub const VPIDR_EL2: Register = (3, 4, 0, 0, 0);
pub const VMPIDR_EL2: Register = (3, 4, 0, 0, 5);
pub const CNTHCTL_EL2: Register = (3, 4, 14, 1, 0);
pub const CNTVOFF_EL2: Register = (3, 4, 14, 0, 3);
pub const SCTLR_EL1: Register = (3, 0, 1, 0, 0);
pub const CPACR_EL1: Register = (3, 0, 1, 0, 2);
pub const TTBR0_EL1: Register = (3, 0, 2, 0, 0);
pub const TTBR1_EL1: Register = (3, 0, 2, 0, 1);
pub const TCR_EL1: Register = (3, 0, 2, 0, 2);
pub const MAIR_EL1: Register = (3, 0, 10, 2, 0);
pub const VBAR_EL1: Register = (3, 0, 12, 0, 0);
pub const SPSR_EL1: Register = (3, 0, 4, 0, 0);
pub const ELR_EL1: Register = (3, 0, 4, 0, 1);
pub const CNTKCTL_EL1: Register = (3, 0, 14, 1, 0);
pub const CNTP_CTL_EL0: Register = (3, 3, 14, 2, 1);
pub const CNTP_CVAL_EL0: Register = (3, 3, 14, 2, 2);
pub const CNTV_CTL_EL0: Register = (3, 3, 14, 3, 1);
pub const CNTV_CVAL_EL0: Register = (3, 3, 14, 3, 2);

/// What may be anything at entry to EL2 (everything of EL1, and what the stub does not write at EL2): SCTLR_EL1 with its
/// MMU bit on, trap bits on, timers due. HCR_EL2 with every routing and trap bit; E2H (bit 34) does not exist in a
/// Cortex-A72, so a core that takes the write drops it.
pub const JUNK_AT_EL2: [(Register, u64); 22] = [
    (HCR_EL2, 0x4_ffff_fffe),
    (CPTR_EL2, 0xffff_ffff),
    (MDCR_EL2, 0xfff),
    (HSTR_EL2, 0xffff),
    (VTTBR_EL2, 0xdead_b000),
    (VPIDR_EL2, 0x1234_5678),
    (VMPIDR_EL2, 0x8000_0003),
    (CNTHCTL_EL2, 0),
    (CNTVOFF_EL2, 0x1234_5678_9abc),
    (SCTLR_EL1, 0xffff_ffff),
    (CPACR_EL1, 0),
    (TTBR0_EL1, 0xdead_b000),
    (TTBR1_EL1, 0xdead_c000),
    (TCR_EL1, 0x0000_0015_b519_3519),
    (MAIR_EL1, 0x1122_3344_5566_7788),
    (VBAR_EL1, 0xdead_d800),
    (SPSR_EL1, 0x0000_01c4),
    (ELR_EL1, 0xdead_beef),
    (CNTKCTL_EL1, 0x3ff),
    (CNTP_CVAL_EL0, 1),
    (CNTP_CTL_EL0, 1),
    (CNTV_CTL_EL0, 1),
];

/// The same at EL1, where the MMU must be off.
pub const JUNK_AT_EL1: [(Register, u64); 12] = [
    (CPACR_EL1, 0),
    (TTBR0_EL1, 0xdead_b000),
    (TTBR1_EL1, 0xdead_c000),
    (TCR_EL1, 0x0000_0015_b519_3519),
    (MAIR_EL1, 0x1122_3344_5566_7788),
    (VBAR_EL1, 0xdead_d800),
    (SPSR_EL1, 0x0000_01c4),
    (ELR_EL1, 0xdead_beef),
    (CNTKCTL_EL1, 0x3ff),
    (CNTP_CVAL_EL0, 1),
    (CNTP_CTL_EL0, 1),
    (CNTV_CVAL_EL0, 1),
];

/// SCTLR_ELx values with the MMU off: RES1 bits, then instruction cache (12), data cache (2), both with alignment checks.
pub const SCTLR_CHOICES: [u64; 4] = [0x30c5_0830, 0x30c5_1830, 0x30c5_0834, 0x30c5_183e];

/// Instructions, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Code(pub Vec<u32>);

impl Code {
    /// MOVZ and MOVK of `value` to general register `register`.
    pub fn load(mut self, register: u32, value: u64) -> Self {
        for half in 0..4u32 {
            let opcode = if half == 0 { 0xd280_0000 } else { 0xf280_0000 };
            let part = (value >> (16 * half)) as u32 & 0xffff;
            self.0.push(opcode | half << 21 | part << 5 | register);
        }
        self
    }

    /// MSR of `value`, by way of x9.
    pub fn set(self, (op0, op1, crn, crm, op2): Register, value: u64) -> Self {
        let mut code = self.load(9, value);
        code.0.push(0xd500_0000 | op0 << 19 | op1 << 16 | crn << 12 | crm << 8 | op2 << 5 | 9);
        code
    }

    /// MSR of every register in `values`.
    pub fn set_all(self, values: &[(Register, u64)]) -> Self {
        values.iter().fold(self, |code, (register, value)| code.set(*register, *value))
    }

    /// Goes to `address`, with junk in the registers that carry nothing.
    pub fn go(self, address: u64) -> Self {
        let mut code = (4..31).fold(self, |code, register| code.load(register, 0xdead_0000 + u64::from(register)));
        code = code.load(10, address);
        code.0.push(0xd503_3fdf); // isb
        code.0.push(0xd61f_0140); // br x10
        code
    }
}
