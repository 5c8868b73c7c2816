//! Carrying data out: UDP, TCP and its disguises, sockets with names.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{LAYERS, SandboxFixture};

pub(crate) fn test() {
    let fixture = SandboxFixture::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = (tcp.local_addr().unwrap().to_string(), tcp);
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let udp_address = udp.local_addr().unwrap().to_string();
    for attack in ["tcp", "mptcp"] {
        fixture.must_fail(attack, &[&tcp.0]);
    }
    fixture.works_without_sandbox("tcp", &[&tcp.0]);
    // With a network namespace, a datagram can be sent, to nobody: so we listen.
    fixture.works_without_sandbox("udp", &[&udp_address]);
    assert!(udp.recv(&mut [0; 16]).is_ok());
    for profile in [SandboxProfile::Read, SandboxProfile::Build, SandboxProfile::Serve] {
        for layers in LAYERS {
            for (attack, to) in [("udp", &udp_address), ("fastopen", &tcp.0)] {
                println!("  {:?}", fixture.confined(profile, layers, attack, &[to]));
            }
            assert!(udp.recv(&mut [0; 16]).is_err(), "{profile:?} {layers:?}: UDP went out");
        }
    }
    tcp.1.set_nonblocking(true).unwrap();
    // The control's own connection is waiting; there must be no second one.
    let waiting = std::iter::from_fn(|| tcp.1.accept().ok()).count();
    assert_eq!(waiting, 1, "a connection came through");
    named_sockets(&fixture);
}

fn named_sockets(fixture: &SandboxFixture) {
    let path = fixture.text("project/src/docker.sock");
    let _pathname = UnixListener::bind(&path).unwrap();
    fixture.works_without_sandbox("unix", &[&path]);
    fixture.must_fail("unix", &[&path]);
    let name = format!("provost-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    fixture.works_without_sandbox("abstract", &[&name]);
    fixture.must_fail("abstract", &[&name]);
    // Packet, vsock, crypto and raw internet sockets.
    for (family, kind) in [("17", "3"), ("40", "1"), ("38", "5"), ("2", "3")] {
        fixture.must_fail("socket", &[family, kind]);
    }
    for profile in [SandboxProfile::Read, SandboxProfile::Build] {
        for layers in LAYERS {
            let report = fixture.confined(profile, layers, "socket", &["16", "3"]);
            assert!(!report.did_harm(), "netlink in {profile:?}");
        }
    }
}

/// Where it has a network of its own, a build can talk to itself.
pub(crate) fn loopback() {
    let fixture = SandboxFixture::new();
    for layers in LAYERS {
        let own = fixture.sandbox(SandboxProfile::Build, layers).applied().net_namespace;
        let report = fixture.confined(SandboxProfile::Build, layers, "self-talk", &[]);
        assert_eq!(report.did_harm(), own, "{report:?}");
    }
}

pub(crate) fn serve() {
    let fixture = SandboxFixture::new();
    for layers in LAYERS {
        let report = fixture.confined(SandboxProfile::Serve, layers, "listen", &[]);
        assert!(report.did_harm(), "a server must be able to listen: {report:?}");
        let own = fixture.sandbox(SandboxProfile::Serve, layers).applied().own_ports;
        let report = fixture.confined(SandboxProfile::Serve, layers, "self-talk", &[]);
        assert_eq!(report.did_harm(), own, "{report:?}");
    }
}
