/** Secrets of the running configuration: when they are looked up, which ones are handed out, what is said. Spec: http/config.md §6. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { withDefaults } from "@svc/sdk";
import type { SecretPlace, SecretRef } from "@svc/sdk/secrets";
import { SecretsConfig } from "../../../plugins/secrets/config.ts";
import { SecretDesk } from "../../../plugins/secrets/desk.ts";
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

/** A desk whose vault has `stored`, both of which a test changes. */
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
  const desk = new SecretDesk({
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
  return { desk, places, stored, asked, told, lines, codes, hold };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

describe("revealing", () => {
  it("a text is itself", async () => assert.equal(await setup([]).desk.reveal("plain"), "plain"));

  it("looks up once what was found, and anew what was not", async () => {
    const { desk, asked, stored } = setup([], { a: "1" });
    assert.deepEqual(await Promise.all([desk.reveal(ref("a")), desk.reveal(ref("a"))]), ["1", "1"]);
    assert.equal(await desk.reveal(ref("a")), "1");
    await assert.rejects(desk.reveal(ref("b")), { code: "UNAVAILABLE" });
    stored["b"] = "2";
    assert.equal(await desk.reveal(ref("b")), "2");
    assert.deepEqual(asked, [["a"], ["b"], ["b"]]);
  });

  it("tells the gateway each text, before anybody has it, so that no log shows it", async () => {
    const { desk, told, stored } = setup([place("x.apiKey", ref("a"))], { a: "1", b: "2" });
    await desk.refresh();
    await desk.reveal(ref("b"));
    stored["a"] = "3";
    await desk.reload();
    assert.deepEqual(told, ["1", "2", "3"]);
  });

  it("refuses with the places, the provider, the reason and the next step, and without the id", async () => {
    const { desk } = setup([place("x.apiKey", ref("hidden-id")), place("y.apiKey", ref("hidden-id"))]);
    await assert.rejects(desk.reveal(ref("hidden-id")), (error: Error) => {
      assert.match(
        error.message,
        /^the secret of x\.apiKey, y\.apiKey \(source vault, provider default\) is not there: the provider "default" \(vault\) has no such secret/u,
      );
      assert.match(error.message, /Next: svc secrets list$/u);
      assert.doesNotMatch(error.message, /hidden-id/u);
      return true;
    });
    await assert.rejects(desk.reveal(ref("other")), {
      message: /^the secret of a reference of a plugin \(source vault/u,
    });
  });

  it("is answered from what was looked up ahead, all of it in one question", async () => {
    const { desk, asked } = setup(
      [place("x", ref("a")), place("y", ref("b")), place("z", "plain"), place("w", ref("a"))],
      { a: "1", b: "2" },
    );
    await desk.refresh();
    assert.deepEqual([await desk.reveal(ref("a")), await desk.reveal(ref("b"))], ["1", "2"]);
    assert.deepEqual(asked, [["a", "b"]]);
  });
});

describe("looking all up anew", () => {
  it("takes all or nothing, and names what failed", async () => {
    const { desk, stored } = setup([place("x.key", ref("a")), place("y.key", ref("b"))], { a: "1", b: "2" });
    assert.equal(await desk.reload(), 0);
    Object.assign(stored, { a: "new" });
    delete stored["b"];
    await assert.rejects(desk.reload(), (error: Error & { code: string }) => {
      assert.equal(error.code, "UNAVAILABLE");
      assert.match(error.message, /^nothing was reloaded, the former secrets stay: y\.key: the provider "default"/u);
      assert.doesNotMatch(error.message, /x\.key/u);
      return true;
    });
    assert.deepEqual([await desk.reveal(ref("a")), await desk.reveal(ref("b"))], ["1", "2"]);
    stored["b"] = "newer";
    await desk.reload();
    assert.deepEqual([await desk.reveal(ref("a")), await desk.reveal(ref("b"))], ["new", "newer"]);
  });

  it("hands the former ones out until all are there", async () => {
    const { desk, stored, hold } = setup([place("x", ref("a")), place("y", ref("b"))], { a: "1", b: "1" });
    await desk.reload();
    Object.assign(stored, { a: "2", b: "2" });
    const open = hold();
    const reload = desk.reload();
    await tick();
    assert.deepEqual([await desk.reveal(ref("a")), await desk.reveal(ref("b"))], ["1", "1"]);
    open();
    await reload;
    assert.deepEqual([await desk.reveal(ref("a")), await desk.reveal(ref("b"))], ["2", "2"]);
  });

  it("counts references that nobody reads, and does not look them up", async () => {
    const { desk, asked } = setup(
      [place("x", ref("a")), place("gone.x", ref("b"), false), place("gone.y", "plain", false)],
      { a: "1" },
    );
    assert.equal(await desk.reload(), 1);
    assert.deepEqual(asked, [["a"]]);
  });

  it("is done twice at most for many who ask at once, and none gets what was read before it asked", async () => {
    const { desk, asked, stored, hold } = setup([place("x", ref("a"))], { a: "1" });
    const open = hold();
    const first = desk.reload();
    await tick();
    stored["a"] = "2"; // written after the first one read, and before the others ask
    const others = Array.from({ length: 50 }, () => desk.reload());
    open();
    await Promise.all([first, ...others]);
    assert.equal(await desk.reveal(ref("a")), "2");
    assert.equal(asked.length, 2);
  });

  it("goes on after one that failed", async () => {
    const { desk, stored } = setup([place("x", ref("a"))]);
    const [first, second] = [desk.reload(), desk.reload()];
    await assert.rejects(first, { code: "UNAVAILABLE" });
    await assert.rejects(second, { code: "UNAVAILABLE" });
    stored["a"] = "1";
    assert.equal(await desk.reload(), 0);
  });

  it("forgets what no place refers to any more", async () => {
    const { desk, asked, places } = setup([place("x", ref("a"))], { a: "1" });
    await desk.reload();
    places.length = 0;
    await desk.reload();
    await desk.reveal(ref("a"));
    assert.deepEqual(asked, [["a"], ["a"]]);
  });

  it("is not undone by a lookup that began before it", async () => {
    const { desk, stored, hold } = setup([place("x", ref("a"))], { a: "old" });
    const open = hold();
    const early = desk.reveal(ref("a"));
    await tick();
    stored["a"] = "new";
    const reload = desk.reload();
    await tick();
    open();
    await reload;
    assert.equal(await early, "old");
    assert.equal(await desk.reveal(ref("a")), "new");
  });
});

describe("a change of the configuration", () => {
  it("keeps the last value of what fails, takes the rest, and says so once", async () => {
    const { desk, stored, codes, lines } = setup([place("x", ref("a")), place("y", ref("b"))], { a: "1", b: "1" });
    await desk.refresh();
    assert.deepEqual(codes(), []);
    stored["b"] = "2";
    delete stored["a"];
    await desk.refresh();
    await desk.refresh();
    assert.deepEqual([await desk.reveal(ref("a")), await desk.reveal(ref("b"))], ["1", "2"]);
    assert.deepEqual(codes(), ["warn SECRETS_RELOADER_DEGRADED"]);
    assert.match(lines[0]?.message ?? "", /^x: the provider "default" \(vault\) has no such secret/u);
    const [known] = desk.list();
    assert.ok(known?.outcome?.state === "found" && known.outcome.stale);
    stored["a"] = "3";
    await desk.refresh();
    await desk.refresh();
    assert.equal(await desk.reveal(ref("a")), "3");
    assert.deepEqual(codes(), ["warn SECRETS_RELOADER_DEGRADED", "info SECRETS_RELOADER_RECOVERED"]);
  });

  it("looks new references up, and warns of those that are not found", async () => {
    const { desk, places, codes } = setup([place("x", ref("a"))], { a: "1" });
    await desk.refresh();
    places.push(place("y", ref("b")));
    await desk.refresh();
    assert.deepEqual(
      desk.list().map(({ path, outcome }) => [path, outcome?.state]),
      [
        ["x", "found"],
        ["y", "missing"],
      ],
    );
    assert.deepEqual(codes(), ["warn SECRETS_RELOADER_DEGRADED"]);
  });

  it("tells once of a reference that nobody reads", async () => {
    const { desk, codes } = setup([place("x", ref("a"), false)]);
    await desk.refresh();
    await desk.refresh();
    assert.deepEqual(codes(), ["info SECRETS_REF_IGNORED_INACTIVE_SURFACE"]);
  });
});

it("a desk prints neither values nor ids", async () => {
  const { desk } = setup([place("x", ref("canary-id"))], { "canary-id": "canary-value" });
  await desk.refresh();
  const list = desk.list();
  assert.equal(list[0]?.outcome?.state, "found");
  assert.doesNotMatch(`${inspect(desk, { depth: 9, showHidden: true })} ${JSON.stringify(desk)}`, /canary/u);
  assert.doesNotMatch(`${inspect(list, { depth: 9, showHidden: true })} ${JSON.stringify(list)}`, /canary-value/u);
});
