//! The core: a Cortex-A72 of the Unicorn engine, entered as the Pi's firmware enters a kernel.

use crate::order::Barrier;
use crate::seat::Seat;
use crate::state::{Halt, State};
use crate::sysreg;
use board::env::Finding;
use unicorn_engine::{
    Arch, Arm64Insn, HookType, Mode, Prot, RegisterARM64 as R, RegisterARM64CP as Cp, UcHookId, Unicorn, uc_error,
};

/// The engine with our state behind its hooks.
pub type Engine = Unicorn<'static, Seat>;

/// First byte and length of the peripheral window.
const WINDOW: (u64, u64) = (0xfc00_0000, 0x0400_0000);
/// Model number of the Cortex-A72 (UC_CPU_ARM64_A72).
const CORTEX_A72: i32 = 2;
/// SCR_EL3: non-secure, HVC allowed, EL2 is AArch64. Without RW the engine walks page tables as AArch32.
const SCR_EL3: u64 = 0x531;
/// Longest stay of core 0 in one WFE, ns: an event stream would have about this period.
const WFE_NS: u64 = 100_000;
/// Uncleaned reads that are told of a core.
const MAX_UNCACHED: usize = 8;
/// A64 words of WFE and SEV.
const WFE: u32 = 0xd503_205f;
const SEV: u32 = 0xd503_209f;

const fn cp(op1: u32, crn: u32, crm: u32, op2: u32, val: u64) -> Cp {
    Cp { crn, crm, op0: 3, op1, op2, val }
}

/// General registers in the order of their numbers.
pub const GENERAL: [R; 31] = [
    R::X0,
    R::X1,
    R::X2,
    R::X3,
    R::X4,
    R::X5,
    R::X6,
    R::X7,
    R::X8,
    R::X9,
    R::X10,
    R::X11,
    R::X12,
    R::X13,
    R::X14,
    R::X15,
    R::X16,
    R::X17,
    R::X18,
    R::X19,
    R::X20,
    R::X21,
    R::X22,
    R::X23,
    R::X24,
    R::X25,
    R::X26,
    R::X27,
    R::X28,
    R::X29,
    R::X30,
];

/// Level at which the guest is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryLevel {
    /// As the firmware does.
    El2,
    /// As a hypervisor or another loader may.
    El1,
}

/// Makes a core that will start at `pc` with x0 = `dtb`. `wfe` are the addresses of WFE instructions.
pub fn new(mut seat: Seat, level: EntryLevel, pc: u64, dtb: u64, wfe: &[u64]) -> Result<Engine, uc_error> {
    let ram_bytes = seat.ram.bytes();
    let memory = seat.ram.core_memory();
    let mut uc = Unicorn::new_with_data(Arch::ARM64, Mode::ARM, seat)?;
    uc.ctl_set_cpu_model(CORTEX_A72)?;
    // SAFETY: the block is page aligned and `ram_bytes` long; it belongs to the `Ram` in the state that the
    // engine's seat shares, and so lives as long as every engine; while guest code runs the host touches it only from hooks.
    unsafe { uc.mem_map_ptr(0, ram_bytes, Prot::ALL, memory.cast())? };
    uc.mmio_map(
        WINDOW.0,
        WINDOW.1,
        Some(|uc: &mut Unicorn<'_, Seat>, offset: u64, size: usize| {
            judge_width(uc, WINDOW.0 + offset);
            let state: &mut State = uc.get_data_mut();
            let value = state.device_read(WINDOW.0 + offset, size);
            if state.cpu.number != 0 && !state.others.is_empty() && state.polls(WINDOW.0 + offset, value) {
                skip_laps(uc);
            }
            u64::from(value)
        }),
        Some(|uc: &mut Unicorn<'_, Seat>, offset: u64, size: usize, value: u64| {
            judge_width(uc, WINDOW.0 + offset);
            uc.get_data_mut().device_write(WINDOW.0 + offset, size, value as u32);
        }),
    )?;
    add_hooks(&mut uc, wfe)?;
    enter(&mut uc, level, pc, dtb)?;
    Ok(uc)
}

