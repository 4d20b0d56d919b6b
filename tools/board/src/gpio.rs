//! GPIO block: function select, output, level and pull registers of the 58 pins.
//!
//! Owns which pin carries which peripheral. Facts: Linux and Circle register maps; pull registers at 0xE4 with
//! 0 none, 1 up, 2 down (Circle, Raspberry Pi OS tutorials). Event detection registers keep what is written and never
//! fire.

use crate::access::{blame, check_word};
use crate::env::Finding;

const DEVICE: &str = "gpio";
const PINS: u32 = 58;

/// Function of a pin as the three-bit field has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// 0.
    Input,
    /// 1.
    Output,
    /// ALT0..ALT5 by number; the field's code is 4, 5, 6, 7, 3, 2.
    Alternate(u8),
}

/// The pins.
#[derive(Clone, Debug)]
pub struct Gpio {
    select: [u32; 6],
    output: u64,
    pull: [u32; 4],
    events: [u32; 20],
}

impl Gpio {
    /// Pins as the firmware leaves them: UART0 on Bluetooth's pins 32 and 33 (ALT3), or on the header's 14 and 15
    /// (ALT0) when `uart_on_header` (the disable-bt overlay with enable_uart=1). The header's pins carry the mini UART
    /// (ALT5) when `mini_on_header` (enable_uart=1 alone).
    pub fn new(uart_on_header: bool, mini_on_header: bool) -> Self {
        let mut gpio = Gpio { select: [0; 6], output: 0, pull: [0; 4], events: [0; 20] };
        if uart_on_header {
            gpio.select_pair(14, 4);
        } else {
            gpio.select_pair(32, 7);
            if mini_on_header {
                gpio.select_pair(14, 2);
            }
        }
        gpio
    }

    /// Gives two pins the function with this code.
    fn select_pair(&mut self, first: usize, code: u32) {
        for pin in first..first + 2 {
            self.select[pin / 10] |= code << (pin % 10 * 3);
        }
    }

    /// The function of `pin`.
    pub fn function(&self, pin: usize) -> Function {
        let code = self.select.get(pin / 10).map_or(0, |word| word >> (pin % 10 * 3) & 7);
        match code {
            0 => Function::Input,
            1 => Function::Output,
            2 => Function::Alternate(5),
            3 => Function::Alternate(4),
            _ => Function::Alternate(code as u8 - 4),
        }
    }

    /// True when GPIO 14 and 15 carry UART0.
    pub fn uart0_on_header(&self) -> bool {
        [14, 15].iter().all(|pin| self.function(*pin) == Function::Alternate(0))
    }

    /// True when GPIO 14 and 15 carry the mini UART.
    pub fn mini_uart_on_header(&self) -> bool {
        [14, 15].iter().all(|pin| self.function(*pin) == Function::Alternate(5))
    }

    /// A read at `offset`.
    pub fn read(&mut self, now: u64, offset: u32, size: u8, findings: &mut Vec<Finding>) -> u32 {
        check_word(DEVICE, now, "read", offset, size, findings);
        match offset & !3 {
            0x00..=0x14 => self.select[offset as usize / 4],
            0x1C..=0x2C => 0, // set and clear are write-only
            0x34 => self.output as u32,
            0x38 => (self.output >> 32) as u32,
            0x40..=0x8C => self.events[(offset as usize - 0x40) / 4],
            0xE4..=0xF0 => self.pull[(offset as usize - 0xE4) / 4],
            _ => {
                blame(DEVICE, now, findings, format!("read of unknown offset {offset:#x}"));
                0
            }
        }
    }

    /// A write at `offset`.
    pub fn write(&mut self, now: u64, offset: u32, size: u8, value: u32, findings: &mut Vec<Finding>) {
        check_word(DEVICE, now, "write", offset, size, findings);
        match offset & !3 {
            0x00..=0x14 => self.select[offset as usize / 4] = value & 0x3FFF_FFFF,
            0x1C => self.output |= u64::from(value),
            0x20 => self.output |= u64::from(value) << 32 & ((1 << PINS) - 1),
            0x28 => self.output &= !u64::from(value),
            0x2C => self.output &= !(u64::from(value) << 32),
            0x40..=0x8C => self.events[(offset as usize - 0x40) / 4] = value,
            0xE4..=0xF0 => self.pull[(offset as usize - 0xE4) / 4] = value,
            _ => blame(DEVICE, now, findings, format!("write to unknown offset {offset:#x} = {value:#x}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_pins_move_to_alt0() {
        let mut findings = Vec::new();
        let mut gpio = Gpio::new(false, false);
        assert_eq!(gpio.function(32), Function::Alternate(3));
        assert!(!gpio.uart0_on_header());
        gpio.write(0, 0x04, 4, 4 << 12 | 4 << 15, &mut findings);
        assert!(gpio.uart0_on_header());
        assert_eq!(gpio.read(0, 0x04, 4, &mut findings), 0x24000);
        assert!(findings.is_empty());
    }

    #[test]
    fn narrow_and_unknown_accesses_are_reported() {
        let mut findings = Vec::new();
        let mut gpio = Gpio::new(true, false);
        gpio.read(5, 0x04, 1, &mut findings);
        gpio.write(6, 0x100, 4, 1, &mut findings);
        assert_eq!(findings.len(), 2);
        assert_eq!(findings[0].at_ns, 5);
    }
}
