//! The console after a session: one line, one command.

use core::fmt;

/// Longest line that is taken, bytes.
pub const LINE_BYTES: usize = 240;

/// What a person can ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// List the commands.
    Help,
    /// Run a plan: the words after `run`, or the last plan again.
    Run,
    /// List the presets with what they stand for.
    Presets,
    /// Print the kept records again.
    Reprint,
    /// Reset the board.
    Reboot,
    /// Fail on purpose; `None` for a kind that does not exist.
    Crash(Option<Crash>),
    /// An empty line.
    Nothing,
}

/// Ways to fail on purpose, to see what the watchdog and the reports do on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The main loop stands still; interrupts go on.
    Wedge,
    /// A panic.
    Panic,
    /// An access to memory that is not mapped.
    Abort,
    /// Allocations until the heap is used up.
    Heap,
}

/// A line that is no command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// Not a command's name.
    Unknown,
    /// The line holds bytes that are no printable ASCII: line noise, or a wrong speed.
    Garbled,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::Unknown => write!(f, "no such command. Try: help, run, presets, reprint, reboot, crash"),
            CommandError::Garbled => write!(f, "unreadable input: is the terminal set to 115200 8N1?"),
        }
    }
}

/// Names of all commands, for completion.
pub const NAMES: [&str; 6] = ["help", "run", "presets", "reprint", "reboot", "crash"];

/// The command in `line`; what follows its name is the caller's to read.
pub fn parse(line: &[u8]) -> Result<Command, CommandError> {
    if line.iter().any(|b| !(b.is_ascii_graphic() || *b == b' ')) {
        return Err(CommandError::Garbled);
    }
    let mut words = line.split(|&b| b == b' ').filter(|w| !w.is_empty());
    match words.next() {
        None => Ok(Command::Nothing),
        Some(b"help") | Some(b"?") => Ok(Command::Help),
        Some(b"run") => Ok(Command::Run),
        Some(b"presets") => Ok(Command::Presets),
        Some(b"reprint") => Ok(Command::Reprint),
        Some(b"reboot") => Ok(Command::Reboot),
        Some(b"crash") => Ok(Command::Crash(match words.next() {
            Some(b"wedge") => Some(Crash::Wedge),
            Some(b"panic") => Some(Crash::Panic),
            Some(b"abort") => Some(Crash::Abort),
            Some(b"heap") => Some(Crash::Heap),
            _ => None,
        })),
        Some(_) => Err(CommandError::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_commands_and_says_what_is_wrong() {
        assert_eq!(parse(b"  run gb.presets=linux"), Ok(Command::Run));
        assert_eq!(parse(b""), Ok(Command::Nothing));
        assert_eq!(parse(b"halt"), Err(CommandError::Unknown));
        assert!(NAMES.iter().all(|name| parse(name.as_bytes()).is_ok()));
        assert_eq!(parse(b"crash wedge"), Ok(Command::Crash(Some(Crash::Wedge))));
        assert_eq!([parse(b"crash"), parse(b"crash it")], [Ok(Command::Crash(None)), Ok(Command::Crash(None))]);
        assert_eq!(parse(b"he\xfflp"), Err(CommandError::Garbled));
        assert!(CommandError::Garbled.to_string().contains("115200"));
    }
}
