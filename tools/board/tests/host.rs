//! The host and the path to it, seen by a client machine: addresses, names, transfers at line rate, every fault.

mod world;

use board::host::{Congestion, DhcpMode, DnsMode, HostConfig, HttpFault, Object, Recovery, body_byte};
use board::path::{Bottleneck, PathConfig};
use smoltcp::iface::SocketHandle;
use smoltcp::socket::{dhcpv4, dns, icmp, tcp};
use smoltcp::wire::{DnsQueryType, Icmpv4Packet, Icmpv4Repr, IpAddress, Ipv4Address};
use world::{HOST_IP, Reply, World, get};

const SECOND: u64 = 1_000_000_000;
const NEW_RENO: Recovery = Recovery::NewReno { rto_ns: 200_000_000 };
const WINDOW: usize = 256 * 1024;

fn default_world() -> World {
    World::with_address(HostConfig::default(), PathConfig::default())
}

fn faulty(fault: HttpFault) -> World {
    World::with_address(HostConfig { fault, ..HostConfig::default() }, PathConfig::default())
}

/// What became of one request.
#[derive(Debug)]
struct Outcome {
    bytes: Vec<u8>,
    state: tcp::State,
    /// From the request to the last byte.
    took_ns: u64,
    first_byte_ns: u64,
}

impl Outcome {
    fn reply(&self) -> Reply {
        Reply::parse(&self.bytes).expect("an HTTP head")
    }
    fn body(&self) -> &[u8] {
        &self.bytes[self.reply().head_bytes..]
    }
}

/// Sends `request` on a new connection and reads until the promised length, the end of the connection or `limit_ns`.
fn fetch(world: &mut World, handle: SocketHandle, request: &str, limit_ns: u64) -> Outcome {
    let end = world.now + limit_ns;
    let (mut sent_at, mut first, mut last, mut bytes, mut wanted) = (None, 0, 0, Vec::new(), None);
    loop {
        let now = world.now;
        let socket = world.socket(handle);
        if sent_at.is_none() && socket.can_send() {
            socket.send_slice(request.as_bytes()).expect("room");
            sent_at = Some(now);
        }
        let before = bytes.len();
        world.take(handle, &mut bytes);
        if bytes.len() > before {
            last = now;
            if before == 0 {
                first = now;
            }
            wanted = wanted.or_else(|| Reply::parse(&bytes).map(|reply| reply.head_bytes + reply.length()));
        }
        let socket = world.socket(handle);
        let over = !socket.may_recv() && sent_at.is_some() || !socket.is_open();
        if over || wanted.is_some_and(|wanted| bytes.len() >= wanted) || !world.step(end) {
            let state = world.socket(handle).state();
            let start = sent_at.unwrap_or(0);
            return Outcome { bytes, state, took_ns: last - start.min(last), first_byte_ns: first - start.min(first) };
        }
    }
}

fn fetch_new(world: &mut World, request: &str) -> Outcome {
    let handle = world.connect(WINDOW, 40_000);
    fetch(world, handle, request, 5 * SECOND)
}

fn check_body(body: &[u8], offset: u64) {
    let wrong = body.iter().enumerate().position(|(at, byte)| *byte != body_byte(offset + at as u64));
    assert_eq!(wrong, None, "first wrong byte");
}

#[test]
fn dhcp_gives_address_router_and_name_server() {
    let mut world = World::new(HostConfig::default(), PathConfig::default());
    let handle = world.sockets.add(dhcpv4::Socket::new());
    world.run_until(SECOND);
    let event = world.sockets.get_mut::<dhcpv4::Socket>(handle).poll();
    let Some(dhcpv4::Event::Configured(lease)) = event else { panic!("no lease: {event:?}") };
    assert_eq!(lease.address.to_string(), "10.77.0.50/24");
    assert_eq!(lease.router, Some(Ipv4Address::from(HOST_IP)));
    assert_eq!(lease.dns_servers.first(), Some(&Ipv4Address::from(HOST_IP)));
    assert_eq!(world.host.borrow().stats().dhcp_replies, 2);
}

