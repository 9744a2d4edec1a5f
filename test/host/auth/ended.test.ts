import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { AuthSettings } from "../../../host/auth/mode.ts";
import { openEnded } from "../../../host/auth/ended.ts";
import { Authority, revocableDevice } from "../../../host/auth/principal.ts";

const TOKEN: AuthSettings = { mode: "token", token: "the-token-of-this-test" };
const NOW = 1_800_000_000_000;

async function place(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "svc-ended-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** One process: the ended credentials it reads, and its stop. */
function start(directory: string, settings: AuthSettings = TOKEN, now = NOW) {
  const file = openEnded(directory, settings, now);
  const authority = new Authority(settings, file.ended);
  return { file, authority, keep: () => file.keep(authority.ended, authority.settings) };
}

/** A principal of each kind, as a run stores it on disk. */
const all = (authority: Authority) =>
  JSON.parse(
    JSON.stringify({
      shared: authority.sharedPrincipal("operator", []),
      onShared: authority.vouchedPrincipal("device:2", "node", [], [], { device: "2", onShared: true }),
      device: authority.vouchedPrincipal("device:1", "operator", [], [], { device: "1" }),
      local: authority.localPrincipal([]),
      plugin: authority.pluginPrincipal("x", []),
    }),
  ) as Record<string, ReturnType<Authority["localPrincipal"]>>;
const live = (authority: Authority, made: ReturnType<typeof all>) =>
  Object.keys(made).filter((name) => made[name] && authority.isLive(made[name]));

describe("credentials that ended before a restart", () => {
  it("are none: all principals stay live", async (t) => {
    const directory = await place(t);
    const first = start(directory);
    const made = all(first.authority);
    await first.keep();
    const { authority } = start(directory);
    assert.deepEqual(live(authority, made), ["shared", "onShared", "device", "local", "plugin"]);
  });

  it("are written again only when they changed", async (t) => {
    const directory = await place(t);
    await start(directory).keep();
    const inode = async () => (await stat(join(directory, "ended-credentials.json"))).ino;
    const before = await inode();
    const second = start(directory);
    await second.keep();
    assert.equal(await inode(), before);
    second.authority.revoke("device:1");
    await second.keep();
    assert.notEqual(await inode(), before);
  });

  it("stay dead: a revoked principal, a removed device, the shared credential", async (t) => {
    const directory = await place(t);
    const first = start(directory);
    const made = all(first.authority);
    first.authority.revoke("device:1");
    await first.keep();
    const second = start(directory);
    assert.deepEqual(live(second.authority, made), ["shared", "onShared", "local", "plugin"]);
    second.authority.revoke(revocableDevice("2"));
    await second.keep();
    const third = start(directory);
    assert.deepEqual(live(third.authority, made), ["shared", "local", "plugin"]);
    third.authority.replace({ mode: "token", token: "another-token-of-this-test" });
    third.authority.replace(TOKEN);
    await third.keep();
    const { authority } = start(directory);
    assert.deepEqual(live(authority, made), ["local", "plugin"], "putting the old token back revives nothing");
    assert.equal(live(authority, all(authority)).length, 5, "who comes in now is live");
  });

  it("include the shared credential if the settings changed while the gateway was down", async (t) => {
    const directory = await place(t);
    const first = start(directory);
    const made = all(first.authority);
    await first.keep();
    const others: AuthSettings[] = [{ mode: "none" }, { mode: "password", password: "the-token-of-this-test" }];
    for (const settings of others) {
      const { authority } = start(directory, settings);
      assert.deepEqual(live(authority, made), ["device", "local", "plugin"]);
    }
  });

  it("are none for runs of a version without such a file", async (t) => {
    const { authority } = start(await place(t));
    const made = all(new Authority(TOKEN));
    assert.equal(live(authority, made).length, 5);
    authority.revoke("device:1");
    assert.deepEqual(live(authority, made), ["shared", "onShared", "local", "plugin"]);
  });

  const broken: [why: string, text: string][] = [
    ["empty", ""],
    ["cut in half", '{"ended":{"epoch":18000'],
    ["of another shape", '{"ended":{"epoch":"1"},"salt":"","mark":""}'],
  ];
  for (const [why, text] of broken) {
    it(`are all when the file is ${why}; the start reports it, and the next start works`, async (t) => {
      const directory = await place(t);
      const first = start(directory);
      const made = all(first.authority);
      await first.keep();
      const [name = ""] = await readdir(directory);
      await writeFile(join(directory, name), text);
      const second = start(directory, TOKEN, NOW + 1_000);
      assert.match(second.file.problem ?? "", /damaged.*do not continue/);
      assert.deepEqual(live(second.authority, made), ["plugin"]);
      const later = all(second.authority);
      await second.keep();
      const third = start(directory, TOKEN, NOW + 2_000);
      assert.equal(third.file.problem, undefined);
      assert.deepEqual(live(third.authority, made), ["plugin"]);
      assert.equal(live(third.authority, later).length, 5);
    });
  }

  it("are stored without secrets, readable only by the owner", async (t) => {
    const directory = await place(t);
    const { keep } = start(directory);
    await keep();
    const names = await readdir(directory);
    assert.equal(names.length, 1);
    const path = join(directory, String(names[0]));
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.doesNotMatch(await readFile(path, "utf8"), /the-token-of-this-test/);
  });

  it("are limited: above 10,000, every principal from before the oldest is dead", async (t) => {
    const { authority } = start(await place(t));
    const old = authority.vouchedPrincipal("device:old", "node", [], []);
    authority.revoke("device:0");
    const after = authority.vouchedPrincipal("device:after", "node", [], []);
    for (let count = 1; count < 10_000; count++) authority.revoke(`device:${count}`);
    assert.ok(authority.isLive(old));
    authority.revoke("device:one-more");
    assert.equal(authority.isLive(old), false);
    assert.ok(authority.isLive(after));
    assert.equal(Object.keys(authority.ended.revoked).length, 10_000);
  });
});
