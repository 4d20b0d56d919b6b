//! The client half of HTTP/1.1 that a download needs.
//!
//! Owns URLs, the request's bytes and the response's head (read by `httparse`). It never touches
//! a socket: bytes in, bytes out. Chunked bodies, redirects and https are recognised and refused
//! with words, not followed.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// Longest response head that is read, bytes.
pub const MAX_HEAD_BYTES: usize = 8 << 10;
/// Longest URL that is taken, bytes.
pub const MAX_URL_BYTES: usize = 400;
const MAX_HEADERS: usize = 64;

/// Where to fetch from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Host name or IPv4 address.
    pub host: String,
    /// TCP port, 80 if the URL names none.
    pub port: u16,
    /// Path and query, beginning with `/`.
    pub path: String,
}

/// What is wrong with a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlError {
    /// It asks for https.
    Https,
    /// It does not begin with `http://`.
    NotHttp,
    /// There is no host in it.
    NoHost,
    /// The port is no number from 1 to 65535.
    BadPort,
    /// It holds an IPv6 address, or a user name.
    UnsupportedHost,
    /// It holds a byte that no URL may hold unescaped.
    BadByte(u8),
    /// It is too long.
    TooLong,
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UrlError::Https => write!(f, "https is not spoken here: gb.url must begin with http://"),
            UrlError::NotHttp => write!(f, "gb.url must begin with http://"),
            UrlError::NoHost => write!(f, "gb.url names no host: http://HOST[:PORT]/PATH"),
            UrlError::BadPort => write!(f, "the port in gb.url must be 1..65535"),
            UrlError::UnsupportedHost => write!(f, "gb.url must name a host or an IPv4 address, without user name"),
            UrlError::BadByte(byte) => write!(f, "gb.url holds the byte {byte:#04x}: escape it as %{byte:02x}"),
            UrlError::TooLong => write!(f, "gb.url is longer than {MAX_URL_BYTES} bytes"),
        }
    }
}

impl core::error::Error for UrlError {}

impl Url {
    /// Reads `http://host[:port][/path][?query]`. A fragment is dropped.
    pub fn parse(text: &str) -> Result<Url, UrlError> {
        if text.len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong);
        }
        if let Some(byte) = text.bytes().find(|b| !b.is_ascii_graphic()) {
            return Err(UrlError::BadByte(byte));
        }
        let starts = |scheme: &str| text.get(..scheme.len()).is_some_and(|t| t.eq_ignore_ascii_case(scheme));
        if starts("https://") {
            return Err(UrlError::Https);
        }
        if !starts("http://") {
            return Err(UrlError::NotHttp);
        }
        let rest = text["http://".len()..].split('#').next().unwrap_or("");
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains(['@', '[', ']']) {
            return Err(UrlError::UnsupportedHost);
        }
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, digits(port.as_bytes()).filter(|p| *p > 0).ok_or(UrlError::BadPort)?),
            None => (authority, 80),
        };
        if host.is_empty() {
            return Err(UrlError::NoHost);
        }
        let path = if path.starts_with('/') { String::from(path) } else { alloc::format!("/{path}") };
        Ok(Url { host: host.into(), port, path })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.host)?;
        if self.port != 80 {
            write!(f, ":{}", self.port)?;
        }
        write!(f, "{}", self.path)
    }
}

/// The bytes of a GET request, for the first `range_b` bytes or for all of the file.
pub fn request(url: &Url, range_b: Option<u64>) -> Vec<u8> {
    let mut text = String::with_capacity(256 + url.path.len());
    // Writing to a String does not fail.
    let _ = write!(text, "GET {} HTTP/1.1\r\nHost: {}", url.path, url.host);
    if url.port != 80 {
        let _ = write!(text, ":{}", url.port);
    }
    text.push_str("\r\nUser-Agent: genetbench\r\nAccept: */*\r\nConnection: keep-alive\r\n");
    if let Some(bytes) = range_b {
        let _ = write!(text, "Range: bytes=0-{}\r\n", bytes.max(1) - 1);
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// What the head of a response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// 200, 206, 404, ...
    pub status: u16,
    /// Promised length of the body, bytes. Without one it lasts to the end of the connection.
    pub content_length: Option<u64>,
    /// The connection may be used again.
    pub keep_alive: bool,
    /// It redirects to an https address.
    pub to_https: bool,
}

/// A head that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadError {
    /// It is not HTTP.
    NotHttp,
    /// It does not end within the memory that is there.
    TooLong,
    /// `Content-Length` is no number.
    BadLength,
    /// Two `Content-Length` fields disagree.
    TwoLengths,
    /// A part of the file that does not begin at its start, or is not as long as the head says.
    WrongRange,
    /// The body comes in chunks or otherwise encoded for the transfer.
    Chunked,
    /// There is no body.
    Empty,
    /// The connection ended before the head did.
    Cut,
}

