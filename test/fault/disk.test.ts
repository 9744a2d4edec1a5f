/** A disk that accepts no writes: reads and sockets work, writes fail with `UNAVAILABLE`, and all recovers without a restart. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFile, chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import type { GatewayClient } from "@svc/sdk/client";
import { config } from "@svc/sdk/config";
import { sessions } from "@svc/sdk/sessions";
import { appendAudit, auditPath, MAX_AUDIT_BYTES } from "../../host/config/audit.ts";
import { type GatewayProcess, startGatewayProcess } from "../gateway-process.ts";
import { limitFiles, readAudit, refusalOf, stagedFiles } from "./workload.ts";

const hasPrlimit = spawnSync("prlimit", ["--version"]).status === 0;
assert.ok(hasPrlimit || !process.env["CI"], "in CI these tests may not be skipped: they need prlimit (util-linux)");
const isRoot = process.getuid?.() === 0;
/** Removes root's capability to write despite file permissions. */
const UNPRIVILEGED = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
const isPrivileged = isRoot && spawnSync("/usr/bin/env", [...UNPRIVILEGED, "true"]).status !== 0;

describe("a gateway on a disk that accepts no writes", () => {
  let stateDir = "";
  let workspace = "";
  let gateway: GatewayProcess;
  let client: GatewayClient;
  let turn = 0;

  before(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "svc-disk-"));
    workspace = join(stateDir, "workspace-helper");
    gateway = await startGatewayProcess(stateDir, {}, { through: isRoot && !isPrivileged ? UNPRIVILEGED : [] });
    client = await gateway.connect();
    await client.call(config.set, { raw: JSON.stringify({ "provider-offline": { wordDelayMs: 0 } }) });
    await client.call(agents.create, { name: "helper", workspace });
    await writes["chat.send"]();
    await client.call(agents.wait, { runId: "send-0" });
  });
  after(async () => {
    await client.close();
    await gateway.kill();
    await rm(stateDir, { recursive: true, force: true });
  });

  const content = "y".repeat(10_000);
  const writes = {
    "config.set": async () => {
      const { raw, hash } = await client.call(config.get, {});
      const next = { ...(JSON.parse(raw ?? "{}") as object), meta: { turn, text: "z".repeat(10_000) } };
      await client.call(config.set, { raw: JSON.stringify(next), baseHash: hash });
    },
    "agents.create": async () => {
      const name = `late ${turn}`;
      await client.call(agents.create, { name, workspace: join(stateDir, `workspace-late-${turn}`) });
    },
    "agents.update": () => client.call(agents.update, { agentId: "helper", name: `helper ${turn}` }),
    "agents.files.set": () => client.call(agents.filesSet, { agentId: "helper", name: "USER.md", content }),
    "sessions.patch": () => client.call(sessions.patch, { key: "main", label: `label ${turn}` }),
    "chat.send": () =>
      client.call(chat.send, { sessionKey: "main", message: "echo hi", idempotencyKey: `send-${turn}` }),
    "chat.inject": () => client.call(chat.inject, { sessionKey: "main", message: content }),
  };

  async function assertRefusing(): Promise<void> {
    turn += 1;
    for (const [name, write] of Object.entries(writes)) {
      const refusal = await write().then(
        () => "done",
        (error: unknown) => error,
      );
      assert.ok(refusal instanceof GatewayError, `${name}: ${String(refusal)}`);
      assert.equal(refusal.code, "UNAVAILABLE", `${name}: ${refusal.message}`);
      assert.ok(refusal.message.length > 20, `${name} says what to do: ${refusal.message}`);
    }
    const other = await gateway.connect();
    for (const reader of [client, other]) {
      assert.equal((await reader.call(config.get, {})).valid, true);
      assert.ok((await reader.call(chat.history, { sessionKey: "main" })).messages.length > 0);
      assert.ok((await reader.call(agents.list, {})).agents.some(({ id }) => id === "helper"));
      assert.equal((await reader.call(agents.filesGet, { agentId: "helper", name: "SOUL.md" })).file.missing, false);
    }
    await other.close();
  }

  async function assertWorking(): Promise<void> {
    for (const [name, write] of Object.entries(writes)) {
      const refusal = await write().then(() => undefined, refusalOf);
      assert.equal(refusal, undefined, `${name} after the disk has room again`);
    }
    const { status } = await client.call(agents.wait, { runId: `send-${turn}`, timeoutMs: 10_000 });
    assert.equal(status, "ok");
    assert.deepEqual(await stagedFiles(stateDir), []);
    assert.deepEqual(await stagedFiles(workspace), []);
    const { agents: list } = JSON.parse(await readFile(join(stateDir, "svc.json"), "utf8")) as { agents: unknown };
    assert.ok(list);
  }

  const skip = hasPrlimit ? false : "needs prlimit (util-linux)";
  for (const bytes of [0, 3_000]) {
    it(`refuses writes while files are limited to ${bytes} bytes`, { skip, timeout: 60_000 }, async () => {
      limitFiles(gateway.child.pid, bytes);
      try {
        await assertRefusing();
      } finally {
        limitFiles(gateway.child.pid, "unlimited");
      }
      await assertWorking();
    });
  }

  it("keeps partial lines of the audit log separate", { timeout: 120_000 }, async () => {
    const before = await readAudit(stateDir);
    assert.equal(before.lines.at(-1)?.["result"], "rename");
    await appendFile(auditPath(stateDir), '{"ts":"half');
    await appendAudit(auditPath(stateDir), { result: "whole" });
    await appendAudit(auditPath(stateDir), { result: "last" });
    const { lines, torn } = await readAudit(stateDir);
    assert.equal(torn, before.torn + 1);
    assert.deepEqual(lines.slice(-2), [{ result: "whole" }, { result: "last" }]);
  });

  it("rotates a full audit log, and keeps three previous ones", { timeout: 120_000 }, async () => {
    const path = auditPath(stateDir);
    const full = (name: string) => writeFile(path, `${name}${"x".repeat(MAX_AUDIT_BYTES)}\n`);
    for (const name of ["a", "b", "c", "d", "e"]) {
      await full(name);
      await appendAudit(path, { first: name });
    }
    const begins = await Promise.all(
      ["", ".1", ".2", ".3"].map(async (end) => (await readFile(`${path}${end}`, "utf8"))[0]),
    );
    assert.deepEqual(begins, ["{", "e", "d", "c"]);
    assert.equal(await readFile(path, "utf8"), `${JSON.stringify({ first: "e" })}\n`);
    assert.equal((await readdir(dirname(path))).filter((name) => name.startsWith("config-audit")).length, 4);
  });

  const writesAnywhere = isPrivileged && "root writes to read-only directories, and its capabilities cannot be dropped";
  it("refuses writes while its directories are read-only", { skip: writesAnywhere, timeout: 30_000 }, async () => {
    turn += 1; // an unchanged text needs no write
    await chmod(stateDir, 0o500);
    await chmod(workspace, 0o500);
    try {
      const refusals = await Promise.all(
        [writes["config.set"](), writes["agents.files.set"]()].map((write) => write.then(() => undefined, refusalOf)),
      );
      assert.deepEqual(
        refusals.map((refusal) => refusal?.code),
        ["UNAVAILABLE", "UNAVAILABLE"],
      );
      assert.equal((await client.call(config.get, {})).valid, true);
    } finally {
      await chmod(stateDir, 0o700);
      await chmod(workspace, 0o700);
    }
    await assertWorking();
  });
});
