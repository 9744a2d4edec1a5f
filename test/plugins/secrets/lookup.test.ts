/** Looking up references: which provider is called, how much per call, and what a failure affects. Spec: http/config.md §6. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { withDefaults } from "@svc/sdk";
import type { SecretRef, SecretSource } from "@svc/sdk/secrets";
import { batches, byProvider, named } from "../../../plugins/secrets/batches.ts";
import { SecretsConfig } from "../../../plugins/secrets/config.ts";
import { createEnvSource } from "../../../plugins/secrets/env-source.ts";
import { createFileSource } from "../../../plugins/secrets/file-source.ts";
import { createLookup } from "../../../plugins/secrets/lookup.ts";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";
import { simpleSource, viewOf } from "./scene.ts";

const { signal } = new AbortController();

function setup(section: object, sources: Readonly<Record<string, SecretSource>>) {
  const config = withDefaults(SecretsConfig, section);
  const clock = createFakeClock();
  const lookup = createLookup({ sources: viewOf(sources), config: () => config, clock, signal });
  /** The outcome of each reference, in order: the secret, or the reason of the failure. */
  const look = async (...refs: SecretRef[]) => {
    const all = refs.map((ref) => named(ref, config));
    const outcomes = await lookup(all);
    return all.map(({ key }) => {
      const outcome = outcomes.get(key) ?? assert.fail(key);
      return outcome.state === "found" ? outcome.text.reveal() : `${outcome.state}: ${outcome.reason}`;
    });
  };
  return { look, lookup, clock, config };
}

describe("the provider of a reference", () => {
  const providers = { keys: { source: "vault", a: 1 }, other: { source: "env" } };
  const sources = {
    env: createEnvSource({ ACME: "acme" }),
    file: createFileSource({ clock: createFakeClock() }),
    vault: simpleSource(),
  };

  const env = (provider?: string) => ({ source: "env", id: "ACME", ...(provider ? { provider } : {}) });
  const vault = (provider?: string, id = "x") => ({ source: "vault", id, ...(provider ? { provider } : {}) });
  const listing = { source: "env", allowlist: [] };
  const relative = { providers: { f: { source: "file", path: "a" } } };
  const noEntry = (name: string, source: string) =>
    new RegExp(`^failed: there is no secrets\\.providers\\.${name}; add it with source "${source}"`, "u");
  const rows: [why: string, ref: SecretRef, section: object, expected: string | RegExp][] = [
    ["env needs no entry", env(), {}, "acme"],
    ["env needs no entry for another default provider", env("e"), { defaults: { env: "e" } }, "acme"],
    ["any other provider of env needs an entry", env("e"), {}, noEntry("e", "env")],
    ["the default provider may be configured", env(), { providers: { default: listing } }, /^failed: .*allowlist/u],
    ["a renamed default is used", env(), { providers: { e: listing }, defaults: { env: "e" } }, /allowlist/u],
    ["file needs an entry", { source: "file", id: "/a" }, {}, noEntry("default", "file")],
    ["a source of a plugin without required settings needs no entry", vault(), {}, "x-value"],
    ["a named provider is used", vault("keys"), { providers }, "x-value"],
    [
      "a provider of another source is refused",
      vault("other"),
      { providers },
      /^failed: secrets\.providers\.other has the source "env", the reference says "vault"/u,
    ],
    [
      "a source that no plugin provides is refused",
      { source: "bank", id: "x" },
      {},
      /^failed: no running plugin provides the source "bank"; available: env, file, vault$/u,
    ],
    ["a key of a prototype is no provider", vault("constructor"), {}, noEntry("constructor", "vault")],
    ["a member of a prototype is no source", { source: "toString", id: "x" }, {}, /provides the source "toString"/u],
    [
      "a missing secret",
      vault(undefined, "no-x"),
      {},
      /^missing: the provider "default" \(vault\) has no such secret/u,
    ],
    ["an invalid id", { source: "env", id: "acme" }, {}, /^failed: the id must be the name of a variable/u],
    [
      "invalid settings are reported",
      { source: "file", provider: "f", id: "/a" },
      relative,
      /^failed: secrets\.providers\.f\.path: must be an absolute path/u,
    ],
  ];
  it("is the named or default one, has the source of the reference, and needs an entry unless the source has no required settings", async () => {
    for (const [why, ref, section, expected] of rows) {
      const [outcome = ""] = await setup(section, sources).look(ref);
      if (typeof expected === "string") assert.equal(outcome, expected, why);
      else assert.match(outcome, expected, why);
    }
  });

  it("gets the settings of its entry, without the source", async () => {
    const seen: unknown[] = [];
    const noted = simpleSource({ resolve: async (provider) => (seen.push(provider), new Map()) });
    await setup({ providers }, { vault: noted }).look(vault("keys"), vault());
    assert.deepEqual(seen, [
      { name: "keys", settings: { a: 1 } },
      { name: "default", settings: {} },
    ]);
  });
});

