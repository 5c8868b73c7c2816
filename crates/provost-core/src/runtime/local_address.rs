//! Finds the addresses that dev servers print. They are a hint: the kernel checks which process
//! listens there.

use super::ansi;

/// An address of this machine in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalAddress {
    /// The port.
    pub port: u16,
    /// Whether it was printed with `https`.
    pub https: bool,
}

/// Names of this machine, as tools print them.
const HOSTS: &[&str] = &["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]"];

/// All addresses of this machine in a text, without duplicates, in order.
pub fn find_local_addresses(text: &str) -> Vec<LocalAddress> {
    let text = ansi::strip_ansi(text).to_ascii_lowercase();
    let mut found = Vec::new();
    let mut candidates: Vec<(usize, &str)> =
        HOSTS.iter().flat_map(|host| text.match_indices(host)).collect();
    candidates.sort_unstable();
    for (at, host) in candidates {
        let (before, after) = (&text[..at], &text[at + host.len()..]);
        let scheme = match before.strip_suffix("://") {
            Some(before) if before.ends_with("https") => Some(true),
            Some(before) if before.ends_with("http") => Some(false),
            Some(before) if before.ends_with("wss") || before.ends_with("ws") => continue,
            Some(_) => continue,
            None => None,
        };
        // `mylocalhost`, `api.localhost` and `10.127.0.0.1` are other machines.
        let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '@' | '/');
        if scheme.is_none() && before.ends_with(inside) {
            continue;
        }
        let port = match (after.strip_prefix(':').and_then(parse_port), scheme) {
            (Some(port), _) => port,
            (None, Some(https)) if !after.starts_with([':', '.']) => {
                if https {
                    443
                } else {
                    80
                }
            }
            (None, _) => continue,
        };
        let address = LocalAddress { port, https: scheme == Some(true) };
        if port > 0 && !found.contains(&address) {
            found.push(address);
        }
    }
    if found.is_empty() {
        found.extend(find_named_port(&text).map(|port| LocalAddress { port, https: false }));
    }
    found
}

/// The digits at the beginning, if they are a valid port.
fn parse_port(text: &str) -> Option<u16> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// `Listening on port 3000`, `Server started on :8080`.
fn find_named_port(text: &str) -> Option<u16> {
    let speaks = ["listen", "running", "serving", "started", "ready", "available"];
    let line = text.lines().find(|line| speaks.iter().any(|word| line.contains(word)))?;
    let ports = ["port ", "port: ", "port=", " on :", " at :"];
    let after = ports.iter().find_map(|word| line.split_once(word).map(|(_, after)| after))?;
    parse_port(after.trim_start()).filter(|port| *port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_of_what_servers_print() {
        for (text, ports) in [
            // Vite 5 colors the port on its own.
            (
                "  \u{1b}[32m➜\u{1b}[39m  \u{1b}[1mLocal\u{1b}[22m:   \u{1b}[36mhttp://localhost:\u{1b}[1m5173\u{1b}[22m/\u{1b}[39m\n  ➜  Network: http://192.168.1.4:5173/",
                &[5173][..],
            ),
            ("   - Local:        http://localhost:3000", &[3000]),
            ("INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)", &[8000]),
            (" * Running on http://127.0.0.1:5000\n * Running on http://172.17.0.2:5000", &[5000]),
            ("Starting development server at http://127.0.0.1:8000/", &[8000]),
            ("Serving HTTP on 0.0.0.0 port 8000 (http://0.0.0.0:8000/) ...", &[8000]),
            (
                "<i> [webpack-dev-server] Loopback: http://localhost:8080/, http://[::1]:8080/",
                &[8080],
            ),
            ("Listening on http://[::]:4321", &[4321]),
            ("Listening on port 3000", &[3000]),
            ("server started on :8080", &[8080]),
            ("api localhost:4000 and ui localhost:4001", &[4000, 4001]),
            ("http://localhost/", &[80]),
            ("https://localhost", &[443]),
            // Not on this machine.
            ("http://example.com:3000 http://10.127.0.0.1:3000", &[]),
            ("http://notlocalhost:3000 a@localhost:22", &[]),
            ("ws://localhost:24678", &[]),
            ("localhost:99999 localhost:0 localhost: localhost", &[]),
            ("port 3000 is in use", &[]),
            ("", &[]),
        ] {
            let found: Vec<_> =
                find_local_addresses(text).into_iter().map(|address| address.port).collect();
            assert_eq!(found, ports, "{text}");
        }
    }
}
