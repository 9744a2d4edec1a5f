/** Wire format of answers: one JSON object, or the chunks of a stream. Pure. Spec: http/chat-completions.md §5, §6 and §9. */
import { type Answer, wireCall, type WireUsage } from "./outcome.ts";
import type { ApiError } from "./refusals.ts";

/** Fields shared by all parts of one answer. */
export interface AnswerHead {
  /** `chatcmpl_<uuid>`: also the id of the run. */
  readonly id: string;
  /** epoch seconds */
  readonly created: number;
  readonly model: string;
}

/** Body of a non-streamed answer. Choice: no `usage` if the model server reports none, rather than zeros. */
export function completion({ id, created, model }: AnswerHead, { text, calls, finish, usage }: Answer): object {
  const message = {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    ...(calls.length > 0 ? { tool_calls: calls.map(wireCall) } : {}),
  };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }];
  return { id, object: "chat.completion", created, model, choices, ...(usage ? { usage } : {}) };
}

/** The frames of one stream, as text to write unchanged. */
export interface Frames {
  readonly role: string;
  text(delta: string): string;
  /** All frames after the last text. */
  end(answer: Pick<Answer, "calls" | "finish" | "usage">): string;
}

export const DONE = "data: [DONE]\n\n";

/** Creates a frame per token; the constant parts are built once. */
export function createFrames(head: AnswerHead, includeUsage: boolean): Frames {
  const { id, created, model } = head;
  const open = `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created, model }).slice(0, -1)},"choices":[`;
  const noUsage = includeUsage ? ',"usage":null' : "";
  const before = `${open}{"index":0,"delta":`;
  const frame = (delta: string, finish = "null") => `${before}${delta},"finish_reason":${finish}}]${noUsage}}\n\n`;
  const usageFrame = (usage: WireUsage) => `${open}],"usage":${JSON.stringify(usage)}}\n\n`;
  const textEnd = `},"finish_reason":null}]${noUsage}}\n\n`;
  return {
    role: frame('{"role":"assistant"}'),
    text: (delta) => `${before}{"content":${JSON.stringify(delta)}${textEnd}`,
    end({ calls, finish, usage }) {
      const called = calls.map((call, index) => frame(JSON.stringify({ tool_calls: [{ index, ...wireCall(call) }] })));
      const last = frame("{}", JSON.stringify(finish));
      return [...called, last, includeUsage && usage ? usageFrame(usage) : "", DONE].join("");
    },
  };
}

/** End of a stream without an answer. */
export function errorFrames(error: ApiError): string {
  return `data: ${JSON.stringify({ error })}\n\n${DONE}`;
}
