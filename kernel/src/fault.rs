//! Unexpected exceptions and panics: remember the first line, report on the UART, then reset by watchdog.
//!
//! On core 1, which only watches, they end nothing: it leaves a note for core 0 and stops.

use crate::arch::{counter, interrupts};
use crate::board::{mmio, uart::FaultConsole, watchdog};
use crate::mem::{heap, kept};
use crate::watch::core1;
use boot::ExceptionFrame;
use boot::layout::layout;
use core::fmt::{self, Write};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU32, Ordering};

/// Time between the report and the reset, ms: long enough to read the last lines.
pub const RESET_AFTER_MS: u32 = 10_000;
const BACK_TRACE_DEPTH: usize = 16;

/// Reports under way. A fault inside the report must not report again without end.
static DEPTH: AtomicU32 = AtomicU32::new(0);

/// Called by boot's vectors for everything that is not an interrupt.
#[unsafe(no_mangle)]
extern "C" fn kernel_exception(frame: &mut ExceptionFrame) {
    if core1::is_here() {
        // SAFETY: this is core 1.
        unsafe {
            core1::fail(format_args!(
                "{} at image + {:#x}, esr {:#010x}, far {:#x}, called from image + {:#x}",
                frame.describe(),
                frame.elr.wrapping_sub(layout().image.start),
                frame.esr,
                frame.far,
                frame.x[30].wrapping_sub(layout().image.start)
            ))
        }
    }
    if (frame.is_data_abort() || frame.is_serror()) && mmio::probe_failed() {
        if frame.is_data_abort() {
            frame.elr += 4; // past the load; an SError comes after it
        }
        return;
    }
    report(format_args!("*** EXCEPTION: {frame}"), |out| {
        let image = layout();
        let _ = writeln!(
            out,
            "  image at {:#x}: pc = image + {:#x}",
            image.image.start,
            frame.elr.wrapping_sub(image.image.start)
        );
        if frame.is_data_abort() && frame.far >= image.stack.start - 4096 && frame.far < image.stack.start {
            let _ = writeln!(out, "  the main stack is full: the address is in its guard page");
        }
        let mut trace = [0; BACK_TRACE_DEPTH];
        let readable = |at| image.stack.holds(at, 16) || image.exception_stack.holds(at, 16);
        // SAFETY: `back_trace` reads only where `readable` allows: inside our mapped stacks, aligned.
        let read = |at: u64| unsafe { (at as *const u64).read_volatile() };
        let n = frame.back_trace(&mut trace, readable, read);
        for address in &trace[..n] {
            let _ = writeln!(out, "  called from image + {:#x}", address.wrapping_sub(image.image.start));
        }
    })
}

#[panic_handler]
fn on_panic(info: &PanicInfo<'_>) -> ! {
    if core1::is_here() {
        // SAFETY: this is core 1.
        unsafe { core1::fail(format_args!("panic: {info}")) }
    }
    // One line: what comes first is what is remembered.
    match info.location() {
        Some(at) => report(format_args!("*** PANIC: {} at {at}\n", info.message()), heap_line),
        None => report(format_args!("*** PANIC: {}\n", info.message()), heap_line),
    }
}

/// How full the heap is: a panic is often about that.
fn heap_line(out: &mut FaultConsole) {
    // SAFETY: called by `report` alone, whose program never goes on.
    let used = unsafe { heap::used_bytes_seized() };
    let _ = writeln!(out, "  heap: {used} of {} bytes in use", heap::HEAP_BYTES);
}

/// Takes the console over, lets `body` print, starts the watchdog and waits for it.
fn report(head: fmt::Arguments<'_>, body: impl FnOnce(&mut FaultConsole)) -> ! {
    interrupts::mask();
    let depth = DEPTH.fetch_add(1, Ordering::SeqCst);
    let mut unfit = false;
    if depth == 0 {
        // SAFETY: interrupts are masked and this function never returns to the program; the other core takes no lock.
        unfit = unsafe { kept::fault(head) };
    }
    if !unfit {
        watchdog::start(RESET_AFTER_MS + 5_000); // should the report itself hang
    }
    if depth == 0 {
        // SAFETY: as above.
        let mut console = unsafe { FaultConsole::seize() };
        let _ = write!(console, "\n{head}");
        body(&mut console);
        let _ = writeln!(
            console,
            "*** This is a bug in genetbench. The board resets in {} s; please report the lines above.",
            RESET_AFTER_MS / 1000
        );
    }
    if unfit {
        counter::delay_us(RESET_AFTER_MS * 1000); // a watchdog that does not wait
    }
    watchdog::start(RESET_AFTER_MS);
    loop {
        // Not WFI: an interrupt that is pending and stays masked would end it at once, again and again.
        aarch64_cpu::asm::wfe();
    }
}
