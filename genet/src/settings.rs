//! Receive settings: asked for, read back, compared.
//!
//! Owns the types only; they hold data and know no register, so that a benchmark can use them without a driver.

use core::fmt;

/// Descriptors of a ring.
pub const RING_SIZE: u16 = 256;
/// Largest MBUF_DONE_THRESH: nine bits (Linux and NetBSD mask 0x1FF).
pub const MAX_THRESHOLD: u16 = 0x1ff;

/// Everything about receive that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RxSettings {
    /// Frames per interrupt at most (MBUF_DONE_THRESH); `None`: as found at boot.
    pub threshold: Option<u16>,
    /// Ticks of 8.192 us from a frame to its interrupt at most (RING_TIMEOUT); `None`: as found at boot.
    pub timeout_ticks: Option<u16>,
    /// Descriptors given to the hardware.
    pub posted: Posted,
    /// Free descriptors below which the ring asks for a PAUSE frame.
    pub xoff: u16,
    /// Free descriptors above which it stops asking.
    pub xon: u16,
    /// PAUSE, both directions.
    pub pause: Pause,
    /// Interrupts or polling.
    pub mode: RxMode,
    /// Quanta of 512 bit times in each PAUSE frame that the MAC sends (PAUSE_QUANTA); `None`: as the UniMAC's reset
    /// leaves it, which no driver changes.
    pub quanta: Option<u16>,
    /// RGMII_OOB_CTRL.ID_MODE_DIS: the MAC does not delay the transmit clock. `None`: it does, as with Linux and the
    /// BSDs; U-Boot and Circle switch it off.
    pub id_mode_dis: Option<bool>,
    /// The ring of RDMA that frames are received through.
    pub ring: RxRing,
}

impl Default for RxSettings {
    /// What Linux programs: an interrupt per frame, everything posted, watermarks 5 and 16.
    fn default() -> Self {
        RxSettings {
            threshold: Some(1),
            timeout_ticks: Some(0),
            posted: Posted::Fixed(RING_SIZE),
            xoff: 5,
            xon: 16,
            pause: Pause::Negotiated,
            mode: RxMode::Interrupt,
            quanta: None,
            id_mode_dis: None,
            ring: RxRing::Ring16,
        }
    }
}

/// A receive ring of RDMA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RxRing {
    /// The ring of all drivers but one; its interrupts are in INTRL2_0.
    #[default]
    Ring16,
    /// The ring of Linux since 2025; its interrupts are in INTRL2_1.
    Ring0,
}

impl RxRing {
    /// Its number.
    pub const fn number(self) -> u32 {
        match self {
            RxRing::Ring16 => 16,
            RxRing::Ring0 => 0,
        }
    }
}

/// How many of the ring's 256 descriptors the hardware may fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// This many, 1 to 256, refilled every few frames.
    Fixed(u16),
    /// OpenBSD's rule (sys/net/if.c `if_rxr`): `start` at first, one more at most once in 10 ms and only if fewer
    /// than `start` were left when the batch was done; refilled once a batch.
    Growing {
        /// Descriptors at first, 1 to 256. OpenBSD: 2.
        start: u16,
    },
}

impl Posted {
    /// Descriptors posted when the setting takes effect.
    pub const fn at_start(self) -> u16 {
        match self {
            Posted::Fixed(count) => count,
            Posted::Growing { start } => start,
        }
    }
}

/// Who decides about PAUSE frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The autonegotiated result, as Linux does.
    Negotiated,
    /// The MAC, whatever was negotiated. The BSDs do `send: true, obey: true` by never touching the bits.
    Forced {
        /// Send PAUSE when a ring asks for it.
        send: bool,
        /// Stop transmitting when told to.
        obey: bool,
    },
}

/// How the driver learns of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RxMode {
    /// RXDMA_MBDONE.
    Interrupt,
    /// Somebody looks; the interrupt stays masked.
    Poll,
}