#[test]
fn dhcp_modes() {
    for (dhcp, leased) in
        [(DhcpMode::Silent, false), (DhcpMode::Nak, false), (DhcpMode::ShortLease { seconds: 4 }, true)]
    {
        let mut world = World::new(HostConfig { dhcp, ..HostConfig::default() }, PathConfig::default());
        let handle = world.sockets.add(dhcpv4::Socket::new());
        world.run_until(SECOND);
        let event = world.sockets.get_mut::<dhcpv4::Socket>(handle).poll();
        assert_eq!(matches!(event, Some(dhcpv4::Event::Configured(_))), leased, "{dhcp:?}");
        world.run_until(10 * SECOND);
        let replies = world.host.borrow().stats().dhcp_replies;
        match dhcp {
            DhcpMode::Silent => assert_eq!(replies, 0),
            // Renewed at half time, again and again.
            _ => assert!(replies > 4, "{dhcp:?}: {replies}"),
        }
    }
}

fn resolve(mode: DnsMode, name: &str) -> Result<Vec<IpAddress>, dns::GetQueryResultError> {
    let mut world = World::with_address(HostConfig { dns: mode, ..HostConfig::default() }, PathConfig::default());
    let socket = dns::Socket::new(&[IpAddress::from(Ipv4Address::from(HOST_IP))], vec![None]);
    let handle = world.sockets.add(socket);
    let query = world
        .sockets
        .get_mut::<dns::Socket>(handle)
        .start_query(world.client.context(), name, DnsQueryType::A)
        .expect("room for a query");
    world.run_until(30 * SECOND);
    world.sockets.get_mut::<dns::Socket>(handle).get_query_result(query).map(|list| list.to_vec())
}

#[test]
fn dns_knows_its_names_only() {
    let found = resolve(DnsMode::Answer, "peer.genetbench.test");
    assert_eq!(found, Ok(vec![IpAddress::from(Ipv4Address::from(HOST_IP))]));
    assert_eq!(resolve(DnsMode::Answer, "nowhere.test"), Err(dns::GetQueryResultError::Failed));
    assert_eq!(resolve(DnsMode::Silent, "peer.genetbench.test"), Err(dns::GetQueryResultError::Failed));
}

#[test]
fn ping_takes_a_round_trip_and_wire_time() {
    let mut world = default_world();
    let buffer = || icmp::PacketBuffer::new(vec![icmp::PacketMetadata::EMPTY; 4], vec![0; 4096]);
    let mut socket = icmp::Socket::new(buffer(), buffer());
    socket.bind(icmp::Endpoint::Ident(7)).expect("fresh socket");
    let handle = world.sockets.add(socket);
    let mut round_trips = Vec::new();
    for round in 0..2 {
        let start = world.now;
        let request = Icmpv4Repr::EchoRequest { ident: 7, seq_no: round, data: &[0; 18] };
        let [a, b, c, d] = HOST_IP;
        let socket = world.sockets.get_mut::<icmp::Socket>(handle);
        let bytes = socket.send(request.buffer_len(), IpAddress::v4(a, b, c, d)).expect("room");
        request.emit(&mut Icmpv4Packet::new_unchecked(bytes), &Default::default());
        while !world.sockets.get_mut::<icmp::Socket>(handle).can_recv() {
            assert!(world.step(start + SECOND), "no echo {round}");
        }
        round_trips.push(world.now - start);
        world.sockets.get_mut::<icmp::Socket>(handle).recv().expect("can_recv");
    }
    // The first one waits for ARP. Then three wire times of a shortest frame (84 bytes with preamble and gap) besides
    // the delays: client to switch, host to switch, switch to client.
    assert_eq!(round_trips[1], 200_000 + 3 * 672);
}

