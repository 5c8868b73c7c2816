//! What the sources may not hold.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::shell::root;

/// Entries that `ls` shows at the root, at most: the story must fit on a screen.
const ROOT_ENTRIES: usize = 18;

/// A text that must not stand in these folders, and why.
struct Ban {
    text: &'static str,
    below: &'static [&'static str],
    except: &'static [&'static str],
    why: &'static str,
}

const EVERYWHERE: &[&str] = &["crates", "examples", "xtask"];
const PURE: &[&str] = &["crates/provost-core/src", "crates/provost-proto/src"];

const BANS: &[Ban] = &[
    Ban {
        text: "clippy::disallowed_methods",
        below: EVERYWHERE,
        except: &["xtask/src/tidy/sources.rs"],
        why: "there are no exceptions from the disallowed methods",
    },
    Ban {
        text: "clippy::style",
        below: EVERYWHERE,
        except: &["xtask/src/tidy/sources.rs"],
        why: "it would lift the ban on the disallowed methods",
    },
    Ban {
        text: "clippy::all",
        below: EVERYWHERE,
        except: &["xtask/src/tidy/sources.rs"],
        why: "it would lift the ban on the disallowed methods",
    },
    Ban {
        text: "unsafe_code",
        below: EVERYWHERE,
        except: &["crates/provost-sandbox", "xtask/src/tidy/sources.rs"],
        why: "only provost-sandbox contains unsafe code",
    },
    Ban {
        text: "#[ignore",
        below: EVERYWHERE,
        except: &["xtask/src/tidy/sources.rs"],
        why: "a test runs or is deleted",
    },
    Ban {
        text: "#[should_panic",
        below: EVERYWHERE,
        except: &["xtask/src/tidy/sources.rs"],
        why: "a test says what fails and how",
    },
    Ban {
        text: "openpt",
        below: EVERYWHERE,
        except: &["crates/provost-sandbox", "xtask/src/tidy/sources.rs"],
        why: "only provost-sandbox opens a terminal",
    },
    Ban {
        text: "pty::open",
        below: EVERYWHERE,
        except: &[
            "crates/provost-sandbox",
            "crates/provost-kernel/src/host/terminal",
            // Measures one that is only read beside ours.
            "crates/provost/benches/terminal/main.rs",
            "xtask/src/tidy/sources.rs",
        ],
        why: "a project has one terminal, and its kernel has it",
    },
    Ban {
        text: "/dev/ptmx",
        below: EVERYWHERE,
        except: &["xtask/src/tidy/sources.rs"],
        why: "only provost-sandbox opens a terminal",
    },
    Ban {
        text: "alacritty_terminal::tty",
        below: EVERYWHERE,
        except: &["xtask/src/tidy/sources.rs"],
        why: "only provost-sandbox opens a terminal",
    },
    Ban {
        text: "Client::new()",
        below: EVERYWHERE,
        except: &[
            "crates/provost-runner/src/model/transport.rs",
            // Installs a provider itself: it uses none of our crates.
            "examples/agent.rs",
            "xtask/src/tidy/sources.rs",
        ],
        why: "it panics without a provider of TLS; begin with provost_runner::model::http",
    },
    Ban {
        text: "Client::builder()",
        below: EVERYWHERE,
        except: &["crates/provost-runner/src/model/transport.rs", "xtask/src/tidy/sources.rs"],
        why: "it panics without a provider of TLS; begin with provost_runner::model::http",
    },
    Ban { text: "std::fs", below: PURE, except: &[], why: "this crate does no I/O" },
    Ban { text: "std::net", below: PURE, except: &[], why: "this crate does no I/O" },
    Ban { text: "std::env", below: PURE, except: &[], why: "this crate reads no environment" },
    Ban { text: "std::process", below: PURE, except: &[], why: "this crate starts nothing" },
    Ban { text: "std::thread", below: PURE, except: &[], why: "this crate has no threads" },
    Ban { text: "Instant::now", below: PURE, except: &[], why: "this crate reads no clock" },
];

pub(crate) fn check() -> Result<Vec<String>> {
    let mut found = Vec::new();
    let visible = fs::read_dir(root())?
        .flatten()
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .filter(|entry| entry.file_name() != "target")
        .count();
    if visible > ROOT_ENTRIES {
        found.push(format!("the root shows {visible} entries; {ROOT_ENTRIES} at most"));
    }
    let mut files = Vec::new();
    for folder in EVERYWHERE {
        rust_files(&root().join(folder), &mut files)?;
    }
    for file in files {
        let text = fs::read_to_string(&file)?;
        let name = file.strip_prefix(root()).unwrap_or(&file).to_string_lossy().into_owned();
        if !text.starts_with("//!") {
            found.push(format!("{name} does not begin with `//!` saying what it owns"));
        }
        for ban in BANS {
            let here = ban.below.iter().any(|folder| name.starts_with(folder))
                && !ban.except.iter().any(|folder| name.starts_with(folder));
            if here && text.contains(ban.text) {
                found.push(format!("{name} holds `{}`: {}", ban.text, ban.why));
            }
        }
    }
    Ok(found)
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
