//! The host's TFTP server, seen by a client on a plain switch port.

mod world;

use board::host::{HostConfig, Object, body_byte};
use board::path::PathConfig;
use smoltcp::iface::SocketHandle;
use smoltcp::socket::udp;
use smoltcp::wire::IpAddress;
use std::rc::Rc;
use world::{HOST_IP, World};

const SECOND: u64 = 1_000_000_000;
const CLIENT_PORT: u16 = 1069;

struct Client {
    world: World,
    handle: SocketHandle,
}

impl Client {
    fn new(path: PathConfig) -> Self {
        let files = vec![("kernel8.img".to_owned(), Rc::from(vec![7; 1000]))];
        let objects =
            [("/data", 64), ("/wraps", 1)].map(|(path, mib)| Object { path: path.to_owned(), bytes: mib << 20 });
        let config = HostConfig { files, objects: objects.into(), ..HostConfig::default() };
        let mut world = World::with_address(config, path);
        let buffer = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 32], vec![0; 64 * 1024]);
        let mut socket = udp::Socket::new(buffer(), buffer());
        socket.bind(CLIENT_PORT).unwrap();
        let handle = world.sockets.add(socket);
        Client { world, handle }
    }

    fn send(&mut self, port: u16, datagram: &[u8]) {
        let [a, b, c, d] = HOST_IP;
        let socket = self.world.sockets.get_mut::<udp::Socket>(self.handle);
        socket.send_slice(datagram, (IpAddress::v4(a, b, c, d), port)).unwrap();
    }

    /// The next datagram and the port it came from, within `limit_ns`.
    fn receive(&mut self, limit_ns: u64) -> Option<(Vec<u8>, u16)> {
        let end = self.world.now + limit_ns;
        loop {
            if let Ok((data, from)) = self.world.sockets.get_mut::<udp::Socket>(self.handle).recv() {
                return Some((data.to_vec(), from.endpoint.port));
            }
            if !self.world.step(end) {
                return None;
            }
        }
    }

    /// Fetches `name` with `options`, losing the client's acknowledgement of block `lose` once.
    fn fetch(&mut self, name: &str, options: &str, window: u64, lose: Option<u64>) -> Vec<u8> {
        self.send(69, format!("\0\x01{name}\0octet\0{options}").as_bytes());
        let (mut file, mut have, mut in_window, mut lost) = (Vec::new(), 0u64, 0, lose);
        let mut block_bytes = 512;
        loop {
            let (data, port) = self.receive(3 * SECOND).expect("the server repeats what is not acknowledged");
            match data[1] {
                6 => {
                    let text = String::from_utf8(data[2..].to_vec()).unwrap();
                    let words: Vec<&str> = text.split('\0').collect();
                    if let Some(at) = words.iter().position(|word| *word == "blksize") {
                        block_bytes = words[at + 1].parse().unwrap();
                    }
                    self.send(port, &[0, 4, 0, 0]);
                }
                3 => {
                    let next = u16::from_be_bytes([data[2], data[3]]) == (have + 1) as u16;
                    if next {
                        have += 1;
                        in_window += 1;
                        file.extend_from_slice(&data[4..]);
                    }
                    let last = data.len() < 4 + block_bytes;
                    if last || in_window == window || !next {
                        in_window = 0;
                        if lost == Some(have) {
                            lost = None;
                            continue;
                        }
                        let number = (have as u16).to_be_bytes();
                        self.send(port, &[0, 4, number[0], number[1]]);
                    }
                    if last {
                        return file;
                    }
                }
                _ => panic!("{data:?}"),
            }
        }
    }
}

fn is_body(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(at, byte)| *byte == body_byte(at as u64))
}

#[test]
fn files_come_whole_with_any_options() {
    for (options, window) in
        [("", 1), ("blksize\x001468\0tsize\x000\0", 1), ("windowsize\x004\0blksize\x00100000\0", 4), ("odd\x001\0", 1)]
    {
        let mut client = Client::new(PathConfig::default());
        assert_eq!(client.fetch("kernel8.img", options, window, None), [7; 1000], "{options:?}");
    }
    let mut client = Client::new(PathConfig::default());
    let file = client.fetch("/wraps", "blksize\x008\0", 1, None);
    assert_eq!(file.len(), 1 << 20);
    assert!(is_body(&file), "block numbers wrapped {} times", file.len() / 8 / 65536);
}

#[test]
fn a_lost_acknowledgement_costs_a_timeout_and_no_byte() {
    let mut client = Client::new(PathConfig::default());
    let file = client.fetch("kernel8.img", "", 1, Some(1));
    assert_eq!(file, [7; 1000]);
    assert!((SECOND..2 * SECOND).contains(&client.world.now), "{}", client.world.now);
}

#[test]
fn what_cannot_be_served_is_refused() {
    for (request, code) in [
        (&b"\0\x01nothing\0octet\0"[..], 1),
        (b"\0\x02kernel8.img\0octet\0", 2),
        (b"\0\x01kernel8.img\0netascii\0", 4),
        (b"\0\x01kernel8.img", 4),
        (b"\0", 4),
    ] {
        let mut client = Client::new(PathConfig::default());
        client.send(69, request);
        let (reply, _) = client.receive(SECOND).expect("an error");
        assert_eq!(reply[..4], [0, 5, 0, code], "{request:?}");
    }
}

#[test]
fn a_client_that_goes_away_is_given_up() {
    let mut client = Client::new(PathConfig::default());
    client.send(69, b"\0\x01data\0octet\0");
    let mut blocks = 0;
    while client.receive(3 * SECOND).is_some() {
        blocks += 1;
    }
    assert_eq!(blocks, 5);
}
