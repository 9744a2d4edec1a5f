/** The configuration that several gateways keep in one database, with files that are copies of it. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { unavailable } from "@svc/sdk/errors";
import type { ConfigKeeper } from "@svc/sdk/gateway";
import JSON5 from "json5";
import { readConfigFile } from "../../../host/config/file.ts";
import { sha256 } from "../../../host/config/parse.ts";
import { type ConfigStoreOptions, type ConfigTransition, createConfigStore } from "../../../host/config/store.ts";
import { nodeFiles } from "../../../host/config/write-file.ts";
import { notes } from "./notes-section.ts";
import { configFile } from "./scene.ts";

const fails = async () => {
  throw Object.assign(new Error("read-only file system"), { code: "EROFS" });
};
const AUTHOR = { actor: "ada", action: "config.test" };
const START = Date.UTC(2026, 0, 1);

/** The row of a database. */
class Row implements ConfigKeeper {
  foundBy: readonly string[] = [];
  revision_ = 0;
  text: string | undefined;
  isAway = false;
  /** Called once, before the next change. */
  first: (() => void) | undefined;

  async read() {
    if (this.isAway) unavailable("the database is away");
    return { revision: this.revision_, text: this.text };
  }
  async revision() {
    return (await this.read()).revision;
  }
  async replace(base: number, text: string | undefined) {
    await this.read();
    this.first?.();
    this.first = undefined;
    if (base !== this.revision_) return false;
    this.change(text);
    return true;
  }
  /** As another gateway does. */
  change(text: string | undefined) {
    this.revision_ += 1;
    this.text = text;
  }
}

/** A gateway with a file of its own. */
async function gateway(t: TestContext, text?: string, more: Partial<ConfigStoreOptions> = {}) {
  const { configPath, stateDir } = more.paths ?? configFile(t, text);
  const applied: ConfigTransition[] = [];
  const logged: string[] = [];
  const log = (_fields: object, message: string) => void logged.push(message);
  const store = createConfigStore({
    paths: { configPath, stateDir },
    env: {},
    version: "1.2.3",
    owners: () => [notes],
    initial: await readConfigFile(configPath, {}),
    clock: { now: () => START, elapsed: () => 0, setTimeout: () => () => {}, setInterval: () => () => {} },
    log: { warn: log, error: log },
    apply: async (change) => void applied.push(change),
    restart: () => undefined,
    ...more,
  });
  return {
    store,
    applied,
    logged,
    configPath,
    stateDir,
    record: join(stateDir, "config-copy.json"),
    file: () => (existsSync(configPath) ? readFileSync(configPath, "utf8") : undefined),
    put: (value: string) => writeFileSync(configPath, value),
    /** The value of `notes.max` in use. */
    max: () => (store.running.resolved["notes"] as { max?: number } | undefined)?.max,
    set: (max: number) => store.edit(AUTHOR, () => [{ path: ["notes", "max"], value: max }]),
  };
}

/** Two gateways that use the row. */
async function pair(t: TestContext, text = "{notes: {max: 1}}", more: Partial<ConfigStoreOptions> = {}) {
  const row = new Row();
  const [one, other] = [await gateway(t, text, more), await gateway(t, "{notes: {name: 'other'}}")];
  one.store.sharedText.join(row);
  other.store.sharedText.join(row);
  assert.equal(await one.store.move("database", AUTHOR), true);
  await other.store.refresh();
  return { row, one, other };
}

const refused = (code: string, message: RegExp) => ({ name: "GatewayError", code, message });
const CHANGED = refused("INVALID_REQUEST", /config changed since last load/);