#[test]
fn a_range_comes_at_line_rate() {
    let mut world = default_world();
    let handle = world.connect(WINDOW, 40_000);
    let outcome = fetch(&mut world, handle, &get(Some("bytes=1000-8389607")), 5 * SECOND);
    let host_ns = world.cost.as_nanos() as u64 / world.frames_to_client;
    let reply = outcome.reply();
    assert_eq!(reply.status, 206);
    assert_eq!(reply.header("content-range"), Some("bytes 1000-8389607/67108864"));
    assert_eq!(outcome.body().len(), 8 << 20);
    check_body(outcome.body(), 1000);
    let mbps = (8 << 20) as f64 * 8e3 / (outcome.took_ns - outcome.first_byte_ns) as f64;
    println!("{mbps:.2} Mbit/s of payload; path and host cost {host_ns} ns a frame");
    // 1460 of 1538 bytes on the wire: 949.28 Mbit/s.
    assert!(mbps > 948.0 && mbps < 949.6, "{mbps}");
    assert_eq!(world.queue_drops, 0);
    assert_eq!(world.host.borrow().stats().retransmissions, 0);
    // Full segments only: payload / 1460, the SYN, ARP, at most one short segment at the end.
    assert!(world.frames_to_client < (8 << 20) / 1460 + 8, "{}", world.frames_to_client);
}

#[test]
fn a_response_starts_after_the_round_trip_and_the_latency() {
    let mut world = default_world();
    let outcome = fetch_new(&mut world, &get(Some("bytes=0-0")));
    assert_eq!(outcome.body(), [body_byte(0)]);
    // Round trip, latency, wire times below 30 us, microsecond clocks of both stacks.
    assert!((220_000..230_000).contains(&outcome.first_byte_ns), "{}", outcome.first_byte_ns);
}

#[test]
fn ranges_heads_and_errors() {
    let cases = [
        (get(None).replace("/data", "/none"), 404, 0),
        (get(Some("bytes=67108864-")), 416, 0),
        (get(Some("bytes=-5")), 206, 5),
        (get(Some("bytes=67108860-99999999999")), 206, 4),
        (get(Some("bytes=0-1")).replace("GET", "HEAD"), 206, 0),
        (get(None).replace("GET", "POST"), 405, 0),
        ("nonsense\r\n\r\n".to_owned(), 400, 0),
        ("GET /data HTTP/1.1\r\n\r\n".to_owned(), 400, 0),
    ];
    for (request, status, body) in cases {
        let mut world = default_world();
        let handle = world.connect(WINDOW, 40_000);
        let outcome = fetch(&mut world, handle, &request, SECOND / 10);
        assert_eq!((outcome.reply().status, outcome.body().len()), (status, body), "{request}");
    }
}

#[test]
fn a_connection_serves_many_requests_even_pipelined() {
    let mut world = default_world();
    let handle = world.connect(WINDOW, 40_000);
    for round in 0..20u64 {
        let outcome = fetch(&mut world, handle, &get(Some(&format!("bytes={round}-{}", round + 99_999))), SECOND);
        check_body(outcome.body(), round);
        assert_eq!(outcome.body().len(), 100_000);
    }
    let two = get(Some("bytes=0-9")) + &get(Some("bytes=10-19"));
    let first = fetch(&mut world, handle, &two, SECOND);
    let mut bytes = first.bytes.clone();
    let end = world.now + SECOND / 100;
    while world.step(end) {
        world.take(handle, &mut bytes);
    }
    assert_eq!(bytes.iter().filter(|byte| **byte == b'H').count().min(2), 2);
    let reply = Reply::parse(&bytes).expect("head");
    let second = &bytes[reply.head_bytes + 10..];
    assert_eq!(Reply::parse(second).expect("second head").header("content-range"), Some("bytes 10-19/67108864"));
    assert_eq!(world.host.borrow().stats().connections, 1);
    assert_eq!(world.host.borrow().stats().requests, 22);
}

#[test]
fn sixteen_connections_share_evenly() {
    let mut world = default_world();
    let handles: Vec<_> = (0..16).map(|flow| world.connect(64 * 1024, 41_000 + flow)).collect();
    let mut asked = [false; 16];
    let mut taken = [0usize; 16];
    while world.step(SECOND / 10) {
        for (flow, handle) in handles.iter().enumerate() {
            let socket = world.socket(*handle);
            if !asked[flow] && socket.can_send() {
                asked[flow] = socket.send_slice(get(None).as_bytes()).is_ok();
            }
            while socket.can_recv() {
                taken[flow] += socket.recv(|data| (data.len(), data.len())).expect("can_recv");
            }
        }
    }
    let (least, most) = (taken.iter().min().expect("16"), taken.iter().max().expect("16"));
    let total: usize = taken.iter().sum();
    assert!(most - least < most / 10, "{taken:?}");
    assert!(total as u64 * 8 * 10 > 930_000_000, "{total} bytes in 0.1 s");
    assert_eq!(world.queue_drops, 0);
}

