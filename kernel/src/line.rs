//! Typing a line: echo, rubbing out, the lines before, completion.
//!
//! Owns the line under way and the last few; knows words only as a list to complete from. Line noise must stay harmless:
//! bytes that are no key go into the line as they are, and [`crate::commands::parse`] refuses such a line.

use crate::commands::LINE_BYTES;
use crate::ctrl_c::ETX;
use core::fmt::Write;

/// Lines that are remembered.
const REMEMBERED: usize = 8;

/// The prompt, printed again when the line is.
pub const PROMPT: &str = "> ";

#[derive(Clone, Copy, Debug)]
struct Line {
    bytes: [u8; LINE_BYTES],
    len: usize,
}

impl Line {
    const EMPTY: Line = Line { bytes: [0; LINE_BYTES], len: 0 };

    fn get(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(&mut self, byte: u8) -> bool {
        let room = self.len < LINE_BYTES;
        if room {
            self.bytes[self.len] = byte;
            self.len += 1;
        }
        room
    }
}

/// Where an escape sequence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    None,
    /// After ESC.
    Begun,
    /// After ESC [ or ESC O: until a letter or `~`.
    Sequence,
}

/// What may be typed at the end of a line: calls its second argument with each word and with what follows that word when
/// it is complete.
pub type Completions = fn(&[u8], &mut dyn FnMut(&str, &str));

/// A line that was too long, and is dropped as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Collects typed bytes into lines.
#[derive(Debug)]
pub struct LineEditor {
    line: Line,
    overflow: bool,
    escape: Escape,
    /// The last lines, the newest first.
    before: [Line; REMEMBERED],
    /// How many of them are shown back; 0: the line under way.
    back: usize,
}

impl Default for LineEditor {
    fn default() -> Self {
        LineEditor {
            line: Line::EMPTY,
            overflow: false,
            escape: Escape::None,
            before: [Line::EMPTY; REMEMBERED],
            back: 0,
        }
    }
}

impl LineEditor {
    /// Takes one byte and echoes to `out` what it does. Returns the line when it is complete (carriage return or line feed).
    /// `words` is what Tab completes from.
    pub fn push(&mut self, byte: u8, words: Completions, out: &mut dyn Write) -> Option<Result<&[u8], TooLong>> {
        match (self.escape, byte) {
            // A line ends whatever was begun.
            (_, b'\r' | b'\n') => return Some(self.enter()),
            (_, ETX) => {
                let _ = write!(out, "^C\n{PROMPT}");
                self.line.len = 0;
                self.back = 0;
                self.escape = Escape::None;
                self.overflow = false;
            }
            (Escape::Begun, b'[' | b'O') => self.escape = Escape::Sequence,
            (Escape::Begun, _) => self.escape = Escape::None,
            (Escape::Sequence, 0x40..=0x7e) => {
                self.escape = Escape::None;
                match byte {
                    b'A' => self.show(self.back + 1, out),
                    b'B' => self.show(self.back.wrapping_sub(1), out),
                    _ => {}
                }
            }
            (Escape::Sequence, _) => {}
            (Escape::None, 0x1b) => self.escape = Escape::Begun,
            (Escape::None, 0x08 | 0x7f) => self.rub_out(1, out),
            (Escape::None, 0x15) => self.rub_out(self.line.len, out), // Ctrl-U
            (Escape::None, 0x17) => self.rub_out(self.last_word(), out), // Ctrl-W
            (Escape::None, b'\t') => self.complete(words, out),
            (Escape::None, _) => {
                self.overflow |= !self.line.push(byte);
                if (byte.is_ascii_graphic() || byte == b' ') && !self.overflow {
                    let _ = out.write_char(byte.into());
                }
            }
        }
        None
    }

    fn enter(&mut self) -> Result<&[u8], TooLong> {
        let line = self.line;
        self.line.len = 0;
        self.back = 0;
        self.escape = Escape::None;
        if core::mem::take(&mut self.overflow) {
            return Err(TooLong);
        }
        let readable = line.get().iter().all(|b| b.is_ascii_graphic() || *b == b' ');
        if line.len > 0 && readable && line.get() != self.before[0].get() {
            self.before.rotate_right(1);
            self.before[0] = line;
        }
        self.line.bytes = line.bytes;
        Ok(&self.line.bytes[..line.len])
    }

    fn rub_out(&mut self, bytes: usize, out: &mut dyn Write) {
        for _ in 0..bytes.min(self.line.len) {
            self.line.len -= 1;
            let _ = out.write_str("\x08 \x08");
        }
    }

    /// Length of the last word with the spaces behind it.
    fn last_word(&self) -> usize {
        let line = self.line.get();
        let end = line.iter().rposition(|b| *b != b' ').map_or(0, |at| at + 1);
        let start = line[..end].iter().rposition(|b| *b == b' ').map_or(0, |at| at + 1);
        line.len() - start
    }

    /// Shows the line `back` lines before; what cannot be shown changes nothing.
    fn show(&mut self, back: usize, out: &mut dyn Write) {
        if back > REMEMBERED || back > 0 && self.before[back - 1].len == 0 {
            return;
        }
        self.rub_out(self.line.len, out);
        self.back = back;
        self.line = if back == 0 { Line::EMPTY } else { self.before[back - 1] };
        self.print(out);
    }

    fn print(&self, out: &mut dyn Write) {
        let _ = out.write_str(core::str::from_utf8(self.line.get()).unwrap_or(""));
    }

