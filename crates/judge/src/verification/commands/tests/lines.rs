//! Words, nesting, and lines that nobody would write.

use super::super::runs;
use proptest::prelude::*;

#[test]
fn words_are_unquoted_and_wrappers_gone() {
    #[track_caller]
    fn check(line: &str, expected: &[&[&str]]) {
        let found: Vec<Vec<String>> = runs(line).into_iter().map(|run| run.words).collect();
        assert_eq!(found, expected, "{line}");
    }
    check("a 'b c' \"d $e\" f\\ g $'h\\ti'", &[&["a", "b c", "d $e", "f g", "h\ti"]]);
    check("A=1 env B=2 timeout 5 npx jest -t 'x y'", &[&["npx", "jest", "-t", "x y"]]);
    check("a && b || c; d | e & f", &[&["a"], &["b"], &["c"], &["d"], &["e"], &["f"]]);
    check("a 'unclosed && b", &[&["a", "unclosed && b"]]);
    check("a $(b", &[&["b"], &["a", "$(b"]]);
    check(") a; } b; done; fi c", &[&["a"], &["b"], &["c"]]);
    check("a <<X\nbody\nX\nb", &[&["a"], &["b"]]);
    check("a <<X <<Y\n1\nX\n2\nY\nb", &[&["a"], &["b"]]);
    check("", &[]);
    check("  \n ; & | ", &[]);
    check("a=(1 2) b", &[&["b"]]);
    check("ls *.(a|b) é", &[&["ls", "*."], &["a"], &["b"], &["é"]]);
}

#[test]
fn deep_nesting_ends() {
    for open in [
        "(",
        "$(",
        "\"$(",
        "`",
        "{ ",
        "if ",
        "f(){ ",
        "bash -c '",
        "eval ",
        "find -exec ",
        "${x:-$(",
        "\\`",
        "case x in a) ",
        "<(",
    ] {
        let _ = runs(&open.repeat(5_000));
    }
    let mut chain = String::new();
    for at in 0..2_000 {
        chain.push_str(&format!("f{at}() {{ f{}; }}; ", at + 1));
    }
    let _ = runs(&(chain + "f0"));
}

/// Measured once with a megabyte of each: linear, at most 8 s without optimisation. Here a tenth, so that it costs little.
#[test]
fn long_lines_give_as_many_runs_as_they_have() {
    let line = "cd a && npm test | tail -1; ".repeat(4_000);
    assert_eq!(runs(&line).len(), 12_000);
    for piece in [
        "a ",
        "'",
        "\"",
        "$((",
        "((",
        "<<E\n",
        "<<E ",
        "\\",
        "x=$?;",
        "rc=$?;exit $rc&",
        "#",
        "env ",
        "sudo -u ",
        "é",
        "a&&",
        "|",
        "&",
        ";;",
        "case ",
        "[[ ",
    ] {
        let _ = runs(&piece.repeat(50_000 / piece.len()));
    }
}

proptest! {
    #[test]
    fn any_text_is_read(line in "\\PC{0,200}") {
        let _ = runs(&line);
    }

    #[test]
    fn any_shell_like_text_is_read(pieces in prop::collection::vec(prop::sample::select(vec![
        "npm", "test", "git", "push", "'", "\"", "`", "$(", "${", "$((", "((", ")", "))", "}", "{", "(", "[[", "]]", "&&", "||", ";",
        "|", "&", "\n", " ", "<<E", "E\n", "<<-", "<<<", ">", ">&", "2>", "&>", "\\", "#", "if", "then", "fi", "for", "do", "done",
        "case", "in", "esac", ";;", "f()", "function", "=", "x=", "$'", "é", "\r\n", "bash -c", "eval", "xargs", "find -exec", "env",
    ]), 0..60)) {
        let line = pieces.concat();
        let _ = runs(&line);
        let _ = runs(&pieces.join(" "));
    }

    #[test]
    fn quoting_a_text_hides_it(text in "[a-z &|;()<>$`\\n#{}]{0,60}") {
        let found = runs(&format!("echo '{text}'"));
        prop_assert_eq!(found.len(), 1);
        prop_assert_eq!(&found[0].words, &vec!["echo".to_owned(), text]);
    }
}
