//! The command line: start, stop, configuration, verification, help.

mod unwritable_log;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use super::Home;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn from_nothing_to_a_project_and_back() {
    let home = Home::new();
    let printed = home.run_ok(&["up", "--no-open", home.path("app").to_str().unwrap()]);
    assert!(
        printed.contains("Project app is open") && printed.contains("/login?code="),
        "{printed}"
    );
    assert!(!printed.contains('\x1b'), "colour in a pipe: {printed:?}");

    let again = home.run_ok(&["up", "--no-open", home.path("app").to_str().unwrap()]);
    assert_eq!(printed.lines().next(), again.lines().next(), "the same daemon");

    let status = json(&home.run_ok(&["status", "--json"]));
    assert_eq!(status["status"], "running");
    assert_eq!(status["projects"][0]["slug"], "app");

    let events = home.run_ok(&["events", "--json"]);
    let kinds: Vec<_> = events.lines().map(|line| json(line)["kind"].clone()).collect();
    assert_eq!(kinds, ["DAEMON_STARTED", "PROJECT_OPENED"]);
    assert!(home.run_ok(&["events"]).contains("PROJECT_OPENED"));
    assert!(home.run_ok(&["projects", "close", "app"]).contains("Closed: app"));
    let app = home.path("app");
    let opened = json(&home.run_ok(&["projects", "open", app.to_str().unwrap(), "--json"]));
    assert_eq!((&opened["slug"], &opened["status"]), (&"app".into(), &"open".into()));
    let closed = json(&home.run_ok(&["projects", "close", "app", "--json"]));
    assert_eq!((&closed["id"], &closed["status"]), (&opened["id"], &"closed".into()));
    assert_eq!(json(&home.run_ok(&["projects", "--json"])), Value::Array(Vec::new()));

    assert!(home.run_ok(&["down"]).contains("has stopped"));
    assert!(home.run_ok(&["down"]).contains("No daemon is running"));
    home.provost(&["status"]).assert().code(3);
    let verified = json(&home.run_ok(&["audit", "verify", "--json"]));
    assert_eq!((&verified["events"], &verified["bad"]), (&Value::from(6), &Value::Null));
}

#[test]
fn what_provost_keeps_is_closed_to_others() {
    let home = Home::new();
    home.up();
    let mode = |name: &str| {
        let path = if name.is_empty() { home.data() } else { home.data().join(name) };
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode(""), 0o700);
    for name in ["token", "daemon.json", "daemon.lock", "daemon.log", "log.db"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    let log = fs::read_to_string(home.data().join("daemon.log")).unwrap();
    let token = home.running().token;
    assert!(!log.contains(&token) && !log.contains("code="), "{log}");
}

#[test]
fn a_second_daemon_is_refused_with_the_pid_of_the_first() {
    let home = Home::new();
    let daemon = home.up();
    let printed = home.run_failing(&["serve"], 1);
    let pid = daemon.pid.as_raw_nonzero().to_string();
    assert!(
        printed.contains(&format!("pid {pid}")) && printed.contains("provost down"),
        "{printed}"
    );
}

#[test]
fn the_lock_of_a_dead_daemon_is_taken_over() {
    let home = Home::new();
    let first = home.up();
    first.kill();
    assert!(home.data().join("daemon.json").exists(), "it died without tidying up");
    home.provost(&["status"]).assert().code(3);
    let second = home.up();
    assert_ne!(first.pid, second.pid);
}

#[test]
fn a_daemon_that_is_being_killed_is_waited_for_and_replaced() {
    let home = Home::new();
    home.up();
    home.run_ok(&["down"]);
    // What a killed daemon looks like until it has left the disk: the lock is held, its record
    // is there, and no process runs or answers. No process has so high a number.
    let pid = 2_147_483_646;
    fs::write(home.data().join("daemon.lock"), format!("{pid}\n")).unwrap();
    let lock = fs::File::open(home.data().join("daemon.lock")).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let record = serde_json::json!({ "pid": pid, "address": free, "version": "0", "startedAt": 0 });
    fs::write(home.data().join("daemon.json"), record.to_string()).unwrap();
    fs::remove_file(home.data().join("daemon.log")).unwrap();
    std::thread::scope(|scope| {
        let up = scope.spawn(|| home.up());
        while !home.data().join("daemon.log").exists() && !up.is_finished() {
            std::thread::yield_now();
        }
        drop(lock);
        up.join().unwrap();
    });
}

#[test]
fn a_token_that_others_can_read_is_not_used() {
    let home = Home::new();
    home.up();
    home.run_ok(&["down"]);
    fs::set_permissions(home.data().join("token"), fs::Permissions::from_mode(0o644)).unwrap();
    let printed = home.run_failing(&["serve"], 1);
    assert!(
        printed.contains("can be read by others") && printed.contains("remove it"),
        "{printed}"
    );
}

#[test]
fn a_port_that_is_taken_is_said_with_what_to_do() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let printed = home.run_failing(&["serve", "--listen", &address], 1);
    assert!(printed.contains("cannot listen on") && printed.contains("--listen"), "{printed}");
    let printed = home.run_failing(&["up", "--no-open", "--listen", &address], 1);
    assert!(
        printed.contains("the daemon exited immediately") && printed.contains("cannot listen"),
        "{printed}"
    );
}

