//! TFTP server, read only: RFC 1350 with the options of 2347 (option negotiation), 2348 (blksize), 2349 (timeout, tsize)
//! and 7440 (windowsize). U-Boot and the Pi's network boot fetch by it.

use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::udp;
use smoltcp::wire::IpEndpoint;

use super::{HostConfig, body};

const PORT: u16 = 69;
/// Local ports of transfers, one after the other.
const FIRST_PORT: u16 = 50_000;
const MAX_TRANSFERS: usize = 8;
const DEFAULT_BLOCK_BYTES: usize = 512;
/// With headers still one frame of 1514 bytes.
const MAX_BLOCK_BYTES: usize = 1468;
const MAX_WINDOW_BLOCKS: u64 = 16;
/// Silence after which the last window goes out again, and how often.
const TIMEOUT_NS: u64 = 1_000_000_000;
const MAX_TIMEOUTS: u32 = 5;

const READ_REQUEST: u16 = 1;
const WRITE_REQUEST: u16 = 2;
const DATA: u16 = 3;
const ACKNOWLEDGEMENT: u16 = 4;
const ERROR: u16 = 5;
const OPTION_ACKNOWLEDGEMENT: u16 = 6;

const NOT_FOUND: u16 = 1;
const ACCESS_VIOLATION: u16 = 2;
const ILLEGAL: u16 = 4;

/// The server.
pub(super) struct Tftp {
    socket: SocketHandle,
    transfers: Vec<Transfer>,
    next_port: u16,
}

struct Transfer {
    socket: SocketHandle,
    client: IpEndpoint,
    path: String,
    total_bytes: u64,
    block_bytes: usize,
    window_blocks: u64,
    /// Options to be acknowledged before the first block, as they go on the wire; empty: none.
    options: Vec<u8>,
    /// Blocks that the client has, counted from 1.
    acknowledged: u64,
    due: u64,
    timeouts: u32,
    over: bool,
}

impl Tftp {
    pub(super) fn new(services: &mut SocketSet<'static>) -> Self {
        Tftp { socket: services.add(socket(PORT)), transfers: Vec::new(), next_port: FIRST_PORT }
    }

    /// Answers what has arrived and repeats what nobody acknowledged. Blocks sent.
    pub(super) fn serve(&mut self, now: u64, config: &HostConfig, services: &mut SocketSet<'static>) -> u64 {
        while let Ok((request, from)) = services.get_mut::<udp::Socket>(self.socket).recv() {
            let request = request.to_vec();
            self.take_request(now, config, services, &request, from.endpoint);
        }
        let mut blocks = 0;
        for transfer in &mut self.transfers {
            blocks += transfer.work(now, config, services.get_mut::<udp::Socket>(transfer.socket));
        }
        // A socket goes when its last datagram has left.
        self.transfers.retain(|transfer| {
            let socket = services.get::<udp::Socket>(transfer.socket);
            let keep = !transfer.over || socket.send_queue() > 0;
            if !keep {
                services.remove(transfer.socket);
            }
            keep
        });
        blocks
    }

    /// When something wants to be sent again.
    pub(super) fn due(&self) -> Option<u64> {
        self.transfers.iter().filter(|transfer| !transfer.over).map(|transfer| transfer.due).min()
    }

    fn take_request(
        &mut self,
        now: u64,
        config: &HostConfig,
        services: &mut SocketSet<'static>,
        request: &[u8],
        client: IpEndpoint,
    ) {
        let refusal = match parse_request(request) {
            Err(code) => (code, "read requests only"),
            // A repeated request: its transfer is under way.
            Ok(_) if self.transfers.iter().any(|transfer| transfer.client == client && !transfer.over) => return,
            Ok(_) if self.transfers.iter().filter(|transfer| !transfer.over).count() >= MAX_TRANSFERS => {
                (0, "too many transfers")
            }
            Ok(words) => match file_bytes(config, words[0]) {
                None => (NOT_FOUND, "no such file"),
                Some(total_bytes) => {
                    let handle = services.add(socket(self.next_port));
                    self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_PORT);
                    self.transfers.push(Transfer::new(now, handle, client, &words, total_bytes));
                    return;
                }
            },
        };
        // No room in the buffer: the client will ask again.
        let _ = services.get_mut::<udp::Socket>(self.socket).send_slice(&error(refusal.0, refusal.1), client);
    }
}

impl Transfer {
    /// `words`: file name, mode, then pairs of option and value.
    fn new(now: u64, socket: SocketHandle, client: IpEndpoint, words: &[&str], total_bytes: u64) -> Self {
        let mut transfer = Transfer {
            socket,
            client,
            path: words[0].to_owned(),
            total_bytes,
            block_bytes: DEFAULT_BLOCK_BYTES,
            window_blocks: 1,
            options: Vec::new(),
            acknowledged: 0,
            due: now,
            timeouts: 0,
            over: false,
        };
        for pair in words[2..].chunks_exact(2) {
            let name = pair[0].to_ascii_lowercase();
            let Ok(asked) = pair[1].parse::<u64>() else { continue };
            let granted = match name.as_str() {
                "blksize" if asked >= 8 => {
                    transfer.block_bytes = asked.min(MAX_BLOCK_BYTES as u64) as usize;
                    transfer.block_bytes as u64
                }
                "windowsize" if asked >= 1 => {
                    transfer.window_blocks = asked.min(MAX_WINDOW_BLOCKS);
                    transfer.window_blocks
                }
                "tsize" => total_bytes,
                "timeout" => asked,
                _ => continue,
            };
            transfer.options.extend_from_slice(format!("{name}\0{granted}\0").as_bytes());
        }
        transfer
    }

