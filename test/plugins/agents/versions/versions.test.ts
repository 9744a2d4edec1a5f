import assert from "node:assert/strict";
import { appendFile, mkdir, readFile, stat, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { unavailable, withDefaults } from "@svc/sdk";
import type { IdentityFile } from "@svc/sdk/agents";
import type { Storage } from "@svc/sdk/storage";
import { createFakeClock } from "@svc/sdk/testing";
import { AgentsConfig } from "../../../../plugins/agents/config.ts";
import { createLiveAgents } from "../../../../plugins/agents/directory/directory.ts";
import { createVersionHandlers } from "../../../../plugins/agents/versions/methods.ts";
import { VersionStore } from "../../../../plugins/agents/versions/store.ts";
import { IdentityVersions } from "../../../../plugins/agents/versions/versions.ts";
import { openStorage } from "../../../../plugins/storage-sqlite/storage.ts";
import { checkedStorage } from "../fixture.ts";
import { callOf, principal } from "../script.ts";
import { temporaryDirectory } from "../temporary.ts";

const MIB = 1024 * 1024;

interface Options {
  /** Stands before the real storage. */
  readonly storage?: (real: Storage) => Storage;
}

async function setUp(t: TestContext, { storage }: Options = {}) {
  const stateDir = await temporaryDirectory(t);
  const opened = await openStorage({ file: join(stateDir, "svc.db") });
  t.after(() => opened.close());
  const config = { defaults: { skipBootstrap: true }, list: [{ id: "main" }, { id: "ada" }] };
  const agents = createLiveAgents(withDefaults(AgentsConfig, config), () => ({ stateDir, home: stateDir }));
  const clock = createFakeClock();
  const warnings: string[] = [];
  const log = { warn: (_: object, message: string) => void warnings.push(message) };
  /** As after a start. */
  const begin = () => {
    const store = new VersionStore({ storage: storage?.(opened.storage) ?? opened.storage });
    const versions = new IdentityVersions({ store, agents, clock, log });
    const nothing = async () => undefined;
    const handlers = createVersionHandlers({ agents, store, versions, pull: nothing, written: nothing });
    return {
      versions,
      store,
      log: async (agentId?: string, name?: string) =>
        (await handlers.filesLog(callOf({ ...(agentId ? { agentId } : {}), ...(name ? { name } : {}) }))).versions,
      diff: async (name: string, range: { from?: number; to?: number } = {}) =>
        handlers.filesDiff(callOf({ name, ...range })),
      restore: async (name: string, version: number) => handlers.filesRestore(callOf({ name, version })),
    };
  };
  const started = begin();
  await started.store.open();
  const workspace = (agentId = "main") => agents.settings(agentId).workspace;
  for (const id of ["main", "ada"]) await mkdir(workspace(id));
  const path = (name: string, agentId = "main") => join(workspace(agentId), name);
  return {
    ...started,
    begin,
    warnings,
    agents,
    path,
    workspace,
    /** An editor or a command. */
    edit: (name: string, text: string | Buffer, agentId = "main") => writeFile(path(name, agentId), text),
    /** A tool of a run. */
    use: (name: string, text: string, runId = "r1", agentId = "main") =>
      started.versions.change(
        { agentId, paths: [name], how: "write", principal, sessionKey: `agent:${agentId}:main`, runId },
        () => writeFile(path(name, agentId), text),
      ),
    text: (name: string) => readFile(path(name), "utf8"),
    /** Number, author and size, oldest first. */
    outline: async (name: string, agentId = "main") =>
      (await started.log(agentId, name)).toReversed().map(({ version, how, size }) => [version, how, size]),
  };
}

describe("versions of identity files", () => {
  it("name the tool, the principal and the run of a change", async (t) => {
    const { use, log } = await setUp(t);
    await use("SOUL.md", "kind");
    const [version] = await log("main", "SOUL.md");
    assert.deepEqual(version, {
      name: "SOUL.md",
      version: 1,
      at: Date.UTC(2026, 0, 1),
      how: "write",
      principal: { id: principal.id, provenance: principal.provenance },
      sessionKey: "agent:main:main",
      runId: "r1",
      size: 4,
      sha256: version?.sha256,
      isKept: true,
    });
    assert.match(version?.sha256 ?? "", /^[0-9a-f]{64}$/);
  });

  it("keep what somebody else wrote before a tool replaced it, and what came after", async (t) => {
    const { use, edit, outline } = await setUp(t);
    await edit("SOUL.md", "by hand");
    await use("SOUL.md", "tool");
    await edit("SOUL.md", "by hand again");
    assert.deepEqual(await outline("SOUL.md"), [
      [1, "outside", 7],
      [2, "write", 4],
      [3, "outside", 13],
    ]);
  });

  it("are made when the next prompt finds a change, once", async (t) => {
    const { edit, versions, store } = await setUp(t);
    const seen = async () => (await store.list("main", "HEARTBEAT.md", 9)).map(({ how }) => how);
    await edit("HEARTBEAT.md", "one");
    await versions.notice("main");
    await versions.notice("main");
    assert.deepEqual(await seen(), ["outside"]);
    await edit("HEARTBEAT.md", "another");
    await versions.notice("main");
    assert.deepEqual(await seen(), ["outside", "outside"]);
  });

  it("are not made for a change that changes nothing, for files that are not there, or for other files", async (t) => {
    const { use, path, versions, log } = await setUp(t);
    await use("SOUL.md", "kind");
    await use("SOUL.md", "kind", "r2");
    const change = { agentId: "main", paths: ["notes.md", "notes/SOUL.md"], how: "write", principal };
    assert.equal(await versions.change(change, async () => "done"), "done");
    await writeFile(path("notes.md"), "x");
    assert.deepEqual(
      (await log()).map(({ name, version }) => [name, version]),
      [["SOUL.md", 1]],
    );
  });

  it("say outside when the gateway ended between the write and the record", async (t) => {
    const { use, edit, begin } = await setUp(t);
    await use("SOUL.md", "one");
    await edit("SOUL.md", "two"); // the write of a tool whose record never came
    const { log } = begin();
    assert.deepEqual(
      (await log("main", "SOUL.md")).map(({ version, how }) => [version, how]),
      [
        [2, "outside"],
        [1, "write"],
      ],
    );
  });

  it("are made of a write that failed half-way, and its error is passed on", async (t) => {
    const { path, versions, outline } = await setUp(t);
    const change = { agentId: "main", paths: ["SOUL.md", "USER.md"], how: "apply_patch", principal };
    const failing = versions.change(change, async () => {
      await writeFile(path("SOUL.md"), "kind");
      throw new Error("the second file");
    });
    await assert.rejects(failing, /the second file/);
    assert.deepEqual([await outline("SOUL.md"), await outline("USER.md")], [[[1, "apply_patch", 4]], []]);
  });

  it("of two agents are apart", async (t) => {
    const { use, log } = await setUp(t);
    await use("SOUL.md", "main's");
    await use("SOUL.md", "ada's own", "r1", "ada");
    assert.deepEqual(
      [await log("main"), await log("ada")].map((all) => all.map(({ version, size }) => [version, size])),
      [[[1, 6]], [[1, 9]]],
    );
  });

  it("of changes at the same time are all made, each under its author", async (t) => {
    const { versions, path, log } = await setUp(t);
    const write = (how: string) =>
      versions.change({ agentId: "main", paths: ["SOUL.md"], how, principal }, () => writeFile(path("SOUL.md"), how));
    await Promise.all(["a", "bb", "ccc"].map(write));
    assert.deepEqual((await log()).map(({ how, size }) => [how, size]), [["ccc", 3], ["bb", 2], ["a", 1]]); // prettier-ignore
  });

  it("of two gateways on one storage are numbered one after the other", async (t) => {
    const { edit, begin, outline } = await setUp(t);
    const gateways = [begin(), begin(), begin()];
    for (const text of ["a", "bb", "ccc"]) {
      await edit("SOUL.md", text);
      await Promise.all(gateways.map(({ versions }) => versions.notice("main")));
    }
    assert.deepEqual(await outline("SOUL.md"), [
      [1, "outside", 1],
      [2, "outside", 2],
      [3, "outside", 3],
    ]);
  });

  it("are the newest 50 of a file", async (t) => {
    const { use, log } = await setUp(t);
    for (let at = 1; at <= 53; at += 1) await use("SOUL.md", "x".repeat(at), `run-${at}`);
    const numbers = (await log("main", "SOUL.md")).map(({ version }) => version);
    assert.deepEqual([numbers.length, numbers[0], numbers.at(-1)], [50, 53, 4]);
  });

  it("of a run that writes again and again do not push out what stood there before it", async (t) => {
    const { edit, use, restore, text } = await setUp(t);
    await edit("SOUL.md", "the owner's");
    for (let at = 1; at <= 60; at += 1) await use("SOUL.md", "x".repeat(at), "hostile");
    await restore("SOUL.md", 1);
    assert.equal(await text("SOUL.md"), "the owner's");
  });

  it("do not keep a write from its work when storage fails, and are made up for later", async (t) => {
    let isFull = true;
    const storage = checkedStorage(() => isFull && unavailable("the disk is full"));
    const { use, text, warnings, outline } = await setUp(t, { storage });
    await use("SOUL.md", "kind");
    await use("SOUL.md", "very kind");
    assert.equal(await text("SOUL.md"), "very kind");
    assert.equal(warnings.length, 1);
    isFull = false;
    assert.deepEqual(await outline("SOUL.md"), [[1, "outside", 9]]);
  });

  it("leave out what may not be read, and say so once", async (t) => {
    const { path, versions, warnings, use, outline } = await setUp(t);
    await symlink("/etc/hosts", path("USER.md"));
    await versions.notice("main");
    await versions.notice("main");
    await use("SOUL.md", "kind");
    assert.equal(warnings.length, 1);
    assert.deepEqual([await outline("USER.md"), await outline("SOUL.md")], [[], [[1, "write", 4]]]);
  });
});

describe("agents.files.restore", () => {
  it("puts a file back and keeps what stood there", async (t) => {
    const { use, edit, restore, text, outline, path } = await setUp(t);
    await use("SOUL.md", "good");
    await use("SOUL.md", "bad one", "r2");
    await edit("SOUL.md", "not noticed yet");
    const { mode } = await stat(path("SOUL.md"));
    const done = await restore("SOUL.md", 1);
    assert.equal(done.version, 4);
    assert.equal(done.file.content, "good");
    assert.equal(await text("SOUL.md"), "good");
    assert.equal((await stat(path("SOUL.md"))).mode, mode);
    assert.deepEqual(await outline("SOUL.md"), [
      [1, "write", 4],
      [2, "write", 7],
      [3, "outside", 15],
      [4, "agents.files.restore", 4],
    ]);
    await restore("SOUL.md", 3);
    assert.equal(await text("SOUL.md"), "not noticed yet");
  });

  it("makes no version of a file that is as it was", async (t) => {
    const { use, restore, outline } = await setUp(t);
    await use("SOUL.md", "good");
    assert.equal((await restore("SOUL.md", 1)).version, 1);
    assert.deepEqual(await outline("SOUL.md"), [[1, "write", 4]]);
  });

  it("brings back a file that is gone, and takes one away that was not there", async (t) => {
    const { use, restore, text, path, log, outline } = await setUp(t);
    await use("BOOTSTRAP.md", "Introduce yourself.");
    await unlink(path("BOOTSTRAP.md"));
    await log();
    assert.equal((await restore("BOOTSTRAP.md", 1)).file.missing, false);
    assert.equal(await text("BOOTSTRAP.md"), "Introduce yourself.");
    assert.equal((await restore("BOOTSTRAP.md", 2)).file.missing, true);
    assert.deepEqual(await outline("BOOTSTRAP.md"), [
      [1, "write", 19],
      [2, "outside", undefined],
      [3, "agents.files.restore", 19],
      [4, "agents.files.restore", undefined],
    ]);
  });

  it("keeps every byte", async (t) => {
    const { edit, use, restore, path } = await setUp(t);
    const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0, 0xff, 0x0d, 0x0a]);
    await edit("SOUL.md", bytes);
    await use("SOUL.md", "x");
    await restore("SOUL.md", 1);
    assert.deepEqual(await readFile(path("SOUL.md")), bytes);
  });

  it("refuses to replace what is too large to keep, and a version that was", async (t) => {
    const { use, path, restore, log } = await setUp(t);
    await use("MEMORY.md", "short");
    await appendFile(path("MEMORY.md"), "x".repeat(MIB));
    const refusal = (message: RegExp) => ({ code: "INVALID_REQUEST", message });
    await assert.rejects(
      restore("MEMORY.md", 1),
      refusal(/more than 1048576 bytes and would be lost; move it away first/),
    );
    assert.deepEqual((await log()).map(({ version, size, isKept }) => [version, size, isKept]), [[2, MIB + 5, false], [1, 5, true]]); // prettier-ignore
    await use("MEMORY.md", "short again");
    await assert.rejects(
      restore("MEMORY.md", 2),
      refusal(/version 2 of MEMORY\.md has 1048581 bytes and was too large/),
    );
  });

  it("writes nothing when what stands there cannot be kept", async (t) => {
    let isFull = false;
    const storage = checkedStorage(() => isFull && unavailable("the disk is full"));
    const { use, edit, text, restore } = await setUp(t, { storage });
    await use("SOUL.md", "one");
    await edit("SOUL.md", "by hand");
    isFull = true;
    await assert.rejects(restore("SOUL.md", 1), { code: "UNAVAILABLE" });
    assert.equal(await text("SOUL.md"), "by hand");
  });

  it("replaces nothing that somebody wrote after it was kept", async (t) => {
    let meanwhile: (() => Promise<void>) | undefined;
    const storage = (real: Storage): Storage => ({
      ...real,
      async transaction(statements) {
        const results = await real.transaction(statements);
        await meanwhile?.();
        return results;
      },
    });
    const { use, edit, text, restore } = await setUp(t, { storage });
    await use("SOUL.md", "one");
    await edit("SOUL.md", "by hand");
    meanwhile = () => edit("SOUL.md", "by hand, meanwhile");
    await assert.rejects(restore("SOUL.md", 1), { code: "CONFLICT", message: /SOUL\.md is not in the expected state/ });
    assert.equal(await text("SOUL.md"), "by hand, meanwhile");
  });

  it("refuses a version that there is not, and a name that is none of these files", async (t) => {
    const { use, restore, diff } = await setUp(t);
    await use("SOUL.md", "one");
    await assert.rejects(restore("SOUL.md", 2), { code: "NOT_FOUND", message: /no version 2 of SOUL\.md/ });
    await assert.rejects(diff("SOUL.md", { from: 7 }), { code: "NOT_FOUND" });
    await assert.rejects(diff("USER.md"), { code: "NOT_FOUND", message: /USER\.md has no versions/ });
    await assert.rejects(restore("soul.md", 1), { code: "INVALID_REQUEST" });
  });
});

