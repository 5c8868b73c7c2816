//! A server calls its own sockets by their paths, and tries to make the calls lead elsewhere.

use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixDatagram, UnixListener};

use provost_sandbox::confine::SandboxExit;
use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::own_ports::{denied, each, first_line, serve};
use crate::sandbox_fixture::{SandboxFixture, finish};

pub(crate) fn reached() {
    each(|fixture, layers| {
        let absolute = fixture.text("project/src/s");
        let mut table = vec![
            ("src/s", "src/s"),
            ("src/s", "./src/s"),
            ("src/s", "src/../src/s"),
            (absolute.as_str(), absolute.as_str()),
            ("src/s", absolute.as_str()),
            ("$TMPDIR/s", "$TMPDIR/s"),
        ];
        let in_tmp = [("/tmp/s", "/var/tmp/s"), ("/var/tmp/s", "/tmp/s")];
        if fixture.sandbox(SandboxProfile::Serve, layers).applied().private_tmp {
            table.extend(in_tmp);
        } else {
            for (bind, to) in in_tmp {
                let report = serve(fixture, layers, "own-socket", &[bind, to, "blocking"]);
                assert_eq!(report.exit, SandboxExit::Code(1), "{bind}: {report:?}");
            }
        }
        for (bind, to) in table {
            for kind in ["blocking", "nonblocking"] {
                let report = serve(fixture, layers, "own-socket", &[bind, to, kind]);
                assert!(report.did_harm(), "{bind} {to} {kind}: {report:?}");
                for name in ["project/src/s", "scratch/s"] {
                    drop(std::fs::remove_file(fixture.at(name)));
                }
            }
        }
        let report = serve(fixture, layers, "full-queue", &[]);
        assert!(report.did_harm(), "{report:?}");
        drop(std::fs::remove_file(fixture.at("project/src/full.sock")));
        let report = serve(fixture, layers, "unix", &["nobody"]);
        assert!(report.text.contains("(os error 2)"), "as anywhere: {report:?}");
        let report = serve(fixture, layers, "unix", &["attacker"]);
        assert!(report.text.contains("(os error 111)"), "as anywhere: {report:?}");
    });
}

/// What came to a listener that does not wait, and said something.
fn heard(listener: &UnixListener) -> Vec<u8> {
    let mut heard = Vec::new();
    listener.set_nonblocking(true).unwrap();
    while let Ok((mut stream, _)) = listener.accept() {
        stream.set_nonblocking(false).unwrap();
        stream.read_to_end(&mut heard).unwrap();
    }
    heard
}

fn came(listener: &UnixListener) -> usize {
    listener.set_nonblocking(true).unwrap();
    std::iter::from_fn(|| listener.accept().ok()).count()
}

/// Ours are everybody's whom a run must not reach: docker, an agent, a database.
pub(crate) fn only() {
    each(|_, layers| {
        let fixture = &SandboxFixture::new();
        let outside = UnixListener::bind(fixture.at("outside/docker.sock")).unwrap();
        let link = fixture.at("project/link.sock");
        symlink(fixture.at("outside/docker.sock"), &link).unwrap();
        symlink(fixture.at("outside"), fixture.at("project/folder")).unwrap();
        symlink("/proc/self/root", fixture.at("project/root")).unwrap();
        let rooted = format!("root{}", fixture.text("outside/docker.sock"));
        let paths = [
            &fixture.text("outside/docker.sock"),
            "../outside/docker.sock",
            "src/../../outside/docker.sock",
            "link.sock",
            link.to_str().unwrap(),
            "folder/docker.sock",
            &rooted,
            "/proc/self/cwd/../outside/docker.sock",
            &format!("{}/../outside/docker.sock", fixture.text("project")),
            &format!("{}/../outside/docker.sock", fixture.text("scratch")),
            "/tmp/../run/docker.sock",
        ];
        for path in paths {
            let report = serve(fixture, layers, "unix", &[path]);
            // Below a private `/tmp`, where an ordinary user's fixture is, it is not there.
            let missing = report.text.contains("(os error 2)");
            assert!(missing || report.text.contains("(os error 1)"), "{path}: {report:?}");
            assert_eq!(report.exit, SandboxExit::Code(1), "{path}: {report:?}");
        }
        assert_eq!(came(&outside), 0);
        fixture.works_without_sandbox("unix", &["link.sock"]);
        // In the project, and somebody else's: another run's, or that of no run.
        let inside = UnixListener::bind(fixture.at("project/theirs.sock")).unwrap();
        denied(&serve(fixture, layers, "unix", &["theirs.sock"]));
        assert!(heard(&inside).is_empty());
        let sandbox = fixture.sandbox(SandboxProfile::Serve, layers);
        let mut other = fixture.spawn(&sandbox, "hold-socket", &["src/other.sock"]);
        assert_eq!(first_line(&mut other), "listening");
        denied(&serve(fixture, layers, "unix", &["src/other.sock"]));
        assert_eq!(finish(other).exit, SandboxExit::Code(0), "it was called, and told nothing");
        denied(&serve(fixture, layers, "own-abstract", &[]));
    });
}

pub(crate) fn swapped() {
    each(|_, layers| {
        let fixture = &SandboxFixture::new();
        let outside = UnixListener::bind(fixture.at("outside/docker.sock")).unwrap();
        let report = serve(fixture, layers, "swap-link", &[&fixture.text("outside/docker.sock")]);
        denied(&report);
        assert!(!report.text.starts_with("0 connections"), "no contest: {report:?}");
        assert_eq!(came(&outside), 0);
        let inside = UnixListener::bind(fixture.at("project/src/b.sock")).unwrap();
        let drained = std::thread::spawn(move || heard_until_closed(&inside));
        let report = serve(fixture, layers, "swap-path", &[]);
        denied(&report);
        assert!(!report.text.starts_with("0 connections"), "no contest: {report:?}");
        std::os::unix::net::UnixStream::connect(fixture.at("project/src/b.sock"))
            .and_then(|mut last| std::io::Write::write_all(&mut last, b"end"))
            .unwrap();
        assert_eq!(drained.join().unwrap(), b"end", "the run said something to somebody else");
    });
}

/// What was said to a listener, up to somebody who says something.
fn heard_until_closed(listener: &UnixListener) -> Vec<u8> {
    let mut heard = Vec::new();
    while heard.is_empty() {
        listener.accept().unwrap().0.read_to_end(&mut heard).unwrap();
    }
    heard
}

/// Half of a pair for datagrams sends to whoever has a path.
pub(crate) fn datagrams() {
    let fixture = SandboxFixture::new();
    let path = fixture.text("outside/log");
    let log = UnixDatagram::bind(&path).unwrap();
    log.set_nonblocking(true).unwrap();
    for attack in ["datagram", "datagram-connect"] {
        fixture.works_without_sandbox(attack, &[&path]);
        assert!(log.recv(&mut [0; 16]).is_ok());
        fixture.must_be_denied(attack, &[&path]);
        assert!(log.recv(&mut [0; 16]).is_err(), "{attack}: a datagram went out");
    }
}
