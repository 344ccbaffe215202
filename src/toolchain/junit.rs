//! The results of tests as JUnit XML: what Maven, Gradle, pytest, PHPUnit, RSpec, ctest, Playwright, `dotnet test`, nextest and many
//! others write where they are asked to.

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::BytesRef;
use quick_xml::events::BytesStart;
use quick_xml::events::Event;

/// One test of such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestResult {
    /// Its class, file or suite, and its name.
    pub id: String,
    /// Its name.
    pub name: String,
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
/// # use reflexion::toolchain::TestOutcome;
/// let xml = r#"<testsuite name="calc"><testcase classname="test_calc" name="test_add"/></testsuite>"#;
/// let found = reflexion::toolchain::junit(xml)?;
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
    /// The names of the suites around.
    suite: Vec<String>,
    test: Option<TestResult>,
    /// The words of a failure are being read.
    is_failure: bool,
    text: String,
}

impl File {
    fn begins(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        self.depth += 1;
        match element.local_name().as_ref() {
            "testsuite" => {
                self.suites += 1;
                self.suite.push(attribute(element, "name")?.unwrap_or_default());
            }
            "testcase" => self.test = Some(self.test_of(element)?),
            "skipped" | "disabled" => self.went(TestOutcome::Skipped),
            "failure" | "error" => {
                self.is_failure = true;
                self.text.clear();
                let (kind, message) = (attribute(element, "type")?, attribute(element, "message")?);
                self.went(TestOutcome::Failed { kind, message });
            }
            _ => {}
        }
        Ok(())
    }

    fn test_of(&self, element: &BytesStart<'_>) -> Result<TestResult, String> {
        let name = attribute(element, "name")?.unwrap_or_default();
        let class = match attribute(element, "classname")?.or(attribute(element, "class")?) {
            Some(class) => class,
            None => attribute(element, "file")?.or_else(|| self.suite.last().cloned()).unwrap_or_default(),
        };
        let id = if class.is_empty() || class == name { name.clone() } else { format!("{class}.{name}") };
        // GoogleTest and ctest say so in an attribute.
        let is_run = !matches!(attribute(element, "status")?.as_deref(), Some("notrun" | "disabled" | "skipped"));
        let outcome = if is_run { TestOutcome::Passed } else { TestOutcome::Skipped };
        Ok(TestResult { id, name, outcome })
    }

    /// The first failure of a test is what it failed by.
    fn went(&mut self, outcome: TestOutcome) {
        if let Some(test) = self.test.as_mut().filter(|test| !matches!(test.outcome, TestOutcome::Failed { .. })) {
            test.outcome = outcome;
        }
    }

    fn says(&mut self, text: &str) {
        if self.is_failure {
            self.text.push_str(text);
        }
    }

    fn ends(&mut self, element: &str) {
        self.depth = self.depth.saturating_sub(1);
        match element {
            "testsuite" => _ = self.suite.pop(),
            "failure" | "error" => {
                self.is_failure = false;
                let first = self.text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
                if let Some(TestOutcome::Failed { message, .. }) = self.test.as_mut().map(|test| &mut test.outcome) {
                    *message = message.take().filter(|message| !message.trim().is_empty()).or(first);
                }
            }
            "testcase" => self.tests.extend(self.test.take()),
            _ => {}
        }
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    let unreadable = |error: String| format!("an attribute cannot be read: {error}");
    let Some(found) = element.try_get_attribute(name).map_err(|error| unreadable(error.to_string()))? else {
        return Ok(None);
    };
    let value = found.normalized_value(XmlVersion::Implicit1_0).map_err(|error| unreadable(error.to_string()))?;
    Ok(Some(value.into_owned()).filter(|value| !value.is_empty()))
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

    proptest::proptest! {
        #[test]
        fn anything_is_read_or_refused(parts in proptest::collection::vec("<testsuite name=\"ä\">|</testsuite>|<testcase name='|a'/>|<failure message=\"&lt;\">|</failure>|&#x41;|&b;|<!\\[CDATA\\[|\\]\\]>|<!--|.{0,4}", 0..12)) {
            let _ = junit(&parts.concat());
        }
    }

    #[test]
    fn what_is_no_result_is_an_error() {
        for text in ["", "no xml", "<a/>", "<testsuite><testcase name=\"a\"/>", "<testsuite><testcase></testsuite>"] {
            assert!(junit(text).is_err(), "{text}");
        }
        // Nothing is expanded that a file defines.
        let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><testsuite name=\"&b;\"><testcase name=\"a\"/></testsuite>";
        assert!(junit(bomb).is_err());
    }
}
