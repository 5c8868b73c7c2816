//! The preview: detected, ready, lost, and ports of others.

use std::net::TcpListener;

use serde_json::json;

use super::{Kernel, SERVER, runtime};

#[tokio::test]
async fn a_server_is_detected_and_ready_on_either_kind_of_address() {
    for address in ["127.0.0.1", "::1", "0.0.0.0", "::"] {
        if TcpListener::bind((address, 0)).is_err() {
            // A machine without IPv6.
            continue;
        }
        let toml =
            runtime(&format!("dev = \"python3 server.py\"\nenv = {{ BIND = \"{address}\" }}"));
        let kernel = Kernel::start(&[("provost.toml", &toml), ("server.py", SERVER)]).await;
        kernel.run().await.unwrap();
        let ready = kernel.until("previewReady").await;
        assert_eq!(ready["ports"][0]["address"], address, "{ready}");
        assert_eq!(ready["ports"][0]["http"], true);
        let now = kernel.now().await;
        assert_eq!(
            (&now["preview"]["status"], &now["preview"]["port"]),
            (&json!("ready"), &ready["port"])
        );
        assert!(kernel.changes().contains(&"previewDetected".to_owned()));
        let stopped = kernel.stop().await;
        assert_eq!(stopped["runtime"]["preview"]["status"], "none");
    }
}

#[tokio::test]
async fn a_port_of_somebody_else_is_never_shown_even_if_it_is_printed() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let line = format!("echo Local: http://localhost:{port}/; exec python3 server.py");
    let toml = runtime(&format!("dev = \"{line}\""));
    let kernel = Kernel::start(&[("provost.toml", &toml), ("server.py", SERVER)]).await;
    kernel.run().await.unwrap();
    let ready = kernel.until("previewReady").await;
    assert_ne!(ready["port"], port);
    assert_eq!(ready["ports"].as_array().unwrap().len(), 1, "{ready}");
    kernel.stop().await;
}

#[tokio::test]
async fn a_server_whose_port_is_taken_crashes_and_says_why() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let toml = runtime(&format!("dev = \"python3 server.py\"\nport = {port}"));
    let kernel = Kernel::start(&[("provost.toml", &toml), ("server.py", SERVER)]).await;
    kernel.run().await.unwrap();
    let crashed = kernel.until("crashed").await;
    let lines = crashed["crash"]["lastLines"].to_string();
    assert!(lines.contains("Address already in use"), "{lines}");
    assert!(!kernel.changes().iter().any(|change| change.starts_with("preview")));
}

#[tokio::test]
async fn one_that_listens_and_never_answers_is_detected_and_no_more() {
    let server = "import socket\ns = socket.create_server((\"127.0.0.1\", 0))\n\
                  held = []\nwhile True: held.append(s.accept()); print(\"asked\", flush=True)\n";
    let toml = runtime("dev = \"python3 silent.py\"");
    let kernel = Kernel::start(&[("provost.toml", &toml), ("silent.py", server)]).await;
    kernel.run().await.unwrap();
    let detected = kernel.until("previewDetected").await;
    while !kernel.logs(0).await.0.contains("asked") {
        tokio::task::yield_now().await;
    }
    assert_eq!(detected["ports"][0]["http"], false);
    assert_eq!(kernel.now().await["preview"]["status"], "detected");
    kernel.stop().await;
    assert!(!kernel.changes().contains(&"previewReady".to_owned()));
}

#[tokio::test]
async fn a_server_that_changes_its_port_is_followed() {
    let server = "import http.server, threading, os\n\
        def serve():\n    s = http.server.HTTPServer((\"127.0.0.1\", 0), http.server.SimpleHTTPRequestHandler)\n    threading.Thread(target=s.serve_forever).start()\n    return s\n\
        first = serve()\n\
        while not os.path.exists(\"move\"): __import__(\"time\").sleep(0.01)\n\
        first.shutdown(); first.server_close()\nserve()\n";
    let toml = runtime("dev = \"python3 moving.py\"");
    let kernel = Kernel::start(&[("provost.toml", &toml), ("moving.py", server)]).await;
    kernel.run().await.unwrap();
    let first = kernel.until("previewReady").await;
    std::fs::write(kernel.app("move"), "").unwrap();
    let lost = kernel.until("previewLost").await;
    assert_eq!(lost["port"], first["port"]);
    let second = kernel.until_nth("previewReady", 2).await;
    assert_ne!(second["port"], first["port"]);
    kernel.stop().await;
}

#[tokio::test]
async fn a_server_that_opens_its_port_anew_is_detected_and_ready_again() {
    let server = "import http.server, threading, os, time\n\
        def serve(port):\n    s = http.server.HTTPServer((\"127.0.0.1\", port), http.server.SimpleHTTPRequestHandler)\n    threading.Thread(target=s.serve_forever).start()\n    return s\n\
        first = serve(0)\n\
        while not os.path.exists(\"again\"): time.sleep(0.01)\n\
        first.shutdown(); first.server_close(); serve(first.server_port)\n";
    let toml = runtime("dev = \"python3 again.py\"");
    let kernel = Kernel::start(&[("provost.toml", &toml), ("again.py", server)]).await;
    kernel.run().await.unwrap();
    let first = kernel.until("previewReady").await;
    std::fs::write(kernel.app("again"), "").unwrap();
    kernel.until_nth("previewDetected", 2).await;
    let second = kernel.until_nth("previewReady", 2).await;
    assert_eq!(second["port"], first["port"]);
    kernel.stop().await;
}

#[tokio::test]
async fn an_error_is_an_answer() {
    for status in [500, 503] {
        let server = format!(
            "import http.server\n\
             class Failing(http.server.BaseHTTPRequestHandler):\n    def do_GET(self): self.send_error({status})\n\
             http.server.HTTPServer((\"127.0.0.1\", 0), Failing).serve_forever()\n"
        );
        let toml = runtime("dev = \"python3 failing.py\"");
        let kernel = Kernel::start(&[("provost.toml", &toml), ("failing.py", &server)]).await;
        kernel.run().await.unwrap();
        let ready = kernel.until("previewReady").await;
        assert_eq!(ready["ports"][0]["http"], true, "{status}");
        kernel.stop().await;
    }
}

#[tokio::test]
async fn of_several_ports_all_are_listed_and_the_configured_one_is_chosen() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let line = "PORT=0 python3 server.py & exec python3 server.py";
    let toml = runtime(&format!("dev = \"{line}\"\nport = {free}"));
    let kernel = Kernel::start(&[("provost.toml", &toml), ("server.py", SERVER)]).await;
    kernel.run().await.unwrap();
    let mut n = 1;
    let both = loop {
        let ready = kernel.until_nth("previewReady", n).await;
        if ready["ports"].as_array().unwrap().len() == 2 && ready["port"] == free {
            break ready;
        }
        n += 1;
    };
    assert_eq!(both["by"], "configured");
    kernel.stop().await;
}
