//! What a change brings by a name - a function, a parameter, an option - proves nothing: its new tests must notice what it does.

use crate::project::{Project, Ran, task, with};
use serde_json::{Value, json};

const SUITE: &str = "python3 -B -m unittest";
const WORDS: &str = "def shout(text):\n    text = text.strip()\n    return text + '!'\n";
const CLI: &str = "import argparse\n\n\ndef main(argv):\n    parser = argparse.ArgumentParser(exit_on_error=False)\n    parser.add_argument('text')\n    \
                   args = parser.parse_args(argv)\n    return args.text.strip() + '!'\n";
const CART: &str = "class Cart:\n    kind = 'cart'\n\n    def total(self):\n        return len(self.kind)\n\n\ndef run(word):\n    if word == 'a':\n        print('a')\n    \
                    else:\n        return 2\n    return 0\n\n\nTABLE = {'a': run}\n";
const TESTS: &str = "import unittest, words, cli, cart\nclass T(unittest.TestCase):\n  def test_shout(self): self.assertEqual(words.shout(' a'), 'a!')\n  \
                     def test_main(self): self.assertEqual(cli.main([' a']), 'a!')\n  \
                     def test_cart(self): self.assertEqual((cart.Cart().total(), cart.run('a'), cart.run('')), (4, 0, 2))\n";
const OPTION: &str = "    parser.add_argument('--upper', action='store_true')\n    args = parser";

/// Replaces parts of files, by `[file, old, new]` in a list that the agent is given.
const AGENT: &str = "python3 \"$OUT/agent.py\"";

fn ran(steps: &[[&str; 3]], test: &str, kind: &str) -> (Value, String) {
    let project = Project::new(AGENT);
    for (path, text) in [("words.py", WORDS), ("cli.py", CLI), ("cart.py", CART), ("test_words.py", TESTS)] {
        project.write(path, text);
    }
    let new = format!(
        "import inspect, unittest, words, cli, cart\nclass N(unittest.TestCase):\n  def test_new(self):\n    {test}\n"
    );
    let agent = format!(
        "import json\nfor file, old, new in json.loads({:?}):\n    text = open(file).read()\n    assert old in text\n    \
         open(file, 'w').write(text.replace(old, new))\nopen('test_new.py', 'w').write(json.loads({:?}))\n",
        json!(steps).to_string(),
        json!(new).to_string()
    );
    std::fs::write(project.out.join("agent.py"), agent).unwrap();
    project.config(|config| {
        config["maxAttempts"] = json!(1);
        config["checks"] = json!([{ "name": "suite", "run": SUITE }]);
    });
    project.tasks(&[with(task("a"), json!({ "type": kind, "checks": [] }))]);
    let ran: Ran = project.run(&["run", "--json"]);
    let task = ran.task("a");
    assert_eq!(task["verdict"], json!("confirmed"), "{task} {}", ran.stderr);
    (task["proof"].clone(), format!("{test}: {task} {}", ran.stderr))
}

#[test]
fn that_a_function_is_there_proves_nothing_of_it_whatever_the_task_is_called() {
    let adds = ["words.py", WORDS, &format!("{WORDS}\n\ndef bold(text):\n    return text\n")];
    for kind in ["feature", "bug"] {
        let (proof, said) = ran(&[adds], "self.assertTrue(hasattr(words, 'bold'))", kind);
        assert_eq!(proof, json!("stayed_green"), "{said}");
    }
    let right = ["words.py", WORDS, &format!("{WORDS}\n\ndef bold(text):\n    return '*' + text\n")];
    let (proof, said) = ran(&[right], "self.assertEqual(getattr(words, 'bold', str)('a'), '*a')", "feature");
    assert_eq!(proof, json!("new_test"), "{said}");
}

#[test]
fn where_code_starts_programs_that_something_is_there_proves_nothing_either() {
    let starts =
        "import subprocess\n\n\ndef bold(text):\n    return subprocess.run(['echo', text]).returncode\n\n\ndef shout";
    let steps =
        [["words.py", "    text = text.strip()", "    text = (text or '').strip()"], ["words.py", "def shout", starts]];
    let (proof, said) = ran(&steps, "self.assertTrue(hasattr(words, 'bold'))", "feature");
    assert_eq!(proof, json!("stayed_green"), "{said}");
}

#[test]
fn that_an_option_is_known_proves_nothing_of_what_it_does() {
    let option = ["cli.py", "    args = parser", OPTION];
    let does = |what: &'static str| ["cli.py", "    return args.text", what];
    let wrong = does("    if args.upper:\n        return args.text.lower()\n    return args.text");
    let right = does("    if args.upper:\n        return args.text.strip().upper() + '!'\n    return args.text");
    let with_tried = |test: &str| {
        format!(
            "{test}\n  def tried(self, argv):\n    try: return cli.main(argv)\n    except BaseException as error: self.fail(str(error))"
        )
    };
    // Nothing at all, and something wrong.
    let tried = with_tried("self.assertTrue(self.tried(['x', '--upper']))");
    for steps in [vec![option], vec![option, wrong]] {
        let (proof, said) = ran(&steps, &tried, "feature");
        assert_eq!(proof, json!("stayed_green"), "{said}");
    }
    let asked = with_tried("self.assertEqual(self.tried(['x', '--upper']), 'X!')");
    let (proof, said) = ran(&[option, right], &asked, "feature");
    assert_eq!(proof, json!("new_test"), "{said}");
}

