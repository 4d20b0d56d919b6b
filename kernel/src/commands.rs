//! The console's commands: names, help, what may follow a name, what Tab completes to.
//!
//! Owns the reading of a line; what a command does is in `console`. Pure: bytes in, values out.

use core::fmt;
use core::ops::RangeInclusive;
use log::LevelFilter;
use netbench::plan;
use netbench::presets::PRESETS;

/// Longest line that is taken, bytes.
pub const LINE_BYTES: usize = 240;

/// What a person can ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// An empty line.
    Nothing,
    /// List the commands.
    Help,
    /// How the board, its port and the session stand.
    Status,
    /// The registers as they were met at boot.
    Found,
    /// The same registers now; of one block only.
    Regs(Option<&'static str>),
    /// The PHY's registers now.
    Phy,
    /// MIB counters that are not zero.
    Mib,
    /// List the presets with what they stand for.
    Presets,
    /// List the words that hold for later plans.
    Words,
    /// Remember words for later plans.
    Set(&'a str),
    /// Forget them.
    SetClear,
    /// One run, or what these words ask for.
    Run(&'a str),
    /// The plan of the boot arguments, with these words too.
    Sweep(&'a str),
    /// Look for the cause of slow receiving: with the settings of this preset, and with these words too.
    Verdict(Option<&'static str>, &'a str),
    /// Measure the hardware in its own loopbacks.
    Calibrate,
    /// Print kept records again, by sequence number.
    Reprint(RangeInclusive<u64>),
    /// Tell which messages are shown.
    LogLevel,
    /// Show messages up to this level.
    Log(LevelFilter),
    /// Reset the board.
    Reboot,
    /// Fail on purpose.
    Crash(Crash),
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
    /// The core that watches arrivals fails.
    Watcher,
}

/// One line of `help`.
pub struct Entry {
    /// As typed.
    pub name: &'static str,
    /// What may follow.
    pub arguments: &'static str,
    /// What it does.
    pub about: &'static str,
}

const fn entry(name: &'static str, arguments: &'static str, about: &'static str) -> Entry {
    Entry { name, arguments, about }
}

/// All commands, in the order of `help`.
pub const COMMANDS: [Entry; 16] = [
    entry("help", "", "this list"),
    entry("status", "", "link, address, settings in force, counters, memory, time, plan, records"),
    entry("found", "", "the registers as they were met at boot, and what they mean"),
    entry("regs", "[BLOCK]", "the same registers now; * where one changed"),
    entry("phy", "", "the PHY's registers now, and the link in words"),
    entry("mib", "", "MIB counters that are not zero"),
    entry("presets", "", "what the presets stand for, and what of a driver they do not reproduce"),
    entry("set", "[gb.K=V ..]", "words for every later run and sweep; alone: lists them; set clear: forgets them"),
    entry("run", "[gb.K=V ..]", "one run of linux, or as the words say: gb.presets=poll,amiga gb.flows=1,4 ..."),
    entry("sweep", "[gb.K=V ..]", "the plan of the boot arguments (every preset, if they name none)"),
    entry("verdict", "[PRESET]", "why it is slow with the settings of PRESET (openbsd): half a minute to five minutes"),
    entry("calibrate", "", "measures timer, thresholds, PAUSE and rings of the MAC in loopback: some 5 s, no network"),
    entry("reprint", "[N | N-M]", "the kept records again: all, number N, or N to M"),
    entry("log", "[LEVEL]", "how much is logged: off, error, warn, info, debug or trace"),
    entry("reboot", "", "resets the board"),
    entry("crash", "KIND", "fails on purpose, to try watchdog and reports: wedge, panic, abort, heap or watcher"),
];

/// Blocks of registers that `regs` knows, as in `found` records. The PHY has a command of its own.
pub const BLOCKS: [&str; 9] = ["sys", "ext", "intrl2", "rbuf", "tbuf", "umac", "rdma", "tdma", "hfb"];
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
const CRASHES: [(&str, Crash); 5] = [
    ("wedge", Crash::Wedge),
    ("panic", Crash::Panic),
    ("abort", Crash::Abort),
    ("heap", Crash::Heap),
    ("watcher", Crash::Watcher),
];
const CRASH_NAMES: [&str; 5] = ["wedge", "panic", "abort", "heap", "watcher"];
const CLEAR: &str = "clear";
/// Names of the presets.
static PRESET_NAMES: [&str; PRESETS.len()] = {
    let mut names = [""; PRESETS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = PRESETS[i].name;
        i += 1;
    }
    names
};

/// A level as `log` takes it.
pub fn level_word(level: LevelFilter) -> &'static str {
    LEVELS.into_iter().find(|word| word.parse() == Ok(level)).unwrap_or("off")
}

/// Writes `help`.
pub fn write_help(out: &mut dyn fmt::Write) -> fmt::Result {
    for Entry { name, arguments, about } in &COMMANDS {
        writeln!(out, "{name:<10}{arguments:<11} {about}")?;
    }
    writeln!(out, "Tab completes, arrows bring lines back, Ctrl-C ends what is going on with what there is")
}

/// A line that is no command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError<'a> {
    /// Not a command's name.
    Unknown {
        /// As typed.
        word: &'a str,
        /// A name that differs by a letter or two.
        nearest: Option<&'static str>,
    },
    /// The line holds bytes that are no printable ASCII, or never ends: line noise, or a wrong speed.
    Garbled,
    /// Something must follow the name.
    Missing {
        /// The command.
        command: &'static str,
        /// What may follow.
        allowed: &'static [&'static str],
    },
    /// What follows is none of what may.
    NoSuch {
        /// The command.
        command: &'static str,
        /// As typed.
        word: &'a str,
        /// What may follow.
        allowed: &'static [&'static str],
        /// One of them that differs by a letter or two.
        nearest: Option<&'static str>,
    },
    /// More follows than may.
    TooMany {
        /// The command.
        command: &'static str,
        /// The first word too many.
        word: &'a str,
    },
    /// A word that belongs to no plan.
    NoPlanWord {
        /// The command.
        command: &'static str,
        /// As typed.
        word: &'a str,
    },
    /// Not numbers of records.
    NoRange {
        /// As typed.
        word: &'a str,
    },
}

