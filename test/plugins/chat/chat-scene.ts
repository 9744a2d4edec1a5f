/** The dependencies of chat's handlers in tests: real storage, and minimal sessions and runs. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type Call, type ConnectionInfo, invalidRequest, type ParamsOf, type Principal } from "@svc/sdk";
import type { AgentRuns, QueueMode, RunOutcome, RunRequest, RunState } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import type { ChatCommands } from "@svc/sdk/commands";
import type { Message } from "@svc/sdk/models";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import { createAborts } from "../../../plugins/chat/abort.ts";
import { createCommandLog, MIGRATIONS } from "../../../plugins/chat/command-log.ts";
import { createInject } from "../../../plugins/chat/injected.ts";
import { createSend } from "../../../plugins/chat/send.ts";
import { noPeers } from "../no-peers.ts";
import { createSentRuns } from "../../../plugins/chat/sent-runs.ts";
import type { ChatPayload } from "../../../plugins/chat/stream.ts";
import { having, openCommands } from "../commands/commands-scene.ts";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";

export const principal: Principal = {
  id: "token",
  role: "operator",
  scopes: ["operator.write"],
  provenance: "token",
  epoch: 1,
};

export function connection(caps: readonly string[]): ConnectionInfo {
  return { id: "c1", remoteAddress: "", local: true, client: undefined, caps, device: undefined, principal };
}

export async function openScene(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), "svc-chat-"));
  const { storage, close } = await openStorage({ file: join(directory, "state.db") });
  t.after(async () => {
    await close();
    await rm(directory, { recursive: true });
  });
  await storage.migrate("chat", MIGRATIONS);

  const entries = new Map<string, SessionEntry>([["agent:main:main", { sessionId: "s1", updatedAt: 1 }]]);
  const transcript: Message[] = [];
  const resets: string[] = [];
  const freshened: string[] = [];
  /** Messages by id that can be replaced. */
  const replaceable = new Map<string, Message>();
  const rewound: string[] = [];
  /** Id of the last message, and whether the next message finds a stale session. */
  const ends: { last?: string; isStale?: boolean } = {};
  const sessions: Pick<
    Sessions,
    | "canonicalKey"
    | "agentOf"
    | "get"
    | "freshen"
    | "sendPolicy"
    | "reset"
    | "ensure"
    | "append"
    | "message"
    | "page"
    | "rewind"
  > = {
    agentOf: (key) => key.split(":")[1] ?? "main",
    async page() {
      const oldestId = ends.last;
      return { items: [], hasMore: false, firstKept: [], ...(oldestId === undefined ? {} : { oldestId }) };
    },
    message: async (_key, id) => replaceable.get(id),
    async rewind(key, id) {
      rewound.push(`${key} ${id}`);
      replaceable.delete(id);
    },
    canonicalKey: (key) =>
      key === "agent:" ? invalidRequest("malformed") : key.includes(":") ? key : `agent:main:${key}`,
    get: async (key) => entries.get(key),
    async freshen(key, context) {
      freshened.push(`${key} ${context?.channel}`);
      const entry = entries.get(key) ?? { sessionId: "s9", updatedAt: 1 };
      return { entry, restarted: ends.isStale === true || !entries.has(key) };
    },
    sendPolicy: (_key, entry) => entry?.sendPolicy ?? "allow",
    async ensure(key, patch = {}) {
      const entry = { sessionId: "s9", updatedAt: 1, ...entries.get(key), ...patch };
      entries.set(key, entry);
      return entry;
    },
    async reset(key, reason) {
      resets.push(`${reason} ${key}`);
      return { sessionId: "s2", updatedAt: 2 };
    },
    async append(_key, messages, alongside = []) {
      await storage.transaction(alongside);
      transcript.push(...messages);
      return messages.map(() => "0000abcd");
    },
  };

  const started: RunRequest[] = [];
  const states = new Map<string, RunState>();
  const aborted: string[] = [];
  const gate = { open: async (): Promise<void> => undefined };
  const outcomes = new Map<string, RunOutcome>();
  const modes = { configured: "followup" as QueueMode };
  const runs: Pick<AgentRuns, "start" | "state" | "active" | "abort" | "queueMode" | "wait"> = {
    queueMode: async (key) => (entries.get(key)?.["queueMode"] as QueueMode | undefined) ?? modes.configured,
    wait: async (runId) => outcomes.get(runId),
    async start(request, prepare) {
      await gate.open();
      const known = states.get(request.runId);
      if (known) return { fresh: false, state: known, acceptedAt: 1 };
      await prepare?.();
      started.push(request);
      const { runId, sessionKey, source } = request;
      const state: RunState = { runId, sessionKey, source, status: "running" };
      states.set(runId, state);
      return { fresh: true, state, acceptedAt: 1 };
    },
    state: async (runId) => states.get(runId),
    active: (key) =>
      [...states.values()].filter(({ sessionKey, status }) => sessionKey === key && status === "running"),
    abort(runId, reason) {
      aborted.push(`${runId} ${reason}`);
      return true;
    },
  };

  const events: ChatPayload[] = [];
  const dropped: string[] = [];
  const emit = (payload: ChatPayload) => void events.push(payload);
  const sent = createSentRuns(noPeers());
  const aborts = createAborts({ sessions, runs, sent });
  const clock = { now: () => 1_000 };
  const log = { info: (_fields: object, text: string) => void dropped.push(text) };
  const commands = createCommandLog(storage);
  const context = async () => ({ summary: undefined, items: [] });
  const chatCommands = openCommands({
    sessions: having<Sessions>({ ...sessions, context }),
    runs: having<AgentRuns>(runs),
    clock,
  }).commands;
  const plugins = { chatCommands: chatCommands as ChatCommands | undefined };
  const send = createSend({
    sessions,
    runs,
    sent,
    aborts,
    commands,
    chatCommands: { get: () => plugins.chatCommands },
    speech: { get: () => undefined },
    clock,
    log,
    emitSoon: emit,
  });
  const inject = createInject({ sessions, clock, emit });

  const around = <P>(params: P): Call<P> => ({
    params,
    principal,
    connection: connection([]),
    signal: new AbortController().signal,
    accept: () => undefined,
  });
  let keys = 0;
  return {
    entries,
    ends,
    replaceable,
    rewound,
    transcript,
    resets,
    freshened,
    modes,
    outcomes,
    started,
    states,
    aborted,
    gate,
    events,
    dropped,
    sent,
    aborts,
    storage,
    /** `chatCommands`: `undefined` without the plugin `commands`. */
    plugins,
    /** Sends a valid message, changed by `change`. */
    async send(change: Partial<ParamsOf<typeof chat.send>> = {}, from: ConnectionInfo = connection([])) {
      const params = { sessionKey: "main", message: "hi", idempotencyKey: `k${++keys}`, ...change };
      return send({ ...around(params), connection: from });
    },
    abort: async (params: ParamsOf<typeof chat.abort>) => aborts.handler(around(params)),
    inject: async (params: ParamsOf<typeof chat.inject>) => inject(around(params)),
  };
}
