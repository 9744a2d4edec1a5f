/** Speaks a text into the conversation of a channel, for the tool and for the command. */
import { type Live, unavailable } from "@svc/sdk";
import type { Delivery } from "@svc/sdk/channels";
import type { Speech, Spoken } from "@svc/sdk/speech";
import type { ToolAddress } from "@svc/sdk/tools";

export interface ConversationSources {
  readonly speech: Pick<Speech, "speak">;
  readonly delivery: Live<Pick<Delivery, "deliver">>;
}

/** A text, and the conversation that hears it. */
export interface Utterance {
  /** Unique: repeated, it is not sent twice. */
  readonly id: string;
  readonly text: string;
  readonly sessionKey: string;
  readonly address: ToolAddress & { readonly channel: string; readonly to: string };
}

/** Whether this is the address of a conversation of a channel. */
export function isConversation(address: ToolAddress | undefined): address is Utterance["address"] {
  return address?.channel !== undefined && address.to !== undefined;
}

/** @throws GatewayError as `Speech.speak`; `UNAVAILABLE` if it could not be sent */
export async function sayInConversation(
  { id, text, sessionKey, address }: Utterance,
  { speech, delivery }: ConversationSources,
  signal: AbortSignal,
): Promise<Spoken> {
  const known = delivery.get() ?? unavailable("the plugin channels is not running; see: svc plugins list");
  const { channel, to, accountId, threadId } = address;
  const spoken = await speech.speak({ text, channel, sessionKey }, signal);
  const { bytes, mimeType, isVoice, extension } = spoken;
  const file = { kind: "audio" as const, bytes, name: `speech${extension}`, mimeType, ...(isVoice ? { isVoice } : {}) };
  const outcome = await known.deliver({
    id,
    channel,
    to,
    sessionKey,
    text: "",
    files: [file],
    ...(accountId === undefined ? {} : { accountId }),
    ...(threadId === undefined ? {} : { threadId }),
  });
  return outcome.delivered ? spoken : unavailable(`the audio was not sent: ${outcome.reason}`);
}
