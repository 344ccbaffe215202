//! The report's page in a real browser: what needs you is seen without scrolling on a phone, nothing is wider than the screen,
//! and every word can be read in light and in dark.

use super::made_up_night::Night;
use jiff::tz::TimeZone;
use reflexion::domain::{ChangeSize, Life, ShownChange};
use reflexion::report::night;
use reflexion::report::night::Times;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A cold start on a busy machine takes a few seconds.
const PATIENCE: Duration = Duration::from_secs(90);
/// What a phone shows at once.
const PHONE: (u32, u32) = (390, 844);
/// WCAG 2.2, success criterion 1.4.3.
const CONTRAST: f64 = 4.5;

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|dir| names.map(|name| dir.join(name))).find(|file| file.is_file())
}

fn page(title: Option<&str>) -> String {
    let made_up = Night::titled(40, 4, title);
    let lessons = made_up.lessons.iter().map(|lesson| (lesson.id.clone(), lesson.clone())).collect();
    let told = night::Night::of(&made_up.log(made_up.entries.len()), Life::Gone).with_lessons(lessons);
    let words = title.unwrap_or("one more line");
    let change = ShownChange {
        from: "4f2a9c1e7b3d".to_owned(),
        to: "9c1e7b3d4f2a".to_owned(),
        size: ChangeSize { added: 1, removed: 1, files: 1 },
        diff: Some(format!("diff --git a/{words} b/{words}\n@@ -1,2 +1,2 @@\n same\n-{words}\n+{words}, changed\n")),
    };
    let places: Vec<usize> = told.kept_changes().into_iter().map(|(place, _)| place).collect();
    assert!(!places.is_empty());
    let told = told.with_changes(places.into_iter().map(|place| (place, Some(change.clone()))));
    let times = Times { zone: TimeZone::get("Europe/Berlin").unwrap(), now: "2026-11-22T06:30:00Z".parse().unwrap() };
    night::html(&told, &times)
}

/// A page that shows the report in frames of given widths and colour schemes; a frame takes its scheme from its element.
fn frames(report: &str, frames: &[(u32, u32, &str)], script: &str) -> String {
    let report = report.replace('&', "&amp;").replace('"', "&quot;");
    let frame = |(width, height, scheme): &(u32, u32, &str)| {
        format!(
            "<iframe style=\"width:{width}px;height:{height}px;border:0;color-scheme:{scheme}\" srcdoc=\"{report}\"></iframe>"
        )
    };
    let frames: Vec<String> = frames.iter().map(frame).collect();
    format!(
        "<!doctype html><meta charset=utf-8><body style=\"margin:0;white-space:nowrap\">{}<pre id=measured></pre><script>{script}</script>",
        frames.join("")
    )
}

