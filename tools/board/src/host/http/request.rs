//! Reading a request head.

use httparse::{EMPTY_HEADER, Status};

const MAX_HEADERS: usize = 64;

/// The methods that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Other,
}

/// A byte range as asked for (RFC 9110 section 14.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    /// `first-` or `first-last`.
    From(u64, Option<u64>),
    /// The last bytes.
    Last(u64),
}

impl Range {
    /// First byte and end in a file of `bytes`; none when no byte of it is asked for.
    pub(super) fn within(self, bytes: u64) -> Option<(u64, u64)> {
        let (first, end) = match self {
            Range::From(first, last) => (first, last.map_or(bytes, |last| last.saturating_add(1).min(bytes))),
            Range::Last(count) => (bytes.saturating_sub(count), bytes),
        };
        (first < end).then_some((first, end))
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Path without query.
    pub(super) path: String,
    pub(super) range: Option<Range>,
    pub(super) keep_alive: bool,
}

impl Request {
    /// The first request in `bytes` and its length; none when it is not complete.
    ///
    /// # Errors
    /// The status line of the complaint.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, &'static str> {
        let mut headers = [EMPTY_HEADER; MAX_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let length = match parsed.parse(bytes) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err("431 Request Header Fields Too Large"),
            Err(_) => return Err("400 Bad Request"),
        };
        let mut request = Request {
            method: match parsed.method {
                Some("GET") => Method::Get,
                Some("HEAD") => Method::Head,
                _ => Method::Other,
            },
            path: path(parsed.path.unwrap_or("/")).to_owned(),
            range: None,
            keep_alive: parsed.version == Some(1),
        };
        let mut host = parsed.version == Some(0);
        for header in parsed.headers.iter() {
            let value = str::from_utf8(header.value).unwrap_or("").trim();
            if header.name.eq_ignore_ascii_case("range") {
                request.range = range(value);
            } else if header.name.eq_ignore_ascii_case("connection") {
                request.keep_alive = keep_alive(value, request.keep_alive);
            } else if header.name.eq_ignore_ascii_case("host") {
                host = true;
            } else if (header.name.eq_ignore_ascii_case("content-length") && value != "0")
                || header.name.eq_ignore_ascii_case("transfer-encoding")
            {
                return Err("413 Content Too Large"); // no request that is served has a body
            }
        }
        if host { Ok(Some((request, length))) } else { Err("400 Bad Request") }
    }
}

/// The path of a target in origin or absolute form.
fn path(target: &str) -> &str {
    let from_path = match target.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        None => target,
    };
    from_path.split('?').next().unwrap_or("/")
}

fn keep_alive(value: &str, default: bool) -> bool {
    let mut options = value.split(',').map(str::trim);
    if options.clone().any(|option| option.eq_ignore_ascii_case("close")) {
        return false;
    }
    default || options.any(|option| option.eq_ignore_ascii_case("keep-alive"))
}

/// A single range; anything else is ignored, as a server may.
fn range(value: &str) -> Option<Range> {
    let (first, last) = value.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
    match (first, last) {
        ("", last) => Some(Range::Last(number(last)?)),
        (first, "") => Some(Range::From(number(first)?, None)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(Range::From(first, Some(last)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<(Request, usize)>, &'static str> {
        Request::parse(text.as_bytes())
    }

    #[test]
    fn ranges() {
        assert_eq!(range("bytes=0-1048575"), Some(Range::From(0, Some(1_048_575))));
        assert_eq!(range("bytes=5-"), Some(Range::From(5, None)));
        assert_eq!(range("bytes=-7"), Some(Range::Last(7)));
        for bad in ["bytes=7-3", "bytes=", "bytes=a-b", "0-3", "bytes=0-1,5-6", "bytes=-", "bytes=+1-2"] {
            assert_eq!(range(bad), None, "{bad}");
        }
        assert_eq!(Range::From(90, Some(200)).within(100), Some((90, 100)));
        assert_eq!(Range::From(100, None).within(100), None);
        assert_eq!(Range::Last(0).within(100), None);
        assert_eq!(Range::Last(1000).within(100), Some((0, 100)));
        assert_eq!(Range::From(0, Some(u64::MAX)).within(100), Some((0, 100)));
    }

    #[test]
    fn heads() {
        let (request, length) =
            parse("GET /data?x=1 HTTP/1.1\r\nHost: a\r\nRange: bytes=1-2\r\n\r\nGET").expect("fine").expect("whole");
        assert_eq!(length, 53);
        assert_eq!((request.path.as_str(), request.keep_alive), ("/data", true));
        assert_eq!(request.range, Some(Range::From(1, Some(2))));
        assert_eq!(parse("GET / HTTP/1.1\r\nHo"), Ok(None));
        assert!(parse("GET / HTTP/1.1\r\n\r\n").is_err(), "no Host");
        assert!(parse("\x00\x01\x02\r\n\r\n").is_err());
        let (old, _) = parse("HEAD http://h/x HTTP/1.0\r\n\r\n").expect("fine").expect("whole");
        assert_eq!((old.method, old.path.as_str(), old.keep_alive), (Method::Head, "/x", false));
    }
}
