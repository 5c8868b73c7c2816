//! A DNS label from a folder name: `<slug>.localhost` is the origin of a project.

/// The longest label, in bytes: it leaves room for a number and a port within the 63 of DNS.
const LONGEST: usize = 40;

/// A label for `name` that is not among `taken`.
pub fn unique_slug(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let base = label(name);
    if !taken(&base) {
        return base;
    }
    // Tries at most one number more than there are slugs in use.
    let mut n = 2_u64;
    loop {
        let slug = format!("{base}-{n}");
        if !taken(&slug) {
            return slug;
        }
        n += 1;
    }
}

fn label(name: &str) -> String {
    let mut label = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if label.len() == LONGEST {
            break;
        }
        // In the host name of a preview, two hyphens separate port and slug, so a slug never
        // contains two in a row.
        match c {
            'a'..='z' | '0'..='9' => label.push(c),
            _ if label.is_empty() || label.ends_with('-') => {}
            _ => label.push('-'),
        }
    }
    let label = label.trim_end_matches('-');
    if label.is_empty() { "project".to_owned() } else { label.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(name: &str, taken: &[&str], expected: &str) {
        assert_eq!(unique_slug(name, |s| taken.contains(&s)), expected);
    }

    #[test]
    fn a_slug_says_the_name_in_letters_that_dns_takes() {
        check("Hello World", &[], "hello-world");
        check("my--app_v2.0", &[], "my-app-v2-0");
        check("...", &[], "project");
        check("Ärger über Öl", &[], "rger-ber-l");
        check("日本", &[], "project");
    }

    #[test]
    fn a_taken_slug_gets_a_number() {
        check("app", &["app"], "app-2");
        check("app", &["app", "app-2"], "app-3");
    }

    proptest! {
        #[test]
        fn every_slug_is_a_dns_label(name in ".*") {
            let slug = unique_slug(&name, |_| false);
            prop_assert!((1..=LONGEST).contains(&slug.len()));
            prop_assert!(slug.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-')));
            prop_assert!(!slug.starts_with('-') && !slug.ends_with('-') && !slug.contains("--"));
        }
    }
}
