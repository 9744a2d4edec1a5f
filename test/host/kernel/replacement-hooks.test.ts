/** Hooks emitted while a tapping plugin is replaced reach exactly one of its generations; the old declarations are withdrawn. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  defineEvent,
  defineExtensionPoint,
  defineHook,
  type HookEmitter,
  type HookKind,
  type HookSpec,
  type Plugin,
  Type,
} from "@svc/sdk";
import { barrier, contractOf, settled, slotOf, startScene, until } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const limited = { timeout: 120_000 };
const facts = { owner: "bell", when: "-", returns: "-", throws: "-" };
const specs = Object.fromEntries(
  (["observe", "series", "first", "gate", "waterfall", "collect"] as const).map((kind) => [
    kind,
    defineHook<{ text: string }, string>()(kind as HookKind, { name: `bell-${kind}`, ...facts }),
  ]),
) as Record<"observe" | "series" | "first" | "gate" | "waterfall" | "collect", HookSpec>;
type Kind = keyof typeof specs;

/** Owns one hook of each kind, which the test emits. */
function bell() {
  const emitters = new Map<string, HookEmitter<HookSpec>>();
  const plugin = pluginOf("bell", (gateway) => {
    for (const [kind, spec] of Object.entries(specs)) emitters.set(kind, gateway.emits(spec));
  });
  return { plugin, ring: (kind: Kind, text: string) => emitters.get(kind)?.emit({ text }) as Promise<unknown> };
}

const answers: Record<Kind, (name: string, text: string) => unknown> = {
  observe: () => undefined,
  series: () => undefined,
  first: (name) => name,
  gate: (name) => ({ allow: false, reason: name }),
  waterfall: (name, text) => ({ text: `${text} by ${name}` }),
  collect: (name) => name,
};

const listener = (name: string, kind: Kind, heard: string[], begin: () => void | Promise<void> = () => {}): Plugin =>
  pluginOf("listener", (gateway) => {
    const tap = gateway.hook(specs[kind]) as unknown as {
      tap(handler: (input: { text: string }) => unknown): void;
    };
    tap.tap(({ text }) => {
      heard.push(`${name} ${text}`);
      return answers[kind](name, text);
    });
    gateway.start(begin);
  });

async function scene(t: TestContext, kind: Kind) {
  const { plugin, ring } = bell();
  const heard: string[] = [];
  const gate = barrier();
  const slot = await slotOf(t, listener("old", kind, heard));
  const running = await startScene(t, [plugin, slot]);
  slot.become(listener("new", kind, heard, () => gate.passed));
  return { ...running, ring, heard, gate };
}

describe("a hook that is emitted during the swap", limited, () => {
  const results: Record<Kind, unknown> = {
    observe: undefined,
    series: undefined,
    first: "new",
    gate: { allow: false, reason: "new" },
    waterfall: { text: "during by new" },
    collect: [{ plugin: "listener", value: "new" }],
  };
  for (const kind of Object.keys(specs) as Kind[]) {
    it(`${kind}: reaches the new generation, exactly once`, async (t) => {
      const { ring, heard, gate, reload, state } = await scene(t, kind);
      await ring(kind, "before");
      const reloading = reload("listener");
      await until(() => state("listener") === "starting");
      const during = ring(kind, "during");
      await settled(20);
      assert.deepEqual(heard, ["old before"], "no generation has received it yet");
      gate.open();
      assert.deepEqual(await during, results[kind]);
      await reloading;
      await ring(kind, "after");
      assert.deepEqual(heard, ["old before", "new during", "new after"]);
    });
  }

  it("and is emitted continuously over ten reloads is received exactly once each time", async (t) => {
    const { plugin, ring } = bell();
    const heard: string[] = [];
    const slot = await slotOf(t, listener("0", "series", heard));
    const { reload } = await startScene(t, [plugin, slot]);
    const ongoing = new AbortController();
    let rung = 0;
    const ringing = (async () => {
      while (!ongoing.signal.aborted) {
        await ring("series", String(rung++));
        await settled(1);
      }
    })();
    for (let turn = 1; turn <= 10; turn++) {
      slot.become(listener(String(turn), "series", heard, () => settled()));
      await reload("listener");
    }
    ongoing.abort();
    await ringing;
    assert.deepEqual(
      heard.map((text) => Number(text.split(" ")[1])),
      Array.from({ length: rung }, (_, index) => index),
    );
  });
});

describe("a declaration that only the old generation has", limited, () => {
  const event = defineEvent({ name: "old.event", summary: "-", payload: Type.Unknown() });
  const Point = defineExtensionPoint<string>("test.point");
  const old = contractOf("old", "ask");

  it("is withdrawn: methods, events, routes, hooks, contributions, timers", async (t) => {
    const seen: string[] = [];
    let view: { list(): readonly { readonly id: string }[] } | undefined;
    const owner = pluginOf("owner", (gateway) => void (view = gateway.own(Point)));
    const { createFakeClock } = await import("@svc/sdk/testing");
    const clock = createFakeClock();
    const slot = await slotOf(
      t,
      pluginOf("old", (gateway) => {
        const emit = gateway.event(event);
        gateway.serve(old, { ask: () => ({}) });
        gateway.route({
          method: "GET",
          path: "/plugins/old/x",
          auth: "plugin",
          summary: "-",
          handler: () => ({ body: "old" }),
        });
        gateway.hooks.hello.tap((hello) => (seen.push("hello"), hello));
        gateway.extend(Point, "old", "old");
        gateway.every(1_000, () => (seen.push("tick"), emit("tick")));
        gateway.after(2_000, () => void seen.push("after"));
        gateway.start(() => gateway.every(1_000, () => void seen.push("late tick")));
      }),
    );
    const { client, gateway, reload, connect } = await startScene(t, [owner, slot], { gateway: { clock } });
    const route = () => fetch(`${gateway.url.replace("ws", "http")}/plugins/old/x`).then(({ status }) => status);
    await clock.advance(1_000);
    assert.deepEqual([await route(), view?.list().length, seen.sort()], [200, 1, ["hello", "late tick", "tick"]]);
    seen.length = 0;
    const pending = clock.pending;
    slot.become(pluginOf("old", () => {}));
    assert.equal((await reload("old")).ok, true);
    await clock.advance(5_000);
    const { hello } = await connect();
    assert.deepEqual([await route(), view?.list().length, seen, clock.pending], [404, 0, [], pending - 3]);
    await assert.rejects(client.call(old.ask, {}), /^GatewayError: unknown method: old\.ask$/);
    assert.ok(!hello.features.events.includes("old.event") && !hello.features.methods.includes("old.ask"));
  });
});
