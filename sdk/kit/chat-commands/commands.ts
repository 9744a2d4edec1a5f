/**
 * Messages that the gateway answers itself: the one place that recognises them, for every surface where people write.
 * Spec: protocol/methods-chat.md §2.
 *
 * Choice: `/new`, `/reset`, `/stop` and its phrases, `/compact`, `/queue`, `/status`, `/trust`, `/help`. Every other text that starts with `/` is
 * for the agent. Text from webhooks, scheduled jobs and agents never counts as a command.
 */
import type { Principal } from "@svc/sdk";
import type { Sessions } from "@svc/sdk/sessions";
import { type QueueCommand, queueCommand, queueReply } from "./queue-command.ts";
import { isStopRequest } from "./stop-phrases.ts";
import { status, trust } from "./trust-command.ts";

/** Done to the session, and answered without a run. */
export type SessionCommand =
  | QueueCommand
  /** Start the session afresh; `text`, when not empty, is then sent to the agent. */
  | { readonly kind: "restart"; readonly reason: "new" | "reset"; readonly text: string }
  | { readonly kind: "help" | "status" | "trust" };

/** What a command asks for. */
export type Command =
  | SessionCommand
  /** Stop the runs this surface started in the session. */
  | { readonly kind: "stop" }
  /** A run with `RunRequest.compact`. */
  | { readonly kind: "compact"; readonly instructions: string };

/** The command in `message`, or `undefined` when it is for the agent. @throws GatewayError `INVALID_REQUEST` for a queue option that does not exist */
export function commandIn(message: string): Command | undefined {
  if (isStopRequest(message)) return { kind: "stop" };
  const [, name, text = ""] = /^\s*\/([a-z]+)(?:\s+([^]*))?$/i.exec(message) ?? [];
  const rest = text.trim();
  switch (name?.toLowerCase()) {
    case "new":
      return { kind: "restart", reason: "new", text: rest };
    case "reset":
      return { kind: "restart", reason: "reset", text: rest };
    case "compact":
      return { kind: "compact", instructions: rest };
    case "queue":
      return queueCommand(rest);
    case "help":
      return rest === "" ? { kind: "help" } : undefined;
    case "status":
      return rest === "" ? { kind: "status" } : undefined;
    case "trust":
      return rest === "" ? { kind: "trust" } : undefined;
    default:
      return undefined;
  }
}

/** Who asks, and when: epoch ms. */
export interface Obeying {
  readonly principal: Principal;
  readonly now: number;
}

/** Does what a command asks for. @param key canonical. @returns what it is answered with, where nothing goes to the agent */
export async function obey(
  command: SessionCommand,
  key: string,
  sessions: Pick<Sessions, "get" | "ensure" | "reset" | "context">,
  by: Obeying,
): Promise<string> {
  switch (command.kind) {
    case "restart":
      await sessions.reset(key, command.reason);
      return command.reason === "new" ? "New session started." : "Session reset.";
    case "queue":
      return queueReply(
        Object.keys(command.patch).length > 0 ? await sessions.ensure(key, command.patch) : await sessions.get(key),
      );
    case "status":
      return status(key, sessions);
    case "trust":
      return trust(key, sessions, by);
    case "help":
      return HELP;
  }
}

export const HELP = [
  "/new [message]: start a new session, then send the message",
  "/reset [message]: the same, for a conversation that went wrong",
  "/stop: stop the replies that are being written",
  "/compact [what to keep]: replace the older part of the conversation by a summary",
  "/queue [collect|followup|steer|steer-backlog|interrupt|default]: what happens to messages while a reply is being written",
  "/status: whose words this conversation holds",
  "/trust: take the words of others in it for your own",
  "/help: this list",
  "Anything else goes to the agent.",
].join("\n");
