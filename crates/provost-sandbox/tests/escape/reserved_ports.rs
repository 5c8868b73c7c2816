//! The ports of Provost: no run takes one of them, on any address.

use std::net::{TcpListener, UdpSocket};

use provost_sandbox::confine::{LayerSelection, Sandbox, SandboxExit};
use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{LAYERS, Report, SandboxFixture, finish};

/// Runs the test in the sandboxes of a server and of a command with the network, with a
/// port that nobody uses, as while no daemon runs.
fn each(choose_port: fn() -> u16, test: impl Fn(&dyn Fn(&str, &[&str]) -> Report, &str)) {
    let fixture = SandboxFixture::new();
    assert!(fixture.machine.notification.is_available(), "{:?}", fixture.machine.notification);
    for layers in LAYERS {
        let sandboxes: [fn(&SandboxFixture, LayerSelection) -> Sandbox; 2] = [
            |fixture, layers| fixture.sandbox(SandboxProfile::Serve, layers),
            |fixture, layers| fixture.network_sandbox(layers),
        ];
        for sandbox in sandboxes {
            let sandbox = sandbox(&fixture, layers);
            assert!(sandbox.applied().reserved_ports);
            let port = choose_port();
            fixture.reserved_ports.set([port, 1]);
            let run = |name: &str, args: &[&str]| {
                let report = finish(fixture.spawn(&sandbox, name, args));
                println!("  {name} {args:?}: {}", report.text.trim());
                report
            };
            test(&run, &port.to_string());
        }
    }
}

/// A port in the range from which Linux chooses.
fn choose_assigned_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A port that Linux assigns to nobody, as Provost's is, unless the machine has an unusual range.
fn choose_unassigned_port() -> u16 {
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (first..32_000).find(is_free).unwrap()
}

#[track_caller]
fn denied(report: &Report) {
    assert_eq!(report.exit, SandboxExit::Code(1), "{report:?}");
    // In use, as it is while Provost runs; no option by which to ask for it; or a port that
    // is none of Provost's.
    let denials = ["(os error 98)", "(os error 92)", "elsewhere"];
    assert!(denials.iter().any(|denial| report.text.contains(denial)), "{report:?}");
}

/// Addresses of this machine and such that stand for them.
const ADDRESSES: [&str; 5] = ["127.0.0.1", "127.0.0.2", "127.8.8.8", "0.0.0.0", "255.255.255.255"];
const IPV6_ADDRESSES: [&str; 4] = ["::1", "::", "::ffff:127.0.0.1", "::ffff:127.0.0.2"];

pub(crate) fn refused() {
    let has_ipv6 = TcpListener::bind("[::1]:0").is_ok();
    let control = SandboxFixture::new();
    each(choose_assigned_port, |run, port| {
        let all = ADDRESSES.iter().chain(IPV6_ADDRESSES.iter().filter(|_| has_ipv6));
        for address in all {
            for name in ["listen-at", "share-at", "bind-at"] {
                denied(&run(name, &[address, port]));
                if !["255.255.255.255", "::ffff:127.0.0.2"].contains(address) {
                    control.works_without_sandbox(name, &[address, port]);
                }
            }
        }
        for name in ["listen-unbound", "listen-chosen", "listen-late"] {
            denied(&run(name, &[port]));
        }
        control.works_without_sandbox("listen-unbound", &[port]);
        control.works_without_sandbox("listen-chosen", &[port]);
        control.works_without_sandbox("listen-late", &[port]);
    });
}

/// Other threads change the address, or put another socket in place of the one that was
/// checked. By chance Linux could choose any port of its range for a `listen` that was swapped.
pub(crate) fn swapped() {
    each(choose_unassigned_port, |run, port| {
        for name in ["swap-port", "swap-socket"] {
            let report = run(name, &[port]);
            assert_eq!(report.exit, SandboxExit::Code(1), "{report:?}");
            assert!(report.text.contains("never"), "{report:?}");
        }
    });
}

/// All other ports and sockets are what they are without the broker.
pub(crate) fn others() {
    each(choose_assigned_port, |run, _| {
        for address in ["127.0.0.1", "127.0.0.2", "0.0.0.0"] {
            let report = run("listen-at", &[address, "0"]);
            assert!(report.did_harm(), "{report:?}");
        }
        let report = run("listen-twice", &[]);
        assert!(report.did_harm(), "{report:?}");
        // A run has no capabilities, though we may have.
        let report = run("listen-at", &["127.0.0.1", "81"]);
        assert!(report.text.contains("(os error 13)"), "{report:?}");
        let report = run("bind-wrongly", &[]);
        assert!(report.did_harm(), "{report:?}");
    });
    // The control of the capability: an ordinary user has none either.
    let privileged = TcpListener::bind("127.0.0.1:81").is_ok();
    assert_eq!(privileged, rustix::process::geteuid().is_root());
    let fixture = SandboxFixture::new();
    for layers in LAYERS {
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        fixture.reserved_ports.set([port]);
        let sandbox = fixture.network_sandbox(layers);
        let udp = |port: &str| finish(fixture.spawn(&sandbox, "udp-at", &["127.0.0.2", port]));
        denied(&udp(&port.to_string()));
        assert!(udp("0").did_harm());
        // They change while it runs.
        fixture.reserved_ports.set([]);
        assert!(udp(&port.to_string()).did_harm());
    }
}
