//! Checks the HTTP API of a real daemon against its OpenAPI document with schemathesis, once
//! with an operator's token and once with an agent's.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::{install, must, output, program, root};

/// The version from `PyPI`; another one may check more or less.
const REQUIREMENT: &str = "schemathesis==4.32.5";

/// Seconds after which one run is aborted; it takes one to three minutes.
const TIME_LIMIT: &str = "900";

/// Runs schemathesis against the daemon `binary`; its files are kept in the folder `target`.
pub(crate) fn run(binary: &Path, target: &Path) -> Result<()> {
    let folder = target.join("schemathesis");
    let schemathesis = install_schemathesis(&folder)?;
    for class in [TestedTokenClass::Operator, TestedTokenClass::Agent] {
        let daemon = TestDaemon::start(binary)?;
        let token = daemon.token(&class)?;
        let document = folder.join("openapi.json");
        fs::write(&document, daemon.fetch("/api/openapi.json", &token)?)?;
        let config = root().join("xtask/schemathesis.toml");
        let mut command = program("timeout", &[TIME_LIMIT]);
        command.arg(&schemathesis).arg("--config-file").arg(config).arg("run").arg(document);
        command.args(["--no-color", "--url", &format!("http://{}", daemon.address)]);
        must(command.current_dir(&folder).env("PROVOST_TOKEN", token))?;
    }
    Ok(())
}

enum TestedTokenClass {
    Operator,
    Agent,
}

/// Path of schemathesis, in a virtual environment of its own.
fn install_schemathesis(folder: &Path) -> Result<PathBuf> {
    let environment = folder.join("venv");
    let (installed, schemathesis) =
        (environment.join("installed"), environment.join("bin/schemathesis"));
    if schemathesis.is_file() && fs::read_to_string(&installed).is_ok_and(|it| it == REQUIREMENT) {
        return Ok(schemathesis);
    }
    fs::create_dir_all(folder)?;
    let create = || {
        let mut create = program("python3", &["-m", "venv", "--clear"]);
        must(create.arg(&environment))
    };
    if create().is_err() {
        // Debian has the module `venv` in a package of its own.
        install("python3-venv").context("the check of the HTTP API needs Python 3 with venv")?;
        create()?;
    }
    let pip = environment.join("bin/pip");
    ensure!(pip.is_file(), "the virtual environment has no pip");
    must(Command::new(pip).args(["install", "--quiet", REQUIREMENT]))?;
    fs::write(installed, REQUIREMENT)?;
    Ok(schemathesis)
}

/// A daemon with a temporary home and two projects, `app` and `other`.
struct TestDaemon {
    binary: PathBuf,
    home: PathBuf,
    address: String,
}

impl TestDaemon {
    fn start(binary: &Path) -> Result<Self> {
        // Not below `target`: the path of a Unix socket is limited to 107 bytes.
        let home = std::env::temp_dir().join(format!("provost-api-{}", std::process::id()));
        let mut daemon = Self { binary: binary.to_owned(), home, address: String::new() };
        for project in ["app", "other"] {
            let folder = daemon.home.join(project);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("a.txt"), "hello\n")?;
            must(daemon.provost(&["up", "--no-open"]).arg(folder))?;
        }
        let running: Value =
            serde_json::from_slice(&fs::read(daemon.home.join("data/daemon.json"))?)?;
        let address = running["address"].as_str().context("daemon.json has no address")?;
        address.clone_into(&mut daemon.address);
        Ok(daemon)
    }

    /// The binary, with this home and nothing else of the environment but `PATH`.
    fn provost(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.env_clear().args(args).current_dir(&self.home);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.home).env("USER", "ann").env("PROVOST_LISTEN", "127.0.0.1:0");
        command.env("PROVOST_DATA", self.home.join("data"));
        command.env("PROVOST_POLICY", self.home.join("policy.toml"));
        command
    }

    fn token(&self, class: &TestedTokenClass) -> Result<String> {
        let options: &[_] = match class {
            TestedTokenClass::Operator => &["operator"],
            TestedTokenClass::Agent => &["agent", "--project", "app", "--role", "dev"],
        };
        let create = [&["token", "create", "--json", "--class"], options].concat();
        let created: Value = serde_json::from_str(&output(&mut self.provost(&create))?)?;
        Ok(created["token"].as_str().context("no token was created")?.to_owned())
    }

    /// The body of a response.
    fn fetch(&self, path: &str, token: &str) -> Result<Vec<u8>> {
        let mut socket = TcpStream::connect(&self.address)?;
        write!(
            socket,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n",
            self.address
        )?;
        let mut response = Vec::new();
        socket.read_to_end(&mut response)?;
        ensure!(response.starts_with(b"HTTP/1.1 200 "), "{path} cannot be read with this token");
        let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        Ok(response.split_off(end.context("the response has no body")? + 4))
    }
}

impl Drop for TestDaemon {
    fn drop(&mut self) {
        if let Err(error) = must(&mut self.provost(&["down"])) {
            println!("\n▸ {error:#}");
        }
        drop(fs::remove_dir_all(&self.home));
    }
}
