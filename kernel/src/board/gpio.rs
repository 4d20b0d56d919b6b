//! Pins of the console (Circle serial.cpp and gpiopin.cpp; register map of the BCM2711 manual).

use super::map;
use super::mmio::Mmio;

const GPFSEL1: usize = 0x04;
const GPFSEL3: usize = 0x0c;
const GPIO_PUP_PDN_CNTRL_REG0: usize = 0xe4;
const ALT0: u32 = 4;
const INPUT: u32 = 0;
const PULL_NONE: u32 = 0;
const PULL_UP: u32 = 1;

// SAFETY: device window of the Pi 4, mapped by boot's page tables; pin functions only.
const GPIO: Mmio = unsafe { Mmio::new(map::GPIO, 0x100) };

fn set(register: usize, shift: u32, width: u32, value: u32) {
    let mask = ((1 << width) - 1) << shift;
    GPIO.write(register, GPIO.read(register) & !mask | value << shift);
}

/// Gives UART0 the header pins 14 (TXD) and 15 (RXD), after taking pins 32 and 33 from it: the
/// firmware wires UART0 to Bluetooth there unless an overlay says otherwise.
pub fn route_uart0_to_header() {
    set(GPFSEL3, 6, 3, INPUT); // pin 32
    set(GPFSEL3, 9, 3, INPUT); // pin 33
    set(GPFSEL1, 12, 3, ALT0); // pin 14
    set(GPFSEL1, 15, 3, ALT0); // pin 15
    set(GPIO_PUP_PDN_CNTRL_REG0, 28, 2, PULL_NONE); // pin 14
    set(GPIO_PUP_PDN_CNTRL_REG0, 30, 2, PULL_UP); // pin 15: an open input must not look like data
}
