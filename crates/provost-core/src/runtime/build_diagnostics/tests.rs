//! Output of real tools, and what is extracted from it.

use proptest::prelude::*;
use provost_proto::limits::{MAX_BUILD_DIAGNOSTICS, MAX_BUILD_MESSAGE_BYTES};
use provost_proto::runtime::DiagnosticSeverity;

use super::parse_build_output;

/// `error src/a.rs:3:5 message`, a line each.
fn summary(text: &str) -> Vec<String> {
    let one = |error: &provost_proto::runtime::BuildDiagnostic| {
        let number = |n: Option<u32>| n.map_or_else(String::new, |n| format!(":{n}"));
        let word = if error.severity == DiagnosticSeverity::Error { "error" } else { "warning" };
        let file = error.file.as_deref().unwrap_or("-");
        format!("{word} {file}{}{} {}", number(error.line), number(error.column), error.message)
    };
    parse_build_output(text).errors.iter().map(one).collect()
}

const CARGO: &str = "   Compiling app v0.1.0 (/src/app)
\u{1b}[1m\u{1b}[33mwarning\u{1b}[0m\u{1b}[1m: unused variable: `x`\u{1b}[0m
 \u{1b}[1m\u{1b}[94m--> \u{1b}[0msrc/main.rs:2:9
  |
2 |     let x = 1;
  |         ^ help: if this is intentional, prefix it with an underscore: `_x`

\u{1b}[1m\u{1b}[91merror[E0308]\u{1b}[0m\u{1b}[1m: mismatched types\u{1b}[0m
 --> src/main.rs:4:18
  |
4 |     let y: u32 = \"a\";
  |            ---   ^^^ expected `u32`, found `&str`

For more information about this error, try `rustc --explain E0308`.
warning: `app` (bin \"app\") generated 1 warning
error: could not compile `app` (bin \"app\") due to 1 previous error; 1 warning emitted
";

const MANIFEST: &str = "error: failed to parse manifest at `/src/app/Cargo.toml`

Caused by:
  no targets specified in the manifest
";

const TSC: &str =
    "src/main.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.
src/util.ts:10:5 - error TS2304: Cannot find name 'foo'.

10     foo()
       ~~~

Found 2 errors in 2 files.
";

const ESBUILD: &str = "✘ [ERROR] Could not resolve \"./missing\"

    src/app.ts:1:7:
      1 │ import \"./missing\"
        ╵        ~~~~~~~~~~~

1 error
";

const VITE: &str = "vite v5.4.0 building for production...
transforming...
✓ 3 modules transformed.
x Build failed in 40ms
error during build:
[vite:esbuild] Transform failed with 1 error:
/src/app/src/main.ts:3:10: ERROR: Expected \";\" but found \"x\"
file: /src/app/src/main.ts:3:10
";

const ROLLUP: &str = "error during build:
src/main.js (1:9): \"nope\" is not exported by \"src/lib.js\", imported by \"src/main.js\".
file: /src/app/src/main.js:1:9
";

const WEBPACK: &str = "ERROR in ./src/index.js 3:0-24
Module not found: Error: Can't resolve './missing' in '/src/app/src'
resolve './missing' in '/src/app/src'

ERROR in /src/app/src/a.ts:4:7
TS2322: Type 'string' is not assignable to type 'number'.

webpack 5.90.0 compiled with 2 errors in 900 ms
";

const ESLINT: &str = "
/src/app/src/index.js
  1:7   error    'x' is assigned a value but never used  no-unused-vars
  3:10  warning  Unexpected console statement            no-console

✖ 2 problems (1 error, 1 warning)
";

const GCC: &str = "gcc -c main.c
main.c: In function 'main':
main.c:4:5: error: 'x' undeclared (first use in this function)
    4 |     x = 1;
      |     ^
main.c:9:1: warning: control reaches end of non-void function [-Wreturn-type]
lib.c:1:10: fatal error: missing.h: No such file or directory
make: *** [Makefile:3: main.o] Error 1
";

const MAKE: &str = "make: *** No rule to make target 'nope'.  Stop.\n";

const GO: &str = "# example.com/app
./main.go:5:2: undefined: fmt.Printl
./main.go:7:6: x declared and not used
";

const PYTHON: &str = "Traceback (most recent call last):
  File \"/src/app/main.py\", line 9, in <module>
    main()
  File \"/src/app/lib.py\", line 4, in main
    raise ValueError(\"no\")
ValueError: no
";

const SYNTAX: &str = "  File \"/src/app/main.py\", line 3
    def f(:
          ^
SyntaxError: invalid syntax
";

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_tools_complain_about_is_understood() {
    for (text, expected) in [
        (
            CARGO,
            &[
                "error src/main.rs:4:18 mismatched types",
                "warning src/main.rs:2:9 unused variable: `x`",
            ][..],
        ),
        (MANIFEST, &["error - failed to parse manifest at `/src/app/Cargo.toml`"]),
        (
            TSC,
            &[
                "error src/main.ts:3:7 TS2322: Type 'string' is not assignable to type 'number'.",
                "error src/util.ts:10:5 TS2304: Cannot find name 'foo'.",
            ],
        ),
        (ESBUILD, &["error src/app.ts:1:7 Could not resolve \"./missing\""]),
        (VITE, &["error /src/app/src/main.ts:3:10 Expected \";\" but found \"x\""]),
        (
            ROLLUP,
            &[
                "error src/main.js:1:9 \"nope\" is not exported by \"src/lib.js\", imported by \"src/main.js\".",
            ],
        ),
        (
            WEBPACK,
            &[
                "error ./src/index.js:3:0 Module not found: Error: Can't resolve './missing' in '/src/app/src'",
                "error /src/app/src/a.ts:4:7 TS2322: Type 'string' is not assignable to type 'number'.",
            ],
        ),
        (
            ESLINT,
            &[
                "error /src/app/src/index.js:1:7 'x' is assigned a value but never used  no-unused-vars",
                "warning /src/app/src/index.js:3:10 Unexpected console statement            no-console",
            ],
        ),
        (
            GCC,
            &[
                "error main.c:4:5 'x' undeclared (first use in this function)",
                "error lib.c:1:10 missing.h: No such file or directory",
                "warning main.c:9:1 control reaches end of non-void function [-Wreturn-type]",
            ],
        ),
        (MAKE, &["error - No rule to make target 'nope'.  Stop."]),
        (
            GO,
            &[
                "error ./main.go:5:2 undefined: fmt.Printl",
                "error ./main.go:7:6 x declared and not used",
            ],
        ),
        (PYTHON, &["error /src/app/lib.py:4 ValueError: no"]),
        (SYNTAX, &["error /src/app/main.py:3 SyntaxError: invalid syntax"]),
        ("all is well\nhttp://localhost:3000/\n12:30:05 ready\n", &[]),
        ("", &[]),
    ] {
        assert_eq!(summary(text), expected, "{text}");
    }
}

#[test]
fn there_are_no_more_than_anyone_reads_and_no_longer_ones() {
    let many: Vec<_> =
        (1..=MAX_BUILD_DIAGNOSTICS + 5).map(|n| format!("a.c:{n}:1: error: no\n")).collect();
    let found = parse_build_output(&many.concat());
    assert_eq!((found.errors.len(), found.omitted), (MAX_BUILD_DIAGNOSTICS, 5));
    let long = format!("a.c:1:1: error: {}", "ü".repeat(MAX_BUILD_MESSAGE_BYTES));
    assert!(parse_build_output(&long).errors[0].message.len() <= MAX_BUILD_MESSAGE_BYTES);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(\\PC|[\n\t\r\u{1b}:()\\[\\]\"0-9 ]){0,200}") {
        let found = parse_build_output(&text);
        prop_assert!(found.errors.len() <= MAX_BUILD_DIAGNOSTICS);
    }
}
