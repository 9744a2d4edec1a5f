/** `svc devices` and `svc pairing` against a real gateway. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { visible } from "@svc/sdk/cli";
import { connect } from "@svc/sdk/client";
import { readDevice, readDeviceToken } from "@svc/sdk/device";
import { runCommand } from "@svc/sdk/testing";
import { chosenDevice } from "../../../plugins/devices/cli-choice.ts";
import commands from "../../../plugins/devices/cli.ts";
import { join as joinGateway, type JoinOptions } from "../../../plugins/devices/cli-join.ts";
import { overviewLines } from "../../../plugins/devices/cli-lines.ts";
import { cell } from "../../../plugins/devices/cli-text.ts";
import { directory as temporaryDirectory } from "../../directory.ts";
import { ADMIN, createDevice, openScene, READ, requestOf, type Scene, SECRET, WRITE } from "./scene.ts";

const limited = { timeout: 120_000 };
const HOSTILE = "Desk\u001b[2J\u202Eevil\nsvc devices approve fake";

interface Options extends Readonly<Record<string, unknown>> {
  readonly json?: boolean;
  readonly url?: string;
  readonly token?: string;
}

/** Runs a command as a person would. @param stateDir of its machine */
function run(scene: Scene, name: string, args: readonly string[] = [], options: Options = {}, stateDir?: string) {
  const { json = false, ...rest } = options;
  const { url = scene.url, token } = options;
  return runCommand(commands, name, {
    args,
    options: rest,
    json,
    connect: ({ scopes } = {}) => scene.connect(scopes ? { scopes } : {}),
    target: () => Promise.resolve({ url, ...(token === undefined ? {} : { token }) }),
    ...(stateDir === undefined ? {} : { stateDir }),
  });
}