impl fmt::Display for HeadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeadError::NotHttp => write!(
                f,
                "the answer is not HTTP/1.x, or longer than its head said: is the port in gb.url a web server's?"
            ),
            HeadError::TooLong => {
                write!(
                    f,
                    "the head of the answer exceeds {MAX_HEAD_BYTES} bytes or {MAX_HEADERS} fields: use another server"
                )
            }
            HeadError::BadLength => write!(f, "the answer's Content-Length is no number: use another server"),
            HeadError::TwoLengths => {
                write!(f, "the answer has two different Content-Length fields: use another server")
            }
            HeadError::WrongRange => {
                write!(f, "the server sent another part of the file than was asked for: use another server")
            }
            HeadError::Empty => write!(f, "the file is empty: name a larger one in gb.url"),
            HeadError::Cut => write!(f, "the server closed the connection without an answer: look at its log"),
            HeadError::Chunked => write!(f, "the server sends chunks without a length: name a plain file in gb.url"),
        }
    }
}

impl core::error::Error for HeadError {}

/// Reads a head from the first bytes of a response. `None` if there is more to come, else the
/// head and its length in bytes.
pub fn parse_head(bytes: &[u8]) -> Result<Option<(Head, usize)>, HeadError> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let length = match response.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() >= MAX_HEAD_BYTES => return Err(HeadError::TooLong),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(HeadError::TooLong),
        Err(_) => return Err(HeadError::NotHttp),
    };
    let status = response.code.ok_or(HeadError::NotHttp)?;
    let fields = |name: &'static str| {
        response.headers.iter().filter(move |h| h.name.eq_ignore_ascii_case(name)).map(|h| h.value.trim_ascii())
    };
    let has_token = |name, token: &str| {
        let values = fields(name).filter_map(|value| core::str::from_utf8(value).ok());
        values.flat_map(|value| value.split(',')).any(|t| t.trim().eq_ignore_ascii_case(token))
    };
    if fields("Transfer-Encoding").any(|value| !value.eq_ignore_ascii_case(b"identity")) {
        return Err(HeadError::Chunked);
    }
    let mut content_length = None;
    for value in fields("Content-Length") {
        let length: u64 = digits(value).ok_or(HeadError::BadLength)?;
        if content_length.replace(length).is_some_and(|other| other != length) {
            return Err(HeadError::TwoLengths);
        }
    }
    if status == 206 && !fields("Content-Range").next().is_some_and(|value| is_first_part(value, content_length)) {
        return Err(HeadError::WrongRange);
    }
    let keep_alive =
        !has_token("Connection", "close") && (response.version != Some(0) || has_token("Connection", "keep-alive"));
    let is_https = |value: &[u8]| value.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https:"));
    let to_https = (300..400).contains(&status) && fields("Location").any(is_https);
    Ok(Some((Head { status, content_length, keep_alive, to_https }, length)))
}

/// `value` of `Content-Range` names the first `content_length` bytes of the file: all that is ever asked for.
fn is_first_part(value: &[u8], content_length: Option<u64>) -> bool {
    let (Some(unit), Some(rest)) = (value.get(..8), value.get(8..)) else { return false };
    let range = rest.split(|b| *b == b'/').next().filter(|_| unit.eq_ignore_ascii_case(b"bytes 0-"));
    let Some(last) = range.and_then(digits::<u64>) else { return false };
    content_length.is_none_or(|length| last.checked_add(1) == Some(length))
}

