/** Every key of the section `secrets`: valid, invalid and empty. Spec: http/config.md §6, http/config-keys.md. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { violations, withDefaults } from "@svc/sdk";
import type { SecretSource } from "@svc/sdk/secrets";
import { SecretsConfig } from "../../../plugins/secrets/config.ts";
import { createEnvSource } from "../../../plugins/secrets/env-source.ts";
import { createExecSource } from "../../../plugins/secrets/exec-source.ts";
import { createFileSource } from "../../../plugins/secrets/file-source.ts";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";

const clock = createFakeClock();
const sources = { env: createEnvSource({}), file: createFileSource({ clock }), exec: createExecSource({ clock }) };

/** Required settings of each source; each row changes one key. */
const NEEDED = { env: {}, file: { path: "/s" }, exec: { command: "/bin/s" } } as const;

const flags = { good: [true, false], wrong: ["", "true", 1, null] };
const timeouts = { good: [1, 120_000], wrong: [0, 120_001, 1.5, "5", "", null] };
const sizes = { good: [1, 20_971_520], wrong: [0, 20_971_521, "1", "", null] };
const names = (most: number) => ({
  good: [[], ["A"], ["A_1"], Array.from({ length: most }, (_, index) => `A${index}`)],
  wrong: ["A", [""], ["a"], ["1A"], [`A${"B".repeat(128)}`], Array(most + 1).fill("A"), null],
});
const paths = { good: ["/a", "/a b/c"], wrong: ["", "a", "~/a", "./a", "a/b", "/a\0b", 1, null, undefined] };

type Rows = Readonly<Record<string, { readonly good: readonly unknown[]; readonly wrong: readonly unknown[] }>>;
const KEYS: Readonly<Record<keyof typeof NEEDED, Rows>> = {
  env: { allowlist: names(256) },
  file: {
    path: paths,
    mode: { good: ["json", "singleValue"], wrong: ["", "JSON", 1, null] },
    timeoutMs: timeouts,
    maxBytes: sizes,
  },
  exec: {
    command: paths,
    args: {
      good: [[], [""], ["-x", "a b"], Array(128).fill("a")],
      wrong: ["-x", [1], Array(129).fill("a"), ["a".repeat(1_025)], null],
    },
    timeoutMs: timeouts,
    noOutputTimeoutMs: timeouts,
    maxOutputBytes: sizes,
    jsonOnly: flags,
    env: { good: [{}, { A: "b", C: "" }], wrong: [{ A: 1 }, [], "", null] },
    passEnv: names(128),
    trustedDirs: { good: [[], ["/a"], Array(64).fill("/a")], wrong: [[""], ["a"], "/a", Array(65).fill("/a"), null] },
    allowInsecurePath: flags,
    allowSymlinkCommand: flags,
  },
};

const short = (value: unknown) => (JSON.stringify(value) ?? "undefined").slice(0, 30);

for (const [id, rows] of Object.entries(KEYS) as [keyof typeof NEEDED, Rows][]) {
  const source: SecretSource = sources[id];
  const check = (settings: object) => source.check({ name: "vault", settings: { ...NEEDED[id], ...settings } });

  it(`settings of the source ${id} are checked key by key, and a refusal names the key`, () => {
    assert.equal(check({}), undefined, "the required keys only");
    assert.equal(check({ extra: 1 }), "secrets.providers.vault: unexpected property 'extra'");
    for (const [key, { good, wrong }] of Object.entries(rows)) {
      for (const value of good) assert.equal(check({ [key]: value }), undefined, `${key} ${short(value)}`);
      for (const value of wrong) {
        const why = check({ [key]: value }) ?? assert.fail(`${key} ${short(value)} was accepted`);
        assert.ok(why.startsWith("secrets.providers.vault") && why.includes(key), why);
      }
    }
  });
}

const MOST = { maxProviderConcurrency: 16, maxRefsPerProvider: 4_096, maxBatchBytes: 5_242_880 };

describe("the section secrets", () => {
  const problem = (section: unknown) => violations(SecretsConfig, withDefaults(SecretsConfig, section))[0];

  const entries: [entry: object, message: string][] = [
    [{ source: "file", path: "b" }, "path must be an absolute path, starting with /"],
    [{ source: "file" }, "must have required properties path"],
    [{ source: "env", allowlist: ["a"] }, 'allowlist[0] must match pattern "^[A-Z][A-Z0-9_]{0,127}$"'],
    [{ source: "exec", command: "/a", trustedDirs: ["/a", "b"] }, "trustedDirs[1] must be an absolute path"],
  ];
  it("refuses entries of its own sources with the reason", () => {
    for (const [entry, message] of entries)
      assert.deepEqual(problem({ providers: { a: entry } }), { path: "/providers/a", message });
  });

  it("does not check entries of other sources", () => {
    for (const source of ["other", "constructor", "__proto__"])
      assert.equal(problem({ providers: { a: { source, path: 1 } } }), undefined);
  });

  it("has the defaults of the spec", () => {
    assert.deepEqual(withDefaults(SecretsConfig, {}), {
      providers: {},
      defaults: { env: "default", file: "default", exec: "default" },
      resolution: { maxProviderConcurrency: 4, maxRefsPerProvider: 512, maxBatchBytes: 262_144 },
    });
  });

  const good: [why: string, section: unknown][] = [
    ["nothing", {}],
    ["a provider of a source that another plugin has", { providers: { a: { source: "other", anything: { x: 1 } } } }],
    ["the longest name", { providers: { [`a${"b".repeat(63)}`]: { source: "env" } } }],
    ["the least limits", { resolution: { maxProviderConcurrency: 1, maxRefsPerProvider: 1, maxBatchBytes: 1 } }],
    ["the greatest", { resolution: MOST }],
    ["other defaults", { defaults: { env: "a", file: "b-1", exec: "c_2" } }],
  ];
  const wrong: [why: string, section: unknown, path: string][] = [
    ["a capital in a name", { providers: { A: { source: "env" } } }, "/providers/A"],
    ["an empty name", { providers: { "": { source: "env" } } }, "/providers/"],
    ["a name that is too long", { providers: { ["a".repeat(65)]: { source: "env" } } }, `/providers/${"a".repeat(65)}`],
    ["a provider without source", { providers: { a: {} } }, "/providers/a"],
    ["an empty source", { providers: { a: { source: "" } } }, "/providers/a/source"],
    ["a default with a capital", { defaults: { file: "A" } }, "/defaults/file"],
    ["a default of another source", { defaults: { other: "a" } }, "/defaults"],
  ];
  it("accepts sections within its limits, and refuses others by the path", () => {
    for (const [why, section] of good) assert.equal(problem(section), undefined, why);
    for (const [why, section, path] of wrong) assert.equal(problem(section)?.path, path, why);
    for (const [key, most] of Object.entries(MOST))
      for (const value of [0, most + 1])
        assert.equal(problem({ resolution: { [key]: value } })?.path, `/resolution/${key}`, `${key}: ${value}`);
  });
});
