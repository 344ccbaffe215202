use super::Redactor;
use super::rules::Rules;

#[test]
fn every_rule_that_is_shipped_can_be_used() {
    assert_eq!(Rules::shipped().broken(), [] as [&str; 0]);
}

/// Characters without a pattern, always the same ones.
fn random(alphabet: &str, length: usize) -> String {
    let (alphabet, mut state) = (alphabet.as_bytes(), 0x2545_f491_4f6c_dd1d_u64 ^ length as u64);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(alphabet[(state >> 20) as usize % alphabet.len()])
    };
    (0..length).map(|_| next()).collect()
}

const ALNUM: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";

/// Put together while the test runs, so that nothing in this file looks like a key to anybody else.
fn tokens() -> Vec<String> {
    let of = |begin: [&str; 2], alphabet: &str, length| format!("{}{}{}", begin[0], begin[1], random(alphabet, length));
    vec![
        of(["gh", "p_"], ALNUM, 36),
        of(["gh", "o_"], ALNUM, 36),
        of(["gh", "s_"], ALNUM, 36),
        of(["gh", "r_"], ALNUM, 36),
        of(["github", "_pat_"], ALNUM, 82),
        of(["gl", "pat-"], ALNUM, 20),
        of(["gl", "dt-"], ALNUM, 20),
        of(["gl", "rt-"], ALNUM, 20),
        of(["gl", "ptt-"], HEX, 40),
        of(["AK", "IA"], "ABCDEFGHJKLMNPQRSTUVWXYZ234567", 16),
        of(["sk_", "live_"], ALNUM, 30),
        of(["sk-ant-", "api03-"], ALNUM, 93) + "AA",
        of(["shp", "at_"], HEX, 32),
        of(["shp", "ss_"], HEX, 32),
        of(["np", "m_"], LOWER, 36),
        of(["pypi-", "AgEIcHlwaS5vcmc"], ALNUM, 80),
        of(["lin_", "api_"], LOWER, 40),
        of(["dp.", "pt."], LOWER, 43),
        of(["A", "Iza"], ALNUM, 35),
        of(["hf", "_"], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", 34),
        of(["do", "p_v1_"], HEX, 64),
        of(["EZ", "AK"], LOWER, 54),
        of(["S", "G."], LOWER, 66),
        format!("xo{}b-{}-{}-{}", 'x', random("123456789", 12), random("123456789", 12), random(ALNUM, 24)),
        format!("ey{}.ey{}.{}", random(ALNUM, 40), random(ALNUM, 60), random(ALNUM, 43)),
    ]
}

#[test]
fn a_token_is_found_however_it_stands_in_a_text() {
    for token in tokens() {
        let texts = [
            token.clone(),
            format!("TOKEN={token}"),
            format!("error: ({token}), rejected"),
            format!("{{\"key\": \"{token}\"}}"),
            format!(r#"{{\"key\": \"{token}\"}}"#),
            format!("\x1b[31m{token}\x1b[0m"),
            format!("a {}\x1b[01;31m\x1b[K{}\x1b[m\x1b[K{} b", &token[..8], &token[8..14], &token[14..]),
            format!("a {}\u{200b}{}\u{8}{} b", &token[..8], &token[8..14], &token[14..]),
            format!(r"first\n{token}\nlast"),
            format!("https://host/x?key={token}&a=b"),
            format!("key%3D{token}%26a"),
            format!("ä{token}ä"),
        ];
        for text in texts {
            let redacted = Redactor::of_process().redact(&text);
            assert!(!redacted.contains(&token[4..token.len() - 2]), "{redacted}");
            assert!(redacted.contains("[redacted:"), "{redacted}");
            assert_eq!(Redactor::of_process().redact(&redacted), redacted, "once is enough");
        }
    }
}

#[test]
fn a_private_key_goes_whole_or_cut() {
    let block = format!("-----{} RSA PRIVATE KEY-----\n{}\n", "BEGIN", random(ALNUM, 3_000));
    let whole = format!("{block}-----END RSA PRIVATE KEY-----\nbehind it");
    for text in [whole, block.clone(), block.replace('\n', "\\n")] {
        let redacted = Redactor::of_process().redact(&text);
        assert!(redacted.len() < 200 && redacted.contains("[redacted:private-key]"), "{redacted}");
    }
}

#[test]
fn what_stands_behind_a_private_key_stays() {
    let line = random(ALNUM, 64);
    let begin = format!("-----{} RSA PRIVATE KEY-----", "BEGIN");
    let end = "-----END RSA PRIVATE KEY-----";
    let headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n";
    let check = |body: &str, behind: &str| {
        let text = format!("{begin}\n{body}{behind}");
        for (text, behind) in
            [(text.clone(), behind.to_owned()), (text.replace('\n', "\\n"), behind.replace('\n', "\\n"))]
        {
            let redacted = Redactor::of_process().redact(&text).into_owned();
            assert!(redacted.ends_with(&format!("[redacted:private-key]{behind}")), "{text}: {redacted}");
            assert!(!redacted.contains(&line[..20]) && !redacted.contains("QzF9Zg"), "{redacted}");
        }
    };
    let lines = format!("{line}\n{line}");
    for behind in ["\nbehind it\n2 tests failed, 3 passed", " and 2 more\nbehind it\n"] {
        check(&format!("{lines}\n{end}"), behind);
        check(&format!("{headers}{lines}\nQzF9Zg==\n{end}"), behind);
    }
    for behind in
        ["\nbehind it\n2 tests failed, 3 passed", "\nerror: the key is wrong\n", "\n\nassertion failed\n", "", "\n"]
    {
        check(&lines, behind);
        check(&format!("{headers}{lines}"), behind);
        check(&format!("{lines}\nQzF9Zg=="), behind);
    }
    // So long that it is looked for piece by piece.
    let long = vec![line.clone(); 2_000].join("\n");
    check(&long, "\nbehind it");
    let cut = format!("{begin}\n{line}\nQzF9ZgQ");
    assert!(Redactor::of_process().redact(&cut).ends_with("[redacted:private-key]"));
    let nothing = format!("{begin}\nerror: no key in it");
    assert_eq!(Redactor::of_process().redact(&nothing), nothing);
}

#[test]
fn logins_and_passwords_are_found_by_where_they_stand() {
    let check = |text: &str, wanted: &str| assert_eq!(Redactor::of_process().redact(text), wanted);
    check("postgres://app:tr0ub4dor@db:5432/app", "postgres://app:[redacted:url-password]@db:5432/app");
    check("db.password=Tr0ub4dor&3x", "db.password=[redacted:password]");
    check("machine h login me password hunter2x", "machine h login me password [redacted:netrc]");
}

#[test]
fn what_builds_print_stays_as_it_is() {
    let ordinary = "   Compiling reflexion v0.1.0 (/work/x)\nerror[E0277]: the trait bound `Key: Hash` is not satisfied\n\
        KeyError: 'token_2'\n  --> src/auth/token.rs:12:5\nassert_eq!(token, None)\npassword: required\n\
        E   AssertionError: access denied for key=3\nsha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n\
        test auth::tests::key_is_refused ... FAILED\nhttps://docs.rs/tokio/1.0/tokio/?search=key\n\
        http://localhost:8080/@scope/name\ncommit e35f2fe0c6b1d0a4f1d8a5b0f8a6d5d3c2b1a090\n";
    assert_eq!(Redactor::of_process().redact(ordinary), ordinary);
}

#[test]
fn the_values_of_secret_variables_are_found_exactly() {
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let variables = [
        variable("MY_TOKEN", "correct horse\"battery"),
        variable("SHORT_KEY", "abc"),
        variable("KEY_MODE", "disabled"),
        variable("PLAIN", "not-a-secret-at-all"),
        variable("SSH_AUTH_SOCK", "/run/user/agent"),
    ];
    let redactor = Redactor::of(variables, Rules::shipped());
    let check = |text: &str, wanted: &str| assert_eq!(redactor.redact(text), wanted);
    check("<correct horse\"battery>", "<[redacted:environment]>");
    check(r#""correct horse\"battery""#, r#""[redacted:environment]""#);
    check("?x=correct%20horse%22battery&y", "?x=[redacted:environment]&y");
    check("?x=correct+horse%22battery&y", "?x=[redacted:environment]&y");
    check("<p>correct horse&quot;battery</p>", "<p>[redacted:environment]</p>");
    check("abc disabled not-a-secret-at-all /run/user/agent", "abc disabled not-a-secret-at-all /run/user/agent");
}

#[test]
fn json_lines_stay_json_lines() {
    let token = &tokens()[0];
    let lines = format!("{{\"a\":[\"{token}\"],\"n\":12345678901234567890}}\n{{\"b\": 1.0}}\nno json {token}\n");
    let redacted = Redactor::of_process().redact_lines(lines.as_bytes());
    let wanted =
        "{\"a\":[\"[redacted:github-pat]\"],\"n\":12345678901234567890}\n{\"b\": 1.0}\nno json [redacted:github-pat]\n";
    assert_eq!(String::from_utf8_lossy(&redacted), wanted);
    let document = format!("{{\n  \"z\": 1.50,\n  \"a\": \"say \\\"{token}\\\"\"\n}}");
    let redacted = Redactor::of_process().redact_json(document.as_bytes()).into_owned();
    assert_eq!(String::from_utf8(redacted).unwrap(), document.replace(token, "[redacted:github-pat]"));
}

#[test]
fn an_argument_is_found_by_its_name() {
    let of =
        |secret: &str| serde_json::json!({ "env": [{ "db_password": secret, "path": "src/a1b2c3d4e5.rs" }], "n": 1 });
    assert_eq!(Redactor::of_process().redact_arguments(of("tr0ub4dor&3x")), of("[redacted:password]"));
}

#[test]
fn rules_of_ones_own_come_to_the_shipped_ones() {
    let own = "[[rules]]\nid = \"acme\"\nregex = 'acme-[0-9]{6}'\n[allowlist]\nregexes = ['000000']\n";
    assert_eq!(Rules::check(own), Ok(()));
    let redactor = Redactor::of([], std::sync::Arc::new(Rules::with([&own.to_owned()])));
    let said = redactor.redact("acme-123456 acme-000000 postgres://me:s3cr3t-pw@db/x").into_owned();
    assert_eq!(said, "[redacted:acme] acme-000000 postgres://me:[redacted:url-password]@db/x");
    let check = |text: &str, wanted: &str| {
        let error = Rules::check(text).unwrap_err();
        assert!(error.contains(wanted), "{error}");
    };
    check("[[rules]]\nid = \"acme\"\n", "the rule `acme` has no `regex`");
    check("[[rules]]\nid = \"acme\"\nregex = '('\n", "`acme`: regex parse error");
    check("[[rules]\n", "line 1");
}

#[test]
fn a_value_is_found_as_programs_print_it() {
    let value = "p@ss/w%rd+größe-9x\nsecond line of it 7\n";
    let redactor = Redactor::of([("MY_SECRET".to_owned(), value.to_owned())], Rules::shipped());
    for printed in [
        value.to_owned(),
        value.trim().to_owned(),
        serde_json::to_string(value).unwrap(),
        r#""p@ss\/w%rd+gr\u00f6\u00dfe-9x\nsecond line of it 7\n""#.to_owned(),
        "https://h/?x=p%40ss%2Fw%25rd%2Bgr%C3%B6%C3%9Fe-9x%0Asecond%20line%20of%20it%207%0A".to_owned(),
        "first\nsecond line of it 7\nlast".to_owned(),
    ] {
        let redacted = redactor.redact(&printed);
        assert!(redacted.contains("[redacted:environment]") && !redacted.contains("of it"), "{printed}: {redacted}");
    }
    for encoded in [
        r"mysql:\/\/root:S3cr3tP4ss9x@db\/app",
        "?to=postgres%3A%2F%2Froot%3AS3cr3tP4ss9x%40db",
        "postgres:&#x2F;&#x2F;root:S3cr3tP4ss9x&#64;db",
        "$ tool --password S3cr3tP4ss9x",
    ] {
        let redacted = redactor.redact(encoded);
        assert!(redacted.contains("[redacted:") && !redacted.contains("S3cr3t"), "{encoded}: {redacted}");
    }
}

/// As languages, shells, databases and browsers print them.
#[test]
fn a_value_with_signs_is_found_in_every_spelling_of_it() {
    let value = r#"q7"w\r/t&y<u>i 'o%p$a+s=d#f{g"#;
    let redactor = Redactor::of([("MY_SECRET".to_owned(), value.to_owned())], Rules::shipped());
    let of_each = |spell: &dyn Fn(char) -> String| -> String { value.chars().map(spell).collect() };
    let unless_alnum = |spell: &'static dyn Fn(char) -> String| {
        of_each(&|c| if c.is_ascii_alphanumeric() { c.into() } else { spell(c) })
    };
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let quoted = |quote: char, by: &str| format!("{quote}{}{quote}", value.replace(quote, by));
    let html = unless_alnum(&|c| format!("&#x{:x};", u32::from(c)));
    let url = unless_alnum(&|c| format!("%{:02x}", u32::from(c)));
    let spelt = [
        value.to_owned(),
        json(&json(&json(value))),
        json(value).replace('&', "\\u0026").replace('<', "\\u003C").replace('>', "\\u003e"),
        url.replace('%', "%25"),
        url.replace("%2f", "/").replace("%26", "&"),
        html.replace('&', "&amp;"),
        html,
        unless_alnum(&|c| format!("&#{};", u32::from(c))),
        value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"),
        unless_alnum(&|c| format!("\\{c}")),
        unless_alnum(&|c| format!("\\{:03o}", u32::from(c))),
        of_each(&|c| format!("\\x{:02x}", u32::from(c))).replace("\\x71\\x37", "q7"),
        quoted('\'', r"'\''"),
        quoted('\'', r#"'"'"'"#),
        quoted('\'', "''"),
        quoted('"', "\"\""),
        value.replace('\\', r"\\").replace('"', "\\\"").replace('$', "\\$"),
        value.replace('&', "^&").replace('<', "^<"),
        format!("{}\r{}", &value[..10], &value[10..]),
    ];
    for text in spelt {
        let said = redactor.redact(&format!("said: {text} |end")).into_owned();
        assert!(said.starts_with("said: ") && said.ends_with("|end"), "{text}: {said}");
        assert!(said.contains("[redacted:environment]") && said.len() < 50, "{text}: {said}");
        assert_eq!(redactor.redact(&said), said, "once is enough");
    }
    let ordinary = "q7 is a name; w\\r/t&y is none of it, nor is q7\"w, 'q7' or \\u0071\\u0037";
    assert_eq!(redactor.redact(ordinary), ordinary);
}

#[test]
fn what_stands_in_a_name_is_no_secret() {
    let variable = ("STAND_PASSWORD".to_owned(), "harbour-crane".to_owned());
    Redactor::add_to_process([(&variable.0, &variable.1)], None).unwrap();
    let text = "reflexion/r1/harbour-crane-lifts, harbour-crane";
    assert_eq!(
        Redactor::of_process().redact(text),
        "reflexion/r1/[redacted:environment]-lifts, [redacted:environment]"
    );
    Redactor::let_stand(["harbour-crane-lifts", "another"]);
    assert_eq!(Redactor::of_process().redact(text), text);
    // A name that a rule finds something in, too.
    let name = format!("update-{}", tokens()[9]);
    assert_ne!(Redactor::of_process().redact(&name), name);
    Redactor::let_stand([name.as_str()]);
    assert_eq!(Redactor::of_process().redact(&name), name);
}

#[test]
fn words_of_a_format_stand_whatever_a_variable_is_set_to() {
    let variables = [("AUTH_WORD", "confirmed"), ("A_TOKEN", "maxAttempts")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let redactor = Redactor::of(variables, Rules::shipped());
    let line =
        br#"{"verdict": "confirmed", "maxAttempts": 2, "said": "confirmed with confirmed", "key": "maxAttempts"}"#;
    let redacted = String::from_utf8(redactor.redact_json(line).into_owned()).unwrap();
    let expected = r#"{"verdict": "confirmed", "maxAttempts": 2, "said": "[redacted:environment] with [redacted:environment]", "key": "[redacted:environment]"}"#;
    assert_eq!(redacted, expected);
}
