//! Why a point or a whole plan failed: one word for programs, one sentence for people.
//!
//! Owns the words that `rc` may be. The sentence says what to do next, not only what happened.

use crate::http::{HeadError, UrlError};
use core::fmt;
use genet::{ApplyError, PhyError};
use smoltcp::wire::Ipv4Address;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Somebody at the console ended it.
    Stopped,
    /// No link for this long.
    LinkDown {
        /// Time waited, ms.
        waited_ms: u64,
    },
    /// The link went while something was under way, even if it came back.
    LinkLost,
    /// No DHCP server answered.
    DhcpTimeout {
        /// Time waited, ms.
        waited_ms: u64,
    },
    /// The DHCP server gave an address that no board can have.
    DhcpUnusable {
        /// The address.
        address: Ipv4Address,
    },
    /// The DHCP server gave an address and took it back within a second.
    DhcpTooShort,
    /// The lease ended and was not renewed.
    DhcpLost,
    /// The DHCP server named no name server, and the URL needs one.
    DnsNoServer,
    /// The name server says that there is no such name.
    DnsNotFound,
    /// The name server does not answer.
    DnsTimeout {
        /// Time waited, ms.
        waited_ms: u64,
    },
    /// The peer answers, and nobody listens on that port.
    TcpRefused,
    /// The peer does not answer any more.
    TcpTimeout {
        /// What was waited for.
        during: &'static str,
        /// Time waited, ms.
        waited_ms: u64,
    },
    /// The peer broke the connection off.
    TcpReset,
    /// The peer fell silent in the window and stayed so.
    TcpStalled {
        /// Silence at the end of the window, ms.
        silent_ms: u64,
    },
    /// The server answers with something other than the file.
    HttpStatus {
        /// Its status code.
        code: u16,
    },
    /// The server answers that the file is to be had by https only.
    HttpsOnly {
        /// Its status code.
        code: u16,
    },
    /// Every server was done and closed its connection before the window began.
    HttpEnded,
    /// The server's answer is no HTTP that we read.
    HttpHead(HeadError),
    /// The server ended the connection early.
    HttpShort {
        /// Bytes of the body that came.
        got: u64,
        /// Bytes that its head promised.
        promised: u64,
    },
    /// The URL in the plan cannot be fetched.
    Url(UrlError),
    /// The hardware read back something else than was asked. The point was measured nevertheless.
    SettingIgnored {
        /// Name of the setting, as in records.
        key: &'static str,
    },
    /// The PHY could not be set.
    Phy(PhyError),
    /// The driver could not apply the settings.
    SettingFailed(ApplyError),
}

