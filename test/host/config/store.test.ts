import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import JSON5 from "json5";
import { Strict, Type } from "@svc/sdk";
import { REDACTED } from "../../../host/config/redact.ts";
import type { SectionOwner } from "../../../host/config/sections.ts";
import { createConfigStore } from "../../../host/config/store.ts";
import { configFile, snapshotOf } from "./scene.ts";

const notes: SectionOwner = {
  section: "notes",
  plugin: "notes",
  schema: Strict({ max: Type.Integer({ default: 100 }), pin: Type.Optional(Type.String({ sensitive: true })) }),
};

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
