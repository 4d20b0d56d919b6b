//! System registers that the engine would answer from the host's clock or wrongly, and cache maintenance.

use crate::state::State;
use unicorn_engine::RegisterARM64CP as Register;

/// A register's encoding without op0 (which is 3): op1, CRn, CRm, op2.
type Encoding = (u32, u32, u32, u32);

const fn encoding(register: &Register) -> Encoding {
    (register.op1, register.crn, register.crm, register.op2)
}

/// MIDR-style identification that differs from the engine's: the BCM2711 has CRC32 but no AES and SHA.
const ID_AA64ISAR0: u64 = 0x1_0000;
/// PMCR_EL0 of a Cortex-A72: implementer Arm, ID code 2, six counters.
const PMCR_IDENTITY: u64 = 0x4102_3000;

/// Answers an MRS at `now` cycles. `None`: the engine's own answer is right.
pub fn read(state: &mut State, register: &Register, now: u64) -> Option<u64> {
    if register.op0 != 3 {
        return None;
    }
    if let (3, 14, 0, 1 | 2) = encoding(register) {
        state.charge(state.counter_cycles);
    }
    state.cpu.polling.disturb(); // what depends on time is no repetition
    let count = state.base.count(now);
    Some(match encoding(register) {
        (0, 0, 0, 5) => 0x8000_0000 | u64::from(state.cpu.number), // MPIDR_EL1: the engine computes it
        (0, 0, 6, 0) => ID_AA64ISAR0,                              // ID_AA64ISAR0_EL1
        (3, 14, 0, 0) => crate::cost::COUNTER_HZ,
        (3, 14, 0, 1 | 2) => count, // CNTPCT, CNTVCT: no offset between them
        (3, 14, 2, 0) => state.cpu.physical.value(count),
        (3, 14, 2, 1) => state.cpu.physical.control(count),
        (3, 14, 2, 2) => state.cpu.physical.compare(),
        (3, 14, 3, 0) => state.cpu.virtual_timer.value(count),
        (3, 14, 3, 1) => state.cpu.virtual_timer.control(count),
        (3, 14, 3, 2) => state.cpu.virtual_timer.compare(),
        (3, 9, 12, 0) => PMCR_IDENTITY | state.cpu.pmu.control,
        (3, 9, 13, 0) => state.awake_cycles(now) - state.cpu.pmu.origin,
        _ => return None,
    })
}

/// Takes an MSR at `now` cycles. False: the engine does it.
pub fn write(state: &mut State, register: &Register, now: u64) -> bool {
    if register.op0 != 3 {
        return false;
    }
    state.cpu.polling.disturb();
    let count = state.base.count(now);
    let value = register.val;
    match encoding(register) {
        (3, 14, 2, 0) => state.cpu.physical.set_value(count, value),
        (3, 14, 2, 1) => state.cpu.physical.set_control(value),
        (3, 14, 2, 2) => state.cpu.physical.set_compare(value),
        (3, 14, 3, 0) => state.cpu.virtual_timer.set_value(count, value),
        (3, 14, 3, 1) => state.cpu.virtual_timer.set_control(value),
        (3, 14, 3, 2) => state.cpu.virtual_timer.set_compare(value),
        (3, 9, 12, 0) => {
            state.cpu.pmu.control = value & 0x41;
            if value & 4 != 0 {
                state.cpu.pmu.origin = state.awake_cycles(now);
            }
        }
        (3, 9, 13, 0) => state.cpu.pmu.origin = state.awake_cycles(now).wrapping_sub(value),
        // Enables, filters and event counters: the cycle counter always runs here, the others never.
        (3, 9, 12..=14, _) | (3, 14, 8..=15, _) => {}
        (0, 1, 0, 0) | (4, 1, 0, 0) => {
            // SCTLR: bit 2 turns the data cache on; from then on its maintenance is checked. The caches of all cores are
            // coherent, so what core 0 says counts for memory; the others start without and are checked meanwhile.
            state.cpu.cached = value & 4 != 0;
            if state.cpu.number == 0 || state.others.is_empty() {
                state.ram.set_checking(state.cpu.cached);
            }
            return false;
        }
        _ => return false,
    }
    state.settle();
    true
}

/// Notes a cache maintenance instruction (SYS with CRn 7).
pub fn cache_operation(state: &mut State, register: &Register) {
    if register.crn != 7 {
        return;
    }
    state.cpu.polling.disturb();
    let address = register.val;
    match (register.op1, register.crm, register.op2) {
        (0, 6, 1) => state.cpu.order.invalidate(state.now_ns(), state.cpu.block_pc, address),
        (3, 10 | 11 | 14, 1) => state.cpu.order.clean(address),
        _ => {}
    }
    match (register.op1, register.crm, register.op2) {
        (0, 6, 1) => state.ram.invalidate_line(address),
        (3, 10 | 11, 1) => state.ram.clean_line(address),
        (3, 14, 1) => {
            state.ram.clean_line(address);
            state.ram.invalidate_line(address);
        }
        (0, 6 | 10 | 14, 2) => state.ram.clean_and_invalidate_all(),
        _ => return,
    }
    state.cpu.stats.cache_operations += 1;
}
