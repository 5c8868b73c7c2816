//! The secrets that an action itself brings along: variables with telling names,
//! in its parameters or before a command of its line.

use serde_json::Value;

use super::Secrets;

/// Those in the parameters of an action.
pub fn given(params: &Value) -> Secrets {
    let env = params.get("env").and_then(Value::as_object);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let env = env.into_iter().flatten().map(|(name, value)| (name.clone(), text(value)));
    let line = params.get("command").and_then(Value::as_str).unwrap_or_default();
    let argv = params.get("argv").and_then(Value::as_array).into_iter().flatten();
    let words = argv.filter_map(Value::as_str).filter_map(|word| word.split_once('='));
    let words = words.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Secrets::in_environment(env.chain(assigned(line)).chain(words))
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
            Some(_) => rest.split(|c: char| c.is_whitespace() || ";|&<>()".contains(c)).next(),
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
        ] {
            let known = given(&params);
            let values: Vec<_> = known.known().iter().map(|known| known.value.as_str()).collect();
            assert_eq!(values, ["hunter2hunter2"], "{params}");
        }
        assert!(
            given(&json!({ "command": "RUST_LOG=debugdebug x", "path": "a" })).known().is_empty()
        );
    }
}
