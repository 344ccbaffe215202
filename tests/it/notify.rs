//! Notices as they arrive: at real programs, and at a server on this machine.

use crate::project::{Project, RIGHT, task};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// Writes every notice it gets to `$OUT/notices`, a line each, and what stands in its environment to `$OUT/env`.
const NOTES: &str = r#"cat >> "$OUT/notices"; printf '%s|%s|%s|%s|%s\n' "$REFLEXION_NOTICE" "$REFLEXION_NOTICE_TITLE" "$REFLEXION_NOTICE_TEXT" "$REFLEXION_TASK_ID" "$PWD" >> "$OUT/env""#;

fn notify(project: &Project, targets: Value) {
    project.config(|config| config["notify"] = targets);
}

fn noting() -> Value {
    json!({ "type": "command", "argv": ["sh", "-c", NOTES] })
}

fn notices(project: &Project) -> Vec<Value> {
    project.told("notices").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_command_hears_how_a_run_ended() {
    let project = Project::new(RIGHT);
    notify(&project, json!([noting()]));
    let run = project.run(&["run", "--json"]).exits(0).json();
    let told = notices(&project);
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["v"], &told[0]["kind"], &told[0]["run"]), (&json!(1), &json!("finished"), &run["run"]));
    assert_eq!(told[0]["title"], "task `a` is confirmed");
    let env = project.told("env");
    assert!(env.starts_with("finished|task `a` is confirmed|took "), "{env}");
    assert!(env.trim_end().ends_with(&format!("||{}", project.dir.canonicalize().unwrap().display())), "{env}");
    // Nothing is open, nothing is paid for, nobody is told.
    project.run(&["run"]).exits(0);
    assert_eq!(notices(&project).len(), 1);
}

#[test]
fn tasks_with_one_cause_are_one_call() {
    let project = Project::new(RIGHT);
    project.tasks(&["a", "b", "c"].map(task));
    project.config(|c| c["agents"]["sh"]["argv"] = json!(["no-such-agent"]));
    notify(
        &project,
        json!([noting(), { "type": "command", "argv": ["sh", "-c", "cat >> \"$OUT/ends\""], "on": ["ended"] }]),
    );
    project.run(&["run"]).exits(4);
    let told = notices(&project);
    let kinds: Vec<&Value> = told.iter().map(|notice| &notice["kind"]).collect();
    assert_eq!(kinds, ["needs_you", "ended"], "{told:#?}");
    assert_eq!(told[0]["task"], "a");
    assert!(told[0]["text"].as_str().unwrap().contains("no-such-agent"), "{told:#?}");
    assert_eq!(told[1]["title"], "0 of 3 confirmed");
    assert!(told[1]["text"].as_str().unwrap().starts_with("needs you: a, b, c; "), "{told:#?}");
    assert_eq!(project.told("ends").lines().count(), 1);
}

#[test]
fn an_environment_that_ends_the_run_is_told() {
    let project = Project::new(RIGHT);
    project.config(|c| c["setup"] = json!("echo no registry >&2; exit 1"));
    notify(&project, json!([noting()]));
    project.run(&["run"]).exits(4);
    let told = notices(&project);
    assert_eq!((told.len(), &told[0]["kind"]), (1, &json!("needs_you")));
    assert!(told[0]["text"].as_str().unwrap().contains("no registry"), "{told:#?}");
}

#[test]
fn a_notifier_that_fails_is_a_warning_and_changes_nothing() {
    let project = Project::new(RIGHT);
    let fails = json!({ "type": "command", "argv": ["sh", "-c", "echo no line >&2; exit 3"] });
    notify(&project, json!([fails, { "type": "command", "argv": ["no-such-program"] }, noting()]));
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.exits(0).verdict("a"), "confirmed");
    ran.says("did not reach command sh: it exited with status 3: no line");
    ran.says("no notice will reach command no-such-program: the program `no-such-program` was not found");
    assert_eq!(notices(&project).len(), 1);
}

