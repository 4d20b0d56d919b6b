//! The image and DHCP servers that lie, refuse, or take an address back during a run.
//!
//! Needs target/kernel8.img: `make test` builds it first.

mod common;

use board::host::{DhcpFlaw, DhcpMode, SecondDhcp};
use common::{SHORT, Session};
use vpi4::Stop;

/// Addresses of the `addr` records in `text`.
fn addresses(text: &str) -> Vec<&str> {
    let records = text.lines().filter(|line| line.starts_with("$GB1 ") && line.contains(" addr "));
    records.filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix("address="))).collect()
}

#[test]
fn dhcp_servers_that_lie() {
    let mut session = Session::new(|_| {});
    let silence = "no DHCP server answered within 15 s with an address to use";
    let lease_0 = DhcpMode::ShortLease { seconds: 0 };
    for (mode, rc, words) in [
        (DhcpMode::Nak, "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::TruncatedOptions), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::OptionPastEnd), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::WrongTransaction), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::WrongCookie), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::Address([0; 4])), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::Address([255; 4])), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::Address([224, 0, 0, 1])), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::Address([127, 0, 0, 1])), "dhcp.unusable", "gave 127.0.0.1, which no board"),
        (DhcpMode::Flawed(DhcpFlaw::Address([10, 77, 0, 255])), "dhcp.unusable", "gave 10.77.0.255, which no board"),
        (DhcpMode::Flawed(DhcpFlaw::NoMask), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::Mask([255, 0, 255, 0])), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::NoServer), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::Overload), "dhcp.timeout", silence),
        (lease_0, "dhcp.unusable", "took the address back within a second"),
        (DhcpMode::Flawed(DhcpFlaw::NoRouter), "ok", "Receive by preset"),
        (DhcpMode::Answer, "ok", "Receive by preset"),
    ] {
        session.host(|host| host.dhcp = mode);
        let before = session.dhcp_replies();
        session.expect(SHORT, &format!("{mode:?}"), rc, words);
        let answered = session.dhcp_replies() - before;
        assert!((2..20).contains(&answered), "{mode:?}: the server was asked {answered} times");
    }
    // Two servers: the first answer counts, and the other's does no harm.
    for (first, address) in [(true, "10.77.0.60/24"), (false, "10.77.0.50/24")] {
        let second = SecondDhcp { ip: [10, 77, 0, 2], board_ip: [10, 77, 0, 60], first };
        session.host(|host| host.second_dhcp = Some(second));
        let text = session.expect(SHORT, "two servers", "ok", "Receive by preset");
        assert_eq!(addresses(&text), [address]);
    }
    session.host(|host| host.second_dhcp = None);
    session.expect_health();
    session.close();
}

#[test]
fn leases_that_end_during_a_run() {
    let mut session = Session::new(|board| board.peer.pace_bps = Some(20_000_000));
    // Three runs of about a second, at 20 Mbit/s, on one link.
    let plan = "gb.presets=9front,amiga,poll gb.warmup_ms=5 gb.window_ms=900 gb.rtt_probes=2 gb.seed=3";
    let ended = |text: &str, rc: &str| {
        text.lines().filter(|line| line.contains(" result ") && line.contains(&format!(" rc={rc} "))).count()
    };
    // Renewed: nobody notices.
    session.host(|host| host.dhcp = DhcpMode::ShortLease { seconds: 1 });
    let before = session.dhcp_replies();
    let text = session.expect(plan, "renewed", "ok", "Receive by preset");
    let renewals = session.dhcp_replies() - before;
    assert!(renewals >= 6 && addresses(&text).len() == 1, "{renewals} {text}");
    // Refused, or not answered, and no other lease is to be had: what was measured until then is told.
    for (nak, seconds) in [(true, 3), (false, 2)] {
        session.host(|host| host.dhcp = DhcpMode::NoRenewal { seconds, nak, again: false });
        session.machine.board().host().expect("a host").borrow_mut().forget_leases();
        let text = session.expect(plan, "not renewed", "dhcp.lost", "stopped: the address is lost");
        assert!(text.contains("Receive by preset") && ended(&text, "ok") >= 1, "{text}");
        assert!(ended(&text, "ok") + ended(&text, "dhcp.lost") < 3, "{text}");
    }
    // Refused, and a new one is given: the run that was on is lost, the others are not.
    session.host(|host| host.dhcp = DhcpMode::NoRenewal { seconds: 3, nak: true, again: true });
    let text = session.expect(plan, "given anew", "dhcp.lost", "asking for another");
    assert_eq!((ended(&text, "ok"), ended(&text, "dhcp.lost")), (2, 1), "{text}");
    assert!(!text.contains("stopped:"), "{text}");
    // Renewed no more because the address is another now: the next run has it.
    session.host(|host| host.dhcp = DhcpMode::ShortLease { seconds: 2 });
    session.machine.type_text(format!("run {plan}\r").as_bytes());
    assert_eq!(session.machine.run_until_text("[2/3]"), Stop::Text);
    session.host(|host| host.board_ip = [10, 77, 0, 60]);
    assert_eq!(session.machine.run(), Stop::Bye("dhcp.lost".to_owned()));
    let text = session.news();
    assert_eq!(addresses(&text), ["10.77.0.50/24", "10.77.0.60/24"], "{text}");
    assert_eq!((ended(&text, "ok"), ended(&text, "dhcp.lost")), (2, 1), "{text}");
    session.close();
}
