//! Translation tables: 4 KiB granule, 36-bit identity map, levels 1 to 3.
//!
//! Pure arithmetic on a pool of tables, so it runs in host tests. Descriptor bits: Arm ARM,
//! VMSAv8-64 stage 1.

use core::fmt;

/// Bytes of a page and of a table.
pub const PAGE_BYTES: u64 = 4096;
const BLOCK_BYTES: u64 = 2 << 20;
/// First address beyond the 36-bit space that TCR_EL1 is set up for.
pub const SPACE_END: u64 = 1 << 36;

const VALID: u64 = 1;
const TABLE_OR_PAGE: u64 = 2;
const AF: u64 = 1 << 10;
const INNER_SHAREABLE: u64 = 3 << 8;
const READ_ONLY: u64 = 1 << 7;
const PXN: u64 = 1 << 53;
const UXN: u64 = 1 << 54;
const ADDRESS: u64 = 0x0000_ffff_ffff_f000;

/// What may be done with a range. Only code is executable, nothing is writable and executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Normal write-back memory, read-only, executable at EL1.
    Code,
    /// Normal write-back memory, read-only.
    Constant,
    /// Normal write-back memory.
    Data,
    /// Normal non-cacheable memory, for words that another agent reads without caches.
    Uncached,
    /// Device-nGnRnE.
    Device,
}

impl Rights {
    /// Lower and upper attributes of a leaf. MAIR_EL1 indices as boot.s sets them: 0 Device-nGnRnE,
    /// 1 Normal write-back, 2 Normal non-cacheable.
    const fn bits(self) -> u64 {
        match self {
            Rights::Code => AF | INNER_SHAREABLE | (1 << 2) | READ_ONLY | UXN,
            Rights::Constant => AF | INNER_SHAREABLE | (1 << 2) | READ_ONLY | UXN | PXN,
            Rights::Data => AF | INNER_SHAREABLE | (1 << 2) | UXN | PXN,
            Rights::Uncached => AF | INNER_SHAREABLE | (2 << 2) | UXN | PXN,
            Rights::Device => AF | UXN | PXN,
        }
    }
}

/// One table of 512 descriptors.
#[repr(C, align(4096))]
#[derive(Clone)]
pub struct Table(pub [u64; 512]);

impl Table {
    /// A table that maps nothing.
    pub const EMPTY: Table = Table([0; 512]);
}

/// Why a range was not mapped. Nothing of it may be relied on then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapError {
    /// The pool of tables is used up.
    OutOfTables,
    /// Start or length is not a multiple of 4 KiB, or the range leaves the 36-bit space.
    BadRange {
        /// First byte asked for.
        start: u64,
        /// Length asked for.
        bytes: u64,
    },
    /// Something is mapped there already with other rights.
    Taken {
        /// Address of the page or block.
        address: u64,
    },
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapError::OutOfTables => write!(f, "no translation table left"),
            MapError::BadRange { start, bytes } => write!(f, "range {start:#x}+{bytes:#x} cannot be mapped"),
            MapError::Taken { address } => write!(f, "{address:#x} is mapped already with other rights"),
        }
    }
}

impl core::error::Error for MapError {}

/// Builds an identity map in a pool of tables. Entry 0 of the pool is the level 1 table.
///
/// `map` makes only invalid entries valid, so a map that is in use needs no TLB maintenance when
/// it grows, only a barrier (`mmu::extend`); `unmap` does (`mmu::retract`).
pub struct Mapper<'a> {
    pool: &'a mut [Table],
    /// Physical address of `pool[0]`.
    pool_pa: u64,
    used: usize,
}

impl<'a> Mapper<'a> {
    /// `pool` lies at physical address `pool_pa`; its first `used` tables are in use (0: a new map).
    pub fn new(pool: &'a mut [Table], pool_pa: u64, used: usize) -> Self {
        Mapper { pool, pool_pa, used: used.max(1) }
    }

