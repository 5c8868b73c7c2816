//! Chooses the preview among several ports. Pure.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use provost_proto::runtime::{ListeningPort, PortSource};
use provost_sandbox::listening_ports::ListeningSocket;

/// Debuggers listen here: they speak HTTP, but have no page.
const DEBUGGER_PORTS: std::ops::RangeInclusive<u16> = 9229..=9239;

/// The response of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProbeResponse {
    /// Whether it was `text/html`.
    pub(super) html: bool,
}

/// What is known of a project's ports.
#[derive(Debug, Default)]
pub(super) struct PortCandidates {
    pub(super) configured: Option<u16>,
    pub(super) printed: Vec<u16>,
    pub(super) listeners: Vec<ListeningSocket>,
    pub(super) responses: BTreeMap<u16, ProbeResponse>,
}

impl PortCandidates {
    /// Updates the listeners. A response belongs to the socket that sent it: a socket
    /// that was reopened on the same port has not responded yet.
    pub(super) fn update_listeners(&mut self, listeners: Vec<ListeningSocket>) {
        let before = std::mem::replace(&mut self.listeners, listeners);
        let is_unchanged =
            |port: u16| self.listeners.iter().any(|now| now.port == port && before.contains(now));
        self.responses.retain(|port, _| is_unchanged(*port));
    }

    /// The port of the preview, and how it was found.
    pub(super) fn choose_preview(&self) -> Option<(u16, PortSource)> {
        let ports = self.listeners.iter().map(|listener| listener.port);
        let best = ports.min_by_key(|port| (self.rank(*port), *port))?;
        let by = match self.rank(best) {
            PortRank::Configured => PortSource::Configured,
            PortRank::Printed(_) => PortSource::Output,
            PortRank::Html | PortRank::RespondsHttp | PortRank::Silent | PortRank::Debugger => {
                PortSource::Listener
            }
        };
        Some((best, by))
    }

    fn rank(&self, port: u16) -> PortRank {
        let printed = self.printed.iter().position(|printed| *printed == port);
        match (printed, self.responses.get(&port)) {
            _ if self.configured == Some(port) => PortRank::Configured,
            _ if DEBUGGER_PORTS.contains(&port) => PortRank::Debugger,
            (Some(position), _) => PortRank::Printed(position),
            (None, Some(ProbeResponse { html: true })) => PortRank::Html,
            (None, Some(ProbeResponse { html: false })) => PortRank::RespondsHttp,
            (None, None) => PortRank::Silent,
        }
    }

    /// All ports, each once.
    pub(super) fn list_ports(&self) -> Vec<ListeningPort> {
        let mut listed: Vec<ListeningPort> = Vec::new();
        for listener in &self.listeners {
            if listed.iter().any(|port| port.port == listener.port) {
                continue;
            }
            listed.push(ListeningPort {
                port: listener.port,
                address: listener.address,
                pid: Some(listener.pid),
                http: self.responses.contains_key(&listener.port),
                url: None,
            });
        }
        listed
    }

    /// The address of a port, as seen from this machine.
    pub(super) fn reachable_address(&self, port: u16) -> Option<SocketAddr> {
        let listener = self.listeners.iter().find(|listener| listener.port == port)?;
        Some(to_reachable_address(listener.address, port))
    }
}

/// The address at which a listener is reached from this machine.
pub(in crate::host) fn to_reachable_address(address: IpAddr, port: u16) -> SocketAddr {
    let address = match address {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other @ (IpAddr::V4(_) | IpAddr::V6(_)) => other,
    };
    SocketAddr::new(address, port)
}

/// Ordered from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PortRank {
    Configured,
    /// Position in the output.
    Printed(usize),
    Html,
    RespondsHttp,
    Silent,
    Debugger,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(port: u16, inode: u32) -> ListeningSocket {
        ListeningSocket { port, address: Ipv4Addr::LOCALHOST.into(), pid: 1, inode }
    }

    fn ports(
        configured: Option<u16>,
        printed: &[u16],
        listening: &[u16],
        html: &[u16],
    ) -> PortCandidates {
        PortCandidates {
            configured,
            printed: printed.to_vec(),
            listeners: listening.iter().map(|port| listener(*port, 1)).collect(),
            responses: html.iter().map(|port| (*port, ProbeResponse { html: true })).collect(),
        }
    }

    #[test]
    fn a_configured_port_comes_before_a_printed_one_and_that_before_a_page() {
        use PortSource::{Configured, Listener, Output};
        for (known, expected) in [
            (ports(None, &[], &[], &[]), None),
            (ports(None, &[3000], &[], &[]), None),
            (ports(Some(3000), &[], &[4000], &[]), Some((4000, Listener))),
            (ports(None, &[], &[4000, 3000], &[]), Some((3000, Listener))),
            (ports(None, &[], &[3000, 4000], &[4000]), Some((4000, Listener))),
            (ports(None, &[5173], &[3000, 5173], &[3000]), Some((5173, Output))),
            (ports(None, &[8080, 5173], &[5173, 8080], &[]), Some((8080, Output))),
            (ports(Some(9000), &[5173], &[3000, 5173, 9000], &[3000]), Some((9000, Configured))),
            (ports(None, &[9229], &[9229, 9999], &[9229]), Some((9999, Listener))),
            (ports(None, &[], &[9229], &[9229]), Some((9229, Listener))),
        ] {
            assert_eq!(known.choose_preview(), expected, "{known:?}");
        }
    }

    #[test]
    fn a_response_of_a_socket_does_not_count_for_another_on_its_port() {
        for (now, responses) in [
            (vec![listener(3000, 1)], true),
            (vec![listener(3000, 2)], false),
            (vec![listener(3000, 1), listener(3000, 2)], true),
            (vec![], false),
        ] {
            let mut known = ports(None, &[], &[3000], &[3000]);
            known.update_listeners(now.clone());
            assert_eq!(known.responses.contains_key(&3000), responses, "{now:?}");
        }
    }
}
