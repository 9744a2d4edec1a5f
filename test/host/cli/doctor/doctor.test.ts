// long: starts whole programs
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { eventLoopFindings } from "../../../../host/cli/doctor/event-loop.ts";
import { type Finding, withoutRepeats } from "../../../../host/cli/doctor/finding.ts";
import { diskFindings, nodeFindings } from "../../../../host/cli/doctor/machine-checks.ts";
import { configFindings, verbFindings } from "../../../../host/cli/doctor/other-verbs.ts";
import { repair, repairId, undo } from "../../../../host/cli/doctor/repairs.ts";
import { permissionFindings } from "../../../../host/cli/doctor/state-checks.ts";
import { isAbandoned, lookAt, type StateFile } from "../../../../host/cli/doctor/state-files.ts";
import { home } from "../svc.ts";
import { treeLines } from "../../../tree-hash.ts";
import { directory, put } from "../../../directory.ts";

const about = (findings: readonly Finding[]) => findings.map(({ severity, about: what }) => [severity, what]);
const modeOf = (path: string) => statSync(path).mode & 0o777;
/** Id of a process that certainly does not exist. */
const GONE = 2 ** 22 + 1;

describe("the checks", () => {
  it("of the machine", () => {
    assert.deepEqual(nodeFindings("v20.20.0", ">=20.19"), []);
    assert.match(nodeFindings("v18.0.0", ">=20.19")[0]?.message ?? "", /needs Node >=20\.19, but this is v18\.0\.0/);
    assert.deepEqual(
      [diskFindings("/", 2 ** 40), diskFindings("/", 2 ** 29)[0]?.severity, diskFindings("/", 1)[0]?.severity],
      [[], "warning", "error"],
    );
  });

  it("of permissions are about secrets, configuration and the directories around them", () => {
    const file = (path: string, mode: number, kind: StateFile["kind"] = "file", uid = 7): StateFile => ({
      path,
      kind,
      mode,
      uid,
      size: 1,
      changedAt: 0,
    });
    const files = [
      file("/s", 0o755, "directory"),
      file("/s/credentials", 0o700, "directory"),
      file("/s/credentials/gateway-token", 0o644),
      file("/s/identity/device.json", 0o600),
      file("/s/svc.json", 0o640),
      file("/s/svc.json.bak.1", 0o600),
      file("/s/workspace", 0o755, "directory"),
      file("/s/workspace/notes.md", 0o644),
      file("/s/credentials/theirs", 0o600, "file", 8),
    ];
    const view = { stateDir: "/s", configPath: "/s/svc.json", files };
    const found = permissionFindings({ ...view, uid: 7 });
    assert.deepEqual(about(found), [
      ["error", "/s"],
      ["error", "/s/credentials/gateway-token"],
      ["warning", "/s/svc.json"],
      ["warning", "/s/workspace"],
      ["error", "/s/credentials/theirs"],
    ]);
    assert.deepEqual(
      found.map((one) => one.repair?.kind === "mode" && one.repair.mode),
      [0o700, 0o600, 0o600, 0o700, false],
    );
    assert.deepEqual(permissionFindings({ ...view, uid: undefined }), []);
  });

  it("of leftovers distinguish a process that is gone from one that is writing", async (t) => {
    const place = directory(t);
    const rows: [name: string, text: string, abandoned: boolean][] = [
      [`svc.json.${GONE}.0123456789ab.tmp`, "{", true],
      [`svc.json.${process.pid}.0123456789ab.tmp`, "{", false],
      ["mine.tmp", "", false],
      ["svc.json.lock", JSON.stringify({ pid: GONE, host: hostname() }), true],
      ["far.lock", JSON.stringify({ pid: GONE, host: "elsewhere" }), false],
      ["other.lock", JSON.stringify({ pid: process.pid, host: hostname() }), false],
      ["theirs.lock", "text", false],
    ];
    for (const [name, text, abandoned] of rows) {
      put(join(place, name), text);
      const file = await lookAt(join(place, name));
      assert.equal(file && (await isAbandoned(file, Date.now() + 3_600_000)), abandoned, name);
      assert.equal(file && (await isAbandoned(file, Date.now())), false, "somebody elsewhere may write it");
    }
  });

  it("of the event loop name what blocked it last, when and where", () => {
    const NOW = 2 * 86_400_000;
    const stack = ["render (file:///n/plugin.ts:12:58)", "outer"];
    const block = { at: NOW - 1_000, pid: 7, plugin: "notes", blockedMs: 3_210, over: true, stack };
    const said = (blocks: unknown, isAlive = true) =>
      eventLoopFindings(JSON.stringify({ blocks }), NOW, () => isAlive).map(
        ({ severity, about: who, message, next }) => `${severity} ${who}: ${message} | ${next}`,
      );
    const at = "1970-01-02 23:59:59Z";
    const where = "in render (file:///n/plugin.ts:12:58)";
    const tell = "svc plugins inspect notes; report it to the author of the plugin";
    assert.deepEqual(said([block]), [
      `warning plugin notes: it blocked the gateway for 3.2 s, at ${at}, ${where} | ${tell}`,
    ]);
    assert.match(said([{ ...block, at: 1 }, block, block])[0] ?? "", /; 2 times in the last 24 hours \|/);
    assert.match(said([block, { ...block, plugin: undefined, stack: [] }])[0] ?? "", /^warning code outside plugins: /);
    assert.deepEqual(said([{ ...block, over: false }]), [
      `error plugin notes: it has been blocking the gateway since ${at}: no request is served, ${where} | kill -9 7 ends that gateway`,
    ]);
    assert.match(said([{ ...block, over: false }], false)[0] ?? "", /^warning .*, until the process ended, at /);
    assert.deepEqual(
      [said([{ ...block, at: 1 }]), said([]), said("x"), eventLoopFindings("{", NOW, () => true)],
      [[], [], [], []],
    );
  });

  it("that report the same message are merged, with the next step of the warning itself", () => {
    const everybody = "everybody may write";
    const next = "svc config set session.dmScope per-channel-peer";
    const path = "channels.irc.allowFrom";
    const ofConfig = configFindings({ path: "/c", warnings: [{ path, message: `${everybody}; next: ${next}` }] });
    assert.deepEqual([ofConfig[0]?.message, ofConfig[0]?.next], [everybody, next]);
    const account = { severity: "warning", check: "channels", about: "channel irc", message: everybody, next };
    const ofChannels = verbFindings("channels", {
      findings: [account, { ...account, message: "it is not connected" }],
    });
    const open = (path: string): Finding => ({ ...account, severity: "error", check: "permissions", about: path });
    assert.deepEqual(about(withoutRepeats([...ofConfig, ...ofChannels])), [
      ["warning", `/c: ${path}`],
      ["warning", "channel irc"],
    ]);
    assert.equal(withoutRepeats([open("/a"), open("/b")]).length, 2);
  });

  it("of other verbs adopt their findings, and report a verb that fails", () => {
    const warnings = [
      { path: "c", message: "unknown" },
      { path: "d", message: "no model", breaks: true },
    ];
    const issues = [{ path: "a.b", message: "must be integer" }];
    assert.deepEqual(about(configFindings({ path: "/c", issues, warnings })), [
      ["error", "/c: a.b"],
      ["warning", "/c: c"],
      ["error", "/c: d"],
    ]);
    const unknown = { error: { message: "unknown method: models.status", details: { code: "UNKNOWN_METHOD" } } };
    assert.deepEqual(verbFindings("models", unknown), [], "the gateway does not use the plugin");
    assert.match(verbFindings("plugins", { error: { message: "torn" } })[0]?.message ?? "", /the check failed: torn/);
  });
});

