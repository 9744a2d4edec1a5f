/** Writing through the store. Spec: protocol/methods-config.md §3, http/config.md §4. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { type Denial, Strict, Type } from "@svc/sdk";
import type { ConfigChange, ConfigEdit } from "@svc/sdk/config";
import JSON5 from "json5";
import { givenConfig, readConfigFile } from "../../../host/config/file.ts";
import { sha256 } from "../../../host/config/parse.ts";
import { REDACTED } from "../../../host/config/redact.ts";
import type { SectionOwner } from "../../../host/config/sections.ts";
import { type ConfigStoreOptions, type ConfigTransition, createConfigStore } from "../../../host/config/store.ts";
import { nodeFiles } from "../../../host/config/write-file.ts";
import { notes } from "./notes-section.ts";
import { configFile, snapshotOf } from "./scene.ts";

const AUTHOR = { actor: "ada", action: "config.test" };
const START = Date.UTC(2026, 0, 1);
const meta = { lastTouchedVersion: "1.2.3", lastTouchedAt: "2026-01-01T00:00:00.000Z" };
/** The stamp in the text of a JSON5 file. */
const META = `meta: {lastTouchedVersion: '1.2.3', lastTouchedAt: '2026-01-01T00:00:00.000Z'},`;

/** A store on a file with this text, its transitions, and short forms of writes. */
async function scene(t: TestContext, text?: string, more: Partial<ConfigStoreOptions> = {}) {
  const paths = configFile(t, text);
  const env = more.env ?? {};
  const applied: ConfigTransition[] = [];
  const logged: string[] = [];
  const note = (_fields: object, message: string) => void logged.push(message);
  const store = createConfigStore({
    paths,
    env,
    version: "1.2.3",
    owners: () => [notes],
    initial: await readConfigFile(paths.configPath, env),
    clock: { now: () => START, elapsed: () => 0, setTimeout: () => () => {}, setInterval: () => () => {} },
    log: { warn: note, error: note },
    apply: async (change) => void applied.push(change),
    ...more,
  });
  const current = () => (existsSync(paths.configPath) ? readFileSync(paths.configPath, "utf8") : "");
  const put = (value: string) => writeFileSync(paths.configPath, value);
  const edit = (...edits: readonly ConfigEdit[]) => store.edit(AUTHOR, () => edits);
  const changes = () => applied.map(({ changed }) => changed);
  const write = (mode: ConfigChange["mode"], raw: unknown, rest: object = {}) =>
    store.write({
      ...AUTHOR,
      mode,
      raw: typeof raw === "string" ? raw : JSON.stringify(raw),
      ...(existsSync(paths.configPath) ? { baseHash: sha256(current()) } : {}),
      ...rest,
    });
  const auditFile = join(paths.stateDir, "logs/config-audit.jsonl");
  const audit = () => {
    const lines = existsSync(auditFile) ? readFileSync(auditFile, "utf8").trim().split("\n") : [];
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  return { ...paths, store, applied, changes, logged, current, put, write, edit, audit, auditFile };
}

const refused = (message: RegExp) => ({ name: "GatewayError", code: "INVALID_REQUEST", message });

describe("a write that replaces", () => {
  it("writes the caller's text verbatim, plus the stamp, and the gateway follows", async (t) => {
    const { write, current, store, applied, configPath } = await scene(t, "{}");
    const text = "// mine\n{ notes: { max: 5, name: 'x' }, }";
    const result = await write("replace", text);
    const expected = `// mine\n{ notes: { max: 5, name: 'x' }, ${META}}`;
    assert.equal(current(), expected);
    assert.deepEqual(result, {
      path: configPath,
      hash: sha256(expected),
      config: { meta, notes: { max: 5, name: "x" } },
      changed: ["notes.max", "notes.name"],
      reload: "plugin",
    });
    assert.equal(store.running.text, expected);
    assert.deepEqual([applied.length, applied[0]?.previous.text, applied[0]?.next.text], [1, "{}", expected]);
    assert.deepEqual(Object.fromEntries(applied[0]?.kinds ?? []), { "notes.max": "hot", "notes.name": "plugin" });
  });

  it("needs no hash for a missing file, and creates it private", async (t) => {
    const { write, current, configPath } = await scene(t);
    await write("replace", "{}");
    assert.deepEqual(JSON.parse(current()), { meta });
    assert.equal((statSync(configPath).mode & 0o777).toString(8), "600");
  });

  it("of the redacted text keeps every secret, also of variables, in URLs, arguments, conditions and comments", async (t) => {
    const before = `{
  // gateway: { auth: { password: "CANARY-1" } },
  notes: { max: 1 }, /* token: CANARY-2 */
  gateway: { auth: { token: "\${TOKEN}" } },
  mcp: { servers: { a: { args: ["--token", "CANARY-3"], env: {} } } },
  models: { providers: { p: { baseUrl: "https://user:CANARY-4@h/v1?key=CANARY-5" } } },
  hooks: { mappings: [{ match: { headers: { "x-own": "CANARY-6" } } }] },
}
`;
    const { write, store, current } = await scene(t, before, { env: { TOKEN: "CANARY-7" } });
    const { raw } = await store.snapshot();
    assert.doesNotMatch(raw ?? "", /CANARY/);
    assert.match(raw ?? "", /\/\/ __SVC_REDACTED__ 1\n/, "comments stay");
    const { config } = await write("replace", raw?.replace("max: 1", "max: 2"));
    assert.doesNotMatch(JSON.stringify(config), /CANARY/);
    const plain = (text: string) => text.replace(/\n[^\n]*lastTouched[^\n]*/u, "");
    assert.equal(plain(current()), before.replace("max: 1", "max: 2"));
  });

  it("without a change writes nothing: no backup, no audit line", async (t) => {
    const { write, applied, stateDir } = await scene(t, "{ notes: {max: 1} }");
    const result = await write("replace", "{ notes: {max: 1} }");
    assert.deepEqual([result.changed, result.reload, applied], [[], undefined, []]);
    assert.deepEqual(readdirSync(stateDir), ["svc.json"]);
  });

  it("of only comments or defaults changes the file, but no running setting", async (t) => {
    const { write, current, applied, store } = await scene(t, "{}");
    const { changed, reload } = await write("replace", "// hello\n{ notes: { max: 100 } }");
    assert.deepEqual([changed, reload, applied], [[], undefined, []]);
    assert.equal(store.running.text, current());
  });
});

describe("a write that patches", () => {
  it("changes only the named keys in the text, and writes no defaults", async (t) => {
    const { write, current } = await scene(t, "{\n  // why\n  notes: { name: 'a', max: 7 }, // end\n}\n");
    const { config, changed } = await write("patch", { notes: { name: "b", max: null } });
    assert.equal(current(), `{\n  // why\n  notes: { name: 'b' }, // end\n  ${META}\n}\n`);
    const expected = { meta, notes: { name: "b", max: 100 } };
    assert.deepEqual([config, changed], [expected, ["notes.max", "notes.name"].reverse()]);
  });

  it("creates the file as plain JSON", async (t) => {
    const { write, current } = await scene(t);
    await write("patch", "{notes: {name: 'a'}}");
    assert.equal(current(), `${JSON.stringify({ notes: { name: "a" }, meta }, null, 2)}\n`);
  });

  it("keeps a placeholder if the value is unchanged", async (t) => {
    const { write, current } = await scene(t, '{"notes":{"name":"${NAME}","list":[{"id":"${ID}","token":"x"}]}}', {
      env: { NAME: "ada", ID: "one" },
    });
    await write("patch", { notes: { name: "ada", max: 2 } });
    assert.match(current(), /"name":"\$\{NAME\}"/);
    await write("patch", { notes: { name: "bob" } });
    assert.match(current(), /"name":"bob"/);
    assert.match(current(), /"id":"\$\{ID\}"/);
  });

  it("merges entries by id and restores each one's own secret", async (t) => {
    const { write, store } = await scene(t, '{"notes":{"list":[{"id":"a","token":"A"},{"id":"b","token":"B"}]}}');
    await write("patch", { notes: { list: [{ id: "b", token: REDACTED, x: 1 }, { id: "c" }] } });
    assert.deepEqual(store.running.parsed["notes"], {
      list: [{ id: "a", token: "A" }, { id: "b", token: "B", x: 1 }, { id: "c" }],
    });
  });
});

describe("a patch that replaces lists", () => {
  it("moves and removes entries with ids, and each keeps its own secret", async (t) => {
    const text = '{"notes":{"list":[{"id":"a","token":"A"},{"id":"b","token":"B"},{"id":"c","token":"C"}]}}';
    const { store } = await scene(t, text);
    const { hash } = await store.snapshot();
    const patch = {
      notes: {
        list: [
          { id: "c", token: REDACTED },
          { id: "a", token: REDACTED },
        ],
      },
    };
    const raw = JSON.stringify(patch);
    await store.write({ ...AUTHOR, mode: "patch", raw, replaceLists: true, baseHash: hash });
    assert.deepEqual(store.running.parsed["notes"], {
      list: [
        { id: "c", token: "C" },
        { id: "a", token: "A" },
      ],
    });
  });
});

describe("the stamp of the last write", () => {
  it("does not count as a change, restarts nothing, and is not in the audit count", async (t) => {
    let now = START;
    const clock = { now: () => now, elapsed: () => 0, setTimeout: () => () => {}, setInterval: () => () => {} };
    const text = '{"meta":{"lastTouchedAt":"2025","mine":1}}';
    const { write, store, changes, audit, current } = await scene(t, text, { clock });
    await write("patch", { notes: { max: 2 } });
    now += 1_000;
    const { changed, hash } = await write("patch", { notes: { max: 3 }, meta: { lastTouchedAt: "2030" } });
    assert.deepEqual([changed, hash], [["notes.max"], sha256(current())]);
    assert.deepEqual(changes(), [["notes.max"], ["notes.max"]]);
    const counts = audit().map(({ changedPathCount }) => changedPathCount);
    assert.deepEqual(counts, [1, 1]);
    const stamp = { ...meta, lastTouchedAt: "2026-01-01T00:00:01.000Z", mine: 1 };
    assert.deepEqual(store.running.parsed["meta"], stamp);
    await write("patch", { notes: { max: 3 } });
    assert.deepEqual([store.running.parsed["meta"], audit().length], [stamp, 2], "nothing was written");
  });

  it("is included in the hash for the next write and for the watcher", async (t) => {
    const { store, write, applied, current } = await scene(t);
    const { hash } = await write("replace", { notes: { max: 1 } });
    assert.equal((await store.snapshot()).hash, hash);
    await store.refresh();
    await write("patch", { notes: { max: 2 } }, { baseHash: hash });
    await assert.rejects(write("patch", { notes: { max: 2 } }, { baseHash: hash }), refused(/config changed/));
    await store.refresh();
    assert.equal(applied.length, 2);
    assert.deepEqual(JSON.parse(current()), { notes: { max: 2 }, meta });
  });

  const left: [why: string, text: object][] = [
    ["is not an object", { meta: "mine" }],
    ["is in another file", { meta: { $include: "meta.json" } }],
  ];
  for (const [why, text] of left) {
    it(`is not written if meta ${why}`, async (t) => {
      const { write, current, stateDir } = await scene(t, "{}");
      writeFileSync(join(stateDir, "meta.json"), "{}");
      await write("replace", text);
      assert.deepEqual(JSON.parse(current()), text);
    });
  }
});

describe("a refused write changes nothing:", () => {
  const TEXT = '{"notes": {"pin": "CANARY"}, "plain": 1}';
  const rows: [why: string, mode: ConfigChange["mode"], raw: unknown, rest: object, message: RegExp][] = [
    ["no hash", "replace", {}, { baseHash: undefined }, /base hash required.*config\.get/],
    ["another hash", "replace", {}, { baseHash: sha256("{}") }, /config changed.*config\.get/],
    ["broken text", "replace", "{", {}, /JSON5: invalid end of input/],
    ["a broken patch", "patch", "{", {}, /JSON5: invalid end of input/],
    ["a list", "replace", "[]", {}, /one object/],
    ["a patch that is a list", "patch", "[]", {}, /patch must be one object/],
    [
      "a sentinel for nothing in a patch",
      "patch",
      { notes: { list: [{ id: "x", token: REDACTED }] } },
      {},
      /in key notes\.list\[0\]\.token/,
    ],
    ["a sentinel for nothing", "replace", { plain: REDACTED }, {}, /in key plain is not valid/],
    ["a schema violation", "replace", { notes: { max: "x" } }, {}, /^invalid config$/],
    ["an unknown variable", "patch", { notes: { name: "${NOBODY}" } }, {}, /^invalid config$/],
    ["an include that is not there", "patch", { notes: { $include: "gone.json" } }, {}, /^invalid config$/],
    ["2 MiB", "replace", { notes: { name: "x".repeat(2 << 20) } }, {}, /^invalid config$/],
  ];
  for (const [why, mode, raw, rest, message] of rows) {
    it(why, async (t) => {
      const { write, current, applied, store, stateDir } = await scene(t, TEXT);
      await assert.rejects(
        write(mode, raw, rest) as Promise<unknown>,
        (error: Error & { code?: string; details?: { issues: unknown[] } }) => {
          assert.match(error.message, message);
          assert.equal(error.code, "INVALID_REQUEST");
          assert.ok(!JSON.stringify([error.message, error.details]).includes("CANARY"));
          if (error.message === "invalid config") assert.ok((error.details?.issues.length ?? 0) > 0);
          return true;
        },
      );
      assert.deepEqual([current(), applied, store.running.text], [TEXT, [], TEXT]);
      assert.deepEqual(readdirSync(stateDir), ["svc.json"], "no backup, no audit line");
    });
  }

  it("a patch of a broken file; replacing the file repairs it", async (t) => {
    const { write, current } = await scene(t, '{"notes": {"max": "x"}}');
    await assert.rejects(write("patch", { notes: { max: 1 } }), refused(/current config is invalid/));
    await write("replace", { notes: { max: 1 } });
    assert.equal(current(), JSON.stringify({ notes: { max: 1 }, meta }));
  });

  it("the file cannot be read", async (t) => {
    const paths = configFile(t);
    mkdirSync(paths.configPath);
    const store = createConfigStore({ paths, env: {}, version: "1", owners: () => [] });
    const change = { ...AUTHOR, mode: "replace", raw: "{}", baseHash: sha256("") } as const;
    await assert.rejects(store.write(change), refused(/base hash unavailable.*config\.get/));
  });

  it("the hash of a deleted file", async (t) => {
    const { write } = await scene(t);
    await assert.rejects(write("replace", {}, { baseHash: sha256("{}") }), refused(/config changed/));
  });

  it("the gate denies, with its code and reason; it sees the whole transition before anything is written", async (t) => {
    const seen: ConfigTransition[] = [];
    const denial: Denial = { allow: false, reason: "not on a Friday", code: "CONFLICT", details: { day: 5 } };
    const { write, current, audit } = await scene(t, TEXT, {
      validate: async (change) => {
        seen.push(change);
        return denial;
      },
    });
    const told = { code: "CONFLICT", message: "not on a Friday", details: { day: 5 } };
    await assert.rejects(write("patch", { notes: { max: 1 } }), told);
    assert.deepEqual([seen.length, seen[0]?.changed, current(), audit()], [1, ["notes.max"], TEXT, []]);
  });

  it("the disk fails: UNAVAILABLE with the cause, recorded in the audit log", async (t) => {
    const full = () => Promise.reject(Object.assign(new Error("no space left"), { code: "ENOSPC" }));
    const { write, current, audit, applied } = await scene(t, TEXT, { files: { ...nodeFiles, rename: full } });
    await assert.rejects(write("patch", { notes: { max: 1 } }), { code: "UNAVAILABLE", message: /no space left/ });
    const [{ result, errorCode } = {}] = audit();
    assert.deepEqual([current(), applied, result, errorCode], [TEXT, [], "failed", "ENOSPC"]);
  });

  it("the configuration comes from the embedding program", async (t) => {
    const paths = configFile(t);
    const initial = givenConfig(paths.configPath, { notes: { max: 5 } });
    const store = createConfigStore({ paths, env: {}, version: "1", owners: () => [notes], initial, given: true });
    await assert.rejects(store.write({ ...AUTHOR, mode: "replace", raw: "{}" }), refused(/comes from the program/));
    const nothing = store.edit(AUTHOR, () => []);
    await assert.rejects(nothing, refused(/comes from the program/));
    await store.refresh();
    const { config, exists, valid } = await store.snapshot();
    assert.deepEqual([config, exists, valid], [{ notes: { max: 5 } }, false, true]);
    assert.ok(!existsSync(paths.configPath));
  });

  it("checks run in the order hash, syntax, sentinels, schema, gate", async (t) => {
    const { write } = await scene(t, TEXT, { validate: async () => ({ allow: false, reason: "gate" }) });
    const wrong = { baseHash: sha256("") };
    await assert.rejects(write("replace", "{", wrong), refused(/config changed/));
    await assert.rejects(write("replace", `{"plain": "${REDACTED}", `), refused(/JSON5/));
    await assert.rejects(write("replace", { plain: REDACTED, notes: 1 }), refused(/Sentinel/));
    await assert.rejects(write("replace", { notes: 1 }), refused(/invalid config/));
    await assert.rejects(write("replace", { notes: {} }), refused(/gate/));
  });
});

it("after a manual edit the file on disk counts, read or not", async (t) => {
  const { store, write, put, current } = await scene(t, "{}");
  put('{"notes": {"max": 1}}');
  await assert.rejects(write("replace", "{}", { baseHash: sha256("{}") }), refused(/config changed/));
  const { changed } = await write("patch", { notes: { name: "x" } });
  assert.deepEqual(changed, ["notes.max", "notes.name"], "the gateway gets both");
  assert.equal(store.running.text, current());
});

describe("an edit", () => {
  it("sees the file as parsed, and keeps the rest of the text", async (t) => {
    const text = "{\n  // why\n  notes: { name: '${NAME}', max: 1 },\n}\n";
    const { store, current } = await scene(t, text, { env: { NAME: "ada" } });
    let seen: unknown;
    const { changed, reload } = await store.edit(AUTHOR, (parsed) => {
      seen = parsed;
      return [{ path: ["notes", "max"], value: 2 }];
    });
    assert.deepEqual(seen, { notes: { name: "${NAME}", max: 1 } });
    assert.equal(current(), text.replace("max: 1 },\n", `max: 2 },\n  ${META}\n`));
    assert.deepEqual([changed, reload], [["notes.max"], "hot"]);
  });

  it("without changes writes nothing", async (t) => {
    const { edit, stateDir } = await scene(t);
    const { changed, hash, reload } = await edit();
    assert.deepEqual([changed, hash, reload, readdirSync(stateDir)], [[], sha256(""), undefined, []]);
  });

  it("may repair a file that violates a schema, but not one that cannot be read", async (t) => {
    const { edit, current, put } = await scene(t, '{"notes": {"max": "x"}}');
    await edit({ path: ["notes", "max"] });
    assert.deepEqual(JSON.parse(current()), { notes: {}, meta });
    put("{");
    await assert.rejects(edit({ path: ["a"], value: 1 }), refused(/current config is invalid/));
  });

  it("throws the error of `decide`, or the issues of the result; the lock is released", async (t) => {
    const { store, edit } = await scene(t, "{}");
    const boom = () => {
      throw new Error("changed my mind");
    };
    await assert.rejects(store.edit(AUTHOR, boom), /changed my mind/);
    await assert.rejects(edit({ path: ["notes", "max"], value: "x" }), refused(/invalid config/));
    await assert.rejects(edit({ path: ["notes", "pin"], value: REDACTED }), refused(/Sentinel/));
    await edit({ path: ["notes", "max"], value: 1 });
  });
});

describe("a file with includes", () => {
  async function included(t: TestContext) {
    const made = await scene(t, "{}", { env: { PIN: "from-env" } });
    const theirs = { max: 1, name: "theirs", pin: "CANARY", list: [{ id: "a" }] };
    writeFileSync(join(made.stateDir, "notes.json"), JSON.stringify(theirs));
    await made.write("replace", '{\n  // theirs\n  notes: { $include: "./notes.json" },\n}\n');
    return made;
  }

  it("gets overrides next to the include; included values are not copied", async (t) => {
    const { write, edit, current, store } = await included(t);
    await write("patch", { notes: { max: 2, name: "theirs", pin: REDACTED } });
    assert.match(current(), /\/\/ theirs/);
    assert.deepEqual(store.running.parsed, { meta, notes: { $include: "./notes.json", max: 2 } });
    await edit({ path: ["notes", "name"], value: "mine" });
    assert.deepEqual(store.running.parsed, { meta, notes: { $include: "./notes.json", max: 2, name: "mine" } });
    assert.equal((store.running.resolved["notes"] as { pin: string }).pin, "CANARY");
    await write("patch", { notes: { list: [{ id: "b" }] } });
    assert.deepEqual((store.running.resolved["notes"] as { list: unknown }).list, [{ id: "a" }, { id: "b" }]);
  });

  it("names the file to change if a value in it would have to be deleted or merged by id", async (t) => {
    const { write, edit, current } = await included(t);
    const before = current();
    const inFile = (key: string) => refused(new RegExp(`^notes\\.${key} comes from an included file.*notes\\.json`));
    await assert.rejects(write("patch", { notes: { max: null } }), inFile("max"));
    await assert.rejects(write("patch", { notes: { list: [{ id: "a", token: "x" }] } }), inFile("list"));
    await assert.rejects(edit({ path: ["notes", "max"] }), inFile("max"));
    await assert.rejects(edit({ path: ["notes", "list"], value: [{ id: "z" }] }), inFile("list"));
    assert.equal(current(), before);
  });
});

describe("applying a change", () => {
  it("that fails keeps the file, sets `problem`, logs the error, and is retried with the next change", async (t) => {
    let fails = true;
    const tried: (readonly string[])[] = [];
    const { write, store, current, logged } = await scene(t, "{}", {
      apply: async ({ changed }) => {
        tried.push(changed);
        if (fails) throw new Error("no room");
      },
    });
    await write("patch", { notes: { max: 1 } });
    assert.match(current(), /"max": 1/);
    assert.match(String(store.problem?.message), /could not be applied: no room/);
    assert.deepEqual([store.running.text, logged.length], ["{}", 1]);
    await store.refresh(); // the watcher finds no change
    assert.equal(tried.length, 1);
    fails = false;
    await write("patch", { notes: { name: "x" } });
    assert.deepEqual(tried, [["notes.max"], ["notes.max", "notes.name"]]);
    assert.deepEqual([store.running.text, store.problem], [current(), undefined]);
  });
});

describe("a refresh", () => {
  it("does nothing without a change; applies a change once", async (t) => {
    const { store, changes, put } = await scene(t, "{}");
    await store.refresh();
    assert.deepEqual(changes(), []);
    put('{"notes": {"max": 1}}');
    await Promise.all([store.refresh(), store.refresh()]);
    assert.deepEqual(changes(), [["notes.max"]]);
    assert.deepEqual(store.running.parsed, { notes: { max: 1 } });
  });

  it("finds a change of an included file, which is not part of the hash", async (t) => {
    const { store, changes, stateDir, write } = await scene(t, "{}");
    writeFileSync(join(stateDir, "n.json"), '{"max": 1}');
    await write("replace", '{notes: {$include: "n.json"}}');
    writeFileSync(join(stateDir, "n.json"), '{"max": 2}');
    await store.refresh();
    assert.deepEqual(changes(), [["notes.max"], ["notes.max"]]);
    assert.deepEqual(store.running.resolved, { meta, notes: { max: 2 } });
  });

  const bad: [why: string, text: string, message: RegExp][] = [
    ["broken", "{", /JSON5/],
    ["invalid", '{"notes": {"max": "x"}}', /notes\.max: must be integer/],
    ["lacking a variable", '{"notes": {"name": "${NOBODY}"}}', /NOBODY is not set/],
  ];
  for (const [why, text, message] of bad) {
    it(`that finds the file ${why} keeps the running configuration, and reports it once`, async (t) => {
      const { store, applied, logged, put } = await scene(t, "{}");
      put(text);
      await store.refresh();
      await store.refresh();
      assert.match(String(store.problem?.message), message);
      assert.deepEqual([store.running.text, applied, logged.length], ["{}", [], 1]);
      put("{}");
      await store.refresh();
      assert.equal(store.problem, undefined);
    });
  }

  it("that finds no file keeps the running configuration, and continues when the file is back", async (t) => {
    const { store, configPath, put, applied } = await scene(t, '{"notes": {"max": 1}}');
    rmSync(configPath);
    await store.refresh();
    assert.match(String(store.problem?.message), /the file no longer exists; restore it/);
    assert.deepEqual(store.running.parsed, { notes: { max: 1 } });
    put('{"notes": {"max": 2}}');
    await store.refresh();
    assert.deepEqual([store.problem, applied.length], [undefined, 1]);
  });

  const gates: [does: string, validate: NonNullable<ConfigStoreOptions["validate"]>][] = [
    ["denies", async () => ({ allow: false, reason: "not today" })],
    ["throws", () => Promise.reject(new Error("not today"))],
  ];
  for (const [does, validate] of gates)
    it(`applies nothing if the gate ${does}, and reports it`, async (t) => {
      const { store, put, applied } = await scene(t, "{}", { validate });
      put('{"notes": {"max": 1}}');
      await store.refresh();
      assert.match(String(store.problem?.message), /not today/);
      assert.deepEqual(applied, []);
    });
});

describe("the audit log", () => {
  it("records author, time and size in a private file, and never values", async (t) => {
    const { write, audit, auditFile, configPath, current } = await scene(t, undefined);
    mkdirSync(join(auditFile, ".."));
    writeFileSync(auditFile, "", { mode: 0o644 });
    process.argv.push("gateway.auth.token", "CANARY-0"); // as after `svc config set`
    t.after(() => process.argv.splice(-2));
    await write("replace", { notes: { pin: "CANARY-1", name: "CANARY-2" }, "CANARY-3": 1, meta: {}, gateway: {} });
    const first = current();
    await write("patch", { notes: { pin: "CANARY-4" } });
    const [one = {}, two = {}] = audit();
    const previous = { previousHash: sha256(first), previousBytes: Buffer.byteLength(first) };
    const next = { nextHash: sha256(current()), nextBytes: Buffer.byteLength(current()) };
    const author = { ts: meta.lastTouchedAt, ...AUTHOR, version: "1.2.3", pid: process.pid };
    const kind = { event: "config.write", source: "config-io", configPath };
    const created = { existsBefore: false, previousHash: null, nextHash: sha256(first), hasMetaBefore: false };
    assert.deepEqual(one, { ...one, ...kind, ...author, ...created, hasMetaAfter: true });
    const change = { ...previous, ...next, changedPathCount: 1, result: "rename", suspicious: [] };
    assert.deepEqual(two, { ...two, ...change });
    assert.equal((statSync(auditFile).mode & 0o777).toString(8), "600");
    assert.ok(!readFileSync(auditFile, "utf8").includes("CANARY"));
    const fields =
      "ts source event configPath pid ppid cwd argv execArgv watchMode watchSession watchCommand existsBefore previousHash nextHash previousBytes nextBytes changedPathCount hasMetaBefore hasMetaAfter gatewayModeBefore gatewayModeAfter suspicious result actor action";
    for (const field of fields.split(" ")) assert.ok(field in one, field);
  });

  it("marks a file that shrank to less than half", async (t) => {
    const { write, audit } = await scene(t, JSON.stringify({ notes: { name: "x".repeat(600) } }));
    await write("patch", { notes: { name: null } });
    assert.match(String(audit()[0]?.["suspicious"]), /^size-drop:\d+->\d+$/);
  });

  it("that cannot be written causes a log line, and the write succeeds", async (t) => {
    const { write, current, stateDir, logged } = await scene(t, "{}");
    writeFileSync(join(stateDir, "logs"), "in the way");
    await write("patch", { notes: { max: 1 } });
    assert.match(current(), /"max": 1/);
    assert.match(String(logged[0]), /could not be recorded in the audit log/);
  });
});

it("secrets of an unloaded plugin stay hidden", async (t) => {
  let owners: readonly SectionOwner[] = [notes];
  const { store, write } = await scene(t, '{"notes": {"pin": "CANARY"}}', { owners: () => owners });
  await store.snapshot();
  owners = [{ ...notes, schema: undefined }];
  assert.ok(!JSON.stringify(await store.snapshot()).includes("CANARY"));
  const { config } = await write("patch", { notes: { max: 1 } });
  assert.ok(!JSON.stringify(config).includes("CANARY"));
});

describe("a snapshot of the configuration", () => {
  it("of a missing file is valid and empty, except for plugins' defaults", async (t) => {
    const { path, ...rest } = await snapshotOf(t, undefined, { owners: [notes] });
    assert.ok(path.endsWith("/svc.json"));
    assert.deepEqual(rest, {
      exists: false,
      hash: createHash("sha256").update("").digest("hex"),
      issues: [],
      warnings: [],
      legacyIssues: [],
      valid: true,
      raw: null,
      parsed: {},
      resolved: {},
      config: { notes: { max: 100 } },
    });
  });

  it("is validated again only when the file or a schema changes", async (t) => {
    let checks = 0;
    const counted = () => ++checks > 0;
    const owner = (): SectionOwner => ({ ...notes, schema: Strict({ max: Type.Refine(Type.Integer(), counted) }) });
    let owners = [owner()];
    const paths = configFile(t, '{ "notes": { "max": 1 } }');
    const store = createConfigStore({ paths, env: {}, version: "1", owners: () => [...owners] });
    const once = async () => {
      const before = checks;
      const { config, schema } = { ...(await store.snapshot()), ...store.schema() };
      return { max: (config as { notes: { max: number } }).notes.max, schema, isChecked: checks > before };
    };
    const first = await once();
    const second = await once();
    assert.deepEqual([first.isChecked, second.isChecked, second.schema === first.schema], [true, false, true]);
    writeFileSync(paths.configPath, '{ "notes": { "max": 2 } }'); // of the same size, within the same tick
    const third = await once();
    assert.deepEqual([third.max, third.isChecked], [2, true]);
    owners = [owner()];
    assert.equal((await once()).isChecked, true);
  });

  it("distinguishes the written, the resolved and the effective configuration", async (t) => {
    const text = '{ "gateway": { "customBindHost": "${HOST}" }, "notes": {} }';
    const { raw, parsed, resolved, config } = await snapshotOf(t, text, { owners: [notes], env: { HOST: "h" } });
    assert.equal(raw, text);
    assert.deepEqual(parsed, { gateway: { customBindHost: "${HOST}" }, notes: {} });
    assert.deepEqual(resolved, { gateway: { customBindHost: "h" }, notes: {} });
    assert.deepEqual(config, { gateway: { customBindHost: "h" }, notes: { max: 100 } });
  });

  const invalid: [why: string, text: string, path: string][] = [
    ["that cannot be parsed", "{", ""],
    ["with a wrong section of a plugin", '{"notes": {"max": "x"}}', "notes.max"],
    ["with an unknown variable", '{"x": "${NOBODY}"}', "x"],
  ];
  for (const [why, text, path] of invalid) {
    it(`of a file ${why} has the issue and the hash, but no content of the file`, async (t) => {
      const { issues, path: _, ...rest } = await snapshotOf(t, text, { owners: [notes] });
      const paths = issues.map((issue) => issue.path);
      assert.deepEqual(paths, [path]);
      assert.deepEqual(rest, {
        exists: true,
        hash: createHash("sha256").update(text).digest("hex"),
        warnings: rest.warnings,
        legacyIssues: [],
        valid: false,
        raw: null,
        parsed: null,
        resolved: {},
        config: {},
      });
    });
  }

  it("keeps and reports a section whose plugin is not running, with any content", async (t) => {
    const owners = [{ ...notes, schema: undefined }];
    const { valid, config, warnings } = await snapshotOf(t, '{"notes": {"max": "x"}, "typo": 1}', { owners });
    assert.deepEqual([valid, config], [true, { notes: { max: "x" }, typo: 1 }]);
    assert.match(
      warnings.map(({ path, message }) => `${path}: ${message}`).join("\n"),
      /^notes: .*plugin notes is not running.*\ntypo: .*no plugin in use/,
    );
  });

  it("comes with the schema and hints of the current owners", (t) => {
    let owners: readonly SectionOwner[] = [];
    const store = createConfigStore({ paths: configFile(t), env: {}, version: "1.2.3", owners: () => owners });
    assert.ok(!("notes.pin" in store.schema().uiHints));
    owners = [notes];
    const { schema, uiHints, version } = store.schema();
    assert.equal(version, "1.2.3");
    assert.equal((uiHints["notes.pin"] as { sensitive?: boolean }).sensitive, true);
    assert.ok("notes" in (schema as { properties: object }).properties);
  });
});

describe("secrets in a snapshot", () => {
  /** Secrets at every possible place; `CANARY-<n>` must never appear in output. */
  const everywhere = `{
  // the old token was CANARY-1, do not use it
  gateway: { auth: { mode: 'token', token: 'CANARY-1', password: "CANARY-2" } },
  models: { providers: {
    openai: { apiKey: "CANARY-3", maxTokens: 4096, baseUrl: "https://x.example" },
    "with.dot": { api_key: "CANARY-4 with \\"quotes\\" and \\\\" },
    ref: { apiKey: { source: "env", provider: "default", id: "CANARY-5" } },
  } },
  channels: [ { botToken: "CANARY-6" }, [ { clientSecret: "CANARY-7" } ] ],
  relay: { token: ["CANARY-8", "CANARY-9"], serviceAccount: { private_key: "CANARY-A", list: ["CANARY-B"] } },
  notes: { pin: "CANARY-C" },
  env: { secret: "\${FROM_ENV}", plain: "kept" },
  numbers: { password: 990017 },
}`;
  const env = { FROM_ENV: "CANARY-D" };

  it("never appear, regardless of the form of the file", async (t) => {
    const plain = JSON.stringify(JSON5.parse(everywhere), null, 2);
    for (const text of [everywhere, plain]) {
      const snapshot = await snapshotOf(t, text, { owners: [notes], env });
      assert.equal(snapshot.valid, true);
      const all = JSON.stringify(snapshot);
      assert.ok(!/CANARY|990017/.test(all), all);
      assert.ok(all.includes("https://x.example") && all.includes("4096"), "the rest is there");
      assert.deepEqual(JSON5.parse(String(snapshot.raw)), snapshot.parsed);
      const { env: shown } = snapshot.parsed as { env: unknown };
      assert.deepEqual(shown, { secret: "${FROM_ENV}", plain: "kept" });
      assert.deepEqual((snapshot.config as { env: unknown }).env, { secret: REDACTED, plain: "kept" });
    }
  });

  for (const token of ["s3cret", "${TOKEN}"])
    it(`given as ${token} are replaced in the text and its comments; the formatting stays`, async (t) => {
      const text = `{\n  // mine: s3cret\n  gateway: { auth: { token: '${token}' } },\n}\n`;
      const { raw } = await snapshotOf(t, text, { env: { TOKEN: "s3cret" } });
      assert.equal(raw, text.replaceAll("s3cret", REDACTED));
    });

  const rewritten: [why: string, text: string][] = [
    ["a secret that is also a key", '{"gateway": {"auth": {"token": "token"}}}'],
    ["a secret that is also another value", '{"gateway": {"customBindHost": "one", "auth": {"token": "one"}}}'],
    ["a secret in a spelling of its own", "{gateway: {auth: {token: '\\x43ANARY'}}} // x"],
    ["a whole service account", '{"relay": {"serviceAccount": {"key": "CANARY"}}} // x'],
  ];
  for (const [why, text] of rewritten) {
    it(`cause a rewrite of the text if replacing would change other values: ${why}`, async (t) => {
      const { raw, parsed } = await snapshotOf(t, text);
      assert.equal(raw, `${JSON.stringify(parsed, null, 2)}\n`);
      assert.ok(!raw.includes("CANARY"));
    });
  }

  it("do not appear in issues of the file", async (t) => {
    const texts = [
      '{"gateway": {"auth": {"token": "CANARY", "x": 1}}}',
      '{"gateway": {"auth": {"token": ["CANARY"]}}}',
      '{"gateway": {"auth": {"token": "CANARY"}}',
      "{gateway: {auth: {token: CANARY}}}",
      '{"notes": {"pin": {"a": "CANARY"}}}',
    ];
    for (const text of texts) {
      const snapshot = await snapshotOf(t, text, { owners: [notes] });
      assert.equal(snapshot.valid, false);
      assert.ok(!JSON.stringify(snapshot).includes("CANARY"), JSON.stringify(snapshot.issues));
    }
  });
});

it("a prototype key in the file has no effect", async (t) => {
  const text =
    '{"__proto__": {"polluted": 1}, "notes": {"__proto__": {"polluted": 1}}, "x": {"constructor": {"prototype": {"polluted": 1}}}}';
  const open: SectionOwner = { ...notes, schema: Type.Object({ max: Type.Integer({ default: 1 }) }) };
  const { valid, config } = await snapshotOf(t, text, { owners: [open] });
  assert.equal(valid, true);
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
  assert.equal((config as Record<string, unknown>)["polluted"], undefined);
  assert.equal((config as { notes: Record<string, unknown> }).notes["polluted"], undefined);
});