describe("agents.files.diff", () => {
  it("compares the newest version with the one before, or any two", async (t) => {
    const { use, edit, diff } = await setUp(t);
    await use("SOUL.md", "kind\n");
    await use("SOUL.md", "kind\nquick\n");
    await edit("SOUL.md", "quick\n");
    const last = await diff("SOUL.md");
    assert.deepEqual([last.agentId, last.from, last.to], ["main", 2, 3]);
    assert.equal(last.diff, "--- SOUL.md (version 2)\n+++ SOUL.md (version 3)\n@@ -1,2 +1 @@\n-kind\n quick\n");
    assert.match((await diff("SOUL.md", { from: 1 })).diff, /-kind\n\+quick\n$/);
    assert.match((await diff("SOUL.md", { from: 3, to: 1 })).diff, /-quick\n\+kind\n$/);
    assert.equal((await diff("SOUL.md", { from: 2, to: 2 })).diff, "");
    assert.match((await diff("SOUL.md", { to: 1 })).diff, /@@ -0,0 \+1 @@\n\+kind\n$/);
  });

  it("shows a file that is gone as empty", async (t) => {
    const { use, path, diff } = await setUp(t);
    await use("SOUL.md", "kind\n");
    await unlink(path("SOUL.md"));
    assert.match((await diff("SOUL.md")).diff, /@@ -1 \+0,0 @@\n-kind\n$/);
  });
});

const names: readonly IdentityFile[] = ["MEMORY.md", "memory.md"];
for (const name of names) {
  it(`versions of ${name} are made for any spelling of a path that may name it`, async (t) => {
    const { versions, path, outline } = await setUp(t);
    const change = { agentId: "main", paths: ["./MeMoRy.md"], how: "write", principal };
    await versions.change(change, () => writeFile(path(name), "x"));
    assert.deepEqual(await outline(name), [[1, "write", 1]]);
  });
}
