/**
 * Chat commands: messages that the gateway handles itself, recognized here for every surface on which people write.
 * Spec: protocol/methods-chat.md §2.
 *
 * Choice: `/new`, `/reset`, `/stop` and its phrases, `/compact`, `/queue`, `/status`, `/trust`, `/help`. Any other text
 * that starts with `/` goes to the agent. Text from webhooks, scheduled jobs and agents is never treated as a command.
 */
import type { Principal } from "@svc/sdk";
import type { Sessions } from "@svc/sdk/sessions";
import { type QueueCommand, queueCommand, queueReply } from "./queue-command.ts";
import { isStopRequest } from "./stop-phrases.ts";
import { status, trust } from "./trust-command.ts";

/** A command that acts on the session and is answered without a run. */
export type SessionCommand =
  | QueueCommand
  /** Resets the session; a non-empty `text` is then sent to the agent. */
  | { readonly kind: "restart"; readonly reason: "new" | "reset"; readonly text: string }
  | { readonly kind: "help" | "status" | "trust" };

/** A command in a message. */
export type Command =
  | SessionCommand
  /** Stops the runs started by this surface in the session. */
  | { readonly kind: "stop" }
  /** A run with `RunRequest.compact`. */
  | { readonly kind: "compact"; readonly instructions: string };

const alone = (kind: "help" | "status" | "trust") => (rest: string) => (rest === "" ? { kind } : undefined);

/** By name, without the slash. @param rest what follows the name @throws GatewayError `INVALID_REQUEST` */
const COMMANDS: Readonly<Record<string, (rest: string) => Command | undefined>> = {
  new: (text) => ({ kind: "restart", reason: "new", text }),
  reset: (text) => ({ kind: "restart", reason: "reset", text }),
  stop: () => undefined, // with further words it goes to the agent; `isStopRequest` knows the others
  compact: (instructions) => ({ kind: "compact", instructions }),
  queue: queueCommand,
  help: alone("help"),
  status: alone("status"),
  trust: alone("trust"),
};

/** Whether the message begins with the name of a command, also where the rest makes it a message for the agent. */
export function namesCommand(message: string): boolean {
  return Object.hasOwn(COMMANDS, partsOf(message).name);
}

/**
 * The command in `message`, or `undefined` if it is for the agent.
 * @throws GatewayError `INVALID_REQUEST` for an unknown queue option
 */
export function commandIn(message: string): Command | undefined {
  if (isStopRequest(message)) return { kind: "stop" };
  const { name, rest } = partsOf(message);
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name]?.(rest) : undefined;
}

function partsOf(message: string): { readonly name: string; readonly rest: string } {
  const [, name = "", text = ""] = /^\s*\/([a-z]+)(?:\s+([^]*))?$/i.exec(message) ?? [];
  return { name: name.toLowerCase(), rest: text.trim() };
}

/** Who sent the command, and when (epoch ms). */
export interface Obeying {
  readonly principal: Principal;
  readonly now: number;
}

/** Executes a command. @param key canonical @returns the reply, if nothing goes to the agent */
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
  "/reset [message]: same as /new, for a conversation that went wrong",
  "/stop: stop the replies that are being written",
  "/compact [what to keep]: replace the older part of the conversation with a summary",
  "/queue [collect|followup|steer|steer-backlog|interrupt|default]: what happens to messages while a reply is being written",
  "/status: show who wrote the messages in this conversation",
  "/trust: trust the messages of others in this conversation like your own",
  "/help: show this list",
  "Anything else goes to the agent.",
].join("\n");
