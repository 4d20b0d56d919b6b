//! The PHY driver against a script: each bus access in its order, nothing more, nothing left over.

use phy::{
    Advertise, Bcm54210e, Clock, LinkMode, LinkSettings, LinkState, MdioBus, MdioError, PhyError, Speed, StartAction,
};
use std::cell::Cell;
use std::collections::VecDeque;

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Register read, and what it holds.
    R(u8, u16),
    /// Register written with.
    W(u8, u16),
}
use Step::{R, W};

#[derive(Default)]
struct Script {
    steps: VecDeque<Step>,
}

impl Script {
    fn expect(&mut self, parts: &[&[Step]]) {
        self.done();
        self.steps = parts.concat().into();
    }

    fn done(&self) {
        assert!(self.steps.is_empty(), "not done: {:x?}", self.steps);
    }
}

impl MdioBus for Script {
    fn read(&mut self, phy: u8, register: u8) -> Result<u16, MdioError> {
        assert_eq!(phy, 1);
        match self.steps.pop_front() {
            Some(R(expected, value)) if expected == register => Ok(value),
            other => panic!("read of {register:#x}, expected {other:x?}"),
        }
    }

    fn write(&mut self, phy: u8, register: u8, value: u16) -> Result<(), MdioError> {
        assert_eq!(phy, 1);
        let step = self.steps.pop_front();
        assert_eq!(step, Some(W(register, value)), "write of {value:#06x} to {register:#x}");
        Ok(())
    }
}

/// Time that only waiting moves.
#[derive(Default)]
struct StoppedClock(Cell<u64>);

impl Clock for StoppedClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }
    fn delay_us(&self, us: u32) {
        self.0.set(self.0.get() + 1_000 * u64::from(us));
    }
}

const FIND: &[Step] = &[R(1, 0x7949), R(2, 0x600d), R(3, 0x84a2)];
const AWAKE: &[Step] = &[R(0, 0x1140)];
/// Values of a Pi 4B under Linux (rusty-pi/pimu).
const DELAYS_SET: &[Step] = &[W(0x18, 0x7007), R(0x18, 0x71e7), W(0x1c, 0x0c00), R(0x1c, 0x0c00)];
const LINK_UP: &[Step] = &[R(1, 0x796d)];
const LINK_DOWN: &[Step] = &[R(1, 0x7949), R(1, 0x7949)];
const RESTART: &[Step] = &[W(0, 0x1340)];

/// A read of an MMD register.
fn mmd_read(device: u16, register: u16, value: u16) -> [Step; 4] {
    [W(13, device), W(14, register), W(13, 0x4000 | device), R(14, value)]
}

fn mmd_write(device: u16, register: u16, value: u16) -> [Step; 4] {
    [W(13, device), W(14, register), W(13, 0x4000 | device), W(14, value)]
}

fn found_phy(bus: &mut Script) -> Bcm54210e {
    bus.expect(&[FIND]);
    Bcm54210e::find(bus).unwrap()
}

fn start(bus: &mut Script, phy: &mut Bcm54210e) -> StartAction {
    let action = phy.start(bus, &StoppedClock::default(), Advertise::default()).unwrap();
    bus.done();
    action
}

/// Steps of a look at a link that has just come.
fn settle(anar: u16, anlpar: u16, gigabit: (u16, u16), aux: u16, eee: (u16, u16)) -> Vec<Step> {
    let plain = [R(0, 0x1140), R(4, anar), R(5, anlpar), R(9, gigabit.0), R(10, gigabit.1), R(0x19, aux)];
    [&plain[..], &mmd_read(7, 60, eee.0), &mmd_read(7, 61, eee.1)].concat()
}

#[test]
fn the_pi_as_its_firmware_leaves_it() {
    let mut bus = Script::default();
    let mut phy = found_phy(&mut bus);
    assert_eq!((phy.address(), phy.id()), (1, 0x600d_84a2));
    // No PAUSE offered, EEE offered: both changed, so the link that is there is given up.
    bus.expect(&[
        AWAKE,
        DELAYS_SET,
        &[R(4, 0x01e1), W(4, 0x0de1), R(9, 0x0300)],
        &mmd_read(7, 60, 0x0006),
        &mmd_write(7, 60, 0),
        &mmd_read(7, 60, 0),
        LINK_UP,
        RESTART,
    ]);
    assert_eq!(start(&mut bus, &mut phy), StartAction::Restarted);
}