fn add_hooks(uc: &mut Engine, wfe: &[u64]) -> Result<(), uc_error> {
    uc.add_block_hook(1, 0, on_block)?;
    uc.add_insn_sys_hook_arm64(Arm64Insn::UC_ARM64_INS_MRS, 1, 0, |uc, target, register| {
        let now = time_in_block(uc);
        let Some(value) = sysreg::read(uc.get_data_mut(), register, now) else { return false };
        if target != R::XZR {
            let _ = uc.reg_write(target, value);
        }
        true
    })?;
    uc.add_insn_sys_hook_arm64(Arm64Insn::UC_ARM64_INS_MSR, 1, 0, |uc, _, register| {
        let now = time_in_block(uc);
        sysreg::write(uc.get_data_mut(), register, now)
    })?;
    uc.add_insn_sys_hook_arm64(Arm64Insn::UC_ARM64_INS_SYS, 1, 0, |uc, _, register| {
        sysreg::cache_operation(uc.get_data_mut(), register);
        false
    })?;
    uc.add_intr_hook(on_exception)?;
    uc.add_insn_invalid_hook(|uc| {
        let pc = uc.pc_read().unwrap_or(0);
        die(uc, format!("undefined instruction at {pc:#x} that the engine cannot raise"));
        false
    })?;
    for &address in wfe {
        uc.add_code_hook(address, address, |uc, pc, _| {
            let state: &mut State = uc.get_data_mut();
            if state.wait_for_event(WFE_NS) {
                // Whether the engine leaves before or after the instruction, it goes on behind it.
                state.cpu.resume_at = Some(pc + 4);
                state.halt = Some(Halt::Turn);
                let _ = uc.emu_stop();
            }
        })?;
    }
    Ok(())
}

/// Reports the guest's barriers, found in an image loaded at `at`, from now on.
pub fn watch_barriers(uc: &mut Engine, image: &[u8], at: u64) -> Result<(), uc_error> {
    uc.get_data_mut().cpu.order.watch();
    for (index, word) in image.chunks_exact(4).enumerate() {
        let Some(barrier) = Barrier::of(u32::from_le_bytes([word[0], word[1], word[2], word[3]])) else { continue };
        let address = at + 4 * index as u64;
        uc.add_code_hook(address, address, move |uc, _, _| uc.get_data_mut().cpu.order.barrier(barrier))?;
    }
    Ok(())
}

/// Reports the guest's SEV instructions, found in an image loaded at `at`, from now on.
pub fn watch_events(uc: &mut Engine, image: &[u8], at: u64) -> Result<(), uc_error> {
    for address in addresses(image, at, SEV) {
        uc.add_code_hook(address, address, |uc, _, _| uc.get_data_mut().send_event())?;
    }
    Ok(())
}

/// Judges what a core reads while its data cache is off, which comes from memory and not from another core's cache: it
/// must have been cleaned, or be as it was loaded (`image`, at `at`).
///
/// The hook slows every access down: it is to be removed when the cache is on.
pub fn watch_uncached_reads(uc: &mut Engine, image: Vec<u8>, at: u64) -> Result<UcHookId, uc_error> {
    let end = uc.get_data().ram.bytes() - 1;
    uc.add_mem_hook(HookType::MEM_READ, 0, end, move |uc, _, address, size, _| {
        let state: &mut State = uc.get_data_mut();
        if state.cpu.cached || state.cpu.findings.len() >= MAX_UNCACHED {
            return true;
        }
        let size = size as u64;
        let as_loaded = || {
            let mut seen = vec![0; size as usize];
            let loaded = address.checked_sub(at).and_then(|from| image.get(from as usize..(from + size) as usize));
            state.ram.core_read(address, &mut seen) && loaded == Some(&seen)
        };
        if !state.ram.reached_memory(address, size).unwrap_or_else(as_loaded) {
            let text = format!(
                "core {} reads {address:#x} with its caches off, and it was not cleaned (block at {:#x})",
                state.cpu.number, state.cpu.block_pc
            );
            let at_ns = state.now_ns();
            state.cpu.findings.push(Finding { at_ns, device: "cache", text });
        }
        true
    })
}

/// Addresses of WFE words in an image loaded at `at`.
pub fn wfe_addresses(image: &[u8], at: u64) -> Vec<u64> {
    addresses(image, at, WFE)
}

