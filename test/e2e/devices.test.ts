/** `svc pairing` and `svc devices` on the command line: the gateway's machine, another machine that becomes a device, and their output. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { type Finished, home, type Home } from "../host/cli/svc.ts";

const limited = { timeout: 120_000 };
const SECRET = "the-secret-of-this-gateway";

interface Machines {
  /** The machine of the gateway. */
  readonly here: Home;
  readonly there: Home;
  readonly url: string;
}

async function machines(t: TestContext, devices: object = { localApproval: "ask" }): Promise<Machines> {
  const here = home(t, { devices, gateway: { auth: { token: SECRET } } });
  const { ready } = await here.run();
  return { here, there: home(t), url: ready.url };
}

/** The output of a command that must exit with `code`. */
async function out(at: Home, args: readonly string[], code = 0): Promise<string> {
  const { code: ended, stdout, stderr } = await at.svc(args);
  assert.equal(ended, code, `svc ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

async function json(at: Home, args: readonly string[]): Promise<Record<string, unknown>> {
  return JSON.parse(await out(at, [...args, "--json"])) as Record<string, unknown>;
}

/**
 * A refusal is one sentence and the next command, with nothing on stdout and exit code 1; the same in JSON.
 * @param forgets the command deletes an ended token, so that the second refusal differs
 */
async function refused(
  at: Home,
  args: readonly string[],
  sentence: RegExp,
  next: RegExp,
  forgets = false,
): Promise<Finished> {
  const told = await at.svc(args);
  const what = `svc ${args.join(" ")}: ${told.stdout}${told.stderr}`;
  assert.equal(told.code, 1, what);
  assert.equal(told.stdout, "", what);
  const lines = told.stderr.trimEnd().split("\n");
  const from = lines.findIndex((line) => /^[A-Z_]+: /.test(line)); // notes come before it
  const [first = "", ...rest] = lines.slice(Math.max(0, from));
  assert.match(first, sentence, what);
  assert.match(rest.find((line) => line.startsWith("Next: ")) ?? "", next, what);
  assert.doesNotMatch(told.stderr, new RegExp(SECRET));
  if (forgets) return told;
  const quiet = await at.svc([...args, "--json"]);
  assert.equal(quiet.code, 1);
  const { error } = JSON.parse(quiet.stdout) as { error: { code: string; message: string } };
  assert.equal(`${error.code}: ${error.message.split("\n")[0]}`, first, "the same in JSON");
  return told;
}

interface Listed {
  readonly pending: { requestId: string; deviceId: string; displayName?: string; scopes: string[] }[];
  readonly paired: { deviceId: string; tokens: { role: string; scopes: string[]; revokedAtMs?: number }[] }[];
}
const list = async (at: Home) => (await json(at, ["devices", "list"])) as unknown as Listed;

/** The pending requests, once there is one. @throws AssertionError with the output of the joining process if it ended before */
async function waiting(here: Home, joining: Promise<Finished>): Promise<Listed["pending"]> {
  let ended: Finished | undefined;
  void joining.then((finished) => (ended = finished));
  for (;;) {
    const { pending } = await list(here);
    if (pending.length > 0) return pending;
    if (ended) assert.fail(`it did not wait: ${ended.stdout}${ended.stderr}`);
  }
}

const joinAt = (url: string, token = SECRET) => ["pairing", "join", "--url", url, "--token", token];

/** Makes the other machine a device. @returns its id */
async function joined({ here, there, url }: Machines): Promise<string> {
  const joining = there.svc([...joinAt(url), "--name", "desk"]);
  await waiting(here, joining);
  await out(here, ["devices", "approve", "--latest"]);
  const { code, stdout, stderr } = await joining;
  assert.equal(code, 0, stdout + stderr);
  return (await list(here)).paired[0]?.deviceId ?? assert.fail();
}

describe("a machine that joins", limited, () => {
  it("waits, is listed and approved, and then needs no secret", async (t) => {
    const all = await machines(t);
    const { here, there, url } = all;
    await refused(there, ["gateway", "call", "health", "--url", url], /^NOT_PAIRED: device identity required/, /svc/);
    const joining = there.svc([...joinAt(url), "--name", "desk", "--timeout", "60"]);
    const [request] = await waiting(here, joining);
    assert.equal(request?.displayName, "desk");
    for (const verb of [["devices", "list"], ["pairing"]]) {
      const text = await out(here, verb);
      assert.match(text, new RegExp(`svc devices approve ${request?.requestId}`));
      assert.match(text, /desk/);
    }
    assert.match(
      await out(here, ["devices", "approve", request?.requestId ?? ""]),
      /^approved desk, device [0-9a-f]{64}\n/,
    );
    const { code, stdout, stderr } = await joining;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^this machine is now device [0-9a-f]{64} of ws:.*, with scopes .*operator\.admin/);
    assert.match(stderr, /On the gateway's machine: svc devices approve /);
    assert.doesNotMatch(stdout + stderr, new RegExp(SECRET), "its token is kept, not shown");
    const { deviceId } = request ?? assert.fail();
    const known = (await json(there, ["gateway", "call", "device.pair.list", "--url", url])) as unknown as Listed;
    assert.deepEqual(
      known.paired.map((one) => one.deviceId),
      [deviceId],
    );
    const identity = join(there.stateDir, "identity");
    for (const file of ["device.json", "device-auth.json"])
      assert.equal(statSync(join(identity, file)).mode & 0o777, 0o600);
    assert.ok(!readFileSync(join(identity, "device-auth.json"), "utf8").includes(SECRET));
    assert.match(await out(there, ["pairing", "leave", "--url", url]), /^deleted the token of /);
    await refused(
      there,
      ["gateway", "call", "health", "--url", url],
      /^NOT_PAIRED: device identity required/,
      /svc pairing join/,
    );
  });

  it("without waiting prints the commands for both machines, and connects later", async (t) => {
    const all = await machines(t);
    const { here, there, url } = all;
    const args = [...joinAt(url), "--timeout", "0", "--name", "desk", "--scopes", "operator.read"];
    const { stderr } = await refused(
      there,
      args,
      /^NOT_PAIRED: this machine has not been approved yet$/,
      /svc devices approve /,
    );
    const [, requestId = ""] = /Next: .*svc devices approve (\S+)/.exec(stderr) ?? [];
    await out(here, ["devices", "approve", requestId]);
    // The printed command, verbatim except for the secret.
    const [, command = ""] = /then here: svc (.*)/.exec(stderr) ?? [];
    const typed = command.replace("<token>", SECRET).replaceAll("'", "").split(" ");
    assert.deepEqual(typed.slice(0, 2), ["pairing", "join"]);
    await out(there, typed);
    assert.deepEqual((await list(here)).pending, []);
    assert.deepEqual((await list(here)).paired[0]?.tokens[0]?.scopes, ["operator.read"]);
  });

  it("with a wrong secret or address gets the reason, and keeps nothing", async (t) => {
    const { there, url } = await machines(t);
    const wrong = [...joinAt(url, "wrong"), "--timeout", "0"];
    await refused(
      there,
      wrong,
      /^INVALID_REQUEST: unauthorized: gateway token mismatch/,
      /svc pairing join --url \S+ --token <token>/,
    );
    const nowhere = await there.svc([...joinAt("ws://127.0.0.1:1"), "--timeout", "0"]);
    assert.notEqual(nowhere.code, 0);
    assert.match(nowhere.stderr, /Next: /);
    assert.equal(existsSync(join(there.stateDir, "identity/device-auth.json")), false, "nothing was kept");
  });
});

describe("the operator of a device", limited, () => {
  it("rotates its token, revokes it, and removes the device: the old token is refused, and the device must be approved again", async (t) => {
    const all = await machines(t);
    const { here, there, url } = all;
    const deviceId = await joined(all);
    const call = ["gateway", "call", "health", "--url", url];
    const again = [...joinAt(url), "--timeout", "0"];
    const mustRejoin = () =>
      refused(there, call, /^INVALID_REQUEST: unauthorized: device token mismatch/, /svc pairing join/, true);
    await out(there, call);
    const made = await json(here, ["devices", "rotate", deviceId.slice(0, 8), "operator", "--scopes", "operator.read"]);
    assert.deepEqual([made["deviceId"], made["scopes"]], [deviceId, ["operator.read"]]);
    assert.match(String(made["token"]), /^[\w-]{43}$/);
    assert.ok(!JSON.stringify(await list(here)).includes(String(made["token"])));
    await mustRejoin();
    await out(there, again);
    await out(there, call);

    assert.match(await out(here, ["devices", "revoke", deviceId]), /^revoked the token for role operator/);
    assert.ok((await list(here)).paired[0]?.tokens[0]?.revokedAtMs);
    await mustRejoin();
    await out(there, again);
    await out(there, call);

    assert.match(await out(here, ["devices", "remove", deviceId]), /^removed desk, device /);
    assert.deepEqual((await list(here)).paired, []);
    await mustRejoin();
    await refused(there, again, /^NOT_PAIRED: this machine has not been approved/, /svc devices approve/);
    for (const verb of ["remove", "revoke", "rotate"])
      await refused(here, ["devices", verb, deviceId], /^NOT_FOUND: no paired device /, /svc devices list/);

    await refused(
      here,
      ["devices", "remove", "3f"],
      /^INVALID_REQUEST: give at least 4 characters/,
      /svc devices list/,
    );
    await refused(here, ["devices", "approve", "nonsense"], /^NOT_FOUND: no request "nonsense"/, /svc devices list/);
    for (const args of [["remove"], ["nonsense"]]) {
      const { code, stdout, stderr } = await here.svc(["devices", ...args]);
      assert.deepEqual([code, stdout, stderr.length > 0], [2, "", true], args.join(" "));
    }
  });
});

describe("after a restart", limited, () => {
  it("devices connect as before, and the gateway's machine is admin in every mode", async (t) => {
    const here = home(t, { devices: { localApproval: "ask" }, gateway: { auth: { token: SECRET } } });
    const first = await here.run();
    const there = home(t);
    const port = first.port;
    await joined({ here, there, url: first.ready.url });
    await first.stop();
    const second = await here.run(["--port", port]);
    await out(there, ["gateway", "call", "health", "--url", second.ready.url]);
    await second.stop();
    const third = await here.run(["--port", port, "--auth", "password", "--password", "nobody knows"]);
    assert.equal((await list(here)).paired.length, 1);
    await out(there, ["gateway", "call", "health", "--url", third.ready.url]);
  });
});
