use super::*;
use crate::rng::Rng;
use std::vec::Vec;

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive("\r\n").collect()
}

#[test]
fn writes_the_line_of_the_contract() {
    let mut recorder = Recorder::new();
    let mut out = String::new();
    recorder.record(&mut out, "found", |r| {
        r.word("block", "UMAC");
        r.word("name", "HD_FC_EN");
        r.hex("value", 0xffff_ffff);
        r.signed("offset_ns", -3);
        r.maybe("absent", None);
        r.text("url", "http://A/b c");
    });
    // CRC computed with zlib.crc32 of Python over the text between $ and *.
    let expected =
        "$GB1 0 found block=umac name=hd_fc_en value=0xffffffff offset_ns=-3 url=http://%41/b%20c*73fbc690\r\n";
    assert_eq!(out, expected);
}

#[test]
fn splits_long_records_and_repeats_the_run_id() {
    let mut recorder = Recorder::new();
    let mut out = String::new();
    recorder.record(&mut out, "run", |r| {
        r.num("run", 7u8);
        for i in 0..40u32 {
            r.num(&std::format!("key{i}_ns"), 1_000_000_007u32);
        }
    });
    let lines = lines(&out);
    assert!(lines.len() >= 4);
    for (i, line) in lines.iter().enumerate() {
        assert!(line.len() <= MAX_LINE_BYTES, "{line}");
        let record = parse(line.as_bytes()).unwrap();
        assert_eq!((record.seq, record.num("run")), (i as u64, Some(7)));
        assert_eq!((record.num("part"), record.num("parts")), (Some(i as u64 + 1), Some(lines.len() as u64)));
    }
    let values = lines.iter().flat_map(|l| parse(l.as_bytes()).unwrap().fields().collect::<Vec<_>>());
    assert_eq!(values.filter(|(_, v)| *v == "1000000007").count(), 40);
}

#[test]
fn cuts_values_that_cannot_fit() {
    let mut recorder = Recorder::new();
    let mut out = String::new();
    let url = "X".repeat(500);
    recorder.record(&mut out, "run", |r| {
        r.num("run", u32::MAX);
        r.text("a_rather_long_key_name", &url);
        r.text("url", &url);
    });
    for line in lines(&out) {
        assert!(line.len() <= MAX_LINE_BYTES);
        parse(line.as_bytes()).unwrap();
    }
}

#[test]
fn any_record_survives_the_round_trip() {
    let mut rng = Rng::new(42);
    let mut recorder = Recorder::new();
    let mut reader = Reader::default();
    for _ in 0..2_000 {
        let mut out = String::new();
        let mut texts = Vec::new();
        for key in 0..rng.below(12) {
            let text: String = (0..rng.below(40)).map(|_| char::from_u32(rng.below(0x250) as u32).unwrap()).collect();
            texts.push((std::format!("k{key}"), text, rng.next_u64()));
        }
        recorder.record(&mut out, "ival", |r| {
            for (key, text, number) in &texts {
                r.text(key, text);
                r.num(&std::format!("{key}_ns"), *number);
            }
        });
        let mut read = std::collections::BTreeMap::new();
        for line in lines(&out) {
            assert!(line.len() <= MAX_LINE_BYTES);
            let record = reader.line(line.as_bytes()).unwrap();
            read.extend(record.fields());
        }
        for (key, text, number) in &texts {
            // 144 bytes of escapes hold 48 bytes of text.
            let decoded = percent_decode(read[key.as_str()]);
            assert!(decoded.as_ref() == Some(text) || text.len() > 46, "{text:?} {decoded:?}");
            assert_eq!(read[std::format!("{key}_ns").as_str()].parse(), Ok(*number));
        }
    }
    assert_eq!((reader.damaged, reader.missing), (0, 0));
    assert_eq!(reader.records, recorder.records());
}

#[test]
fn one_wrong_bit_is_seen() {
    let mut recorder = Recorder::new();
    let mut out = String::new();
    recorder.record(&mut out, "result", |r| r.num("run", 3u8));
    let line = out.trim_end().as_bytes();
    for bit in 0..line.len() * 8 {
        let mut damaged = line.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(parse(&damaged).is_err(), "bit {bit}");
    }
    assert_eq!(parse(b"point 3/9"), Err(LineError::NotARecord));
    assert_eq!(parse(b"$GB1 1 x"), Err(LineError::Malformed));
}

