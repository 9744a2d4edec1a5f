/** A gateway with the endpoint on, a model server behind it, and the public API's official client in front. */
import type { TestContext } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { definePlugin } from "@svc/sdk";
import { AgentRuns, type RunEvent, type RunOutcome, type RunState } from "@svc/sdk/agents";
import { Sessions } from "@svc/sdk/sessions";
import {
  type FakeModelReply,
  type FakeModelScript,
  startFakeModelServer,
  testGateway,
  type TestGatewayOptions,
} from "@svc/sdk/testing";
import type OpenAI from "openai";
import type { ClientOptions } from "openai";

/** Time limit of a test file in milliseconds, for a busy machine. */
export const SUITE_MS = 60_000;

export const PLUGINS = ["storage-sqlite", "sessions", "models", "provider-openai", "agents", "tools", "http-chat"];

export interface SceneOptions {
  readonly replies?: readonly FakeModelReply[] | FakeModelScript;
  /** Keys of `gateway.http.endpoints.chatCompletions`. */
  readonly endpoint?: object;
  /** Additional keys of `gateway`, `agents`, the model, and plugins. */
  readonly gateway?: object;
  readonly agents?: object;
  readonly model?: object;
  readonly config?: object;
  readonly plugins?: TestGatewayOptions["plugins"];
}

/** Gives tests access to the gateway's internals. */
function lookout() {
  const events: RunEvent[] = [];
  const ended: RunOutcome[] = [];
  let runs: AgentRuns | undefined;
  let sessions: Sessions | undefined;
  const plugin = definePlugin({
    id: "lookout",
    api: "^1.0.0",
    requires: { runs: AgentRuns, sessions: Sessions },
    setup(gateway) {
      ({ runs, sessions } = gateway.services);
      gateway.hooks.runEvent.tap((event) => {
        events.push(event);
        if (event.outcome) ended.push(event.outcome);
      });
    },
  });
  const here = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("the gateway has not started");
    return value;
  };
  return {
    plugin,
    events,
    ended,
    abort: (runId: string, reason: string) => here(runs).abort(runId, reason),
    state: (runId: string): Promise<RunState | undefined> => here(runs).state(runId),
    sessions: () => here(sessions),
  };
}

export type Scene = Awaited<ReturnType<typeof scene>>;

export async function scene(t: TestContext, options: SceneOptions = {}) {
  const server = await startFakeModelServer({ replies: options.replies ?? [] });
  t.after(() => server.close());
  const seen = lookout();
  const running = await testGateway(t, {
    plugins: [...PLUGINS, ...(options.plugins ?? []), seen.plugin],
    config: {
      models: {
        providers: {
          fake: {
            baseUrl: server.url,
            models: [{ id: "fake-model", input: ["text", "image"], ...options.model }, { id: "other-model" }],
          },
        },
      },
      agents: {
        defaults: { model: "fake/fake-model" },
        list: [
          { id: "main", default: true },
          { id: "helper", systemPrompt: "I am the helper." },
        ],
        ...options.agents,
      },
      gateway: { http: { endpoints: { chatCompletions: { enabled: true, ...options.endpoint } } }, ...options.gateway },
      ...options.config,
    },
  });
  const { gateway } = running;
  const base = gateway.url.replace(/^ws/, "http");
  const token = gateway.auth.token ?? "";
  const { default: Client } = await import("openai");
  const client = (more: ClientOptions = {}): OpenAI =>
    new Client({ baseURL: `${base}/v1`, apiKey: token, maxRetries: 0, logLevel: "off", ...more });
  /** A plain request, for requests that no client would send. */
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${base}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return { ...running, server, seen, base, token, client, openai: client(), post };
}

/** Messages of the n-th request to the model, as `role: text`. */
export function shown({ server }: Pick<Scene, "server">, question = 0): readonly string[] {
  const { messages = [] } = server.requests[question]?.body ?? {};
  return messages.map(
    ({ role, content }) => `${role}: ${typeof content === "string" ? content : JSON.stringify(content)}`,
  );
}

/** Resolves when there is a value; checks at each turn of the event loop. */
export async function until<T>(look: () => T | undefined | false): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    await tick();
  }
}

export async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Frames of a stream as received. */
export async function frames(response: Response): Promise<readonly string[]> {
  const text = await response.text();
  if (!text.endsWith("\n\n")) throw new Error(`a frame is not closed: ${text.slice(-80)}`);
  return text.slice(0, -2).split("\n\n");
}

/** Parsed content of a frame. */
export interface Chunk {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  /** Absent in an error. */
  readonly choices: readonly {
    readonly index: number;
    readonly delta: { readonly role?: string; readonly content?: string; readonly tool_calls?: readonly unknown[] };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: Readonly<Record<string, unknown>> | null;
  readonly error?: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}

export function chunkIn(frame: string | undefined): Chunk {
  if (!frame?.startsWith("data: ")) throw new Error(`no frame: ${frame}`);
  return { choices: [], ...(JSON.parse(frame.slice("data: ".length)) as Partial<Chunk>) } as Chunk; // what is missing shows in the test
}