describe("the size of a call", () => {
  const lateValues = async (ids: readonly string[]) => {
    await new Promise((resolve) => setImmediate(resolve));
    return new Map(ids.map((id) => [id, "v"]));
  };
  const refs = (count: number, provider = "a") =>
    Array.from({ length: count }, (_, index) => ({ source: "vault", provider, id: `id${index}` }));

  it("stays within the limits of references and bytes", () => {
    const { config } = setup({}, {});
    const all = refs(5).map((ref) => named(ref, config));
    const sizes = (limits: object) => batches(all, { ...config.resolution, ...limits }).map(({ length }) => length);
    assert.deepEqual(sizes({}), [5]);
    assert.deepEqual(sizes({ maxRefsPerProvider: 2 }), [2, 2, 1]);
    assert.deepEqual(sizes({ maxBatchBytes: 14 }), [2, 2, 1]); // `"id0",` has six
    assert.deepEqual(sizes({ maxBatchBytes: 1 }), [1, 1, 1, 1, 1]);
    assert.deepEqual(batches([], config.resolution), []);
    assert.deepEqual(byProvider([]), []);
  });

  it("has each reference once; batches of a provider are called one after the other, and an id that fits in none is refused", async () => {
    let running = 0;
    const asked: number[] = [];
    const vault = simpleSource({
      async resolve(_provider, ids) {
        assert.equal(++running, 1);
        asked.push(ids.length);
        return lateValues(ids).finally(() => running--);
      },
    });
    const resolution = { maxRefsPerProvider: 2, maxBatchBytes: 20 };
    const { look } = setup({ providers: { a: { source: "vault" } }, resolution }, { vault });
    const outcomes = await look(...refs(3), ...refs(2), { source: "vault", provider: "a", id: "x".repeat(30) });
    assert.deepEqual(outcomes.slice(0, 5), ["v", "v", "v", "v", "v"]);
    assert.match(outcomes[5] ?? "", /longer than secrets\.resolution\.maxBatchBytes allows/u);
    assert.deepEqual(asked, [2, 1]);
  });

  for (const width of [1, 3]) {
    it(`calls ${width} of 20 providers at the same time`, async () => {
      let running = 0;
      let most = 0;
      const vault = simpleSource({
        async resolve(_provider, ids) {
          most = Math.max(most, ++running);
          return lateValues(ids).finally(() => running--);
        },
      });
      const names = Array.from({ length: 20 }, (_, index) => `p${index}`);
      const providers = Object.fromEntries(names.map((name) => [name, { source: "vault" }]));
      const { look } = setup({ providers, resolution: { maxProviderConcurrency: width } }, { vault });
      // Two lookups at once share the limit.
      const [first, second] = [names.slice(0, 10), names.slice(10)].map((some) =>
        look(...some.flatMap((name) => refs(1, name))),
      );
      assert.equal((await Promise.all([first, second])).flat().filter((outcome) => outcome === "v").length, 20);
      assert.equal(most, width);
    });
  }
});

