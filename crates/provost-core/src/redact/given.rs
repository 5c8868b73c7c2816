//! The secrets that an action itself brings along: variables with telling names,
//! in its parameters or before a command of its line, and what options and headers
//! with such names are given (`--token x`, `-H "Authorization: Bearer x"`).

use serde_json::Value;

use super::Secrets;

/// Those in the parameters of an action.
pub fn given(params: &Value) -> Secrets {
    let env = params.get("env").and_then(Value::as_object);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let env = env.into_iter().flatten().map(|(name, value)| (name.clone(), text(value)));
    let line = params.get("command").and_then(Value::as_str).unwrap_or_default();
    let argv = params.get("argv").and_then(Value::as_array).into_iter().flatten();
    let argv: Vec<&str> = argv.filter_map(Value::as_str).collect();
    let words = argv.iter().filter_map(|word| word.split_once('='));
    let words = words.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let split = split(line);
    let split: Vec<&str> = split.iter().map(String::as_str).collect();
    let told = told(&argv).into_iter().chain(told(&split));
    Secrets::in_environment(env.chain(assigned(line)).chain(words).chain(told))
}

/// The words of a line, more or less as a shell reads them.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if c.is_whitespace() || ";|&<>()".contains(c) => {
                words.push(std::mem::take(&mut word));
            }
            Some(_) | None => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// What options, headers and addresses tell. Which names are telling, [`Secrets`] decides.
fn told(words: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut add = |name: &str, value: &str| found.push((name.to_owned(), value.to_owned()));
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().filter(|next| !next.starts_with('-'));
        if let (Some(name), Some(value)) = (word.strip_prefix("--"), next)
            && !name.contains('=')
        {
            add(&name.replace('-', "_"), value);
        }
        if let Some((name, value)) = word.strip_prefix("--").and_then(|word| word.split_once('=')) {
            add(&name.replace('-', "_"), value);
        }
        // `curl -u user:password`, also as one word.
        let joined = word.strip_prefix("-u").filter(|rest| !rest.is_empty());
        let user = if matches!(*word, "-u" | "--user") { next } else { joined };
        if let Some((_, password)) = user.and_then(|user| user.split_once(':')) {
            add("PASSWORD", password);
        }
        if word.contains("://") {
            // The password in it counts, whatever the name.
            add("URL", word);
        }
        // `Authorization: Bearer x`, whatever option it follows.
        if let Some((name, value)) = word.split_once(':').filter(|(name, _)| !name.contains('/')) {
            let name = name.rsplit(['=', ' ']).next().unwrap_or(name).replace('-', "_");
            value.split_whitespace().for_each(|part| add(&name, part));
        }
    }
    found
}

/// What a line sets, more or less as a shell reads it: it rather finds too many.
fn assigned(line: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices('=') {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = line[..at].rsplit(|c: char| !letter(c)).next().unwrap_or_default();
        let rest = &line[at + 1..];
        let value = match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => rest[1..].split(quote).next(),
            // The quote that ends it may have begun before the name.
            Some(_) => rest.split(|c: char| c.is_whitespace() || ";|&<>()'\"".contains(c)).next(),
            None => None,
        };
        if let (false, Some(value)) = (name.is_empty(), value) {
            found.push((name.to_owned(), value.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::given;
    use serde_json::json;

    #[test]
    fn what_an_action_brings_along_under_a_telling_name_is_a_secret() {
        for params in [
            json!({ "command": "x", "env": { "API_KEY": "hunter2hunter2" } }),
            json!({ "command": "API_KEY=hunter2hunter2 x" }),
            json!({ "command": "ls; export API_KEY='hunter2hunter2'; x" }),
            json!({ "command": "env A=1 API_KEY=\"hunter2hunter2\" x" }),
            json!({ "argv": ["env", "API_KEY=hunter2hunter2", "x"] }),
            json!({ "command": "curl -H \"Authorization: Bearer hunter2hunter2\" x" }),
            json!({ "command": "curl --header='X-Api-Key: hunter2hunter2' x" }),
            json!({ "argv": ["curl", "-H", "authorization: Basic hunter2hunter2"] }),
            json!({ "command": "gh auth login --token=hunter2hunter2" }),
            json!({ "command": "x --api-key hunter2hunter2 --fast" }),
            json!({ "argv": ["x", "--password", "hunter2hunter2"] }),
            json!({ "command": "curl https://ann:hunter2hunter2@example.com/x" }),
            json!({ "command": "curl -u ann:hunter2hunter2 x" }),
            json!({ "command": "curl 'http://localhost/?api_key=hunter2hunter2'" }),
            json!({ "command": "psql 'host=x password=hunter2hunter2'" }),
        ] {
            let known = given(&params);
            let values: Vec<_> = known.known().iter().map(|known| known.value.as_str()).collect();
            assert_eq!(values, ["hunter2hunter2"], "{params}");
        }
        for command in [
            "RUST_LOG=debugdebug x",
            "curl -H 'Content-Type: application/json' https://example.com/abcdefgh",
            "cargo test --workspace something-long",
            "git log --author somebody-long",
        ] {
            assert!(given(&json!({ "command": command })).known().is_empty(), "{command}");
        }
    }
}
