//! What is asked of the hardware, and what it answered.
//!
//! Owns the list of questions with what public sources say about each, and the arithmetic of repeats: an answer counts
//! only if repeats give it again. Nothing here touches hardware.

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// One of a few.
    Word(&'static str),
    /// A number in the question's unit.
    Number(u64),
}

/// Why there is no answer, as a word of records.
pub type Why = &'static str;

/// Something about the hardware that public sources leave open, or that is worth confirming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// As in records.
    pub name: &'static str,
    /// For people.
    pub about: &'static str,
    /// Suffix of record keys that hold a number: `_ns`, or nothing for a count.
    pub unit: &'static str,
    /// What sources say or suggest. `None`: nothing.
    pub documented: Option<Value>,
}

macro_rules! questions {
    ($($id:ident $name:literal $unit:literal $documented:expr, $about:literal;)*) => {
        /// Every question, in the order in which answers are told.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Ask { $(#[doc = $about] $id),* }

        /// All of them.
        pub static QUESTIONS: &[Question] =
            &[$(Question { name: $name, about: $about, unit: $unit, documented: $documented }),*];
    };
}

const fn says(word: &'static str) -> Option<Value> {
    Some(Value::Word(word))
}

const fn is(number: u64) -> Option<Value> {
    Some(Value::Number(number))
}

questions! {
    ResetThreshold "reset_threshold" "" None, "MBUF_DONE_THRESH of a driver that never writes it";
    ResetTimeout "reset_timeout" "_ticks" None, "RING_TIMEOUT of a driver that never writes it";
    ProdWriteOff "prod_write_off" "" says("taken"), "PROD_INDEX written with engine and ring bit off";
    ProdWriteRing "prod_write_ring_on" "" says("ignored"), "PROD_INDEX written with the ring bit set";
    ProdWriteRunning "prod_write_running" "" says("ignored"), "PROD_INDEX written with the engine running";
    PointerRing "pointer_write_ring_on" "" None, "WRITE_PTR written with the ring bit set";
    LoopMac1000 "loop_mac_1000" "" None, "MAC loopback at 1000 Mbit/s";
    LoopMac100 "loop_mac_100" "" None, "MAC loopback at 100 Mbit/s";
    LoopPhy1000 "loop_phy_1000" "" says("works"), "PHY loopback at 1000 Mbit/s";
    LoopPhy100 "loop_phy_100" "" says("works"), "PHY loopback at 100 Mbit/s";
    Tick "tick" "_ns" is(8_192), "length of a timeout tick";
    TimerStart "timer_start" "" says("first_packet"), "the timeout runs from";
    TimerClear "timer_clear" "" None, "a running timeout at a write of CPU_CLEAR";
    TimerCons "timer_cons" "" None, "a running timeout at a write of CONS_INDEX";
    CountRestart "count_restart" "" None, "the count of frames starts again at";
    ThresholdZero "threshold_0" "" says("never"), "THRESH 0 raises the event by count";
    ThresholdZeroTimer "threshold_0_timer" "" says("fires"), "THRESH 0 with a timeout";
    TimeoutZero "timeout_0" "" says("off"), "TIMEOUT 0";
    Threshold256 "threshold_256" "" is(256), "frames to the event at THRESH 256";
    Threshold511 "threshold_511" "" is(511), "frames to the event at THRESH 511";
    ThresholdFull "threshold_full" "" None, "THRESH 300 with the ring of 256 full";
    Pdone "pdone" "" says("each_frame"), "RXDMA_PDONE latches";
    Bdone "bdone" "" says("each_frame"), "RXDMA_BDONE latches";
    Ring0Tick "ring0_tick" "_ns" is(8_192), "length of a timeout tick of ring 0";
    Ring0Pdone "ring0_pdone" "" None, "RXDMA_PDONE latches for frames of ring 0";
    DefaultRing "default_ring" "" None, "frames without a filter go to";
    SlotRule "slot_rule" "" says("pointer"), "the descriptor of a frame follows";
    DiscardStep "discard_step" "" is(3), "discard counter after 3 frames without descriptor";
    DiscardClear "discard_clear" "" says("clears"), "0 written to the discard counter";
    DiscardEnd "discard_end" "" None, "the discard counter at 65535";
    Mask "mask" "" None, "a set bit of RDMA MASK";
    XoffFree "xoff_free" "" is(199), "free descriptors at PAUSE with XOFF 200";
    XoffTrigger "xoff_trigger" "" None, "PAUSE is asked for";
    XonFree "xon_free" "" is(221), "free descriptors at the end of it with XON 220";
    PauseHeld "pause_in_20ms" "" None, "PAUSE in 20 ms below XOFF, PAUSE_CTRL as found";
    PauseCount "pause_count" "" None, "PAUSE frames of the MAC count in TX";
    Quantum1000 "quantum_1000" "_ns" is(512), "a quantum of our own PAUSE at 1000 Mbit/s";
    Quantum100 "quantum_100" "_ns" is(5_120), "a quantum of our own PAUSE at 100 Mbit/s";
    PauseRepeat "pause_repeat" "_ns" None, "PAUSE repeats after, for a unit of PAUSE_CTRL 16:0";
    EmptyFilter "empty_filter" "" None, "with MDF_CTRL 0 and no PROMISC there pass";
    LongFrames "long_frames" "" None, "a frame beyond MAX_FRAME_LEN is delivered";
    RgmiiTx "rgmii_tx" "" None, "wrong delay of the transmit clock";
    RgmiiRx "rgmii_rx" "" None, "wrong delay of the receive clock";
}

