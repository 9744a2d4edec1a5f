/** The scene of an obedient model with every source of text: a channel, a node, a small web, an MCP server, jobs and notes. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { definePlugin, type ServicesOf } from "@svc/sdk";
import { AgentRuns } from "@svc/sdk/agents";
import { createDevice } from "@svc/sdk/device";
import { SystemEvents } from "@svc/sdk/heartbeat";
import { textOf } from "@svc/sdk/models";
import { nodeInvokeRequest, nodes } from "@svc/sdk/nodes";
import { Sessions } from "@svc/sdk/sessions";
import { tools } from "@svc/sdk/tools";
import { OutboundFetch, WebSearchProvider, type WebSearchResult } from "@svc/sdk/web";
import { pigeon } from "../../plugins/channels/pigeon.ts";
import { program } from "../../plugins/mcp/scene.ts";
import { FakeDevices } from "../../plugins/nodes/scene.ts";
import { internet } from "../../plugins/outbound/scene.ts";
import { type ObeyingOptions, obeyingScene } from "./obeying-scene.ts";
import { until } from "./scene.ts";

export interface FurnishedOptions extends ObeyingOptions {
  /** Content at a path of every host. */
  readonly page: (path: string) => readonly [contentType: string, body: Buffer | string];
  /** Result of every search. */
  readonly found: WebSearchResult;
  /** Result of the tool `docs__environment` of the MCP server. */
  readonly words: string;
}

const PLUGINS = ["channels", "cron", "mcp", "media", "memory", "nodes", "web"];
const insides = { runs: AgentRuns, events: SystemEvents, sessions: Sessions };

export type Furnished = Awaited<ReturnType<typeof furnishedScene>>;

/** Ann may write to the agent, and so may everyone in the groups `#team` and `#club`. */
export async function furnishedScene(t: TestContext, options: FurnishedOptions) {
  const { page, found, words, config, plugins = [] } = options;
  const { outbound } = await internet(t, ({ url = "" }, response) => {
    const [type, body] = page(url);
    response.setHeader("content-type", type).end(body);
  });
  const bird = pigeon({ accounts: [{ allowFrom: ["ann"], groups: ["#team", "#club"] }] });
  const devices = new FakeDevices();
  const got: { inside?: ServicesOf<typeof insides> } = {};
  const surroundings = definePlugin({
    id: "surroundings",
    api: "^1.0.0",
    requires: insides,
    provides: [OutboundFetch],
    setup(gateway) {
      gateway.provide(OutboundFetch, outbound);
      const engine = { label: "Engine", missing: () => undefined, search: async () => [found] };
      gateway.extend(WebSearchProvider, "engine", engine);
      gateway.start(() => void (got.inside = gateway.services));
    },
  });
  const { open, server, workspace } = await obeyingScene(t, {
    ...options,
    plugins: [...PLUGINS, bird.plugin, devices.plugin(), surroundings, ...plugins],
    config: { mcp: { servers: { docs: { ...program(), env: { WORDS: words } } } }, ...config },
  });
  const gateway = await open();
  const inside = got.inside ?? assert.fail(JSON.stringify(gateway.gateway.plugins()));

  const device = createDevice();
  devices.pair(device);
  const is = { id: "node-host", mode: "node", platform: "macos", version: "9" } as const;
  const node = await gateway.connect({ role: "node", scopes: [], device, commands: ["system.run"], client: is });
  node.on(nodeInvokeRequest, ({ id }) => void node.call(nodes.invokeResult, { id, nodeId: device.id, ok: true }));
  /** The node sends an event. */
  const report = (event: string, payload: object) => node.call(nodes.event, { event, payload });

  /** The runs of a session have received or sent a message, and have ended. */
  const settled = (key: string, told: string) =>
    until(async () => {
      const said = await inside.sessions.transcript(key, 100);
      return inside.runs.active(key).length === 0 && said.some(({ message }) => textOf(message).includes(told));
    }, `${key}: ${told}`);
  /** An event waits for the next turn of a session. */
  const waiting = (key: string, told: string) =>
    until(async () => (await inside.events.waiting(key)).some(({ text }) => text.includes(told)), `${key}: ${told}`);
  const catalogue = async () => JSON.stringify(await gateway.client.call(tools.catalog, {}));
  await until(async () => (await catalogue()).includes("docs__environment"), "the tools of the MCP server");
  return { ...gateway, inside, bird, nodeId: device.id, report, settled, waiting, server, workspace };
}
