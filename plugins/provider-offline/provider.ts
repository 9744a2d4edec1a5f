/** Streams a planned answer word by word, like a model. */
import { randomUUID } from "node:crypto";
import { type Clock, pause } from "@svc/sdk";
import type { ModelProvider } from "@svc/sdk/models";
import { respond } from "./responder.ts";

export interface OfflineOptions {
  /** Delay between two words in milliseconds; 0 means none. */
  readonly wordDelayMs: number;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Creates ids of tool calls. Default: random. */
  readonly newId?: () => string;
}

export function createOfflineProvider({ wordDelayMs, clock, newId = randomUUID }: OfflineOptions): ModelProvider {
  return {
    builtin: [{ id: "offline", name: "Offline responder", provider: "offline", contextWindow: 8192, input: ["text"] }],

    /** Reports no usage, since it counts no tokens. @throws the signal's reason on abort */
    async *stream(request, _account, signal) {
      signal.throwIfAborted();
      const { text, toolCall } = respond(request);
      for (const delta of text.match(/\s*\S+\s*/gu) ?? []) {
        yield { type: "text", delta };
        if (wordDelayMs > 0) await pause(wordDelayMs, clock, signal);
        signal.throwIfAborted();
      }
      if (toolCall) yield { type: "toolCall", id: `call_${newId()}`, ...toolCall };
      yield { type: "finish", reason: toolCall ? "toolUse" : "stop" };
    },
  };
}
