//! Tests of the interrupt controller.

use super::*;

const CTLR: u32 = 0;

struct Rig {
    gic: Gic,
    findings: Vec<Finding>,
}

impl Rig {
    fn new() -> Self {
        let mut rig = Rig { gic: Gic::new(), findings: Vec::new() };
        rig.d(0, CTLR, 1);
        rig
    }
    fn d(&mut self, core: usize, offset: u32, value: u32) {
        self.gic.write_distributor(0, core, offset, 4, value, &mut self.findings);
    }
    fn byte(&mut self, offset: u32, value: u32) {
        self.gic.write_distributor(0, 0, offset, 1, value, &mut self.findings);
    }
    fn rd(&mut self, core: usize, offset: u32) -> u32 {
        self.gic.read_distributor(0, core, offset, 4, &mut self.findings)
    }
    fn c(&mut self, core: usize, offset: u32, value: u32) {
        self.gic.write_interface(0, core, offset, 4, value, &mut self.findings);
    }
    fn ack(&mut self, core: usize) -> u32 {
        self.gic.read_interface(0, core, 0x0C, 4, &mut self.findings)
    }
    fn eoi(&mut self, core: usize, value: u32) {
        self.c(core, 0x10, value);
    }
    fn line(&mut self, intid: u32, level: bool) {
        self.gic.set_spi(0, intid, level, &mut self.findings);
    }
    /// Enables a shared interrupt for the cores of `mask`.
    fn enable(&mut self, intid: u32, mask: u32, priority: u32) {
        self.byte(0x800 + intid, mask);
        self.byte(0x400 + intid, priority);
        self.d(0, 0x100 + intid / 32 * 4, 1 << (intid % 32));
    }
}

#[test]
fn a_level_interrupt_stays_until_its_line_drops() {
    let mut rig = Rig::new();
    rig.enable(189, 1, 0xA0);
    rig.line(189, true);
    assert!(rig.gic.irq(0));
    assert_eq!(rig.ack(0), 189);
    assert!(!rig.gic.irq(0), "active");
    assert_eq!(rig.ack(0), SPURIOUS);
    rig.eoi(0, 189);
    assert!(rig.gic.irq(0), "still high");
    assert_eq!(rig.ack(0), 189);
    rig.line(189, false);
    rig.eoi(0, 189);
    assert!(!rig.gic.irq(0));
    assert!(rig.findings.is_empty());
}

#[test]
fn an_edge_is_remembered_once() {
    let mut rig = Rig::new();
    rig.enable(100, 1, 0xA0);
    rig.d(0, 0xC00 + 100 / 16 * 4, 2 << (100 % 16 * 2));
    rig.line(100, true);
    rig.line(100, false);
    assert_eq!(rig.ack(0), 100);
    rig.line(100, true); // during service: pending again
    rig.eoi(0, 100);
    assert_eq!(rig.ack(0), 100);
    rig.eoi(0, 100);
    assert!(!rig.gic.irq(0));
}

#[test]
fn an_interrupt_without_target_goes_nowhere_and_is_reported_once() {
    let mut rig = Rig::new();
    rig.enable(189, 0, 0xA0);
    rig.line(189, true);
    rig.line(189, false);
    rig.line(189, true);
    assert!((0..CORES).all(|core| !rig.gic.irq(core)));
    assert_eq!(rig.findings.len(), 1);
    rig.byte(0x800 + 189, 4);
    assert!(rig.gic.irq(2) && !rig.gic.irq(0));
}

#[test]
fn priorities_masks_and_preemption() {
    let mut rig = Rig::new();
    rig.enable(40, 1, 0xA0);
    rig.enable(41, 1, 0x80);
    rig.line(40, true);
    assert_eq!(rig.ack(0), 40);
    rig.line(41, true);
    assert!(rig.gic.irq(0), "more urgent");
    assert_eq!(rig.ack(0), 41);
    rig.eoi(0, 41);
    rig.line(41, false);
    rig.eoi(0, 40);
    rig.c(0, 0x04, 0xA0); // a priority equal to the mask does not pass
    assert!(!rig.gic.irq(0));
    rig.c(0, 0x04, 0xB0);
    assert!(rig.gic.irq(0));
    rig.c(0, 0x04, 0xFF);
    assert_eq!(rig.gic.read_interface(0, 0, 0x04, 4, &mut rig.findings), 0xF0);
    assert_eq!(rig.gic.read_interface(0, 0, 0x14, 4, &mut rig.findings), 0xFF, "idle");
    rig.byte(0x400 + 40, 0xAF);
    assert_eq!(rig.rd(0, 0x400 + 40) & 0xFF, 0xA0, "four bits");
}

