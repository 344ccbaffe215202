//! The results of tests as JUnit XML: what Maven, Gradle, pytest, PHPUnit, RSpec, ctest, Playwright, `dotnet test`, nextest and many
//! others write where they are asked to.

use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::QName;
use quick_xml::{Reader, XmlVersion};

/// A longer name, path or message is nobody's to read, and each of the many that deal with them would take its time for it: its two ends stay.
const MOST_BYTES: usize = 4 << 10;
/// `&#x10ffff;`
const LONGEST_REFERENCE: usize = 10;
/// So much of a failure's words is read; where a test failed stands in it, or nowhere.
const MOST_WORDS: usize = 1 << 20;

/// One test of such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestResult {
    /// Its class, file or suite, and its name.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The file that it stands in, where that is said.
    pub file: Option<String>,
    /// Where in it the test failed, else where it begins, as the runner counts lines.
    pub line: Option<u32>,
    /// How it went.
    pub outcome: TestOutcome,
}

/// How a test went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestOutcome {
    /// It passed.
    Passed,
    /// It was not run.
    Skipped,
    /// It failed, or could not be run to its end.
    Failed {
        /// The type of the error, where it is given.
        kind: Option<String>,
        /// What is wrong.
        message: Option<String>,
    },
}

/// The tests of a file, in its order.
///
/// ```
/// # use reflexion_toolchain::toolchain::TestOutcome;
/// let xml = r#"<testsuite name="calc"><testcase classname="test_calc" name="test_add"/></testsuite>"#;
/// let found = reflexion_toolchain::toolchain::junit(xml)?;
/// assert_eq!((found[0].id.as_str(), &found[0].outcome), ("test_calc.test_add", &TestOutcome::Passed));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// In words, where it is no XML, ends too early, or holds no test suite.
pub fn junit(text: &str) -> Result<Vec<TestResult>, String> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut file = File::default();
    loop {
        match reader.read_event().map_err(|error| format!("it is no XML: {error}"))? {
            Event::Start(element) => file.begins(&element)?,
            Event::End(element) => file.ends(element.local_name().as_ref()),
            Event::Text(text) => file.says(&text.xml_content(XmlVersion::Implicit1_0)),
            Event::CData(text) => file.says(&text.xml_content(XmlVersion::Implicit1_0)),
            Event::GeneralRef(name) => file.says(&character(&name)?),
            Event::Eof => break,
            _ => {}
        }
    }
    if file.suites == 0 {
        return Err("it has no `testsuite`".to_owned());
    }
    if file.depth != 0 {
        return Err("it ends too early".to_owned());
    }
    Ok(file.tests)
}

/// The character that a reference stands for; what a file defines itself is no character.
fn character(name: &BytesRef<'_>) -> Result<String, String> {
    let by_number = name.resolve_char_ref().map_err(|error| format!("it is no XML: {error}"))?;
    let known = || resolve_xml_entity(name).map(str::to_owned);
    by_number.map(String::from).or_else(known).ok_or_else(|| format!("it uses an entity of its own, `{}`", &**name))
}

/// What is read until now.
#[derive(Default)]
struct File {
    tests: Vec<TestResult>,
    depth: usize,
    suites: usize,
    /// The suites around.
    suite: Vec<Suite>,
    test: Option<TestResult>,
    /// The words of a failure are being read.
    is_failure: bool,
    text: String,
}

/// What a suite says of the tests in it.
struct Suite {
    name: Option<String>,
    file: Option<String>,
}

impl File {
    fn begins(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        self.depth += 1;
        match element.local_name().as_ref() {
            "testsuite" => {
                let attributes = Attributes::of(element)?;
                self.suites += 1;
                self.suite.push(Suite { name: attributes.value("name")?, file: attributes.value("file")? });
            }
            "testcase" => self.test = Some(self.test_of(&Attributes::of(element)?)?),
            "skipped" | "disabled" => self.went(TestOutcome::Skipped),
            "failure" | "error" => {
                let attributes = Attributes::of(element)?;
                self.is_failure = true;
                self.text.clear();
                let (kind, message) = (attributes.value("type")?, attributes.value("message")?);
                self.went(TestOutcome::Failed { kind, message });
            }
            _ => {}
        }
        Ok(())
    }

    fn test_of(&self, attributes: &Attributes<'_>) -> Result<TestResult, String> {
        let name = attributes.value("name")?.unwrap_or_default();
        let file = attributes.value("file")?;
        let suite = self.suite.last();
        let class = attributes.value("classname")?.or(attributes.value("class")?).or_else(|| file.clone());
        let class = class.or_else(|| suite?.name.clone()).unwrap_or_default();
        let id = if class.is_empty() || class == name { name.clone() } else { format!("{class}.{name}") };
        // GoogleTest and ctest say so in an attribute.
        let is_run = !matches!(attributes.value("status")?.as_deref(), Some("notrun" | "disabled" | "skipped"));
        let outcome = if is_run { TestOutcome::Passed } else { TestOutcome::Skipped };
        let line = attributes.value("line")?.or(attributes.value("lineno")?).and_then(|line| line.parse().ok());
        let file = file.or_else(|| suite?.file.clone());
        Ok(TestResult { id, name, line: line.filter(|_| file.is_some()), file, outcome })
    }

