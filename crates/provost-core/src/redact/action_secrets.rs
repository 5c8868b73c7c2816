//! Secrets in the parameters of an action: variables with the name of a secret, in the parameters
//! or in the command line, values of options and headers with such names (`--token x`, `-H
//! "Authorization: Bearer x"`), and passwords in the syntax of well-known programs (`mysql -px`).

use provost_proto::kernel::KnownSecret;
use serde_json::Value;

use super::Secrets;
use super::password_options::{find_passwords, password_stdin_program};

/// How deep lines in words are searched: `sh -c "sh -c …"`.
const MAX_SECRET_SEARCH_DEPTH: usize = 3;

/// The secrets in the parameters of an action.
pub fn find_action_secrets(params: &Value) -> Secrets {
    let env = params.get("env").and_then(Value::as_object);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let env = env.into_iter().flatten().map(|(name, value)| (name.clone(), text(value)));
    let line = params.get("command").and_then(Value::as_str).unwrap_or_default();
    let argv = params.get("argv").and_then(Value::as_array).into_iter().flatten();
    let argv: Vec<String> = argv.filter_map(Value::as_str).map(str::to_owned).collect();
    let words = argv.iter().filter_map(|word| word.split_once('='));
    let words: Vec<_> = words.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let input = params.get("stdin").and_then(Value::as_str).unwrap_or_default();
    let mut named: Vec<(String, String)> = env.chain(assigned_values(line)).chain(words).collect();
    let mut certain = Vec::new();
    let commands = if argv.is_empty() { split_command_line(line) } else { vec![argv] };
    collect_command_secrets(&commands, input, MAX_SECRET_SEARCH_DEPTH, &mut named, &mut certain);
    named.extend(json_members(line).chain(json_members(input)));
    let named = Secrets::from_environment(named);
    if certain.is_empty() {
        return named;
    }
    let certain = certain.into_iter().map(|(name, value)| KnownSecret { name, value });
    Secrets::new(named.known().iter().cloned().chain(certain))
}

/// Collects the secrets of commands: by name, and by the syntax of the program.
fn collect_command_secrets(
    commands: &[Vec<String>],
    input: &str,
    lines: usize,
    named: &mut Vec<(String, String)>,
    certain: &mut Vec<(String, String)>,
) {
    for (at, words) in commands.iter().enumerate() {
        let inner = words.iter().filter(|word| lines > 0 && word.contains(char::is_whitespace));
        for line in inner {
            collect_command_secrets(&split_command_line(line), input, lines - 1, named, certain);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        named.extend(named_values(&words));
        certain.extend(find_passwords(&words));
        // `echo SECRET | docker login --password-stdin`.
        if let Some(name) = password_stdin_program(&words) {
            let before = at.checked_sub(1).and_then(|at| commands.get(at));
            let says = |words: &&Vec<String>| {
                words.first().is_some_and(|word| word == "echo" || word == "printf")
            };
            let words_before =
                before.filter(says).into_iter().flatten().skip(1).map(String::as_str);
            for text in words_before.chain([input.trim()]) {
                let secret = text.rsplit(':').next().filter(|_| name == "chpasswd");
                certain.push((format!("password of {name}"), secret.unwrap_or(text).to_owned()));
            }
        }
    }
}

/// The commands of a line and their words, roughly as a shell parses them.
fn split_command_line(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words) = (Vec::new(), Vec::new());
    let (mut word, mut quote) = (String::new(), None);
    for c in line.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if c.is_whitespace() || ";|&<>()".contains(c) => {
                words.push(std::mem::take(&mut word));
                if c == '\n' || ";|&()".contains(c) {
                    commands.push(std::mem::take(&mut words));
                }
            }
            Some(_) | None => word.push(c),
        }
    }
    words.push(word);
    commands.push(words);
    for words in &mut commands {
        words.retain(|word| !word.is_empty());
    }
    commands.retain(|words| !words.is_empty());
    commands
}

/// The members of JSON objects in a text: `{"password": "x"}`.
fn json_members(text: &str) -> impl Iterator<Item = (String, String)> {
    text.match_indices('"').filter_map(move |(at, _)| {
        let (name, rest) = text[at + 1..].split_once('"')?;
        let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        let (value, _) = value.split_once('"')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        name.chars().all(is_name).then(|| (name.replace('-', "_"), value.to_owned()))
    })
}

/// The named values of options, headers and URLs. [`Secrets`] decides which names are those of
/// secrets.
fn named_values(words: &[&str]) -> Vec<(String, String)> {
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
            // The password in a URL counts, whatever the name.
            add("URL", word);
        }
        // `Authorization: Bearer x`, after any option.
        if let Some((name, value)) = word.split_once(':').filter(|(name, _)| !name.contains('/')) {
            let name = name.rsplit(['=', ' ']).next().unwrap_or(name).replace('-', "_");
            value.split_whitespace().for_each(|part| add(&name, part));
        }
    }
    found
}

/// The assignments of a line, roughly as a shell parses them; finds too many rather than too few.
fn assigned_values(line: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices('=') {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = line[..at].rsplit(|c: char| !letter(c)).next().unwrap_or_default();
        let rest = &line[at + 1..];
        let value = match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => rest[1..].split(quote).next(),
            // The closing quote may belong to one before the name.
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
mod tests;
