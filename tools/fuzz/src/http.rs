//! Heads of responses, and URLs: one input is read as either.

use netbench::http::{Head, HeadError, MAX_HEAD_BYTES, MAX_URL_BYTES, Url, parse_head, request};

/// Reads `input` as a response and, if it is text, as a URL.
pub fn check(input: &[u8]) {
    head(&input[..input.len().min(MAX_HEAD_BYTES)]);
    if let Ok(text) = core::str::from_utf8(input) {
        url(text);
    }
}

/// However the bytes arrive, the head is the same; and it says what a second reading finds in the lines.
fn head(bytes: &[u8]) {
    let whole = parse_head(bytes);
    let by_byte = (0..=bytes.len()).find_map(|end| match parse_head(&bytes[..end]) {
        Ok(None) => None,
        told => Some((end, told)),
    });
    match (whole, by_byte) {
        (Ok(None), None) => {}
        (Ok(Some((head, length))), Some((end, Ok(Some(same))))) => {
            assert_eq!(((head, length), length), (same, end), "whole, byte by byte");
            agrees_with_lines(&head, &bytes[..length]);
            let followed = [&bytes[..length], b"HTTP/1.1 500 x\r\nContent-Length: 9\r\n\r\n"].concat();
            assert_eq!(parse_head(&followed), Ok(Some((head, length))), "what follows a head is not the head's");
        }
        (Err(error), Some((_, Err(same)))) => assert_eq!(error, same, "whole, byte by byte"),
        (whole, by_byte) => panic!("whole: {whole:?}, byte by byte: {by_byte:?}"),
    }
    if let Err(error) = whole {
        assert!(!error.to_string().is_empty());
        assert!(!matches!(error, HeadError::Empty | HeadError::Cut), "these are the transfer's to say");
    }
}

/// RFC 9110 5.3 (fields of one name are one list), 8.6 (Content-Length is digits), RFC 9112 6.3 (lengths that disagree
/// are an error, chunks have no length that we could use).
fn agrees_with_lines(head: &Head, bytes: &[u8]) {
    let lines = || bytes.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).skip_while(|l| l.is_empty());
    let values = |name: &'static str| {
        lines().skip(1).filter_map(move |line| {
            let colon = line.iter().position(|b| *b == b':')?;
            line[..colon].eq_ignore_ascii_case(name.as_bytes()).then(|| line[colon + 1..].trim_ascii())
        })
    };
    let has_token = |name, token: &str| {
        let is = |t: &[u8]| t.trim_ascii().eq_ignore_ascii_case(token.as_bytes());
        values(name).any(|value| value.split(|b| *b == b',').any(is))
    };
    let status = lines().next().and_then(|line| line.split(|b| *b == b' ').nth(1)).unwrap_or_default();
    assert_eq!(status, format!("{:03}", head.status).as_bytes(), "status");
    assert!(!has_token("transfer-encoding", "chunked"), "chunks have no length");
    let mut count = 0;
    for value in values("content-length") {
        count += 1;
        assert!(!value.is_empty() && value.iter().all(u8::is_ascii_digit), "{:?} is no length", value.escape_ascii());
        let digits = core::str::from_utf8(value).expect("digits");
        assert_eq!(head.content_length, digits.parse().ok(), "Content-Length {digits}");
    }
    assert_eq!(head.content_length.is_some(), count > 0);
    let is_old = lines().next().is_some_and(|line| line.starts_with(b"HTTP/1.0"));
    let closes = has_token("connection", "close");
    let expected = if is_old { has_token("connection", "keep-alive") && !closes } else { !closes };
    assert_eq!(head.keep_alive, expected, "keep alive");
}

/// A URL that is taken survives being printed, and its request is one request.
fn url(text: &str) {
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(!url.host.is_empty() && url.port > 0 && url.path.starts_with('/'), "{url:?}");
    let printed = url.to_string();
    if printed.len() <= MAX_URL_BYTES {
        assert_eq!(Url::parse(&printed).as_ref(), Ok(&url), "{printed}");
    }
    let authority = text[7..].split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((_, port)) = authority.split_once(':') {
        assert!(port.bytes().all(|b| b.is_ascii_digit()), "{port:?} is no port");
    }
    for range_b in [None, Some(0), Some(1), Some(u64::MAX)] {
        let request = String::from_utf8(request(&url, range_b)).expect("ASCII");
        let fields = if range_b.is_some() { 6 } else { 5 };
        let (head, rest) = request.split_once("\r\n\r\n").expect("an end");
        assert_eq!((head.split("\r\n").count(), rest), (fields, ""), "{request:?}");
        assert!(request.len() <= 1024, "must fit into the socket's transmit buffer");
        assert_eq!(head.split("\r\n").next().map(|line| line.split(' ').count()), Some(3), "{request:?}");
    }
}
