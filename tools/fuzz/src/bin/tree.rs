//! libFuzzer's entry to [`fuzz::tree`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::tree::check(input));
