/** A real gateway of the owner whose model does what a test says, with a policy that allows every command. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { ParamsOf, Plugin } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { type ApprovalRequestView, execApproval, execApprovalRequested } from "@svc/sdk/approvals";
import { type FakeModelBody, type FakeModelScript, startFakeModelServer, testGateway } from "@svc/sdk/testing";
import { directoryOf } from "../../host/kernel/reload-scene.ts";

const POLICY = { version: 1, agents: { main: { security: "full", ask: "off" } } };
const TOKEN = "hook-token-of-the-test-0123456789";

const BUNDLE = [
  "agents",
  "approvals",
  "chat",
  "commands",
  "config",
  "heartbeat",
  "models",
  "provider-openai",
  "secrets",
  "sessions",
  "storage-sqlite",
  "tools",
  "webhooks",
  "webhook-agent",
  "webhook-wake",
  "workspace",
];

export interface ObeyingOptions {
  /** Behaviour of the model. */
  readonly replies: FakeModelScript;
  readonly plugins?: readonly (Plugin | string)[];
  /** Further sections of the configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Whether the owner approves a question. Default: never. */
  readonly allows?: (request: ApprovalRequestView) => boolean;
}

export type ObeyingGateway = Awaited<ReturnType<Awaited<ReturnType<typeof obeyingScene>>["open"]>>;

export async function obeyingScene(t: TestContext, { replies, plugins = [], config = {}, allows }: ObeyingOptions) {
  const stateDir = await directoryOf(t, "svc-test-");
  const server = await startFakeModelServer({ replies });
  t.after(() => server.close());
  await writeFile(join(stateDir, "exec-approvals.json"), JSON.stringify(POLICY), { mode: 0o600 });
  const models = [{ id: "m", name: "Fake", input: ["text", "image"] }];
  const file = {
    models: { providers: { fake: { baseUrl: server.url, apiKey: "key-1", models } } },
    agents: { defaults: { model: "fake/m", heartbeat: { every: "0" } } },
    hooks: { enabled: true, token: TOKEN },
    ...config,
  };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(file), { mode: 0o600 });
  const workspace = join(stateDir, "workspace");
  await mkdir(workspace, { recursive: true });

  /** Starts the gateway; the second time after a stop, with the stored state of the first. */
  async function open() {
    const running = await testGateway(t, {
      plugins: [...BUNDLE, ...plugins],
      stateDir,
      gateway: { config: undefined, env: { SVC_STATE_DIR: stateDir } },
    });
    const { client, gateway } = running;
    const asked: ApprovalRequestView[] = [];
    /** Answers of people instead of those of `allows`. */
    const people: { say?: Omit<ParamsOf<typeof execApproval.resolve>, "id"> } = {};
    client.on(execApprovalRequested, ({ id, request }) => {
      asked.push(request);
      const said = people.say ?? { decision: allows?.(request) ? "allow-once" : "deny" };
      const answer = client.call(execApproval.resolve, { id, ...said });
      answer.catch(() => undefined); // a test may end before it arrives
    });
    let serial = 0;
    const talk = async (message: string, sessionKey = "main", by = client) => {
      const runId = `run-${++serial}-${message.length}-${Math.trunc(performance.now())}`;
      await by.call(agents.run, { message, sessionKey, idempotencyKey: runId });
      const ended = await by.call(agents.wait, { runId, timeoutMs: 60_000 });
      assert.equal(ended.status, "ok", message);
    };
    const hook = async (path: string, body: object) => {
      const response = await fetch(`${gateway.url.replace(/^ws/, "http")}/hooks/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      assert.equal(response.ok, true, await response.text());
    };
    return { ...running, asked, people, talk, hook };
  }
  return { open, server, workspace };
}

/** The newest message of a question, as text with its whole content. */
export function newestOf({ messages = [] }: FakeModelBody): { readonly role: string; readonly words: string } {
  const last = messages.at(-1);
  const { content = "" } = last ?? {};
  return { role: last?.role ?? "", words: typeof content === "string" ? content : JSON.stringify(content) };
}

/** A call of the model. */
export type Step = readonly [tool: string, args: object];

/** @returns the next step of the task that the newest message names as `task:<name>`, and the results so far */
export function stepOf({ messages = [], tools = [] }: FakeModelBody, steps: ReadonlyMap<string, readonly Step[]>) {
  const start = messages.findLastIndex(({ role }) => role === "user");
  const [, name = ""] = /task:([a-z-]+)/.exec(JSON.stringify(messages[start]?.content ?? "")) ?? [];
  const since = messages.slice(start + 1);
  const results = since.filter(({ role }) => role === "tool");
  const next = tools.length > 0 ? steps.get(name)?.[results.length] : undefined;
  const step = next && { toolCalls: [{ name: next[0], arguments: next[1] }] };
  return { step, read: since.length > 0 ? results : messages };
}
