//! What may be the cause, in words.

/// A hypothesis about why a board receives slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hypothesis {
    /// Frames wait for the ring's threshold or timer.
    Coalescing,
    /// The MAC sends PAUSE because few descriptors are free, and the other end obeys.
    PauseSent,
    /// The other end sends PAUSE, and our acknowledgements wait.
    PauseReceived,
    /// Energy-efficient Ethernet: the link sleeps and wakes badly.
    Eee,
    /// One end is in half duplex, the other in full.
    Duplex,
    /// Frames are damaged on the link.
    Lossy,
    /// The receive window over the round trip is the rate.
    Window,
    /// The sender or the way to it is the limit.
    Path,
    /// The ring has too few descriptors for a burst, and frames are discarded.
    Overrun,
    /// The processor is the limit.
    Cpu,
    /// The link is full.
    Nothing,
}

impl Hypothesis {
    /// All of them, in the order in which they are reported.
    pub const ALL: [Hypothesis; 11] = [
        Hypothesis::Coalescing,
        Hypothesis::PauseSent,
        Hypothesis::PauseReceived,
        Hypothesis::Eee,
        Hypothesis::Duplex,
        Hypothesis::Lossy,
        Hypothesis::Window,
        Hypothesis::Path,
        Hypothesis::Overrun,
        Hypothesis::Cpu,
        Hypothesis::Nothing,
    ];

    /// The word of records.
    pub fn word(self) -> &'static str {
        match self {
            Hypothesis::Coalescing => "coalescing",
            Hypothesis::PauseSent => "pause_sent",
            Hypothesis::PauseReceived => "pause_received",
            Hypothesis::Eee => "eee",
            Hypothesis::Duplex => "duplex",
            Hypothesis::Lossy => "lossy",
            Hypothesis::Window => "window",
            Hypothesis::Path => "path",
            Hypothesis::Overrun => "overrun",
            Hypothesis::Cpu => "cpu",
            Hypothesis::Nothing => "nothing",
        }
    }

    /// The claim, for people.
    pub fn claim(self) -> &'static str {
        match self {
            Hypothesis::Coalescing => "frames wait for the receive interrupt (coalescing)",
            Hypothesis::PauseSent => "the board sends PAUSE and the other end obeys",
            Hypothesis::PauseReceived => "the other end sends PAUSE and holds our acknowledgements",
            Hypothesis::Eee => "energy-efficient Ethernet",
            Hypothesis::Duplex => "the two ends disagree about duplex",
            Hypothesis::Lossy => "the cable or link damages frames",
            Hypothesis::Window => "the TCP window over the round trip is the limit",
            Hypothesis::Path => "the sender or the way to it is the limit",
            Hypothesis::Overrun => "the receive ring overruns",
            Hypothesis::Cpu => "the processor is the limit",
            Hypothesis::Nothing => "nothing is wrong: the link is full",
        }
    }
}

/// What is known about a hypothesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is a cause, by experiment.
    Confirmed,
    /// It is not.
    Refuted,
    /// The data do not decide.
    Open,
}

impl State {
    /// The word of records.
    pub fn word(self) -> &'static str {
        match self {
            State::Confirmed => "confirmed",
            State::Refuted => "refuted",
            State::Open => "open",
        }
    }
}
