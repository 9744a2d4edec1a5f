/** Secrets of the running configuration: when they are looked up, which values are revealed, what is logged. Spec: http/config.md §6. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { withDefaults } from "@svc/sdk";
import type { SecretPlace, SecretRef } from "@svc/sdk/secrets";
import { SecretsConfig } from "../../../plugins/secrets/config.ts";
import { RunningSecrets } from "../../../plugins/secrets/running-secrets.ts";
import { createLookup } from "../../../plugins/secrets/lookup.ts";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";
import { notedLog, simpleSource, viewOf } from "./scene.ts";

const ref = (id: string): SecretRef => ({ source: "vault", id });
const place = (path: string, value: unknown, active = true): SecretPlace => ({
  path: path.split("."),
  target: path,
  value,
  active,
});

/** RunningSecrets with a vault that holds `stored`, which a test may change. */
function setup(places: SecretPlace[], stored: Record<string, string> = {}) {
  const config = withDefaults(SecretsConfig, {});
  const { log, lines } = notedLog();
  const asked: (readonly string[])[] = [];
  let gate: Promise<void> = Promise.resolve();
  const vault = simpleSource({
    async resolve(_provider, ids) {
      asked.push([...ids].sort());
      const answer = new Map(ids.flatMap((id) => (Object.hasOwn(stored, id) ? [[id, stored[id] ?? ""] as const] : [])));
      await gate;
      return answer;
    },
  });
  const { signal } = new AbortController();
  const told: string[] = [];
  const lookup = createLookup({ sources: viewOf({ vault }), config: () => config, clock: createFakeClock(), signal });
  const runningSecrets = new RunningSecrets({
    places: { list: () => places, targets: () => [], found: (texts) => void told.push(...texts) },
    config: () => config,
    lookup,
    log,
  });
  /** From now on the vault answers when the returned function is called. */
  const hold = () => {
    let open = () => {};
    gate = new Promise((resolve) => (open = resolve));
    return open;
  };
  const codes = () => lines.map(({ level, fields }) => `${level} ${"code" in fields ? String(fields.code) : ""}`);
  return { runningSecrets, places, stored, asked, told, lines, codes, hold };
}

/** The secrets `a` and `b`. */
const both = async (all: RunningSecrets) => [await all.reveal(ref("a")), await all.reveal(ref("b"))];

const tick = () => new Promise((resolve) => setImmediate(resolve));