    /// Completes the part of the line behind the last space, `=` or comma as far as only one way goes on; lists the ways
    /// when there are several.
    fn complete(&mut self, words: Completions, out: &mut dyn Write) {
        let before = self.line;
        let line = before.get();
        let start = line.iter().rposition(|b| matches!(b, b' ' | b'=' | b',')).map_or(0, |at| at + 1);
        let Ok(typed) = core::str::from_utf8(&line[start..]) else { return };
        // What all that fit have in common, and how many they are.
        let mut common = Line::EMPTY;
        let mut fitting = 0;
        let mut listed = Line::EMPTY;
        words(line, &mut |word, after| {
            let Some(more) = word.strip_prefix(typed) else { return };
            if fitting == 0 {
                more.bytes().chain(after.bytes()).for_each(|b| _ = common.push(b));
            } else {
                common.len = common.get().iter().zip(more.as_bytes()).take_while(|(a, b)| a == b).count();
            }
            fitting += 1;
            word.bytes().chain([b' ']).for_each(|b| _ = listed.push(b));
        });
        if common.len > 0 {
            for byte in common.get() {
                if self.line.push(*byte) {
                    let _ = out.write_char((*byte).into());
                }
            }
        } else if fitting > 1 {
            let _ = write!(out, "\n{}\n{PROMPT}", core::str::from_utf8(listed.get()).unwrap_or("").trim_end());
            self.print(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(_: &[u8], f: &mut dyn FnMut(&str, &str)) {
        f("help", "");
        f("run", " ");
        ["gb.window_ms", "gb.window_b", "gb.flows"].into_iter().for_each(|key| f(key, "="));
    }

    fn typed(editor: &mut LineEditor, input: &[u8]) -> (Vec<Result<String, TooLong>>, String) {
        let (mut lines, mut echo) = (Vec::new(), String::new());
        for byte in input {
            if let Some(line) = editor.push(*byte, words, &mut echo) {
                lines.push(line.map(|line| String::from_utf8_lossy(line).into_owned()));
            }
        }
        (lines, echo)
    }

    fn lines(input: &[u8]) -> Vec<Result<String, TooLong>> {
        typed(&mut LineEditor::default(), input).0
    }

    #[test]
    fn keys_edit_the_line_and_are_echoed() {
        let (lines, echo) = typed(&mut LineEditor::default(), b"hepl\x08\x7flp\r");
        assert_eq!((lines, echo.as_str()), (vec![Ok("help".to_owned())], "hepl\x08 \x08\x08 \x08lp"));
        for (input, line) in [
            (&b"\x08\x08help\r"[..], "help"),
            (b"run  gb.flows=2 \x17\x17help\r", "help"),
            (b"nonsense\x15help\n", "help"),
            (b"nonsense\x03help\n", "help"),
            (b"nonsense\x1b[\x03help\n", "help"),
        ] {
            assert_eq!(super::tests::lines(input), [Ok(line.to_owned())], "{input:?}");
        }
    }

    #[test]
    fn arrows_bring_lines_back() {
        let mut editor = LineEditor::default();
        typed(&mut editor, b"first\rsecond\rsecond\r\r");
        assert_eq!(typed(&mut editor, b"\x1b[A\x1b[A\r").0, [Ok("first".to_owned())]);
        assert_eq!(typed(&mut editor, b"\x1b[A\x1b[A\x1b[B!\r").0, [Ok("first!".to_owned())], "first is the last now");
        assert_eq!(typed(&mut editor, b"\x1b[B\x1b[Anew\x1b[B\r").0, [Ok(String::new())], "down to the empty line");
        let far: Vec<u8> = b"\x1b[A".repeat(50).into_iter().chain(*b"\r").collect();
        assert_eq!(typed(&mut editor, &far).0, [Ok("first".to_owned())], "the oldest stays");
    }

    #[test]
    fn tab_completes_as_far_as_one_way_goes() {
        assert_eq!(lines(b"he\t\r"), [Ok("help".to_owned())]);
        assert_eq!(lines(b"run gb.f\t4\r"), [Ok("run gb.flows=4".to_owned())]);
        let (lines, echo) = typed(&mut LineEditor::default(), b"run gb.w\t\tm\t5\r");
        assert_eq!(lines, [Ok("run gb.window_ms=5".to_owned())]);
        assert!(echo.contains("\ngb.window_ms gb.window_b\n> run gb.window_"), "{echo:?}");
        assert_eq!(super::tests::lines(b"x\t\r"), [Ok("x".to_owned())]);
        assert_eq!(
            super::tests::lines(b"run\tgb.flows\t2\r"),
            [Ok("run gb.flows=2".to_owned())],
            "what follows a word"
        );
    }

    #[test]
    fn an_endless_line_is_dropped_as_a_whole_and_noise_is_kept_for_the_parser() {
        let mut input = vec![b'r'; LINE_BYTES + 1];
        input.extend(b"\rhelp\r");
        assert_eq!(lines(&input), [Err(TooLong), Ok("help".to_owned())]);
        let (lines, echo) = typed(&mut LineEditor::default(), b"he\xff\0lp\r");
        assert_eq!((lines.len(), echo.as_str()), (1, "help"));
        assert!(crate::commands::parse(b"he\xff\0lp").is_err());
        assert_eq!(
            super::tests::lines(b"\x1b[200~\x1bP\x1b\\help\r"),
            [Ok("help".to_owned())],
            "sequences are no text"
        );
    }
}
