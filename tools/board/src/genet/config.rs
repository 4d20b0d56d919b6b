//! What a user of the model may set: the boot state that firmware can meet, the readings of the hardware that nobody
//! has settled, and faults.
//!
//! Every enum in [`Switches`] is a question that public sources leave open; its default is the reading with the most
//! evidence. A verdict or a driver that is right under one setting only is not right.

use crate::phy::PhyConfig;

/// Configuration of one GENET with its PHY.
#[derive(Clone, Debug)]
pub struct GenetConfig {
    /// Seed of poisoned reset values.
    pub seed: u64,
    /// Nothing answers: every read returns this value, writes vanish.
    pub absent: Option<u32>,
    /// SYS_REV_CTRL. `0x0600_0000` was read on a Pi 4B 1.5 (rusty-pi/pimu); major 5 would be GENET v4.
    pub revision: u32,
    /// The board's address, which an earlier boot stage leaves in UMAC_MAC0/1.
    pub mac: [u8; 6],
    /// What ran before us.
    pub inherited: Inherited,
    /// Register values met at boot.
    pub found: Found,
    /// Open readings of the hardware.
    pub switches: Switches,
    /// Faults.
    pub faults: Faults,
    /// What hardware cannot do: for experiments that take one cause away and leave the rest.
    pub ideal: Ideal,
    /// The PHY.
    pub phy: PhyConfig,
    /// Time of one MDIO transaction; 64 bits at 2.5 MHz by default.
    pub mdio_busy_ns: u64,
}

impl Default for GenetConfig {
    fn default() -> Self {
        GenetConfig {
            seed: 1,
            absent: None,
            revision: 0x0600_0000,
            mac: [0xDC, 0xA6, 0x32, 0x01, 0x02, 0x03],
            inherited: Inherited::SdCard,
            found: Found::default(),
            switches: Switches::default(),
            faults: Faults::default(),
            ideal: Ideal::default(),
            phy: PhyConfig::default(),
            mdio_busy_ns: 25_600,
        }
    }
}

/// The boot path, as far as it shows in GENET's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherited {
    /// Cold boot from a card: UniMAC still held in reset, DMA off, indices 0.
    SdCard,
    /// U-Boot used the port: DMA_EN clear but the ring bits still set, indices and pointers where they stopped
    /// (U-Boot bcmgenet clears only DMA_EN).
    UBoot,
    /// The bootloader fetched the image over this port and left both engines running into its own buffers.
    NetworkBoot,
}

/// Register values met at boot that no public source states. They return with every cold start of the model, not with
/// the resets inside the block.
#[derive(Clone, Debug)]
pub struct Found {
    /// RDMA MBUF_DONE_THRESH of every ring.
    pub threshold: u32,
    /// RDMA ring timeout of every ring, raw 32 bits (1 tick = 8.192 us).
    pub timeout: u32,
    /// RDMA and TDMA indices of ring 16; `None` = 0 on a cold boot, from the seed otherwise.
    pub rx_index: Option<u16>,
    /// The same for transmit.
    pub tx_index: Option<u16>,
    /// RDMA WRITE_PTR of ring 16 as a descriptor number; `None` = the index modulo 256.
    pub rx_slot: Option<u16>,
    /// RBUF_CTRL. `0xC040` measured (rusty-pi/pimu); bit 0 set is the stale 64-byte status that AmiNetXDuo met.
    pub rbuf_ctrl: u32,
    /// UMAC PAUSE_CTRL. Reset value not known to anybody.
    pub pause_ctrl: u32,
    /// UMAC PAUSE_QUANTA; `0xFFFF` measured (rusty-pi/pimu).
    pub pause_quanta: u32,
    /// RDMA back-pressure MASK.
    pub rdma_mask: u32,
    /// What a reset by MIB_CTRL leaves in every MIB counter. Real ones hold 0; a start just below 2^32 brings the wrap
    /// within reach of a test.
    pub mib_start: u32,
    /// Where [`Inherited::NetworkBoot`] and [`Inherited::UBoot`] left their receive buffers (256 x 2048 bytes).
    pub stale_buffers_pa: u64,
}

impl Default for Found {
    fn default() -> Self {
        Found {
            threshold: 1,
            timeout: 0,
            rx_index: None,
            tx_index: None,
            rx_slot: None,
            rbuf_ctrl: 0xC040,
            pause_ctrl: 0,
            pause_quanta: 0xFFFF,
            rdma_mask: 0,
            mib_start: 0,
            stale_buffers_pa: 0x1000_0000,
        }
    }
}

/// Readings of the hardware between which public sources do not decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// What the coalescing count counts from.
    pub count: CountMode,
    /// When the ring timer starts.
    pub timer: TimerStart,
    /// What THRESH 0 means.
    pub threshold_zero: ThresholdZero,
    /// What decides which descriptor a frame takes.
    pub slots: SlotRule,
    /// What the 16-bit discard counter does at its end.
    pub discards: DiscardEnd,
    /// What passes with MDF_CTRL = 0 and PROMISC clear.
    pub empty_filter: EmptyFilter,
    /// When a ring below XOFF asks for a PAUSE frame.
    pub xoff: XoffTrigger,
    /// What the RDMA back-pressure MASK does.
    pub back_pressure_mask: BackPressureMask,
    /// Whether PAUSE frames that the MAC sends count in the general TX counters too.
    pub pause_count: PauseCount,
    /// Whether the sum of MAC and PHY clock delays matters.
    pub rgmii: RgmiiTiming,
    /// What RDMA gets of a frame longer than MAX_FRAME_LEN.
    pub long_frames: LongFrames,
    /// Where a frame goes that no filter has sent anywhere.
    pub default_ring: DefaultRing,
}

