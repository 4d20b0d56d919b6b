//! libFuzzer's entry to [`fuzz::frames`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::frames::check(input));
