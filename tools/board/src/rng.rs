//! The only source of chance in the models: splitmix64 (Steele, Lea, Flood 2014), always from a stated seed.

/// A splitmix64 generator.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator whose whole future follows from `seed`.
    pub const fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// True with a probability of `ppm` millionths. Draws nothing when the answer is certain.
    pub fn chance_ppm(&mut self, ppm: u32) -> bool {
        match ppm {
            0 => false,
            1_000_000.. => true,
            _ => self.next_u64() % 1_000_000 < u64::from(ppm),
        }
    }
}

/// One value that depends on a seed and a place only: what an unwritten register holds.
pub fn poison(seed: u64, place: u64) -> u32 {
    SplitMix64::new(seed ^ place.wrapping_mul(0xD6E8_FEB8_6659_FD93)).next_u64() as u32
}
