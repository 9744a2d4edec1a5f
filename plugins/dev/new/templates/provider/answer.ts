/** Parses the streamed response into parts of an answer. Pure. */
import { refuseAnswer } from "@svc/kit/providers";
import type { ModelEvent } from "@svc/sdk/models";
import { parseToolArguments } from "@svc/sdk/tools";

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly tool_calls?: readonly CallPiece[] };
    readonly finish_reason?: string | null;
  }[];
}

interface CallPiece {
  readonly index: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

export interface Answer {
  /** @returns the parts of the answer that these bytes complete */
  take(bytes: Uint8Array): ModelEvent[];
  /** @returns the tool calls, then the `finish` @throws GatewayError if the answer is incomplete */
  end(): ModelEvent[];
}

/** @param source name of the server, for error messages */
export function createAnswer(source: string): Answer {
  const decoder = new TextDecoder();
  const calls: { id: string; name: string; arguments: string }[] = [];
  let rest = "";
  let reason: string | undefined;

  function pieceOf(line: string): ModelEvent[] {
    const data = /^data: ?(.*)$/.exec(line)?.[1];
    if (data === undefined || data === "[DONE]") return [];
    const [choice] = chunkOf(data, source).choices ?? [];
    if (choice?.finish_reason) reason = choice.finish_reason;
    for (const { index, id, function: part } of choice?.delta?.tool_calls ?? []) {
      const call = (calls[index] ??= { id: id ?? `call_${index}`, name: "", arguments: "" });
      call.name += part?.name ?? "";
      call.arguments += part?.arguments ?? "";
    }
    const text = choice?.delta?.content;
    return text ? [{ type: "text", delta: text }] : [];
  }

  return {
    take(bytes) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      return lines.flatMap((line) => pieceOf(line.trimEnd()));
    },
    end() {
      if (reason === undefined) refuseAnswer("network", `${source} ended its answer early; try again`);
      const wanted = calls.map(({ id, name, arguments: json }): ModelEvent => {
        const args =
          parseToolArguments(json) ?? refuseAnswer("server_error", `${source} sent a tool call that is not JSON`);
        return { type: "toolCall", id, name, arguments: args };
      });
      const ending = wanted.length > 0 ? "toolUse" : reason === "length" ? "length" : "stop";
      return [...wanted, { type: "finish", reason: ending }];
    },
  };
}

function chunkOf(data: string, source: string): Chunk {
  try {
    return JSON.parse(data) as Chunk; // missing fields are handled where they are read
  } catch {
    return refuseAnswer("server_error", `${source} sent data that is not JSON in its answer`);
  }
}
