//! Files that are not roles: each error has a position and what was expected.

use expect_test::expect;
use proptest::prelude::*;
use provost_core::role::{Role, RoleSource};

use super::{FILE, refused};

#[test]
fn an_error_names_the_place_and_what_was_expected() {
    refused(
        "",
        &expect![
            ":1: a role begins with a line `---`, then its frontmatter, then another line `---`"
        ],
    );
    refused(
        "name: backend\n",
        &expect![
            ":1: a role begins with a line `---`, then its frontmatter, then another line `---`"
        ],
    );
    refused(
        "---\nname: backend\n",
        &expect![":1: the frontmatter is not closed; expected a line `---` after its last key"],
    );
    refused(
        "---\n---\n",
        &expect![":2:1: the frontmatter ends too early; expected at least `name: …`"],
    );
    refused(
        "---\nname: backend\nskils: [fs.read]\n---\n",
        &expect![":3:1: unknown field `skils`, expected one of name, description, model, skills"],
    );
}

#[test]
fn a_wrong_skill_or_a_wrong_shape_is_found_where_it_stands() {
    refused(
        "---\nname: backend\nskills:\n  - fs.read\n  - fs.raed\n---\n",
        &expect![":5:5: unknown skill `fs.raed`; did you mean `fs.read`?"],
    );
    refused(
        "---\nname: backend\nskills: fs.read\n---\n",
        &expect![":3:9: expected a list, like `[fs.read, terminal.runCommand]`"],
    );
    refused(
        "---\nname: backend\nskills: {fs: read}\n---\n",
        &expect![":3:9: expected a list, like `[fs.read, terminal.runCommand]`"],
    );
    refused(
        "---\nname: backend\nname: backend\n---\n",
        &expect![":3:1: duplicate mapping key: name not allowed here"],
    );
    refused("---\nname: [backend\n---\n", &expect![":2:7: expected a text"]);
}

#[test]
fn a_name_a_model_and_a_description_have_their_rules() {
    refused(
        "---\ndescription: x\n---\n",
        &expect![":2:1: expected a key `name`, the name of the file"],
    );
    refused(
        "---\nname: frontend\n---\n",
        &expect![":2:7: the role is named `frontend`; expected `backend`, the name of its file"],
    );
    refused(
        "---\nname: Backend\n---\n",
        &expect![
            ":2:7: `Backend` is not a role's name; expected at most 63 small letters, digits and hyphens, not beginning with a hyphen"
        ],
    );
    refused(
        "---\nname: -a\n---\n",
        &expect![
            ":2:7: `-a` is not a role's name; expected at most 63 small letters, digits and hyphens, not beginning with a hyphen"
        ],
    );
    refused("---\nname:\n---\n", &expect![":2:5: expected a value after the colon"]);
    refused(
        "---\nname: backend\nmodel: a b\n---\n",
        &expect![
            ":3:8: `a b` is not a model's name; expected at most 200 letters, digits and `. _ - : / @ +`, like `anthropic/claude-sonnet-5`"
        ],
    );
    refused(
        "---\nname: backend\ndescription: \"a\\u202Eb\"\n---\n",
        &expect![[r":3:14: `description` contains \u{202e}, which cannot be seen"]],
    );
}

#[test]
fn what_yaml_can_do_and_a_role_does_not_need_is_refused() {
    refused(
        "---\nname: &a backend\n---\n",
        &expect![
            ":2:10: expected a few plain keys and values; anchors, aliases, deep nesting and long lists are not taken"
        ],
    );
    refused(
        "---\nname: backend\n<<: {model: x}\n---\n",
        &expect![":3:1: merge keys are not taken; write every key itself"],
    );
    refused(
        "---\nname: !!binary YmFja2VuZA==\n---\n",
        &expect![
            ":2:16: `YmFja2VuZA==` is not a role's name; expected at most 63 small letters, digits and hyphens, not beginning with a hyphen"
        ],
    );
    refused("---\nname: !include x\n---\n", &expect![":2:16: unsupported tag `!include`"]);
}

#[test]
fn a_name_is_as_long_as_a_label_and_no_longer() {
    for (length, taken) in [(1, true), (63, true), (64, false)] {
        let name = "a".repeat(length);
        let text = format!("---\nname: {name}\n---\n");
        let file = format!("x/{name}.md");
        assert_eq!(Role::parse(&file, &text, RoleSource::Agent).is_ok(), taken, "{length}");
    }
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    refused(
        &format!("---\nname: backend\n---\n{}", "x".repeat(300_000)),
        &expect![":1: a role's file has at most 262144 bytes, this one has 300022"],
    );
    refused(
        &format!("---\nname: backend\n#{}\n---\n", "x".repeat(20_000)),
        &expect![":1: expected a line `---` within 16384 bytes, the most of a frontmatter"],
    );
}

/// Each of them costs other parsers seconds, gigabytes or the stack.
#[test]
fn no_bomb_is_read() {
    let alias = |n| format!("a{n}: &a{n} [{}]\n", format!("*a{},", n - 1).repeat(9));
    let aliases: String = (1..9).map(alias).collect();
    let deeper = |n| format!("{}a:\n", " ".repeat(n));
    let many = format!("description: &a {}\nskills: [{}]\n", "x".repeat(8000), "*a,".repeat(2000));
    for yaml in [
        format!("a0: &a0 lol\n{aliases}"),
        many,
        "[".repeat(16_000),
        "{a: ".repeat(4_000),
        (0..180).map(deeper).collect(),
        "- ".repeat(8_000),
        "? ".repeat(8_000),
        "a: ".repeat(5_000),
        "&a ".repeat(5_000),
        format!("skills: [{}]", "fs.read,".repeat(2_000)),
        format!("name: \"{}\"", "\\x00".repeat(3_000)),
        "---\n".repeat(1_000),
        "--- a\n".repeat(1_000),
        "%YAML 1.1\n".to_owned(),
        "\0".repeat(1_000),
    ] {
        let text = format!("---\n{yaml}\n---\n");
        assert!(Role::parse(FILE, &text, RoleSource::Provost).is_err(), "{}", &text[..40]);
        assert!(Role::parse(FILE, &text, RoleSource::Claude).is_err(), "{}", &text[..40]);
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).{0,300}") {
        for text in [format!("---\n{text}\n---\n{text}"), text] {
            for source in RoleSource::ALL {
                drop(Role::parse(FILE, &text, source));
            }
        }
    }

    #[test]
    fn no_yaml_makes_the_reader_panic(yaml in "([a-z:\\-\\[\\]{}&*!|>'\"%@`#?, \n\t\r\u{feff}\u{85}é]|name: |skills: ){0,120}") {
        for source in RoleSource::ALL {
            drop(Role::parse(FILE, &format!("---\n{yaml}\n---\n"), source));
        }
    }
}
