//! The terminal over WebSocket and with `provost attach`.

mod client;
mod frames;

use std::time::Duration;

use provost_proto::terminal::{TerminalInputFrame, TerminalOutputFrame};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::Home;

/// Long enough for any machine; only a test that fails waits for it.
const LONG: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_opens_one_connection_and_the_log_says_who_opened_the_terminal() {
    let home = Home::new();
    let daemon = home.up();
    let (_, ticket) = daemon.ticket(&daemon.token).await;
    let query = format!("cols=80&rows=24&ticket={}", ticket["ticket"].as_str().unwrap());
    let mut client = daemon.dial(&query, &[]).await.unwrap();
    client.type_keys("echo so-$((40 + 2))\r").await;
    client.until("so-42").await;
    let (status, problem) = daemon.dial(&query, &[]).await.unwrap_err();
    assert_eq!((status, &problem["code"]), (401, &json!("UNAUTHENTICATED")), "{problem}");
    let requested = daemon.events("ACTION_REQUESTED").await;
    let names: Vec<_> = requested.iter().map(|body| &body["name"]).collect();
    assert_eq!(names, ["pty.open"]);
    let opened = daemon.events("TERMINAL_OPENED").await;
    assert_eq!((opened.len(), &opened[0]["action"]), (1, &requested[0]["action"]));
    let mut second = daemon.attach(None).await;
    second.until("so-42").await;
    assert_eq!(daemon.events("TERMINAL_OPENED").await.len(), 1, "one for all");
    client.type_keys("exit 5\r").await;
    let exit = TerminalOutputFrame::Exit { exit_code: Some(5), signal: None };
    assert_eq!(client.read_to_end().await.last(), Some(&exit));
    assert_eq!(second.read_to_end().await.last(), Some(&exit));
    let closed = loop {
        // It is written a moment after everybody was told.
        if let [closed] = &daemon.events("TERMINAL_CLOSED").await[..] {
            break closed["terminal"].clone();
        }
    };
    assert_eq!((&closed["cause"], &closed["exitCode"]), (&json!("exit"), &json!(5)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_comes_in_without_a_ticket_or_with_a_foreign_page() {
    let home = Home::new();
    let daemon = home.up();
    let agent =
        ["token", "create", "--class", "agent", "--project", "app", "--role", "dev", "--json"];
    let agent: Value = serde_json::from_str(&home.run_ok(&agent)).unwrap();
    let (status, problem) = daemon.ticket(agent["token"].as_str().unwrap()).await;
    assert_eq!((status.as_u16(), &problem["code"]), (403, &json!("FORBIDDEN")));
    let size = "cols=80&rows=24";
    let bearer = ("authorization", format!("Bearer {}", daemon.token));
    let port = daemon.base.rsplit(':').next().unwrap();
    let login: Value = {
        let url = format!("{}/api/login-links", daemon.base);
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let request = http.post(url).bearer_auth(&daemon.token).json(&json!({}));
        request.send().await.unwrap().json().await.unwrap()
    };
    let no_redirect = reqwest::redirect::Policy::none();
    let http =
        provost_runner::model::local_http_client_builder().redirect(no_redirect).build().unwrap();
    let url = format!("{}{}", daemon.base, login["path"].as_str().unwrap());
    let answer = http.get(url).send().await.unwrap();
    let cookie =
        answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let cookie = ("cookie", cookie);
    let place = answer.headers()["location"].to_str().unwrap();
    let page = ("provost-page", place.strip_prefix("/#page=").unwrap().to_owned());
    let origin = |place: &str| ("origin", place.to_owned());
    let ours = origin(&format!("http://127.0.0.1:{port}"));
    for (query, headers, expected) in [
        (size.to_owned(), vec![], 401),
        (format!("{size}&ticket=guess"), vec![], 401),
        (size.to_owned(), vec![bearer], 401),
        (size.to_owned(), vec![cookie.clone()], 401),
        (size.to_owned(), vec![cookie.clone(), origin("http://evil.example")], 403),
        (size.to_owned(), vec![cookie.clone(), origin("null")], 403),
        (size.to_owned(), vec![cookie.clone(), ours.clone()], 401),
        (size.to_owned(), vec![cookie, ours.clone(), page], 401),
        (format!("cols=0&rows=24&ticket={}", daemon.fresh_ticket().await), vec![ours.clone()], 422),
    ] {
        let refused = daemon.dial(&query, &headers).await.map(|_| ()).unwrap_err();
        assert!(
            refused.0 == expected || (expected == 422 && refused.0 == 400),
            "{query} {headers:?}: {refused:?}"
        );
    }
    assert!(daemon.events("TERMINAL_OPENED").await.is_empty(), "nothing was opened");
    let query = format!("{size}&ticket={}", daemon.fresh_ticket().await);
    let mut page = daemon.dial(&query, &[ours]).await.unwrap();
    page.type_keys("echo from-the-page-$((1))\r").await;
    page.until("from-the-page-1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_too_long_is_answered_with_why_and_nothing_of_it_is_typed() {
    let home = Home::new();
    let daemon = home.up();
    let mut client = daemon.attach(None).await;
    client.type_keys("PS1='ready> '; clear\r").await;
    client.until("ready> ").await;
    // 32 frames, each within its limit.
    let frame = TerminalInputFrame::Input("x".repeat(32 * 1024).into()).encode().unwrap();
    client.send_raw(frame.repeat(32).into()).await;
    let said = client.read_to_end().await.last().cloned();
    let Some(TerminalOutputFrame::Error(error)) = said else { panic!("{said:?}") };
    assert_eq!(error.code.as_str(), "TOO_LARGE");
    assert!(error.message.contains("longer than 1048576 bytes"), "{}", error.message);
    let mut again = daemon.attach(None).await;
    again.type_keys("echo still-$((1))\r").await;
    again.until("still-1").await;
    assert!(!String::from_utf8_lossy(&again.seen).contains("xxxx"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_comes_back_to_a_terminal_that_died_with_its_kernel_is_shown_the_new_one() {
    let home = Home::new();
    let daemon = home.up();
    let mut client = daemon.attach(None).await;
    client.type_keys("echo of-the-first-$((1))\r").await;
    client.until("of-the-first-1").await;
    // The status tells where the client is, when both have all that was printed.
    let (status, before) = loop {
        let status = daemon.get("/api/projects/app/runtime/status").await;
        let offset = status["terminal"]["offset"].as_u64().unwrap();
        while client.at < offset {
            assert!(client.next().await);
        }
        if client.at == offset {
            break (status, offset);
        }
    };
    let pid = i32::try_from(status["kernel"]["pid"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    client.read_to_end().await;
    let mut fresh = loop {
        // Until the daemon knows that it is gone, there is nothing to attach to.
        let mut fresh = daemon.attach(None).await;
        if fresh.next().await && !matches!(fresh.said.last(), Some(TerminalOutputFrame::Error(_))) {
            break fresh;
        }
    };
    // More than the first one had printed, so that its places could be taken for these.
    fresh.type_keys("seq 1 5000; echo of-the-second-$((1))\r").await;
    fresh.until("of-the-second-1").await;
    let mut back = daemon.attach(Some(before)).await;
    back.until("of-the-second-1").await;
    assert_eq!(back.n_snapshots, 1, "{:?}", back.said);
    assert!(!String::from_utf8_lossy(&back.seen).contains("of-the-first"));
}

/// What a process has in memory, in bytes.
fn memory(pid: i64) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gigabyte_past_clients_that_stall_leaves_the_memory_of_kernel_and_daemon_flat() {
    const ALL: u64 = 1_000_000_000;
    /// So much of it is also read to its last byte.
    const READ: u64 = 50_000_000;
    const MILLION: u64 = 1_000_000;
    let home = Home::new();
    let daemon = home.up();
    let mut client = daemon.attach(None).await;
    // In lines, as programs print; the terminal adds a return to each.
    let line = "x".repeat(78);
    let flood =
        |size: u64, word: &str| format!("yes {line} | head -c {size}; echo; echo {word}-$((1))\r");
    // What the terminal keeps for itself is full before it is measured.
    client.type_keys(&flood(12_000_000, "full")).await;
    client.read_bytes(12_000_000).await;
    client.until("full-1").await;
    let stalled = daemon.attach(None).await;
    let status = daemon.get("/api/projects/app/runtime/status").await;
    let kernel = status["kernel"]["pid"].as_i64().unwrap();
    let pids = [kernel, i64::from(daemon.pid.as_raw_nonzero().get())];
    let before = pids.map(memory);
    let (begin, mut most) = (client.at, before);
    let mut measure = || most = [0, 1].map(|n| memory(pids[n]).max(most[n]));
    client.type_keys(&flood(ALL, "end")).await;
    for _ in 0..READ / MILLION {
        client.read_bytes(MILLION).await;
        measure();
    }
    // From here on it stalls too.
    let is_over = |status: &Value| {
        measure();
        status["terminal"]["offset"].as_u64().is_some_and(|offset| offset - begin > ALL)
    };
    daemon.until_status(is_over).await;
    let mut late = daemon.attach(None).await;
    late.until("end-1").await;
    assert!(late.at - begin > ALL, "{} bytes were printed", late.at - begin);
    measure();
    for (name, before, most) in [("kernel", before[0], most[0]), ("daemon", before[1], most[1])] {
        let grown = most.saturating_sub(before);
        assert!(grown < 16 * 1024 * 1024, "the {name} grew by {grown} bytes from {before}");
    }
    drop(stalled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_typed_in_the_terminal_reaches_the_projects_dev_server() {
    let home = Home::new();
    home.put(
        "server.js",
        "require('http').createServer((_, answer) => answer.end('served-' + 6 * 7)).listen(0, '127.0.0.1')",
    );
    home.put("provost.toml", "[runtime]\ndev = \"node server.js\"\n");
    let daemon = home.up();
    daemon.runtime("run").await;
    let status = daemon.until_status(|status| status["preview"]["status"] == "ready").await;
    let port = &status["preview"]["port"];
    let mut client = daemon.attach(None).await;
    let script =
        format!("fetch(`http://localhost:{port}/`).then((a) => a.text()).then(console.log)");
    client.type_keys(&format!("node -e '{script}'\r")).await;
    client.until("served-42").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_terminal_and_its_screen_outlive_the_daemon() {
    let home = Home::new();
    let mut daemon = home.up();
    let mut client = daemon.attach(None).await;
    client.type_keys("PS1='ready> '; x=kept-$$; clear\r").await;
    client.until("ready> ").await;
    client.type_keys("echo on-the-screen-$((1))\r").await;
    client.until("on-the-screen-1").await;
    for round in 0..5 {
        client
            .type_keys(&format!("for i in $(seq 1 3000); do echo r{round}-$i; done; echo $x\r"))
            .await;
        client.until(&format!("r{round}-1")).await;
        daemon.kill();
        let (at, before) = (client.at, client.seen.clone());
        daemon = home.up();
        client = daemon.attach(Some(at)).await;
        assert!(client.seen.is_empty());
        // All of it may have come before.
        client.seen = before;
        client.until(&format!("r{round}-3000\r\nkept-")).await;
        assert_eq!(client.n_snapshots, 0, "all is still kept");
        let text = String::from_utf8_lossy(&client.seen).into_owned();
        let whole = text.lines().filter_map(|line| line.rsplit('\r').next());
        let mark = format!("r{round}-");
        let lines: Vec<_> = whole.filter(|line| line.starts_with(&mark)).collect();
        let expected: Vec<_> = (1..=3000).map(|n| format!("r{round}-{n}")).collect();
        assert!(lines == expected, "round {round}: {} lines", lines.len());
    }
    let mut fresh = daemon.attach(None).await;
    fresh.until("r4-3000").await;
    assert_eq!(fresh.n_snapshots, 1, "{:?}", fresh.said);
    assert_eq!(daemon.events("TERMINAL_OPENED").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attach_in_a_shell_shows_types_detaches_and_ends_with_the_shells_status() {
    let home = Home::new();
    let daemon = home.up();
    let complaint = home.run_failing(&["attach", "app"], 1);
    assert!(complaint.contains("must run in a terminal"), "{complaint}");
    let detached = inside(&home, |user| user.type_keys(b"echo typed-$((1))\r\x1cd")).await;
    let said = String::from_utf8_lossy(&detached.stdout).into_owned();
    assert!(detached.status.success() && said.contains("detached"), "{said}");
    assert!(said.contains("\x1b[?1049h") && said.contains("\x1b[?1049l"), "{said:?}");
    let mut client = daemon.attach(None).await;
    client.until("typed-1").await;
    let ended = inside(&home, |user| user.type_keys(b"exit 9\r")).await;
    assert_eq!(ended.status.code(), Some(9), "{}", String::from_utf8_lossy(&ended.stdout));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attach_says_that_the_daemon_is_gone_and_goes_on_when_it_is_back() {
    let home = Home::new();
    let daemon = home.up();
    let shown = home.path("shown");
    let typing = inside(&home, |user| {
        user.wait_for_screen("reconnecting", 1);
        // The window, the first snapshot, and the one that is drawn when it is back.
        user.wait_for_screen("\x1b[2J", 3);
        user.type_keys(b"echo back-$((1))\r");
        user.wait_for_screen("back-1", 1);
        user.type_keys(b"\x1cd");
    });
    let outage = async {
        wait_for(&shown, "\x1b[2J", 2);
        daemon.kill();
        wait_for(&shown, "reconnecting", 1);
        home.up();
    };
    let (detached, ()) = tokio::join!(typing, outage);
    let said = String::from_utf8_lossy(&detached.stdout).into_owned();
    assert!(detached.status.success() && said.contains("detached"), "{said}");
}

/// Waits until a file holds this text so often.
fn wait_for(file: &std::path::Path, text: &str, n_times: usize) {
    let count = || {
        let all = std::fs::read(file).unwrap_or_default();
        all.windows(text.len()).filter(|part| *part == text.as_bytes()).count()
    };
    while count() < n_times {
        std::thread::yield_now();
    }
}

/// The user of `provost attach`.
struct AttachedUser {
    keyboard: std::fs::File,
    shown: std::path::PathBuf,
}

impl AttachedUser {
    fn type_keys(&mut self, keys: &[u8]) {
        std::io::Write::write_all(&mut self.keyboard, keys).unwrap();
    }

    fn wait_for_screen(&self, text: &str, n_times: usize) {
        wait_for(&self.shown, text, n_times);
    }
}

/// Runs `provost attach` in a terminal of its own, and this function once it is attached.
async fn inside(
    home: &Home,
    what: impl FnOnce(&mut AttachedUser) + Send + 'static,
) -> std::process::Output {
    let (keyboard, shown) = (home.path("keyboard"), home.path("shown"));
    drop((std::fs::remove_file(&keyboard), std::fs::remove_file(&shown)));
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &keyboard, kind, 0o600.into(), 0).unwrap();
    let program = env!("CARGO_BIN_EXE_provost");
    let line =
        format!("script -qfec '{program} attach app' {} < {}", shown.display(), keyboard.display());
    let mut script = assert_cmd::Command::new("/bin/bash");
    script.args(["-c", &line]).env_clear().env("PATH", "/usr/bin:/bin");
    script.env("HOME", home.folder.path()).env("TERM", "xterm");
    script.env("PROVOST_DATA", home.data()).timeout(LONG);
    let running = tokio::task::spawn_blocking(move || script.output().unwrap());
    let typing = tokio::task::spawn_blocking(move || {
        let keyboard = std::fs::File::options().write(true).open(keyboard).unwrap();
        let mut user = AttachedUser { keyboard, shown };
        user.wait_for_screen("\x1b[?1049h", 1);
        what(&mut user);
        user
    });
    // Dropping it earlier would close the keyboard.
    let _user = typing.await.unwrap();
    running.await.unwrap()
}
