/**
 * Shows people that an answer is being written: a reaction to their message, the typing state, and the answer itself while it
 * grows, as one message that is edited (`draft`) or as finished paragraphs (`block`). Spec: http/sessions-routing.md §9, §10.
 *
 * The outbox sends the first message of a draft and every block, so that the final answer finds them after a restart.
 * Edits of a draft are not repeated: the final answer replaces them.
 */
import { split } from "@svc/kit/channels";
import { type Clock, type Logger, messageOf } from "@svc/sdk";
import type { Channel, ChannelAccount } from "@svc/sdk/channels";
import type { RunEvent } from "@svc/sdk/agents";
import { SILENT_REPLY } from "@svc/kit/runs";
import type { ChannelAccounts } from "../accounts/channel-accounts.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { NewText, OutboxStore } from "../outbox/outbox-store.ts";
import { type Addressed, callChannel, editPiece, SendFailure } from "../outbox/piece.ts";
import type { AcceptedMessage } from "./inbound-store.ts";
import { quoteOf } from "./quoting.ts";
import { shownReply } from "./reply-text.ts";

/** Choice: milliseconds between two typing signals; networks show one for 5 to 10 seconds. */
const TYPING_EVERY_MS = 4_000;
/** Default minimum milliseconds between two edits of a draft. */
const EDIT_EVERY_MS = 1_500;
/** Choice: characters of an answer after which its draft is sent: shorter answers come at once. */
const LEAST_DRAFT_CHARS = 40;
/** Choice: characters that an answer grows between two looks for a block, because each look reads the whole text. */
const LOOK_EVERY_CHARS = 200;
/** Characters of one block. Spec: http/sessions-routing.md §9 `blockStreamingChunk`. */
const LEAST_BLOCK_CHARS = 800;
const ENDED_WAIT_MS = 60_000;

export interface LiveAnswerSources {
  readonly accounts: ChannelAccounts;
  readonly outbox: Pick<Outbox, "add" | "ended">;
  readonly store: Pick<OutboxStore, "find">;
  readonly clock: Clock;
  readonly log: Pick<Logger, "debug">;
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal;
}

/** What is shown while one run works on a message. */
interface Live {
  readonly message: AcceptedMessage;
  readonly mode: "draft" | "block" | "off";
  /** The first message quotes the question. */
  readonly quote: ReturnType<typeof quoteOf>;
  readonly editEveryMs: number;
  cancelTyping?: () => void;
  /** Text of the answer so far. */
  text: string;
  /** Length of `text` at the last look for a block. */
  looked: number;
  /** Text that people see now. */
  shown: string;
  blocks: number;
  isEnded: boolean;
  /** Resolves when nothing of this answer is being sent. */
  busy: Promise<void>;
}

export class LiveAnswers {
  readonly #sources: LiveAnswerSources;
  readonly #live = new Map<string, Live>();

  constructor(sources: LiveAnswerSources) {
    this.#sources = sources;
  }

  /** Call this when the run of a message begins. */
  begin(runId: string, message: AcceptedMessage): void {
    const { accounts } = this.#sources;
    const channel = accounts.channel(message.channel);
    const listed = channel && accounts.account(channel, message.accountId);
    if (!listed || this.#live.has(runId)) return;
    const { account } = listed;
    const { capabilities } = listed.contribution.value;
    const live: Live = {
      message,
      mode: modeOf(capabilities, account),
      quote: quoteOf(message.job, account.replyToMode),
      editEveryMs: capabilities.editEveryMs ?? EDIT_EVERY_MS,
      text: "",
      looked: 0,
      shown: "",
      blocks: 0,
      isEnded: false,
      busy: Promise.resolve(),
    };
    this.#live.set(runId, live);
    if (capabilities.typing === true) this.#type(live);
    this.#acknowledge(live, false);
  }

  /** Call this for every event of every run. */
  readonly event = ({ runId, stream, isQuiet, data }: RunEvent): void => {
    const live = this.#live.get(runId);
    if (!live || stream !== "assistant" || isQuiet === true || typeof data["text"] !== "string") return;
    live.text = data["text"];
    if (live.mode === "draft" && live.shown === "") this.#startDraft(live);
    if (live.mode === "block") this.#sendBlock(live);
  };

  /** Ends what is shown; afterwards nothing changes the draft any more. Never rejects. */
  async end(runId: string): Promise<void> {
    const live = this.#live.get(runId);
    if (!live) return;
    this.#live.delete(runId);
    live.isEnded = true;
    live.cancelTyping?.();
    this.#acknowledge(live, true);
    await live.busy;
  }

  /** The rest of an answer whose first blocks were sent. @throws an error of storage */
  async rest({ key }: AcceptedMessage, answer: string): Promise<string> {
    let sent = "";
    for (let number = 0; ; number++) {
      const block = await this.#sources.store.find(blockId(key, number));
      if (!block) break;
      sent += block.text;
    }
    const begun = sent.trimEnd(); // the end of the answer may be cut, e.g. a silent mark
    return answer.startsWith(begun) ? answer.slice(begun.length).trim() : answer;
  }

  #type(live: Live): void {
    if (live.isEnded || this.#sources.signal.aborted) return;
    this.#call(live, async (channel, call) => channel.typing?.(call));
    live.cancelTyping = this.#sources.clock.setTimeout(() => this.#type(live), TYPING_EVERY_MS);
  }

  #acknowledge({ message }: Live, remove: boolean): void {
    const { accounts } = this.#sources;
    const channel = accounts.channel(message.channel);
    const listed = channel && accounts.account(channel, message.accountId);
    const emoji = listed?.account.ackReaction;
    const { messageId } = message.job;
    if (listed?.contribution.value.capabilities.reactions !== true || emoji === undefined || messageId === undefined)
      return;
    this.#call({ message }, async (channel, call) => channel.react?.({ ...call, messageId, emoji, remove }));
  }

