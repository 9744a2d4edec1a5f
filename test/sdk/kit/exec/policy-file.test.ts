// long: waits until a lock is too old
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { openExecPolicy } from "@svc/kit/exec";
import type { ExecPolicyFile } from "@svc/sdk/approvals";
import { withWriteLock } from "@svc/sdk/files";
import { directory } from "../../../directory.ts";

async function opened(t: TestContext, text?: string) {
  const home = directory(t);
  const path = join(home, "exec-approvals.json");
  if (text !== undefined) await writeFile(path, text, { mode: 0o600 });
  return { home, path, store: openExecPolicy(home) };
}

const sha = (text: string) => createHash("sha256").update(text).digest("hex");
const full: ExecPolicyFile = { version: 1, defaults: { security: "full", ask: "off" } };

describe("the policy file", () => {
  it("is made with defaults, a socket and a token, for its owner only", async (t) => {
    const home = join(directory(t), "state");
    const store = openExecPolicy(home);
    const got = await store.get();
    const path = join(home, "exec-approvals.json");
    const raw = await readFile(path, "utf8");
    assert.deepEqual(got, {
      path,
      exists: true,
      hash: sha(raw),
      file: { version: 1, defaults: {}, agents: {}, socket: { path: join(home, "exec-approvals.sock") } },
    });
    const { socket } = JSON.parse(raw) as ExecPolicyFile;
    assert.equal(Buffer.from(socket?.token ?? "", "base64url").length, 24);
    assert.ok(!JSON.stringify(got).includes(socket?.token ?? "?"));
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.equal((await stat(home)).mode & 0o777, 0o700);
    assert.deepEqual(await store.get(), got);
  });

  it("is made once, however many ask at once", async (t) => {
    const { home } = await opened(t);
    const hashes = await Promise.all(Array.from({ length: 10 }, async () => (await openExecPolicy(home).get()).hash));
    assert.equal(new Set(hashes).size, 1);
    assert.deepEqual(await readdir(home), ["exec-approvals.json"]);
  });

  it("is not made by whoever only wants to know the policy, and denies then", async (t) => {
    const { home, store } = await opened(t);
    assert.deepEqual(await store.policy(), { version: 1, defaults: { security: "deny" } });
    assert.deepEqual(await readdir(home), []);
  });

  it("is replaced as a whole; the socket stays, entries get ids", async (t) => {
    const { path, store } = await opened(t);
    const first = await store.get();
    const before = JSON.parse(await readFile(path, "utf8")) as ExecPolicyFile;
    const allowlist = [{ pattern: "/usr/bin/rg" }, { id: "kept", pattern: "/usr/bin/git" }];
    const set = await store.set({ version: 1, agents: { main: { allowlist } } }, first.hash);
    const raw = await readFile(path, "utf8");
    const after = JSON.parse(raw) as ExecPolicyFile;
    assert.equal(set.hash, sha(raw));
    assert.deepEqual(after.socket, before.socket);
    assert.deepEqual(set.file.socket, { path: before.socket?.path });
    assert.equal(after.defaults, undefined);
    const [fresh, kept] = after.agents?.["main"]?.allowlist ?? [];
    assert.match(fresh?.id ?? "", /^[0-9a-f-]{36}$/);
    assert.equal(kept?.id, "kept");
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.deepEqual(await store.policy(), after);
  });

  it("can be set where there is none, and takes a socket that is given", async (t) => {
    const { path, store } = await opened(t);
    await store.set({ ...full, socket: { token: "mine" } }, undefined);
    const { socket } = JSON.parse(await readFile(path, "utf8")) as ExecPolicyFile;
    assert.equal(socket?.token, "mine");
    assert.match(socket?.path ?? "", /exec-approvals\.sock$/);
  });

  it("wants the hash of what it replaces", async (t) => {
    const { path, store } = await opened(t);
    const { hash } = await store.get();
    const before = await readFile(path, "utf8");
    for (const baseHash of [undefined, "", " ", sha("other"), hash.toUpperCase()]) {
      await assert.rejects(store.set(full, baseHash), { code: "INVALID_REQUEST", message: /exec\.approvals\.get/ });
    }
    assert.equal(await readFile(path, "utf8"), before);
    await rm(path);
    await assert.rejects(store.set(full, hash), { code: "INVALID_REQUEST", message: /changed/ });
  });

  it("lets one of many win that change the same version, in one process and with several stores", async (t) => {
    const { home, store } = await opened(t);
    const { hash } = await store.get();
    const tries = await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) =>
        openExecPolicy(home).set({ version: 1, agents: { [`a${n}`]: { security: "full" } } }, hash),
      ),
    );
    const won = tries.filter(({ status }) => status === "fulfilled");
    assert.equal(won.length, 1);
    for (const one of tries) if (one.status === "rejected") assert.equal(one.reason.code, "INVALID_REQUEST");
    assert.equal(Object.keys((await store.get()).file.agents ?? {}).length, 1);
    assert.deepEqual(await readdir(home), ["exec-approvals.json"]);
  });

  it("takes over the lock of a process that stands still; that one notices before it writes", async (t) => {
    const { home, path, store } = await opened(t);
    const { hash } = await store.get();
    await withWriteLock(path, async ({ isMine }) => {
      assert.equal(isMine(), true);
      await store.set(full, hash); // waits until the lock of this living process is too old
      assert.equal(isMine(), false);
      await writeFile(`${path}.lock`, "1 other");
    });
    assert.equal(await readFile(`${path}.lock`, "utf8"), "1 other", "it is not its own any more");
    assert.deepEqual((await readdir(home)).sort(), ["exec-approvals.json", "exec-approvals.json.lock"]);
  });

  const entry = (one: object) => ({ agents: { a: { allowlist: [one] } } });
  const refused: [rules: object, message: RegExp][] = [
    [{ defaults: { security: "" } }, /defaults\.security.*deny, allowlist, full/],
    [{ defaults: { ask: " " } }, /defaults\.ask.*always, on-miss, off/],
    [{ agents: { a: { askFallback: "*" } } }, /agents\.a\.askFallback/],
    [{ agents: { a: { security: "FULL" } } }, /is not a valid value/],
    [{ agents: { "": {} } }, /is not an agent id/],
    [{ agents: { " ": {} } }, /is not an agent id/],
    [{ defaults: { security: null } }, /defaults\/security/],
    [{ more: 1 }, /unexpected property 'more'/],
    [entry({ pattern: "rg" }), /has no directory.*\/usr\/bin\/rg/],
    [entry({ pattern: "*" }), /has no directory/],
    [entry({ pattern: "" }), /has no directory/],
    [entry({ pattern: "/a/../b" }), /a real path never/],
    [entry({ pattern: "/a\u001b[2J" }), /control/],
    [entry({ pattern: `/${"a".repeat(2_000)}` }), /1024/],
    [entry({ pattern: "/a", args: [], anyArguments: true }), /args and anyArguments; remove one/],
    [entry({ pattern: "/a", args: [], cwd: "src" }), /cwd that is not an absolute path/],
    [entry({ pattern: "/bin/sh", args: ["-c", "ls"] }), /needs a script outside the workspace/],
    [entry({ pattern: "/usr/bin/python3", args: ["job.py"] }), /write its full path, e\.g\. \/opt\/job/],
    [entry({ pattern: "/bin/busybox", args: ["ls"] }), /many programs/],
    [entry({ pattern: "/bin/sh", anyArguments: true }), /executes code given in its arguments.*write args/],
    [entry({ pattern: "/bin/busybox", anyArguments: true }), /executes code given in its arguments/],
  ];
  it("is not replaced by one that is invalid or could never count; the refusal names the place", async (t) => {
    const { path, store } = await opened(t);
    const { hash } = await store.get();
    const before = await readFile(path, "utf8");
    for (const [rules, message] of refused) {
      const file = { version: 1, ...rules } as ExecPolicyFile; // a client may not keep to the types
      await assert.rejects(store.set(file, hash), { code: "INVALID_REQUEST", message }, JSON.stringify(rules));
    }
    assert.equal(await readFile(path, "utf8"), before);
  });

  it("takes empty lists and objects", async (t) => {
    const { store } = await opened(t);
    const { file } = await store.set({ version: 1, defaults: {}, agents: { a: { allowlist: [] } } }, undefined);
    assert.deepEqual(file.agents, { a: { allowlist: [] } });
  });

  it("keeps what an entry says of arguments, and takes a pattern alone, as earlier clients set it", async (t) => {
    const { path, store } = await opened(t);
    const allowlist = [
      { id: "1", pattern: "/usr/bin/git" },
      { id: "2", pattern: "/usr/bin/git", args: ["status", "-s"], cwd: "/srv" },
      { id: "3", pattern: "/opt/*", anyArguments: true, lastUsedAt: 1 },
    ];
    const set = await store.set({ version: 1, agents: { main: { allowlist } } }, (await store.get()).hash);
    assert.deepEqual(set.file.agents, { main: { allowlist } });
    assert.deepEqual((JSON.parse(await readFile(path, "utf8")) as ExecPolicyFile).agents, { main: { allowlist } });
  });

  it("merges the agent default entry by entry, arguments and all", async (t) => {
    const entry = (args: string[]) => ({ pattern: "/a", args });
    const agents = { default: { allowlist: [entry(["x"]), entry(["y"])] }, main: { allowlist: [entry(["y"])] } };
    const { store } = await opened(t, JSON.stringify({ version: 1, agents }));
    assert.deepEqual((await store.policy()).agents, { main: { allowlist: [entry(["y"]), entry(["x"])] } });
  });

  it("reads older spellings: strings on the allowlist, and the agent default", async (t) => {
    const old = JSON.stringify({
      version: 1,
      agents: {
        default: { security: "allowlist", ask: "off", allowlist: ["/a", "/b"] },
        main: { ask: "always", allowlist: ["/b"] },
      },
    });
    const { store } = await opened(t, old);
    const { agents } = await store.policy();
    assert.deepEqual(agents, {
      main: { security: "allowlist", ask: "always", allowlist: [{ pattern: "/b" }, { pattern: "/a" }] },
    });
    const { hash, file } = await store.get();
    assert.equal(hash, sha(old));
    const set = await store.set(file, hash);
    assert.ok(set.file.agents?.["main"]?.allowlist?.every(({ id }) => id));
  });
});

