/** Parses the chunks of a streamed response into parts of an answer. Pure. */
import { type Answer, type AnswerSize, refuseAnswer, toolCallOf } from "@svc/kit/providers";
import type { ModelEvent } from "@svc/sdk/models";

export interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly tool_calls?: readonly CallPiece[] };
    readonly finish_reason?: string | null;
  }[];
  readonly error?: unknown;
}

interface CallPiece {
  readonly index: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

/** @param source name of the server, for error messages */
export function createAnswer(source: string, size: AnswerSize): Answer<Chunk> {
  const calls: { id: string; name: string; arguments: string }[] = [];
  let reason: string | undefined;

  return {
    take({ choices }) {
      const [choice] = choices ?? [];
      if (choice?.finish_reason) reason = choice.finish_reason;
      for (const { index, id, function: { name = "", arguments: args = "" } = {} } of choice?.delta?.tool_calls ?? []) {
        size.call(name + args, !calls[index]);
        const call = (calls[index] ??= { id: id ?? `call_${index}`, name: "", arguments: "" });
        call.name += name;
        call.arguments += args;
      }
      const text = choice?.delta?.content;
      return text ? [{ type: "text", delta: text }] : [];
    },
    end() {
      if (reason === undefined) refuseAnswer("network", `${source} ended its answer early; try again`);
      const made = calls.map((call): ModelEvent => toolCallOf(call, source, reason === "length"));
      const ending = made.length > 0 ? "toolUse" : reason === "length" ? "length" : "stop";
      return [...made, { type: "finish", reason: ending }];
    },
  };
}