#[test]
fn a_link_that_offers_what_we_want_is_left_alone() {
    let mut bus = Script::default();
    let mut phy = found_phy(&mut bus);
    let set: &[Step] = &[R(4, 0x0de1), R(9, 0x0300)];
    let eee = mmd_read(7, 60, 0);
    bus.expect(&[AWAKE, DELAYS_SET, set, &eee, &eee, LINK_UP]);
    assert_eq!(start(&mut bus, &mut phy), StartAction::LeftAlone);
    bus.expect(&[AWAKE, DELAYS_SET, set, &eee, &eee, LINK_DOWN, RESTART]);
    assert_eq!(start(&mut bus, &mut phy), StartAction::Restarted, "no link");
}

#[test]
fn clock_delays_are_those_of_rgmii_rxid() {
    let mut bus = Script::default();
    let mut phy = found_phy(&mut bus);
    let eee = mmd_read(7, 60, 0);
    bus.expect(&[
        AWAKE,
        &[W(0x18, 0x7007), R(0x18, 0x70e7), W(0x18, 0xf1e7)],
        &[W(0x1c, 0x0c00), R(0x1c, 0x0e21), W(0x1c, 0x8c21)],
        &[R(4, 0x0de1), R(9, 0x0300)],
        &eee,
        &eee,
        LINK_UP,
    ]);
    assert_eq!(start(&mut bus, &mut phy), StartAction::LeftAlone, "delays alone cost no link");
}

#[test]
fn a_phy_that_sleeps_or_is_forced_is_woken() {
    for control in [0x1940, 0x1540, 0x5140, 0x2100] {
        let mut bus = Script::default();
        let mut phy = found_phy(&mut bus);
        let eee = mmd_read(7, 60, 0);
        let wake: &[Step] = &[R(0, control), W(0, 0x1000)];
        bus.expect(&[wake, DELAYS_SET, &[R(4, 0x0de1), R(9, 0x0300)], &eee, &eee, LINK_UP, RESTART]);
        assert_eq!(start(&mut bus, &mut phy), StartAction::Restarted, "{control:#x}");
    }
}

#[test]
fn offers_can_be_narrowed() {
    let mut bus = Script::default();
    let mut phy = found_phy(&mut bus);
    let advertise =
        Advertise { mbps1000: false, mbps10: false, half_duplex: false, pause: false, eee: 2, ..Advertise::default() };
    bus.expect(&[
        AWAKE,
        DELAYS_SET,
        &[R(4, 0x0de1), W(4, 0x0901), R(9, 0x0300), W(9, 0)],
        &mmd_read(7, 60, 6),
        &mmd_write(7, 60, 2),
        &mmd_read(7, 60, 2),
        LINK_DOWN,
        RESTART,
    ]);
    phy.start(&mut bus, &StoppedClock::default(), advertise).unwrap();
    bus.done();
}

#[test]
fn a_mode_is_forced_once_and_left_for_negotiation_again() {
    let mut bus = Script::default();
    let mut phy = found_phy(&mut bus);
    let eee = mmd_read(7, 60, 0);
    let mode = LinkMode::Forced { speed: Speed::Mbps100, full_duplex: true };
    let forced = LinkSettings { mode, ..LinkSettings::default() };
    bus.expect(&[
        DELAYS_SET,
        &[R(4, 0x0de1), W(4, 0x0001), R(9, 0x0300), W(9, 0)],
        &eee,
        &eee,
        LINK_UP,
        &[W(0, 0x4000), W(0, 0x2100)],
    ]);
    assert_eq!(phy.set(&mut bus, &StoppedClock::default(), &forced), Ok(StartAction::Restarted));
    bus.expect(&[DELAYS_SET, &[R(4, 0x0001), R(9, 0)], &eee, &eee, LINK_UP, &[R(0, 0x2100)]]);
    assert_eq!(phy.set(&mut bus, &StoppedClock::default(), &forced), Ok(StartAction::LeftAlone));
    let only_100 = LinkSettings { mode: LinkMode::AutoAt(Speed::Mbps100), pause: false, ..LinkSettings::default() };
    bus.expect(&[
        &[R(0, 0x2100), W(0, 0x1000)],
        DELAYS_SET,
        &[R(4, 0x0001), W(4, 0x0981), R(9, 0)],
        &eee,
        &eee,
        LINK_UP,
        RESTART,
    ]);
    assert_eq!(phy.set(&mut bus, &StoppedClock::default(), &only_100), Ok(StartAction::Restarted));
}

