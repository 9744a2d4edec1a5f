// long: changes every configuration key of the bundle
/**
 * Every key of every section, host and bundled plugins, takes effect as its schema declares: at once, with a new
 * generation of its plugin, or with a restart. The keys come from the schema of a running gateway: a new key is tried
 * automatically, and fails by name if it cannot be tried. Spec: http/config.md §5.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { config } from "@svc/sdk/config";
import { SHARED_FIELDS } from "@svc/kit/channels";
import { health } from "@svc/sdk/health";
import { models } from "@svc/sdk/models";
import { sessions } from "@svc/sdk/sessions";
import { testGateway, type TestGateway } from "@svc/sdk/testing";
import { root } from "../checkout.ts";
import { type Bundle, bundlePlugins, startBundle } from "./config-bundle.ts";
import { COMMON, GIVEN, NO_EFFECT_SEEN, SEEN_ELSEWHERE } from "./config-cases.ts";
import { keywordsInLists, type Leaf, leavesOf, type Node } from "./config-leaves.ts";
import { PICTURES } from "./config-picture.ts";
import { changedPath, ENTRY, mayBeAbsent, merged, planted, valuesFor } from "./config-values.ts";

const limited = { timeout: 1_100_000, concurrency: 4 };
/**
 * Milliseconds after a change. `hot`: the gateway sends a tick meanwhile, without which the client disconnects after a minute.
 * `plugin`: only the delay of a restart, since timers of the plugin that is replaced must not fire.
 */
const LATER_MS = { hot: 30_000, plugin: 2_000, restart: 2_000 } as const;
type Client = TestGateway["client"];

async function composedSchema(t: TestContext): Promise<Node> {
  const { client } = await testGateway(t);
  return (await client.call(config.schema, {})).schema as Node;
}

/** A key, its configuration before, and the values to try. */
interface Trial {
  readonly leaf: Leaf;
  readonly changed: string;
  readonly before: unknown;
  readonly after: readonly unknown[];
}

/** @throws Error naming the key for which two values cannot be generated */
function trialOf(schema: Node, leaf: Leaf, stateDir: string): Trial {
  const { path, keys, node } = leaf;
  const { beside = {}, values, entry = ENTRY, between } = GIVEN[path] ?? {};
  const around = merged(COMMON, beside);
  const changed = changedPath(keys, entry);
  const pair = typeof between === "function" ? between(stateDir) : between;
  if (pair) return { leaf, changed, before: merged(around, pair[0]), after: [merged(around, pair[1])] };
  const given = typeof values === "function" ? values(stateDir) : values;
  const all = [...(given ?? valuesFor(node, path))];
  const first = mayBeAbsent(schema, keys) ? undefined : all.shift();
  assert.ok(all.length > 0, `${path}: only one value can be made; give two in GIVEN`);
  const whole = (value: unknown) => merged(around, planted(schema, keys, value, entry));
  return { leaf, changed, before: whole(first), after: all.map(whole) };
}

/** Why a picture need not show the key: the test that checks its effect, or that no effect is visible. */
function unseen(path: string): string | undefined {
  return Object.entries({ ...SEEN_ELSEWHERE, ...NO_EFFECT_SEEN }).find(([key]) => covers(key, path))?.[1];
}

function covers(key: string, path: string): boolean {
  return key.endsWith(".") ? path.startsWith(key) : path === key;
}

/** A connection with the common credential, and when it ends. */
async function openLine({ connect }: Bundle) {
  const client = await connect({ token: COMMON.gateway.auth.token });
  let closed = 0;
  const gone = new Promise<void>((resolve) => {
    client.onClose(() => {
      closed++;
      resolve();
    });
  });
  return { client, gone, closed: () => closed };
}
type Line = Awaited<ReturnType<typeof openLine>>;

/** Keys whose change ends connections by design. */
const CREDENTIAL = /^gateway\.auth\.(mode|token|password|trustedProxy\..+)$/;

