//! MIB counters (0xC00): 32 bits each, wrapping, not cleared by reading.

use super::Register;
use tock_registers::register_bitfields;

register_bitfields![u32,
    pub CTRL [
        RESET_RX OFFSET(0) NUMBITS(1) [],
        RESET_RUNT OFFSET(1) NUMBITS(1) [],
        RESET_TX OFFSET(2) NUMBITS(1) []
    ]
];

pub const CTRL: Register<CTRL::Register> = Register::at(0xd80);

/// Number of counters.
pub const COUNT: usize = 62;
/// Name and offset of each.
pub const ALL: [(&str, u32); COUNT] = [
    ("rx_64", 0xc00),
    ("rx_65_127", 0xc04),
    ("rx_128_255", 0xc08),
    ("rx_256_511", 0xc0c),
    ("rx_512_1023", 0xc10),
    ("rx_1024_1518", 0xc14),
    ("rx_1519_1522_vlan", 0xc18),
    ("rx_1522_2047", 0xc1c),
    ("rx_2048_4095", 0xc20),
    ("rx_4096_9216", 0xc24),
    ("rx_packets", 0xc28),
    ("rx_bytes", 0xc2c),
    ("rx_multicast", 0xc30),
    ("rx_broadcast", 0xc34),
    ("rx_fcs", 0xc38),
    ("rx_control", 0xc3c),
    ("rx_pf", 0xc40),
    ("rx_unknown_opcode", 0xc44),
    ("rx_alignment", 0xc48),
    ("rx_length", 0xc4c),
    ("rx_code", 0xc50),
    ("rx_carrier", 0xc54),
    ("rx_oversize", 0xc58),
    ("rx_jabber", 0xc5c),
    ("rx_mtu", 0xc60),
    ("rx_good", 0xc64),
    ("rx_unicast", 0xc68),
    ("rx_ppp", 0xc6c),
    ("rx_crc_match", 0xc70),
    ("tx_64", 0xc80),
    ("tx_65_127", 0xc84),
    ("tx_128_255", 0xc88),
    ("tx_256_511", 0xc8c),
    ("tx_512_1023", 0xc90),
    ("tx_1024_1518", 0xc94),
    ("tx_1519_1522_vlan", 0xc98),
    ("tx_1522_2047", 0xc9c),
    ("tx_2048_4095", 0xca0),
    ("tx_4096_9216", 0xca4),
    ("tx_packets", 0xca8),
    ("tx_multicast", 0xcac),
    ("tx_broadcast", 0xcb0),
    ("tx_pf", 0xcb4),
    ("tx_control", 0xcb8),
    ("tx_fcs", 0xcbc),
    ("tx_oversize", 0xcc0),
    ("tx_deferred", 0xcc4),
    ("tx_excessive_deferral", 0xcc8),
    ("tx_single_collision", 0xccc),
    ("tx_multiple_collision", 0xcd0),
    ("tx_late_collision", 0xcd4),
    ("tx_excessive_collision", 0xcd8),
    ("tx_fragments", 0xcdc),
    ("tx_collisions", 0xce0),
    ("tx_jabber", 0xce4),
    ("tx_bytes", 0xce8),
    ("tx_good", 0xcec),
    ("tx_unicast", 0xcf0),
    ("rx_runt", 0xd00),
    ("rx_runt_fcs_ok", 0xd04),
    ("rx_runt_fcs_bad", 0xd08),
    ("rx_runt_bytes", 0xd0c),
];

/// Place of a counter in [`ALL`], by offset.
pub const fn position(offset: u32) -> usize {
    let mut at = 0;
    while at < COUNT {
        if ALL[at].1 == offset {
            return at;
        }
        at += 1;
    }
    panic!("no such MIB counter"); // at compile time: only used in constants
}

/// PAUSE frames received.
pub const RX_PF: usize = position(0xc40);
/// PAUSE frames sent.
pub const TX_PF: usize = position(0xcb4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_banks_without_holes_and_names_without_doubles() {
        let ranges = [(0xc00, 0xc70), (0xc80, 0xcf0), (0xd00, 0xd0c)];
        let expected: Vec<u32> = ranges.iter().flat_map(|&(a, b)| (a..=b).step_by(4)).collect();
        assert_eq!(ALL.map(|(_, offset)| offset).to_vec(), expected);
        let mut names = ALL.map(|(name, _)| name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COUNT);
        assert_eq!((ALL[RX_PF].0, ALL[TX_PF].0), ("rx_pf", "tx_pf"));
    }
}
