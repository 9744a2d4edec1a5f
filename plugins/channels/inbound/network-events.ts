/**
 * Edits, deletions, reactions and answers to polls: they change the context of a group, or become events that the agent sees
 * with its next turn; none of them starts a run.
 */
import { randomUUID } from "node:crypto";
import type { Clock, Live, Logger } from "@svc/sdk";
import type { Receipt } from "@svc/sdk/channels";
import { externalLine } from "@svc/sdk/external-content";
import type { SystemEvents } from "@svc/sdk/heartbeat";
import { contextKey, type ContextStore } from "./context-store.ts";
import { type Inbound, messageKey, type Source } from "./inbound-message.ts";
import { nameOf } from "./prompt.ts";
import { principalOf } from "../access/sender.ts";

type EventMessage = Inbound & { readonly event: NonNullable<Inbound["event"]> };

const MAX_SHOWN_CHARS = 500;

export interface NetworkEvents {
  /** @throws GatewayError `UNAVAILABLE` the event could not be recorded */
  received(
    source: Source,
    message: EventMessage,
    to: { readonly sessionKey: string; readonly user: boolean },
  ): Promise<Receipt>;
}

export interface NetworkEventsSources {
  readonly context: Pick<ContextStore, "change">;
  readonly events: Live<SystemEvents>;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "debug">;
}

export function createNetworkEvents({ context, events, clock, log }: NetworkEventsSources): NetworkEvents {
  return {
    async received({ channel, account }, message, { sessionKey, user }) {
      const { chat, event, sender } = message;
      if (chat.type === "group" && (event.kind === "edit" || event.kind === "deletion")) {
        const key = contextKey(channel, account.id, chat.id, event.messageId);
        await context.change(key, event.kind === "edit" ? message.text : undefined);
        return { accepted: false, reason: "not-mentioned" };
      }
      const isOthers = event.kind === "reaction" && event.isOwn !== true && chat.type === "group";
      const queue = events.get();
      if (isOthers || !queue) {
        log.debug({ channel, kind: event.kind }, "an event of a chat was left out");
        return { accepted: false, reason: "not-mentioned" };
      }
      const { id, scopes } = principalOf(channel, account.id, sender.id, user);
      await queue.add({
        id: `channel:${message.id === undefined ? randomUUID() : messageKey(channel, account.id, message.id)}`,
        sessionKey,
        text: `${nameOf(sender)} ${descriptionOf(message)}`,
        origin: { kind: "channel", id, scopes: [...scopes] },
        wake: "next-heartbeat",
        reason: `channel:${channel}`,
        at: message.at ?? clock.now(),
      });
      return { accepted: true, sessionKey };
    },
  };
}

/** What the person did, as the rest of a sentence. */
function descriptionOf({ event, text }: EventMessage): string {
  switch (event.kind) {
    case "edit":
      return `changed an earlier message to: ${externalLine(text, MAX_SHOWN_CHARS)}`;
    case "deletion":
      return "deleted an earlier message.";
    case "reaction": {
      const whose = event.isOwn === true ? "your message" : "a message";
      const emoji = externalLine(event.emoji, 40);
      return event.isRemoved === true
        ? `removed the reaction ${emoji} from ${whose}.`
        : `reacted with ${emoji} to ${whose}.`;
    }
    case "poll-answer": {
      const chosen = event.options.map((option) => externalLine(option, 100)).join(", ");
      return chosen === "" ? "withdrew the answer to your poll." : `answered your poll: ${chosen}.`;
    }
    case "button":
      return `pressed a button: ${externalLine(event.value, 100)}.`;
  }
}
