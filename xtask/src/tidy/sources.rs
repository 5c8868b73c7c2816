//! Texts that must not occur in sources, and the size of the root folder.

use std::fs;

use anyhow::Result;

use super::source_files::{self, RUST_FOLDERS, SourceFile};
use crate::shell::root;

/// Visible entries at the root, at most: a newcomer must see all of it at once.
const ROOT_ENTRIES: usize = 18;

/// A text that must not occur in these folders, and why.
struct Ban {
    text: &'static str,
    below: &'static [&'static str],
    except: &'static [&'static str],
    why: &'static str,
}

const PURE: &[&str] = &[
    "crates/provost-core/src",
    "crates/provost-ipynb/src",
    "crates/provost-notebook/src",
    "crates/provost-proto/src",
    "crates/provost-wasm/src",
];

const BANS: &[Ban] = &[
    Ban {
        text: "clippy::disallowed_methods",
        below: RUST_FOLDERS,
        except: &["xtask/src/tidy/sources.rs"],
        why: "the disallowed methods have no exceptions",
    },
    Ban {
        text: "clippy::style",
        below: RUST_FOLDERS,
        except: &["xtask/src/tidy/sources.rs"],
        why: "it would lift the ban on the disallowed methods",
    },
    Ban {
        text: "clippy::all",
        below: RUST_FOLDERS,
        except: &["xtask/src/tidy/sources.rs"],
        why: "it would lift the ban on the disallowed methods",
    },
    Ban {
        text: "unsafe_code",
        below: RUST_FOLDERS,
        except: &[
            "crates/provost-sandbox",
            // The names of exports, which are unsafe attributes; there is no unsafe block.
            "crates/provost-wasm/src/exports.rs",
            "crates/provost-wasm/examples/core_replay.rs",
            "xtask/src/tidy/sources.rs",
        ],
        why: "only provost-sandbox contains unsafe code",
    },
    Ban {
        text: "#[ignore",
        below: RUST_FOLDERS,
        except: &["xtask/src/tidy/sources.rs"],
        why: "a test runs or is deleted",
    },
    Ban {
        text: "#[should_panic",
        below: RUST_FOLDERS,
        except: &["xtask/src/tidy/sources.rs"],
        why: "a test asserts what fails and how",
    },
    Ban {
        text: "openpt",
        below: RUST_FOLDERS,
        except: &["crates/provost-sandbox", "xtask/src/tidy/sources.rs"],
        why: "only provost-sandbox opens a terminal",
    },
    Ban {
        text: "pty::open",
        below: RUST_FOLDERS,
        except: &[
            "crates/provost-sandbox",
            "crates/provost-kernel/src/host/terminal",
            // Measures a PTY that is only read, for comparison.
            "crates/provost/benches/terminal/main.rs",
            "xtask/src/tidy/sources.rs",
        ],
        why: "a project has one terminal, which its kernel owns",
    },
    Ban {
        text: "/dev/ptmx",
        below: RUST_FOLDERS,
        except: &["xtask/src/tidy/sources.rs"],
        why: "only provost-sandbox opens a terminal",
    },
    Ban {
        text: "alacritty_terminal::tty",
        below: RUST_FOLDERS,
        except: &["xtask/src/tidy/sources.rs"],
        why: "only provost-sandbox opens a terminal",
    },
    Ban {
        text: "Client::new()",
        below: RUST_FOLDERS,
        except: &[
            "crates/provost-runner/src/model/model_client.rs",
            // It uses none of our crates, and installs a TLS provider itself.
            "examples/agent.rs",
            "xtask/src/tidy/sources.rs",
        ],
        why: "it panics without a TLS provider; use provost_runner::model::http_client_builder",
    },
    Ban {
        text: "Client::builder()",
        below: RUST_FOLDERS,
        except: &["crates/provost-runner/src/model/model_client.rs", "xtask/src/tidy/sources.rs"],
        why: "it panics without a TLS provider; use provost_runner::model::http_client_builder",
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
        found.push(format!("the root has {visible} visible entries; {ROOT_ENTRIES} at most"));
    }
    for SourceFile { name, text, .. } in source_files::read_rust()? {
        if !text.starts_with("//!") {
            found.push(format!("{name} does not begin with `//!` saying what it owns"));
        }
        for ban in BANS {
            let applies = ban.below.iter().any(|folder| name.starts_with(folder))
                && !ban.except.iter().any(|folder| name.starts_with(folder));
            if applies && text.contains(ban.text) {
                found.push(format!("{name} contains `{}`: {}", ban.text, ban.why));
            }
        }
    }
    Ok(found)
}