#[test]
fn eee_as_found_is_what_the_first_look_saw() {
    let mut bus = Script::default();
    let mut phy = found_phy(&mut bus);
    let set: &[Step] = &[R(4, 0x0de1), R(9, 0x0300)];
    bus.expect(&[
        AWAKE,
        DELAYS_SET,
        set,
        &mmd_read(7, 60, 6),
        &mmd_write(7, 60, 0),
        &mmd_read(7, 60, 0),
        LINK_UP,
        RESTART,
    ]);
    start(&mut bus, &mut phy);
    let as_found = LinkSettings { eee: None, ..LinkSettings::default() };
    bus.expect(&[
        AWAKE,
        DELAYS_SET,
        set,
        &mmd_read(7, 60, 0),
        &mmd_write(7, 60, 6),
        &mmd_read(7, 60, 6),
        LINK_UP,
        RESTART,
    ]);
    assert_eq!(phy.set(&mut bus, &StoppedClock::default(), &as_found), Ok(StartAction::Restarted));
}

#[test]
fn a_link_that_comes_stays_and_goes() {
    let mut bus = Script::default();
    let mut phy = found_phy(&mut bus);
    bus.expect(&[LINK_DOWN]);
    assert_eq!(phy.poll_link(&mut bus).unwrap(), LinkState::default());
    // Up, but negotiation is not over.
    bus.expect(&[&[R(1, 0x794d), R(0, 0x1140)]]);
    assert!(!phy.poll_link(&mut bus).unwrap().up);
    // Up.
    bus.expect(&[LINK_UP, &settle(0x0de1, 0xc5e1, (0x0300, 0x0800), 0x871f, (0, 6))]);
    let gigabit = LinkState {
        up: true,
        speed: Speed::Mbps1000,
        full_duplex: true,
        pause_tx: true,
        pause_rx: true,
        eee_advertised: 0,
        eee_partner: 6,
        eee_active: false,
    };
    assert_eq!(phy.poll_link(&mut bus).unwrap(), gigabit);
    // Still up: one read.
    bus.expect(&[LINK_UP]);
    assert_eq!(phy.poll_link(&mut bus).unwrap(), gigabit);
    // Lost and back since the last look: everything is read again.
    bus.expect(&[&[R(1, 0x7949), R(1, 0x796d)], &settle(0x0de1, 0x4de1, (0x0300, 0), 0x8504, (6, 2))]);
    let fast = phy.poll_link(&mut bus).unwrap();
    assert_eq!((fast.speed, fast.full_duplex, fast.pause_tx, fast.eee_active), (Speed::Mbps100, true, true, true));
    bus.expect(&[LINK_DOWN]);
    assert_eq!(phy.poll_link(&mut bus).unwrap(), LinkState { eee_advertised: 6, ..LinkState::default() });
    bus.done();
}

/// What a link resolves to.
fn resolved(anlpar: u16, gigabit_status: u16, aux: u16) -> LinkState {
    let mut bus = Script::default();
    let mut phy = found_phy(&mut bus);
    bus.expect(&[LINK_UP, &settle(0x0de1, anlpar, (0x0300, gigabit_status), aux, (0, 0))]);
    let state = phy.poll_link(&mut bus).unwrap();
    bus.done();
    state
}

#[test]
fn the_chips_summary_is_believed_where_it_can_be_right() {
    let mode = |state: LinkState| (state.speed, state.full_duplex);
    const ALL: u16 = 0x4de1;
    assert_eq!(mode(resolved(ALL, 0x0c00, 0x8704)), (Speed::Mbps1000, true));
    assert_eq!(mode(resolved(ALL, 0x0c00, 0)), (Speed::Mbps1000, true), "no summary");
    assert_eq!(mode(resolved(ALL, 0x0c00, 0xffff)), (Speed::Mbps1000, true), "no register");
    assert_eq!(mode(resolved(ALL, 0x0c00, 0x8504)), (Speed::Mbps100, true), "a broken pair");
    assert_eq!(mode(resolved(ALL, 0x0c00, 0x8500)), (Speed::Mbps1000, true), "a summary without link");
    assert_eq!(mode(resolved(ALL, 0x0c00, 0x8104)), (Speed::Mbps10, true), "10: which duplex is not believed");
    assert_eq!(mode(resolved(0x4041, 0x0c00, 0x8504)), (Speed::Mbps1000, true), "nobody offers 100");
    assert_eq!(mode(resolved(ALL, 0, 0x8704)), (Speed::Mbps100, true), "more than both offer");
}

