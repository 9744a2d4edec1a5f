/** What a fake model server is told to answer, and what it was asked. */
import type { IncomingHttpHeaders } from "node:http";

/** What to answer. An empty one echoes the last user message. Fields mean the same for both kinds of API. */
export interface FakeModelReply {
  /** Default: the text of the last user message, or nothing beside tool calls. */
  readonly text?: string;
  /** The text as it is streamed. Default: word by word. */
  readonly pieces?: readonly string[];
  /** Streamed before the text: as `reasoning_content`, or as a thinking block. */
  readonly thinking?: string;
  /** Signature of the thinking block; Messages API only. Default `signature`. */
  readonly signature?: string;
  /** Data of a redacted thinking block before the text; Messages API only. */
  readonly redactedThinking?: string;
  /** Milliseconds before each piece. Default 0. */
  readonly delayMs?: number;
  /** `arguments`: an object, or a string to be sent as it is. `id` default: `call_<n>`, counted over the server's life. */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: unknown; readonly id?: string }[];
  /** As the API words it. Default: words counted; `false`: never sent, as some servers do. Chat completions stream it only when asked. */
  readonly usage?: Readonly<Record<string, unknown>> | false;
  /** As the API words it. Default: the one for an answer that is over, or for tool calls; `null`: never sent. */
  readonly finishReason?: string | null;
  /** An error instead of an answer, e.g. 429 or 529. */
  readonly status?: number;
  /** Seconds, as the header `retry-after` of an error. */
  readonly retryAfter?: number;
  /** Text of an error. */
  readonly message?: string;
  /** Machine-readable kind of an error. Default: the one of the status. */
  readonly errorType?: string;
  /** Cuts the connection after this many pieces; 0: right after the headers. */
  readonly breakAfter?: number;
  /** Goes silent after this many pieces, with the connection open. */
  readonly hangAfter?: number;
  /** Sends text that is not JSON after the pieces. */
  readonly malformed?: true;
  /** Sends an error inside the stream after the pieces, and ends it; Messages API only. */
  readonly errorEvent?: { readonly type: string; readonly message: string };
}

/** A request as it came. */
export interface FakeModelRequest {
  /** E.g. `/v1/messages`. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed. */
  readonly body: FakeModelBody;
  /** The client closed the connection before the answer was over. */
  readonly aborted: boolean;
  /** Resolves when the answer is over or the connection is closed. */
  readonly closed: Promise<void>;
}

/** The fields a script looks at; all others are there, too. */
export interface FakeModelBody {
  readonly model?: string;
  readonly messages?: readonly {
    readonly role: string;
    readonly content?: unknown;
    readonly [field: string]: unknown;
  }[];
  readonly tools?: readonly unknown[];
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly [field: string]: unknown;
}

/** What the server answers: a list used up one by one, or a function of the request. */
export type FakeModelScript = (request: FakeModelRequest, index: number) => FakeModelReply | Promise<FakeModelReply>;

/** A reply whose words are decided. */
export interface CompleteReply extends FakeModelReply {
  readonly pieces: readonly string[];
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  /** Words of question and answer. */
  readonly words: { readonly asked: number; readonly said: number };
}

/** @param count makes the number of the next tool call */
export function complete(reply: FakeModelReply, body: FakeModelBody, count: () => number): CompleteReply {
  const calls = (reply.toolCalls ?? []).map(({ name, arguments: args, id }) => ({
    id: id ?? `call_${count()}`,
    name,
    arguments: typeof args === "string" ? args : JSON.stringify(args),
  }));
  const text = reply.text ?? (calls.length > 0 ? "" : lastUserText(body));
  const pieces = reply.pieces ?? text.match(/\s*\S+\s*/gu) ?? [];
  return { ...reply, pieces, calls, words: { asked: wordsAsked(body), said: pieces.length } };
}

function lastUserText({ messages = [] }: FakeModelBody): string {
  const content = messages.findLast(({ role }) => role === "user")?.content;
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? (content as { text?: string }[]) : []; // parts of other kinds have no text
  return parts.map(({ text }) => text ?? "").join("");
}

function wordsAsked({ messages = [] }: FakeModelBody): number {
  const asked = messages.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content ?? "")));
  return asked.join(" ").split(/\s+/u).filter(Boolean).length;
}