#[test]
fn old_connections_make_room_and_a_port_can_be_used_again() {
    let mut world = faulty(HttpFault::CloseEach);
    for _ in 0..200 {
        let handle = world.connect(WINDOW, 40_000);
        let outcome = fetch(&mut world, handle, &get(Some("bytes=0-9")), SECOND);
        assert_eq!(outcome.reply().header("connection"), Some("close"));
        world.socket(handle).close();
        let end = world.now + SECOND / 100;
        world.run_until(end);
        world.sockets.remove(handle);
    }
    assert_eq!(world.host.borrow().stats().connections, 200);
    assert!(world.host.borrow().open_connections() <= 1);
}

#[test]
fn fault_refused() {
    let mut world = faulty(HttpFault::Refuse);
    let outcome = fetch_new(&mut world, &get(None));
    assert_eq!((outcome.bytes.len(), outcome.state), (0, tcp::State::Closed));
    assert!(world.now < SECOND / 100, "{}", world.now);
    assert_eq!(world.host.borrow().stats().refused, 1);
}

#[test]
fn fault_not_found() {
    let mut world = faulty(HttpFault::NotFound);
    assert_eq!(fetch_new(&mut world, &get(None)).reply().status, 404);
}

#[test]
fn fault_short_body() {
    let mut world = faulty(HttpFault::ShortBody { after_bytes: 100_000 });
    let outcome = fetch_new(&mut world, &get(None));
    assert_eq!(outcome.reply().length(), 64 << 20);
    assert_eq!(outcome.body().len(), 100_000);
    assert_eq!(outcome.state, tcp::State::CloseWait);
    check_body(outcome.body(), 0);
}

#[test]
fn fault_reset() {
    let mut world = faulty(HttpFault::Reset { after_bytes: 300_000 });
    let outcome = fetch_new(&mut world, &get(None));
    assert_eq!(outcome.body().len(), 300_000);
    assert_eq!(outcome.state, tcp::State::Closed);
    check_body(outcome.body(), 0);
}

#[test]
fn fault_stall_and_mute() {
    for (fault, bytes) in [(HttpFault::Stall { after_bytes: 5_000 }, 5_000), (HttpFault::Mute, 0)] {
        let mut world = faulty(fault.clone());
        let outcome = fetch_new(&mut world, &get(None));
        assert_eq!(outcome.state, tcp::State::Established, "{fault:?}");
        assert!(world.now >= 5 * SECOND);
        let body = if bytes == 0 { outcome.bytes.len() } else { outcome.body().len() };
        assert_eq!(body, bytes, "{fault:?}");
    }
}

#[test]
fn fault_slow_head() {
    let mut world = faulty(HttpFault::SlowHead { interval_ns: 10_000_000 });
    let outcome = fetch_new(&mut world, &get(Some("bytes=0-9")));
    let head = outcome.reply().head_bytes as u64;
    assert!(outcome.took_ns >= (head - 1) * 10_000_000, "{} bytes in {}", head, outcome.took_ns);
    assert_eq!(outcome.body().len(), 10);
}

#[test]
fn fault_garbage_head() {
    let mut world = faulty(HttpFault::GarbageHead);
    let outcome = fetch_new(&mut world, &get(None));
    assert!(!outcome.bytes.is_empty());
    assert_eq!(Reply::parse(&outcome.bytes), None);
}