describe("a repair", () => {
  const id = repairId(0, "a1b2c3");

  /** Repairs a torn and an open file; `open` is the path of the latter. */
  async function repaired(state: string, open: string) {
    put(join(state, "torn.json"), "old");
    const remove = { kind: "remove", path: join(state, "torn.json") } as const;
    const done = await repair(state, id, [remove, { kind: "mode", path: open, mode: 0o600 }], 0);
    return done.map(({ failed }) => failed);
  }

  it("can be undone", async (t) => {
    const state = directory(t);
    const [torn, open] = [join(state, "torn.json"), join(state, "open")];
    put(open, "secret", 0o644);
    assert.equal(id, "19700101T000000-a1b2c3");
    assert.deepEqual(await repaired(state, open), [undefined, undefined]);
    assert.deepEqual([existsSync(torn), modeOf(open)], [false, 0o600]);
    assert.equal(readFileSync(join(state, "doctor", id, "0-torn.json"), "utf8"), "old");
    await undo(state, id);
    assert.deepEqual([readFileSync(torn, "utf8"), modeOf(open)], ["old", 0o644]);
    await assert.rejects(undo(state, id), { code: "INVALID_REQUEST", message: /already undone/ });
  });

  it("overwrites nothing when it is undone, and follows no link", async (t) => {
    const state = directory(t);
    const [torn, target, link] = [join(state, "torn.json"), join(state, "target"), join(state, "link")];
    put(target, "x", 0o644);
    symlinkSync(target, link);
    assert.deepEqual([await repaired(state, link), modeOf(target)], [[undefined, "it is now a symbolic link"], 0o644]);
    writeFileSync(torn, "new");
    const back = await undo(state, id);
    assert.match(back.find(({ path }) => path.endsWith("torn.json"))?.failed ?? "", /a new file exists at this path/);
    assert.equal(readFileSync(torn, "utf8"), "new");
  });

  it("is refused for an invalid id", async (t) => {
    const state = directory(t);
    await assert.rejects(undo(state, "../../etc"), { code: "INVALID_REQUEST" });
    await assert.rejects(undo(state, id), { code: "NOT_FOUND" });
  });
});

