//! A port that is held on both loopback addresses.
//!
//! `localhost` and `*.localhost` are both 127.0.0.1 and `::1`, and browsers try `::1` first. If
//! only one were held, a program on the machine could take the same port on the other and get
//! what is meant for Provost: login links, cookies, codes of previews.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

/// How many free ports are tried until one is free on both addresses.
const MAX_ATTEMPTS: usize = 32;

/// The listeners of one port.
#[derive(Debug)]
pub struct BoundPort {
    address: SocketAddr,
    listeners: Vec<TcpListener>,
}

impl BoundPort {
    /// Binds an address, and the same port on the other loopback address if browsers could
    /// take that for it. Fails if either is in use.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let listener = TcpListener::bind(address)?;
            let bound = listener.local_addr()?;
            match bind_other_loopback(bound) {
                Ok(other) => {
                    let listeners: Vec<_> = [listener].into_iter().chain(other).collect();
                    for listener in &listeners {
                        listener.set_nonblocking(true)?;
                    }
                    return Ok(Self { address: bound, listeners });
                }
                // A free port on one address may be in use on the other.
                Err(_) if address.port() == 0 && attempt < MAX_ATTEMPTS => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The address that was asked for, with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The listeners, which do not block.
    pub(crate) fn into_listeners(self) -> Vec<TcpListener> {
        self.listeners
    }
}

/// Binds the port on the other loopback address; `None` where there is no such address.
fn bind_other_loopback(bound: SocketAddr) -> io::Result<Option<TcpListener>> {
    let other: IpAddr = match bound.ip() {
        IpAddr::V4(ip) if ip.is_loopback() || ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        // `[::]` is every address; any other is not `localhost`.
        IpAddr::V4(_) | IpAddr::V6(_) => return Ok(None),
    };
    match TcpListener::bind(SocketAddr::new(other, bound.port())) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let message = format!("port {} is in use on {other}", bound.port());
            Err(io::Error::new(io::ErrorKind::AddrInUse, message))
        }
        // Without IPv6 (or IPv4), nobody can bind it.
        Err(error) => {
            tracing::debug!(%error, %other, "this machine has one loopback address");
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_ipv6() -> bool {
        TcpListener::bind("[::1]:0").is_ok()
    }

    #[test]
    fn a_port_is_held_on_both_loopback_addresses() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
            let Ok(bound) = BoundPort::bind(address.parse().unwrap()) else {
                assert!(!has_ipv6(), "{address}");
                continue;
            };
            let port = bound.address().port();
            for held in ["127.0.0.1", "[::1]", "0.0.0.0", "[::]"] {
                if has_ipv6() || !held.contains(':') {
                    let taken = TcpListener::bind(format!("{held}:{port}"));
                    assert!(taken.is_err(), "{held} beside {address}");
                }
            }
        }
    }

    #[test]
    fn a_port_that_another_program_holds_on_one_of_them_is_refused() {
        if !has_ipv6() {
            return;
        }
        for (theirs, ours) in [("[::1]:0", "127.0.0.1"), ("127.0.0.1:0", "[::1]")] {
            let other = TcpListener::bind(theirs).unwrap();
            let port = other.local_addr().unwrap().port();
            let error = BoundPort::bind(format!("{ours}:{port}").parse().unwrap()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{error}");
        }
    }
}