#[test]
fn only_what_a_writer_writes_is_a_record() {
    for content in
        ["GB1 +5 mib", "GB1 05 mib", "GB1 5 mib ", "GB1 5 Mib", "GB1 5 mib a", "GB1 5 mib =1", "GB1 5 mib a=B"]
    {
        let line = std::format!("${content}*{:08x}\r\n", CRC.checksum(content.as_bytes()));
        assert_eq!(parse(line.as_bytes()), Err(LineError::Malformed), "{line}");
    }
    let content = "GB1 5 mib a=+1 b=0x+f c=%+5 d=0x";
    let line = std::format!("${content}*{:08x}", CRC.checksum(content.as_bytes()));
    let record = parse(line.as_bytes()).unwrap();
    assert_eq!((record.num("a"), record.num("b"), record.text("c"), record.num("d")), (None, None, None, None));
}

#[test]
fn the_last_sequence_number_ends_nothing() {
    let mut reader = Reader::default();
    for _ in 0..2 {
        let content = "GB1 18446744073709551615 mib";
        let line = std::format!("${content}*{:08x}", CRC.checksum(content.as_bytes()));
        assert!(reader.line(line.as_bytes()).is_some());
    }
    assert_eq!((reader.records, reader.missing), (2, u64::MAX));
}

#[test]
fn the_reader_counts_gaps_and_forgives_reprints() {
    let mut recorder = Recorder::new();
    let mut all = Vec::new();
    for i in 0..6u32 {
        let mut out = String::new();
        recorder.record(&mut out, "mib", |r| r.num("run", i));
        all.push(out);
    }
    let mut reader = Reader::default();
    for i in [0, 1, 4, 5, 0, 1] {
        assert!(reader.line(all[i].as_bytes()).is_some());
    }
    assert_eq!((reader.records, reader.missing, reader.damaged), (6, 2, 0));
}

#[test]
fn reprints_the_same_bytes_and_forgets_whole_lines() {
    let kept_bytes = 64 << 10;
    let mut recorder = Recorder::keeping(kept_bytes);
    let mut out = String::new();
    for i in 0..2_000u32 {
        recorder.record(&mut out, "ival", |r| {
            r.num("run", i);
            r.text("pad", &"p".repeat((i % 90) as usize));
        });
    }
    let mut again = String::new();
    assert_eq!(recorder.reprint(&mut again, 0..=u64::MAX, |_| true), 2_000 - recorder.gone());
    assert!(again.len() <= kept_bytes && again.len() > kept_bytes - MAX_LINE_BYTES);
    assert!(out.ends_with(&again));
    let first = parse(lines(&again)[0].as_bytes()).unwrap();
    assert_eq!(first.seq, recorder.gone());
}

#[test]
fn a_part_of_the_records_and_the_last_of_a_kind() {
    let mut recorder = Recorder::new();
    let mut out = String::new();
    for i in 0..10u32 {
        recorder.record(&mut out, if i % 2 == 0 { "ival" } else { "mib" }, |r| r.num("run", i));
    }
    let of = |seqs, most: u64| {
        let (mut text, mut asked) = (String::new(), 0);
        let written = recorder.reprint(&mut text, seqs, |_| {
            asked += 1;
            asked <= most
        });
        (written, lines(&text).iter().map(|line| parse(line.as_bytes()).unwrap().seq).collect::<Vec<_>>())
    };
    assert_eq!(of(3..=5, 99), (3, std::vec![3, 4, 5]));
    assert_eq!(of(8..=u64::MAX, 99), (2, std::vec![8, 9]));
    assert_eq!(of(0..=9, 2), (2, std::vec![0, 1]), "told to stop");
    assert_eq!(of(10..=20, 99), (0, std::vec![]));
    let last = recorder.last("ival").unwrap();
    assert_eq!(parse(last.as_bytes()).unwrap().num("run"), Some(8));
    assert_eq!(recorder.last("bye"), None);
}