fn addresses(image: &[u8], at: u64, instruction: u32) -> Vec<u64> {
    let words = image.chunks_exact(4).enumerate();
    words.filter(|(_, word)| **word == instruction.to_le_bytes()).map(|(index, _)| at + 4 * index as u64).collect()
}

fn enter(uc: &mut Engine, level: EntryLevel, pc: u64, dtb: u64) -> Result<(), uc_error> {
    let scr = cp(6, 1, 1, 0, SCR_EL3);
    uc.reg_write_arm64_coproc(&scr)?;
    let pstate = match level {
        EntryLevel::El2 => 0x3c9,
        EntryLevel::El1 => {
            uc.reg_write_arm64_coproc(&cp(4, 1, 1, 0, 1 << 31))?; // HCR_EL2.RW
            0x3c5
        }
    };
    uc.reg_write(R::PSTATE, pstate)?;
    // A PSTATE write leaves the translator's idea of the level stale; any coprocessor write refreshes it.
    uc.reg_write_arm64_coproc(&scr)?;
    for register in [R::X1, R::X2, R::X3] {
        uc.reg_write(register, 0)?;
    }
    uc.reg_write(R::X0, dtb)?;
    uc.reg_write(R::PC, pc)
}

/// The core may be polling for something that only the next event can bring.
fn skip_laps(uc: &mut Unicorn<'_, Seat>) {
    let mut seat = uc.get_data().another();
    let uc = &*uc;
    seat.skip_laps(|| GENERAL.iter().map(|register| uc.reg_read(*register).unwrap_or(0)).collect());
}

/// Judges the instruction behind a device access, once for each block and address.
fn judge_width(uc: &mut Unicorn<'_, Seat>, address: u64) {
    let state: &mut State = uc.get_data_mut();
    let (pc, bytes, now) = (state.cpu.block_pc, state.cpu.block_bytes as usize, state.now_ns());
    if !state.width.is_new(pc, address) {
        return;
    }
    // Code is identity-mapped in every guest whose accesses are judged; elsewhere nothing is found here.
    let Ok(code) = uc.mem_read_as_vec(pc, bytes) else { return };
    let words: Vec<u32> = code.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    let mut registers = [0; 32];
    for (number, register) in (0..).zip(GENERAL) {
        registers[number as usize] = uc.reg_read(register).unwrap_or(0);
    }
    registers[31] = uc.reg_read(R::SP).unwrap_or(0);
    uc.get_data_mut().width.judge(now, pc, address, &words, |number| registers[usize::from(number)]);
}

/// Called at the head of every block, before its first instruction. Decide first, count last: a block that does not
/// run is not counted.
fn on_block(uc: &mut Unicorn<'_, Seat>, pc: u64, size: u32) {
    let state: &mut State = uc.get_data_mut();
    if state.cpu.cycles >= state.cpu.next_event {
        state.run_events();
    }
    if state.halt.is_some() {
        let _ = uc.emu_stop();
        return;
    }
    if state.cpu.line && irqs_open(uc) {
        uc.get_data_mut().cpu.want_irq = true;
        let _ = uc.emu_stop();
        return;
    }
    let state: &mut State = uc.get_data_mut();
    let instructions = u64::from(size / 4);
    state.cpu.block_pc = pc;
    state.cpu.block_bytes = size;
    state.cpu.block_cycles = state.cpu.cycles;
    state.cpu.cycles += instructions;
    state.cpu.stats.instructions += instructions;
    if state.profile.is_some() && state.cpu.number == 0 {
        let return_address = uc.reg_read(R::LR).unwrap_or(0);
        if let Some(profile) = &mut uc.get_data_mut().profile {
            profile.block(pc, instructions, return_address);
        }
    }
}

/// Instruction-exact time inside a hook in which the engine's PC is exact.
fn time_in_block(uc: &Unicorn<'_, Seat>) -> u64 {
    let pc = uc.pc_read().unwrap_or(0);
    let state = uc.get_data();
    (state.cpu.block_cycles + pc.wrapping_sub(state.cpu.block_pc).min(1 << 16) / 4).min(state.cpu.cycles)
}

fn irqs_open(uc: &Unicorn<'_, Seat>) -> bool {
    let pstate = uc.reg_read(R::PSTATE).unwrap_or(0x80);
    pstate & 0x80 == 0 && (pstate >> 2) & 3 < 2
}