impl Ask {
    /// Its entry in [`QUESTIONS`].
    pub fn question(self) -> &'static Question {
        &QUESTIONS[self as usize]
    }
}

/// How far an answer can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    /// Three repeats or more, and all gave it.
    Certain,
    /// At least three in four of three repeats or more gave it.
    Likely,
    /// Fewer than three looks, or read from a register.
    Once,
}

impl Sure {
    /// As in records.
    pub const fn word(self) -> &'static str {
        match self {
            Sure::Certain => "certain",
            Sure::Likely => "likely",
            Sure::Once => "once",
        }
    }
}

/// A question and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What was asked.
    pub question: &'static Question,
    /// What was measured, or why it is open.
    pub answer: Result<Value, Why>,
    /// The loopback that was used; empty: none.
    pub via: &'static str,
    /// Times that it was measured.
    pub runs: u16,
    /// Times that it came out as `answer`.
    pub same: u16,
}

impl Fact {
    /// Whether it is as documented, if it is known and anything is documented.
    pub fn agrees(&self) -> Option<bool> {
        Some(near(self.answer.ok()?, self.question.documented?))
    }

    /// How far to rely on the answer.
    pub fn sure(&self) -> Sure {
        match (self.runs, self.same) {
            (0..3, _) => Sure::Once,
            (runs, same) if runs == same => Sure::Certain,
            _ => Sure::Likely,
        }
    }
}

/// The same word, or numbers within 1 %. Small numbers are counts and must be equal.
fn near(a: Value, b: Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.abs_diff(b) * 100 <= a.max(b) && (a.max(b) > 511 || a == b),
        _ => a == b,
    }
}

/// Most repeats of a question.
const MOST: usize = 8;

/// Answers of repeats.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Votes {
    answers: [Option<Value>; MOST],
    runs: u16,
    failed: Option<Why>,
}

impl Votes {
    /// One that was looked up.
    pub(super) fn once(value: Value) -> Self {
        let mut votes = Votes::default();
        votes.add(Ok(value));
        votes
    }

    pub(super) fn add(&mut self, answer: Result<Value, Why>) {
        match answer {
            Ok(value) => *self.answers.get_mut(usize::from(self.runs)).unwrap_or(&mut None) = Some(value),
            Err(why) => self.failed = Some(why),
        }
        self.runs += 1;
    }

    /// The answer that most gave, if enough did; a number is their mean.
    pub(super) fn fact(&self, ask: Ask, via: &'static str) -> Fact {
        let all = || self.answers.iter().flatten().copied();
        let count = |of: Value| all().filter(|value| near(*value, of)).count();
        let mut best: Option<Value> = None;
        for value in all() {
            if best.is_none_or(|best| count(value) > count(best)) {
                best = Some(value);
            }
        }
        let same = best.map_or(0, count);
        let mean = || {
            let numbers = all().filter(|value| best.is_some_and(|best| near(*value, best)));
            numbers.map(|value| if let Value::Number(number) = value { number } else { 0 }).sum::<u64>()
        };
        let answer = match best {
            Some(best) if 4 * same >= 3 * usize::from(self.runs) => Ok(match best {
                Value::Number(_) => Value::Number((mean() + same as u64 / 2) / same as u64),
                word => word,
            }),
            Some(_) => Err("answers_differ"),
            None => Err(self.failed.unwrap_or("not_measured")),
        };
        Fact { question: ask.question(), answer, via, runs: self.runs, same: same as u16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(answers: &[Result<u64, Why>]) -> Fact {
        let mut votes = Votes::default();
        answers.iter().for_each(|answer| votes.add(answer.map(Value::Number)));
        votes.fact(Ask::Tick, "mac_1000")
    }

    #[test]
    fn an_answer_needs_three_in_four_repeats() {
        let same = fact(&[Ok(8_190), Ok(8_194), Ok(8_192)]);
        assert_eq!((same.answer, same.sure(), same.agrees()), (Ok(Value::Number(8_192)), Sure::Certain, Some(true)));
        let likely = fact(&[Ok(4_096), Ok(9), Ok(4_100), Ok(4_098)]);
        assert_eq!((likely.answer, likely.sure()), (Ok(Value::Number(4_098)), Sure::Likely));
        assert_eq!((likely.agrees(), likely.runs, likely.same), (Some(false), 4, 3));
        assert_eq!(fact(&[Ok(1_000), Ok(2_000), Ok(3_000)]).answer, Err("answers_differ"));
        assert_eq!(fact(&[Err("no_event"), Ok(1_000), Err("no_event")]).answer, Err("answers_differ"));
        assert_eq!(fact(&[Err("no_event"), Err("no_event")]).answer, Err("no_event"));
        assert_eq!(fact(&[Ok(8_192)]).sure(), Sure::Once);
        assert_eq!(fact(&[Err("no_event")]).agrees(), None);
    }

    #[test]
    fn counts_must_be_exact_and_words_equal() {
        assert!(!near(Value::Number(255), Value::Number(256)));
        assert!(near(Value::Number(8_150), Value::Number(8_192)));
        assert!(!near(Value::Word("a"), Value::Word("b")));
    }

    #[test]
    fn every_question_fits_into_a_record_and_has_a_name_of_its_own() {
        for (index, question) in QUESTIONS.iter().enumerate() {
            assert!(question.name.len() <= 24 && question.about.len() <= 50, "{}", question.name);
            assert!(QUESTIONS[..index].iter().all(|other| other.name != question.name), "{}", question.name);
        }
    }
}