    /// How many tables of the pool are in use.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Maps `bytes` from `start` to themselves, in 2 MiB blocks where both ends allow it.
    pub fn map(&mut self, start: u64, bytes: u64, rights: Rights) -> Result<(), MapError> {
        let bad = MapError::BadRange { start, bytes };
        let end = start.checked_add(bytes).filter(|&end| end <= SPACE_END).ok_or(bad)?;
        if !start.is_multiple_of(PAGE_BYTES) || !bytes.is_multiple_of(PAGE_BYTES) {
            return Err(bad);
        }
        let mut at = start;
        while at < end {
            let level2 = self.next_table(0, index(at, 30))?;
            let entry = index(at, 21);
            let block = at.is_multiple_of(BLOCK_BYTES) && end - at >= BLOCK_BYTES;
            if block && self.pool[level2].0[entry] & (VALID | TABLE_OR_PAGE) != VALID | TABLE_OR_PAGE {
                self.set_leaf(level2, entry, at | rights.bits() | VALID)?;
                at += BLOCK_BYTES;
            } else {
                let level3 = self.next_table(level2, entry)?;
                self.set_leaf(level3, index(at, 12), at | rights.bits() | TABLE_OR_PAGE | VALID)?;
                at += PAGE_BYTES;
            }
        }
        Ok(())
    }

    /// Makes the pages of a range invalid. Ranges that were mapped in blocks, or not at all, stay as they are. The caller
    /// drops the translations.
    pub fn unmap(&mut self, start: u64, bytes: u64) {
        for at in (start..start.saturating_add(bytes)).step_by(PAGE_BYTES as usize) {
            let Some(level2) = self.table_below(0, index(at, 30)) else { continue };
            let Some(level3) = self.table_below(level2, index(at, 21)) else { continue };
            self.pool[level3].0[index(at, 12)] = 0;
        }
    }

    /// Index in the pool of the table that `entry` of `table` points at.
    fn table_below(&self, table: usize, entry: usize) -> Option<usize> {
        let descriptor = self.pool[table].0[entry];
        let is_table = descriptor & (VALID | TABLE_OR_PAGE) == VALID | TABLE_OR_PAGE;
        is_table.then(|| ((descriptor & ADDRESS) - self.pool_pa) as usize / PAGE_BYTES as usize)
    }

    fn set_leaf(&mut self, table: usize, entry: usize, descriptor: u64) -> Result<(), MapError> {
        let slot = &mut self.pool[table].0[entry];
        if *slot & VALID != 0 && *slot != descriptor {
            return Err(MapError::Taken { address: descriptor & ADDRESS });
        }
        *slot = descriptor;
        Ok(())
    }

    /// Index in the pool of the table that `entry` of `table` points at, made when there is none.
    fn next_table(&mut self, table: usize, entry: usize) -> Result<usize, MapError> {
        let descriptor = self.pool[table].0[entry];
        if descriptor & VALID == 0 {
            let fresh = self.used;
            if fresh == self.pool.len() {
                return Err(MapError::OutOfTables);
            }
            self.used += 1;
            let pa = self.pool_pa + fresh as u64 * PAGE_BYTES;
            self.pool[table].0[entry] = pa | TABLE_OR_PAGE | VALID;
            return Ok(fresh);
        }
        if descriptor & TABLE_OR_PAGE == 0 {
            return Err(MapError::Taken { address: descriptor & ADDRESS });
        }
        Ok(((descriptor & ADDRESS) - self.pool_pa) as usize / PAGE_BYTES as usize)
    }

    /// What a walk of the map finds for `address`: the leaf descriptor.
    pub fn lookup(&self, address: u64) -> Option<u64> {
        let mut table = 0;
        for shift in [30, 21, 12] {
            let descriptor = self.pool[table].0[index(address, shift)];
            if descriptor & VALID == 0 {
                return None;
            }
            if shift == 12 || descriptor & TABLE_OR_PAGE == 0 {
                return Some(descriptor);
            }
            table = ((descriptor & ADDRESS) - self.pool_pa) as usize / PAGE_BYTES as usize;
        }
        None
    }
}