describe("a source that", () => {
  const ref = (id = "x") => ({ source: "vault", id });
  const resolving = (answer: unknown) => ({ resolve: () => Promise.resolve(answer as never) });
  const refusing = (reason: unknown) => ({ resolve: () => Promise.reject(reason) });
  const throwing = (text: string) => () => assert.fail(text);
  const noMap = /^failed: the source "vault" did not return a Map$/u;
  const rows: [why: string, change: Partial<SecretSource>, words: RegExp][] = [
    ["refuses", refusing(new Error("the vault is closed")), /^failed: the vault is closed$/u],
    ["throws at once", { resolve: throwing("at once") }, /^failed: at once$/u],
    ["throws something odd", refusing({ password: "canary" }), /^failed: the source failed$/u],
    ["speaks to the terminal", refusing(new Error("a\u001b[31m\nb")), /^failed: a\\u001b\[31m\\u000ab$/u],
    ["talks too much", refusing(new Error("x".repeat(10_000))), /^failed: x{497}\.\.\.$/u],
    ["answers nothing", resolving(undefined), noMap],
    ["answers an object", resolving({ x: "canary" }), noMap],
    ["finds no text", resolving(new Map([["x", 1]])), /^missing: /u],
    ["returns another id", resolving(new Map([["y", "v"]])), /^missing/u],
    ["throws in check", { check: throwing("canary") }, /^failed: .* "vault" failed in check; the log says why$/u],
    ["throws in checkId", { checkId: throwing("canary") }, /^failed: the source "vault" failed in checkId/u],
    ["refuses the id", { checkId: () => "no such thing" }, /^failed: no such thing$/u],
  ];
  it("refuses, throws or answers something odd: only its references fail", async () => {
    const providers = { default: { source: "vault" }, env: { source: "env" } };
    for (const [why, change, words] of rows) {
      const { look } = setup({ providers }, { vault: simpleSource(change), env: createEnvSource({ A: "a" }) });
      const [broken = "", fine] = await look(ref(), { provider: "env", source: "env", id: "A" });
      assert.match(broken, words, why);
      assert.equal(fine, "a", why);
    }
  });

  it("never answers: is aborted", async () => {
    const stopped: boolean[] = [];
    const vault = simpleSource({
      resolve: (_provider, _ids, own) => new Promise(() => own.addEventListener("abort", () => stopped.push(true))),
    });
    const { look, clock } = setup({}, { vault });
    const outcome = look(ref());
    await clock.advance(150_000);
    assert.match((await outcome)[0] ?? "", /^failed: the source "vault" did not answer within 150000 ms/u);
    assert.deepEqual(stopped, [true]);
    assert.equal(clock.pending, 0);
  });

  it("stops: only its references fail", async () => {
    const view = viewOf({ vault: simpleSource(), env: createEnvSource({ A: "a" }) });
    const config = withDefaults(SecretsConfig, {});
    const gone: typeof view = {
      ...view,
      call: (contribution, work) => (contribution.id === "vault" ? assert.fail("gone") : view.call(contribution, work)),
    };
    const lookup = createLookup({ sources: gone, config: () => config, clock: createFakeClock(), signal });
    const refs = [ref(), { source: "env", id: "A" }].map((one) => named(one, config));
    const states = [...(await lookup(refs)).values()].map(({ state }) => state);
    assert.deepEqual(states, ["failed", "found"]);
  });

  it("outcomes print no value", async () => {
    const { lookup, config } = setup({}, { vault: simpleSource() });
    const outcomes = await lookup([named(ref("canary"), config)]);
    const all = [...outcomes.values()];
    const printed = `${inspect(all, { depth: 9, showHidden: true })} ${JSON.stringify(all)} ${String(all[0]?.state === "found" && all[0].text)}`;
    assert.doesNotMatch(printed, /canary-value/u);
    assert.match(printed, /\[secret\]/u);
  });
});
