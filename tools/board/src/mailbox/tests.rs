//! Tests of the mailbox.

use super::*;
use crate::env::{FlatMemory, GuestMemory};

const BUFFER: u64 = 0x10_0000;

fn facts() -> Facts {
    Facts {
        firmware_revision: 0x1234,
        board_revision: 0xB0_3115,
        serial: 0x1122_3344_5566_7788,
        mac: [0xDC, 0xA6, 0x32, 1, 2, 3],
        arm_memory_bytes: 0x3B40_0000,
        command_line: "a b".into(),
        uart_clock_hz: 48_000_000,
        arm_clock_hz: 600_000_000,
        arm_clock_range_hz: (600_000_000, 1_500_000_000),
        core_clock_hz: 500_000_000,
        temperature_milli_c: 48_000,
        throttled: 0,
    }
}

struct Rig {
    mailbox: Mailbox,
    memory: FlatMemory,
    findings: Vec<Finding>,
}

impl Rig {
    fn new() -> Self {
        Rig {
            mailbox: Mailbox::new(MailboxConfig::default(), facts()),
            memory: FlatMemory::new(BUFFER, 4096),
            findings: Vec::new(),
        }
    }

    fn put(&mut self, words: &[u32]) {
        assert!(self.memory.write(BUFFER, &super::words(words)));
    }

    fn get(&self, at: usize) -> u32 {
        word(self.memory.bytes(), at * 4)
    }

    /// Writes `message`, waits, takes the answer.
    fn call(&mut self, message: u32) -> u32 {
        let mut env = Env { mem: &mut self.memory, findings: &mut self.findings };
        self.mailbox.write(1_000, 0x20, 4, message, &mut env);
        assert_eq!(self.mailbox.read(2_000, 0x18, 4, &mut env) >> 30 & 1, 1, "nothing yet");
        let Some(due) = self.mailbox.next_event() else { return 0 };
        self.mailbox.run(due, &mut env);
        assert_eq!(self.mailbox.read(due, 0x18, 4, &mut env) >> 30 & 1, 0);
        self.mailbox.read(due, 0x00, 4, &mut env)
    }
}

const MESSAGE: u32 = 0xC000_0000 | BUFFER as u32 | 8;

#[test]
fn several_tags_in_one_request() {
    let mut rig = Rig::new();
    rig.put(&[72, 0, 0x1_0002, 4, 0, 0, 0x1_0003, 8, 0, 0, 0, 0x3_0047, 8, 4, 3, 0, 0, 0]);
    assert_eq!(rig.call(MESSAGE), MESSAGE);
    assert_eq!(rig.get(1), 0x8000_0000);
    assert_eq!((rig.get(4), rig.get(5)), (0x8000_0004, 0xB0_3115));
    assert_eq!((rig.get(8), rig.get(9), rig.get(10)), (0x8000_0006, 0x0132_A6DC, 0x0302));
    assert_eq!((rig.get(13), rig.get(15)), (0x8000_0008, 600_000_000));
    assert!(rig.findings.is_empty());
}

#[test]
fn the_arm_clock_can_be_set_within_its_limits() {
    let mut rig = Rig::new();
    rig.put(&[36, 0, 0x3_8002, 12, 12, 3, 2_000_000_000, 0, 0]);
    rig.call(MESSAGE);
    assert_eq!(rig.get(6), 1_500_000_000);
    assert_eq!(rig.mailbox.clock(3), 1_500_000_000);
}

#[test]
fn an_unknown_tag_is_left_alone() {
    let mut rig = Rig::new();
    rig.put(&[32, 0, 0x4_0003, 8, 0, 7, 9, 0]);
    rig.call(MESSAGE);
    assert_eq!((rig.get(1), rig.get(4), rig.get(5)), (0x8000_0000, 0, 7));
}

#[test]
fn the_interrupt_follows_its_enable() {
    let mut rig = Rig::new();
    rig.put(&[12, 0, 0]);
    let mut env = Env { mem: &mut rig.memory, findings: &mut rig.findings };
    rig.mailbox.write(0, 0x20, 4, MESSAGE, &mut env);
    rig.mailbox.run(1_000_000, &mut env);
    assert!(!rig.mailbox.irq());
    rig.mailbox.write(1_000_000, 0x1C, 4, 1, &mut env);
    assert!(rig.mailbox.irq());
    rig.mailbox.read(1_000_000, 0, 4, &mut env);
    assert!(!rig.mailbox.irq());
}

#[test]
fn faults_of_software_are_reported() {
    for (words, message) in [
        (&[12, 0, 0][..], BUFFER as u32 | 8),                    // no alias
        (&[12, 0, 0][..], MESSAGE | 1),                          // channel 9
        (&[12, 0, 0][..], 0xC000_0000 | 8),                      // not memory
        (&[12, 5, 0][..], MESSAGE),                              // no request
        (&[0xFFFF_FFFC, 0, 0][..], MESSAGE),                     // absurd size
        (&[24, 0, 0x1_0002, 4, 0, 0][..], MESSAGE),              // no end tag
        (&[28, 0, 0x1_0002, 0xFFFF_FFF0, 0, 0, 0][..], MESSAGE), // tag runs away
    ] {
        let mut rig = Rig::new();
        rig.put(words);
        rig.call(message);
        assert_eq!(rig.findings.len(), 1, "{words:x?} {message:#x}");
    }
}
