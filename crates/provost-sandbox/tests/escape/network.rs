//! Carrying data out: UDP, TCP and its disguises, sockets with names.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::yard::{LAYERS, Yard};

pub(crate) fn test() {
    let yard = Yard::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = (tcp.local_addr().unwrap().to_string(), tcp);
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let udp_address = udp.local_addr().unwrap().to_string();
    for attack in ["tcp", "mptcp"] {
        yard.must_fail(attack, &[&tcp.0]);
    }
    yard.works_without_wall("tcp", &[&tcp.0]);
    // With a network namespace, a datagram can be sent, to nobody: so we listen.
    yard.works_without_wall("udp", &[&udp_address]);
    assert!(udp.recv(&mut [0; 16]).is_ok());
    for profile in [SandboxProfile::Read, SandboxProfile::Build, SandboxProfile::Serve] {
        for layers in LAYERS {
            for (attack, to) in [("udp", &udp_address), ("fastopen", &tcp.0)] {
                println!("  {:?}", yard.confined(profile, layers, attack, &[to]));
            }
            assert!(udp.recv(&mut [0; 16]).is_err(), "{profile:?} {layers:?}: UDP went out");
        }
    }
    tcp.1.set_nonblocking(true).unwrap();
    // The control's own connection is waiting; there must be no second one.
    let waiting = std::iter::from_fn(|| tcp.1.accept().ok()).count();
    assert_eq!(waiting, 1, "a connection came through");
    named_sockets(&yard);
}

fn named_sockets(yard: &Yard) {
    let path = yard.text("project/src/docker.sock");
    let _pathname = UnixListener::bind(&path).unwrap();
    yard.works_without_wall("unix", &[&path]);
    yard.must_fail("unix", &[&path]);
    let name = format!("provost-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    yard.works_without_wall("abstract", &[&name]);
    yard.must_fail("abstract", &[&name]);
    // Packet, vsock, crypto and raw internet sockets.
    for (family, kind) in [("17", "3"), ("40", "1"), ("38", "5"), ("2", "3")] {
        yard.must_fail("socket", &[family, kind]);
    }
    for profile in [SandboxProfile::Read, SandboxProfile::Build] {
        for layers in LAYERS {
            let report = yard.confined(profile, layers, "socket", &["16", "3"]);
            assert!(!report.did_harm(), "netlink in {profile:?}");
        }
    }
}

/// Where it has a network of its own, a build can talk to itself.
pub(crate) fn loopback() {
    let yard = Yard::new();
    for layers in LAYERS {
        let own = yard.wall(SandboxProfile::Build, layers).applied().net_namespace;
        let report = yard.confined(SandboxProfile::Build, layers, "self-talk", &[]);
        assert_eq!(report.did_harm(), own, "{report:?}");
    }
}

pub(crate) fn serve() {
    let yard = Yard::new();
    for layers in LAYERS {
        let report = yard.confined(SandboxProfile::Serve, layers, "listen", &[]);
        assert!(report.did_harm(), "a server must be able to listen: {report:?}");
        let own = yard.wall(SandboxProfile::Serve, layers).applied().own_ports;
        let report = yard.confined(SandboxProfile::Serve, layers, "self-talk", &[]);
        assert_eq!(report.did_harm(), own, "{report:?}");
    }
}