impl fmt::Display for CommandError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suggest = |f: &mut fmt::Formatter<'_>, nearest: &Option<&str>| match nearest {
            Some(word) => write!(f, "; did you mean `{word}`? "),
            None => write!(f, ". "),
        };
        let list = |f: &mut fmt::Formatter<'_>, words: &[&str]| words.iter().try_for_each(|word| write!(f, " {word}"));
        match self {
            CommandError::Unknown { word, nearest } => {
                write!(f, "`{word}` is no command")?;
                suggest(f, nearest)?;
                write!(f, "Commands:")?;
                COMMANDS.iter().try_for_each(|command| write!(f, " {}", command.name))
            }
            CommandError::Garbled => write!(f, "unreadable input: is the terminal set to 115200 8N1?"),
            CommandError::Missing { command, allowed } => {
                write!(f, "{command} wants one of:")?;
                list(f, allowed)
            }
            CommandError::NoSuch { command, word, allowed, nearest } => {
                write!(f, "{command} knows no `{word}`")?;
                suggest(f, nearest)?;
                write!(f, "It takes:")?;
                list(f, allowed)
            }
            CommandError::TooMany { command, word } => write!(f, "{command} takes no `{word}`"),
            CommandError::NoPlanWord { command, word } => {
                write!(f, "{command} takes words like gb.presets=linux, not `{word}`. Keys:")?;
                list(f, &plan::KEYS)
            }
            CommandError::NoRange { word } => {
                write!(
                    f,
                    "reprint takes the number of a record (reprint 17) or two of them (reprint 17-99), not `{word}`"
                )
            }
        }
    }
}

impl core::error::Error for CommandError<'_> {}

