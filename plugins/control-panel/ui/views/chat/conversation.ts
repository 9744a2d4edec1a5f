/**
 * One conversation: its stored messages, the replies in progress, and the messages on their way. The history is the truth; events say
 * what is not in it yet, and when to read it again.
 */
import { agentEvent } from "@svc/sdk/agents";
import { chat, chatEvent, sessionMessage, sessionMessages } from "@svc/sdk/chat";
import { type App, contextFor } from "../../core/app.ts";
import { createResource } from "../../core/resource.ts";
import { keepDraft, readDraft } from "./drafts.ts";
import type { Picture } from "./pictures.ts";
import type { LiveRun, Notice, Outgoing } from "./live.ts";
import { type ChatMessage, type Echo, imagesOf, messageOf, textOf } from "./messages.ts";

/** Messages of the first page, of later pages, and read again after a change. */
const PAGE = { first: 100, older: 500, tail: 60 } as const;
/** Characters of one text. */
const MAX_CHARS = 100_000;
/** Milliseconds between two reads that events ask for. */
const MERGE_MS = 250;

export interface Conversation {
  readonly key: string;
  readonly messages: readonly ChatMessage[];
  readonly runs: ReadonlyMap<string, LiveRun>;
  readonly outgoing: readonly Outgoing[];
  readonly echoes: readonly Echo[];
  /** `undefined`: not loaded yet. */
  readonly hasMore: boolean | undefined;
  readonly isLoadingOlder: boolean;
  /** Why the history could not be read. */
  readonly error: unknown;
  readonly isBusy: boolean;
  /** Changes with everything that changes the stored rows. */
  readonly version: number;
  /** Pictures of messages that this page sent: the history omits them. */
  picturesOf(message: ChatMessage): readonly Picture[];
  refresh(): Promise<void>;
  loadOlder(): Promise<void>;
  /** @param replaces id of the message that it takes the place of */
  send(text: string, pictures?: readonly Picture[], replaces?: string): void;
  resend(message: Outgoing): void;
  /** Takes back a message that has not started. */
  remove(message: Outgoing): Promise<void>;
  /** Stops the reply in progress. */
  stop(): Promise<void>;
}

export interface ConversationOptions {
  readonly app: App;
  /** Canonical. */
  readonly key: string;
  /** Aborts when people open another conversation. */
  readonly signal: AbortSignal;
  readonly changed: () => void;
  /** A reply ended. @param text for people who do not see it */
  readonly ended: (text: string) => void;
}

