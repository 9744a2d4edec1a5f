/** Cleans the message of `chat.send` before it is interpreted. Pure. Spec: protocol/methods-chat.md §2. */
import { invalidRequest } from "@svc/sdk";

/** Unicode control characters (C0, DEL, C1) other than tab, LF and CR. */
const CONTROL = /[^\P{Cc}\t\n\r]/gu;

/** NFC, without control characters. @throws GatewayError `INVALID_REQUEST` when it contains NUL. */
export function cleanMessage(message: string): string {
  if (message.includes("\0")) invalidRequest("message contains a NUL character; remove it and send again");
  return message.normalize("NFC").replace(CONTROL, "");
}

/** Whether the message has only white space. */
export function isBlank(message: string): boolean {
  return message.trim() === "";
}
