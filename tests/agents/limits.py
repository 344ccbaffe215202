"""A model server in front of the scripted one, which refuses as the vendors do to people with a subscription: with the
time at which the limit ends. The agents were seen to read exactly these (Claude Code 2.1.330, Codex 0.169.0)."""

import json
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def claude(reset):
    """The unified limits of Claude's plans: https://docs.claude.com/en/api/rate-limits names the headers' kind."""
    headers = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(reset),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-status": "rejected",
        "anthropic-ratelimit-unified-5h-reset": str(reset),
        "anthropic-ratelimit-unified-5h-utilization": "1.0",
    }
    return headers, {"type": "error", "error": {"type": "rate_limit_error", "message": "This request would exceed your limit."}}


def codex(reset):
    """The usage limit of ChatGPT's plans, as codex-rs reads it (`UsageLimitReachedError`)."""
    error = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus", "resets_at": reset}
    return {}, {"error": error}


class Limited:
    """Refuses until `seconds` have passed, then passes requests on."""

    def __init__(self, upstream, refusal, seconds):
        self.reset = int(time.time()) + seconds
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if time.time() < server.reset:
                    headers, body = refusal(server.reset)
                    self.answer(429, {"Content-Type": "application/json", **headers}, json.dumps(body).encode())
                else:
                    self.answer(*server.passed_on(upstream, self.path, self.headers.get("Content-Type"), data))

            def answer(self, status, headers, data):
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def passed_on(self, upstream, path, kind, data):
        request = urllib.request.Request(upstream + path, data=data, headers={"Content-Type": kind or "application/json"}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, {"Content-Type": response.headers["Content-Type"]}, response.read()
        except urllib.error.HTTPError as error:
            return error.code, {"Content-Type": "application/json"}, error.read()

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