/// Measures every frame when all are there; the first paragraph of a frame must be measured before `details` are opened.
const MEASURE: &str = r##"
const channel = c => { c /= 255; return c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; };
const numbers = color => color.match(/[\d.]+/g).map(Number);
const luminance = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((m, n) => n - m); return (x + .05) / (y + .05); };
function background(element, view) {
  for (let e = element; e; e = e.parentElement) {
    const color = numbers(view.getComputedStyle(e).backgroundColor);
    if (color.length < 4 || color[3] === 1) return color;
    if (color[3] !== 0) throw "half transparent";
  }
  throw "no background";
}
function measure(frame) {
  const view = frame.contentWindow, doc = frame.contentDocument, root = doc.documentElement;
  const box = selector => { const b = doc.querySelector(selector).getBoundingClientRect(); return [b.top, b.bottom]; };
  const result = {
    dark: view.matchMedia("(prefers-color-scheme: dark)").matches,
    needs: box("#needs h2"), first: box("#needs li"), needsWords: doc.querySelector("#needs").innerText.slice(0, 1500),
    scripts: doc.scripts.length,
    select: [...new Set([...doc.querySelectorAll(".commands code")].map(code => view.getComputedStyle(code).userSelect))],
    named: [...doc.querySelectorAll(".names > *")].filter(name => name.innerText && name.offsetWidth > 20).length,
  };
  for (const details of doc.querySelectorAll("details")) details.open = true;
  result.wide = [root.scrollWidth, root.clientWidth];
  result.headings = [...doc.querySelectorAll("h1,h2,h3,h4")].map(h => Number(h.tagName[1]));
  result.landmarks = ["header", "main", "footer"].filter(name => doc.querySelectorAll("body > " + name).length === 1);
  result.lowest = 99; result.measured = 0;
  const walker = doc.createTreeWalker(doc.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim() || !parent.checkVisibility()) continue;
    const ratio = contrast(numbers(view.getComputedStyle(parent).color), background(parent, view));
    result.measured++;
    if (ratio < result.lowest) { result.lowest = ratio; result.lowestWords = parent.tagName + ": " + node.data.slice(0, 60); }
  }
  return result;
}
onload = () => {
  let said;
  try { said = [...document.querySelectorAll("iframe")].map(measure); } catch (error) { said = String(error); }
  document.getElementById("measured").textContent = "[[" + encodeURIComponent(JSON.stringify(said)) + "]]";
};
"##;

/// The browser.
struct Browser(Child);

