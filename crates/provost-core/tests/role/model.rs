//! Changing a role's model in its file.

use proptest::prelude::*;
use provost_core::role::{Role, RoleSource, set_model};

use super::{BACKEND, FILE};

#[track_caller]
fn check(text: &str, expected: &str) {
    let changed = set_model(FILE, text, RoleSource::Provost, "openai/gpt-6").unwrap();
    assert_eq!(changed, expected);
}

#[test]
fn only_the_value_changes() {
    check(BACKEND, &BACKEND.replace("anthropic/claude-sonnet-5", "openai/gpt-6"));
    for (value, expected) in [
        ("model:   a  # why\n", "model:   openai/gpt-6  # why\n"),
        ("model: 'a'\n", "model: 'openai/gpt-6'\n"),
        ("model: \"a\" # b\n", "model: \"openai/gpt-6\" # b\n"),
        ("\"model\" : a\n", "\"model\" : openai/gpt-6\n"),
        ("model:\n", "model: openai/gpt-6\n"),
        ("model: # later\n", "model: openai/gpt-6 # later\n"),
        ("model: a:8b\n", "model: openai/gpt-6\n"),
        ("model: ~\n", "model: openai/gpt-6\n"),
        ("#model: a\nmodel: a\n", "#model: a\nmodel: openai/gpt-6\n"),
        (
            "description: |\n  model: a\nmodel: a\n",
            "description: |\n  model: a\nmodel: openai/gpt-6\n",
        ),
    ] {
        let file = |keys: &str| format!("---\nname: backend\n{keys}# end\n---\nmodel: body\n");
        check(&file(value), &file(expected));
    }
}

#[test]
fn a_file_without_a_model_gets_one_as_its_last_key() {
    check(
        "\u{feff}---\r\nname: backend\r\n---\r\nBody\r\n",
        "\u{feff}---\r\nname: backend\r\nmodel: openai/gpt-6\r\n---\r\nBody\r\n",
    );
    check(
        "---\ndescription: >\n  a\n\n\nname: backend\n---",
        "---\ndescription: >\n  a\n\n\nname: backend\nmodel: openai/gpt-6\n---",
    );
}

#[test]
fn a_model_written_in_another_way_is_left_alone_and_the_error_says_what_to_write() {
    for text in [
        "---\nname: backend\nmodel: >-\n  a\n---\n",
        "---\nname: backend\nmodel:\n  a\n---\n",
        "---\n{name: backend, model: a}\n---\n",
        "---\n? name\n: backend\n? model\n: a\n---\n",
    ] {
        let error = set_model(FILE, text, RoleSource::Provost, "b").unwrap_err().to_string();
        assert!(error.contains("write `model: b` on a line of its own"), "{text}: {error}");
    }
}

#[test]
fn what_is_no_model_is_not_written() {
    let injected = "a\nskills: ['*']";
    for model in ["", " a", "a b", injected, "a#b", "'a'", "null", "True", "inherit", "~", "é"] {
        let error = set_model(FILE, BACKEND, RoleSource::Provost, model).unwrap_err().to_string();
        assert!(error.contains("is not a model's name"), "{model}: {error}");
    }
}

#[test]
fn an_imported_role_keeps_what_is_not_ours() {
    let text = "---\nname: a\nmodel: inherit\ncolor: red\npermissionMode: plan\n---\nx";
    let changed = set_model("a.md", text, RoleSource::Claude, "opus").unwrap();
    assert_eq!(changed, text.replace("inherit", "opus"));
}

/// A file with keys in any order, comments, blank lines and either end of line.
fn files() -> impl Strategy<Value = String> {
    let noise = || prop::sample::select(vec!["", "# model: x\n", "\n", "   # a\n"]);
    let key = |texts: &'static [&'static str]| prop::sample::select(texts.to_vec());
    let keys = (
        key(&["name: backend\n", "name:   'backend'   \n", "\"name\": \"backend\" # n\n"]),
        key(&[
            "",
            "description: a  b\n",
            "description: |\n  model: a\n\n  b\n",
            "description: 'a\n  model: b'\n",
        ]),
        key(&[
            "",
            "model: a\n",
            "model: 'a/b:c' # m\n",
            "model: \"a\"   \n",
            "model:\n",
            "model: 1.5\n",
        ]),
        key(&["", "skills: [fs.read,\n  fs.stat] # s\n", "skills:\n- fs.*\n", "skills: []\n"]),
    );
    (
        keys,
        Just([0, 1, 2, 3]).prop_shuffle(),
        noise(),
        noise(),
        any::<(bool, bool)>(),
        "(?s).{0,40}",
    )
        .prop_map(
            |((name, description, model, skills), order, first, last, (crlf, mark), body)| {
                let keys = [name, description, model, skills];
                let keys: String = order.iter().map(|at| keys[*at]).collect();
                let text = format!("---\n{first}{keys}{last}---\n{body}");
                let text = if crlf { text.replace('\n', "\r\n") } else { text };
                if mark { format!("\u{feff}{text}") } else { text }
            },
        )
}

proptest! {
    #[test]
    fn nothing_but_the_model_differs(text in files(), model in "[a-z][a-z0-9./:_@+-]{0,20}") {
        prop_assume!(!["null", "true", "false", "yes", "no", "on", "off", "inherit"].contains(&&*model));
        let old = Role::parse(FILE, &text, RoleSource::Provost).unwrap();
        // A name that YAML would parse as a key is refused.
        let Ok(changed) = set_model(FILE, &text, RoleSource::Provost, &model) else {
            prop_assert!(model.ends_with(':'));
            return Ok(());
        };
        let new = Role::parse(FILE, &changed, RoleSource::Provost).unwrap();
        prop_assert_eq!(&new, &Role { model: Some(model.clone()), ..old });
        // All lines but one are unchanged.
        let old_lines: Vec<_> = text.split_inclusive('\n').collect();
        let new_lines: Vec<_> = changed.split_inclusive('\n').collect();
        let start = old_lines.iter().zip(&new_lines).take_while(|(a, b)| a == b).count();
        let end = old_lines.iter().rev().zip(new_lines.iter().rev()).take_while(|(a, b)| a == b).count();
        prop_assert!(new_lines.len() - start.min(new_lines.len()) <= end + 1);
        // Doing it again changes nothing.
        prop_assert_eq!(set_model(FILE, &changed, RoleSource::Provost, &model).unwrap(), changed);
    }
}
