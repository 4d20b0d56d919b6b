//! GB1 records: whatever is read, only what a writer can have written is accepted.
//!
//! The first byte of an input says how the rest is used: as a capture (0), as lines that get a right check sum (1), or
//! as the contents of records that are written, read and damaged (anything else).

use arbitrary::Unstructured;
use netbench::record::{LineError, MAX_LINE_BYTES, MAX_VALUE_BYTES, Reader, Record, Recorder, parse, percent_decode};

/// Reads `input` in the way that its first byte asks for.
pub fn check(input: &[u8]) {
    match input.split_first() {
        Some((0, capture)) => read_capture(capture),
        Some((1, contents)) => read_capture(&with_check_sums(contents)),
        Some((_, choices)) => {
            // Out of choices: the record that was begun is dropped.
            let _ = round_trip(&mut Unstructured::new(choices));
        }
        None => {}
    }
}

/// CRC-32 of IEEE 802.3, bit by bit: not the code that is tested.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// Each line of `contents` as a line of a capture.
fn with_check_sums(contents: &[u8]) -> Vec<u8> {
    let mut capture = Vec::new();
    for content in contents.split(|b| *b == b'\n') {
        let content = [b"GB1 ", content].concat();
        capture.extend_from_slice(b"$");
        capture.extend_from_slice(&content);
        capture.extend_from_slice(format!("*{:08x}\r\n", crc32(&content)).as_bytes());
    }
    capture
}

fn read_capture(capture: &[u8]) {
    let mut reader = Reader::default();
    let (mut records, mut damaged) = (0, 0);
    // Wide enough for any sum.
    let (mut next, mut missing) = (0u128, 0u128);
    for line in capture.split_inclusive(|b| *b == b'\n') {
        match parse(line) {
            Ok(record) => {
                is_canonical(&record, line);
                records += 1;
                let seq = u128::from(record.seq);
                if seq >= next {
                    missing += seq - next;
                    next = seq + 1;
                } else if seq == 0 && record.kind == "hello" {
                    next = 1;
                }
            }
            Err(LineError::NotARecord) => assert!(!line.starts_with(b"$GB1 ")),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                damaged += 1;
            }
        }
        assert_eq!(reader.line(line), parse(line).ok());
    }
    assert_eq!((reader.records, reader.damaged), (records, damaged));
    assert_eq!(u128::from(reader.missing), missing.min(u64::MAX.into()));
}

/// `record` is what `line` says by the grammar: nothing else begins so, nothing was left out, no number is read into
/// what is none.
fn is_canonical(record: &Record<'_>, line: &[u8]) {
    assert!(line.trim_ascii_end().len() + 2 <= MAX_LINE_BYTES);
    let mut content = format!("GB1 {} {}", record.seq, record.kind);
    for (key, value) in record.fields() {
        content.push_str(&format!(" {key}={value}"));
        assert!(!key.is_empty() && !key.contains('='), "{key:?}");
        let is_decimal = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
        let hex = value.strip_prefix("0x").unwrap_or("x");
        let is_hex = !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit());
        if record.get(key) == Some(value) && record.num(key).is_some() {
            assert!(is_decimal || is_hex, "{value} is no number");
        }
        if percent_decode(value).is_some() {
            let escapes = value.split('%').skip(1);
            let is_escape = |e: &str| e.len() >= 2 && e.bytes().take(2).all(|b| b.is_ascii_hexdigit());
            assert!(escapes.clone().all(is_escape), "{value}");
        }
    }
    let expected = format!("${content}*{:08x}", crc32(content.as_bytes()));
    assert_eq!(String::from_utf8_lossy(line.trim_ascii_end()), expected);
}

const KINDS: [&str; 4] = ["run", "ival", "result", "hello"];
const KEYS: [&str; 6] = ["run", "url", "wire_bps", "p50_ns", "a_rather_long_key_name", "k"];