#[test]
fn that_a_member_is_there_proves_nothing_of_code_in_the_place_of_other_code() {
    let member = ["cart.py", "    kind = 'cart'\n", "    kind = 'cart'\n    limit = 5\n"];
    let total = |new: &'static str| ["cart.py", "len(self.kind)", new];
    let wrong = total("99 if self.limit < 0 else len(self.kind)");
    let is_there = "self.assertTrue(hasattr(cart.Cart, 'limit'))";
    let (proof, said) = ran(&[member, wrong], is_there, "feature");
    assert_eq!(proof, json!("stayed_green"), "{said}");
    let asked = "one = cart.Cart(); one.kind = 'a long one'; self.assertEqual(one.total(), 5)";
    let (proof, said) = ran(&[member, total("min(self.limit, len(self.kind))")], asked, "feature");
    assert_eq!(proof, json!("new_test"), "{said}");
    let listed =
        ["cart.py", "TABLE = {'a': run}", "def stop(word):\n    return 'wrong'\n\n\nTABLE = {'a': run, 'b': stop}"];
    let (proof, said) = ran(&[listed], "self.assertIn('b', cart.TABLE)", "feature");
    assert_eq!(proof, json!("stayed_green"), "{said}");
}

#[test]
fn that_a_branch_is_gone_notices_whoever_never_looks_at_what_it_does() {
    let branch = |does: &str| format!("    elif word == 'b':\n        print('{does}')\n    else:\n");
    let (wrong, right) = (branch("wrong"), branch("b"));
    let (proof, said) = ran(&[["cart.py", "    else:\n", &wrong]], "self.assertEqual(cart.run('b'), 0)", "feature");
    assert_eq!(proof, json!("stayed_green"), "{said}");
    let asked = "import contextlib, io\n    with contextlib.redirect_stdout(io.StringIO()) as out: cart.run('b')\n    \
                 self.assertEqual(out.getvalue(), 'b\\n')";
    let (proof, said) = ran(&[["cart.py", "    else:\n", &right]], asked, "feature");
    assert_eq!(proof, json!("new_test"), "{said}");
}

#[test]
fn that_a_parameter_is_there_with_its_default_proves_nothing_of_it() {
    let head =
        ["words.py", "def shout(text):", "def shout(text, upper=False):\n    if upper:\n        text = text.lower()"];
    for test in [
        "self.assertIn('upper', inspect.signature(words.shout).parameters)",
        "self.assertEqual(words.shout.__defaults__, (False,))",
    ] {
        let (proof, said) = ran(&[head], test, "feature");
        assert_eq!(proof, json!("stayed_green"), "{said}");
    }
}

#[test]
fn what_adds_something_is_noticed_by_who_asks_what_it_adds() {
    let evens = "\n\ndef odds(numbers):\n    found = []\n    for n in numbers:\n        if n % 2:\n            found.append(n)\n    return found\n";
    let adds = ["words.py", WORDS, &format!("{WORDS}{evens}")];
    let (proof, said) = ran(&[adds], "self.assertTrue(words.odds([1, 2, 3]))", "feature");
    assert_eq!(proof, json!("stayed_green"), "{said}");
    let (proof, said) = ran(&[adds], "self.assertEqual(words.odds([1, 2, 3]), [1, 3])", "feature");
    assert_eq!(proof, json!("new_test"), "{said}");
}

#[test]
fn honest_work_of_common_kinds_is_proven() {
    let takes = |new: &'static str| ["words.py", "    text = text.strip()\n", new];
    let yields = format!("{WORDS}\n\ndef uppers(items):\n    for item in items:\n        yield item.upper()\n");
    let adds: [&str; 3] = ["words.py", WORDS, &yields];
    for (step, test) in [
        (takes("    text = (text or '').strip()\n"), "self.assertEqual(words.shout(None), '!')"),
        (
            takes("    if isinstance(text, bytes):\n        text = text.decode()\n    text = text.strip()\n"),
            "self.assertEqual(words.shout(b'ab'), 'ab!')",
        ),
        (
            takes("    if text is None:\n        raise ValueError('no text')\n    text = text.strip()\n"),
            "self.assertRaisesRegex(ValueError, 'no text', words.shout, None)",
        ),
        (adds, "self.assertEqual(list(words.uppers(['a', 'b'])), ['A', 'B'])"),
    ] {
        let (proof, said) = ran(&[step], test, "feature");
        assert_eq!(proof, json!("new_test"), "{said}");
    }
    let owner = [
        "cart.py",
        "    kind = 'cart'\n",
        "    kind = 'cart'\n\n    def __init__(self, owner=None):\n        self.owner = owner\n\n    def clear(self):\n        self.all = []\n",
    ];
    for test in [
        "self.assertEqual(cart.Cart('ada').owner, 'ada')",
        "one = cart.Cart(); one.clear(); self.assertEqual(one.all, [])",
    ] {
        let (proof, said) = ran(&[owner], test, "feature");
        assert_eq!(proof, json!("new_test"), "{said}");
    }
}
