//! `log` on the console: time since reset, level, crate, message.

use crate::arch::counter;
use crate::board::uart::Console;
use core::fmt::Write;

struct UartLogger;

impl log::Log for UartLogger {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            let ms = counter::now_ns() / 1_000_000;
            let _ = writeln!(
                Console,
                "[{:4}.{:03}] {} {}: {}",
                ms / 1000,
                ms % 1000,
                record.level(),
                record.target(),
                record.args()
            );
        }
    }

    fn flush(&self) {}
}

/// Installs the logger. Messages below `level` are dropped.
pub fn init(level: log::LevelFilter) {
    // Fails only if a logger is installed already, which is then just as good.
    let _ = log::set_logger(&UartLogger);
    log::set_max_level(level);
}