/// The command in `line`.
///
/// # Errors
/// What is wrong with it, and what would be right.
pub fn parse(line: &[u8]) -> Result<Command<'_>, CommandError<'_>> {
    if line.iter().any(|b| !(b.is_ascii_graphic() || *b == b' ')) {
        return Err(CommandError::Garbled);
    }
    let line = core::str::from_utf8(line).map_err(|_| CommandError::Garbled)?.trim();
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim_start();
    let Some(command) = COMMANDS.iter().map(|c| c.name).find(|known| *known == name) else {
        return match name {
            "" => Ok(Command::Nothing),
            "?" => Ok(Command::Help),
            word => {
                let names = COMMANDS.map(|command| command.name);
                Err(CommandError::Unknown { word, nearest: plan::nearest(word, &names) })
            }
        };
    };
    let mut words = rest.split_ascii_whitespace();
    let first = words.next();
    let choose = |allowed: &'static [&'static str], word| {
        let known = allowed.iter().find(|known| **known == word).copied();
        known.ok_or_else(|| CommandError::NoSuch { command, word, allowed, nearest: plan::nearest(word, allowed) })
    };
    let found = match (command, first) {
        ("set", None) => return Ok(Command::Words),
        ("set", Some(CLEAR)) => Command::SetClear,
        ("set" | "run" | "sweep" | "verdict", _) => {
            let named = first.filter(|word| command == "verdict" && !word.starts_with("gb."));
            let preset = named.map(|word| choose(&PRESET_NAMES, word)).transpose()?;
            let rest = &rest[named.map_or(0, str::len)..];
            if let Some(word) = rest.split_ascii_whitespace().find(|word| !word.starts_with("gb.")) {
                return Err(CommandError::NoPlanWord { command, word });
            }
            return Ok(match command {
                "set" => Command::Set(rest),
                "run" => Command::Run(rest),
                "verdict" => Command::Verdict(preset, rest.trim_start()),
                _ => Command::Sweep(rest),
            });
        }
        ("regs", word) => Command::Regs(word.map(|word| choose(&BLOCKS, word)).transpose()?),
        ("reprint", None) => Command::Reprint(0..=u64::MAX),
        ("reprint", Some(word)) => Command::Reprint(range(word).ok_or(CommandError::NoRange { word })?),
        ("log", None) => Command::LogLevel,
        ("log", Some(word)) => Command::Log(choose(&LEVELS, word)?.parse().unwrap_or(LevelFilter::Info)),
        ("crash", None) => return Err(CommandError::Missing { command, allowed: &CRASH_NAMES }),
        ("crash", Some(word)) => {
            let name = choose(&CRASH_NAMES, word)?;
            let kind = CRASHES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
            Command::Crash(kind.ok_or(CommandError::Missing { command, allowed: &CRASH_NAMES })?)
        }
        (_, Some(word)) => return Err(CommandError::TooMany { command, word }),
        ("status", None) => Command::Status,
        ("found", None) => Command::Found,
        ("phy", None) => Command::Phy,
        ("mib", None) => Command::Mib,
        ("calibrate", None) => Command::Calibrate,
        ("presets", None) => Command::Presets,
        ("reboot", None) => Command::Reboot,
        (_, None) => Command::Help,
    };
    match words.next() {
        Some(word) => Err(CommandError::TooMany { command, word }),
        None => Ok(found),
    }
}

/// `17` or `17-99`.
fn range(word: &str) -> Option<RangeInclusive<u64>> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some(first..=last)
}