#[test]
fn a_partner_without_negotiation_is_half_duplex() {
    for (anlpar, aux, speed) in [(0, 0x8504, Speed::Mbps100), (0, 0x8204, Speed::Mbps10), (0, 0, Speed::Mbps10)] {
        let expected = LinkState { up: true, speed, ..LinkState::default() };
        assert_eq!(resolved(anlpar, 0, aux), expected);
    }
    assert!(!resolved(0x0081, 0, 0x8304).full_duplex);
}

#[test]
fn a_forced_link_is_what_the_control_register_says() {
    for (control, speed, full_duplex) in
        [(0x2100, Speed::Mbps100, true), (0x0100, Speed::Mbps10, true), (0x2000, Speed::Mbps100, false)]
    {
        let mut bus = Script::default();
        let mut phy = found_phy(&mut bus);
        bus.expect(&[&[R(1, 0x794d), R(0, control)], &mmd_read(7, 60, 0), &mmd_read(7, 61, 0)]);
        let state = phy.poll_link(&mut bus).unwrap();
        assert_eq!(state, LinkState { up: true, speed, full_duplex, ..LinkState::default() });
        bus.done();
    }
}

/// A bus with PHYs at some addresses, which remembers whom it asked.
struct Street {
    houses: Vec<(u8, u32)>,
    asked: Vec<u8>,
    first_read_fails: bool,
    stuck: bool,
}

impl Street {
    fn new(houses: &[(u8, u32)]) -> Self {
        Street { houses: houses.to_vec(), asked: Vec::new(), first_read_fails: false, stuck: false }
    }
}

impl MdioBus for Street {
    fn read(&mut self, phy: u8, register: u8) -> Result<u16, MdioError> {
        if self.stuck {
            self.asked.push(phy);
            return Err(MdioError::Timeout { phy, register, waited_us: 10_000 });
        }
        if self.asked.last() != Some(&phy) {
            self.asked.push(phy);
        }
        if std::mem::take(&mut self.first_read_fails) {
            return Err(MdioError::ReadFailed { phy, register });
        }
        let id = self.houses.iter().find(|(address, _)| *address == phy).map(|(_, id)| *id);
        match (register, id) {
            (_, None) => Err(MdioError::ReadFailed { phy, register }),
            (2, Some(id)) => Ok((id >> 16) as u16),
            (3, Some(id)) => Ok(id as u16),
            (_, Some(_)) => Ok(0x7949),
        }
    }

    fn write(&mut self, _phy: u8, _register: u8, _value: u16) -> Result<(), MdioError> {
        panic!("searching writes nothing");
    }
}

#[test]
fn the_search_begins_where_the_phy_is_wont_to_be() {
    for (address, asked) in [(1, vec![1]), (0, vec![1, 0]), (3, vec![1, 0, 2, 3])] {
        let mut street = Street::new(&[(address, 0x600d_84a0)]);
        assert_eq!(Bcm54210e::find(&mut street).unwrap().address(), address);
        assert_eq!(street.asked, asked);
    }
    let mut street = Street::new(&[(1, 0x0362_5e6a), (9, 0x600d_84a2)]);
    assert_eq!(Bcm54210e::find(&mut street).unwrap().address(), 9, "another PHY at address 1");
}

#[test]
fn a_first_read_that_fails_does_not_hide_the_phy() {
    let mut street = Street::new(&[(1, 0x600d_84a2)]);
    street.first_read_fails = true;
    assert_eq!(Bcm54210e::find(&mut street).unwrap().address(), 1);
}

#[test]
fn errors_say_what_was_met() {
    let error = Bcm54210e::find(&mut Street::new(&[])).unwrap_err();
    assert_eq!(error, PhyError::NotFound { other: None });
    let error = Bcm54210e::find(&mut Street::new(&[(4, 0x0362_5e6a), (5, 0)])).unwrap_err();
    assert_eq!(error.to_string(), "no BCM54210E; the PHY at MDIO address 4 has ID 0x03625e6a");
    let mut street = Street::new(&[]);
    street.stuck = true;
    let error = Bcm54210e::find(&mut street).unwrap_err();
    assert_eq!(error.to_string(), "MDIO busy for 10000 us at PHY 1 register 0x01");
    assert_eq!(street.asked, [1], "a stuck bus is not asked 31 times more");
}

