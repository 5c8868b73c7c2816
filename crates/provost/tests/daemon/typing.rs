//! A person who types at a terminal.

use std::fs;
use std::io::Write as _;
use std::process::Output;
use std::time::Duration;

use super::Home;

/// Long enough for any machine; only a test that fails waits for it.
const LONG: Duration = Duration::from_mins(1);

/// Runs `provost` in a terminal. Each step waits until something is shown that was not
/// before, and types.
pub(super) async fn type_in_terminal(
    home: &Home,
    args: &str,
    steps: &'static [(&'static str, &'static str)],
) -> Output {
    let (keyboard, shown) = (home.path("keyboard"), home.path("shown"));
    drop((fs::remove_file(&keyboard), fs::remove_file(&shown)));
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &keyboard, kind, 0o600.into(), 0).unwrap();
    let program = env!("CARGO_BIN_EXE_provost");
    let (to, from) = (shown.display(), keyboard.display());
    let line = format!("script -qfec 'exec {program} {args}' {to} < {from}");
    let mut script = assert_cmd::Command::new("/bin/bash");
    script.args(["-c", &line]).env_clear().env("PATH", "/usr/bin:/bin");
    script.env("HOME", home.folder.path()).env("TERM", "xterm");
    script.env("PROVOST_DATA", home.data()).env("PROVOST_LISTEN", "127.0.0.1:0").timeout(LONG);
    let running = tokio::task::spawn_blocking(move || script.output().unwrap());
    let typing = tokio::task::spawn_blocking(move || {
        let mut typed = fs::File::options().write(true).open(keyboard).unwrap();
        let mut seen = 0;
        let ends = std::time::Instant::now() + LONG;
        for (wanted, keys) in steps {
            seen = loop {
                let all = fs::read(&shown).unwrap_or_default();
                let all = String::from_utf8_lossy(&all).into_owned();
                if let Some(at) = all.get(seen..).and_then(|rest| rest.find(wanted)) {
                    break seen + at + wanted.len();
                }
                assert!(std::time::Instant::now() < ends, "no {wanted:?} in {all:?}");
                std::thread::sleep(Duration::from_millis(5));
            };
            typed.write_all(keys.as_bytes()).unwrap();
        }
        typed
    });
    // Its end would be the end of the keyboard.
    let _typed = typing.await.unwrap();
    running.await.unwrap()
}
