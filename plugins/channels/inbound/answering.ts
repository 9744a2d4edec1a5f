/**
 * Sees to it that every accepted message is answered once.
 *
 * Each message has a record in `InboundStore`. If the service `AgentRuns` knows the run of a message, no second run
 * starts. One transaction stores the answer in the outbox and the outcome in the record.
 */
import { setMaxListeners } from "node:events";
import { persist } from "@svc/kit/persist";
import { type EndedRun, endOfRun, isGatewayStopping } from "@svc/kit/runs";
import {
  type Clock,
  ERRORS,
  isGatewayError,
  type Live,
  type Logger,
  messageOf,
  pause,
  Turns,
  unavailable,
} from "@svc/sdk";
import type { AgentRuns, RunOutcome, RunRequest } from "@svc/sdk/agents";
import type { ChannelAccount } from "@svc/sdk/channels";
import type { ChatCommands } from "@svc/sdk/commands";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import type { ToolAddress } from "@svc/sdk/tools";
import type { Attached } from "./attachments.ts";
import { type Beginning, obeyCommand, type Obeyed } from "./commands.ts";
import type { AcceptedMessage, InboundEnding, InboundStore } from "./inbound-store.ts";
import { draftId, type LiveAnswers } from "./live-answers.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { NewText } from "../outbox/outbox-store.ts";
import { pauseMs } from "../accounts/pauses.ts";
import { quoteOf } from "./quoting.ts";
import { taggedReply } from "./reply-text.ts";
import type { SpokenAnswers } from "../outbox/spoken-answers.ts";
import { usageLine } from "./usage-line.ts";
import { FAILED_TEXT, judge, MAX_ATTEMPTS, type Verdict } from "./verdict.ts";

/**
 * Choice: temporary refusals of a run (e.g. a full disk, or a denial by the hook `runBefore`) before the message counts as
 * failed.
 */
export const MAX_REFUSALS = 6;
/**
 * Choice: failed attempts to record the outcome of a message, about 13 minutes with the pauses, before the message counts as
 * failed.
 */
export const MAX_FAILURES = 10;

interface AnsweringSources {
  readonly store: Pick<InboundStore, "accepted" | "attempted" | "settle">;
  readonly outbox: Pick<Outbox, "insert" | "stored">;
  readonly runs: Live<AgentRuns>;
  readonly sessions: Live<Sessions>;
  readonly commands: Live<ChatCommands>;
  readonly clock: Clock;
  /** Reads the files of a message. */
  readonly attachments: (message: AcceptedMessage) => Promise<Attached>;
  readonly live: Pick<LiveAnswers, "begin" | "end" | "rest">;
  readonly speech: Pick<SpokenAnswers, "filesFor" | "hint">;
  /** The account, for the form of its answers; `undefined` if it is not loaded now. */
  readonly accountOf: (message: AcceptedMessage) => Pick<ChannelAccount, "replyToMode"> | undefined;
  /** Whether the sender still has access: the lists of allowed people may change while messages wait. */
  readonly isAllowed: (message: AcceptedMessage) => boolean;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly random: () => number;
  /** Aborts when the plugin stops: the next start of the plugin resumes unfinished messages. */
  readonly signal: AbortSignal;
}

const NOT_ALLOWED: FinalVerdict = { kind: "silent", reason: "its sender no longer has access" };

function runIdOf({ runId }: AcceptedMessage, attempt: number): string {
  return attempt === 1 ? runId : `${runId}:${attempt}`;
}

/** A run to start for a message. `attached` reads its files, once for all attempts. */
interface Start extends Beginning {
  readonly message: AcceptedMessage;
  readonly runId: string;
  readonly attached: () => Promise<Attached>;
}

/** Runs `work` until it has succeeded once. */
function onceDone<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return async () => {
    done ??= work();
    try {
      return await done;
    } catch (error) {
      done = undefined;
      throw error;
    }
  };
}

type FinalVerdict = Exclude<Verdict, { kind: "again" } | { kind: "reply" }> | Reply;

interface Reply {
  readonly kind: "reply";
  readonly text: string;
  /** Ids of stored files, sent after the text. */
  readonly media?: readonly string[];
}