#[test]
fn an_address_that_is_none_is_named_by_those_who_listen_and_ignored_by_others() {
    let home = Home::new();
    home.up();
    let config = home.path("config.toml");
    fs::write(&config, "listen = 'here'").unwrap();
    let run = |args: &[&str], variable: &str| {
        let mut command = home.provost(args);
        command.env("PROVOST_CONFIG", &config).env("PROVOST_LISTEN", variable);
        command.assert()
    };
    for args in [&["serve"][..], &["up", "--no-open"], &["config"]] {
        for (variable, place) in
            [("there", "PROVOST_LISTEN is `there`"), ("", "config.toml is `here`")]
        {
            let output = run(args, variable).failure();
            let printed = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
            assert!(
                printed.contains(place) && printed.contains("such as 127.0.0.1:3001"),
                "{printed}"
            );
        }
    }
    for args in [&["status"][..], &["projects"], &["down"]] {
        run(args, "there").success();
    }
}

#[test]
fn a_daemon_that_ends_before_it_can_say_anything_is_noticed_at_once() {
    let home = Home::new();
    // No file can grow by a byte: the daemon's output is lost, and the daemon stops.
    let program = env!("CARGO_BIN_EXE_provost");
    let mut command = assert_cmd::Command::new("/bin/sh");
    command
        .args(["-c", "ulimit -f 0; exec \"$0\" up --no-open", program])
        .env_clear()
        .env("HOME", home.path(""))
        .env("PROVOST_DATA", home.data())
        .env("PROVOST_LISTEN", "127.0.0.1:0")
        .timeout(Duration::from_mins(1));
    let began = Instant::now();
    let output = command.assert().failure();
    let printed = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(printed.contains("the daemon exited immediately, and its log"), "{printed}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn listening_beyond_this_machine_needs_a_name() {
    let home = Home::new();
    let printed = home.run_failing(&["serve", "--listen", "0.0.0.0:0"], 1);
    assert!(printed.contains("--allow-host"), "{printed}");
}

#[test]
fn the_command_line_reaches_a_daemon_on_any_address_of_this_machine() {
    for (listen, host) in [("127.0.0.2:0", None), ("0.0.0.0:0", Some("provost.example"))] {
        let home = Home::new();
        let mut args = vec!["up", "--no-open", "--listen", listen];
        args.extend(host.into_iter().flat_map(|host| ["--allow-host", host]));
        let app = home.path("app");
        args.push(app.to_str().unwrap());
        assert!(home.run_ok(&args).contains("Project app is open"), "{listen}");
        home.run_ok(&["down"]);
    }
}

#[test]
fn a_browser_is_given_no_login_link_in_its_arguments() {
    let home = Home::new();
    let seen = home.path("seen");
    let browser = home.path("browser");
    let script = format!("#!/bin/sh\necho \"$@\" > {}.new && mv {0}.new {0}\n", seen.display());
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let mut up = home.provost(&["up", home.path("app").to_str().unwrap()]);
    up.env("BROWSER", &browser).env("PATH", "/usr/bin:/bin").assert().success();
    while !seen.exists() {
        std::thread::yield_now();
    }
    let arguments = fs::read_to_string(seen).unwrap();
    assert!(arguments.starts_with("file://") && !arguments.contains("code="), "{arguments}");
    let page = fs::read_to_string(home.data().join("login.html")).unwrap();
    assert!(page.contains("/login?code="), "{page}");
    let mode = fs::metadata(home.data().join("login.html")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn commands_without_a_daemon_say_how_to_start_one() {
    let home = Home::new();
    for args in [&["projects"][..], &["events"], &["token", "list"]] {
        let printed = home.run_failing(args, 1);
        assert!(
            printed.contains("no daemon is running") && printed.contains("provost up"),
            "{printed}"
        );
    }
    assert!(home.run_failing(&["audit", "verify"], 1).contains("there is no log"));
}

#[test]
fn an_unfit_folder_is_refused_and_the_daemon_stays_up() {
    let home = Home::new();
    for (path, sentence) in [("/", "root of the whole file system"), ("nowhere", "does not exist")]
    {
        let printed = home.run_failing(&["up", "--no-open", path], 1);
        assert!(printed.contains(sentence), "{printed}");
    }
    assert_eq!(json(&home.run_ok(&["status", "--json"]))["status"], "running");
}

#[test]
fn tokens_are_shown_once_listed_and_revoked() {
    let home = Home::new();
    home.up();
    let create = ["token", "create", "--class", "agent", "--project", "app", "--role", "dev"];
    let token = home.run_ok(&create);
    assert!(token.starts_with("provost_agent_") && token.lines().count() == 1, "{token}");
    let list = home.run_ok(&["token", "list"]);
    assert!(list.contains("agent:dev") && !list.contains(token.trim()), "{list}");
    let id = list.split_whitespace().next().unwrap();
    home.run_ok(&["token", "revoke", id]);
    assert_eq!(home.run_ok(&["token", "list"]), "");
}

#[test]
fn flags_stand_above_the_environment_above_the_file_above_defaults() {
    let home = Home::new();
    let config = home.path("config.toml");
    let show = |args: &[&str], environment: &[(&str, &str)]| {
        let mut command = home.provost(&[&["config", "--json"], args].concat());
        command.env_remove("PROVOST_LISTEN").env("PROVOST_CONFIG", &config);
        command.envs(environment.iter().copied());
        let output = command.assert().success();
        json(std::str::from_utf8(&output.get_output().stdout).unwrap())
    };
    let listen = |value: &Value| {
        let text = |name: &str| value["listen"][name].as_str().unwrap().to_owned();
        (text("value"), text("source"))
    };
    let pair = |value: &str, source: &str| (value.to_owned(), source.to_owned());
    fs::write(&config, "").unwrap();
    assert_eq!(listen(&show(&[], &[])), pair("127.0.0.1:3001", "default"));
    fs::write(&config, "listen = \"127.0.0.1:4001\"\n").unwrap();
    assert_eq!(listen(&show(&[], &[])), pair("127.0.0.1:4001", "file"));
    let environment = [("PROVOST_LISTEN", "127.0.0.1:5001")];
    assert_eq!(listen(&show(&[], &environment)), pair("127.0.0.1:5001", "environment"));
    let data = home.path("elsewhere");
    let shown = show(&["--data", data.to_str().unwrap()], &environment);
    assert_eq!(shown["data"]["source"], "flag");
    fs::write(&config, "[budget]\nsession_usd = 2.0\n[turn]\ncompact_at = 9000\n").unwrap();
    let shown = show(&[], &[]);
    assert_eq!(shown["models"]["budget"]["sessionUsd"], 2.0);
    assert_eq!(shown["models"]["turn"]["compactAt"], 9000);
    assert!(!shown.to_string().contains("_usd\":") && shown["kernelIdleMinutes"].is_object());
}

#[test]
fn a_configuration_that_is_named_must_be_there() {
    let home = Home::new();
    let mut command = home.provost(&["projects"]);
    let output = command.env("PROVOST_CONFIG", home.path("nowhere.toml")).assert().code(1);
    let printed = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(printed.contains("nowhere.toml"), "{printed}");
}

#[test]
fn a_host_without_a_name_is_refused_wherever_it_is_configured() {
    let home = Home::new();
    let config = home.path("config.toml");
    fs::write(&config, "allow_hosts = [\"\"]\n").unwrap();
    let refused = |command: &mut assert_cmd::Command, place: &str| {
        let output = command.assert().code(1);
        let printed = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(printed.contains("not a host name") && printed.contains(place), "{printed}");
    };
    refused(home.provost(&["config"]).env("PROVOST_CONFIG", &config), "config.toml");
    for value in [",", "a.example,", " "] {
        refused(home.provost(&["config"]).env("PROVOST_ALLOW_HOSTS", value), "PROVOST_ALLOW_HOSTS");
    }
    for value in ["--allow-host=", "--allow-host=a.example,", "--allow-host=http://a.example"] {
        refused(&mut home.provost(&["serve", value]), "--allow-host");
    }
}

#[test]
fn a_closed_pipe_ends_every_command_without_a_word() {
    let home = Home::new();
    home.up();
    // The pipe's only reader is gone for certain before the command begins.
    let script = r#"mkfifo "$1"; true <"$1" & exec 4>"$1"; wait; shift; "$0" "$@" >&4; echo $?"#;
    for (n, args) in [
        &["completions", "zsh"][..],
        &["man"],
        &["events"],
        &["status"],
        &["config"],
        &["doctor", "--json"],
        &["audit", "verify"],
    ]
    .into_iter()
    .enumerate()
    {
        let pipe = home.path(&format!("pipe{n}"));
        let mut command = assert_cmd::Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_provost")]).arg(pipe).args(args);
        command.env("PROVOST_DATA", home.data()).env("HOME", home.path(""));
        let output = command.assert().success();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (printed, complained) =
            (text(&output.get_output().stdout), text(&output.get_output().stderr));
        assert_eq!((printed.as_str(), complained.as_str()), ("0\n", ""), "{args:?}");
    }
}

#[test]
fn a_hang_up_stops_the_daemon_in_good_order() {
    let home = Home::new();
    let daemon = home.up();
    rustix::process::kill_process(daemon.pid, rustix::process::Signal::HUP).unwrap();
    let lock = fs::File::open(&daemon.lock).unwrap();
    flock(&lock, FlockOperation::LockShared).unwrap();
    drop(lock);
    home.up();
    assert!(home.run_ok(&["events"]).contains("reason=SIGHUP"));
}

#[test]
fn following_begins_now_or_where_it_is_told() {
    let home = Home::new();
    home.up();
    // It is stopped by its time limit, as by Ctrl-C.
    let follow = |more: &[&str]| {
        let args = [&["events", "--follow", "--json"][..], more].concat();
        let output = home.provost(&args).timeout(Duration::from_millis(1500)).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| json(line)["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(follow(&["--after", "0"]).first().map(String::as_str), Some("DAEMON_STARTED"));
    let printed = std::thread::scope(|scope| {
        let following = scope.spawn(|| follow(&[]));
        while !following.is_finished() {
            home.run_ok(&["token", "create", "--class", "viewer"]);
        }
        following.join().unwrap()
    });
    assert!(!printed.is_empty(), "new events are printed");
    assert!(printed.iter().all(|kind| kind == "TOKEN_CREATED"), "no old ones: {printed:?}");
}

#[test]
fn following_ends_with_what_the_daemon_said_when_it_refuses() {
    let home = Home::new();
    home.up();
    fs::write(home.data().join("token"), "provost_operator_of_another_daemon_entirely\n").unwrap();
    let printed = home.run_failing(&["events", "--follow"], 1);
    assert!(printed.contains("UNAUTHENTICATED") && printed.contains("revoked"), "{printed}");
}

#[test]
fn a_daemon_whose_log_cannot_be_written_is_not_started_and_it_is_said_why() {
    let home = Home::new();
    fs::create_dir_all(home.data().join("daemon.log")).unwrap();
    let printed = home.run_failing(&["up", "--no-open"], 1);
    assert!(
        printed.contains("cannot start the daemon") && printed.contains("daemon.log"),
        "{printed}"
    );
}

#[test]
fn a_configuration_with_a_typo_is_an_error_that_names_it() {
    let home = Home::new();
    let config = home.path("config.toml");
    fs::write(&config, "lisen = \"127.0.0.1:4001\"\n").unwrap();
    let mut command = home.provost(&["projects"]);
    let output = command.env("PROVOST_CONFIG", &config).assert().failure();
    let printed = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(printed.contains("config.toml") && printed.contains("lisen"), "{printed}");
    // What teaches must work even then.
    home.provost(&["completions", "bash"]).env("PROVOST_CONFIG", &config).assert().success();
}

#[test]
fn a_broken_configuration_keeps_nobody_from_looking_at_the_daemon_and_stopping_it() {
    let home = Home::new();
    home.up();
    let config = home.path("config.toml");
    let run = |args: &[&str]| {
        let mut command = home.provost(args);
        command.env("PROVOST_CONFIG", &config).assert()
    };
    for broken in ["listen = [", "lisen = 'x'", "approval_minutes = 0", "[providers.x]\nnone = 1"] {
        fs::write(&config, broken).unwrap();
        for args in [&["doctor", "--json"][..], &["status", "--json"]] {
            let done = run(args).success();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let output = done.get_output();
            let (printed, warned) = (text(&output.stdout), text(&output.stderr));
            assert!(json(&printed)["daemon"]["pid"].is_number(), "{broken}: {printed}");
            assert!(warned.contains("warning: continuing without"), "{broken}: {warned}");
        }
        for args in [&["projects"][..], &["config"], &["up", "--no-open"], &["serve"]] {
            run(args).code(1);
        }
    }
    let done = run(&["down"]).success();
    let warned = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(warned.contains("config.toml") && warned.contains("--data"), "{warned}");
    assert!(home.run_ok(&["down"]).contains("No daemon is running"));
}

#[test]
fn a_byte_flipped_in_the_database_is_named() {
    let home = Home::new();
    home.up();
    home.run_ok(&["token", "create", "--class", "viewer", "--label", "flip this label"]);
    home.run_ok(&["down"]);
    let path = home.data().join("log.db");
    let mut bytes = fs::read(&path).unwrap();
    let needle = b"flip this label";
    let found: Vec<_> =
        (0..bytes.len() - needle.len()).filter(|&at| bytes[at..].starts_with(needle)).collect();
    assert!(!found.is_empty());
    for at in found {
        bytes[at] ^= 1;
    }
    fs::write(&path, bytes).unwrap();
    let output = home.provost(&["audit", "verify"]).assert().code(4);
    let printed = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(printed.contains("Event 3 is invalid"), "{printed}");
}

/// Where the record of the last event lies in the database, in every copy of
/// it, and how long it is: a page that was split keeps stale copies.
fn last_record(bytes: &[u8]) -> (Vec<usize>, usize) {
    let find = |from: usize, needle: &[u8]| {
        (from..bytes.len() - needle.len()).find(|&at| bytes[at..].starts_with(needle)).unwrap()
    };
    let kind = find(0, b"\"kind\":\"DAEMON_STOPPED\"");
    let start = (0..kind).rfind(|&at| bytes[at..].starts_with(b"{\"actor\"")).unwrap();
    let end = find(find(kind, b"\"version\":"), b"}") + 1;
    let record = &bytes[start..end];
    let all = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(record)).collect();
    (all, record.len())
}

#[test]
fn whatever_bit_of_the_last_event_is_flipped_it_is_named() {
    let home = Home::new();
    home.up();
    home.run_ok(&["down"]);
    let path = home.data().join("log.db");
    let good = fs::read(&path).unwrap();
    let (copies, length) = last_record(&good);
    assert!(length > 200);
    for at in (0..length).step_by(7) {
        let mut bytes = good.clone();
        for copy in &copies {
            bytes[copy + at] ^= 1 << (at % 8);
        }
        fs::write(&path, bytes).unwrap();
        let output = home.provost(&["audit", "verify"]).assert().code(4);
        let printed = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(printed.contains("Event 3 is invalid"), "byte {at}: {printed}");
    }
    fs::write(&path, good).unwrap();
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact: 3 events"));
}

#[test]
fn a_file_that_is_no_database_is_called_so_and_not_sent_in_circles() {
    let home = Home::new();
    home.up();
    home.run_ok(&["down"]);
    fs::write(home.data().join("log.db"), "a letter ".repeat(1000)).unwrap();
    for args in [&["audit", "verify"][..], &["audit", "rebuild"], &["serve"]] {
        let printed = home.run_failing(args, 1);
        assert!(printed.contains("log.db cannot be read as a log"), "{printed}");
        assert!(!printed.contains("audit verify"), "{printed}");
    }
}

#[test]
fn a_damaged_view_neither_stops_the_daemon_nor_stays() {
    let home = Home::new();
    home.up();
    let running = home.run_failing(&["audit", "rebuild"], 1);
    assert!(running.contains("provost down"), "{running}");
    home.run_ok(&["down"]);
    let path = home.data().join("log.db");
    let good = fs::read(&path).unwrap();
    // Documents begin so; events begin with their actor.
    let needle = b"{\"id\":\"";
    let damage = || {
        let mut bytes = good.clone();
        let found: Vec<_> =
            (0..bytes.len() - 9).filter(|&at| bytes[at..].starts_with(needle)).collect();
        assert!(!found.is_empty(), "{}", String::from_utf8_lossy(&good));
        for at in found {
            bytes[at] = b'X';
        }
        fs::write(&path, bytes).unwrap();
    };
    damage();
    let output = home.provost(&["audit", "verify"]).assert().code(4);
    let printed = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(
        printed.contains("events are intact") && printed.contains("audit rebuild"),
        "{printed}"
    );
    assert!(home.run_ok(&["audit", "rebuild"]).contains("were rebuilt"));
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
    damage();
    home.up();
    assert!(home.run_ok(&["projects"]).contains("app"));
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
}

#[test]
fn the_help_teaches_and_every_shell_gets_completions() {
    let home = Home::new();
    let help = home.run_ok(&["--help"]);
    for word in ["provost up", "login", "doctor", "--data"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(home.run_ok(&["completions", shell]).contains("provost"), "{shell}");
    }
    assert!(home.run_ok(&["man"]).contains(".TH provost"));
    let doctor = json(&home.run_ok(&["doctor", "--json"]));
    assert!(doctor["machine"]["landlockAbi"].is_number(), "{doctor}");
    assert_eq!(doctor["wall"]["seccomp"], true, "{doctor}");
}
