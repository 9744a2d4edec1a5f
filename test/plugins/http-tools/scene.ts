/** A gateway with `/tools/invoke`, tools of every kind, agents and groups that a test can change. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { definePlugin, GatewayError, Strict, Type } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { ConfigStore } from "@svc/sdk/config";
import { testGateway, type TestGateway } from "@svc/sdk/testing";
import { defineTool, GroupToolPolicy, type GroupToolRules, Tool, type ToolPolicy } from "@svc/sdk/tools";

/** What tools were called with, and what the gateway goes by. */
export class Shed {
  /** Names of tools that ran. */
  readonly ran: string[] = [];
  /** Settles when the tool `waits` was stopped. */
  readonly stopped: Promise<void>;
  /** Settles when it runs. */
  readonly waiting: Promise<void>;
  readonly agents = new Map<string, ToolPolicy>();
  groups: Record<string, GroupToolRules> = {};
  stop: () => void = () => undefined;
  begin: () => void = () => undefined;
  store: ConfigStore | undefined;

  constructor() {
    this.stopped = new Promise((resolve) => (this.stop = resolve));
    this.waiting = new Promise((resolve) => (this.begin = resolve));
  }
}

const Anything = Type.Object({}, { additionalProperties: true });

function toolsOf(shed: Shed): Record<string, Tool> {
  const scope = "operator.read" as const;
  const answering = (name: string, changes: Partial<Tool> = {}): Tool => ({
    description: name,
    params: Anything,
    scope,
    run(_params, { call, principal }) {
      shed.ran.push(name);
      return { content: [{ type: "text", text: name }], details: { ...call, scopes: principal.scopes } };
    },
    ...changes,
  });
  const throwing = (name: string, error: () => Error) =>
    answering(name, {
      run() {
        throw error();
      },
    });
  const refusing = (name: string, ...rest: ConstructorParameters<typeof GatewayError>) =>
    throwing(name, () => new GatewayError(...rest));
  // None that the plugin `sessions` has.
  const core = "web_search memory_get cron gateway sessions_send sessions_spawn exec read image";
  return {
    ...Object.fromEntries(core.split(" ").map((name) => [name, answering(name)])),
    message: answering("message", { params: Strict({ action: Type.String(), to: Type.String({ default: "all" }) }) }),
    echo: answering("echo"),
    gated: answering("gated"),
    rare: answering("rare", { optional: true }),
    in_run: answering("in_run", { runOnly: true }),
    owners: answering("owners", { ownerOnly: true }),
    plain: answering("plain", { run: () => "just text" }),
    soft: answering("soft", { run: () => ({ content: [], details: { error: "no key" }, isError: true }) }),
    unwritable: answering("unwritable", { run: () => ({ content: [], details: { huge: 1n } }) }),
    breaks: throwing("breaks", () => new Error("the secret reason")),
    buggy: refusing("buggy", "INTERNAL", "the secret reason"),
    refuses: refusing("refuses", "INVALID_REQUEST", "action required"),
    forbids: refusing("forbids", "FORBIDDEN", "not yours"),
    lacks: refusing("lacks", "NOT_FOUND", "no such file"),
    conflicts: refusing("conflicts", "CONFLICT", "changed meanwhile"),
    away: refusing("away", "UNAVAILABLE", "come back later", { retryAfterMs: 1_200 }),
    waits: defineTool({
      description: "waits",
      params: Anything,
      scope,
      run: (_params, { signal }) =>
        new Promise<string>((resolve) => {
          shed.begin();
          signal.addEventListener("abort", () => {
            shed.stop();
            resolve("stopped");
          });
        }),
    }),
  };
}

function shedPlugin(shed: Shed) {
  return definePlugin({
    id: "shed",
    api: "^1.0.0",
    requires: { store: ConfigStore },
    provides: [AgentDirectory, GroupToolPolicy],
    setup(gateway) {
      for (const [name, tool] of Object.entries(toolsOf(shed))) gateway.extend(Tool, name, tool);
      gateway.hooks.toolBefore.for("gated").tap(() => ({ allow: false, reason: "not on Sundays" }));
      gateway.provide(AgentDirectory, {
        defaultId: "main",
        list: () => [],
        has: (id) => id === "main" || shed.agents.has(id),
        toolPolicy: (id) => shed.agents.get(id),
        heartbeat: () => undefined,
        memorySearch: () => ({}),
        timeZone: "UTC",
        skills: () => undefined,
        maxSpawnDepth: 1,
      });
      gateway.provide(GroupToolPolicy, {
        of: ({ channel, accountId = "-", groupId }) => shed.groups[`${channel} ${accountId} ${groupId}`],
      });
      gateway.start(() => void (shed.store = gateway.services.store));
    },
  });
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: unknown;
}

/** Whose end is the gateway's. */
interface Owner {
  after(cleanUp: () => Promise<void>): void;
}

export interface Scene extends TestGateway {
  readonly shed: Shed;
  readonly http: string;
  /** `POST /tools/invoke`. A text is sent as it is. */
  invoke(body: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Changes keys of the configuration, as an operator does. */
  edit(changes: Record<string, unknown>): Promise<void>;
}

/** One gateway for all tests of a suite; every use of it finds the list of tools that ran empty. */
export function shared(): () => Scene {
  const cleanUps: (() => Promise<void>)[] = [];
  let scene: Scene | undefined;
  before(async () => {
    scene = await start({ after: (cleanUp) => void cleanUps.push(cleanUp) });
  });
  after(async () => {
    for (const cleanUp of cleanUps) await cleanUp();
  });
  return () => {
    if (!scene) throw new Error("the gateway is not there yet");
    scene.shed.ran.length = 0;
    return scene;
  };
}

export async function start(t: Owner, config: Record<string, unknown> = {}): Promise<Scene> {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-invoke-"));
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  const shed = new Shed();
  const running = await testGateway(t, {
    stateDir,
    plugins: ["tools", "http-tools", "sessions", "storage-sqlite", shedPlugin(shed)],
    gateway: { config: undefined },
  });
  t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 }));
  const http = `${running.gateway.url.replace("ws", "http")}/tools/invoke`;
  const authorization = `Bearer ${running.gateway.auth.token ?? ""}`;
  return {
    ...running,
    shed,
    http,
    async invoke(body, headers = {}) {
      const sent = typeof body === "string" ? body : JSON.stringify(body);
      const answer = await fetch(http, { method: "POST", headers: { authorization, ...headers }, body: sent });
      const text = await answer.text();
      const isJson = answer.headers.get("content-type")?.startsWith("application/json") === true;
      return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : text };
    },
    async edit(changes) {
      const edits = Object.entries(changes).map(([path, value]) => ({ path: path.split("."), value }));
      await shed.store?.edit({ actor: "test", action: "test" }, () => edits);
    },
  };
}

/** The answer to a tool that is not there, and to one that is denied. */
export const gone = (tool: string) => ({
  ok: false,
  error: { type: "not_found", message: `Tool not available: ${tool}` },
});
