//! libFuzzer's entry to [`fuzz::gb1`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::gb1::check(input));
