//! The image and web servers that lie or fall silent: clear errors, right figures, whole records.
//!
//! Needs target/kernel8.img: `make test` builds it first.

mod common;

use board::host::HttpFault;
use common::{SHORT, Session, number, result};

const SECOND: u64 = 1_000_000_000;

#[test]
fn heads_that_lie() {
    let mut session = Session::new(|_| {});
    let million = "Content-Length: 1000000\r\n";
    let long = format!("A: {}\r\n{million}", "x".repeat(1 << 20));
    let twice = format!("Content-Length: 5\r\n{million}");
    let nul = format!("A: \0\0\r\n{million}");
    let largest = format!("Content-Length: {}\r\n", u64::MAX);
    // Fields of a 200, body bytes after the head, whether the connection closes, and what must come of it.
    for (fields, body_bytes, close, rc, words) in [
        ("", 2_000_000, true, "ok", "Receive by preset"),
        ("Content-Length: 9000000\r\n", 500_000, true, "http.short", "500000 of 9000000 promised"),
        (largest.as_str(), 1_000, true, "http.short", "1000 of 18446744073709551615"),
        (million, 1_000_500, false, "http.head", "longer than its head said"),
        ("Content-Length: -1\r\n", 9, false, "http.head", "is no number"),
        ("Content-Length: 18446744073709551616\r\n", 9, false, "http.head", "is no number"),
        ("Content-Length: 0\r\n", 0, false, "http.head", "the file is empty"),
        (&twice, 1_000_000, false, "http.head", "two different Content-Length"),
        ("Transfer-Encoding: chunked\r\n", 90_000, false, "http.head", "chunks"),
        (&long, 1_000_000, false, "http.head", "exceeds 8192 bytes"),
        (&nul, 1_000_000, false, "http.head", "not HTTP/1.x"),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
        expect_of(&mut session, SHORT, &head, (body_bytes, close), rc, words);
    }
    // Whole heads, or what comes instead.
    let infos = "HTTP/1.1 100 Continue\r\n\r\n".repeat(9_999);
    let silence = "no answer to the request within 10000 ms";
    for (head, body_bytes, close, rc, words) in [
        ("HTTP/1.1 200 OK\nContent-Length: 1000000\n\n", 1_000_000, false, "ok", "Receive by preset"),
        ("HTTP/1.1 200 OK\r\nContent-Le", 0, true, "http.head", "closed the connection without an answer"),
        ("HTTP/1.1 200 OK\r\nContent-Le", 0, false, "tcp.timeout", silence),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", 0, false, "http.status", "the server answered 101"),
        (&infos, 0, false, "tcp.timeout", silence),
        (&"\0".repeat(9_000), 1_000, false, "http.head", "not HTTP/1.x"),
    ] {
        expect_of(&mut session, SHORT, head, (body_bytes, close), rc, words);
    }
    // More is promised than comes, and the connection stays open.
    let plan = "gb.presets=linux gb.warmup_ms=1 gb.window_ms=300 gb.rtt_probes=2";
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n";
    expect_of(&mut session, plan, head, (500_000, false), "tcp.stalled", "nothing came in the last");
    session.host(|host| host.fault = HttpFault::None);
    session.expect_health();
    session.close();
}

#[test]
fn answers_to_a_range_that_lie() {
    let mut session = Session::new(|_| {});
    let plan = "gb.presets=linux gb.warmup_ms=1 gb.window_ms=20 gb.rtt_probes=2 gb.range_b=1000000";
    let infos = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    let part = "206 Partial Content\r\nContent-Range: bytes";
    for (first, rc, words) in [
        (format!("HTTP/1.1 {part} 0-999999/5000000"), "ok", "Receive by preset"),
        (format!("{infos}HTTP/1.1 {part} 0-999999/*"), "ok", "Receive by preset"),
        ("HTTP/1.1 200 OK".to_owned(), "ok", "Receive by preset"),
        (format!("HTTP/1.1 {part} 5-1000004/5000000"), "http.head", "another part of the file"),
        (format!("HTTP/1.1 {part} 0-9/5000000"), "http.head", "another part of the file"),
        ("HTTP/1.1 206 Partial Content".to_owned(), "http.head", "another part of the file"),
    ] {
        let head = format!("{first}\r\nContent-Length: 1000000\r\n\r\n");
        expect_of(&mut session, plan, &head, (1_000_000, false), rc, words);
    }
    for (location, words) in [
        ("http://peer.genetbench.test/data", "302: it has moved"), // to itself, for ever
        ("https://peer.genetbench.test/data", "302: the file is to be had by https only"),
    ] {
        session.host(|host| host.fault = HttpFault::Redirect { location: location.to_owned() });
        session.expect(plan, location, "http.status", words);
    }
    session.host(|host| host.fault = HttpFault::None);
    session.expect_health();
    session.close();
}

/// Every answer is `head` and so many body bytes; then the connection closes or not.
fn expect_of(session: &mut Session, plan: &str, head: &str, (body_bytes, close): (u64, bool), rc: &str, words: &str) {
    session.host(|host| host.fault = HttpFault::Raw { head: head.as_bytes().to_vec(), body_bytes, close });
    let text = session.expect(plan, head.get(..80).unwrap_or(head), rc, words);
    if rc == "ok" {
        let bps = number(&result(&text, "linux"), "payload_bps");
        assert!((850_000_000..950_000_000).contains(&bps), "{head}: {bps}");
    }
}

#[test]
fn peers_that_stall() {
    let mut session = Session::new(|_| {});
    let window = |ms: u32| format!("gb.presets=linux gb.warmup_ms=1 gb.window_ms={ms} gb.rtt_probes=0");
    session.host(|host| host.fault = HttpFault::Stall { after_bytes: 1 << 20 });
    session.expect(&window(300), "for ever", "tcp.stalled", "nothing came in the last 29");
    // All of it came before the window.
    session.expect("gb.presets=linux gb.warmup_ms=20 gb.window_ms=20", "before", "tcp.stalled", "the last 20 ms");
    session.host(|host| host.fault = HttpFault::Stall { after_bytes: 0 });
    session.expect(&window(20), "after the head", "tcp.stalled", "nothing came in the last 20 ms");
    session.host(|host| host.fault = HttpFault::Mute);
    session.expect(&window(20), "instead of the head", "tcp.timeout", "no answer to the request");
    // A pause of two seconds is part of the figure.
    session.host(|host| host.fault = HttpFault::Pause { after_bytes: 1 << 20, pause_ns: 2 * SECOND });
    let text = session.expect(&window(2_200), "for 2 s", "ok", "Receive by preset");
    let fields = result(&text, "linux");
    let (payload_b, bps) = (number(&fields, "payload_b"), number(&fields, "payload_bps"));
    assert!(number(&fields, "deliver_max_ns") > 1_990_000_000, "{fields:?}");
    assert!((payload_b * 8 * 10 / 22).abs_diff(bps) * 50 < bps, "{payload_b} bytes in 2.2 s, {bps} bit/s");
    // A file that ends before the window.
    let raw = HttpFault::Raw { head: b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), body_bytes: 100_000, close: true };
    session.host(|host| host.fault = raw);
    session.expect("gb.presets=linux gb.warmup_ms=20", "ended", "http.ended", "the file ended before the window");
    session.host(|host| host.fault = HttpFault::None);
    session.expect_health();
    session.close();
}