/** Tries values until one has a visible effect; checks after each that only the effects of `expect` happened. */
async function tryOut(
  bundle: Bundle,
  { leaf, changed, before, after }: Trial,
  line: Line,
  expect: (generations: Record<string, number>) => void,
): Promise<void> {
  const { path, section, kind } = leaf;
  // Awake before the clock moves: an import that a heartbeat begins would exceed its deadline on the clock of the test.
  await line.client.request("skills.status", {});
  const look = async () => PICTURES[section]?.(bundle, line.client);
  await bundle.write(before);
  const visible = unseen(path) === undefined;
  const picture = visible ? await look() : undefined;
  let shown = false;
  for (const [turn, next] of (visible ? after : after.slice(0, 1)).entries()) {
    if (turn > 0) await bundle.write(before);
    const generations = bundle.generations();
    const written = await bundle.write(next);
    assert.deepEqual([written.reload, written.changed], [kind, [changed]]);
    expect(generations);
    if (!CREDENTIAL.test(path)) {
      await line.client.call(health.check, {}); // a close would arrive before the response
      assert.equal(line.closed(), 0, "a connection was closed");
    }
    shown = visible && !isDeepStrictEqual(await look(), picture);
    if (shown) break;
  }
  const how = "show it in config-picture.ts, or name the test that sees it in config-cases.ts";
  assert.equal(shown, visible, `no effect of ${path} is seen; ${how}`);
  if (shown) {
    await bundle.write(before);
    assert.deepEqual(await look(), picture, "it was not taken back");
  }
  await bundle.clock.advance(LATER_MS[kind]);
  assert.deepEqual(bundle.restarts, [], "a restart was begun");
}

/** Settings that channels share are one schema: they are tried at one network, and its accounts repeat them. */
const SHARED = Object.keys(SHARED_FIELDS).join("|");
const REPEATED = new RegExp(
  `^channels\\.(?:[a-z]+\\.accounts\\.|(?!telegram\\.)[a-z]+\\.(?:${SHARED}|defaultAccount)(?:\\.|$))`,
);

async function keysOf(t: TestContext, kind: Leaf["kind"]): Promise<{ schema: Node; leaves: Leaf[] }> {
  const schema = await composedSchema(t);
  const leaves = leavesOf(schema).filter((leaf) => leaf.kind === kind && !REPEATED.test(leaf.path));
  assert.ok(leaves.length > 0);
  return { schema, leaves };
}

describe("the tables of this test", limited, () => {
  it("name existing keys and tests", async (t) => {
    const schema = await composedSchema(t);
    const paths = leavesOf(schema).map(({ path }) => path);
    for (const path of Object.keys(GIVEN)) assert.ok(paths.includes(path), `GIVEN: ${path} is no key`);
    for (const key of Object.keys({ ...SEEN_ELSEWHERE, ...NO_EFFECT_SEEN }))
      assert.ok(
        paths.some((path) => covers(key, path)),
        `config-cases.ts: ${key} is no key`,
      );
    for (const [key, test] of Object.entries(SEEN_ELSEWHERE)) {
      const name = key.split(".").findLast((part) => part !== "" && part !== "*") ?? "";
      assert.match(
        await readFile(join(root, "test", test), "utf8"),
        new RegExp(name),
        `${test} says nothing of ${key}`,
      );
    }
    assert.deepEqual(keywordsInLists(schema), [], "a list is one value: only the list can say how it is reloaded");
  });
});

