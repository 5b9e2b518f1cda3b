# SPDX-License-Identifier: GPL-3.0-or-later
"""AuthAltTypes=auth/jwt: commands with SLURM_JWT, and scontrol token: RELIABILITY G1, G2, G3, G5, G10, G14. Python's hmac and json create and check
the tokens here, as other tools do."""
import base64
import hashlib
import hmac
import json
import os
import pathlib
import re
import time

import pytest

from harness import DEADLINE, PREFIX, ROOT, Cluster, eventually
from preload import NAMES
from test_encryption import OVER_TCP, Sniffer, other_conf
from test_services import prepare

pytestmark = pytest.mark.skipif(not ROOT, reason="needs root to become another user")
HEADER = {"alg": "HS256", "typ": "JWT"}
JWT = "AuthAltTypes=auth/jwt\n"
FOREVER = 253402300799  # the end of the year 9999


def encode(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=").decode()


def decode(part):
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def sign(key, text):
    return encode(hmac.new(key, text.encode(), hashlib.sha256).digest())


def token(key, header=HEADER, **claims):
    now = int(time.time())
    claims = {"exp": now + 600, "iat": now, "sun": "nobody", **claims}
    text = f"{encode(header)}.{encode({k: v for k, v in claims.items() if v is not None})}"
    return f"{text}.{sign(key, text)}"


def start(c, key=None, mode=0o600):
    """With the key file where Slurm's guide puts it; returns the key."""
    key = key or os.urandom(32)
    path = c.dir / "state" / "jwt_hs256.key"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(key)
    path.chmod(mode)
    c.key = key
    c.start()
    return c


@pytest.fixture(scope="module")
def cluster():
    c = Cluster(conf=JWT, nodes=2, start=False)
    try:
        yield start(c)
        c.check_secrets(jwt_key=c.key)
        c.stop()
    finally:
        c.destroy()


@pytest.fixture(scope="module")
def away(cluster):
    """Returns the environment of a host without daemons, where no daemon authenticates a caller."""
    path = cluster.dir / "away.conf"
    path.write_text(re.sub(r"socketdir=\S+", "socketdir=/nonexistent", cluster.conf_file.read_text()))
    path.chmod(0o644)
    return lambda jwt: {"SLURM_CONF": str(path), **({"SLURM_JWT": jwt} if jwt is not None else {})}


def log_of(c):
    return (c.dir / "slurmctld.log").read_text()


def fetch(c, *options, user=None):
    """The token, checked with the key; (token, claims)."""
    out = c.run(["scontrol", "token", *options], user=user).ok()
    text = re.fullmatch(r"SLURM_JWT=(\S+)", out)[1]
    header, claims, signature = text.split(".")
    assert hmac.compare_digest(signature, sign(c.key, f"{header}.{claims}"))
    assert decode(header) == HEADER
    return text, decode(claims)


def test_commands_need_only_a_token(cluster, away):
    """On a host without daemons, as root, for another user."""
    cluster.run("squeue -h", env=away(None)).fails("no daemon on this host can vouch for you")
    env = away(fetch(cluster, "username=nobody")[0])
    for command in ("squeue", "sinfo", "scontrol show config", "scontrol ping", "sdiag", "sprio", "strigger --get", "scontrol show nodes"):
        cluster.run(command, env=env).ok()
    job = cluster.sbatch("-o", "/dev/null", wrap="true", env=env)
    assert cluster.job(job)["UserId"].startswith("nobody(")
    assert cluster.wait(job)["JobState"] == "COMPLETED"
    held = cluster.sbatch("-H", "-o", "/dev/null", wrap="true", env=env)
    of_root = cluster.sbatch("-H", "-o", "/dev/null", wrap="true")
    cluster.run(f"scancel {of_root}", env=env).fails("Access/permission denied")
    cluster.run(f"scancel {held}", env=env).ok()
    cluster.run("scontrol update nodename=n1 state=drain reason=x", env=env).fails("denied")
    assert cluster.run("salloc -Q -N1 true", env=env).ok() == ""
    cluster.run(f"scancel {of_root}", env=away(token(cluster.key, sun="root"))).ok()  # as root, by a token


@pytest.mark.parametrize("how", ["own", "the user's"])
def test_steps_run_where_a_daemon_vouches_for_the_user(cluster, how):
    """The controller uses the JSON Web Token; node daemons accept none, and the daemon of the host authenticates the caller."""
    jwt = fetch(cluster, user="nobody")[0] if how == "own" else token(cluster.key)
    assert cluster.run(["srun", "-n1", "id", "-un"], user="nobody", env={"SLURM_JWT": jwt}).ok() == "nobody"


def test_srun_of_one_user_is_refused_with_the_token_of_another(cluster):
    """Before there is a job or a step: nodes would not start its tasks. Root may."""
    env = {"SLURM_JWT": token(cluster.key)}
    before = cluster.sbatch("-H", "-o", "/dev/null", wrap="true")
    cluster.run(f"scancel {before}").ok()
    refused = "Access/permission denied: srun of user 1 cannot start tasks of user 65534, whom SLURM_JWT names: use sbatch"
    cluster.run("srun -n1 true", user="daemon", env=env).fails(refused)
    cluster.run("srun -n1 true : -n1 true", user="daemon", env=env).fails(refused)
    job = cluster.sbatch("-o", "/dev/null", wrap="sleep 1000", user="daemon", env=env)
    cluster.wait_state(job, "RUNNING")
    assert int(job) == int(before) + 1
    cluster.run(f"srun --jobid={job} --overlap true", user="daemon", env=env).fails(refused)
    assert cluster.run(f"squeue -h -s -j {job} -o %i").ok() == f"{job}.batch"
    assert cluster.run(f"srun --jobid={job} --overlap id -un", env=env).ok() == "nobody"
    cluster.run(f"scancel {job}", user="daemon", env=env).ok()
    cluster.wait(job)


def test_scontrol_token_contains_the_claims_of_its_user(cluster):
    now = int(time.time())
    for options, user, sun, life in (([], "nobody", "nobody", 1800), (["lifespan=5"], "nobody", "nobody", 5), ([], None, "root", 1800),
                                     (["username=nobody", "lifespan=86400"], None, "nobody", 86400),
                                     (["username=nobody"], "nobody", "nobody", 1800)):
        claims = fetch(cluster, *options, user=user)[1]
        assert claims["sun"] == sun and claims["exp"] - claims["iat"] == life
        assert now <= claims["iat"] <= time.time()
    assert fetch(cluster, "lifespan=infinite")[1]["exp"] == FOREVER


def test_callers_without_a_right_get_no_token(cluster):
    """G5, G14: names of users are not the caller's to choose, and a token makes no other."""
    run = cluster.run
    run("scontrol token username=root", user="nobody").fails("only root and SlurmUser create tokens for other users")
    run("scontrol token username=no-such-user").fails("user 'no-such-user' does not exist")
    for sun in ("nobody", "root"):
        run("scontrol token", env={"SLURM_JWT": token(cluster.key, sun=sun)}).fails("cannot create another token: unset SLURM_JWT")
    for argument in ("lifespan=0", "lifespan=-1", "lifespan=1h", "lifespan=", "username=", "name=x", "infinite"):
        run(["scontrol", "token", argument]).fails(f"invalid token argument '{argument}': use lifespan=SECONDS")
    nobody = cluster.run("id -u nobody").ok()
    assert re.search(rf"refused: local uid {nobody}: uid {nobody}: TOKEN: only root", log_of(cluster))


REFUSED = {
    "another key": (lambda key: token(os.urandom(32)), "is not signed with this cluster's key"),
    "altered claims": (lambda key: ".".join([*token(key, sun="root").split(".")[:2], token(key).split(".")[2]]), "is not signed"),
    "altered header": (lambda key: ".".join([encode({**HEADER, "x": 1}), *token(key).split(".")[1:]]), "is not signed"),
    "alg none, without signature": (lambda key: token(key, {"alg": "none"}).rpartition(".")[0] + ".", "is not signed with HS256"),
    "alg none, signed": (lambda key: token(key, {"alg": "none"}), "must be signed with HS256"),
    "alg RS256, signed with HMAC": (lambda key: token(key, {"alg": "RS256"}), "must be signed with HS256"),
    "extensions": (lambda key: token(key, {**HEADER, "crit": ["b64"], "b64": False}), "extensions ('crit') are not supported"),
    "expired": (lambda key: token(key, exp=int(time.time()) - 1), "has expired at"),
    "from the future": (lambda key: token(key, iat=int(time.time()) + 60), "is not valid before"),
    "not yet": (lambda key: token(key, nbf=int(time.time()) + 60), "is not valid before"),
    "unknown user": (lambda key: token(key, sun="no-such-user"), "user 'no-such-user' of the JSON Web Token does not exist"),
    "control characters": (lambda key: token(key, sun="a\x1b[2Jb"), "user name of the JSON Web Token is not 1 to 255 printable ASCII"),
    "uid for a name": (lambda key: token(key, sun=0), "user name of the JSON Web Token is not 1 to 255 printable ASCII"),
    "no exp": (lambda key: token(key, exp=None), "no claim 'exp'"),
    "no iat": (lambda key: token(key, iat=None), "no claim 'iat'"),
    "no user": (lambda key: token(key, sun=None), "no claim 'sun'"),
    "no JSON": (lambda key: (text := f"{encode(HEADER)}.{encode(b'{]')}") + "." + sign(key, text), "claims are not a JSON object"),
    "empty": (lambda key: "", "SLURM_JWT: not a JSON Web Token"),
    "daemon": (lambda key: "daemon", "SLURM_JWT: not a JSON Web Token"),
    "too long": (lambda key: token(key, x="x" * 8192), "more than 8192 bytes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_tokens_are_refused_with_a_reason(cluster, away, name):
    """G2, G3, G14: the caller gets the reason, and so does the log; neither contains the token."""
    make, why = REFUSED[name]
    jwt, before = make(cluster.key), len(log_of(cluster))
    told = cluster.run("squeue -h", env=away(jwt)).fails(why)
    assert not jwt or jwt == "daemon" or jwt not in told
    if not told.count("SLURM_JWT: "):  # it went there
        line = eventually(lambda: re.search(rf"refused: 127\.0\.0\.1:\d+: .*{re.escape(why)}", log_of(cluster)[before:]), "the refusal in the log")
        assert line and jwt.split(".")[2] not in log_of(cluster)
    assert cluster.run("squeue -h", env=away(token(cluster.key))).returncode == 0


def test_either_claim_names_the_user(cluster, away):
    for claims, owner in (({"sun": None, "username": "nobody"}, "nobody"), ({"sun": "root", "username": "nobody"}, "root"),
                          ({"realm_access": {"roles": ["a", "b"]}, "iat": time.time() - 0.5}, "nobody")):
        job = cluster.sbatch("-H", "-o", "/dev/null", wrap="true", env=away(token(cluster.key, **claims)))
        assert cluster.job(job)["UserId"].startswith(f"{owner}(")
        cluster.run(f"scancel {job}").ok()


def test_token_is_not_passed_to_tasks(cluster):
    """G10: not into a job's environment, unless it is named, and not onto the wire."""
    jwt, seen = token(cluster.key), cluster.work / "seen"
    sniffer = Sniffer([jwt.split(".")[2], "secret-comment"])
    env = {"SLURM_JWT": jwt, "MARK": "here"}
    for options, expected in (([], "here "), (["--export=ALL,SLURM_JWT"], f"here {jwt}"), (["--export=NIL"], "")):
        job = cluster.sbatch("-o", seen, "--comment=secret-comment", *options, wrap="echo $MARK $SLURM_JWT", env=env, user="nobody")
        assert cluster.wait(job)["JobState"] == "COMPLETED"
        assert seen.read_text() == expected.rstrip() + "\n"
        seen.unlink()
    assert cluster.run(["srun", "-n1", "sh", "-c", "echo $MARK $SLURM_JWT"], env=env, user="nobody").ok() == "here"
    sniffer.close()
    assert sniffer.packets > 10 and not sniffer.seen
    cluster.check_secrets(token=jwt.split(".")[2].encode())


def test_token_calls_are_always_encrypted(make_cluster):
    c = start(make_cluster(nodes=1, conf=JWT + "TLSType=none", start=False))
    jwt = token(c.key)
    sniffer = Sniffer([jwt.split(".")[2], "secret-comment"])
    job = c.sbatch("-H", "-o", "/dev/null", "--comment=secret-comment", wrap="true", env={"SLURM_JWT": jwt})
    sniffer.close()
    assert c.job(job)["UserId"].startswith("nobody(") and sniffer.packets > 5 and not sniffer.seen


def test_token_is_not_sent_in_clear(make_cluster):
    """G10: to a host without encryption: neither root's token nor another user's; on the controller's host the local socket is used."""
    c = start(make_cluster(nodes=1, conf=JWT + "TLSType=none", start=False))
    sniffer = Sniffer([encode(HEADER)])
    for user, options in ((None, []), (None, ["username=nobody"]), ("nobody", [])):
        line = ["scontrol", "token", *options]
        c.run(line, user=user, env=OVER_TCP).fails("would be sent in clear: run scontrol on the controller's host, or remove TLSType=none")
        assert fetch(c, *options, user=user)
    assert re.search(r"refused: 127\.0\.0\.1:\d+: uid 0: TOKEN: the token would be sent in clear", log_of(c))
    assert c.run("scontrol token", env=other_conf(c, "encrypts.conf", TLSType="noise")).ok().startswith("SLURM_JWT=")
    sniffer.close()
    assert sniffer.packets > 10 and not sniffer.seen


def test_parameters_hold_and_change_at_a_restart(make_cluster):
    """Who may create tokens changes with the configuration; the key, and whether tokens are accepted, with a restart."""
    c = make_cluster(nodes=1, conf="AuthAltTypes=auth/jwt\nAuthAltParameters=userclaimfield=preferred_username", start=False)
    path = c.dir / "elsewhere.key"
    start(c)
    claims = decode(c.run("scontrol token", user="nobody").ok().split(".")[1])
    assert claims["preferred_username"] == "nobody" and "sun" not in claims
    c.run("squeue", env={"SLURM_JWT": token(c.key, sun="root")}).fails("no claim 'preferred_username'")
    c.run("squeue", env={"SLURM_JWT": token(c.key, sun=None, preferred_username="nobody")}).ok()
    text = c.conf_file.read_text()
    c.conf_file.write_text(text.replace("AuthAltParameters=userclaimfield=preferred_username", "AuthAltParameters=max_token_lifespan=60"))
    c.run("scontrol reconfigure").ok()
    claims = fetch(c, user="nobody")[1]
    assert claims["exp"] - claims["iat"] == 60
    for life in ("61", "infinite"):
        c.run(f"scontrol token lifespan={life}", user="nobody").fails("at most 60 seconds (AuthAltParameters=max_token_lifespan)")
    assert fetch(c, "lifespan=infinite", "username=nobody")[1]["exp"] == FOREVER  # root's
    c.conf_file.write_text(text.replace("userclaimfield=preferred_username", f"disable_token_creation,jwt_key={path}"))
    missing = f"key file '{path}' is missing: run 'dd if=/dev/urandom of={path} bs=64 count=1'"
    c.run("scontrol reconfigure").fails(missing)
    assert fetch(c, user="nobody")  # the configuration stays as it was
    path.write_bytes(os.urandom(32))
    path.chmod(0o600)
    assert "jwt_key): takes effect when slurmctld is restarted" in c.run("scontrol reconfigure").ok()
    c.run("scontrol token", user="nobody").fails("AuthAltParameters=disable_token_creation: only root and SlurmUser")
    assert fetch(c, "username=nobody")
    c.kill("slurmctld")
    path.rename(c.dir / "aside")
    c.run([PREFIX / "sbin/slurmctld", "-D"]).fails(missing)
    (c.dir / "aside").rename(path)
    c.start_controller()
    c.wait_ready()
    c.run("squeue", env={"SLURM_JWT": token(c.key)}).fails("is not signed with this cluster's key")  # G2: a key that was replaced
    c.run("squeue", env={"SLURM_JWT": token(path.read_bytes())}).ok()
    c.conf_file.write_text(text.replace("AuthAlt", "#"))
    c.kill("slurmctld")
    c.start_controller()
    c.wait_ready()
    c.run("squeue", env={"SLURM_JWT": token(path.read_bytes())}).fails("JSON Web Tokens are not accepted here: set AuthAltTypes=auth/jwt")
    c.run("scontrol token").fails("set AuthAltTypes=auth/jwt in slurm.conf and restart slurmctld")


@pytest.mark.parametrize("spoil, why", [("0644", "lets others in"), ("0640", "lets others in"), ("short", "at least 32"),
                                        ("link", "a symbolic link"), ("owner", "must be owned by")])
def test_bad_key_file_stops_the_controller(make_cluster, spoil, why):
    """G2."""
    c = make_cluster(nodes=1, conf=JWT, start=False)
    path = c.dir / "state" / "jwt_hs256.key"
    path.parent.mkdir(mode=0o700)
    path.write_bytes(os.urandom(31 if spoil == "short" else 32))
    path.chmod(int(spoil, 8) if spoil[0] == "0" else 0o600)
    if spoil == "link":
        path.rename(c.dir / "elsewhere")
        path.symlink_to(c.dir / "elsewhere")
    if spoil == "owner":
        os.chown(path, 65534, 65534)
    for line in ([PREFIX / "sbin/slurmctld", "-D"], [PREFIX / "sbin/slurmctld", "--check"]):
        c.run(line).fails("AuthAltTypes=auth/jwt", "jwt_hs256.key", why)


def test_token_outlives_a_restart(cluster, away):
    """G1: any holder can use a token, which is never complete on the wire; it stays valid after a restart of the controller."""
    env = away(token(cluster.key, exp=FOREVER))
    cluster.run("squeue", env=env).ok()
    cluster.kill("slurmctld")
    cluster.start_controller()
    cluster.wait_ready()
    cluster.run("squeue", env=env).ok()
    assert pathlib.Path(cluster.dir / "state" / "jwt_hs256.key").stat().st_mode & 0o077 == 0


def test_token_is_valid_until_it_expires(cluster, away):
    """G1: a captured token is valid only until its expiry."""
    expires = int(time.time()) + 2
    env = away(token(cluster.key, exp=expires))

    def refused():
        done = cluster.run("squeue", env=env)
        assert done.returncode == 0 or time.time() >= expires, done.stderr
        return done if done.returncode else None

    eventually(refused, "the token is refused").fails("has expired at")


def test_names_in_refused_token_requests_are_not_looked_up(make_cluster):
    """C5, G5: the user of a requested token is looked up only if the caller may get this token, and no other request waits for the result."""
    c = make_cluster(nodes=1, conf=JWT, start=False)
    service = prepare(c, NAMES, "slurmctld")
    start(c)
    for user in (None, "nobody"):
        c.sbatch("-H", wrap="true", user=user)  # who they are is known from now on
    service.on("hang-users")
    c.run("scontrol token username=invented", user="nobody").fails("only root and SlurmUser create tokens for other users")
    assert fetch(c, user="nobody")[1]["sun"] == fetch(c, "username=nobody", user="nobody")[1]["sun"] == "nobody"
    assert fetch(c)[1]["sun"] == "root"
    assert not service.is_on("asked")
    with c.popen(["scontrol", "token", "username=daemon"]) as waiting:
        eventually(lambda: service.is_on("asked"), "a question")
        assert fetch(c)[1]["sun"] == "root" and len(c.run("squeue -h").ok().splitlines()) == 2
        assert waiting.poll() is None
        service.off("hang-users")
        out, err = waiting.communicate(timeout=DEADLINE)
        assert waiting.returncode == 0, err
        assert decode(out.split(".")[1])["sun"] == "daemon"


def test_names_are_not_looked_up_where_no_tokens_are_created(make_cluster):
    """C5."""
    c = make_cluster(nodes=1, start=False)
    service = prepare(c, NAMES, "slurmctld")
    c.start()
    c.sbatch("-H", wrap="true")
    service.on("hang-users")
    c.run("scontrol token username=invented").fails("set AuthAltTypes=auth/jwt in slurm.conf and restart slurmctld")
    assert not service.is_on("asked")
    service.off("hang-users")


def test_commands_whose_token_expires_while_they_wait_get_their_answer(cluster, away):
    """G1: a job that starts after the token of its srun has expired is not left without it."""
    job = cluster.sbatch("-N2", "--exclusive", "-o", "/dev/null", wrap="sleep 1000")
    cluster.wait_state(job, "RUNNING")
    expires = int(time.time()) + 3
    env = {"SLURM_JWT": token(cluster.key, exp=expires)}
    waiting = [cluster.popen(line, user="nobody", env=env) for line in
               (["srun", "-n1", "echo", "served"], ["scontrol", "wait_job", str(job)])]
    eventually(lambda: cluster.run("squeue -h -u nobody -t PENDING").ok(), "srun waits")
    eventually(lambda: time.time() > expires + 1, "its token has expired")
    cluster.run("squeue", env=away(env["SLURM_JWT"])).fails("has expired at")
    cluster.run(f"scancel {job}").ok()
    out, err = waiting[0].communicate()
    assert (waiting[0].returncode, out) == (0, "served\n"), err
    assert "expired" not in waiting[1].communicate()[1]
    eventually(lambda: not cluster.run("squeue -h").ok(), "the job of srun ends")


def test_salloc_does_not_take_an_expired_token_for_the_end_of_its_job(cluster):
    expires = int(time.time()) + 3
    wait = f"while [ $(date +%s) -le {expires} ]; do sleep 0.1; done; echo served"
    shell = cluster.popen(["salloc", "-N1", "sh", "-c", wait], user="nobody", env={"SLURM_JWT": token(cluster.key, exp=expires)})
    out, err = shell.communicate()
    assert out == "served\n" and "revoked" not in err
    assert re.search(r"The allocation (\d+) was not released: the JSON Web Token .* has expired", err), err
    cluster.run(["scancel", re.search(r"The allocation (\d+)", err)[1]]).ok()
    eventually(lambda: not cluster.run("squeue -h").ok(), "the job ends")
