/**
 * Messages that the gateway answers itself. Pure. Spec: protocol/methods-chat.md §2.
 *
 * Choice: `/new`, `/reset`, `/help`, and the stop requests of `stop-phrases.ts`. Every other text that starts
 * with `/` goes to the agent as it is.
 */

/** What a command asks for. */
export type Command =
  /** Start the session afresh; `text`, when not empty, is then sent to the agent. */
  { readonly kind: "restart"; readonly reason: "new" | "reset"; readonly text: string } | { readonly kind: "help" };

/** The command in `message`, or `undefined` when it is for the agent. */
export function commandIn(message: string): Command | undefined {
  const [, name, text = ""] = /^\s*\/([a-z]+)(?:\s+([^]*))?$/i.exec(message) ?? [];
  const rest = text.trim();
  switch (name?.toLowerCase()) {
    case "new":
      return { kind: "restart", reason: "new", text: rest };
    case "reset":
      return { kind: "restart", reason: "reset", text: rest };
    case "help":
      return rest === "" ? { kind: "help" } : undefined;
    default:
      return undefined;
  }
}

/** What a command that runs no agent is answered with. */
export function commandReply(command: Command): string {
  if (command.kind === "help") return HELP;
  return command.reason === "new" ? "New session started." : "Session reset.";
}

const HELP = [
  "/new [message]: start a new session, then send the message",
  "/reset [message]: the same, for a conversation that went wrong",
  "/stop: stop the replies that are being written",
  "/help: this list",
  "Anything else goes to the agent.",
].join("\n");
