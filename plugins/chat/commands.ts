/**
 * Messages that the gateway answers itself. Pure. Spec: protocol/methods-chat.md §2.
 *
 * Choice: `/new`, `/reset`, `/queue`, `/help`, and the stop requests of `stop-phrases.ts`. Every other text that starts
 * with `/` becomes a run as it is; `/compact` is one that the plugin `agents` does without asking the agent.
 */
import type { SessionEntry } from "@svc/sdk/sessions";
import { isQueueCommand, type QueueCommand, queueCommand, queueReply } from "./queue-command.ts";

/** What a command asks for. */
export type Command =
  | QueueCommand
  /** Start the session afresh; `text`, when not empty, is then sent to the agent. */
  | { readonly kind: "restart"; readonly reason: "new" | "reset"; readonly text: string }
  | { readonly kind: "help" };

/** The command in `message`, or `undefined` when it is for the agent. @throws GatewayError `INVALID_REQUEST` for a queue option that does not exist */
export function commandIn(message: string): Command | undefined {
  const [, name, text = ""] = /^\s*\/([a-z]+)(?:\s+([^]*))?$/i.exec(message) ?? [];
  const rest = text.trim();
  switch (name?.toLowerCase()) {
    case "new":
      return { kind: "restart", reason: "new", text: rest };
    case "reset":
      return { kind: "restart", reason: "reset", text: rest };
    case "queue":
      return queueCommand(rest);
    case "help":
      return rest === "" ? { kind: "help" } : undefined;
    default:
      return undefined;
  }
}

/** What a command that runs no agent is answered with. @param entry the session's, as the command left it */
export function commandReply(command: Command, entry: SessionEntry | undefined): string {
  if (isQueueCommand(command)) return queueReply(entry);
  if (command.kind === "help") return HELP;
  return command.reason === "new" ? "New session started." : "Session reset.";
}

const HELP = [
  "/new [message]: start a new session, then send the message",
  "/reset [message]: the same, for a conversation that went wrong",
  "/stop: stop the replies that are being written",
  "/compact [what to keep]: replace the older part of the conversation by a summary",
  "/queue [collect|followup|steer|steer-backlog|interrupt|default]: what happens to messages while a reply is being written",
  "/help: this list",
  "Anything else goes to the agent.",
].join("\n");