/// Takes an interrupt at the head of a block, between two `emu_start` calls: the architecture's entry to EL1.
pub fn take_irq(uc: &mut Engine) -> Result<(), uc_error> {
    let pc = uc.pc_read()?;
    let pstate = uc.reg_read(R::PSTATE)?;
    let (level, on_spx) = ((pstate >> 2) & 3, pstate & 1 == 1);
    let vector = match (level, on_spx) {
        (0, _) => 0x480,
        (_, true) => 0x280,
        (_, false) => 0x080,
    };
    if vector != 0x280 {
        // From SP_EL0 to SP_EL1: the engine keeps the stack pointer in use in a place of its own.
        let sp_el0 = uc.reg_read(R::SP)?;
        uc.reg_write(R::SP_EL0, sp_el0)?;
        let sp_el1 = uc.reg_read(R::SP_EL1)?;
        uc.reg_write(R::SP, sp_el1)?;
    }
    uc.reg_write(R::PSTATE, (pstate & 0xf000_0000) | 0x3c5)?;
    uc.reg_write_arm64_coproc(&cp(0, 4, 0, 0, pstate))?; // SPSR_EL1
    uc.reg_write_arm64_coproc(&cp(0, 4, 0, 1, pc))?; // ELR_EL1
    let base = uc.reg_read(R::VBAR_EL1)?;
    uc.reg_write(R::PC, base + vector)?;
    uc.get_data_mut().cpu.stats.irqs += 1;
    Ok(())
}

fn die(uc: &mut Unicorn<'_, Seat>, why: String) {
    uc.get_data_mut().halt = Some(Halt::Dead(why));
    let _ = uc.emu_stop();
}

/// A synchronous exception. Numbers are the engine's: 1 undefined, 2 SVC, 3 prefetch abort, 4 data abort, 7 BRK.
fn on_exception(uc: &mut Unicorn<'_, Seat>, number: u32) {
    const HVC: u32 = 11;
    const SMC: u32 = 13;
    let pc = uc.pc_read().unwrap_or(0);
    if number == HVC || number == SMC {
        return die(uc, format!("HVC or SMC at {pc:#x}: nothing above the guest answers"));
    }
    if uc.get_data_mut().exception_storm() {
        return die(uc, format!("exceptions without end, the last (number {number}) at {pc:#x}"));
    }
    if uc.reg_read(R::VBAR_EL1).unwrap_or(0) == 0 {
        return die(uc, format!("exception {number} at {pc:#x} before the guest has vectors"));
    }
    if !native::enter_exception(uc) {
        die(uc, format!("exception {number} at {pc:#x} (this build cannot hand it to the guest)"));
    }
}

/// Architectural entry for synchronous exceptions, by the engine's own routine: the public interface tells neither
/// syndrome nor fault address.
mod native {
    use super::{Seat, Unicorn};
    use core::ffi::c_void;

    unsafe extern "C" {
        fn arm_cpu_do_interrupt_aarch64(cpu: *mut c_void);
    }

    /// Offset of the CPUState pointer in the engine's struct, and of the pointer back; private layout of version
    /// 2.1.5 (pinned) on 64-bit x86 Linux, taken with offsetof from its headers.
    const CPU_OFFSET: usize = 440;
    const BACK_OFFSET: usize = 33_192;

    /// Enters the guest's vector. False: this is not the engine whose layout we know.
    pub fn enter_exception(uc: &mut Unicorn<'_, Seat>) -> bool {
        if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            return false;
        }
        let handle = uc.get_handle().cast::<u8>();
        // SAFETY: the handle points at the engine's live struct, which is far longer than CPU_OFFSET; what is read is
        // only compared until the back pointer proves that the layout is the expected one. The routine is what the
        // engine itself calls for exceptions; the hook runs with the core's state synchronised.
        unsafe {
            let cpu = handle.add(CPU_OFFSET).cast::<*mut u8>().read();
            if cpu.is_null() || cpu.add(BACK_OFFSET).cast::<*mut u8>().read() != handle {
                return false;
            }
            arm_cpu_do_interrupt_aarch64(cpu.cast());
        }
        true
    }
}
