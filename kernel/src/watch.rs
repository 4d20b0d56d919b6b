//! The arrival clock: a second core that watches GENET's producer index and interrupt latch and stamps each change.
//!
//! ```text
//! core 1 (core1)  PROD_INDEX, CPU_STAT --change--> Event --> Ring --> Matcher: arrival of frame n   core 0 (port)
//! ```
//!
//! Owns the words that the two cores exchange. What came when is matched with frames by the ring's own index arithmetic,
//! so it is exact or absent, never guessed. The watcher reads registers and stores words; it takes no lock, prints
//! nothing, allocates nothing and feeds no watchdog.

#[cfg(target_os = "none")]
pub mod clock;
#[cfg(target_os = "none")]
pub mod core1;
pub mod event;
pub mod matcher;
#[cfg(target_os = "none")]
pub mod note;
pub mod orders;
pub mod ring;
pub mod tracker;
#[cfg(target_os = "none")]
pub mod watcher;