    /// The last block is the first that is not full.
    fn blocks(&self) -> u64 {
        self.total_bytes / self.block_bytes as u64 + 1
    }

    fn work(&mut self, now: u64, config: &HostConfig, socket: &mut udp::Socket) -> u64 {
        let mut news = false;
        while let Ok((datagram, from)) = socket.recv() {
            if from.endpoint == self.client && !self.over {
                news |= self.take(datagram);
            }
        }
        if self.over {
            return 0;
        }
        if news {
            self.timeouts = 0;
        } else if self.due > now {
            return 0;
        } else {
            self.timeouts += 1;
            if self.timeouts > MAX_TIMEOUTS {
                self.over = true;
                return 0;
            }
        }
        self.due = now + TIMEOUT_NS;
        self.send_window(config, socket)
    }

    /// True when it moves the transfer on.
    fn take(&mut self, datagram: &[u8]) -> bool {
        let Some((code, rest)) = split_word(datagram) else { return false };
        match (code, split_word(rest)) {
            (ACKNOWLEDGEMENT, Some((0, _))) if !self.options.is_empty() => {
                self.options.clear();
                true
            }
            (ACKNOWLEDGEMENT, Some((number, _))) if self.options.is_empty() => {
                // Numbers on the wire are 16 bits of the block's.
                let ahead = u64::from(number.wrapping_sub(self.acknowledged as u16));
                if ahead == 0 || ahead > self.window_blocks {
                    return false; // an old one, sent again; answering it would double every block from here on
                }
                self.acknowledged += ahead;
                self.over = self.acknowledged >= self.blocks();
                true
            }
            (ERROR, _) => {
                self.over = true;
                false
            }
            _ => false,
        }
    }

    fn send_window(&self, config: &HostConfig, socket: &mut udp::Socket) -> u64 {
        if !self.options.is_empty() {
            let datagram = [&OPTION_ACKNOWLEDGEMENT.to_be_bytes()[..], &self.options].concat();
            let _ = socket.send_slice(&datagram, self.client); // the timeout repeats it
            return 0;
        }
        let last = (self.acknowledged + self.window_blocks).min(self.blocks());
        for block in self.acknowledged + 1..=last {
            let offset = (block - 1) * self.block_bytes as u64;
            let length = (self.total_bytes - offset).min(self.block_bytes as u64) as usize;
            let mut datagram = vec![0; 4 + length];
            datagram[..2].copy_from_slice(&DATA.to_be_bytes());
            datagram[2..4].copy_from_slice(&(block as u16).to_be_bytes());
            read_file(config, &self.path, offset, &mut datagram[4..]);
            let _ = socket.send_slice(&datagram, self.client);
        }
        last - self.acknowledged
    }
}

fn socket(port: u16) -> udp::Socket<'static> {
    let room = MAX_WINDOW_BLOCKS as usize + 1;
    let buffer = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; room], vec![0; room * 1500]);
    let mut socket = udp::Socket::new(buffer(), buffer());
    let _ = socket.bind(port); // a fresh socket can be bound to any port but 0
    socket
}

fn split_word(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((u16::from_be_bytes(*word), rest))
}

/// File name, mode and options of a read request; the error's code otherwise.
fn parse_request(request: &[u8]) -> Result<Vec<&str>, u16> {
    match split_word(request) {
        Some((READ_REQUEST, rest)) => {
            let text = std::str::from_utf8(rest).ok().and_then(|text| text.strip_suffix('\0')).ok_or(ILLEGAL)?;
            let words: Vec<&str> = text.split('\0').collect();
            if words.len() < 2 || !words[1].eq_ignore_ascii_case("octet") { Err(ILLEGAL) } else { Ok(words) }
        }
        Some((WRITE_REQUEST, _)) => Err(ACCESS_VIOLATION),
        _ => Err(ILLEGAL),
    }
}

fn error(code: u16, text: &str) -> Vec<u8> {
    [&ERROR.to_be_bytes()[..], &code.to_be_bytes(), text.as_bytes(), &[0]].concat()
}

fn same_file(configured: &str, asked: &str) -> bool {
    configured.trim_start_matches('/') == asked.trim_start_matches('/')
}

fn file_bytes(config: &HostConfig, path: &str) -> Option<u64> {
    let file = config.files.iter().find(|file| same_file(&file.0, path)).map(|file| file.1.len() as u64);
    file.or_else(|| config.objects.iter().find(|object| same_file(&object.path, path)).map(|object| object.bytes))
}

fn read_file(config: &HostConfig, path: &str, offset: u64, out: &mut [u8]) {
    match config.files.iter().find(|file| same_file(&file.0, path)) {
        Some((_, content)) => {
            // A file that was replaced by a shorter one meanwhile reads as zeros.
            if let Some(from) = content.get(offset as usize..offset as usize + out.len()) {
                out.copy_from_slice(from);
            }
        }
        None => body::fill_body(offset, out),
    }
}
