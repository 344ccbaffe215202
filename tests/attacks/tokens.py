"""Keys and passwords that checks, setup and agents print: none is stored, shown, sent or told to the next attempt."""

import json
import os
import random
import re
import string
from dataclasses import replace
from functools import partial

from cases import Case, Setup
from world import PATIENCE, Wrong, write

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALL, HEX, SMALL = LOWER + UPPER + DIGITS, "0123456789abcdef", LOWER + DIGITS
UUID = [(HEX, 8), (HEX, 4), (HEX, 4), (HEX, 4), (HEX, 12)]


def made(seed, *parts):
    """Of fixed parts and random ones `(alphabet, length)`: no token stands in this file."""
    chance = random.Random(seed)
    return "".join(part if isinstance(part, str) else "".join(chance.choices(part[0], k=part[1])) for part in parts)


# By its own looks: what stands around it says nothing.
ALONE = {
    "1password": ("A3-", (UPPER + DIGITS, 6), "-", (UPPER + DIGITS, 11), "-", (UPPER + DIGITS, 5), "-", (UPPER + DIGITS, 5), "-", (UPPER + DIGITS, 5)),
    "adobe": ("p8e-", (SMALL, 32)),
    "age": ("AGE-SECRET-", "KEY-1", ("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    "airtable": ("pat", (ALL, 14), ".", (HEX, 64)),
    "alibaba": ("LT", "AI", (SMALL, 20)),
    "anthropic": ("sk-ant-", "api03-", (ALL, 93), "AA"),
    "anthropic-admin": ("sk-ant-", "admin01-", (ALL, 93), "AA"),
    "aws": ("AK", "IA", (UPPER + "234567", 16)),
    "aws-session": ("AS", "IA", (UPPER + "234567", 16)),
    "clickhouse": ("4b", "1d", (ALL, 38)),
    "clojars": ("CLOJ", "ARS_", (SMALL, 60)),
    "cloudflare-origin": ("v1", ".0-", (HEX, 24), "-", (HEX, 146)),
    "databricks": ("da", "pi", (HEX, 32)),
    "digitalocean": ("do", "p_v1_", (HEX, 64)),
    "digitalocean-oauth": ("do", "o_v1_", (HEX, 64)),
    "doppler": ("dp.", "pt.", (SMALL, 43)),
    "duffel": ("duffel_", "live_", (SMALL, 43)),
    "dynatrace": ("dt0", "c01.", (SMALL, 24), ".", (SMALL, 64)),
    "easypost": ("EZ", "AK", (SMALL, 54)),
    "flutterwave": ("FLWSECK_", "TEST-", ("abcdefgh0123456789", 32), "-X"),
    "frameio": ("fio-", "u-", (SMALL, 64)),
    "gcp": ("AI", "za", (ALL, 35)),
    "github": ("gh", "p_", (ALL, 36)),
    "github-app": ("gh", "s_", (ALL, 36)),
    "github-fine": ("github_", "pat_", (ALL, 82)),
    "github-oauth": ("gh", "o_", (ALL, 36)),
    "github-refresh": ("gh", "r_", (ALL, 36)),
    "gitlab": ("gl", "pat-", (ALL, 20)),
    "gitlab-deploy": ("gl", "dt-", (ALL, 20)),
    "gitlab-runner": ("gl", "rt-", (ALL, 20)),
    "gitlab-trigger": ("gl", "ptt-", (HEX, 40)),
    "grafana": ("gl", "sa_", (ALL, 32), "_", (HEX, 8)),
    "grafana-cloud": ("gl", "c_", (ALL, 60)),
    "harness": ("pat", ".", (ALL, 22), ".", (ALL, 24), ".", (ALL, 20)),
    "heroku": ("HRKU", "-AA", (ALL, 58)),
    "huggingface": ("h", "f_", (LOWER + UPPER, 34)),
    "infracost": ("ic", "o-", (ALL, 32)),
    "jwt": ("ey", "J", (ALL, 40), ".ey", (ALL, 60), ".", (ALL, 43)),
    "linear": ("lin_", "api_", (SMALL, 40)),
    "maxmind": ((ALL, 6), "_", (ALL, 29), "_mmk"),
    "notion": ("nt", "n_", (DIGITS, 11), (ALL, 35)),
    "npm": ("np", "m_", (SMALL, 36)),
    "octopus": ("AP", "I-", (UPPER + DIGITS, 26)),
    "openai": ("sk-", (ALL, 20), "T3Blbk", "FJ", (ALL, 20)),
    "openshift": ("sha256", "~", (ALL, 43)),
    "perplexity": ("pp", "lx-", (ALL, 48)),
    "planetscale": ("pscale_", "tkn_", (ALL, 40)),
    "postman": ("PM", "AK-", (HEX, 24), "-", (HEX, 34)),
    "prefect": ("pn", "u_", (ALL, 36)),
    "pulumi": ("pu", "l-", (HEX, 40)),
    "pypi": ("pypi-", "AgEIcHlwaS5vcmc", (ALL, 80)),
    "readme": ("rd", "me_", (SMALL, 70)),
    "rubygems": ("ruby", "gems_", (HEX, 48)),
    "sendgrid": ("S", "G.", (SMALL, 22), ".", (SMALL, 43)),
    "sendinblue": ("xkey", "sib-", (HEX, 64), "-", (SMALL, 16)),
    "sentry": ("sn", "tryu_", (HEX, 64)),
    "shippo": ("shippo_", "live_", (HEX, 40)),
    "shopify": ("shp", "at_", (HEX, 32)),
    "shopify-secret": ("shp", "ss_", (HEX, 32)),
    "slack": ("xo", "xb-", ("123456789", 12), "-", ("123456789", 12), "-", (ALL, 24)),
    "slack-webhook": ("https://hooks.", "slack.com/services/T", (UPPER + DIGITS, 10), "/B", (UPPER + DIGITS, 10), "/", (ALL, 24)),
    "square": ("sq0", "atp-", (ALL, 22)),
    "stripe": ("sk_", "live_", (ALL, 30)),
    "twilio": ("S", "K", (HEX, 32)),
    "vault": ("hv", "s.", (ALL, 95)),
}
# By the name or the place beside it, `@` is where it stands.
NAMED = {
    "api-key": ("api_key = '@'", ((ALL, 32),)),
    "authorization": ("Authorization: Basic @", ((ALL, 40),)),
    "aws-secret": ("aws_secret_access_key = @", ((ALL, 40),)),
    "azure": ("AccountKey=@==;EndpointSuffix=core", ((ALL, 86),)),
    "bearer": ("curl -H 'X: Bearer @' host", ((ALL, 40),)),
    "datadog": ("DATADOG_API=@", ((SMALL, 40),)),
    "docker": ('"auth": "@"', ((ALL, 40),)),
    "heroku-key": ("HEROKU_API_KEY=@", tuple(part for pair in zip(UUID, "----") for part in pair) + (UUID[-1],)),
    "netrc": ("machine host login me password @", ((ALL, 14),)),
    "npmrc": ("//registry/:_authToken=@", ((ALL, 36),)),
    "password": ("db.password=@", ((ALL, 16),)),
    "signed-url": ("https://host/file?X-Amz-Signature=@", ((HEX, 64),)),
    "url": ("postgres://app:@@db:5432/app", ((ALL, 16),)),
}
OF_ENVIRONMENT = "an ordinary sentence, and yet a secret"


def planted():
    """What stands nowhere afterwards, by name, and the lines that are printed."""
    secrets, lines = {"environment": OF_ENVIRONMENT}, [f"deploys with {OF_ENVIRONMENT}"]
    for name, parts in ALONE.items():
        secret = secrets[name] = made(name, *parts)
        lines += [f"error: {secret}", f"({secret}),", f'{{"token":"{secret}"}}', f"\x1b[31m{secret}\x1b[0m", f"https://host/?q={secret}&x=1", f"first\\n{secret}\\nlast"]
    for name, (text, parts) in NAMED.items():
        # A digit, as what is found by its name alone has one.
        secret = secrets[name] = made(name, *parts)[:-1] + "7"
        line = secret.join(text.split("@", 1))
        lines += [line, f"\x1b[31m{line}\x1b[0m", json.dumps({"line": line})]
    return secrets, lines


# What ordinary programs print, and nobody may lose.
ORDINARY = [
    "   Compiling shop v0.1.0 (/src/shop)", "error[E0277]: the trait bound `Key: Hash` is not satisfied", "  --> src/auth/token.rs:12:5",
    "KeyError: 'token_2'", "AssertionError: access denied for key=3", "commit e35f2fe0c6b1d0a4f1d8a5b0f8a6d5d3c2b1a090",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "password: required", "http://localhost:8080/@scope/name",
    "tests/test_auth.py::test_token_is_refused FAILED", "npm ERR! code E401", "added 212 packages in 3s",
]

NOTE = Setup("secret-note", {"answer.txt": "wrong\n", ".gitignore": "build/\n"}, "grep -qx right answer.txt",
             ({"name": "written", "run": 'cat "$S/printed"; cat "$S/printed" >&2; grep -qx right answer.txt'},),
             {"notify": [{"type": "command", "argv": ["sh", "-c", 'cat >> "$S/notices"']}]})
AGENT = 'cat "$REFLEXION_PROMPT_FILE" >> "$S/prompts"; cat "$S/printed"; '
# Plays Claude Code: thoughts, a tool's input and output, an error on stderr, last words.
STREAM = """\
import json, os, sys
text = open(os.environ["S"] + "/printed").read()
open(os.environ["S"] + "/prompts", "a").write(open(os.environ["REFLEXION_PROMPT_FILE"]).read())
def say(**record): print(json.dumps({"session_id": "5f0c2a52-7b0e-4b43-9f0c-0d7f4c1f7a11", **record}), flush=True)
def assistant(*content): say(type="assistant", message={"role": "assistant", "content": list(content)})
say(type="system", subtype="init", model="claude-played")
assistant({"type": "thinking", "thinking": text}, {"type": "text", "text": text})
assistant({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": text}})
say(type="user", message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": text, "is_error": True}]})
print(text, file=sys.stderr)
open("answer.txt", "w").write("right\\n" if os.environ["REFLEXION_ATTEMPT"] == "3" else "almost " + os.environ["REFLEXION_ATTEMPT"])
say(type="result", subtype="success", is_error=False, result=text, num_turns=1)
"""


def shown(world, *commands):
    """What these commands print."""
    said = ""
    for command in commands:
        _, out, err = world.run(*command, limit=PATIENCE)
        said += out + err
    return said


LOOKING = (("status",), ("report",), ("report", "--json"), ("memory", "list", "--json"), ("transcript", "list"))


def places(world):
    """Every text that is stored, sent or told, by its file."""
    for top in (world.project / "memory", world.project / ".reflection", world.scratch):
        for directory, _, names in os.walk(top):
            for name in names:
                path = os.path.join(directory, name)
                if name != "printed" and os.path.isfile(path):
                    yield os.path.relpath(path, world.place), open(path, encoding="utf-8", errors="replace").read()


def printed(world, lines, command=("run",), settings=None):
    """A run in which everybody prints these lines: every text that came of it, by its place."""
    write(world.scratch / "printed", "\n".join(lines) + "\n")
    world.env["DEPLOY_TOKEN"] = OF_ENVIRONMENT
    if settings:
        path = world.project / "project.json"
        write(path, json.dumps({**json.loads(path.read_text()), **settings}))
        world.git("commit", "-qam", "other settings")
    _, out, err = world.run(*command)
    texts = dict(places(world))
    texts["terminal"] = out + err
    transcripts = re.findall(r"\b\w{8}-\w{4}-\w{4}-\w{4}-\w{12}\b", shown(world, ("transcript", "list", "--json")))
    texts["commands"] = shown(world, *LOOKING, *(("transcript", "show", session) for session in transcripts))
    return texts


def nothing_stored(world, settings=None, must=("memory", "prompts", "terminal"), command=("run",)):
    secrets, lines = planted()
    texts = printed(world, lines, command, settings)
    # The tail of a long line is what a reader would use, too.
    found = {name: [place for place, text in texts.items() if secret in text or secret[3:-3] in text] for name, secret in secrets.items()}
    wrong = [f"{name} stands in {places}" for name, places in found.items() if places]
    unseen = [part for part in must if not any(part in place and "[redacted:" in text for place, text in texts.items())]
    return wrong + [f"nothing was printed to {part}, so this case shows nothing" for part in unseen]


def nothing_lost(world):
    """The honest control: the same run prints what programs print, and all of it is where it would be without this."""
    texts = printed(world, ORDINARY)
    changed = [place for place, text in texts.items() if "[redacted:" in text]
    if "confirmed" not in texts["terminal"]:
        raise Wrong(f"honest work is not confirmed: {texts['terminal'][-300:]}")
    prompts = texts.get("scratch/prompts", "")
    return [f"something is taken for a secret in {changed}"] * bool(changed) + [f"not told: {line}" for line in ORDINARY[-3:] if line not in prompts]


TWICE = (AGENT + "echo almost > answer.txt", AGENT + "echo nearly > answer.txt", AGENT + "right")
CLAUDE = {"agents": {"default": "claude", "claude": {"argv": ["sh", "-c", 'exec "$PY" "$S/../agent/stream.py"']}}}


def by_adapter(world):
    write(world.place / "agent/stream.py", STREAM)
    return nothing_stored(world, CLAUDE, ("memory", "prompts", "transcripts"))


def by_setup(world):
    return nothing_stored(world, {"setup": 'cat "$S/printed" >&2; exit 1'}, ("terminal", "notices", "journal"))


# As shells and libraries read a file of variables, each with a value of its own.
SPELT = ("A_TOKEN={}", "export\tB_TOKEN={}", 'declare -x C_TOKEN="{}"', "readonly D_TOKEN={}", "E_TOKEN={}; export E_TOKEN", "F_TOKEN=$'{}'", "env G_TOKEN={} prog",
         "H_TOKEN={} && prog", "export I=1 J_TOKEN={}", "K_TOKEN='{}' # why")
VALUE = "zQ8wRt5yUi{:02}kk"
CARRIED = replace(NOTE, name="carried-secrets", files={**NOTE.files, ".gitignore": ".env*\n"}, untracked={
    ".env": "".join(line.format(VALUE.format(at)) + "\n" for at, line in enumerate(SPELT)),
    ".env.wide": f"WIDE_TOKEN={VALUE.format(50)}\n".encode("utf-16"),
}, settings={**NOTE.settings, "carry": [".env*"]}, carried=(".env", ".env.wide"))


def kept_secret(world, values, settings=None):
    """Values without a form of their own, which everybody prints: known by where they stand."""
    texts = printed(world, ["opens", *values, "ends"], settings=settings)
    if not any("ends" in text for place, text in texts.items() if "prompts" in place):
        raise Wrong("nothing was printed, so this case shows nothing")
    return [f"{value} stands in {[place for place, text in texts.items() if value in text]}" for value in values if any(value in text for text in texts.values())]


def carried(world):
    return kept_secret(world, [VALUE.format(at) for at in (*range(len(SPELT)), 50)])


def named_by_settings(world):
    """Variables of any name, of which the settings say that a secret stands in them."""
    names = ("HOOK_ADDRESS", "HOOK_HEADER", "MY_TOPIC", "MY_LOGIN")
    world.env.update({name: ("http://127.0.0.1:9/" if at == 0 else "") + VALUE.format(60 + at) for at, name in enumerate(names)})
    notify = [*NOTE.settings["notify"], {"type": "webhook", "urlEnv": names[0], "headersEnv": {"X-Own": names[1]}},
              {"type": "ntfy", "url": "http://127.0.0.1:9", "topicEnv": names[2], "tokenEnv": names[3]}]
    return kept_secret(world, [world.env[name] for name in names], {"notify": notify})


ATTACKS = [
    Case("carried-in-any-spelling", CARRIED, TWICE, "ordinary", play=carried),
    Case("named-by-settings", NOTE, TWICE, "ordinary", play=named_by_settings),
    Case("printed-by-check-and-agent", NOTE, TWICE, "ordinary", play=nothing_stored),
    Case("printed-by-adapter", NOTE, TWICE, "ordinary", play=by_adapter),
    Case("printed-by-setup", NOTE, TWICE, "ordinary", play=by_setup),
    Case("printed-in-a-night", NOTE, TWICE, "ordinary", play=partial(nothing_stored, command=("overnight", "--jobs", "1")), slow=True),
]
CONTROLS = {"ordinary": Case("ordinary", NOTE, TWICE, play=nothing_lost)}