/// The ring of frames without a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultRing {
    /// Ring 16 if it runs, else the lowest that does.
    #[default]
    Running,
    /// Ring 16 always: with that off they are lost. (Linux has a catch-all filter since it moved to ring 0 in 2025,
    /// which only this reading needs; rusty-pi/pimu notes the filter.)
    Ring16,
}

/// What the count towards MBUF_DONE_THRESH counts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountMode {
    /// From the last event.
    #[default]
    SinceEvent,
    /// From the last write of the ring's bit to CPU_CLEAR.
    SinceClear,
}

/// When the ring timer starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimerStart {
    /// At the first waiting packet (fits what AmiNetXDuo measured).
    #[default]
    FirstPacket,
    /// Again at every packet.
    LastPacket,
    /// It never stops; an event comes at its ticks when a packet waits (contradicted by AmiNetXDuo's sweep).
    FreeRunning,
}

/// What MBUF_DONE_THRESH = 0 means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThresholdZero {
    /// Never by count (what Linux's range check assumes).
    #[default]
    Never,
    /// The same as 1.
    AsOne,
}

/// What decides which descriptor a received frame takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotRule {
    /// WRITE_PTR, which ignores writes while the ring's bit in CTRL is set.
    #[default]
    Pointer,
    /// The index modulo the ring's size; pointers do not matter.
    IndexModuloSize,
}

/// What the discard counter does when it has counted 65535.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiscardEnd {
    /// It stays there. Linux clears the counter early, which only a saturating one needs. Certainty C.
    #[default]
    Saturates,
    /// It starts again at 0.
    Wraps,
}

/// What passes the address filter with no filter enabled and PROMISC clear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyFilter {
    /// Everything. U-Boot works this way.
    #[default]
    AcceptsAll,
    /// Broadcast and the address in UMAC_MAC0/1. U-Boot works this way too.
    AcceptsOwn,
}

/// When a ring whose free descriptors are below XOFF asks for a PAUSE frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XoffTrigger {
    /// Once, when it falls below; repeated only by PAUSE_CTRL.
    #[default]
    OnEntry,
    /// When it falls below and again for each frame that arrives while it is below.
    EachFrame,
}

/// Polarity of the RDMA MASK register (0x3054).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackPressureMask {
    /// A set bit keeps the ring from asking for PAUSE.
    #[default]
    SetBlocks,
    /// A set bit lets the ring ask.
    SetEnables,
}

/// How PAUSE frames of the MAC's own making are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PauseCount {
    /// In tx_pf, control, packets, bytes, multicast and the 64-byte bucket.
    #[default]
    Everywhere,
    /// In tx_pf and control only.
    PauseOnly,
}

/// Whether wrong clock delays damage frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RgmiiTiming {
    /// Frames pass whatever the delays are: both settings of ID_MODE_DIS have been seen to link.
    #[default]
    Forgiving,
    /// Exactly one side must delay each clock; otherwise a fifth of the frames in that direction has a wrong FCS.
    Strict,
}

/// What RDMA gets of a frame longer than MAX_FRAME_LEN. Drivers agree on the "too long" bit and on nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LongFrames {
    /// Its first MAX_FRAME_LEN bytes.
    #[default]
    Cut,
    /// All of it, in pieces of RBUF_PKT_RDY_THLD x 16 bytes (raspberrypi/linux PR 5419 saw pieces).
    InPieces,
}

/// Faults of the MAC itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// How MDIO misbehaves.
    pub mdio: MdioFault,
    /// DMA_STATUS follows a cleared DMA_EN this much later.
    pub dma_stop_ns: u64,
    /// The engines never report that they stopped.
    pub dma_never_stops: bool,
    /// Interrupt line 0 never rises.
    pub irq0_dead: bool,
    /// Interrupt line 0 never falls.
    pub irq0_stuck: bool,
    /// Interrupt line 1 never falls.
    pub irq1_stuck: bool,
    /// A ring that is not enabled asks for PAUSE frames too while RDMA runs and its indices say that it is below XOFF.
    pub idle_rings_ask: bool,
    /// Every so many-th RXDMA_MBDONE does not latch; 0: all do.
    pub lost_mbdone_every: u32,
    /// What is sent in a loopback does not come back. (On silicon the MAC's own may need a clock of the PHY's.)
    pub loopback: LoopbackFault,
    /// Line 0 rises without a cause.
    pub irq0_pulses: Option<Pulses>,
}

/// A MAC without one of its limits, whatever the driver programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ideal {
    /// Every packet raises RXDMA_MBDONE, whatever threshold and timeout hold.
    pub prompt: bool,
    /// A frame that finds no free descriptor waits for one instead of being discarded. Levels and PAUSE stay as they are.
    pub patient: bool,
}

/// A line that rises by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulses {
    /// From one rise to the next.
    pub period_ns: u64,
    /// How long it stays up; shorter than the period.
    pub length_ns: u64,
}

/// Which loopbacks return nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopbackFault {
    /// None.
    #[default]
    None,
    /// The MAC's own.
    MacSilent,
    /// Both the MAC's and the PHY's.
    AllSilent,
    /// Both, and nothing is sent in them either, as without a transmit clock: frames stay in ring and FIFO.
    NoClock,
    /// One frame in so many comes back.
    Loses(u32),
}

/// How the MDIO block misbehaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MdioFault {
    /// Not at all.
    #[default]
    None,
    /// START_BUSY never falls.
    Stuck,
    /// Every read fails.
    Fails,
    /// The first read after reset fails (Linux reads BMSR once for this).
    FirstReadFails,
    /// Reads answer all ones, without READ_FAIL: the lines float and nobody notices.
    AllOnes,
}