  /** Sends the first message of a draft through the outbox; edits follow when the network has confirmed it. */
  #startDraft(live: Live): void {
    const text = draftText(live);
    if (text === undefined || text.length < LEAST_DRAFT_CHARS) return;
    live.shown = text;
    const { outbox } = this.#sources;
    const id = draftId(live.message.key);
    const first = async () => {
      await outbox.add({ ...placeOf(live.message), id, text, extras: live.quote });
      const sent = await outbox.ended(id, ENDED_WAIT_MS);
      if (sent?.status === "sent" && sent.messageId !== undefined) this.#editLater(live, sent.messageId);
    };
    live.busy = this.#quietly(live, first);
  }

  #editLater(live: Live, messageId: string, inMs = live.editEveryMs): void {
    if (live.isEnded || this.#sources.signal.aborted) return;
    this.#sources.clock.setTimeout(() => {
      if (live.isEnded) return;
      live.busy = this.#quietly(live, () => this.#edit(live, messageId));
    }, inMs);
  }

  async #edit(live: Live, messageId: string): Promise<void> {
    const text = draftText(live);
    if (text === undefined || text === live.shown) return this.#editLater(live, messageId);
    try {
      await editPiece(placeOf(live.message), messageId, { text }, this.#sources);
      live.shown = text;
      this.#editLater(live, messageId);
    } catch (error) {
      const retryAfterMs = error instanceof SendFailure ? error.retryAfterMs : undefined;
      if (retryAfterMs === undefined) throw error; // no further edits; the final answer comes anyway
      this.#editLater(live, messageId, Math.max(live.editEveryMs, retryAfterMs));
    }
  }

  /** Sends the finished paragraphs that were not sent yet. */
  #sendBlock(live: Live): void {
    if (live.text.length - live.looked < LOOK_EVERY_CHARS) return;
    live.looked = live.text.length;
    const text = draftText(live, Number.MAX_SAFE_INTEGER) ?? "";
    const fresh = text.slice(live.shown.length);
    const end = fresh.lastIndexOf("\n\n");
    if (end < LEAST_BLOCK_CHARS || isInsideFence(text.slice(0, live.shown.length + end))) return;
    const block = fresh.slice(0, end + 2);
    const number = live.blocks++;
    const id = blockId(live.message.key, number);
    const quote = number === 0 || live.quote.repliesAlways === true ? live.quote : {};
    live.shown += block;
    const before = live.busy;
    live.busy = this.#quietly(live, async () => {
      await before;
      await this.#sources.outbox.add({ ...placeOf(live.message), id, text: block, extras: quote });
    });
  }

  /** Calls the channel without waiting; a failure only costs what people see meanwhile. */
  #call(live: Pick<Live, "message">, work: Parameters<typeof callChannel<unknown>>[2]): void {
    void this.#quietly(live, async () => void (await callChannel(placeOf(live.message), this.#sources, work)));
  }

  async #quietly({ message }: Pick<Live, "message">, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const { channel, sessionKey } = message;
      this.#sources.log.debug(
        { channel, sessionKey, reason: messageOf(error) },
        "the state of an answer was not shown",
      );
    }
  }
}

/** Id of the first message of a draft in the outbox. */
export function draftId(key: string): string {
  return `draft:${key}`;
}

function blockId(key: string, number: number): string {
  return `block:${key}:${number}`;
}

function modeOf({ edits = false }: Channel["capabilities"], { streaming }: ChannelAccount): Live["mode"] {
  const wanted = streaming ?? (edits ? "draft" : "off");
  return wanted === "draft" && !edits ? "off" : wanted;
}

/** The part of a growing answer that fits one message; `undefined` if it may become a silent answer. */
function draftText({ text, message }: Live, maxChars = message.job.maxTextChars): string | undefined {
  if (SILENT_REPLY.startsWith(text.trim())) return undefined;
  const shown = shownReply(text, { isGrowing: true });
  return shown === undefined || shown.length <= maxChars ? shown : split(shown, maxChars)[0];
}

function isInsideFence(text: string): boolean {
  return (text.match(/^ {0,3}(?:`{3,}|~{3,})/gm) ?? []).length % 2 === 1;
}

function placeOf({ channel, accountId, job }: AcceptedMessage): Addressed & Pick<NewText, "maxChars"> {
  const { replyTo: to, threadId, maxTextChars: maxChars } = job;
  return { channel, accountId, to, maxChars, ...(threadId === undefined ? {} : { threadId }) };
}