it("every hot key takes effect at once, and nothing else happens", limited, async (t) => {
  const { schema, leaves } = await keysOf(t, "hot");
  const sections = [...new Set(leaves.map((leaf) => leaf.section))];
  const eachSection = sections.map((section) =>
    t.test(section, async (inner) => {
      const bundle = await startBundle(inner, COMMON);
      let line = await openLine(bundle);
      for (const leaf of leaves.filter((one) => one.section === section)) {
        await inner.test(leaf.path, async () => {
          const trial = trialOf(schema, leaf, bundle.stateDir);
          const refused = GIVEN[leaf.path]?.refused;
          if (refused) return assert.match(await whyNot(bundle, trial.after[0]), refused);
          await tryOut(bundle, trial, line, (generations) => assert.deepEqual(bundle.generations(), generations));
          if (!CREDENTIAL.test(leaf.path)) return;
          await line.gone;
          await bundle.write(COMMON);
          line = await openLine(bundle);
        });
      }
    }),
  );
  await Promise.all(eachSection);
});

/** The error of a refused configuration; "" when it is accepted. */
async function whyNot({ write }: Bundle, next: unknown): Promise<string> {
  return write(next).then(
    () => "",
    (error: { details?: unknown }) => JSON.stringify(error.details),
  );
}

it(
  "every key of kind plugin brings up a new generation of its plugin and of those that hold its services",
  limited,
  async (t) => {
    const { schema, leaves } = await keysOf(t, "plugin");
    const { ownerOf, followers } = await bundlePlugins();
    const bundle = await startBundle(t, COMMON);
    const line = await openLine(bundle);
    for (const leaf of leaves) {
      await t.test(leaf.path, async () => {
        const refused = GIVEN[leaf.path]?.refused;
        if (refused)
          return assert.match(await whyNot(bundle, trialOf(schema, leaf, bundle.stateDir).after[0]), refused);
        const owner = ownerOf(leaf.path) ?? "";
        const concerned = new Set([owner, ...followers(owner)]);
        for (const id of bundle.asleep()) if (id !== owner) concerned.delete(id);
        const calls = hammer(line.client);
        const trial = tryOut(bundle, trialOf(schema, leaf, bundle.stateDir), line, (before) => {
          const renewed = Object.entries(bundle.generations()).filter(([id, now]) => now !== before[id]);
          assert.deepEqual(renewed.map(([id]) => id).toSorted(), [...concerned].toSorted());
          for (const [id, now] of renewed) assert.equal(now, (before[id] ?? 0) + 1, `${id} was set up once`);
        });
        const { answered, failed } = await trial.finally(calls).then(calls);
        assert.deepEqual(failed, []);
        assert.ok(answered > 0);
      });
    }
  },
);

/** Calls continuously. @returns stops it */
function hammer(client: Client): () => Promise<{ answered: number; failed: string[] }> {
  const failed: string[] = [];
  let answered = 0;
  const end = new AbortController();
  const each = async (call: () => Promise<unknown>) => {
    while (!end.signal.aborted && failed.length === 0) {
      await call().then(
        () => answered++,
        (error: Error) => failed.push(error.message),
      );
    }
  };
  const loops = [
    each(() => client.call(health.check, {})),
    each(() => client.call(models.list, {})),
    each(() => client.call(sessions.list, {})),
  ];
  return async () => {
    end.abort();
    await Promise.all(loops);
    return { answered, failed };
  };
}

it(
  "every key that needs a restart schedules one that names it, and nothing else happens before",
  limited,
  async (t) => {
    const { schema, leaves } = await keysOf(t, "restart");
    for (const leaf of leaves) {
      await t.test(leaf.path, async (inner) => {
        const { changed, before, after } = trialOf(schema, leaf, "");
        const bundle = await startBundle(inner, before);
        const line = await openLine(bundle);
        const generations = bundle.generations();
        const written = await bundle.write(after[0]);
        assert.deepEqual([written.reload, written.changed], ["restart", [changed]]);
        await bundle.clock.advance(1_999);
        assert.deepEqual([bundle.restarts, bundle.generations(), line.closed()], [[], generations, 0]);
        await line.client.call(sessions.list, {});
        await bundle.clock.advance(1);
        assert.deepEqual(bundle.restarts, [`configuration: ${changed}`]);
      });
    }
  },
);
