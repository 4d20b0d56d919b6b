//! Damaging DHCP messages. Offsets and option numbers: RFC 2131 section 2, RFC 2132.

use super::super::DhcpFlaw;

const TRANSACTION_AT: usize = 4;
const YOUR_ADDRESS_AT: usize = 16;
const FILE_AT: usize = 108;
const COOKIE_AT: usize = 236;
const OPTIONS_AT: usize = 240;

const SUBNET_MASK: u8 = 1;
const ROUTER: u8 = 3;
const OVERLOAD: u8 = 52;
const SERVER_IDENTIFIER: u8 = 54;
const END: u8 = 255;

/// Damages `message`, a DHCP message without padding among its options.
pub(super) fn spoil(flaw: DhcpFlaw, message: &mut Vec<u8>) {
    match flaw {
        DhcpFlaw::WrongTransaction => message[TRANSACTION_AT] ^= 0x80,
        DhcpFlaw::WrongCookie => message[COOKIE_AT] ^= 0x80,
        DhcpFlaw::Address(address) => message[YOUR_ADDRESS_AT..YOUR_ADDRESS_AT + 4].copy_from_slice(&address),
        DhcpFlaw::NoRouter => drop(take(message, ROUTER)),
        DhcpFlaw::NoServer => drop(take(message, SERVER_IDENTIFIER)),
        DhcpFlaw::NoMask => drop(take(message, SUBNET_MASK)),
        DhcpFlaw::Mask(mask) => {
            if let Some(at) = find(message, SUBNET_MASK) {
                message[at + 2..at + 6].copy_from_slice(&mask);
            }
        }
        DhcpFlaw::TruncatedOptions => {
            if let Some(at) = find(message, SUBNET_MASK) {
                message.truncate(at + 4);
            }
        }
        DhcpFlaw::OptionPastEnd => {
            if let Some(at) = find(message, SUBNET_MASK) {
                message[at + 1] = 250;
            }
        }
        DhcpFlaw::Overload => {
            let mask = take(message, SUBNET_MASK);
            message[FILE_AT..FILE_AT + mask.len()].copy_from_slice(&mask);
            message[FILE_AT + mask.len()] = END;
            message.splice(OPTIONS_AT..OPTIONS_AT, [OVERLOAD, 1, 1]);
        }
    }
}

/// Where the option `code` begins.
fn find(message: &[u8], code: u8) -> Option<usize> {
    let mut at = OPTIONS_AT;
    while *message.get(at)? != code {
        if message[at] == END {
            return None;
        }
        at += 2 + usize::from(*message.get(at + 1)?);
    }
    Some(at)
}

/// Takes the option `code` out: code, length, value.
fn take(message: &mut Vec<u8>, code: u8) -> Vec<u8> {
    let Some(at) = find(message, code) else { return Vec::new() };
    let bytes = 2 + usize::from(message[at + 1]);
    message.drain(at..at + bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Vec<u8> {
        let mut bytes = vec![0; OPTIONS_AT];
        bytes.extend([53, 1, 2, 54, 4, 10, 0, 0, 1, 3, 4, 10, 0, 0, 1, 1, 4, 255, 255, 255, 0, 51, 4, 0, 0, 0, 9, END]);
        bytes
    }

    #[test]
    fn flaws_meet_their_option() {
        let spoilt = |flaw| {
            let mut bytes = message();
            spoil(flaw, &mut bytes);
            bytes
        };
        let options = |bytes: &[u8]| bytes[OPTIONS_AT..].to_vec();
        assert_eq!(find(&spoilt(DhcpFlaw::NoRouter), ROUTER), None);
        assert_eq!(find(&spoilt(DhcpFlaw::NoServer), SERVER_IDENTIFIER), None);
        assert_eq!(find(&spoilt(DhcpFlaw::NoMask), SUBNET_MASK), None);
        assert!(options(&spoilt(DhcpFlaw::TruncatedOptions)).ends_with(&[1, 4, 255, 255]));
        assert_eq!(options(&spoilt(DhcpFlaw::OptionPastEnd))[15..17], [1, 250]);
        assert_eq!(options(&spoilt(DhcpFlaw::Mask([255, 0, 255, 0])))[15..21], [1, 4, 255, 0, 255, 0]);
        let overloaded = spoilt(DhcpFlaw::Overload);
        assert_eq!(overloaded[FILE_AT..FILE_AT + 7], [1, 4, 255, 255, 255, 0, END]);
        assert_eq!((options(&overloaded)[..3].to_vec(), find(&overloaded, SUBNET_MASK)), (vec![OVERLOAD, 1, 1], None));
        assert_eq!(spoilt(DhcpFlaw::Address([127, 0, 0, 1]))[16..20], [127, 0, 0, 1]);
        for flaw in [DhcpFlaw::WrongCookie, DhcpFlaw::WrongTransaction] {
            assert_eq!(spoilt(flaw).iter().zip(message()).filter(|(a, b)| **a != *b).count(), 1);
        }
    }
}
