//! A server calls its own ports, and tries to make the calls lead elsewhere.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use provost_sandbox::confine::{LayerSelection, SandboxChild, SandboxExit, SandboxStdio};
use provost_sandbox::probe::LayerSupport;
use provost_sandbox::sandbox_policy::SandboxProfile;

use crate::sandbox_fixture::{LAYERS, Report, SandboxFixture, finish};

/// Runs a test in sandboxes in which a server can connect to its own ports. The machine must have
/// seccomp's user notification, which the connect broker needs.
pub(crate) fn each(test: impl Fn(&SandboxFixture, LayerSelection)) {
    let fixture = SandboxFixture::new();
    assert!(fixture.machine.notification.is_available(), "{:?}", fixture.machine.notification);
    for layers in LAYERS {
        assert!(fixture.sandbox(SandboxProfile::Serve, layers).applied().own_ports);
        test(&fixture, layers);
    }
}

pub(crate) fn serve(
    fixture: &SandboxFixture,
    layers: LayerSelection,
    name: &str,
    args: &[&str],
) -> Report {
    let report = fixture.confined(SandboxProfile::Serve, layers, name, args);
    println!("  {name} {args:?}: {}", report.text.trim());
    report
}

#[track_caller]
pub(crate) fn denied(report: &Report) {
    assert_eq!(report.exit, SandboxExit::Code(1), "{report:?}");
    assert!(report.text.contains("(os error 1)"), "{report:?}");
}

pub(crate) fn reached() {
    let six = TcpListener::bind("[::1]:0").is_ok();
    each(|fixture, layers| {
        let table = [
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.0.9", "127.0.0.9"),
            ("0.0.0.0", "127.0.0.1"),
            ("127.0.0.1", "0.0.0.0"),
            ("::1", "::1"),
            ("::", "::1"),
            ("::", "127.0.0.1"),
            ("127.0.0.1", "::ffff:127.0.0.1"),
        ];
        for (bind, to) in table {
            if !six && (bind.contains(':') || to.contains(':')) {
                continue;
            }
            for rest in [&["blocking"], &["nonblocking"]] {
                let args = [&[bind, to][..], rest].concat();
                let report = serve(fixture, layers, "call", &args);
                assert!(report.did_harm(), "{bind} {to} {rest:?}: {report:?}");
            }
        }
        for name in ["call-child", "call-with-nobody"] {
            let report = serve(fixture, layers, name, &[]);
            assert!(report.did_harm(), "{name}: {report:?}");
        }
    });
}

/// How many have come to a listener that does not wait.
fn came(listener: &TcpListener) -> usize {
    listener.set_nonblocking(true).unwrap();
    std::iter::from_fn(|| listener.accept().ok()).count()
}

/// Ours are everybody's whom a run must not reach: the port of Provost, a database.
pub(crate) fn only() {
    let ours = TcpListener::bind("127.0.0.1:0").unwrap();
    let wide = TcpListener::bind("0.0.0.0:0").unwrap();
    let six = TcpListener::bind("[::1]:0");
    each(|fixture, layers| {
        let (port, wide) = (ours.local_addr().unwrap().port(), wide.local_addr().unwrap().port());
        let mut all = vec![
            format!("127.0.0.1:{port}"),
            format!("0.0.0.0:{port}"),
            format!("127.0.0.1:{wide}"),
            format!("127.0.0.77:{wide}"),
        ];
        if let Ok(six) = &six {
            all.push(six.local_addr().unwrap().to_string());
            all.push(format!("[::ffff:127.0.0.1]:{port}"));
            all.push(format!("[::]:{}", six.local_addr().unwrap().port()));
        }
        for to in &all {
            denied(&serve(fixture, layers, "tcp", &[to]));
        }
        denied(&serve(fixture, layers, "reconnect", &[&all[0]]));
        // What the supervisor inherited and has not closed yet does not belong to the run.
        for _ in 0..30 {
            denied(&serve(fixture, layers, "tcp", &[&all[0]]));
        }
        // Beyond the machine, whether or not there is a way.
        denied(&serve(fixture, layers, "tcp", &["192.0.2.1:80"]));
        denied(&serve(fixture, layers, "tcp", &["[2001:db8::1]:80"]));
        // Another run, of another project or of this one.
        let other = SandboxFixture::new();
        for owner in [&other, fixture] {
            let sandbox = owner.sandbox(SandboxProfile::Serve, layers);
            let mut holding = owner.spawn(&sandbox, "hold-port", &[]);
            let port = first_line(&mut holding);
            denied(&serve(fixture, layers, "tcp", &[&format!("127.0.0.1:{port}")]));
        }
    });
    assert_eq!(came(&ours) + came(&wide) + six.iter().map(came).sum::<usize>(), 0);
}

pub(crate) fn first_line(child: &mut SandboxChild) -> String {
    let mut line = String::new();
    let output = File::from(child.stdout.take().unwrap());
    BufReader::new(&output).read_line(&mut line).unwrap();
    child.stdout = Some(output.into());
    line.trim().to_owned()
}

/// With `SO_REUSEPORT` the kernel deals out connections among all who listen.
pub(crate) fn shared() {
    let ours = shareable();
    each(|fixture, layers| {
        let port = ours.local_addr().unwrap().port().to_string();
        denied(&serve(fixture, layers, "share-port", &[&port]));
    });
    assert_eq!(came(&ours), 0);
    let fixture = SandboxFixture::new();
    let port = ours.local_addr().unwrap().port().to_string();
    fixture.works_without_sandbox("share-port", &[&port]);
    assert!(came(&ours) > 0, "the control was not dealt any connection");
}

