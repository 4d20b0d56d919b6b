//! The BCM54210E PHY (BCM54213PE on a Pi 4B) as seen over MDIO, and its autonegotiation in virtual time.

/// Configuration of the PHY.
#[derive(Clone, Debug)]
pub struct PhyConfig {
    /// False: nobody answers on MDIO and no link ever comes.
    pub present: bool,
    /// MDIO address; 1 on a Pi 4, 0 in some early device trees (Circle).
    pub address: u8,
    /// ID registers 2 and 3. `0x600D_84A2` read on a Pi 4B 1.5 (rusty-pi/pimu).
    pub id: u32,
    /// From the start of autonegotiation to link.
    pub negotiation_ns: u64,
    /// The link is up at reset already, as after a boot stage that used it.
    pub up_at_reset: bool,
    /// MMD 7.60 after reset. Not known; the chip reports EEE for 100 and 1000.
    pub eee_advertised: u16,
}

impl Default for PhyConfig {
    fn default() -> Self {
        PhyConfig {
            present: true,
            address: 1,
            id: 0x600D_84A2,
            negotiation_ns: 2_500_000_000,
            up_at_reset: false,
            eee_advertised: 0x0006,
        }
    }
}