describe("a policy file that cannot be trusted", () => {
  const otherJson = ["null", "[]", '{"version":2}', '{"version":1,"securty":"full"}', '{"version":1,"agents":[]}'];
  const otherWords = ['{"version":1,"defaults":{"security":null}}', '{"version":1,"agents":{"main":{"security":1}}}'];
  for (const text of ["", "{", ...otherJson, ...otherWords]) {
    it(`denies all and is left alone: ${JSON.stringify(text)}`, async (t) => {
      const { path, store } = await opened(t, text);
      await assert.rejects(store.get(), (error: Error & { code: string }) => {
        assert.equal(error.code, "UNAVAILABLE");
        assert.ok(error.message.includes(path) && error.message.includes("Next: "));
        return true;
      });
      await assert.rejects(store.set(full, sha(text)), { code: "UNAVAILABLE" });
      assert.deepEqual(await store.policy(), { version: 1, defaults: { security: "deny" } });
      assert.equal(await readFile(path, "utf8"), text);
    });
  }

  const wide = JSON.stringify(full);
  it("denies all when other users may write it", async (t) => {
    const { path, store } = await opened(t, wide);
    await chmod(path, 0o620);
    await assert.rejects(store.get(), { code: "UNAVAILABLE", message: /other users may write it.*chmod 600/ });
    assert.equal((await store.policy()).defaults?.security, "deny");
  });

  it("denies all when it is a link, a directory or endless", async (t) => {
    const { home, path, store } = await opened(t);
    await writeFile(join(home, "elsewhere.json"), wide, { mode: 0o600 });
    await symlink(join(home, "elsewhere.json"), path);
    await assert.rejects(store.get(), { code: "UNAVAILABLE", message: /symbolic link/ });
    await assert.rejects(store.set(full, sha(wide)), { code: "UNAVAILABLE" });
    assert.equal((await store.policy()).defaults?.security, "deny");
    await rm(path);
    await mkdir(path);
    await assert.rejects(store.get(), { code: "UNAVAILABLE", message: /not a file/ });
    await rm(path, { recursive: true });
    await writeFile(path, `${wide}${" ".repeat(1024 * 1024)}`, { mode: 0o600 });
    await assert.rejects(store.get(), { code: "UNAVAILABLE", message: /more than 1048576 bytes/ });
    await utimes(path, 1, 1);
    assert.equal((await store.policy()).defaults?.security, "deny");
  });
});