describe("a configuration in a database", () => {
  it("replaces the file of another gateway, which keeps its former one as a backup", async (t) => {
    const { one, other } = await pair(t);
    assert.equal(other.max(), 1);
    assert.equal(other.file(), one.file());
    assert.equal(readFileSync(`${other.configPath}.bak`, "utf8"), "{notes: {name: 'other'}}");
  });

  it("is changed at any gateway, and used by all", async (t) => {
    const told: string[] = [];
    const { row, one, other } = await pair(t, undefined, { shared: () => void told.push("told") });
    await one.set(2);
    assert.deepEqual(told, ["told", "told"]);
    assert.equal(one.file(), row.text);
    assert.equal(await other.store.sharedText.isOutdated(), true);
    await other.store.refresh();
    assert.equal(await other.store.sharedText.isOutdated(), false);
    assert.equal(other.max(), 2);
    assert.equal(other.applied.at(-1)?.author, undefined);
    await other.set(3);
    assert.deepEqual(JSON5.parse(row.text ?? ""), { ...JSON5.parse(other.file() ?? ""), notes: { max: 3 } });
    const { hash, running } = await one.store.snapshot(); // not the copy, which is old
    assert.equal(hash, sha256(row.text ?? ""));
    assert.equal(running?.isShared, true);
  });

  it("refuses a write that is based on an older text, also one that another gateway overtakes", async (t) => {
    const { row, one, other } = await pair(t);
    const write = { ...AUTHOR, mode: "replace" as const, raw: "{notes: {max: 9}}" };
    const { hash } = await other.store.snapshot();
    await one.set(2);
    await assert.rejects(other.store.write({ ...write, baseHash: hash }), CHANGED);
    const { hash: now } = await other.store.snapshot();
    row.first = () => row.change("{notes: {max: 5}}");
    await assert.rejects(other.store.write({ ...write, baseHash: now }), CHANGED);
    assert.equal(row.text, "{notes: {max: 5}}");
  });

  it("repeats an edit that another gateway overtakes", async (t) => {
    const { row, one } = await pair(t);
    row.first = () => row.change("{notes: {max: 5, name: 'faster'}}");
    await one.set(7);
    assert.deepEqual((JSON5.parse(row.text ?? "") as { notes: object }).notes, { max: 7, name: "faster" });
  });

  it("takes an edited copy", async (t) => {
    const { row, one, other } = await pair(t);
    other.put("{notes: {max: 20}}");
    await other.store.refresh();
    assert.equal(row.text, "{notes: {max: 20}}");
    assert.equal(other.max(), 20);
    await one.store.refresh();
    assert.equal(one.max(), 20);
  });

  it("takes an edited copy before a change through the gateway", async (t) => {
    const { row, one } = await pair(t);
    one.put("{notes: {max: 20}}");
    await one.store.edit(AUTHOR, () => [{ path: ["notes", "name"], value: "both" }]);
    assert.deepEqual((JSON5.parse(row.text ?? "") as { notes: object }).notes, { max: 20, name: "both" });
  });

  it("does not take an edited copy of an older text: it becomes the backup, and the refusal names it", async (t) => {
    const { row, one, other } = await pair(t);
    await one.set(2);
    other.put("{notes: {max: 20}}");
    await other.store.refresh();
    assert.equal(other.max(), 2);
    assert.equal(other.file(), row.text);
    assert.equal(readFileSync(`${other.configPath}.bak`, "utf8"), "{notes: {max: 20}}");
    const { running } = await other.store.snapshot();
    assert.equal(running?.refused?.hash, sha256("{notes: {max: 20}}"));
    assert.match(running?.refused?.reason ?? "", /another gateway has changed the configuration.*\.bak/);
    assert.match(other.logged.at(-1) ?? "", /a change of the configuration file was not used/);
  });

  it("ignores an edited copy that is invalid, until it is corrected", async (t) => {
    const { row, one } = await pair(t);
    const before = row.text;
    one.put("{notes: {max: 'many'}}");
    await one.store.refresh();
    assert.equal(row.text, before);
    assert.equal(one.max(), 1);
    assert.match(one.store.problem?.message ?? "", /notes\.max/);
    one.put("{notes: {max: 4}}");
    await one.store.refresh();
    assert.equal(one.store.problem, undefined);
    assert.equal(row.text, "{notes: {max: 4}}");
  });

  it("cannot include files", async (t) => {
    const { row, one } = await pair(t);
    writeFileSync(join(one.configPath, "../more.json5"), "{max: 3}");
    const before = row.text;
    one.put("{notes: {$include: './more.json5'}}");
    await one.store.refresh();
    assert.equal(row.text, before);
    assert.match(one.store.problem?.message ?? "", /\$include: a configuration in a database cannot include files/);
    const alone = await gateway(t, "{notes: {$include: './more.json5'}}");
    writeFileSync(join(alone.configPath, "../more.json5"), "{max: 3}");
    alone.store.sharedText.join(new Row());
    await alone.store.refresh();
    await assert.rejects(alone.store.move("database", AUTHOR), refused("INVALID_REQUEST", /is invalid/));
  });

  it("is not used where it is invalid, and the copy stays a valid one", async (t) => {
    const { row, one } = await pair(t);
    const before = one.file();
    row.change("{notes: {max: 'many'}}");
    await one.store.refresh();
    assert.equal(one.max(), 1);
    assert.equal(one.file(), before);
    assert.match(one.store.problem?.message ?? "", /notes\.max/);
    row.change("{notes: {max: 6}}");
    await one.store.refresh();
    assert.equal(one.max(), 6);
  });

  it("is not used where it would lead away from its database", async (t) => {
    const { row, one } = await pair(t, "{notes: {max: 1, name: 'the way here'}}");
    row.foundBy = ["notes.name"];
    row.change("{notes: {max: 2}}");
    await one.store.refresh();
    assert.equal(one.max(), 1);
    assert.match(one.store.problem?.message ?? "", /notes\.name: with this value, this gateway has found/);
    assert.doesNotMatch(one.store.problem?.message ?? "", /the way here/);
    row.change("{notes: {max: 3, name: 'the way here'}}");
    await one.store.refresh();
    assert.equal(one.max(), 3);
  });

  it("is used where the file cannot be written, without a restart that would begin with the former text", async (t) => {
    const { row, one } = await pair(t, undefined, { files: { ...nodeFiles, rename: fails } });
    row.change("{notes: {max: 2}}");
    await one.store.refresh();
    assert.equal(one.max(), 2);
    assert.equal(one.applied.at(-1)?.restartsItself, true);
    assert.equal(await one.store.sharedText.isOutdated(), false, "it does not try again every few seconds");
    assert.match(one.logged.at(-1) ?? "", /could not be replaced/);
  });

  it("can be read but not changed while the database is away", async (t) => {
    const { row, one } = await pair(t);
    row.isAway = true;
    await assert.rejects(one.set(2), refused("UNAVAILABLE", /the database is away/));
    assert.deepEqual((await one.store.snapshot()).resolved, one.store.running.resolved);
    row.isAway = false;
    await one.set(2);
    assert.equal(one.max(), 2);
  });

  it("outlives an end between the change and the copy", async (t) => {
    const { row, one } = await pair(t);
    row.change("{notes: {max: 8}}"); // as its own change, of which nothing else is left
    await one.store.refresh();
    assert.equal(one.max(), 8);
    assert.deepEqual(one.logged, []);
  });

  it("comes back where its copy was deleted", async (t) => {
    const { row, one } = await pair(t);
    rmSync(one.configPath);
    await one.store.refresh();
    assert.equal(one.file(), row.text);
  });
});

