/** A gateway with webhooks enabled and actions that record their calls, for tests. */
import type { TestContext } from "node:test";
import { definePlugin, GatewayError, isGatewayError, type ParamsOf, type Plugin, Type } from "@svc/sdk";
import { testGateway, type TestGateway } from "@svc/sdk/testing";
import {
  WebhookAction,
  type WebhookFields,
  type WebhookJob,
  type WebhookRun,
  webhooks,
  Webhooks,
  WebhookVerifier,
} from "@svc/sdk/webhooks";

export const TOKEN = "hook-token-of-the-test";

/** Calls of the actions in a test. */
export interface Recorder {
  /** Jobs of the action `note` whose record is on disk. */
  readonly notes: WebhookJob[];
  /** Attempts of the action `task`. */
  readonly tasks: WebhookJob[];
  /** Outcomes of the next attempts of `task`; later ones succeed. */
  readonly plan: ((job: WebhookJob, signal: AbortSignal) => Promise<void>)[];
  service: Webhooks | undefined;
}

/**
 * `note` completes with its record, `task` runs in the background; both are served directly.
 * The verifier `odd` accepts a request whose header `x-odd` is its secret.
 */
export function actionsPlugin(recorder: Recorder): Plugin {
  const text = (fields: WebhookFields, field: string, said: string): string => {
    const value = fields[field];
    if (typeof value !== "string" || value.trim() === "") throw new GatewayError("INVALID_REQUEST", said);
    return value.trim();
  };
  return definePlugin({
    id: "test-actions",
    api: "^1.0.0",
    requires: { webhooks: Webhooks },
    setup(gateway) {
      recorder.service = gateway.services.webhooks;
      gateway.extend(WebhookAction, "note", {
        summary: "Keeps a note",
        direct: true,
        mappingKeys: { text: "textTemplate", mode: "wakeMode" },
        fields: Type.Object({
          text: Type.String({ external: true }),
          mode: Type.Optional(Type.Enum(["now", "later"])),
          name: Type.Optional(Type.String()),
        }),
        prepare: (fields) => ({
          params: { text: text(fields, "text", "text required"), mode: fields["mode"] ?? "now" },
          reply: { mode: fields["mode"] ?? "now" },
        }),
        commit: () => [],
        committed: (job) => void recorder.notes.push(job),
      });
      gateway.extend(WebhookAction, "task", {
        summary: "Does something that takes time",
        direct: true,
        isDefault: true,
        mappingKeys: { message: "messageTemplate" },
        fields: Type.Object({
          message: Type.String({ external: true }),
          agentId: Type.Optional(Type.String()),
          sessionKey: Type.Optional(Type.String()),
          deliver: Type.Optional(Type.Boolean()),
          name: Type.Optional(Type.String()),
        }),
        prepare(fields, { policy }) {
          const message = text(fields, "message", "message required");
          const { agentId, sessionKey: asked } = fields;
          if (typeof agentId === "string") policy.checkAgentId(agentId);
          const sessionKey = policy.sessionKey(typeof asked === "string" ? asked : undefined);
          const { deliver, name } = fields;
          return {
            params: { message, sessionKey, ...(deliver === undefined ? {} : { deliver }), ...(name ? { name } : {}) },
            sessionKey,
          };
        },
        async run(job, signal) {
          recorder.tasks.push(job);
          await recorder.plan.shift()?.(job, signal);
          return { summary: "done", details: { attempt: job.attempt } };
        },
      });
      gateway.extend(WebhookVerifier, "odd", {
        summary: "A header that is the secret",
        verify: ({ headers }, secrets) =>
          secrets.includes(headers["x-odd"] ?? "")
            ? { ok: true, replayKey: headers["x-odd-id"] ?? "always the same" }
            : { ok: false, reason: "x-odd is wrong" },
      });
    },
  });
}

export interface WebhookGateway extends TestGateway, Recorder {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** Posts JSON (or literal text) below the base path, with the hook token. */
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** The records, over the connection of an administrator. */
  readonly records: {
    run(runId: string): Promise<WebhookRun | undefined>;
    runs(filter?: ParamsOf<typeof webhooks.runs>): Promise<readonly WebhookRun[]>;
    replay(runId: string): Promise<WebhookRun>;
  };
  /** The run, once it is done or failed. */
  ended(runId: string): Promise<WebhookRun>;
}

export interface WebhookGatewayOptions {
  /** Keys of the section `hooks` in addition to `enabled` and `token`. */
  readonly hooks?: Record<string, unknown>;
  readonly config?: Record<string, unknown>;
  readonly plugins?: readonly (Plugin | string)[];
  readonly stateDir?: string;
  readonly gateway?: Record<string, unknown>;
}

export async function webhookGateway(t: TestContext, options: WebhookGatewayOptions = {}): Promise<WebhookGateway> {
  const recorder: Recorder = { notes: [], tasks: [], plan: [], service: undefined };
  const started = await testGateway(t, {
    plugins: ["storage-sqlite", "webhooks", actionsPlugin(recorder), ...(options.plugins ?? [])],
    config: { ...options.config, hooks: { enabled: true, token: TOKEN, ...options.hooks } },
    ...(options.stateDir === undefined ? {} : { stateDir: options.stateDir }),
    ...(options.gateway ? { gateway: options.gateway } : {}),
  });
  const origin = `http://127.0.0.1:${started.gateway.port}`;
  const { client } = started;
  const records: WebhookGateway["records"] = {
    run: (runId) =>
      client.call(webhooks.run, { runId }).then(
        ({ run }) => run,
        (error: unknown) => {
          if (!isGatewayError(error) || error.code !== "NOT_FOUND") throw error;
          return undefined;
        },
      ),
    runs: async (filter = {}) => (await client.call(webhooks.runs, filter)).runs,
    replay: async (runId) => (await client.call(webhooks.replay, { runId })).run,
  };
  return Object.assign(recorder, started, {
    origin,
    records,
    post: (path: string, body: unknown = {}, headers: Record<string, string> = {}) =>
      fetch(`${origin}/hooks/${path}`, {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
        headers: { authorization: `Bearer ${TOKEN}`, ...headers },
      }),
    async ended(runId: string) {
      for (;;) {
        const run = await records.run(runId);
        if (run && (run.status === "done" || run.status === "failed")) return run;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
  });
}
