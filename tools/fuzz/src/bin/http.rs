//! libFuzzer's entry to [`fuzz::http`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::http::check(input));