describe("the start of a gateway on a database with a configuration", () => {
  it("begins again when its file was replaced, once", async (t) => {
    const row = new Row();
    row.change("{notes: {max: 3}}");
    const { store, file, applied } = await gateway(t);
    store.sharedText.join(row);
    assert.equal(await store.settle(), true);
    assert.equal(file(), row.text);
    assert.deepEqual(applied, []);
    assert.equal(await store.settle(), false);
  });

  it("takes what was edited while it did not run", async (t) => {
    const { row, one } = await pair(t);
    one.put("{notes: {max: 12}}");
    const again = await gateway(t, undefined, { paths: one });
    again.store.sharedText.join(row);
    assert.equal(await again.store.settle(), false);
    assert.equal(row.text, "{notes: {max: 12}}");
  });

  it("fails while the database is away", async (t) => {
    const row = new Row();
    row.isAway = true;
    const { store } = await gateway(t);
    store.sharedText.join(row);
    await assert.rejects(store.settle(), refused("UNAVAILABLE", /away/));
  });
});

describe("svc config move", () => {
  it("back to the file: each gateway has its copy, and a configuration of its own", async (t) => {
    const { row, one, other } = await pair(t);
    assert.equal(await one.store.move("file", AUTHOR), true);
    assert.equal(await one.store.move("file", AUTHOR), false);
    await other.store.refresh();
    assert.equal(existsSync(other.record), false);
    await one.set(2);
    await other.store.refresh();
    assert.deepEqual([one.max(), other.max(), row.text], [2, 1, undefined]);
  });

  it("is refused where the database is one file", async (t) => {
    const { store } = await gateway(t, "{}");
    await assert.rejects(store.move("database", AUTHOR), refused("INVALID_REQUEST", /SVC_DATABASE_URL/));
    assert.equal(await store.move("file", AUTHOR), false);
  });

  it("frees a gateway that no longer uses the database; until then its configuration cannot be changed", async (t) => {
    const { one } = await pair(t);
    const alone = await gateway(t, undefined, { paths: one });
    await assert.rejects(alone.set(2), refused("UNAVAILABLE", /svc config move --to file/));
    assert.equal(await alone.store.move("file", AUTHOR), true);
    await alone.set(2);
    assert.equal(alone.max(), 2);
  });

  it("of two gateways that move at once, one is refused", async (t) => {
    const row = new Row();
    const one = await gateway(t, "{notes: {max: 1}}");
    one.store.sharedText.join(row);
    row.first = () => row.change("{notes: {max: 2}}");
    await assert.rejects(one.store.move("database", AUTHOR), CHANGED);
    await one.store.refresh();
    assert.equal(one.max(), 2);
  });
});