#[test]
fn fault_long_body_wrong_range_redirect() {
    let mut world = faulty(HttpFault::LongBody { extra_bytes: 3 });
    let handle = world.connect(WINDOW, 40_000);
    let mut bytes = fetch(&mut world, handle, &get(Some("bytes=0-9")), SECOND).bytes;
    let end = world.now + SECOND / 100;
    world.run_until(end);
    world.take(handle, &mut bytes);
    let reply = Reply::parse(&bytes).expect("head");
    assert_eq!((reply.length(), bytes.len() - reply.head_bytes), (10, 13));

    let mut world = faulty(HttpFault::WrongRange);
    let outcome = fetch_new(&mut world, &get(Some("bytes=0-9")));
    assert_eq!(outcome.reply().header("content-range"), Some("bytes 1-10/67108864"));

    let mut world = faulty(HttpFault::Redirect { location: "http://other.test/x".into() });
    let outcome = fetch_new(&mut world, &get(None));
    assert_eq!((outcome.reply().status, outcome.reply().header("location")), (302, Some("http://other.test/x")));
}

#[test]
fn a_fault_can_be_limited_to_some_requests() {
    let fault = HttpFault::NotFound;
    let config = HostConfig { fault, fault_requests: 1..2, ..HostConfig::default() };
    let mut world = World::with_address(config, PathConfig::default());
    let handle = world.connect(WINDOW, 40_000);
    let statuses: Vec<_> =
        (0..3).map(|_| fetch(&mut world, handle, &get(Some("bytes=0-9")), SECOND).reply().status).collect();
    assert_eq!(statuses, [206, 404, 206]);
}

#[test]
fn pacing_and_bottleneck_set_the_rate() {
    let paced = HostConfig { pace_bps: Some(200_000_000), ..HostConfig::default() };
    let mut world = World::with_address(paced, PathConfig::default());
    let outcome = fetch_new(&mut world, &get(Some("bytes=0-4194303")));
    let mbps = (4 << 20) as f64 * 8e3 / outcome.took_ns as f64;
    assert!((185.0..191.0).contains(&mbps), "{mbps}");

    let line = Bottleneck { bps: 100_000_000, queue_bytes: 1 << 20 };
    let path = PathConfig { to_board_bottleneck: Some(line), ..PathConfig::default() };
    let mut world = World::with_address(HostConfig::default(), path);
    let outcome = fetch_new(&mut world, &get(Some("bytes=0-4194303")));
    let mbps = (4 << 20) as f64 * 8e3 / outcome.took_ns as f64;
    assert!((94.0..95.0).contains(&mbps), "{mbps}");
    assert_eq!(world.path.stats().bottleneck_drops, 0);
}

#[test]
fn the_window_over_the_round_trip_bounds_a_long_way() {
    let mut world = World::with_address(HostConfig::default(), PathConfig::round_trip(40_000_000));
    let outcome = fetch_new(&mut world, &get(Some("bytes=0-4194303")));
    // 4 MiB in windows of 256 KiB, one a round trip.
    let mbps = (4 << 20) as f64 * 8e3 / outcome.took_ns as f64;
    let bound = WINDOW as f64 * 8e3 / 40_000_000.0;
    assert!((0.85..1.0).contains(&(mbps / bound)), "{mbps} of {bound}");
}

#[test]
fn losses_are_repaired_without_waiting_for_the_stacks_timeout() {
    // With congestion control the window shrinks so far that some losses leave no three duplicates behind: timeouts.
    for (congestion, limit, recovery) in
        [(Congestion::None, SECOND / 2), (Congestion::Reno, 4 * SECOND), (Congestion::Cubic, 4 * SECOND)]
            .into_iter()
            .flat_map(|case| [(case, NEW_RENO), (case, HostConfig::default().recovery)])
            .map(|((congestion, limit), recovery)| (congestion, limit, recovery))
    {
        let config = HostConfig { congestion, recovery, ..HostConfig::default() };
        let mut world = World::with_address(config, PathConfig::default());
        // A hole of one, a hole of 40, and every other frame for a while.
        world.lose = std::iter::once(300).chain(1_000..1_040).chain((2_000..2_060).step_by(2)).collect();
        let outcome = fetch_new(&mut world, &get(Some("bytes=0-3670015")));
        assert_eq!(outcome.body().len(), 7 << 19);
        check_body(outcome.body(), 0);
        let again = world.host.borrow().stats().retransmissions;
        println!("{congestion:?} {recovery:?}: {} us, {again} sent again", outcome.took_ns / 1_000);
        assert!(outcome.took_ns < limit, "{congestion:?}: {} ms", outcome.took_ns / 1_000_000);
    }
}

