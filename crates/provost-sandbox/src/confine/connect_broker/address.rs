//! Parses the address of a caller.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::io::Errno;

#[expect(clippy::cast_possible_truncation, reason = "families are 16 bits wide in an address")]
const INET: u16 = libc::AF_INET as u16;
#[expect(clippy::cast_possible_truncation, reason = "families are 16 bits wide in an address")]
const INET6: u16 = libc::AF_INET6 as u16;

#[expect(clippy::cast_possible_truncation, reason = "families are 16 bits wide in an address")]
const UNIX: u16 = libc::AF_UNIX as u16;

/// The target of a connection on loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoopbackAddress {
    /// As the caller's socket family wants it.
    pub(super) requested: SocketAddr,
    /// The same, with an IPv4-mapped IPv6 address as IPv4.
    pub(super) canonical: SocketAddr,
}

/// The path in an address, if it is one of a Unix socket. Abstract names are shared by
/// all processes of the machine, and refused.
pub(super) fn parse_unix_path(bytes: &[u8]) -> Result<Option<&Path>, Errno> {
    if u16::from_ne_bytes(read_array(bytes, 0)?) != UNIX {
        return Ok(None);
    }
    let name = bytes.get(2..).unwrap_or_default().split(|byte| *byte == 0).next();
    let name = name.filter(|name| !name.is_empty()).ok_or(Errno::PERM)?;
    Ok(Some(Path::new(OsStr::from_bytes(name))))
}

/// Parses an address; one outside this machine's loopback is refused.
pub(super) fn parse_loopback(bytes: &[u8]) -> Result<LoopbackAddress, Errno> {
    let family = u16::from_ne_bytes(read_array(bytes, 0)?);
    let port = u16::from_be_bytes(read_array(bytes, 2)?);
    // Linux connects the unspecified address to loopback.
    let requested = match family {
        INET => match Ipv4Addr::from(read_array::<4>(bytes, 4)?) {
            Ipv4Addr::UNSPECIFIED => IpAddr::V4(Ipv4Addr::LOCALHOST),
            address => IpAddr::V4(address),
        },
        INET6 if bytes.len() >= 24 => match Ipv6Addr::from(read_array::<16>(bytes, 8)?) {
            Ipv6Addr::UNSPECIFIED => IpAddr::V6(Ipv6Addr::LOCALHOST),
            address => IpAddr::V6(address),
        },
        _ => return Err(Errno::PERM),
    };
    let canonical = requested.to_canonical();
    if !canonical.is_loopback() || port == 0 {
        return Err(Errno::PERM);
    }
    Ok(LoopbackAddress {
        requested: SocketAddr::new(requested, port),
        canonical: SocketAddr::new(canonical, port),
    })
}

fn read_array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Errno> {
    let part = bytes.get(at..at + N).and_then(|part| part.try_into().ok());
    part.ok_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(family: u16, port: u16, address: IpAddr) -> Vec<u8> {
        let mut bytes = [family.to_ne_bytes(), port.to_be_bytes()].concat();
        match address {
            IpAddr::V4(four) => bytes.extend([&four.octets()[..], &[0; 8]].concat()),
            IpAddr::V6(six) => bytes.extend([&[0; 4], &six.octets()[..], &[7; 4]].concat()),
        }
        bytes
    }

    #[test]
    fn only_loopback_is_read_as_loopback() {
        let table = [
            ("127.0.0.1", Some("127.0.0.1")),
            ("127.8.8.8", Some("127.8.8.8")),
            ("0.0.0.0", Some("127.0.0.1")),
            ("::1", Some("::1")),
            ("::", Some("::1")),
            ("::ffff:127.0.0.1", Some("127.0.0.1")),
            ("128.0.0.1", None),
            ("10.0.0.1", None),
            ("255.255.255.255", None),
            ("::ffff:10.0.0.1", None),
            // Not a mapped address, but a deprecated form that is routed.
            ("::127.0.0.1", None),
            ("fe80::1", None),
            ("64:ff9b::7f00:1", None),
        ];
        for (given, expected) in table {
            let given: IpAddr = given.parse().unwrap();
            let family = if given.is_ipv4() { INET } else { INET6 };
            let read = parse_loopback(&bytes(family, 80, given));
            let canonical = read.map(|to| to.canonical.ip()).ok();
            assert_eq!(canonical, expected.map(|text| text.parse().unwrap()), "{given}");
            if let Ok(to) = read {
                assert_eq!(to.requested.is_ipv4(), given.is_ipv4(), "{given} keeps its kind");
            }
        }
    }

    #[test]
    fn a_path_ends_where_the_kernel_ends_it_and_other_names_are_refused() {
        let longest = "x".repeat(108);
        let table = [
            (&b"/a/b"[..], Some("/a/b")),
            (b"a\0rest of the buffer", Some("a")),
            (longest.as_bytes(), Some(&longest)),
            (b"", None),
            (b"\0", None),
            (b"\0abstract", None),
            (b"\0\0", None),
        ];
        for (name, expected) in table {
            let address = [&UNIX.to_ne_bytes(), name].concat();
            let expected = expected.map(|path| Some(Path::new(path))).ok_or(Errno::PERM);
            assert_eq!(parse_unix_path(&address), expected, "{name:?}");
        }
        assert_eq!(parse_unix_path(&bytes(INET, 80, "127.0.0.1".parse().unwrap())), Ok(None));
        assert_eq!(parse_unix_path(&[1]), Err(Errno::INVAL));
    }

    #[test]
    fn short_and_foreign_addresses_are_refused_and_never_read_past_their_end() {
        let whole = bytes(INET6, 80, "::1".parse().unwrap());
        for length in 0..whole.len() {
            assert_eq!(parse_loopback(&whole[..length]).is_ok(), length >= 24, "{length}");
        }
        let whole = bytes(INET, 80, "127.0.0.1".parse().unwrap());
        for length in 0..8 {
            assert!(parse_loopback(&whole[..length]).is_err(), "{length}");
        }
        for family in [0, 1, 16, 17, 40, u16::MAX] {
            let address = bytes(family, 80, "127.0.0.1".parse().unwrap());
            assert_eq!(parse_loopback(&address), Err(Errno::PERM), "{family}");
        }
        assert!(parse_loopback(&bytes(INET, 0, "127.0.0.1".parse().unwrap())).is_err(), "no port");
    }
}