export class Answering {
  readonly #sources: AnsweringSources;
  readonly #inFlight = new Map<string, AcceptedMessage>();
  /** Keys of messages whose outcome storage cannot record. The next start of the plugin resumes these messages. */
  readonly #left = new Set<string>();
  /** One queue per session: its runs begin in the order in which the messages arrived. */
  readonly #beginnings = new Turns();

  constructor(sources: AnsweringSources) {
    this.#sources = sources;
    setMaxListeners(0, sources.signal); // as many listeners as there are waiting messages
  }

  /** Messages of an account that wait for an answer. */
  waiting(channel: string, accountId: string): number {
    let count = 0;
    for (const message of this.#inFlight.values())
      if (message.channel === channel && message.accountId === accountId) count += 1;
    return count;
  }

  /** Resumes the messages that were unfinished at the last stop or crash. */
  async recover(): Promise<void> {
    const accepted = await this.#sources.store.accepted();
    const found = accepted.filter(({ key }) => !this.#inFlight.has(key) && !this.#left.has(key));
    if (found.length > 0) this.#sources.log.info({ count: found.length }, "resuming unanswered channel messages");
    for (const message of found) this.begin(message);
  }

  /** Call this when the lists of allowed people may have changed: stops the runs of people who lost access. */
  recheck(): void {
    const runs = this.#sources.runs.get();
    for (const message of this.#inFlight.values()) {
      if (this.#sources.isAllowed(message)) continue;
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) runs?.abort(runIdOf(message, attempt), "revoked");
    }
  }

  /** Call this when a message is on disk. */
  begin(message: AcceptedMessage): void {
    if (this.#sources.signal.aborted || this.#inFlight.has(message.key)) return;
    this.#inFlight.set(message.key, message);
    void this.#carry(message).finally(() => this.#inFlight.delete(message.key));
  }

  /** Never rejects. */
  async #carry(message: AcceptedMessage): Promise<void> {
    const { signal, log, random, clock } = this.#sources;
    const { channel, accountId: account, sessionKey } = message;
    let verdict: FinalVerdict | undefined;
    for (let failures = 1; ; failures++) {
      try {
        verdict ??= await this.#verdict(message);
        return await this.#settle(message, verdict);
      } catch (error) {
        if (signal.aborted || isGatewayStopping(error)) return; // the next start of the plugin resumes the message
        if (isGatewayError(error) && error.code === "CONFLICT") return; // the outcome is already recorded
        const fields = { err: error, channel, account, sessionKey };
        if (failures >= MAX_FAILURES) return this.#giveUp(message, error);
        if (failures === 1) log.warn(fields, "the outcome of a message could not be recorded; retrying with back-off");
        await pause(pauseMs(failures, random()), clock, signal);
      }
    }
  }

  /** Ends a message as failed. Never rejects. */
  async #giveUp(message: AcceptedMessage, cause: unknown): Promise<void> {
    const { signal, log } = this.#sources;
    try {
      const reason = `its outcome could not be recorded: ${messageOf(cause)}`;
      await this.#settle(message, { kind: "failed", reason, text: FAILED_TEXT });
    } catch (error) {
      if (signal.aborted) return;
      this.#left.add(message.key);
      const { channel, accountId: account } = message;
      log.warn(
        { err: error, channel, account },
        "storage cannot record the outcome of a message; the next start of the plugin resumes the message",
      );
    }
  }

  async #verdict(message: AcceptedMessage): Promise<FinalVerdict> {
    if (!this.#sources.isAllowed(message)) return NOT_ALLOWED;
    const obeyed = await this.#obey(message);
    if (!obeyed) return NOT_ALLOWED;
    if ("reply" in obeyed) return { kind: "reply", text: obeyed.reply };
    const attached = onceDone(() => this.#sources.attachments(message));
    for (let attempt = message.attempt; ; attempt++) {
      const runId = runIdOf(message, attempt);
      try {
        const begin = () => this.#beginPatiently({ message, runId, attached, ...obeyed });
        if (!(await this.#beginnings.take(message.sessionKey, begin))) return NOT_ALLOWED;
      } catch (error) {
        if (this.#sources.signal.aborted || isGatewayStopping(error)) throw error;
        return { kind: "failed", reason: messageOf(error), text: FAILED_TEXT };
      }
      this.#sources.live.begin(runId, message);
      const { outcome, status } = await this.#ended(runId).finally(() => this.#sources.live.end(runId));
      const verdict = judge(outcome, status, attempt);
      if (verdict.kind === "reply") return this.#reply(message, verdict.text, outcome);
      if (verdict.kind !== "again") return verdict;
      await this.#sources.store.attempted(message.key, attempt + 1);
    }
  }

  /** The answer without the blocks that were already sent, with its usage line; and the speech of the whole answer. */
  async #reply(message: AcceptedMessage, answer: string, outcome: RunOutcome): Promise<FinalVerdict> {
    const media = await this.#sources.speech.filesFor(message, taggedReply(outcome.text) ?? answer);
    const rest = await this.#sources.live.rest(message, answer);
    const text = await this.#withUsage(message, rest, outcome);
    if (media.length > 0) return { kind: "reply", text, media };
    return text.trim() === "" ? { kind: "silent", reason: "the answer was sent in blocks" } : { kind: "reply", text };
  }

  /** Appends the usage line to the answer. If the session cannot be read now, the answer is sent without that line. */
  async #withUsage({ sessionKey }: AcceptedMessage, text: string, outcome: RunOutcome): Promise<string> {
    try {
      const entry = outcome.usage && (await this.#sources.sessions.get()?.get(sessionKey));
      const line = usageLine(entry?.["responseUsage"], outcome);
      return line === undefined ? text : `${text}\n\n${line}`;
    } catch (error) {
      this.#sources.log.info({ err: error, sessionKey }, "the answer is sent without its usage line");
      return text;
    }
  }

  /**
   * Runs the command of a message. An urgent one overtakes waiting messages; any other runs in order of arrival.
   * @returns `undefined`: the sender lost access meanwhile
   */
  async #obey(message: AcceptedMessage): Promise<Obeyed | undefined> {
    const { sessionKey, job } = message;
    if (job.command === undefined) return { run: {} };
    const commands = this.#sources.commands.get();
    const act = async () =>
      this.#sources.isAllowed(message) ? obeyCommand(message, commands, addressOf(message)) : undefined;
    return commands?.parse(job.command)?.urgent ? act() : this.#beginnings.take(sessionKey, act);
  }

  /** @throws the error of a permanent refusal, or of the temporary refusal number `MAX_REFUSALS` */
  async #beginPatiently(start: Start): Promise<boolean> {
    const { log, random } = this.#sources;
    for (let refusals = 1; ; refusals++) {
      try {
        return await this.#begin(start);
      } catch (error) {
        this.#throwIfStopped();
        const mayPass = isGatewayError(error) && !isGatewayStopping(error) && ERRORS[error.code].retry;
        if (!mayPass || refusals >= MAX_REFUSALS) throw error;
        const inMs = Math.max(error.retryAfterMs ?? 0, pauseMs(refusals, random()));
        log.info(
          { channel: start.message.channel, reason: error.message, inMs },
          "the run of a message was refused temporarily; retrying",
        );
        await this.#pause(inMs);
      }
    }
  }

  /** @throws GatewayError `UNAVAILABLE` */
  #services(): { readonly runs: AgentRuns; readonly sessions: Sessions } {
    const [runs, sessions] = [this.#sources.runs.get(), this.#sources.sessions.get()];
    if (!runs || !sessions) return unavailable("no agents are available in this gateway now; see: svc plugins list");
    return { runs, sessions };
  }

  /** @returns false: the sender lost access meanwhile */
  async #begin({ message, runId, attached, run, restart }: Start): Promise<boolean> {
    const { runs, sessions } = this.#services();
    if (await runs.state(runId)) return true; // started before a restart
    const { sessionKey, channel, accountId, job } = message;
    const isGroup = job.chatType === "group";
    const prepare = async () => {
      if (restart) await restart();
      else if (runs.active(sessionKey).length === 0)
        await sessions.freshen(sessionKey, { channel, isGroup, isThread: job.threadId !== undefined });
      await sessions.ensure(sessionKey, lastRoute(message));
    };
    const [{ images, notes }, hint] = await Promise.all([attached(), this.#sources.speech.hint(sessionKey)]);
    if (!this.#sources.isAllowed(message)) return false;
    const request: RunRequest = {
      runId,
      sessionKey,
      message: [run.message ?? job.message, ...notes].filter((part) => part !== "").join("\n\n"),
      ...(images.length === 0 ? {} : { images }),
      source: "channel",
      queue: await runs.queueMode(sessionKey, channel),
      extraSystemPrompt: hint === undefined ? job.prompt : `${job.prompt}\n\n${hint}`,
      toolAddress: addressOf(message),
      origin: { kind: "channel", id: job.principal.id, scopes: [...job.principal.scopes] },
      principal: job.principal,
      ...(run.compact === undefined ? {} : { compact: run.compact }),
    };
    await runs.start(request, prepare);
    this.#sources.log.info({ channel, account: accountId, runId, sessionKey }, "a message was handed to an agent");
    return true;
  }

  /**
   * @throws GatewayError `UNAVAILABLE` if the plugin stops before the run ends; after its next start, the plugin waits for
   *   the run again
   */
  async #ended(runId: string): Promise<EndedRun> {
    const { runs, clock, signal } = this.#sources;
    const ended = await endOfRun(runId, { runs: () => runs.get(), clock }, signal).catch((error: unknown) => {
      this.#throwIfStopped();
      throw error;
    });
    this.#throwIfStopped();
    return ended;
  }

  async #settle(message: AcceptedMessage, verdict: FinalVerdict): Promise<void> {
    const { store, outbox, clock, log, signal } = this.#sources;
    const { replyToMode } = this.#sources.accountOf(message) ?? {};
    const media = verdict.kind === "reply" ? verdict.media : undefined;
    const text = verdict.kind === "silent" ? undefined : answerTo(message, verdict.text, { replyToMode, media });
    if (verdict.kind === "failed") {
      const { channel, sessionKey } = message;
      log.warn({ channel, sessionKey, reason: verdict.reason }, "a message was not answered");
    }
    const now = clock.now();
    const write = () => store.settle(message.key, endingOf(verdict), now, text ? [outbox.insert(text, now)] : []);
    // No other process writes this outcome. So if a repeated write conflicts, an earlier attempt has succeeded.
    await persist(write, { clock, signal, isDone: async () => true });
    if (text) outbox.stored(text, now);
  }

  #throwIfStopped(): void {
    if (this.#sources.signal.aborted)
      unavailable("the plugin channels is stopping; after its next start it continues with this message");
  }

  /** @throws GatewayError `UNAVAILABLE` if the plugin stops meanwhile */
  async #pause(ms: number): Promise<void> {
    const { clock, signal } = this.#sources;
    this.#throwIfStopped();
    await pause(ms, clock, signal);
    this.#throwIfStopped();
  }
}

/** The last route of the session. Spec: http/sessions-routing.md §4, §8. */
function lastRoute({ channel, accountId, job }: AcceptedMessage): Partial<SessionEntry> {
  const { replyTo, threadId, chatType, chatName, senderName } = job;
  const thread = threadId === undefined ? {} : { threadId };
  const name = chatType === "group" ? (chatName ?? replyTo) : (senderName ?? replyTo);
  return {
    chatType,
    channel,
    lastChannel: channel,
    lastTo: replyTo,
    lastAccountId: accountId,
    lastThreadId: threadId,
    deliveryContext: { channel, to: replyTo, accountId, ...thread },
    origin: { provider: channel, from: replyTo, accountId, label: name, ...thread },
    ...(chatType === "group" ? { groupId: replyTo, displayName: name } : {}),
  };
}

/** Address for the tools of the run. */
function addressOf({ channel, accountId, job: { replyTo, threadId, messageId } }: AcceptedMessage): ToolAddress {
  const thread = threadId === undefined ? {} : { threadId };
  return { channel, accountId, to: replyTo, ...thread, ...(messageId === undefined ? {} : { messageId }) };
}

function answerTo(
  { key, channel, accountId, job }: AcceptedMessage,
  text: string,
  { replyToMode, media }: { readonly replyToMode: ChannelAccount["replyToMode"]; readonly media: Reply["media"] },
): NewText {
  const { replyTo, threadId, maxTextChars: maxChars } = job;
  const place = { channel, accountId, to: replyTo, ...(threadId === undefined ? {} : { threadId }) };
  return {
    id: `reply:${key}`,
    ...place,
    text,
    maxChars,
    extras: {
      draft: draftId(key),
      ...quoteOf(job, replyToMode),
      ...(media === undefined ? {} : { media, mediaLast: true }),
    },
  };
}

function endingOf(verdict: FinalVerdict): InboundEnding {
  if (verdict.kind === "reply") return { status: "answered" };
  return { status: verdict.kind, reason: verdict.reason };
}