#[test]
fn the_last_segment_lost_costs_one_timeout() {
    let rto_ns = 200_000_000;
    for (recovery, at_least) in
        [(Recovery::NewReno { rto_ns }, rto_ns), (Recovery::Selective { rto_ns }, rto_ns), (Recovery::Stack, SECOND)]
    {
        let config = HostConfig { recovery, ..HostConfig::default() };
        let mut world = World::with_address(config, PathConfig::default());
        world.lose = vec![3]; // ARP, SYN-ACK, acknowledgement of the request, response
        let outcome = fetch_new(&mut world, &get(Some("bytes=0-9")));
        assert_eq!(outcome.body().len(), 10, "{recovery:?}");
        assert!(outcome.took_ns > at_least && outcome.took_ns < at_least * 6 / 5, "{recovery:?} {}", outcome.took_ns);
    }
}

#[test]
fn random_loss_duplication_and_reordering_keep_the_bytes() {
    let path = PathConfig {
        seed: 7,
        to_board_loss_ppm: 5_000,
        from_board_loss_ppm: 5_000,
        to_board_duplicate_ppm: 5_000,
        to_board_reorder_ppm: 5_000,
        reorder_ns: 60_000,
        ..PathConfig::default()
    };
    let mut world = World::with_address(HostConfig::default(), path);
    let handle = world.connect(WINDOW, 40_000);
    let outcome = fetch(&mut world, handle, &get(Some("bytes=0-4194303")), 60 * SECOND);
    assert_eq!(outcome.body().len(), 4 << 20);
    check_body(outcome.body(), 0);
    let stats = world.path.stats();
    assert!(stats.lost > 10 && world.host.borrow().stats().retransmissions > 10, "{stats:?}");
}

#[test]
fn two_runs_are_the_same() {
    let run = || {
        let path = PathConfig { to_board_loss_ppm: 1_000, ..PathConfig::default() };
        let mut world = World::with_address(HostConfig::default(), path);
        let outcome = fetch_new(&mut world, &get(Some("bytes=0-2097151")));
        (outcome.took_ns, world.frames_to_client, world.host.borrow().stats())
    };
    assert_eq!(run(), run());
}

#[test]
fn small_windows_and_other_files() {
    let objects = vec![Object { path: "/a".into(), bytes: 70_000 }, Object { path: "/empty".into(), bytes: 0 }];
    let mut world = World::with_address(HostConfig { objects, ..HostConfig::default() }, PathConfig::default());
    let handle = world.connect(2_000, 40_000);
    let outcome = fetch(&mut world, handle, &get(None).replace("/data", "/a"), 5 * SECOND);
    assert_eq!(outcome.body().len(), 70_000);
    check_body(outcome.body(), 0);
    let empty = fetch(&mut world, handle, &get(None).replace("/data", "/empty"), SECOND);
    assert_eq!((empty.reply().status, empty.body().len()), (200, 0));
}

#[test]
fn a_pause_comes_where_it_is_asked_for_and_lasts_as_long() {
    let fault = HttpFault::Pause { after_bytes: 100_000, pause_ns: 2 * SECOND };
    let mut world = faulty(fault);
    let outcome = fetch_new(&mut world, &get(Some("bytes=0-299999")));
    assert_eq!(outcome.body().len(), 300_000);
    check_body(outcome.body(), 0);
    assert!((2 * SECOND..2 * SECOND + 20_000_000).contains(&outcome.took_ns), "{}", outcome.took_ns);
    assert!(outcome.first_byte_ns < 10_000_000, "it is no pause before the first byte: {}", outcome.first_byte_ns);
}

#[test]
fn a_raw_head_goes_out_as_it_is() {
    let head = b"HTTP/1.1 200 OK\nX: \0\nContent-Length: 7\n\n".to_vec();
    let mut world = faulty(HttpFault::Raw { head: head.clone(), body_bytes: 5_000, close: true });
    let outcome = fetch_new(&mut world, &get(None));
    assert!(outcome.bytes.starts_with(&head) && outcome.bytes.len() == head.len() + 5_000);
    check_body(&outcome.bytes[head.len()..], 0);
    assert_eq!(outcome.state, tcp::State::CloseWait);
}
