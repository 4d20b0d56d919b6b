use super::*;
use crate::record::Recorder;
use proptest::prelude::*;
use std::string::ToString;

/// What goes into one record: kind, and fields as text or number.
type Content = (&'static str, Option<u32>, Vec<(String, Value)>);

#[derive(Clone, Debug)]
enum Value {
    Num(u64),
    Signed(i64),
    Hex(u64),
    Text(String),
}

impl Value {
    /// As a reader must see it.
    fn raw(&self) -> String {
        match self {
            Value::Num(n) => n.to_string(),
            Value::Signed(n) => n.to_string(),
            Value::Hex(n) => std::format!("{n:#x}"),
            Value::Text(text) => text
                .bytes()
                .map(|b| match b {
                    b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b':' | b'/' | b'+' | b'-' => (b as char).to_string(),
                    _ => std::format!("%{b:02x}"),
                })
                .collect(),
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(Value::Num),
        any::<i64>().prop_map(Value::Signed),
        any::<u64>().prop_map(Value::Hex),
        // At most 47 bytes, so that no escape is cut.
        prop::collection::vec(any::<char>(), 0..12)
            .prop_map(|text| Value::Text(text.into_iter().filter(|c| c.len_utf8() < 4).collect())),
    ]
}

/// Records of one to some twenty lines.
fn content() -> impl Strategy<Value = Content> {
    let kind = prop::sample::select(std::vec!["found", "run", "ival", "hist", "mib", "result"]);
    (kind, prop::option::of(any::<u32>()), prop::collection::vec(value(), 0..24)).prop_map(|(kind, run, values)| {
        let keyed = values.into_iter().enumerate().map(|(at, value)| (std::format!("k{at}"), value));
        (kind, run, keyed.collect())
    })
}

/// A session: the recorder that wrote it, its lines, and the entries that must come out.
struct Written {
    recorder: Recorder,
    lines: Vec<String>,
    entries: Vec<Entry>,
}

fn write(hello: u64, contents: &[Content]) -> Written {
    let mut recorder = Recorder::new();
    let mut out = String::new();
    let mut entries = Vec::new();
    recorder.record(&mut out, "hello", |r| r.num("gb", hello));
    let field = |key: &str, value: String| (String::from(key), value);
    entries.push(Entry { seq: 0, kind: "hello".into(), fields: std::vec![field("gb", hello.to_string())] });
    for (kind, run, values) in contents {
        let mut entry = Entry { seq: recorder.records(), kind: (*kind).into(), fields: Vec::new() };
        recorder.record(&mut out, kind, |r| {
            if let Some(run) = run {
                r.num("run", *run);
                entry.fields.push(field("run", run.to_string()));
            }
            for (key, value) in values {
                match value {
                    Value::Num(n) => r.num(key, *n),
                    Value::Signed(n) => r.signed(key, *n),
                    Value::Hex(n) => r.hex(key, *n),
                    Value::Text(text) => r.text(key, text),
                }
                entry.fields.push(field(key, value.raw()));
            }
        });
        entries.push(entry);
    }
    let lines = out.split_inclusive('\n').map(String::from).collect();
    Written { recorder, lines, entries }
}

/// What happens to one line on its way into the capture.
#[derive(Clone, Debug)]
enum Fate {
    Kept,
    Dropped,
    /// One bit is wrong.
    Flipped(prop::sample::Index),
    /// The rest is missing, the line end too.
    Cut(prop::sample::Index),
    /// Text in the middle of it.
    Interrupted(prop::sample::Index),
    /// A line of text before it.
    After(&'static str),
    /// Another line end.
    Ended(&'static str),
}

fn fate() -> impl Strategy<Value = Fate> {
    let text =
        std::vec!["> \r\n", "[   1.234] WARN genet: x\n", "Receive by preset\r\n\r\n", "\u{fffd}\r", "GB1 0 hello\n"];
    prop_oneof![
        8 => Just(Fate::Kept),
        1 => Just(Fate::Dropped),
        1 => any::<prop::sample::Index>().prop_map(Fate::Flipped),
        1 => any::<prop::sample::Index>().prop_map(Fate::Cut),
        1 => any::<prop::sample::Index>().prop_map(Fate::Interrupted),
        1 => prop::sample::select(text).prop_map(Fate::After),
        1 => prop::sample::select(std::vec!["\n", "\r", "\r\n\r\n", "\r\r\n"]).prop_map(Fate::Ended),
    ]
}

/// What the capture holds of `lines`: its bytes, and per line whether it must be read.
fn damage(lines: &[String], fates: &[Fate]) -> (Vec<u8>, Vec<bool>) {
    let (mut bytes, mut read) = (Vec::new(), Vec::new());
    // Whether a line begins where it is put: not behind one without its end.
    let mut at_start = true;
    for (line, fate) in lines.iter().zip(fates.iter().cycle()) {
        let content = line.trim_end().as_bytes();
        let mut intact = at_start;
        at_start = true;
        match fate {
            Fate::Kept => bytes.extend(line.as_bytes()),
            Fate::Dropped => {
                intact = false;
                at_start = bytes.last().is_none_or(|b| matches!(b, b'\r' | b'\n'));
            }
            Fate::Flipped(at) => {
                let bit = at.index(content.len() * 8);
                let mut content = content.to_vec();
                content[bit / 8] ^= 1 << (bit % 8);
                bytes.extend(content);
                bytes.extend(b"\r\n");
                intact = false;
            }
            Fate::Cut(at) => {
                bytes.extend(&content[..at.index(content.len())]);
                at_start = bytes.last().is_none_or(|b| matches!(b, b'\r' | b'\n'));
                intact = false;
            }
            Fate::Interrupted(at) => {
                let (before, after) = content.split_at(1 + at.index(content.len() - 1));
                bytes.extend(before);
                bytes.extend(b"link: none");
                bytes.extend(after);
                bytes.extend(b"\r\n");
                intact = false;
            }
            Fate::After(text) => {
                bytes.extend(text.as_bytes());
                bytes.extend(line.as_bytes());
                intact = true;
            }
            Fate::Ended(end) => {
                bytes.extend(content);
                bytes.extend(end.as_bytes());
            }
        }
        read.push(intact);
    }
    (bytes, read)
}

/// The entries all lines of which are to be read.
fn whole(written: &Written, read: &[bool]) -> Vec<Entry> {
    let ends = written.entries.iter().skip(1).map(|e| e.seq as usize).chain([written.lines.len()]);
    let spans = written.entries.iter().zip(ends);
    spans.filter(|(e, end)| read[e.seq as usize..*end].iter().all(|r| *r)).map(|(e, _)| e.clone()).collect()
}

/// Lines of a capture that begin like a record and are none.
fn damaged(capture: &[u8]) -> u64 {
    let lines = capture.split(|b| matches!(b, b'\r' | b'\n'));
    lines.filter(|line| line.starts_with(b"$GB1 ") && parse(line).is_err()).count() as u64
}

fn check(written: &Written, session: &SessionRecords, read: &[bool]) {
    assert_eq!(session.entries, whole(written, read));
    let intact = read.iter().filter(|r| **r).count() as u64;
    let seen = read.iter().rposition(|r| *r).map_or(0, |at| at as u64 + 1);
    assert_eq!((session.lines, session.missing), (intact, seen - intact));
    let joined: u64 = whole(written, read)
        .iter()
        .map(|e| {
            written.entries.iter().map(|n| n.seq).find(|n| *n > e.seq).unwrap_or(written.lines.len() as u64) - e.seq
        })
        .sum();
    assert_eq!(session.incomplete, intact - joined);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(contents in prop::collection::vec(content(), 0..12)) {
        let written = write(1, &contents);
        let read = read_capture(written.lines.concat().as_bytes());
        prop_assert_eq!((read.sessions.len(), read.damaged, read.repeated), (1, 0, 0));
        check(&written, &read.sessions[0], &std::vec![true; written.lines.len()]);
    }

    #[test]
    fn damage_loses_records_and_makes_none(
        contents in prop::collection::vec(content(), 0..12),
        fates in prop::collection::vec(fate(), 1..60),
    ) {
        let written = write(1, &contents);
        let (bytes, intact) = damage(&written.lines, &fates);
        let read = read_capture(&bytes);
        prop_assert_eq!((read.damaged, read.repeated), (damaged(&bytes), 0));
        match &read.sessions[..] {
            [] => prop_assert!(intact.iter().all(|i| !i)),
            [session] => check(&written, session, &intact),
            more => prop_assert!(false, "{} sessions of one", more.len()),
        }
    }

    #[test]
    fn a_reprint_restores_all(
        contents in prop::collection::vec(content(), 0..12),
        fates in prop::collection::vec(fate(), 1..60),
        more in prop::collection::vec(content(), 0..4),
    ) {
        let mut written = write(1, &contents);
        let (mut bytes, intact) = damage(&written.lines, &fates);
        bytes.extend(b"\r\n> reprint\r\n");
        let mut again = String::new();
        written.recorder.reprint(&mut again, 0..=u64::MAX, |_| true);
        prop_assert_eq!(&again, &written.lines.concat());
        bytes.extend(again.as_bytes());
        // And the session goes on after it.
        for (kind, run, _) in &more {
            let mut line = String::new();
            let seq = written.recorder.records();
            let run = run.unwrap_or(0);
            written.recorder.record(&mut line, kind, |r| r.num("run", run));
            bytes.extend(line.as_bytes());
            written.lines.push(line);
            let fields = std::vec![("run".into(), run.to_string())];
            written.entries.push(Entry { seq, kind: (*kind).into(), fields });
        }
        let read = read_capture(&bytes);
        prop_assert_eq!(read.sessions.len(), 1);
        check(&written, &read.sessions[0], &std::vec![true; written.lines.len()]);
        prop_assert_eq!(read.repeated, intact.iter().filter(|i| **i).count() as u64);
    }

    #[test]
    fn resets_make_sessions(
        starts in prop::collection::vec((prop::collection::vec(content(), 0..8), prop::collection::vec(fate(), 1..30)), 1..5),
    ) {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        for (number, (contents, fates)) in starts.iter().enumerate() {
            let written = write(number as u64, contents);
            // The first line came through.
            let (damaged, mut intact) = damage(&written.lines[1..], fates);
            bytes.extend(b"\r\n");
            bytes.extend(written.lines[0].as_bytes());
            bytes.extend(damaged);
            intact.insert(0, true);
            expected.push((written, intact));
        }
        let read = read_capture(&bytes);
        prop_assert_eq!(read.sessions.len(), expected.len());
        for (session, (written, intact)) in read.sessions.iter().zip(&expected) {
            check(written, session, intact);
        }
        prop_assert_eq!(read.damaged, damaged(&bytes));
    }
}

fn lines(gb: u64, values: &[u64]) -> Vec<String> {
    let contents: Vec<Content> =
        values.iter().map(|v| ("mib", None, std::vec![("delta".into(), Value::Num(*v))])).collect();
    write(gb, &contents).lines
}

#[test]
fn a_reset_with_the_same_hello_shows_where_it_differs() {
    let (before, after) = (lines(1, &[1, 2, 3, 4]), lines(1, &[1, 2, 9]));
    let capture = [before.concat(), before[..2].concat(), after.concat()].concat();
    let read = read_capture(capture.as_bytes());
    assert_eq!((read.sessions.len(), read.repeated), (2, 2));
    let values = |at: usize| read.sessions[at].entries.iter().filter_map(|e| e.num("delta")).collect::<Vec<_>>();
    assert_eq!((values(0), values(1)), (std::vec![1, 2, 3, 4], std::vec![1, 2, 9]));
    assert_eq!(read.sessions[1].entries[0].kind, "hello");
}

#[test]
fn a_session_without_its_hello_starts_at_the_line_that_differs() {
    let (before, after) = (lines(1, &[1, 2, 3, 4]), lines(2, &[1, 2, 9, 8]));
    let capture = [before.concat(), after[1..].concat()].concat();
    let read = read_capture(capture.as_bytes());
    let seqs = |at: usize| read.sessions[at].entries.iter().map(|e| e.seq).collect::<Vec<_>>();
    assert_eq!((read.sessions.len(), seqs(0), seqs(1)), (2, std::vec![0, 1, 2, 3, 4], std::vec![3, 4]));
    assert_eq!(read.sessions[1].missing, 3);
}

#[test]
fn a_lost_hello_does_not_mix_two_sessions() {
    let (before, after) = (lines(1, &[1, 2, 3, 4]), lines(2, &[1, 2, 9]));
    let capture = [before[3..].concat(), after.concat()].concat();
    let read = read_capture(capture.as_bytes());
    let seqs: Vec<Vec<u64>> = read.sessions.iter().map(|s| s.entries.iter().map(|e| e.seq).collect()).collect();
    assert_eq!(seqs, [std::vec![3, 4], std::vec![0, 1, 2, 3]]);
    assert_eq!(read.repeated, 0);
}

#[test]
fn a_capture_of_text_alone_holds_nothing() {
    assert_eq!(read_capture(b"U-Boot 2023.01\r\n\0\xff\n> "), Capture::default());
    assert!(read_capture(b"").sessions.is_empty());
    assert_eq!(read_capture(b"$GB1 0 hello gb=1*00000000\r\n").damaged, 1);
}