#[test]
fn the_desktop_is_told_through_its_program() {
    let project = Project::new(RIGHT);
    let bin = project.out.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join("notify-send");
    std::fs::write(&program, "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"$a\"; done > \"$OUT/argv\"\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    notify(&project, json!([{ "type": "desktop" }]));
    project.config(|c| c["name"] = json!("$(touch \"$OUT/pwned\") <i>"));
    let mut command = project.command(&["notify", "test"]);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", bin.display()));
    crate::project::Ran::of(command, "").exits(0);
    let argv = project.told("argv");
    let argv: Vec<&str> = argv.lines().collect();
    assert_eq!(
        argv[..4],
        ["--app-name=reflexion", "--urgency=normal", "--", "reflexion, $(touch \"$OUT/pwned\") <i>: a test"]
    );
    assert!(!project.out.join("pwned").exists());
}

#[test]
fn who_would_be_told_is_seen_beforehand() {
    let project = Project::new(RIGHT);
    project.run(&["notify", "test"]).exits(2).says("nobody is told of anything");
    let finding = |what: &str| {
        let json = project.run(&["doctor", "--json"]).json();
        let findings = json["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|f| f["what"] == what).unwrap_or_else(|| panic!("no {what} in {json:#}"))
    };
    assert_eq!(finding("notify")["ok"], true);
    notify(&project, json!([noting(), { "type": "command", "argv": ["no-such-program"] }]));
    assert_eq!(finding("notify, command sh")["ok"], true);
    assert_eq!(finding("notify, command no-such-program")["ok"], false);
    let tried = project.run(&["notify", "test", "--json"]);
    let json = tried.exits(1).json();
    assert_eq!(json["sent"][0], json!({ "to": "command sh", "ok": true }));
    assert_eq!((&json["sent"][1]["ok"], json["sent"].as_array().unwrap().len()), (&json!(false), 2));
    assert_eq!(notices(&project)[0]["kind"], "test");
}

#[cfg(feature = "notify")]
mod over_http {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::{Arc, Mutex};

    /// Takes requests on this machine and answers each with the same status.
    struct Server {
        address: String,
        requests: Arc<Mutex<Vec<Request>>>,
    }

    #[derive(Debug, Clone)]
    struct Request {
        line: String,
        headers: Vec<(String, String)>,
        body: String,
    }

    impl Request {
        fn header(&self, name: &str) -> Vec<&str> {
            let of_name = self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
            of_name.map(|(_, value)| value.as_str()).collect()
        }
    }

    impl Server {
        fn answering(status: &'static str) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let requests = Arc::new(Mutex::new(Vec::new()));
            let kept = Arc::clone(&requests);
            // It ends with the test's process.
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let Some(request) = stream.ok().and_then(|mut stream| read(&mut stream, status)) else { continue };
                    kept.lock().unwrap().push(request);
                }
            });
            Self { address, requests }
        }

        fn requests(&self) -> Vec<Request> {
            self.requests.lock().unwrap().clone()
        }
    }

    /// Reads a request and answers it; it is kept before the client can go on.
    fn read(stream: &mut TcpStream, status: &str) -> Option<Request> {
        let mut bytes = Vec::new();
        let head = loop {
            if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
                break end;
            }
            let mut piece = [0; 1024];
            match stream.read(&mut piece).ok()? {
                0 => return None,
                n => bytes.extend_from_slice(&piece[..n]),
            }
        };
        let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
        let mut lines = text.split("\r\n");
        let line = lines.next()?.to_owned();
        let headers: Vec<(String, String)> =
            lines.filter_map(|l| l.split_once(": ")).map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
        let length =
            headers.iter().find(|(n, _)| n.eq_ignore_ascii_case("content-length"))?.1.parse::<usize>().unwrap();
        let mut body = bytes[head + 4..].to_vec();
        while body.len() < length {
            let mut piece = [0; 1024];
            let n = stream.read(&mut piece).ok()?;
            body.extend_from_slice(&piece[..n]);
        }
        let answer =
            format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nlocation: /elsewhere\r\nconnection: close\r\n\r\n");
        let request = Request { line, headers, body: String::from_utf8(body).unwrap() };
        stream.write_all(answer.as_bytes()).ok()?;
        Some(request)
    }

    fn run(project: &Project, args: &[&str], env: &[(&str, &str)]) -> crate::project::Ran {
        let mut command = project.command(args);
        command.envs(env.iter().copied());
        crate::project::Ran::of(command, "")
    }

    #[test]
    fn a_webhook_gets_json_and_ntfy_its_headers() {
        let server = Server::answering("200 OK");
        let project = Project::new(RIGHT);
        let webhook = json!({ "type": "webhook", "urlEnv": "HOOK", "headersEnv": { "Authorization": "HOOK_AUTH" } });
        let url = format!("http://{}/", server.address);
        let ntfy = json!({ "type": "ntfy", "url": url, "topic": "my-runs_1", "tokenEnv": "TOKEN", "on": ["finished"] });
        notify(&project, json!([webhook, ntfy]));
        // The name comes from a file, and a header must stay one.
        project.config(|c| c["name"] = json!("Prüf\r\nX-Evil: 1"));
        let hook = format!("http://{}/secret-path", server.address);
        run(&project, &["run"], &[("HOOK", &hook), ("HOOK_AUTH", "Basic s3cret"), ("TOKEN", "tk_s3cret")]).exits(0);
        let requests = server.requests();
        assert_eq!(requests.len(), 2, "{requests:#?}");
        let of = |path: &str| requests.iter().find(|r| r.line == format!("POST {path} HTTP/1.1")).unwrap();
        let posted = of("/secret-path");
        assert_eq!(posted.header("authorization"), ["Basic s3cret"]);
        assert_eq!(posted.header("content-type"), ["application/json"]);
        let json: Value = serde_json::from_str(&posted.body).unwrap();
        assert_eq!((&json["kind"], &json["project"]), (&json!("finished"), &json!("Prüf X-Evil: 1")));
        let published = of("/my-runs_1");
        assert_eq!(published.header("title"), ["=?UTF-8?Q?Pr=C3=BCf_X=2DEvil=3A_1=3A_task_=60a=60_is_confirmed?="]);
        assert_eq!(published.header("priority"), ["3"]);
        assert_eq!(published.header("tags"), ["white_check_mark"]);
        assert_eq!(published.header("authorization"), ["Bearer tk_s3cret"]);
        assert!(published.body.starts_with("took "), "{published:?}");
        assert!(requests.iter().all(|r| r.header("x-evil").is_empty()));
    }

    #[test]
    fn a_server_that_refuses_is_a_warning_without_secrets() {
        let check = |status: &'static str, words: &str| {
            let server = Server::answering(status);
            let project = Project::new(RIGHT);
            let webhook =
                json!({ "type": "webhook", "urlEnv": "HOOK", "headersEnv": { "Authorization": "HOOK_AUTH" } });
            notify(&project, json!([webhook]));
            let hook = format!("http://{}/s3cret-path", server.address);
            let ran = run(&project, &["run"], &[("HOOK", &hook), ("HOOK_AUTH", "s3cret"), ("REFLEXION_LOG", "debug")]);
            ran.exits(0).says(words);
            assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("s3cret"), "{}", ran.stderr);
            // Nobody is sent to where a server points.
            assert_eq!(server.requests().len(), 1);
        };
        check("500 Internal Server Error", "did not reach webhook 127.0.0.1: the server answered with HTTP status 500");
        check("302 Found", "HTTP status 302 Found; it has moved, and redirects are not followed");
    }

    #[test]
    fn what_is_missing_is_said_before_the_night() {
        let project = Project::new(RIGHT);
        let webhook =
            json!({ "type": "webhook", "url": "http://127.0.0.1:9/x", "headersEnv": { "X-Key": "HOOK_KEY" } });
        notify(&project, json!([webhook]));
        let doctor = run(&project, &["doctor"], &[]);
        let said = doctor.exits(1).stdout.clone();
        assert!(said.contains("✗ notify, webhook 127.0.0.1: the environment variable HOOK_KEY is not set"), "{said}");
        run(&project, &["run"], &[])
            .exits(0)
            .says("no notice will reach webhook 127.0.0.1: the environment variable HOOK_KEY");
        // A key with a line break would be two headers.
        let ran = run(&project, &["notify", "test"], &[("HOOK_KEY", "a\r\nX-Evil: s3cret")]);
        let said = ran.exits(1).stdout.clone();
        assert!(said.contains("HOOK_KEY cannot be a header's value") && !said.contains("s3cret"), "{said}");
        // Nobody listens there.
        let ran = run(&project, &["notify", "test"], &[("HOOK_KEY", "k")]);
        assert!(ran.exits(1).stdout.contains("✗ webhook 127.0.0.1: "), "{}", ran.stdout);
    }
}
