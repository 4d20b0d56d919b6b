//! libFuzzer's entry to [`fuzz::plan`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::plan::check(input));