    /// The first failure of a test is what it failed by.
    fn went(&mut self, outcome: TestOutcome) {
        if let Some(test) = self.test.as_mut().filter(|test| !matches!(test.outcome, TestOutcome::Failed { .. })) {
            test.outcome = outcome;
        }
    }

    fn says(&mut self, text: &str) {
        if self.is_failure {
            let left = MOST_WORDS.saturating_sub(self.text.len());
            self.text.push_str(&text[..text.floor_char_boundary(left)]);
        }
    }

    fn ends(&mut self, element: &str) {
        self.depth = self.depth.saturating_sub(1);
        match element {
            "testsuite" => _ = self.suite.pop(),
            "failure" | "error" => {
                self.is_failure = false;
                let first =
                    self.text.lines().map(str::trim).find(|line| !line.is_empty()).map(|line| ends(line, |_, _| true));
                let Some(test) = &mut self.test else { return };
                let TestOutcome::Failed { message, .. } = &mut test.outcome else { return };
                *message = message.take().filter(|message| !message.trim().is_empty()).or(first);
                // Nearer than where the test begins, and counted from 1 by everybody.
                let at = test.file.as_deref().and_then(|file| line_of(&self.text, file));
                test.line = at.or(test.line);
            }
            "testcase" => self.tests.extend(self.test.take()),
            _ => {}
        }
    }
}

/// The first line of a file that a text names, as `FILE:LINE`.
fn line_of(text: &str, file: &str) -> Option<u32> {
    let file = file.strip_prefix("./").unwrap_or(file);
    text.match_indices(file).find_map(|(at, _)| {
        let rest = text[at + file.len()..].strip_prefix(':')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    })
}

/// The attributes of an element, as they are written. Each is looked at once, and no value letter by letter: some are megabytes long.
struct Attributes<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Attributes<'a> {
    fn of(element: &'a BytesStart<'_>) -> Result<Self, String> {
        let mut found = Vec::new();
        let mut rest = element.attributes_raw().trim();
        while !rest.is_empty() {
            let (name, value) = rest.split_once('=').ok_or_else(|| unreadable("it has no value"))?;
            let value = value.trim_start();
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
            let quoted = quote.and_then(|quote| value[1..].split_once(quote));
            let (value, after) = quoted.ok_or_else(|| unreadable("its value is not quoted"))?;
            found.push((name.trim(), value));
            rest = after.trim_start();
        }
        Ok(Self(found))
    }

    fn value(&self, name: &str) -> Result<Option<String>, String> {
        let Some((_, value)) = self.0.iter().find(|(found, _)| *found == name) else { return Ok(None) };
        let written = Attribute { key: QName(name), value: ends(value, |text, at| !is_in_reference(text, at)).into() };
        let value =
            written.normalized_value(XmlVersion::Implicit1_0).map_err(|error| unreadable(&error.to_string()))?;
        Ok(Some(ends(&value, |_, _| true)).filter(|value| !value.is_empty()))
    }
}

fn unreadable(why: &str) -> String {
    format!("an attribute cannot be read: {why}")
}

/// Whether a place in a text is in the middle of `&name;`.
fn is_in_reference(text: &str, at: usize) -> bool {
    let before = &text.as_bytes()[at.saturating_sub(LONGEST_REFERENCE)..at];
    before.iter().rev().find(|byte| matches!(byte, b'&' | b';')) == Some(&b'&')
}