describe("svc doctor", { timeout: 120_000 }, () => {
  it("finds problems without changing anything, repairs them, and undoes the repair", async (t) => {
    const here = home(t, '{ gateway: { port: "x" } }'); // no gateway starts with this
    const { stateDir } = here;
    const at = (...parts: string[]) => join(stateDir, ...parts);
    put(at("credentials/gateway-token"), "secret", 0o644);
    put(at("restart-sentinel.json"), '{"version":1,');
    put(at("svc.db.tmp"), "mine");
    put(at(`note.json.${GONE}.0123456789ab.tmp`), "{");
    utimesSync(at(`note.json.${GONE}.0123456789ab.tmp`), 1, 1);
    chmodSync(stateDir, 0o755);
    chmodSync(at("credentials"), 0o700);
    mkdirSync(at("plugins"), { mode: 0o700 });
    const dies = `require("net").createServer().listen(${JSON.stringify(at("old.sock"))}, () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", dies]);

    const before = treeLines(stateDir);
    const seen = await here.svc(["doctor", "--json"]);
    assert.equal(seen.code, 1, seen.stderr);
    type Seen = { findings: Finding[]; plan: unknown[]; isRunning: boolean };
    const { findings, plan, isRunning } = JSON.parse(seen.stdout) as Seen;
    const found = findings.map(({ check, about: what }) => `${check} ${what.replace(stateDir, "")}`).sort();
    assert.deepEqual(
      found.filter((line) => !/^(disk|service|update) /.test(line)),
      [
        `config ${here.configPath}: gateway.port`,
        `half-written /restart-sentinel.json`,
        `leftovers /note.json.${GONE}.0123456789ab.tmp`,
        "permissions ",
        "permissions /credentials/gateway-token",
        `permissions ${here.configPath}`,
        "sandbox agent main",
        "sockets /old.sock",
      ],
    );
    assert.deepEqual([plan.length, isRunning], [6, false]);
    assert.deepEqual(treeLines(stateDir), before);

    const fixed = await here.svc(["doctor", "--fix", "--json"]);
    const { id, done } = JSON.parse(fixed.stdout) as { id: string; done: { failed?: string }[] };
    const failed = done.filter((one) => one.failed !== undefined);
    assert.deepEqual([done.length, failed], [6, []]);
    assert.deepEqual([stateDir, at("credentials/gateway-token")].map(modeOf), [0o700, 0o600]);
    assert.ok(existsSync(at("svc.db.tmp")), "what nobody of ours made stays");
    const again = JSON.parse((await here.svc(["doctor", "--json"])).stdout) as { plan: unknown[] };
    assert.deepEqual(again.plan, []);

    const undone = await here.svc(["doctor", "--undo", id]);
    assert.equal(undone.code, 0, undone.stderr);
    assert.equal(readFileSync(at("restart-sentinel.json"), "utf8"), '{"version":1,');
    assert.equal(modeOf(stateDir), 0o755);
  });
});