const fn index(address: u64, shift: u32) -> usize {
    (address >> shift) as usize & 511
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(n: usize) -> Vec<Table> {
        vec![Table::EMPTY; n]
    }

    #[test]
    fn maps_blocks_inside_and_pages_at_the_ends() {
        let mut tables = pool(8);
        let mut map = Mapper::new(&mut tables, 0x10_0000, 0);
        map.map(0x1f_f000, 0x40_2000, Rights::Data).unwrap();
        assert_eq!(map.lookup(0x1f_e000), None);
        assert_eq!(map.lookup(0x1f_f000).unwrap() & 3, 3, "a page");
        assert_eq!(map.lookup(0x20_0000).unwrap() & 3, 1, "a block");
        assert_eq!(map.lookup(0x20_0000).unwrap() & ADDRESS, 0x20_0000);
        assert_eq!(map.lookup(0x60_0000).unwrap() & 3, 3);
        assert_eq!(map.lookup(0x60_1000), None);
    }

    #[test]
    fn nothing_is_writable_and_executable() {
        for rights in [Rights::Code, Rights::Constant, Rights::Data, Rights::Uncached, Rights::Device] {
            let bits = rights.bits();
            assert!(bits & PXN != 0 || bits & READ_ONLY != 0, "{rights:?}");
            assert!(bits & UXN != 0 && bits & AF != 0, "{rights:?}");
        }
        assert_eq!(Rights::Device.bits() & (7 << 2), 0, "MAIR index 0");
    }

    #[test]
    fn refuses_what_it_cannot_do() {
        let mut tables = pool(3);
        let mut map = Mapper::new(&mut tables, 0, 0);
        assert!(matches!(map.map(0x800, 0x1000, Rights::Data), Err(MapError::BadRange { .. })));
        assert!(matches!(map.map(SPACE_END - 0x1000, 0x2000, Rights::Data), Err(MapError::BadRange { .. })));
        assert!(matches!(map.map(u64::MAX - 0xfff, 0x2000, Rights::Data), Err(MapError::BadRange { .. })));
        map.map(0x1000, 0x1000, Rights::Data).unwrap();
        map.map(0x1000, 0x1000, Rights::Data).unwrap();
        assert_eq!(map.map(0x1000, 0x1000, Rights::Code), Err(MapError::Taken { address: 0x1000 }));
        assert_eq!(map.map(0x4000_0000, 0x1000, Rights::Data), Err(MapError::OutOfTables));
    }

    #[test]
    fn a_page_goes_and_its_neighbours_stay() {
        let mut tables = pool(8);
        let mut map = Mapper::new(&mut tables, 0x10_0000, 0);
        map.map(0, 0x3000, Rights::Data).unwrap();
        map.map(0x20_0000, 0x20_0000, Rights::Data).unwrap();
        map.unmap(0x1000, 0x1000);
        map.unmap(0x20_0000, 0x1000);
        map.unmap(0x8000_0000, 0x1000);
        assert!(map.lookup(0).is_some() && map.lookup(0x1000).is_none() && map.lookup(0x2000).is_some());
        assert!(map.lookup(0x20_0000).is_some(), "part of a block");
        map.map(0x1000, 0x1000, Rights::Constant).unwrap();
    }

    #[test]
    fn a_map_can_be_taken_up_again() {
        let mut tables = pool(6);
        let mut map = Mapper::new(&mut tables, 0x8000, 0);
        map.map(0xfc00_0000, 0x0400_0000, Rights::Device).unwrap();
        let used = map.used();
        let mut again = Mapper::new(&mut tables, 0x8000, used);
        again.map(0x2eff_0000, 0x2000, Rights::Constant).unwrap();
        assert!(again.lookup(0xfe20_1000).is_some() && again.lookup(0x2eff_1000).is_some());
    }
}