describe("svc devices", limited, () => {
  it("list shows pending requests with their commands, and paired devices, with control characters escaped", async (t) => {
    const scene = await openScene(t);
    assert.match((await run(scene, "devices list")).text, /no device waits for an approval\n\nno device is paired/);
    const [device, other] = [createDevice(), createDevice()];
    await scene.pair(device, { scopes: [READ], client: { displayName: HOSTILE } });
    const wish = { far: true, role: "node", commands: ["run\u001b[1m"], client: { displayName: HOSTILE } } as const;
    const requestId = requestOf(await scene.shared(other, wish));
    const { text } = await run(scene, "devices list");
    assert.match(text, new RegExp(`svc devices approve ${requestId}`));
    assert.match(text, new RegExp(`svc devices reject ${requestId}`));
    assert.ok(text.includes(device.id.slice(0, 12)));
    // oxlint-disable-next-line no-control-regex -- they are what is looked for
    assert.doesNotMatch(text, /[\u001b\u202E]|^svc devices approve fake/m);
    const [json] = (await run(scene, "devices list", [], { json: true })).printed;
    assert.deepEqual(json, await scene.list());
  });

  it("approve takes a full id or --latest, and otherwise lists the pending requests", async (t) => {
    const scene = await openScene(t);
    const wait = async (name: string) =>
      requestOf(await scene.shared(createDevice(), { far: true, scopes: [READ], client: { displayName: name } }));
    assert.match((await run(scene, "devices approve")).message, /no request waits for an approval/);
    const one = await wait("only");
    const shown = await run(scene, "devices approve");
    const choice = `^one request waits for an approval:[^]*scopes operator.read[^]*svc devices approve ${one}`;
    assert.match(shown.message, new RegExp(choice));
    const only = await run(scene, "devices approve", [one]);
    assert.match(only.text, /approved only, device [0-9a-f]{64}\n {2}roles {5}operator\n {2}scopes {4}operator.read/);
    const first = await wait("first");
    await new Promise((resolve) => setTimeout(resolve, 2));
    await wait("second");
    const asked = await run(scene, "devices approve");
    assert.match(asked.message, /^2 requests wait for an approval; choose one:/);
    assert.match(asked.message, new RegExp(`svc devices approve ${first}`));
    const byPrefix = await run(scene, "devices approve", [first.slice(0, 8)]);
    assert.match(byPrefix.message, /no request .* waits/);
    assert.match((await run(scene, "devices approve", [first], { latest: true })).message, /not both/);
    assert.match((await run(scene, "devices approve", [], { latest: true })).text, /approved second/);
    assert.match((await run(scene, "devices approve", [first])).text, /approved first/);
  });

  it("approve connects with only the scopes that the request needs", async (t) => {
    const scene = await openScene(t);
    await scene.shared(createDevice(), { far: true, scopes: [WRITE] });
    const seen: (readonly string[] | undefined)[] = [];
    const watched = {
      ...scene,
      connect: (options: { scopes?: readonly string[] } = {}) => (seen.push(options.scopes), scene.connect(options)),
    };
    await run(watched, "devices approve", [], { latest: true });
    assert.deepEqual(seen, [["operator.pairing"], ["operator.pairing", WRITE]]);
  });

  it("reject works, and remove, rotate and revoke accept a prefix of the device id", async (t) => {
    const scene = await openScene(t);
    const requestId = requestOf(await scene.shared(createDevice(), { far: true }));
    assert.match((await run(scene, "devices reject", [requestId])).text, /rejected the request of device/);
    const device = createDevice();
    await scene.pair(device, { scopes: [WRITE] });
    const prefix = device.id.slice(0, 8);
    const rotated = await run(scene, "devices rotate", [prefix], { scopes: READ });
    const token = String(rotated.printed[1]);
    assert.deepEqual((await scene.byToken(device, token, { scopes: [READ] })).auth?.scopes, [READ]);
    assert.match((await run(scene, "devices rotate", [prefix], { scopes: "a,,b" })).message, /comma-separated/);
    assert.match((await run(scene, "devices rotate", [prefix], { scopes: ADMIN })).message, /rotation denied/);
    assert.match((await run(scene, "devices revoke", [prefix])).text, /svc devices remove [0-9a-f]{64}/);
    assert.equal((await scene.byToken(device, token, { scopes: [READ] })).ok, false);
    assert.match((await run(scene, "devices remove", [prefix])).text, /removed/);
  });

  it("a prefix of an id must be unique and have at least four characters", () => {
    const facts = { publicKey: "-", createdAtMs: 0, approvedAtMs: 0 };
    const paired = ["abcd11", "abcd22", "ef0011"].map((deviceId) => ({ deviceId, ...facts }));
    assert.equal(chosenDevice(paired, "ef00").deviceId, "ef0011");
    assert.equal(chosenDevice(paired, "ABCD2").deviceId, "abcd22");
    assert.equal(chosenDevice(paired, "abcd11").deviceId, "abcd11");
    assert.throws(() => chosenDevice(paired, "abcd"), /start with "abcd": abcd11, abcd22\nNext: give more/);
    for (const short of ["", "e", "ef0"]) assert.throws(() => chosenDevice(paired, short), /at least 4 characters/);
    assert.throws(() => chosenDevice(paired, "ffff\u001b"), /no paired device "ffff\\u001b"/);
  });
});