export function openConversation({ app, key, signal, changed, ended }: ConversationOptions): Conversation {
  const context = contextFor(app, signal); // what it starts ends with the conversation, not with the view
  let messages: readonly ChatMessage[] = [];
  let sessionId: string | undefined;
  let hasMore: boolean | undefined;
  let oldestId: string | undefined;
  let error: unknown;
  let older: Promise<void> | undefined;
  let planned: ReturnType<typeof setTimeout> | undefined;
  let version = 0;
  let outgoing: readonly Outgoing[] = [];
  let echoes: readonly Echo[] = [];
  const runs = new Map<string, LiveRun>();
  /** Runs whose end was announced: their last messages are in the history. */
  const over = new Set<string>();
  const pictures = new Map<string, readonly Picture[]>();

  const tell = () => {
    if (!signal.aborted) changed();
  };
  const update = (message: Outgoing, change: Partial<Outgoing>) => {
    Object.assign(message, change);
    outgoing = [...outgoing];
    tell();
  };
  const drop = (gone: (message: Outgoing) => boolean) => {
    outgoing = outgoing.filter((message) => !gone(message));
  };

  async function read(): Promise<void> {
    const limit = messages.length === 0 ? PAGE.first : PAGE.tail;
    const started = new Set(outgoing.filter(({ state }) => state === "started"));
    const done = new Set(over);
    const result = await context.call(chat.history, { sessionKey: key, ids: true, limit, maxChars: MAX_CHARS });
    if (signal.aborted) return;
    const isOther = sessionId !== result.sessionId;
    const tail = result.messages.map(messageOf);
    const first = tail.find(({ isCompaction }) => !isCompaction)?.id;
    const known = isOther || first === undefined ? -1 : messages.findIndex(({ id }) => id === first);
    const former = new Map(messages.slice(Math.max(known, 0)).map((message) => [message.id, message]));
    if (isOther) echoes = sessionId === undefined ? echoes : [];
    sessionId = result.sessionId;
    if (known < 0) {
      hasMore = result.hasMore ?? false;
      oldestId = result.oldestId;
    }
    // A message never changes, so those that are known stay the same objects, whose nodes are cached.
    const fresh = tail.map((message) => former.get(message.id) ?? message);
    const kept = known > 0 ? messages.slice(0, known) : [];
    messages =
      kept.at(-1)?.isCompaction === true && fresh[0]?.id === kept.at(-1)?.id
        ? [...kept.slice(0, -1), ...fresh]
        : [...kept, ...fresh];
    keepPictures(
      started,
      fresh.filter(({ id }) => !former.has(id)),
    );
    drop((message) => started.has(message));
    for (const runId of done) {
      over.delete(runId);
      runs.delete(runId);
    }
    reconcile(result.activeRuns ?? []);
    error = undefined;
    version++;
    tell();
  }

  /** The gateway knows which runs are active; events about them may have been missed. */
  function reconcile(active: readonly { readonly runId: string; readonly startedAt?: number }[]): void {
    const open = new Map(active.map((run) => [run.runId, run.startedAt]));
    for (const runId of runs.keys()) if (!open.has(runId) && !over.has(runId)) runs.delete(runId);
    for (const [runId, startedAt] of open) if (!over.has(runId)) begin(runId, startedAt);
    drop(({ state, runId }) => state === "queued" && !open.has(runId) && !over.has(runId));
  }

  /** Pictures of a message that just got its id. */
  function keepPictures(sent: ReadonlySet<Outgoing>, fresh: readonly ChatMessage[]): void {
    for (const { text, pictures: shown } of sent) {
      const message = fresh.find(
        (one) => one.role === "user" && textOf(one).trim() === text.trim() && imagesOf(one).length === shown.length,
      );
      if (message && shown.length > 0) pictures.set(message.id, shown);
    }
  }

  const { reload: refresh } = createResource(
    () =>
      read().catch((failure: unknown) => {
        if (context.connection.state.kind === "connected") error = failure;
        tell();
      }),
    () => undefined, // `read` tells
    signal,
  );

  function refreshSoon(): void {
    planned ??= setTimeout(() => {
      planned = undefined;
      if (!signal.aborted) void refresh();
    }, MERGE_MS);
  }

  async function readOlder(): Promise<void> {
    if (hasMore !== true || oldestId === undefined) return;
    tell();
    const before = oldestId;
    try {
      const request = { sessionKey: key, before, limit: PAGE.older, maxChars: MAX_CHARS };
      const result = await context.call(chat.history, request);
      if (signal.aborted || before !== oldestId) return;
      messages = [...result.messages.map(messageOf), ...messages];
      hasMore = result.hasMore ?? false;
      oldestId = result.oldestId ?? oldestId;
      version++;
    } catch (failure) {
      if (context.connection.state.kind === "connected") error = failure;
    }
  }

  /** @param startedAt epoch ms; absent: waits for its turn */
  function begin(runId: string, startedAt?: number): LiveRun {
    const known = runs.get(runId);
    if (known) {
      if (startedAt !== undefined) Object.assign(known, { startedAt, isWaiting: false });
      return known;
    }
    const run: LiveRun = {
      runId,
      startedAt: startedAt ?? Date.now(),
      isWaiting: startedAt === undefined,
      text: "",
      thinking: "",
      tools: new Map(),
      notices: [],
      isCompacting: false,
    };
    runs.set(runId, run);
    return run;
  }

  const isOurs = (runId: string, sessionKey: string | undefined) =>
    sessionKey === key || runs.has(runId) || outgoing.some((message) => message.runId === runId);

  context.on(chatEvent, (payload) => {
    const { runId, state, message, errorMessage, stopReason } = payload;
    if (!isOurs(runId, payload.sessionKey)) return;
    const text = message?.content.map((block) => block.text).join("") ?? "";
    if (state === "delta") {
      begin(runId, runs.get(runId)?.startedAt ?? Date.now()).text = text;
      return tell();
    }
    const sent = outgoing.find((one) => one.runId === runId);
    const run = runs.get(runId);
    const isStarted = run !== undefined && !run.isWaiting;
    if (run && text !== "") run.text = text;
    if (run && state === "aborted" && isStarted) run.notices = [...run.notices, { kind: "stopped" }];
    if (sent && !isStarted) settle(sent, state, errorMessage, stopReason);
    if (run) over.add(runId);
    if (state === "final" && text !== "") ended(text);
    if (state === "error") ended(errorMessage ?? "");
    tell();
    void refresh();
  });

  /** A message whose run ended without having begun: a command, a merged message, or a refusal. */
  function settle(sent: Outgoing, state: string, errorMessage = "", stopReason = ""): void {
    if (state === "error") return update(sent, { state: "failed", error: new Error(errorMessage) });
    if (state === "aborted" && stopReason !== "rpc" && stopReason !== "stop")
      return update(sent, { state: "failed", error: new Error(stopReason) });
    if (state === "final" && sent.text.trimStart().startsWith("/"))
      echoes = [...echoes, { runId: sent.runId, text: sent.text, afterId: messages.at(-1)?.id ?? "" }].slice(-50);
    drop((message) => message === sent);
    version++;
  }

  context.on(agentEvent, ({ runId, stream, data, sessionKey }) => {
    if (!isOurs(runId, sessionKey) || over.has(runId)) return;
    const facts = data as Readonly<Record<string, unknown>>;
    const { phase } = facts;
    if (stream === "lifecycle" && phase === "start") {
      begin(runId, Number(facts["startedAt"] ?? Date.now()));
      const sent = outgoing.find((one) => one.runId === runId);
      if (sent) update(sent, { state: "started" });
      void refresh();
    }
    const run = runs.get(runId);
    if (!run) return;
    if (stream === "lifecycle" && phase === "fallback") run.notices = [...run.notices, fallbackOf(facts)];
    if (stream === "thinking") run.thinking = textIn(facts, "text");
    if (stream === "compaction") run.isCompacting = phase === "start";
    if (stream === "tool") useTool(run, facts);
    tell();
  });

  function useTool(run: LiveRun, facts: Readonly<Record<string, unknown>>): void {
    const id = textIn(facts, "toolCallId");
    const { phase, partialResult } = facts;
    const known = run.tools.get(id) ?? { id, name: textIn(facts, "name"), args: facts["args"], partial: "" };
    const state = phase !== "result" ? "running" : facts["isError"] === true ? "failed" : "done";
    const partial = typeof partialResult === "string" ? partialResult : known.partial;
    run.tools.set(id, { ...known, state, partial });
    if (phase !== "update") refreshSoon();
  }

  function fallbackOf(facts: Readonly<Record<string, unknown>>): Notice {
    const text = (name: string) => textIn(facts, name);
    const from = `${text("selectedProvider")}/${text("selectedModel")}`;
    const to = `${text("activeProvider")}/${text("activeModel")}`;
    return { kind: "fallback", from, to, reason: text("reasonSummary") };
  }

  async function post(message: Outgoing): Promise<void> {
    const { runId, text, replaces } = message;
    if (context.connection.state.kind !== "connected") return update(message, { state: "held" });
    update(message, { state: "sending" });
    const attachments = message.pictures.map(({ url, type, name }) => ({
      type: "image",
      mimeType: type,
      fileName: name,
      content: url,
    }));
    try {
      const answer = await context.call(chat.send, {
        sessionKey: key,
        message: text,
        idempotencyKey: runId,
        ...(attachments.length === 0 ? {} : { attachments }),
        ...(replaces === undefined ? {} : { replaces }),
      });
      if (replaces !== undefined) void refresh();
      if ("ok" in answer || answer.status === "ok") drop((one) => one === message); // a stop request, or it ended already
      else if (message.state === "sending" && isBusyBefore(runId)) message.state = "queued";
      tell();
    } catch (failure) {
      // Whether a lost request arrived is unknown; with the same key it is safe to send it again.
      if (context.connection.state.kind === "connected") update(message, { state: "failed", error: failure });
      else update(message, { state: "held" });
      if (signal.aborted) giveBack();
    }
  }

  /** Nobody sends what is left when people leave: it is a draft again. */
  function giveBack(): void {
    const left = outgoing.filter(({ state, replaces }) => ["held", "failed"].includes(state) && replaces === undefined);
    drop((message) => left.includes(message));
    const texts = left.map(({ text }) => text).filter((text) => text !== "");
    if (texts.length > 0) keepDraft(key, [readDraft(key), ...texts].filter((text) => text !== "").join("\n\n"));
  }
  signal.addEventListener("abort", giveBack, { once: true });

  const isBusyBefore = (runId: string) =>
    [...runs.values()].some((run) => run.runId !== runId && !over.has(run.runId)) ||
    outgoing.some((one) => one.runId !== runId && one.state === "queued");

  // Messages of channels, and the steps of replies that others asked for, come without an event of their own.
  context.on(sessionMessage, ({ sessionKey }) => {
    if (sessionKey === key) refreshSoon();
  });
  const follow = () => void context.call(sessionMessages.subscribe, { key }).catch(() => undefined); // the events above still come
  signal.addEventListener(
    "abort",
    () => void context.call(sessionMessages.unsubscribe, { key }).catch(() => undefined), // a closed connection follows nothing
    { once: true },
  );
  context.onFresh(() => {
    follow();
    void refresh();
    for (const message of outgoing) if (message.state === "held") void post(message);
  });
  if (context.connection.state.kind === "connected") {
    follow();
    void refresh();
  }

  return {
    key,
    get messages() {
      return messages;
    },
    runs,
    get outgoing() {
      return outgoing;
    },
    get echoes() {
      return echoes;
    },
    get hasMore() {
      return hasMore;
    },
    get isLoadingOlder() {
      return older !== undefined;
    },
    get error() {
      return error;
    },
    get isBusy() {
      return [...runs.keys()].some((runId) => !over.has(runId)) || outgoing.some(({ state }) => state === "sending");
    },
    get version() {
      return version;
    },
    picturesOf: ({ id }) => pictures.get(id) ?? [],
    refresh,
    loadOlder() {
      older ??= readOlder().finally(() => {
        older = undefined;
        tell();
      });
      return older;
    },
    send(text, shown = [], replaces) {
      const message: Outgoing = { runId: crypto.randomUUID(), text, pictures: shown, replaces, state: "sending" };
      outgoing = [...outgoing, message];
      void post(message);
    },
    resend(message) {
      drop((one) => one === message);
      const again: Outgoing = { ...message, runId: crypto.randomUUID(), state: "sending" };
      delete again.error;
      outgoing = [...outgoing, again];
      void post(again);
    },
    async remove(message) {
      if (message.state === "queued") await context.call(chat.abort, { sessionKey: key, runId: message.runId });
      drop((one) => one === message);
      runs.delete(message.runId);
      tell();
    },
    async stop() {
      await context.call(chat.abort, { sessionKey: key });
    },
  };
}

/** A text among the facts of an event, which may come from a plugin; empty: there is none. */
function textIn(facts: Readonly<Record<string, unknown>>, name: string): string {
  const value = facts[name];
  return typeof value === "string" ? value : "";
}