/// A text, or its two ends if it is too long, cut where that may be.
fn ends(text: &str, may_cut: fn(&str, usize) -> bool) -> String {
    if text.len() <= MOST_BYTES {
        return text.to_owned();
    }
    let fits = |at: &usize| text.is_char_boundary(*at) && may_cut(text, *at);
    let head = (0..=MOST_BYTES / 2).rev().find(fits).unwrap_or(0);
    let tail = (text.len() - MOST_BYTES / 2..=text.len()).find(fits).unwrap_or(text.len());
    format!("{}…{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `id: outcome`, a line each.
    fn check(xml: &str, expected: &[&str]) {
        let shown = |test: TestResult| match test.outcome {
            TestOutcome::Passed => format!("{}: passed", test.id),
            TestOutcome::Skipped => format!("{}: skipped", test.id),
            TestOutcome::Failed { kind, message } => {
                format!("{}: {} {}", test.id, kind.unwrap_or_default(), message.unwrap_or_default())
            }
        };
        assert_eq!(junit(xml).unwrap().into_iter().map(shown).collect::<Vec<_>>(), expected, "{xml}");
    }

    #[test]
    fn what_runners_write_is_read() {
        // pytest
        check(
            r#"<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="0" failures="1" tests="3">
            <testcase classname="test_calc.T" name="test_add[1-&gt;2]" time="0.001"><failure message="assert -1 == 5&#10; +  where -1 = add(2, 3)">def test_add():
E   assert -1 == 5</failure></testcase><testcase classname="test_calc" name="test_sub" time="0.0" />
            <testcase classname="test_calc" name="test_later"><skipped type="pytest.skip" message="later">x</skipped></testcase></testsuite></testsuites>"#,
            &[
                "test_calc.T.test_add[1->2]:  assert -1 == 5\n +  where -1 = add(2, 3)",
                "test_calc.test_sub: passed",
                "test_calc.test_later: skipped",
            ],
        );
        // Maven
        check(
            r#"<testsuite name="a.ShopTest" tests="2" errors="1" failures="0"><properties><property name="x" value="y"/></properties>
            <testcase name="adds" classname="a.ShopTest" time="0.01"><error type="java.lang.NullPointerException"><![CDATA[java.lang.NullPointerException
	at a.Shop.add(Shop.java:3)]]></error><system-out><![CDATA[<testcase name="no"/>]]></system-out></testcase>
            <testcase name="flaky" classname="a.ShopTest"><flakyFailure message="once" type="X"/></testcase></testsuite>"#,
            &[
                "a.ShopTest.adds: java.lang.NullPointerException java.lang.NullPointerException",
                "a.ShopTest.flaky: passed",
            ],
        );
        // PHPUnit's suites stand in each other; ctest has no class.
        check(
            r#"<testsuites><testsuite name="all"><testsuite name="ATest" file="/w/ATest.php"><testcase name="testA" class="ATest" classname="ATest" file="/w/ATest.php"/></testsuite></testsuite></testsuites>"#,
            &["ATest.testA: passed"],
        );
        check(
            r#"<testsuite name="Linux-c++"><testcase name="one" classname="one" status="fail"><failure message=""/></testcase><testcase name="two" classname="two" status="disabled"/></testsuite>"#,
            &["one:  ", "two: skipped"],
        );
    }

    #[test]
    fn where_a_test_failed_is_read() {
        let place = |case: &str| {
            let found = junit(&format!("<testsuite name=\"s\" file=\"/w/s_spec.rb\">{case}</testsuite>")).unwrap();
            (found[0].file.clone().unwrap_or_default(), found[0].line)
        };
        let check =
            |case: &str, file: &str, line: Option<u32>| assert_eq!(place(case), (file.to_owned(), line), "{case}");
        check(r#"<testcase name="a" file="/w/ATest.php" line="12"/>"#, "/w/ATest.php", Some(12));
        // pytest counts from 0 in the attribute.
        check(
            r#"<testcase name="a" file="t/test_a.py" line="4"><failure message="assert 1 == 2">E  assert 1 == 2

t/test_a.py:6: AssertionError</failure></testcase>"#,
            "t/test_a.py",
            Some(6),
        );
        check(
            r#"<testcase name="a" file="src/a.test.js"><failure>Error: x
    at Object.&lt;anonymous&gt; (/w/src/a.test.js:3:10)</failure></testcase>"#,
            "src/a.test.js",
            Some(3),
        );
        check(r#"<testcase name="a" line="x"><failure>no</failure></testcase>"#, "/w/s_spec.rb", None);
    }

    #[test]
    fn of_what_is_far_too_long_the_ends_stay() {
        let long = "ä&lt;".repeat(2 << 20);
        let case =
            format!("<testcase name=\"first {long} last\"><failure message=\"{long}\">{long}</failure></testcase>");
        let found =
            junit(&format!("<testsuite>{case}<testcase name=\"a\"><failure>{long}</failure></testcase></testsuite>"))
                .unwrap();
        assert!(found[0].name.starts_with("first ") && found[0].name.ends_with(" last"));
        for test in found {
            let TestOutcome::Failed { message: Some(message), .. } = test.outcome else { panic!("{:?}", test.outcome) };
            assert!(test.id.len() < 5000 && message.len() < 5000, "{} {}", test.id.len(), message.len());
        }
    }

    proptest::proptest! {
        #[test]
        fn anything_is_read_or_refused(parts in proptest::collection::vec("<testsuite name=\"ä\">|</testsuite>|<testcase name='|a'/>|<failure message=\"&lt;\">|</failure>|&#x41;|&b;|<!\\[CDATA\\[|\\]\\]>|<!--|.{0,4}", 0..12)) {
            let _ = junit(&parts.concat());
        }
    }

    #[test]
    fn what_is_no_result_is_an_error() {
        for text in [
            "",
            "no xml",
            "<a/>",
            "<testsuite name=a/>",
            "<testsuite name/>",
            "<testsuite name='&a;'/>",
            "<testsuite><testcase name=\"a\"/>",
            "<testsuite><testcase></testsuite>",
        ] {
            assert!(junit(text).is_err(), "{text}");
        }
        // Nothing is expanded that a file defines.
        let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><testsuite name=\"&b;\"><testcase name=\"a\"/></testsuite>";
        assert!(junit(bomb).is_err());
    }
}