/// [`RxSettings`] as the hardware holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RxReadback {
    /// MBUF_DONE_THRESH.
    pub threshold: u16,
    /// RING_TIMEOUT, lower half.
    pub timeout_ticks: u16,
    /// Descriptors that the hardware may fill, from CONS_INDEX.
    pub posted: u16,
    /// XON_XOFF_THRESH, upper half.
    pub xoff: u16,
    /// XON_XOFF_THRESH, lower half.
    pub xon: u16,
    /// UMAC_CMD.TX_PAUSE_IGNORE is clear.
    pub send_pause: bool,
    /// UMAC_CMD.RX_PAUSE_IGNORE is clear.
    pub obey_pause: bool,
    /// From the mask of the ring's interrupt.
    pub mode: RxMode,
    /// PAUSE_QUANTA.
    pub quanta: u16,
    /// RGMII_OOB_CTRL.ID_MODE_DIS.
    pub id_mode_dis: bool,
    /// The ring that RDMA_CTRL enables.
    pub ring: RxRing,
}

impl RxReadback {
    /// The first setting that the hardware did not take, by its record key; `None` if it took all.
    ///
    /// A threshold, timeout or quanta "as found" and a negotiated PAUSE have nothing to compare with here;
    /// [`Genet::apply`](crate::Genet::apply) checks those itself and fails.
    pub fn ignored(&self, want: &RxSettings) -> Option<&'static str> {
        let differs = [
            (want.threshold.is_some_and(|t| t != self.threshold), "thr"),
            (want.timeout_ticks.is_some_and(|t| t != self.timeout_ticks), "tmo_ticks"),
            (want.posted.at_start() != self.posted, "posted"),
            (want.xoff != self.xoff, "xoff"),
            (want.xon != self.xon, "xon"),
            (matches!(want.pause, Pause::Forced { send, .. } if send != self.send_pause), "tx_pause"),
            (matches!(want.pause, Pause::Forced { obey, .. } if obey != self.obey_pause), "rx_pause"),
            (want.mode != self.mode, "mode"),
            (want.quanta.is_some_and(|q| q != self.quanta), "quanta"),
            (want.id_mode_dis.is_some_and(|d| d != self.id_mode_dis), "id_mode"),
            (want.ring != self.ring, "ring"),
        ];
        differs.iter().find(|(differs, _)| *differs).map(|(_, key)| *key)
    }
}

/// When and how large: of the frame that [`receive`](smoltcp::phy::Device::receive) handed out last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameStamp {
    /// Its free-running index in the ring, modulo 65536.
    pub index: u16,
    /// When the hardware put it into the ring, ns, if somebody watched. The driver leaves it to whoever did.
    pub arrival_ns: Option<u64>,
    /// When the interrupt for its batch was entered (in poll mode: when it was found), ns.
    pub irq_ns: u64,
    /// Length without FCS.
    pub bytes: u32,
}

/// Why settings were not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// A value that the register cannot hold or that makes no sense. Nothing was written.
    OutOfRange {
        /// Record key of the setting.
        key: &'static str,
        /// Asked for.
        value: u16,
        /// Smallest allowed.
        min: u16,
        /// Largest allowed.
        max: u16,
    },
    /// The value found at boot, or the negotiated one, did not stay when written back.
    NotRestored {
        /// Record key of the setting.
        key: &'static str,
        /// Written.
        want: u16,
        /// Read back.
        got: u16,
    },
    /// The board has no use of the interrupt that the settings need: its line does not fall.
    NoInterrupt,
    /// The receive engine did not stop for a smaller ring.
    DmaStuck {
        /// How long it was given, us.
        waited_us: u32,
    },
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ApplyError::OutOfRange { key, value, min, max } => write!(f, "{key}={value} is not in {min}..={max}"),
            ApplyError::NotRestored { key, want, got } => write!(f, "{key} stayed {got} when {want} was written back"),
            ApplyError::NoInterrupt => write!(
                f,
                "the interrupt line does not fall and is blocked: switch the board off and on, measure by polling \
                 (gb.presets=poll), or take another board"
            ),
            ApplyError::DmaStuck { waited_us } => write!(f, "receive DMA did not stop within {waited_us} us"),
        }
    }
}

impl core::error::Error for ApplyError {}