/// A number of digits alone: the standard library's parser takes a sign too.
fn digits<T: core::str::FromStr>(bytes: &[u8]) -> Option<T> {
    let all = bytes.iter().all(u8::is_ascii_digit);
    core::str::from_utf8(bytes).ok().filter(|_| all)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn reads_urls() {
        let url = Url::parse("HTTP://mirror.example:8080/a/b?c=%20#frag").unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), ("mirror.example", 8080, "/a/b?c=%20"));
        assert_eq!(url.to_string(), "http://mirror.example:8080/a/b?c=%20");
        assert_eq!(Url::parse("http://10.0.0.1").unwrap().to_string(), "http://10.0.0.1/");
        assert_eq!(Url::parse("http://h?q").unwrap().path, "/?q");
    }

    #[test]
    fn says_what_is_wrong_with_a_url() {
        let long = "http://h/".to_string() + &"x".repeat(MAX_URL_BYTES);
        for (text, error) in [
            ("https://h/", UrlError::Https),
            ("ftp://h/", UrlError::NotHttp),
            ("", UrlError::NotHttp),
            ("http://", UrlError::NoHost),
            ("http://:80/", UrlError::NoHost),
            ("http://h:0/", UrlError::BadPort),
            ("http://h:65536/", UrlError::BadPort),
            ("http://h:/", UrlError::BadPort),
            ("http://h:+80/", UrlError::BadPort),
            ("http://me@h/", UrlError::UnsupportedHost),
            ("http://[::1]/", UrlError::UnsupportedHost),
            ("http://h/a b", UrlError::BadByte(b' ')),
            ("http://h/\u{e4}", UrlError::BadByte(0xc3)),
            (&long, UrlError::TooLong),
        ] {
            assert_eq!(Url::parse(text), Err(error), "{text}");
        }
        assert!(UrlError::Https.to_string().contains("http://"));
    }

    #[test]
    fn writes_requests() {
        let url = Url::parse("http://h:8/p").unwrap();
        let text = String::from_utf8(request(&url, Some(1))).unwrap();
        assert!(text.starts_with("GET /p HTTP/1.1\r\nHost: h:8\r\n"), "{text}");
        assert!(text.contains("\r\nRange: bytes=0-0\r\n") && text.ends_with("\r\n\r\n"), "{text}");
        assert!(!String::from_utf8(request(&url, None)).unwrap().contains("Range"));
    }

    #[test]
    fn reads_heads() {
        let text = b"HTTP/1.1 206 Partial Content\r\ncontent-length: 12\r\nContent-Range: bytes 0-11/99\r\n\r\nbody";
        for end in 0..text.len() - 4 {
            assert_eq!(parse_head(&text[..end]), Ok(None), "{end}");
        }
        let head = Head { status: 206, content_length: Some(12), keep_alive: true, to_https: false };
        assert_eq!(parse_head(text), Ok(Some((head, text.len() - 4))));
        let close = parse_head(b"HTTP/1.1 200 OK\r\nConnection: foo, Close\r\n\r\n").unwrap().unwrap().0;
        for (text, keeps) in [
            ("HTTP/1.0 200 OK\r\n\r\n", false),
            ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", true),
            ("HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\n\r\n", false),
            ("HTTP/1.1 200 OK\r\nConnection: x\r\nConnection: close\r\n\r\n", false),
        ] {
            assert_eq!(parse_head(text.as_bytes()).unwrap().unwrap().0.keep_alive, keeps, "{text}");
        }
        let twice = parse_head(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n").unwrap().unwrap();
        assert_eq!(twice.0.content_length, Some(5));
        assert_eq!(close, Head { status: 200, content_length: None, keep_alive: false, to_https: false });
        assert!(!parse_head(b"HTTP/1.0 200 OK\r\n\r\n").unwrap().unwrap().0.keep_alive);
    }

    #[test]
    fn takes_what_a_recipient_may_take() {
        let head = |text: &[u8]| parse_head(text).unwrap().unwrap().0;
        assert_eq!(head(b"HTTP/1.1 200 OK\nContent-Length: 7\n\n").content_length, Some(7), "bare line feeds");
        assert_eq!(head(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Length: 7\r\n\r\n").content_length, Some(7));
        assert_eq!(head(b"HTTP/1.1 206 P\r\nContent-Range: bytes 0-6/*\r\n\r\n").content_length, None);
        assert!(head(b"HTTP/1.1 301 M\r\nLocation: HTTPS://h/\r\n\r\n").to_https);
        assert!(!head(b"HTTP/1.1 301 M\r\nLocation: http://h/\r\n\r\n").to_https);
    }

    #[test]
    fn says_what_is_wrong_with_a_head() {
        let endless = [b"HTTP/1.1 200 OK\r\nA: ".as_slice(), &[b'x'; MAX_HEAD_BYTES]].concat();
        let many = [b"HTTP/1.1 200 OK\r\n".as_slice(), &b"A: b\r\n".repeat(MAX_HEADERS + 1), b"\r\n"].concat();
        for (bytes, error) in [
            (b"SSH-2.0-OpenSSH\r\n".as_slice(), HeadError::NotHttp),
            (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", HeadError::BadLength),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", HeadError::BadLength),
            (b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", HeadError::BadLength),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", HeadError::BadLength),
            (b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", HeadError::BadLength),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", HeadError::TwoLengths),
            (b"HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", HeadError::NotHttp),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", HeadError::Chunked),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", HeadError::Chunked),
            (b"HTTP/1.1 206 P\r\nContent-Length: 5\r\n\r\n", HeadError::WrongRange),
            (b"HTTP/1.1 206 P\r\nContent-Length: 5\r\nContent-Range: bytes 1-5/9\r\n\r\n", HeadError::WrongRange),
            (b"HTTP/1.1 206 P\r\nContent-Length: 5\r\nContent-Range: bytes 0-5/9\r\n\r\n", HeadError::WrongRange),
            (
                b"HTTP/1.1 206 P\r\nContent-Range: bytes 0-18446744073709551615/*\r\nContent-Length: 0\r\n\r\n",
                HeadError::WrongRange,
            ),
            (&endless, HeadError::TooLong),
            (&many, HeadError::TooLong),
        ] {
            assert_eq!(parse_head(bytes), Err(error), "{:?}", error.to_string());
        }
    }
}
