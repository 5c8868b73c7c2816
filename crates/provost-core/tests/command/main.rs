//! Command lines: effects, opaque parts, and comparison with bash.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bash;
mod corpus;
mod fuzz;
mod tokens;

use provost_core::command::{
    CommandEffect, OpaqueReason, analyze_argv, analyze_line, describe_analysis,
};

#[test]
fn an_analysis_is_described_with_one_demand_on_each_line() {
    let line =
        "cd web && A=1 sudo git -C x fetch https://Example.com/r 2> 'a b'; echo \"$HOME\" < in";
    expect_test::expect![[r#"
        run `cd web`
        run `git -C x fetch https://Example.com/r` through sudo with A=`1` in `web`, reaching example.com
        write `web/a b`
        run `echo '$HOME'` in `.` or `web`
        read `in`
        read `web/in`
        not certain: `sudo git -C x fetch https://Example.com/r` runs with other rights, or in another root
        not certain: `"$HOME"` stands for a value that is not known yet"#]]
    .assert_eq(&describe_analysis(&analyze_line(line).unwrap()));
    assert_eq!(describe_analysis(&analyze_line("# nothing").unwrap()), "nothing");
    for (line, effect) in [
        ("rm -f a", "delete `a`"),
        ("cd web && unlink b", "delete `web/b`"),
        ("rmdir d", "delete `d`"),
        ("/bin/rm a", "delete `a`"),
        ("touch a", "write `a`"),
        ("mv a b", "write `a`"),
    ] {
        let text = describe_analysis(&analyze_line(line).unwrap());
        assert!(text.lines().any(|found| found == effect), "{line}: {text}");
    }
}

#[test]
fn arguments_are_read_without_a_shell() {
    let argv = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        analyze_argv(&words)
    };
    let literal = argv(&["echo", "$x", "*", "a b", ";", "rm"]);
    assert!(!literal.is_opaque(), "no shell, so nothing expands: {literal:?}");
    let inner = argv(&["nice", "sh", "-c", "rm x; ls"]);
    let programs: Vec<&str> = inner
        .effects
        .iter()
        .filter_map(|effect| match effect {
            CommandEffect::Run(run) => Some(run.argv[0].as_str()),
            CommandEffect::Write { .. }
            | CommandEffect::Read { .. }
            | CommandEffect::ReadOperand { .. } => None,
        })
        .collect();
    assert_eq!(programs, ["rm", "ls"]);
    assert!(argv(&["sh", "-c", "rm $x"]).is_opaque());
    for unseen in ["l\u{200b}s", "", "ｌｓ", "\u{441}url"] {
        let analysis = argv(&[unseen, "x"]);
        assert!(
            analysis.opaque.iter().any(|opaque| opaque.why == OpaqueReason::MisleadingName),
            "{analysis:?}"
        );
    }
    assert!(argv(&[]).is_opaque());
}