describe("svc pairing", limited, () => {
  it("shows pending requests and this machine's device; join stores a token that works without a secret, leave deletes it", async (t) => {
    const scene = await openScene(t);
    const directory = temporaryDirectory(t);
    const svc = (name: string, options: Options = {}) => run(scene, `pairing${name}`, [], options, directory);
    assert.match((await svc("")).text, /no device waits.*\n\nthis machine has no device key yet.*svc pairing join/s);
    const requestId = requestOf(await scene.shared(createDevice(), { far: true }));
    const joined = await svc(" join", { url: scene.url, token: SECRET, name: "desk", scopes: `${READ},${WRITE}` });
    assert.match(joined.text, /is now device [0-9a-f]{64} of ws:.*, with scopes operator.read, operator.write/);
    assert.equal((await scene.list()).paired[0]?.displayName, "desk");
    const identity = join(directory, "identity");
    const device = readDevice(identity) ?? assert.fail("no device");
    assert.match((await svc("")).text, new RegExp(`approve ${requestId}.*this machine is device ${device.id}`, "s"));
    const deviceToken = () => readDeviceToken(identity, scene.url, "operator")?.token;
    const client = await connect({ url: scene.url, device, deviceToken, scopes: [READ] });
    await client.close();
    await svc(" join", { url: scene.url, scopes: READ });
    const left = await svc(" leave", { url: scene.url });
    assert.match(left.text, new RegExp(`deleted the token.*svc devices remove ${device.id}`, "s"));
    assert.equal(deviceToken(), undefined);
    assert.match((await svc(" leave", { url: scene.url })).text, /nothing changed/);
    assert.match((await svc(" join", { url: scene.url })).message, /token missing.*\nNext: give the gateway's secret/s);
    assert.match((await svc(" join")).message, /--url/);
    assert.match((await svc(" join", { url: scene.url, timeout: "x" })).message, /whole seconds/);
  });

  /** Joins from this machine; other parties act during `wait`. */
  function joining(scene: Scene, directory: string, wait: JoinOptions["wait"], more: { timeoutMs?: number } = {}) {
    const notes: string[] = [];
    let elapsed = 0;
    return {
      notes,
      done: joinGateway({
        url: scene.url,
        token: SECRET,
        scopes: [READ],
        timeoutMs: 60_000,
        directory,
        connect,
        note: (line) => void notes.push(line),
        elapsed: () => elapsed,
        ...more,
        wait: async (ms) => {
          elapsed += ms;
          await wait(ms);
        },
      }),
    };
  }
  const asking = { config: { devices: { localApproval: "ask" } } };

  it("join prints the command for the gateway's machine, waits for the approval, and deletes a token once it is revoked", async (t) => {
    const scene = await openScene(t, asking);
    const directory = temporaryDirectory(t);
    let waits = 0;
    const { notes, done } = joining(scene, directory, async () => {
      waits += 1;
      if (waits === 2) await run(scene, "devices approve", [], { latest: true });
    });
    assert.deepEqual((await done).scopes, [READ]);
    assert.equal(waits, 2);
    assert.match(notes.join("\n"), /svc devices approve [0-9a-f-]{36}\nWaiting for the approval, at most 60 s\.$/);

    const device = readDevice(directory) ?? assert.fail("no device");
    await run(scene, "devices revoke", [device.id]);
    const away = { connect, note: () => undefined, wait: async () => undefined, elapsed: () => 0 };
    const again = joinGateway({ url: scene.url, timeoutMs: 0, directory, ...away });
    await assert.rejects(again, { message: /device token mismatch.*\nNext: give the gateway's secret/s });
    assert.equal(readDeviceToken(directory, scene.url, "operator"), undefined);
  });

  it("join fails with the next step when no approval comes in time, and when the request is rejected", async (t) => {
    const scene = await openScene(t, asking);
    const directory = temporaryDirectory(t);
    const alone = joining(scene, directory, async () => undefined, { timeoutMs: 3_000 });
    await assert.rejects(alone.done, {
      code: "NOT_PAIRED",
      message: /has not been approved yet.*svc devices approve .*svc pairing join --url/s,
    });
    const refused = joining(scene, directory, async () => {
      const [request] = (await scene.list()).pending;
      await run(scene, "devices reject", [String(request?.requestId)]);
    });
    await assert.rejects(refused.done, { code: "NOT_PAIRED", message: /was rejected/ });
  });
});

describe("helpers of the commands", () => {
  it("a pending node shows the command that approves nodes", () => {
    const node = { requestId: "r1", nodeId: "n1", displayName: HOSTILE, commands: ["run"], ts: 0 };
    const text = overviewLines({ pending: [], nodes: [node], deviceId: "d1" }).join("\n");
    assert.match(text, /^waiting:\n {2}Desk\\u001b.*\n {4}commands {2}run\n {4}approve {3}svc nodes approve r1\n/);
    assert.match(text, /\n\nthis machine is device d1$/);
  });

  it("join warns of an address that is not encrypted, unless it is this machine", async (t) => {
    const directory = temporaryDirectory(t);
    const rows: [url: string, warned: boolean][] = [
      ["ws://10.0.0.1:18789", true],
      ["http://gateway.example", true],
      ["wss://gateway.example", false],
      ["ws://127.0.0.1:18789", false],
      ["ws://[::1]:18789", false],
      ["ws://localhost:18789", false],
    ];
    for (const [url, warned] of rows) {
      const notes: string[] = [];
      const away = new GatewayError("UNAVAILABLE", "nobody there");
      const note = (line: string) => void notes.push(line);
      const never = { connect: () => Promise.reject(away), wait: async () => undefined, elapsed: () => 0 };
      await assert.rejects(joinGateway({ url, timeoutMs: 0, directory, note, ...never }), away);
      assert.equal(/not encrypted/.test(notes.join()), warned, url);
    }
  });

  it("text of devices is escaped and truncated", () => {
    assert.equal(visible("a\u001bb\u202E\u200b"), "a\\u001bb\\u202e\\u200b");
    assert.equal(cell("  "), "-");
    assert.equal(cell("x".repeat(100)).length, 40);
  });
});