#[test]
fn of_two_equal_ones_the_lower_number_comes_first() {
    let mut rig = Rig::new();
    rig.enable(190, 1, 0xA0);
    rig.enable(189, 1, 0xA0);
    rig.line(190, true);
    rig.line(189, true);
    assert_eq!(rig.ack(0), 189);
}

#[test]
fn private_interrupts_are_banked() {
    let mut rig = Rig::new();
    rig.d(1, 0x100, 1 << 30);
    rig.gic.set_ppi(0, 30, true);
    assert!(!rig.gic.irq(0));
    rig.gic.set_ppi(1, 30, true);
    assert!(rig.gic.irq(1));
    assert_eq!(rig.rd(0, 0x100), 0xFFFF);
    assert_eq!(rig.rd(1, 0x100), 0xFFFF | 1 << 30);
    assert_eq!((rig.rd(0, 0x800), rig.rd(3, 0x81C)), (0x0101_0101, 0x0808_0808));
    assert_eq!(rig.ack(1), 30);
    assert_eq!(rig.rd(1, 0x300), 1 << 30);
}

#[test]
fn software_interrupts_carry_their_source() {
    let mut rig = Rig::new();
    rig.d(2, 0xF00, 1 << 24 | 5); // all but itself
    assert!(!rig.gic.irq(2));
    assert_eq!(rig.ack(0), 2 << 10 | 5);
    rig.d(3, 0xF00, 1 << 16 | 5);
    rig.d(1, 0xF00, 1 << 16 | 5);
    rig.eoi(0, 2 << 10 | 5);
    assert_eq!(rig.ack(0), 1 << 10 | 5);
    rig.eoi(0, 1 << 10 | 5);
    assert_eq!(rig.ack(0), 3 << 10 | 5);
    rig.eoi(0, 3 << 10 | 5);
    assert_eq!(rig.ack(0), SPURIOUS);
    assert!(rig.findings.is_empty());
}

#[test]
fn software_can_set_and_clear_pending() {
    let mut rig = Rig::new();
    rig.enable(70, 1, 0);
    rig.d(0, 0x200 + 8, 1 << 6);
    assert!(rig.gic.irq(0));
    rig.d(0, 0x280 + 8, 1 << 6);
    assert!(!rig.gic.irq(0));
    rig.d(0, 0x180 + 8, 1 << 6);
    assert_eq!(rig.rd(0, 0x100 + 8), 0);
}

#[test]
fn split_end_of_interrupt() {
    let mut rig = Rig::new();
    rig.c(0, 0, 0x201);
    rig.enable(60, 1, 0xA0);
    rig.line(60, true);
    assert_eq!(rig.ack(0), 60);
    rig.eoi(0, 60);
    assert_eq!(rig.rd(0, 0x300 + 4), 1 << 28, "priority dropped, still active");
    rig.c(0, 0x1000, 60);
    assert!(rig.gic.irq(0));
}

#[test]
fn nothing_passes_while_either_half_is_off() {
    let mut rig = Rig::new();
    rig.enable(60, 1, 0xA0);
    rig.line(60, true);
    rig.d(0, CTLR, 0);
    assert!(!rig.gic.irq(0));
    rig.d(0, CTLR, 1);
    rig.c(0, 0, 0);
    assert!(!rig.gic.irq(0));
    assert_eq!(rig.ack(0), SPURIOUS);
}

#[test]
fn faults_of_software_are_reported() {
    let mut rig = Rig::new();
    rig.eoi(0, 99);
    rig.gic.read_distributor(0, 0, 0x104, 1, &mut rig.findings);
    rig.gic.read_distributor(0, 0, 0xB00, 4, &mut rig.findings);
    rig.gic.read_interface(0, 0, 0x40, 4, &mut rig.findings);
    rig.gic.write_interface(0, 0, 0x0C, 4, 0, &mut rig.findings);
    assert_eq!(rig.findings.len(), 5);
}