fn shareable() -> TcpListener {
    let address: SocketAddr = "127.0.0.1:0".parse().unwrap();
    // SAFETY: plain numbers; the descriptor is owned at once.
    let socket = unsafe { OwnedFd::from_raw_fd(libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0)) };
    rustix::net::sockopt::set_socket_reuseport(&socket, true).unwrap();
    rustix::net::bind(&socket, &address).unwrap();
    rustix::net::listen(&socket, 64).unwrap();
    assert!(socket.as_raw_fd() > 2);
    TcpListener::from(socket)
}

pub(crate) fn swapped() {
    let ours = TcpListener::bind("127.0.0.1:0").unwrap();
    each(|fixture, layers| {
        let port = ours.local_addr().unwrap().port().to_string();
        denied(&serve(fixture, layers, "swap-address", &[&port]));
    });
    assert_eq!(came(&ours), 0);
}

/// A port that was the run's own and is somebody else's now.
pub(crate) fn taken() {
    each(|fixture, layers| {
        let sandbox = fixture.sandbox(SandboxProfile::Serve, layers);
        let mut command = fixture.command("hand-back", &[]);
        command.stdio[0] = SandboxStdio::Pipe;
        let mut child = sandbox.spawn(command).unwrap();
        let port: u16 = first_line(&mut child).parse().unwrap();
        let ours = TcpListener::bind(("127.0.0.1", port)).unwrap();
        File::from(child.stdin.take().unwrap()).write_all(b"x").unwrap();
        denied(&finish(child));
        assert_eq!(came(&ours), 0);
        contested(fixture, layers);
    });
}

/// Both take the port whenever it is free. A connection may come to us before its
/// owner is looked at again; it must never be given to the run, nor carry anything.
fn contested(fixture: &SandboxFixture, layers: LayerSelection) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (done, mut heard) = (AtomicBool::new(false), Vec::new());
    std::thread::scope(|scope| {
        let outsider = scope.spawn(|| {
            let mut heard = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) else { continue };
                listener.set_nonblocking(true).unwrap();
                for _ in 0..50 {
                    let Ok((mut stream, _)) = listener.accept() else { continue };
                    stream.set_nonblocking(false).unwrap();
                    stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
                    drop(stream.read_to_end(&mut heard));
                }
                drop(listener);
                // The run binds through the broker, which takes longer than we do.
                std::thread::sleep(Duration::from_millis(1));
            }
            heard
        });
        let report = serve(fixture, layers, "flap", &[&port.to_string(), "2"]);
        done.store(true, Ordering::Relaxed);
        denied(&report);
        assert!(!report.text.starts_with("0 connections"), "no contest: {report:?}");
        heard = outsider.join().unwrap();
    });
    assert!(heard.is_empty(), "{}", String::from_utf8_lossy(&heard));
}

/// A call that was out when the port changed hands, and reached its new owner.
pub(crate) fn lured() {
    each(|fixture, layers| {
        let sandbox = fixture.sandbox(SandboxProfile::Serve, layers);
        let mut child = fixture.spawn(&sandbox, "lure", &[]);
        let port: u16 = first_line(&mut child).parse().unwrap();
        let ours = TcpListener::bind(("127.0.0.1", port)).unwrap();
        denied(&finish(child));
        ours.set_nonblocking(true).unwrap();
        let (mut stream, _) = ours.accept().unwrap();
        let mut heard = Vec::new();
        drop(stream.read_to_end(&mut heard));
        assert!(heard.is_empty(), "{}", String::from_utf8_lossy(&heard));
    });
}

pub(crate) fn full_queue() {
    each(|fixture, layers| {
        let report = serve(fixture, layers, "full-queue", &[]);
        assert!(report.did_harm(), "{report:?}");
        // One that waits is ended in the midst, and we with it.
        let sandbox = fixture.sandbox(SandboxProfile::Serve, layers);
        let mut child = fixture.spawn(&sandbox, "full-queue", &["wait"]);
        assert_eq!(first_line(&mut child), "full");
        until("its calls are taken", || calls() == 1);
        child.stop(Duration::ZERO).unwrap();
        until("nobody takes calls", || calls() == 0);
    });
}

/// Threads that take calls.
fn calls() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap().filter_map(Result::ok);
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.trim() == "provost-calls").count()
}

#[track_caller]
fn until(what: &str, is: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is() {
        assert!(Instant::now() < deadline, "not yet: {what}");
        std::thread::yield_now();
    }
}

pub(crate) fn leave_nothing() {
    each(|fixture, layers| {
        let files = || fs::read_dir("/proc/self/fd").unwrap().count();
        until("nobody takes calls", || calls() == 0);
        let before = files();
        let report = serve(fixture, layers, "call-many", &["1000"]);
        assert!(report.did_harm(), "{report:?}");
        until("nobody takes calls", || calls() == 0);
        until("no descriptor is left over", || files() == before);
    });
}

pub(crate) fn without_notification() {
    let mut fixture = SandboxFixture::new();
    fixture.machine.notification = LayerSupport::Refused { reason: "not here".into() };
    for layers in LAYERS {
        assert!(!fixture.sandbox(SandboxProfile::Serve, layers).applied().own_ports);
        denied(&serve(&fixture, layers, "self-talk", &[]));
        assert_eq!(calls(), 0);
    }
}