/// Calls `f` with each word that may stand where `line` ends and with what follows that word when it is complete. What is
/// typed of it already is not looked at.
pub fn completions(line: &[u8], f: &mut dyn FnMut(&str, &str)) {
    let Ok(line) = core::str::from_utf8(line) else { return };
    let line = line.trim_start();
    let Some((command, rest)) = line.split_once(' ') else {
        COMMANDS.iter().for_each(|c| f(c.name, if c.arguments.is_empty() { "" } else { " " }));
        return;
    };
    let word = rest.rsplit(' ').next().unwrap_or("");
    let is_first = rest.trim_start() == word;
    let mut all = |words: &[&str]| words.iter().for_each(|word| f(word, ""));
    match command {
        "set" | "run" | "sweep" | "verdict" => match word.split_once('=') {
            None => {
                match command {
                    "set" if is_first => all(&[CLEAR]),
                    "verdict" if is_first => all(&PRESET_NAMES),
                    _ => {}
                }
                plan::KEYS.iter().for_each(|key| f(key, "="));
            }
            Some(("gb.presets", _)) => {
                all(&["all"]);
                all(&PRESET_NAMES);
            }
            Some(("gb.subject", _)) => all(&PRESET_NAMES),
            Some((key, _)) => plan::words_of(key).for_each(|word| f(word, "")),
        },
        "regs" if is_first => all(&BLOCKS),
        "log" if is_first => all(&LEVELS),
        "crash" if is_first => all(&CRASH_NAMES),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_help_is_one() {
        for Entry { name, arguments, .. } in &COMMANDS {
            let parsed = parse(name.as_bytes());
            let needs_more = matches!(parsed, Err(CommandError::Missing { .. }));
            assert!(parsed.is_ok() || needs_more && !arguments.starts_with('['), "{name}: {parsed:?}");
            let too_much = std::format!("{name} !");
            assert!(parse(too_much.as_bytes()).is_err(), "{name}");
        }
        let mut help = String::new();
        write_help(&mut help).unwrap();
        assert_eq!(help.lines().count(), COMMANDS.len() + 1);
        assert!(help.lines().all(|line| line.len() <= 110), "{help}");
    }

    #[test]
    fn the_guide_names_every_command() {
        let guide = include_str!("../../docs/CONSOLE.md");
        for Entry { name, .. } in &COMMANDS {
            assert!(guide.contains(&std::format!("| `{name}")), "docs/CONSOLE.md does not name {name}");
        }
    }

    #[test]
    fn arguments() {
        for (line, command) in [
            ("", Command::Nothing),
            ("  ", Command::Nothing),
            ("?", Command::Help),
            ("  run gb.presets=linux  gb.flows=2 ", Command::Run("gb.presets=linux  gb.flows=2")),
            ("run", Command::Run("")),
            ("sweep", Command::Sweep("")),
            ("sweep gb.seed=2", Command::Sweep("gb.seed=2")),
            ("verdict", Command::Verdict(None, "")),
            ("verdict freebsd", Command::Verdict(Some("freebsd"), "")),
            ("verdict  freebsd gb.seed=2", Command::Verdict(Some("freebsd"), "gb.seed=2")),
            ("verdict gb.subject=poll", Command::Verdict(None, "gb.subject=poll")),
            ("set", Command::Words),
            ("set clear", Command::SetClear),
            ("set gb.seed=4 gb.flows=2", Command::Set("gb.seed=4 gb.flows=2")),
            ("regs", Command::Regs(None)),
            ("regs rdma", Command::Regs(Some("rdma"))),
            ("reprint", Command::Reprint(0..=u64::MAX)),
            ("reprint 7", Command::Reprint(7..=7)),
            ("reprint 7-19", Command::Reprint(7..=19)),
            ("log", Command::LogLevel),
            ("log debug", Command::Log(LevelFilter::Debug)),
            ("log off", Command::Log(LevelFilter::Off)),
            ("crash wedge", Command::Crash(Crash::Wedge)),
        ] {
            assert_eq!(parse(line.as_bytes()), Ok(command), "{line}");
        }
        assert!(CRASHES.iter().map(|c| c.0).eq(CRASH_NAMES));
        assert_eq!(LEVELS.map(|word| level_word(word.parse().unwrap())), LEVELS);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_allowed() {
        for (line, words) in [
            ("halt", "`halt` is no command. Commands: help status found"),
            ("statsu", "did you mean `status`?"),
            ("regs rdna", "regs knows no `rdna`; did you mean `rdma`? It takes: sys ext"),
            ("log loud", "log knows no `loud`. It takes: off error warn info debug trace"),
            ("crash", "crash wants one of: wedge panic abort heap"),
            ("crash it", "crash knows no `it`"),
            ("crash heap now", "crash takes no `now`"),
            ("run linux", "run takes words like gb.presets=linux, not `linux`. Keys: gb.url"),
            ("set gb.seed=1 x", "not `x`"),
            ("verdict openbds", "verdict knows no `openbds`; did you mean `openbsd`? It takes:"),
            ("verdict openbsd linux", "verdict takes words like gb.presets=linux, not `linux`"),
            ("set clear all", "set takes no `all`"),
            ("reprint 9-3", "not `9-3`"),
            ("reprint +3", "not `+3`"),
            ("reprint -", "not `-`"),
            ("reprint 99999999999999999999", "reprint takes the number"),
            ("status now", "status takes no `now`"),
            ("he\u{fc}lp", "115200"),
        ] {
            let error = parse(line.as_bytes()).expect_err(line).to_string();
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn no_line_is_read_with_a_panic() {
        let mut state = 1u64;
        for _ in 0..200_000 {
            let mut line = Vec::new();
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize
            };
            for _ in 0..next() % 5 {
                match next() % 4 {
                    0 => line.extend(COMMANDS[next() % COMMANDS.len()].name.bytes()),
                    1 => line.extend(plan::KEYS[next() % plan::KEYS.len()].bytes()),
                    2 => line.extend(b" "),
                    _ => line.extend([next() as u8, b" =,-9"[next() % 5]]),
                }
            }
            if let Err(error) = parse(&line) {
                assert!(!error.to_string().is_empty());
            }
            completions(&line, &mut |_, _| {});
        }
    }

    fn completed(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        completions(line.as_bytes(), &mut |word, after| words.push(std::format!("{word}{after}")));
        words
    }

    #[test]
    fn completes_what_may_stand_there() {
        assert_eq!(completed("re").len(), COMMANDS.len());
        assert!(completed("").contains(&"run ".to_owned()) && completed(" h").contains(&"help".to_owned()));
        assert!(completed("run gb.f").contains(&"gb.flows=".to_owned()));
        assert!(completed("run gb.seed=1 gb.presets=linux,").contains(&"amiga".to_owned()));
        assert_eq!(completed("run gb.seed="), Vec::<String>::new());
        assert_eq!(completed("run gb.mode="), ["irq", "poll"]);
        assert!(completed("run gb.link=auto,").contains(&"forced100half".to_owned()));
        assert_eq!(completed("verdict gb.subject="), PRESET_NAMES);
        assert!(completed("verdict o").contains(&"openbsd".to_owned()));
        assert!(!completed("verdict openbsd ").contains(&"openbsd".to_owned()));
        assert!(completed("set ").contains(&"clear".to_owned()));
        assert!(!completed("set gb.seed=1 ").contains(&"clear".to_owned()));
        assert_eq!(completed("regs "), BLOCKS);
        assert_eq!(completed("log d"), LEVELS);
        assert_eq!(completed("crash "), CRASH_NAMES);
        assert_eq!(completed("regs rdma "), Vec::<String>::new());
        assert_eq!(completed("status "), Vec::<String>::new());
    }
}