#[test]
fn found_registers_are_read_and_a_silent_one_left_out() {
    struct Partial;
    impl MdioBus for Partial {
        fn read(&mut self, phy: u8, register: u8) -> Result<u16, MdioError> {
            match register {
                0x19 => Err(MdioError::ReadFailed { phy, register }),
                other => Ok(0x1100 + u16::from(other)),
            }
        }
        fn write(&mut self, _phy: u8, register: u8, _value: u16) -> Result<(), MdioError> {
            assert!(matches!(register, 13 | 14 | 0x18 | 0x1c), "only selectors are written");
            Ok(())
        }
    }
    let mut seen = Vec::new();
    Bcm54210e::found(&mut Partial, 1, |name, code, value| seen.push((name, code, value)));
    assert!(seen.contains(&("anar", 4, 0x1104)));
    assert!(seen.contains(&("aux_misc", 0x1807, 0x1118)));
    assert!(seen.contains(&("clock_control", 0x1c03, 0x11c & 0x3ff)));
    assert!(seen.contains(&("eee_advertisement", 0x7_003c, 0x110e)));
    assert!(!seen.iter().any(|(name, ..)| *name == "aux_status"));
    assert_eq!(seen.len(), 21);
}

#[test]
fn a_loss_that_a_look_at_the_registers_clears_is_counted() {
    /// A PHY with a settled gigabit link; the next read of BMSR says what it is told to.
    struct Latched(Vec<u16>);
    impl MdioBus for Latched {
        fn read(&mut self, _phy: u8, register: u8) -> Result<u16, MdioError> {
            Ok(match register {
                0 => 0x1140,
                1 => self.0.pop().unwrap_or(0x796d),
                2 => 0x600d,
                3 => 0x84a2,
                4 | 5 => 0x0de1,
                9 => 0x0300,
                10 => 0x0800,
                _ => 0,
            })
        }
        fn write(&mut self, _phy: u8, _register: u8, _value: u16) -> Result<(), MdioError> {
            Ok(())
        }
    }
    let mut bus = Latched(Vec::new());
    let mut phy = Bcm54210e::find(&mut bus).unwrap();
    assert!(phy.poll_link(&mut bus).unwrap().up);
    phy.registers(&mut bus, |_, _, _| {});
    assert_eq!(phy.losses(), 0);
    bus.0.push(0x7949);
    phy.registers(&mut bus, |_, _, _| {});
    assert!(phy.poll_link(&mut bus).unwrap().up);
    assert_eq!(phy.losses(), 1);
}

#[test]
fn loopback_leaves_negotiation_and_delays_to_be_restored() {
    let mut bus = Script::default();
    bus.expect(&[FIND]);
    let mut phy = Bcm54210e::find(&mut bus).unwrap();
    bus.expect(&[AWAKE, DELAYS_SET]);
    let state = phy.state(&mut bus).unwrap();
    bus.expect(&[&[W(0, 0x4140), R(0, 0x4140)]]);
    phy.loop_back(&mut bus, Speed::Mbps1000).unwrap();
    bus.expect(&[&[W(0, 0x6100), R(0, 0x6100)]]);
    phy.loop_back(&mut bus, Speed::Mbps100).unwrap();
    bus.expect(&[&[W(0, 0x4100), R(0, 0x1140)]]);
    assert!(phy.loop_back(&mut bus, Speed::Mbps10).is_err(), "it does not take it");
    let both = [W(0x18, 0x7007), R(0x18, 0x71e7), W(0x1c, 0x0c00), R(0x1c, 0x0c00), W(0x1c, 0x8e00)];
    bus.expect(&[&both]);
    phy.delay_clocks(&mut bus, true, true).unwrap();
    let back = [W(0x18, 0x7007), R(0x18, 0x71e7), W(0x1c, 0x0c00), R(0x1c, 0x0e00), W(0x1c, 0x8c00), W(0, 0x1340)];
    bus.expect(&[&back]);
    phy.restore(&mut bus, &state).unwrap();
    bus.done();
    // A forced mode comes back without negotiation.
    bus.expect(&[&[R(0, 0x2100)], DELAYS_SET]);
    let state = phy.state(&mut bus).unwrap();
    bus.expect(&[DELAYS_SET, &[W(0, 0x2100)]]);
    phy.restore(&mut bus, &state).unwrap();
    bus.expect(&[&[R(0, 0xffff)]]);
    assert!(phy.state(&mut bus).is_err(), "floating lines");
    bus.done();
}
