//! A dev server may connect to ports of its own run, and to no others.

use std::net::TcpListener;

use super::*;

/// A front that passes `/api` on to a process of its own, which left its group, and
/// tries to reach any port that it is asked to.
const FRONT: &str = r"
const http = require('http')
const net = require('net')
const { spawn } = require('child_process')
if (process.argv[2] === 'api') {
  const api = http.createServer((request, response) => response.end('the api says ' + request.url))
  api.listen(0, process.argv[3], () => console.log(api.address().port))
  return
}
const start = (host) => new Promise((done) => {
  const child = spawn('setsid', ['node', __filename, 'api', host], { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  child.stdout.on('data', (text) => done(Number(text)))
})
const reach = (host, port) => new Promise((done) => {
  const socket = net.connect(port, host, () => { socket.destroy(); done('connected') })
  socket.on('error', (error) => done(error.code))
})
const servers = {}
const front = http.createServer(async (request, response) => {
  const [, kind, host, port] = request.url.split('/')
  if (kind === 'reach') return response.end(await reach(host, Number(port)))
  if (kind !== 'api') return response.end('the front')
  servers[host] ??= start(host)
  const asked = http.get({ host, port: await servers[host], path: request.url }, (answer) => answer.pipe(response))
  asked.on('error', (error) => response.writeHead(502).end(error.code))
})
front.listen(0, '127.0.0.1', () => console.log(`http://localhost:${front.address().port}/`))
";

async fn text(preview: &Preview, path: &str) -> String {
    preview.get(path).send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn a_server_reaches_those_of_its_own_run_and_nobody_elses() {
    let home = Home::new();
    home.put("front.js", FRONT);
    home.put("provost.toml", "[runtime]\ndev = \"node front.js\"\n");
    let daemon = home.up();
    daemon.runtime("run").await;
    daemon.until_status(|status| status["preview"]["status"] == "ready").await;
    let preview = daemon.enter("").await;
    let four = "/api/127.0.0.1/x";
    assert_eq!(text(&preview, four).await, format!("the api says {four}"));
    if TcpListener::bind("[::1]:0").is_ok() {
        assert_eq!(text(&preview, "/api/::1/x").await, "the api says /api/::1/x");
    }
    let somebody = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = somebody.local_addr().unwrap().port().to_string();
    let provost = daemon.base.rsplit(':').next().unwrap().to_owned();
    for port in [&provost, &ours] {
        for host in ["127.0.0.1", "localhost", "0.0.0.0", "::ffff:127.0.0.1"] {
            let came = text(&preview, &format!("/reach/{host}/{port}")).await;
            assert!(["EPERM", "ECONNREFUSED"].contains(&&*came), "{host} {port}: {came}");
        }
        let came = text(&preview, &format!("/reach/127.0.0.1/{port}")).await;
        assert_eq!(came, "EPERM", "{port}");
    }
    somebody.set_nonblocking(true).unwrap();
    assert!(somebody.accept().is_err(), "nobody came");
    // Nobody listens there any more.
    drop(somebody);
    assert_eq!(text(&preview, &format!("/reach/127.0.0.1/{ours}")).await, "ECONNREFUSED");
    // The kernel makes the connections, not the daemon.
    daemon.kill();
    let daemon = home.up();
    let preview = daemon.enter("").await;
    assert_eq!(text(&preview, four).await, format!("the api says {four}"));
}

#[tokio::test]
async fn a_server_does_not_reach_that_of_another_project() {
    let home = Home::new();
    home.put("front.js", FRONT);
    home.put("provost.toml", "[runtime]\ndev = \"node front.js\"\n");
    let other = home.path("other");
    std::fs::create_dir(&other).unwrap();
    for name in ["front.js", "provost.toml"] {
        std::fs::copy(home.path("app").join(name), other.join(name)).unwrap();
    }
    let daemon = home.up();
    home.run_ok(&["up", "--no-open", other.to_str().unwrap()]);
    daemon.runtime("run").await;
    daemon.until_status(|status| status["preview"]["status"] == "ready").await;
    home.run_ok(&["run", "other"]);
    let url = format!("{}/api/projects/other/runtime/status", daemon.base);
    let port = loop {
        let status = http().get(&url).bearer_auth(&daemon.token).send().await.unwrap();
        let status: Value = status.json().await.unwrap();
        if status["preview"]["status"] == "ready" {
            break status["preview"]["port"].as_u64().unwrap();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let preview = daemon.enter("").await;
    assert_eq!(text(&preview, &format!("/reach/127.0.0.1/{port}")).await, "EPERM");
}