/// Records written from `u`: each line reads back as it was meant, and no damaged line is accepted as another.
fn round_trip(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let mut recorder = Recorder::new();
    let mut reader = Reader::default();
    for _ in 0..u.int_in_range(1..=4)? {
        let kind = *u.choose(&KINDS)?;
        let mut expected = Vec::new();
        let mut out = String::new();
        let mut outcome = Ok(());
        recorder.record(&mut out, kind, |r| outcome = fill(r, u, &mut expected));
        let mut read = Vec::new();
        for (index, line) in out.split_inclusive('\n').enumerate() {
            assert!(line.len() <= MAX_LINE_BYTES && line.ends_with("\r\n"), "{line:?}");
            let record = reader.line(line.as_bytes()).expect("what was written is intact");
            is_canonical(&record, line.as_bytes());
            assert_eq!(record.kind, kind);
            // A leading run field stands in every line again.
            let repeated = usize::from(index > 0 && expected[0].0 == "run");
            let body = record.fields().skip(repeated).filter(|(key, _)| !matches!(*key, "part" | "parts"));
            read.extend(body.map(|(k, v)| (k.to_string(), v.to_string())));
            if index == 0 {
                damage(line.as_bytes(), &record, u)?;
            }
        }
        assert_eq!(read, expected, "{out}");
        outcome?;
    }
    assert_eq!((reader.records, reader.damaged, reader.missing), (recorder.records(), 0, 0));
    Ok(())
}

/// Adds fields and notes what a reader must find.
fn fill(
    r: &mut netbench::record::Fields<'_>,
    u: &mut Unstructured<'_>,
    expected: &mut Vec<(String, String)>,
) -> arbitrary::Result<()> {
    for _ in 0..u.int_in_range(0..=24)? {
        let key = *u.choose(&KEYS)?;
        let value = match u.int_in_range(0..=4)? {
            _ if key == "run" => {
                let id: u32 = u.arbitrary()?;
                r.num(key, id);
                id.to_string()
            }
            0 => {
                let number: u64 = u.arbitrary()?;
                r.num(key, number);
                number.to_string()
            }
            1 => {
                let number: i64 = u.arbitrary()?;
                r.signed(key, number);
                number.to_string()
            }
            2 => {
                let number: u64 = u.arbitrary()?;
                r.hex(key, number);
                format!("{number:#x}")
            }
            3 => {
                let text: &str = u.arbitrary()?;
                r.word(key, text);
                escaped(&text.to_ascii_lowercase())
            }
            _ => {
                let text: &str = u.arbitrary()?;
                r.text(key, text);
                let value = escaped(text);
                if value.len() + 3 <= MAX_VALUE_BYTES {
                    assert_eq!(percent_decode(&value).as_deref(), Some(text));
                }
                value
            }
        };
        expected.push((key.into(), value));
    }
    Ok(())
}

/// What a value looks like by the contract: unreserved bytes as they are, others `%xx`, cut when it is full.
fn escaped(text: &str) -> String {
    let mut value = String::new();
    for byte in text.bytes() {
        if value.len() + 3 > MAX_VALUE_BYTES {
            break;
        }
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b':' | b'/' | b'+' | b'-' => value.push(byte.into()),
            _ => value.push_str(&format!("%{byte:02x}")),
        }
    }
    value
}

/// Any byte changed, and one taken out or doubled: the line is refused, or (a line end) means the same.
fn damage(line: &[u8], record: &Record<'_>, u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let mask = u.int_in_range(1..=255u8)?;
    let is_refused = |damaged: &[u8]| {
        if let Ok(other) = parse(damaged) {
            assert_eq!(&other, record, "accepted: {}", damaged.escape_ascii());
        }
    };
    let mut damaged = line.to_vec();
    for at in 0..line.len() {
        damaged[at] ^= mask;
        is_refused(&damaged);
        damaged[at] ^= mask;
    }
    let at = u.choose_index(line.len())?;
    let (before, after) = line.split_at(at);
    is_refused(&[before, &after[1..]].concat());
    is_refused(&[before, &after[..1], after].concat());
    Ok(())
}