impl Failure {
    /// The `rc` word of records.
    pub fn rc(&self) -> &'static str {
        match self {
            Failure::Stopped => "stopped",
            Failure::LinkDown { .. } => "link.down",
            Failure::LinkLost => "link.lost",
            Failure::DhcpTimeout { .. } => "dhcp.timeout",
            Failure::DhcpUnusable { .. } | Failure::DhcpTooShort => "dhcp.unusable",
            Failure::DhcpLost => "dhcp.lost",
            Failure::DnsNoServer => "dns.no_server",
            Failure::DnsNotFound => "dns.not_found",
            Failure::DnsTimeout { .. } => "dns.timeout",
            Failure::TcpRefused => "tcp.refused",
            Failure::TcpTimeout { .. } => "tcp.timeout",
            Failure::TcpReset => "tcp.reset",
            Failure::TcpStalled { .. } => "tcp.stalled",
            Failure::HttpStatus { .. } | Failure::HttpsOnly { .. } => "http.status",
            Failure::HttpEnded => "http.ended",
            Failure::HttpHead(_) => "http.head",
            Failure::HttpShort { .. } => "http.short",
            Failure::Url(_) => "url.bad",
            Failure::SettingIgnored { .. } => "setting.ignored",
            Failure::Phy(_) => "phy.failed",
            Failure::SettingFailed(_) => "setting.failed",
        }
    }

    /// The HTTP status, for its own record field.
    pub fn http_status(&self) -> Option<u16> {
        match self {
            Failure::HttpStatus { code } | Failure::HttpsOnly { code } => Some(*code),
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Stopped => write!(f, "by Ctrl-C on the console"),
            Failure::LinkDown { waited_ms } => write!(
                f,
                "no link after {}.{} s: check the cable, and that the other end is switched on",
                waited_ms / 1000,
                waited_ms % 1000 / 100
            ),
            Failure::LinkLost => {
                write!(f, "the link went down meanwhile, so this does not count: check the cable and the switch's port")
            }
            Failure::DhcpTimeout { waited_ms } => write!(
                f,
                "no DHCP server answered within {} s with an address to use: is there one on this network, does this \
                 port reach it, and what does its log say?",
                waited_ms / 1000
            ),
            Failure::DhcpUnusable { address } => {
                write!(f, "the DHCP server gave {address}, which no board can have: correct its configuration")
            }
            Failure::DhcpTooShort => {
                write!(f, "the DHCP server took the address back within a second: correct its lease time")
            }
            Failure::DhcpLost => {
                write!(
                    f,
                    "the address is lost: the DHCP server did not renew its lease. Look at its log, then run again"
                )
            }
            Failure::DnsNoServer => {
                write!(f, "the DHCP server named no name server: put a numeric address into gb.url")
            }
            Failure::DnsNotFound => {
                write!(f, "the name server knows no such host: check gb.url, or use a numeric address")
            }
            Failure::DnsTimeout { waited_ms } => write!(
                f,
                "the name server did not answer within {} s: check it, or put a numeric address into gb.url",
                waited_ms / 1000
            ),
            Failure::TcpRefused => {
                write!(
                    f,
                    "connection refused: nothing listens there. Is the server running, and the port in gb.url right?"
                )
            }
            Failure::TcpTimeout { during, waited_ms } => write!(
                f,
                "no {during} within {} ms: is the peer up, and does a firewall drop packets on the way?",
                waited_ms
            ),
            Failure::TcpReset => {
                write!(f, "the peer reset the connection: look at the server's log, or try another server")
            }
            Failure::TcpStalled { silent_ms } => write!(
                f,
                "nothing came in the last {silent_ms} ms of the window: look at the server; if the setting or the way \
                 makes such gaps, make gb.window_ms longer"
            ),
            Failure::HttpsOnly { code } => {
                write!(f, "the server answered {code}: the file is to be had by https only; use another server")
            }
            Failure::HttpEnded => write!(
                f,
                "the file ended before the window began and the server closed the connection: name a larger one in \
                 gb.url, or make gb.warmup_ms shorter"
            ),
            Failure::HttpStatus { code } => write!(f, "the server answered {code}: {}", status_advice(*code)),
            Failure::HttpHead(error) => write!(f, "{error}"),
            Failure::HttpShort { got, promised } => write!(
                f,
                "the body ended after {got} of {promised} promised bytes: the server or something on the way cut it off"
            ),
            Failure::Url(error) => write!(f, "{error}"),
            Failure::SettingIgnored { key } => {
                write!(f, "the hardware did not take `{key}`: the figures hold for the values read back")
            }
            Failure::Phy(error) => write!(f, "the PHY could not be set: {error}"),
            Failure::SettingFailed(error) => write!(f, "the settings could not be applied: {error}"),
        }
    }
}

impl core::error::Error for Failure {}

fn status_advice(code: u16) -> &'static str {
    match code {
        300..=399 => "it has moved; put the new http address into gb.url",
        404 | 410 => "no such file; check the path in gb.url",
        416 => "the file is shorter than the range asked for; make gb.range_b smaller",
        401 | 403 => "it wants a password or forbids access; use another file",
        500.. => "the server has a fault; try later, or another server",
        _ => "expected 200 or 206",
    }
}
