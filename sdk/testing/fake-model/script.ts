/** Scripted answers of the fake model server, and its recorded requests. */
import type { IncomingHttpHeaders } from "node:http";

/** An answer. An empty one echoes the last user message. Fields have the same meaning for both APIs. */
export interface FakeModelReply {
  /** Default: the text of the last user message; with tool calls, no text. */
  readonly text?: string;
  /** Chunks in which the text is streamed. Default: word by word. */
  readonly pieces?: readonly string[];
  /** Reasoning streamed before the text: as `reasoning_content`, or as a thinking block. */
  readonly thinking?: string;
  /** Signature of the thinking block; Messages API only. Default `signature`. */
  readonly signature?: string;
  /** Data of a redacted thinking block before the text; Messages API only. */
  readonly redactedThinking?: string;
  /** Milliseconds before each chunk. Default 0. */
  readonly delayMs?: number;
  /**
   * `arguments`: an object, or a string that is sent unchanged. `id` default: `call_<n>`, counted over the lifetime of
   * the server.
   */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: unknown; readonly id?: string }[];
  /**
   * In the format of the API. Default: counted words; `false`: never sent, as some servers do. Chat completions stream
   * it only on request.
   */
  readonly usage?: Readonly<Record<string, unknown>> | false;
  /** In the format of the API. Default: the value for a complete answer, or for tool calls; `null`: never sent. */
  readonly finishReason?: string | null;
  /** An error instead of an answer, e.g. 429 or 529. */
  readonly status?: number;
  /** Seconds, sent in the header `retry-after` of an error. */
  readonly retryAfter?: number;
  /** Message of an error. */
  readonly message?: string;
  /** Machine-readable kind of an error. Default: derived from the status. */
  readonly errorType?: string;
  /** Cuts the connection after this many chunks; 0: right after the headers. */
  readonly breakAfter?: number;
  /** Stops sending after this many chunks, with the connection open. */
  readonly hangAfter?: number;
  /** Sends text that is not JSON after the chunks. */
  readonly malformed?: true;
  /** Sends an error event after the chunks and ends the stream; Messages API only. */
  readonly errorEvent?: { readonly type: string; readonly message: string };
}

/** A recorded request. */
export interface FakeModelRequest {
  /** E.g. `/v1/messages`. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON. */
  readonly body: FakeModelBody;
  /** The client closed the connection before the answer was complete. */
  readonly aborted: boolean;
  /** Resolves when the answer is complete or the connection is closed. */
  readonly closed: Promise<void>;
}

/** Fields used by scripts; all other fields are present, too. */
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

/** Computes the answer to a request. */
export type FakeModelScript = (request: FakeModelRequest, index: number) => FakeModelReply | Promise<FakeModelReply>;

/** An answer with its final chunks and tool calls. */
export interface CompleteReply extends FakeModelReply {
  readonly pieces: readonly string[];
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  /** Number of words in the request and the answer. */
  readonly words: { readonly asked: number; readonly said: number };
}

/** @param count returns the number of the next tool call */
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