describe("revealing", () => {
  it("a text is itself", async () => assert.equal(await setup([]).runningSecrets.reveal("plain"), "plain"));

  it("looks up a found secret once, and a missing one at each use", async () => {
    const { runningSecrets, asked, stored } = setup([], { a: "1" });
    assert.deepEqual(await Promise.all([runningSecrets.reveal(ref("a")), runningSecrets.reveal(ref("a"))]), ["1", "1"]);
    assert.equal(await runningSecrets.reveal(ref("a")), "1");
    await assert.rejects(runningSecrets.reveal(ref("b")), { code: "UNAVAILABLE" });
    stored["b"] = "2";
    assert.equal(await runningSecrets.reveal(ref("b")), "2");
    assert.deepEqual(asked, [["a"], ["b"], ["b"]]);
  });

  it("registers each value with the gateway before a caller gets it, so that no log shows it", async () => {
    const { runningSecrets, told, stored } = setup([place("x.apiKey", ref("a"))], { a: "1", b: "2" });
    await runningSecrets.refresh();
    await runningSecrets.reveal(ref("b"));
    stored["a"] = "3";
    await runningSecrets.reload();
    assert.deepEqual(told, ["1", "2", "3"]);
  });

  it("refuses with the places, the provider, the reason and the next step, and without the id", async () => {
    const { runningSecrets } = setup([place("x.apiKey", ref("hidden-id")), place("y.apiKey", ref("hidden-id"))]);
    await assert.rejects(runningSecrets.reveal(ref("hidden-id")), (error: Error) => {
      assert.match(
        error.message,
        /^the secret of x\.apiKey, y\.apiKey \(source vault, provider default\) is not available: the provider "default" \(vault\) has no such secret/u,
      );
      assert.match(error.message, /Next: svc secrets list$/u);
      assert.doesNotMatch(error.message, /hidden-id/u);
      return true;
    });
    await assert.rejects(runningSecrets.reveal(ref("other")), {
      message: /^the secret of a reference of a plugin \(source vault/u,
    });
  });
});

describe("a reload", () => {
  it("looks up all values in one call, reveals the previous ones until all are found, and drops those no longer referenced", async () => {
    const { runningSecrets, stored, hold, asked, places } = setup(
      [place("x", ref("a")), place("y", ref("b")), place("z", "plain"), place("w", ref("a"))],
      { a: "1", b: "1" },
    );
    await runningSecrets.reload();
    assert.deepEqual([await both(runningSecrets), asked], [["1", "1"], [["a", "b"]]], "one call for all");
    Object.assign(stored, { a: "2", b: "2" });
    const open = hold();
    const reload = runningSecrets.reload();
    await tick();
    assert.deepEqual(await both(runningSecrets), ["1", "1"]);
    open();
    await reload;
    assert.deepEqual(await both(runningSecrets), ["2", "2"]);

    places.length = 0;
    await runningSecrets.reload();
    asked.length = 0;
    await both(runningSecrets);
    assert.deepEqual(asked, [["a"], ["b"]], "what is no longer referenced was dropped");
  });

  it("runs at most twice for many concurrent callers, and none gets a value read before its call", async () => {
    const { runningSecrets, asked, stored, hold } = setup([place("x", ref("a"))], { a: "1" });
    const open = hold();
    const first = runningSecrets.reload();
    await tick();
    stored["a"] = "2"; // written after the first reload read it, and before the others are requested
    const others = Array.from({ length: 50 }, () => runningSecrets.reload());
    open();
    await Promise.all([first, ...others]);
    assert.equal(await runningSecrets.reveal(ref("a")), "2");
    assert.equal(asked.length, 2);
  });

  it("works again after one that failed", async () => {
    const { runningSecrets, stored } = setup([place("x", ref("a"))]);
    const [first, second] = [runningSecrets.reload(), runningSecrets.reload()];
    await assert.rejects(first, { code: "UNAVAILABLE" });
    await assert.rejects(second, { code: "UNAVAILABLE" });
    stored["a"] = "1";
    assert.equal(await runningSecrets.reload(), 0);
  });

  it("is not undone by a lookup that began before it", async () => {
    const { runningSecrets, stored, hold } = setup([place("x", ref("a"))], { a: "old" });
    const open = hold();
    const early = runningSecrets.reveal(ref("a"));
    await tick();
    stored["a"] = "new";
    const reload = runningSecrets.reload();
    await tick();
    open();
    await reload;
    assert.equal(await early, "old");
    assert.equal(await runningSecrets.reveal(ref("a")), "new");
  });
});

describe("a change of the configuration", () => {
  it("keeps the last value of a failed reference, applies the rest, and logs this once", async () => {
    const { runningSecrets, stored, codes, lines } = setup([place("x", ref("a")), place("y", ref("b"))], {
      a: "1",
      b: "1",
    });
    await runningSecrets.refresh();
    assert.deepEqual(codes(), []);
    stored["b"] = "2";
    delete stored["a"];
    await runningSecrets.refresh();
    await runningSecrets.refresh();
    assert.deepEqual(await both(runningSecrets), ["1", "2"]);
    assert.deepEqual(codes(), ["warn SECRETS_RELOADER_DEGRADED"]);
    assert.match(lines[0]?.message ?? "", /^x: the provider "default" \(vault\) has no such secret/u);
    const [known] = runningSecrets.list();
    assert.ok(known?.outcome?.state === "found" && known.outcome.stale);
    stored["a"] = "3";
    await runningSecrets.refresh();
    await runningSecrets.refresh();
    assert.equal(await runningSecrets.reveal(ref("a")), "3");
    assert.deepEqual(codes(), ["warn SECRETS_RELOADER_DEGRADED", "info SECRETS_RELOADER_RECOVERED"]);
  });

  it("logs once that no plugin reads a reference", async () => {
    const { runningSecrets, codes } = setup([place("x", ref("a"), false)]);
    await runningSecrets.refresh();
    await runningSecrets.refresh();
    assert.deepEqual(codes(), ["info SECRETS_REF_IGNORED_INACTIVE_SURFACE"]);
  });
});

it("RunningSecrets prints neither values nor ids", async () => {
  const { runningSecrets } = setup([place("x", ref("canary-id"))], { "canary-id": "canary-value" });
  await runningSecrets.refresh();
  const list = runningSecrets.list();
  assert.equal(list[0]?.outcome?.state, "found");
  assert.doesNotMatch(
    `${inspect(runningSecrets, { depth: 9, showHidden: true })} ${JSON.stringify(runningSecrets)}`,
    /canary/u,
  );
  assert.doesNotMatch(`${inspect(list, { depth: 9, showHidden: true })} ${JSON.stringify(list)}`, /canary-value/u);
});
