import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { GatewayError, type Handlers, isPlugin, matches, type PluginGateway } from "@svc/sdk";
import {
  type PluginControl,
  type PluginInspection,
  type PluginReport,
  plugins,
  type ReloadReport,
} from "@svc/sdk/plugins";
import pluginsPlugin from "../../../plugins/plugins/plugin.ts";
import { root } from "../../checkout.ts";

const reports: readonly PluginReport[] = [
  { id: "a", version: "1.0.0", state: "active", generation: 2, importMs: 1, errors: 0, inert: ["extension x"] },
  { id: "b", version: "0.0.0", state: "failed", reason: "setup: no", retryAt: 5, generation: 0, errors: 1, inert: [] },
];

const reloaded: ReloadReport = {
  id: "a",
  ok: false,
  reason: "start: no",
  state: "active",
  generation: 2,
  rolledBack: true,
  restarted: ["b"],
  heldMs: 12,
};

const inspected: PluginInspection = {
  plugin: { id: "a", version: "1.0.0", state: "active", generation: 2, errors: 0, inert: [] },
  stats: {
    calls: 3,
    inFlight: 0,
    errors: 0,
    p50Ms: 0.5,
    p99Ms: 1.5,
    maxMs: 1.25,
    hookRuns: 0,
    hookErrors: 0,
    memoryBytes: null,
    blocks: 0,
    longestBlockMs: 0,
  },
  package: { origin: "a" },
  permissions: { exec: true },
  placements: { now: "host", supports: ["host"] },
  declares: {
    methods: [{ name: "a.b", scope: "operator.read" }],
    events: [],
    routes: [],
    hooks: [],
    emits: [],
    services: [],
    requires: [{ name: "x", version: "1.0.0", kind: "live" }],
    extensions: [],
    points: [],
    sections: [],
    commands: [],
  },
};

async function handlers(reload: PluginControl["reload"]): Promise<Handlers<typeof plugins>> {
  const inspect: PluginControl["inspect"] = (id) => {
    if (id === "a") return inspected;
    throw new GatewayError("NOT_FOUND", `no plugin ${id}`);
  };
  let served: Handlers<typeof plugins> | undefined;
  const gateway = {
    services: { control: { reports: () => reports, inspect, reload } },
    provide: () => undefined,
    extend: () => undefined,
    serve: (_contract: unknown, given: Handlers<typeof plugins>) => (served = given),
  };
  await pluginsPlugin.setup(gateway as unknown as PluginGateway<never, never>); // the parts it uses
  assert.ok(served);
  return served;
}

const call = (params: object) => ({ params }) as never; // the part the handlers look at

describe("the plugins plugin", () => {
  it("is a plugin", () => assert.ok(isPlugin(pluginsPlugin)));

  it("answers plugins.list with every report, as it is", async () => {
    const answer = await (await handlers(async () => reloaded)).list(call({}));
    assert.deepEqual(answer, { plugins: reports });
    assert.ok(matches(plugins.list.result, answer));
  });

  it("answers plugins.inspect with everything about the one that is named", async () => {
    const { inspect } = await handlers(async () => reloaded);
    const answer = await inspect(call({ id: "a" }));
    assert.deepEqual(answer, inspected);
    assert.ok(matches(plugins.inspect.result, answer));
    await assert.rejects(async () => inspect(call({ id: "x" })), { code: "NOT_FOUND" });
  });

  it("reloads the plugin that is named and says what became of it", async () => {
    const asked: string[] = [];
    const { reload } = await handlers(async (id) => {
      asked.push(id);
      return reloaded;
    });
    const answer = await reload(call({ id: "a" }));
    assert.deepEqual([asked, answer], [["a"], reloaded]);
    assert.ok(matches(plugins.reload.result, answer));
  });

  it("passes the refusal of an unknown id on", async () => {
    const { reload } = await handlers(() => Promise.reject(new GatewayError("NOT_FOUND", "no plugin x")));
    await assert.rejects(async () => reload(call({ id: "x" })), { code: "NOT_FOUND" });
  });

  it("lets readers look and administrators reload", () => {
    const { list, inspect, reload } = plugins;
    assert.deepEqual([list.scope, inspect.scope, reload.scope], ["operator.read", "operator.read", "operator.admin"]);
  });
});

it("reads neither the host nor the installer before something is installed", () => {
  const dist = join(root, "plugins/plugins/dist");
  const seen = new Set(["plugin.js"]);
  for (const file of seen) {
    const text = readFileSync(join(dist, file), "utf8");
    for (const [, name = ""] of text.matchAll(/^(?:import|export|\} from)\b[^;(]*?"([^"]+)";$/gm)) {
      assert.ok(!/^@svc\/(?:host|kit)|^tar$|^es-module-lexer$/.test(name), `${file} imports ${name}`);
      if (name.startsWith("./")) seen.add(name.slice(2));
    }
    assert.doesNotMatch(text, /InstallFailure/);
  }
});