impl Browser {
    fn start(program: &Path, home: &Path, arguments: &[String], out: fs::File) -> Self {
        let mut command = Command::new(program);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.args(["--disable-dev-shm-usage", "--hide-scrollbars"]);
        command.arg(format!("--user-data-dir={}", home.join("profile").display()));
        command.args(arguments).env("HOME", home).env("XDG_CONFIG_HOME", home).env("XDG_CACHE_HOME", home);
        command.stdin(Stdio::null()).stdout(out).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn wait(&mut self) {
        let started = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                assert!(status.success(), "the browser ended with {status}");
                return;
            }
            assert!(started.elapsed() < PATIENCE, "the browser did not end within {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // What it started ends when it is gone. No group of its own: this process also runs programs by `HostRunner`.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Lets the browser load a page, and gives what it prints.
fn browse(program: &Path, html: &str, arguments: &[String]) -> String {
    let home = tempfile::tempdir().unwrap();
    let (page, out) = (home.path().join("page.html"), home.path().join("out"));
    fs::write(&page, html).unwrap();
    let mut arguments = arguments.to_vec();
    arguments.push(format!("file://{}", page.display()));
    let mut browser = Browser::start(program, home.path(), &arguments, fs::File::create(&out).unwrap());
    browser.wait();
    drop(browser);
    fs::read_to_string(out).unwrap()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(b) = rest.next() {
        if b == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(b);
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn measured(program: &Path, report: &str, sizes: &[(u32, u32, &str)]) -> Vec<Value> {
    let dom = browse(program, &frames(report, sizes, MEASURE), &["--dump-dom".to_owned()]);
    let said = dom
        .rsplit_once("\"measured\">[[")
        .and_then(|(_, rest)| rest.split_once("]]"))
        .expect("the page measured itself")
        .0;
    match serde_json::from_str(&decoded(said)).unwrap() {
        Value::Array(frames) => frames,
        other => panic!("the page could not be measured: {other}"),
    }
}

fn holds(frame: &Value, (width, height, scheme): (u32, u32, &str)) {
    let what = format!("{width} px, {scheme}: {frame}");
    assert_eq!(frame["dark"], scheme == "dark", "{what}");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} in {what}"));
    assert!(number(&frame["wide"][0]) <= number(&frame["wide"][1]), "wider than the screen: {what}");
    assert!(number(&frame["lowest"]) >= CONTRAST, "hard to read: {what}");
    assert!(number(&frame["measured"]) > 300.0, "{what}");
    assert_eq!(frame["landmarks"], serde_json::json!(["header", "main", "footer"]), "{what}");
    assert_eq!(frame["scripts"], 0, "{what}");
    assert_eq!(frame["select"], serde_json::json!(["all"]), "one click selects a command: {what}");
    assert!(number(&frame["named"]) > 10.0, "tasks are named on the timeline: {what}");
    let headings: Vec<u64> = frame["headings"].as_array().unwrap().iter().map(|h| h.as_u64().unwrap()).collect();
    assert!(
        headings[0] == 1 && headings.windows(2).all(|pair| pair[1] <= pair[0] + 1),
        "headings skip a level: {what}"
    );
    assert!(frame["needsWords"].as_str().unwrap().starts_with("Needs you"), "{what}");
    if width == PHONE.0 {
        let fold = f64::from(height);
        assert!(number(&frame["needs"][1]) < fold && number(&frame["first"][1]) < fold, "below the fold: {what}");
    }
}

#[test]
fn what_needs_you_is_seen_at_once_and_can_be_read() {
    let Some(program) = chromium() else {
        eprintln!("SKIPPED: there is no chromium on PATH, so nobody looked at the report's page");
        return;
    };
    let report = page(None);
    let (phone, tall) = (PHONE, (1280, 900));
    let sizes =
        [(phone.0, phone.1, "light"), (phone.0, phone.1, "dark"), (tall.0, tall.1, "light"), (tall.0, tall.1, "dark")];
    let frames_said = measured(&program, &report, &sizes);
    assert_eq!(frames_said.len(), sizes.len());
    for (frame, size) in frames_said.iter().zip(sizes) {
        holds(frame, size);
    }
    for (name, shown) in [("phone", &sizes[..2]), ("desktop", &sizes[2..])] {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}.png"));
        let _ = fs::remove_file(&file);
        let width: u32 = shown.iter().map(|(width, ..)| width).sum();
        let size = format!("--window-size={width},{}", shown[0].1);
        browse(&program, &frames(&report, shown, ""), &[format!("--screenshot={}", file.display()), size]);
        assert!(fs::metadata(&file).unwrap().len() > 20_000, "{} shows nothing", file.display());
    }
}

/// Without a browser: every link leads to one place of the page, and nowhere else.
#[test]
fn every_link_leads_to_a_place_of_the_page() {
    let report = page(None);
    let values = |name: &str| -> Vec<String> {
        let name = format!(" {name}=\"");
        let parts = report.split(&name).skip(1);
        parts.map(|part| part.split('"').next().unwrap().to_owned()).collect()
    };
    let (ids, links) = (values("id"), values("href"));
    let unique: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    for link in &links {
        assert!(link.strip_prefix('#').is_some_and(|id| ids.iter().any(|known| known == id)), "{link}");
    }
    for link in ["#needs", "#timeline", "#done", "#lessons", "#runs", "#task-done-dates-1"] {
        assert!(links.iter().any(|known| known == link), "{link} is not among {links:?}");
    }
}

#[test]
fn words_from_outside_stay_words_in_the_browser() {
    let Some(program) = chromium() else {
        eprintln!("SKIPPED: there is no chromium on PATH, so no hostile title was shown to a browser");
        return;
    };
    let hostile = "</title></style><script>document.title='owned'</script><img src=x onerror=alert(1)> \"' &lt; \u{202e}evil\u{1b}[2J aVeryLongWordWithoutAnyPlaceToBreakItWhichMustNotMakeThePageWiderThanThePhone";
    let frame = measured(&program, &page(Some(hostile)), &[(PHONE.0, PHONE.1, "light")]).remove(0);
    assert_eq!(frame["scripts"], 0, "{frame}");
    assert!(frame["wide"][0].as_f64() <= frame["wide"][1].as_f64(), "{frame}");
    let words = frame["needsWords"].as_str().unwrap();
    assert!(words.contains("<script>document.title='owned'</script>") && !words.contains('\u{202e}'), "{words}");
}
