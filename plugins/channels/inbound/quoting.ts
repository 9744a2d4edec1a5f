/** Which messages of an answer quote the question. Pure. */
import type { ChannelAccess } from "@svc/sdk/channels";
import type { Extras } from "../outbox/outbox-store.ts";
import type { InboundJob } from "./inbound-store.ts";

/** Choice: by default, answers quote the question in groups, where several people write. */
export function quoteOf(
  { messageId, chatType }: Pick<InboundJob, "messageId" | "chatType">,
  replyToMode: ChannelAccess["replyToMode"] = chatType === "group" ? "first" : "off",
): Pick<Extras, "replyTo" | "repliesAlways"> {
  if (replyToMode === "off" || messageId === undefined) return {};
  return { replyTo: messageId, ...(replyToMode === "all" ? { repliesAlways: true } : {}) };
}
