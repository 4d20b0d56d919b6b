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
            CommandError::Unknown => write!(f, "no such command. Try: help, run, reprint, reboot, crash"),
            CommandError::Garbled => write!(f, "unreadable input: is the terminal set to 115200 8N1?"),
        }
    }
}

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

/// Collects typed bytes into lines: backspace works, what does not fit is dropped with the line.
#[derive(Debug)]
pub struct LineEditor {
    bytes: [u8; LINE_BYTES],
    len: usize,
    overflow: bool,
}

impl Default for LineEditor {
    fn default() -> Self {
        LineEditor { bytes: [0; LINE_BYTES], len: 0, overflow: false }
    }
}

impl LineEditor {
    /// Takes one byte. Returns the line when it is complete (carriage return or line feed).
    pub fn push(&mut self, byte: u8) -> Option<Result<&[u8], CommandError>> {
        match byte {
            b'\r' | b'\n' => {
                let (len, overflow) = (self.len, self.overflow);
                self.len = 0;
                self.overflow = false;
                Some(if overflow { Err(CommandError::Garbled) } else { Ok(&self.bytes[..len]) })
            }
            0x08 | 0x7f => {
                self.len = self.len.saturating_sub(1);
                None
            }
            _ if self.len == LINE_BYTES => {
                self.overflow = true;
                None
            }
            _ => {
                self.bytes[self.len] = byte;
                self.len += 1;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8]) -> Vec<Result<Vec<u8>, CommandError>> {
        let mut editor = LineEditor::default();
        input.iter().filter_map(|&b| editor.push(b).map(|l| l.map(<[u8]>::to_vec))).collect()
    }

    #[test]
    fn parses_commands_and_says_what_is_wrong() {
        assert_eq!(parse(b"  run gb.presets=linux"), Ok(Command::Run));
        assert_eq!(parse(b""), Ok(Command::Nothing));
        assert_eq!(parse(b"halt"), Err(CommandError::Unknown));
        assert_eq!(parse(b"crash wedge"), Ok(Command::Crash(Some(Crash::Wedge))));
        assert_eq!([parse(b"crash"), parse(b"crash it")], [Ok(Command::Crash(None)), Ok(Command::Crash(None))]);
        assert_eq!(parse(b"he\xfflp"), Err(CommandError::Garbled));
        assert!(CommandError::Garbled.to_string().contains("115200"));
    }

    #[test]
    fn edits_lines() {
        assert_eq!(lines(b"hepl\x08\x7flp\rrun\n"), [Ok(b"help".to_vec()), Ok(b"run".to_vec())]);
        assert_eq!(lines(b"\x08\x08help\r"), [Ok(b"help".to_vec())], "backspace on an empty line");
    }

    #[test]
    fn an_endless_line_is_dropped_as_a_whole() {
        let mut input = vec![b'r'; LINE_BYTES + 1];
        input.extend(b"\rhelp\r");
        assert_eq!(lines(&input), [Err(CommandError::Garbled), Ok(b"help".to_vec())]);
    }
}
