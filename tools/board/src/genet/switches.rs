//! `NAME=VALUE` for every open reading of the hardware, and for what the coalescing registers hold at boot.

use std::fmt;

use super::config::*;

/// Words, and what each sets.
type Values = &'static [(&'static str, fn(&mut Switches))];

/// A switch that takes words.
struct Entry {
    name: &'static str,
    values: Values,
}

const fn entry(name: &'static str, values: Values) -> Entry {
    Entry { name, values }
}

/// The default first.
const WORDS: [Entry; 12] = [
    entry(
        "count",
        &[("since_event", |s| s.count = CountMode::SinceEvent), ("since_clear", |s| s.count = CountMode::SinceClear)],
    ),
    entry(
        "timer",
        &[
            ("first_packet", |s| s.timer = TimerStart::FirstPacket),
            ("last_packet", |s| s.timer = TimerStart::LastPacket),
            ("free_running", |s| s.timer = TimerStart::FreeRunning),
        ],
    ),
    entry(
        "threshold_zero",
        &[
            ("never", |s| s.threshold_zero = ThresholdZero::Never),
            ("as_one", |s| s.threshold_zero = ThresholdZero::AsOne),
        ],
    ),
    entry("slots", &[("pointer", |s| s.slots = SlotRule::Pointer), ("index", |s| s.slots = SlotRule::IndexModuloSize)]),
    entry(
        "discards",
        &[("saturates", |s| s.discards = DiscardEnd::Saturates), ("wraps", |s| s.discards = DiscardEnd::Wraps)],
    ),
    entry(
        "empty_filter",
        &[
            ("accepts_all", |s| s.empty_filter = EmptyFilter::AcceptsAll),
            ("accepts_own", |s| s.empty_filter = EmptyFilter::AcceptsOwn),
        ],
    ),
    entry(
        "xoff",
        &[("on_entry", |s| s.xoff = XoffTrigger::OnEntry), ("each_frame", |s| s.xoff = XoffTrigger::EachFrame)],
    ),
    entry(
        "mask",
        &[
            ("set_blocks", |s| s.back_pressure_mask = BackPressureMask::SetBlocks),
            ("set_enables", |s| s.back_pressure_mask = BackPressureMask::SetEnables),
        ],
    ),
    entry(
        "pause_count",
        &[
            ("everywhere", |s| s.pause_count = PauseCount::Everywhere),
            ("pause_only", |s| s.pause_count = PauseCount::PauseOnly),
        ],
    ),
    entry(
        "rgmii",
        &[("forgiving", |s| s.rgmii = RgmiiTiming::Forgiving), ("strict", |s| s.rgmii = RgmiiTiming::Strict)],
    ),
    entry(
        "long_frames",
        &[("cut", |s| s.long_frames = LongFrames::Cut), ("in_pieces", |s| s.long_frames = LongFrames::InPieces)],
    ),
    entry(
        "default_ring",
        &[
            ("running", |s| s.default_ring = DefaultRing::Running),
            ("ring_16", |s| s.default_ring = DefaultRing::Ring16),
        ],
    ),
];

/// Registers met at boot: name, largest value.
const FOUND: [(&str, u32); 2] = [("threshold", 511), ("timeout", u32::MAX)];

/// A setting that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchError {
    /// No `=`, or nobody has this name.
    Unknown(String),
    /// The switch has no such value.
    Value {
        /// The switch.
        name: &'static str,
        /// As given.
        value: String,
    },
}

impl fmt::Display for SwitchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SwitchError::Unknown(text) => {
                write!(f, "`{text}` is no NAME=VALUE of these:")?;
                settings().try_for_each(|setting| write!(f, " {setting}"))
            }
            SwitchError::Value { name, value } => {
                write!(f, "{name} cannot be `{value}`:")?;
                settings().filter(|setting| setting.split('=').next() == Some(name)).try_for_each(|s| write!(f, " {s}"))
            }
        }
    }
}

impl std::error::Error for SwitchError {}

/// What can be set, as `name=value` or `name=0..max`.
pub fn settings() -> impl Iterator<Item = String> {
    let words =
        WORDS.iter().flat_map(|entry| entry.values.iter().map(move |(word, _)| format!("{}={word}", entry.name)));
    words.chain(FOUND.iter().map(|(name, max)| format!("{name}=0..{max}")))
}

impl GenetConfig {
    /// Sets one switch or one register met at boot: `timer=last_packet`, `threshold=511`.
    ///
    /// # Errors
    /// No such name or value; nothing was set.
    pub fn switch(&mut self, text: &str) -> Result<(), SwitchError> {
        let unknown = || SwitchError::Unknown(text.to_owned());
        let (name, value) = text.split_once('=').ok_or_else(unknown)?;
        let no_value = |name| SwitchError::Value { name, value: value.to_owned() };
        if let Some(entry) = WORDS.iter().find(|entry| entry.name == name) {
            let (_, set) = entry.values.iter().find(|(word, _)| *word == value).ok_or_else(|| no_value(entry.name))?;
            set(&mut self.switches);
            return Ok(());
        }
        let (name, max) = FOUND.iter().find(|(known, _)| *known == name).ok_or_else(unknown)?;
        let number = value.parse().ok().filter(|number| number <= max).ok_or_else(|| no_value(name))?;
        match *name {
            "threshold" => self.found.threshold = number,
            _ => self.found.timeout = number,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_every_switch_can_be_set_and_the_first_is_the_default() {
        let mut all = vec![Switches::default()];
        for entry in &WORDS {
            for (index, (word, _)) in entry.values.iter().enumerate() {
                let mut config = GenetConfig::default();
                config.switch(&format!("{}={word}", entry.name)).unwrap();
                assert_eq!(config.switches == Switches::default(), index == 0, "{}={word}", entry.name);
                if index > 0 {
                    assert!(!all.contains(&config.switches), "{}={word} is another's", entry.name);
                    all.push(config.switches);
                }
            }
        }
        // One field each: a switch that is added to the model and not here does not compile.
        let Switches {
            count: _,
            timer: _,
            threshold_zero: _,
            slots: _,
            discards: _,
            empty_filter: _,
            xoff: _,
            back_pressure_mask: _,
            pause_count: _,
            rgmii: _,
            long_frames: _,
            default_ring: _,
        } = Switches::default();
    }

    #[test]
    fn registers_and_mistakes() {
        let mut config = GenetConfig::default();
        config.switch("threshold=511").unwrap();
        config.switch("timeout=4096").unwrap();
        assert_eq!((config.found.threshold, config.found.timeout), (511, 4096));
        let text = |result: Result<(), SwitchError>| result.unwrap_err().to_string();
        assert!(text(config.switch("timer")).contains("timer=free_running"));
        assert!(text(config.switch("tmer=x")).contains("threshold=0..511"));
        assert_eq!(
            text(config.switch("timer=x")),
            "timer cannot be `x`: timer=first_packet timer=last_packet timer=free_running"
        );
        assert_eq!(text(config.switch("threshold=512")), "threshold cannot be `512`: threshold=0..511");
        assert_eq!(config.switches, Switches::default());
    }
}
